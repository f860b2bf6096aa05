//! Retries, conflicts and unknown outcomes.

use std::sync::Arc;
use std::time::Duration;

use partita_core::Item;
use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_store::capacity::Metered;
use partita_store::error::CancellationReason;
use partita_store::request::{
    BatchGetItem, BatchGot, Page, PutItem, Query, ReturnValues, Scan, TransactAction,
    TransactWriteItems, UpdateItem,
};
use partita_store::table::TableName;
use partita_store::{Clock, Entropy, ErrorKind, FoundItem, Store, StoreError};
use ulid::Ulid;

use crate::commit::deferred::Extent;
use crate::commit::{Step, WritePlan};
use crate::draft::Refusal;
use crate::error::{Fault, PlanError, Refused};
use crate::evaluate::reads::Needs;
use crate::evaluate::{Listed, Listing, Reads};
use crate::hot::{HotSpot, Spots};
use crate::load;
use crate::migration::Gate;
use crate::pattern::READ_BYTES_MAX;
use crate::place::{Address, KeyNames};
use crate::preview::{self, ReadRequest};
use crate::room::Room;

/// Rounds of reading at most. A path goes through a few refs; only a very deep tree needs more.
const ROUNDS_MAX: usize = 32;

/// How long the same transaction is sent again. A store knows its token for ten minutes only, and
/// the sender may be held up for some of them.
const RESENT_MILLIS_MAX: i64 = 5 * 60_000;

/// How long a write or read is tried again before the caller hears of it.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How often something is tried.
    pub attempts: u32,
    /// The first pause; each further one may be twice as long, up to 64 times the first.
    pub pause_millis: u64,
}

impl Default for Patience {
    /// Ten attempts within about three seconds.
    fn default() -> Self {
        Patience {
            attempts: 10,
            pause_millis: 10,
        }
    }
}

/// Carries requests out on a store.
#[derive(Clone)]
pub(crate) struct Runner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: KeyNames,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// Randomness for the tokens of transactions and workers.
    pub(crate) tokens: Arc<dyn Entropy>,
    pub(crate) patience: Patience,
    pub(crate) clock: Arc<dyn Clock>,
    /// The sidecar, once it is known.
    pub(crate) sidecar: Option<TableName>,
    /// Where stages of a migration move.
    pub(crate) gate: Gate,
    /// The keys of the design, once it is known.
    pub(crate) spots: Option<Arc<Spots>>,
}

/// What became of a plan.
#[derive(Debug, PartialEq)]
pub(crate) enum Committed {
    /// It is done.
    Done,
    /// It is not done, and may be when it is planned again.
    NotYet {
        /// The answer if there is no other attempt.
        cause: PlanError,
        /// The actions whose conditions were not met.
        failed: Vec<usize>,
        /// Where it met others.
        hot: Option<Box<HotSpot>>,
    },
}

impl Committed {
    fn not_yet(cause: PlanError) -> Committed {
        Committed::NotYet {
            cause,
            failed: Vec::new(),
            hot: None,
        }
    }

    /// Says where others were met.
    fn at(mut self, met: Option<Box<HotSpot>>) -> Committed {
        if let Committed::NotYet { hot, .. } = &mut self {
            *hot = met;
        }
        self
    }
}

impl Runner {
    /// The same, reading another store.
    pub(crate) fn reading(&self, store: Arc<dyn Store>) -> Runner {
        Runner {
            store,
            ..self.clone()
        }
    }

    /// Commits a plan.
    ///
    /// A transaction whose outcome is unknown is sent again, the very same one under the same
    /// token, until the store says what became of it: accepted means that it is done once,
    /// whichever of the attempts did it. A failed condition means that none has done it yet, and
    /// [`Runner::fence`] that none will.
    pub(crate) async fn commit(&self, plan: &WritePlan) -> Result<Committed, PlanError> {
        if plan.steps.is_empty() {
            return Ok(Committed::Done);
        }
        let _passed = self.gate.pass().await?;
        if plan.is_tally {
            return self.count(&plan.steps).await;
        }
        let token = self.token();
        let first_millis = self.clock.now_millis();
        let mut in_doubt = false;
        let mut attempts = self.attempts();
        loop {
            let since_millis = self.clock.now_millis().saturating_sub(first_millis);
            if in_doubt && since_millis > RESENT_MILLIS_MAX {
                return Err(PlanError::OutcomeUnknown);
            }
            // Made of the steps each time: a second attempt is rare, a copy kept for it is not.
            let request = TransactWriteItems {
                actions: plan.steps.iter().map(|step| step.action.clone()).collect(),
                token: Some(token.clone()),
            };
            let Err(error) = self.store.transact_write_items(request).await else {
                self.count_written(&plan.steps);
                return Ok(Committed::Done);
            };
            let hot = self.met(&plan.steps, &error);
            match error.kind() {
                ErrorKind::ConditionFailed => {
                    if in_doubt {
                        self.fence(&token).await?;
                    }
                    return Ok(refused(&plan.steps, error)?.at(hot));
                }
                ErrorKind::OutcomeUnknown => in_doubt = true,
                ErrorKind::Conflict | ErrorKind::Retry if in_doubt => {}
                ErrorKind::Conflict | ErrorKind::Retry => {
                    return Ok(Committed::not_yet(error.into()).at(hot));
                }
                _ if in_doubt => return Err(PlanError::OutcomeUnknown),
                _ => return Err(error.into()),
            }
            attempts.again(PlanError::OutcomeUnknown).await?;
        }
    }

    /// Carries out steps that only count, each by itself: the first is what was asked for, the
    /// others are sums over it.
    ///
    /// A tally is counted at least once: where the outcome is unknown, it is counted again.
    async fn count(&self, steps: &[Step]) -> Result<Committed, PlanError> {
        for (at, step) in steps.iter().enumerate() {
            let TransactAction::Update(update) = &step.action else {
                continue;
            };
            match self.count_one(update).await {
                Ok(()) => self.count_written(std::slice::from_ref(step)),
                // Nothing was counted yet, so that all of it can be planned again.
                Err(error) if at == 0 && error.kind() == ErrorKind::ConditionFailed => {
                    return Ok(Committed::NotYet {
                        cause: PlanError::Conflict,
                        failed: vec![at],
                        hot: None,
                    });
                }
                Err(error) if at == 0 => {
                    let hot = self.met(std::slice::from_ref(step), &error);
                    return Err(PlanError::from(error).at(hot));
                }
                Err(_) => {}
            }
        }
        Ok(Committed::Done)
    }

    /// Counts at one item. An addition that met a transaction was not carried out, so it is sent
    /// again: the sums over it would lose it otherwise.
    async fn count_one(&self, update: &UpdateItem) -> Result<(), StoreError> {
        let is_passing = |kind: ErrorKind| {
            matches!(
                kind,
                ErrorKind::Retry | ErrorKind::OutcomeUnknown | ErrorKind::Conflict
            )
        };
        let add = || self.store.update_item(update.clone(), ReturnValues::None);
        self.ask_while(is_passing, add).await.map(drop)
    }

    /// Evaluates again and again, reading what is missing, until nothing is.
    ///
    /// What an evaluation says while something is missing counts for nothing, refusals included.
    pub(crate) async fn settle<T>(
        &self,
        reads: &mut Reads,
        mut evaluate: impl FnMut(&Reads) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        for _ in 0..ROUNDS_MAX {
            let outcome = evaluate(reads);
            match reads.take_needs() {
                None => return reads.take_refusal().map_or(outcome, Err),
                Some(needs) => {
                    drop(outcome);
                    self.read(reads, needs).await?;
                }
            }
        }
        // Refs and effects have no cycles; only a very deep tree gets here.
        Err(PlanError::TooDeep)
    }

    /// Evaluates a write whole. Where that is too much and `may_leave_job`, it is evaluated again
    /// with a job for what a job can do.
    pub(crate) async fn settle_extent<T>(
        &self,
        reads: &mut Reads,
        may_leave_job: bool,
        mut evaluate: impl FnMut(&Reads, Extent) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let whole = self.settle(reads, |reads| evaluate(reads, Extent::Whole));
        match whole.await {
            Err(PlanError::TooMuch { .. }) if may_leave_job => {
                self.settle(reads, |reads| evaluate(reads, Extent::WithJob))
                    .await
            }
            planned => planned,
        }
    }

    async fn read(&self, reads: &mut Reads, needs: Needs) -> Result<(), PlanError> {
        for chunk in needs.items.chunks(BATCH_GET_KEYS_MAX) {
            let items = self.read_items_within(&mut reads.room, chunk).await?;
            for (address, item) in chunk.iter().zip(items) {
                reads.keep_item(address, item);
            }
        }
        for listing in needs.lists {
            let most = reads.rows_max(&listing);
            let listed = self.read_list(&listing, most, &mut reads.room).await?;
            reads.keep_list(listing, listed);
        }
        Ok(())
    }

    /// Reads the rows of a list, as far as there is room for them.
    async fn read_list(
        &self,
        listing: &Listing,
        most: usize,
        room: &mut Room,
    ) -> Result<Listed, PlanError> {
        let mut listed = Listed::default();
        let mut bytes = 0;
        let mut request = listing.query(listing.last_only);
        loop {
            request.limit = if listing.last_only {
                Some(1)
            } else {
                (most != usize::MAX).then(|| most + 1 - listed.rows.len())
            };
            let page = self.query_found(&request).await?;
            for found in page.items {
                bytes += found.size();
                match room.take(found).await {
                    Ok(row) => listed.rows.push(row),
                    Err(PlanError::TooMuchMemory { .. }) if !listing.last_only => {
                        listed.has_more = true;
                        return Ok(listed);
                    }
                    Err(error) => return Err(error),
                }
            }
            if listing.last_only && !listed.rows.is_empty() {
                return Ok(listed);
            }
            if listed.rows.len() > most {
                listed.rows.truncate(most);
                listed.has_more = true;
                return Ok(listed);
            }
            match page.last_key {
                None => return Ok(listed),
                Some(_) if bytes > READ_BYTES_MAX => {
                    listed.has_more = true;
                    return Ok(listed);
                }
                last_key => request.start_after = last_key,
            }
        }
    }

    /// Updates one item; where the outcome is unknown, again.
    pub(crate) async fn update(&self, request: &UpdateItem) -> Result<(), PlanError> {
        let _passed = self.gate.pass().await?;
        let is_open =
            |kind: ErrorKind| matches!(kind, ErrorKind::Retry | ErrorKind::OutcomeUnknown);
        let update = || self.store.update_item(request.clone(), ReturnValues::None);
        self.ask_while(is_open, update).await?;
        Ok(())
    }

    /// Writes one item.
    pub(crate) async fn put(&self, request: &PutItem) -> Result<(), PlanError> {
        let _passed = self.gate.pass().await?;
        let put = || self.store.put_item(request.clone(), ReturnValues::None);
        self.ask(put).await?;
        Ok(())
    }

    /// Reads items, each found or missing, in the order of the addresses.
    pub(crate) async fn read_items(
        &self,
        addresses: &[Address],
    ) -> Result<Vec<Option<Item>>, PlanError> {
        let mut room = Room::default();
        let mut items = Vec::with_capacity(addresses.len());
        for chunk in addresses.chunks(BATCH_GET_KEYS_MAX) {
            items.extend(self.read_items_within(&mut room, chunk).await?);
        }
        Ok(items)
    }

    /// As [`Runner::read_items`], if there is room for them.
    pub(crate) async fn read_items_within(
        &self,
        room: &mut Room,
        addresses: &[Address],
    ) -> Result<Vec<Option<Item>>, PlanError> {
        let mut answers = vec![None; addresses.len()];
        let mut open: Vec<usize> = (0..addresses.len()).collect();
        let mut attempts = self.attempts();
        while !open.is_empty() {
            let asked = open
                .iter()
                .map(|&index| self.keys.address(&addresses[index]));
            let request = BatchGetItem::new(asked.collect());
            let got = self.ask(|| self.store.batch_get_item(request.clone()));
            let first = &addresses[open[0]];
            let got = got.await.map_err(|error| self.unread(first, error))?;
            note_items(&got);
            let got = got.answer;
            let mut unprocessed = Vec::new();
            for (index, got) in open.into_iter().zip(got) {
                match got {
                    BatchGot::Found(found) => {
                        self.count_read(&addresses[index]);
                        answers[index] = Some(room.take(found).await?);
                    }
                    BatchGot::Missing => {}
                    BatchGot::Unprocessed => unprocessed.push(index),
                }
            }
            open = unprocessed;
            if let Some(first) = open.first() {
                let over = attempts.again(StoreError::Throttled).await;
                over.map_err(|error| self.unread(&addresses[*first], error))?;
            }
        }
        Ok(answers)
    }

    /// Reads one page of a partition.
    pub(crate) async fn query(&self, request: &Query) -> Result<Page<Item>, PlanError> {
        in_parts(self.query_found(request).await?).await
    }

    /// As [`Runner::query`], with items that are not taken apart yet.
    pub(crate) async fn query_found(&self, request: &Query) -> Result<Page, PlanError> {
        let page = self.ask(|| self.store.query(request.clone())).await;
        let page = page.map_err(|error| self.unlisted(request, error))?;
        note_page("Query", request.index.as_ref(), &page);
        Ok(page.answer)
    }

    /// Reads one page of a table or index.
    pub(crate) async fn scan(&self, request: &Scan) -> Result<Page<Item>, PlanError> {
        in_parts(self.scan_found(request).await?).await
    }

    /// As [`Runner::scan`], with items that are not taken apart yet.
    pub(crate) async fn scan_found(&self, request: &Scan) -> Result<Page, PlanError> {
        let page = self.ask(|| self.store.scan(request.clone())).await?;
        note_page("Scan", request.index.as_ref(), &page);
        Ok(page.answer)
    }

    /// Asks the store, again while it lacks the capacity to answer.
    async fn ask<T, F>(&self, request: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.ask_while(|kind| kind == ErrorKind::Retry, request)
            .await
    }

    pub(super) async fn ask_while<T, F>(
        &self,
        is_passing: impl Fn(ErrorKind) -> bool,
        request: impl Fn() -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut attempts = self.attempts();
        loop {
            match request().await {
                Err(error) if is_passing(error.kind()) => attempts.again(error).await?,
                answer => return answer,
            }
        }
    }

    /// The attempts at something that may have to be tried or planned again.
    pub(crate) fn attempts(&self) -> Attempts<'_> {
        self.attempts_of(self.patience.attempts)
    }

    /// As [`Runner::attempts`], so many.
    pub(crate) fn attempts_of(&self, most: u32) -> Attempts<'_> {
        Attempts {
            runner: self,
            most,
            failed: 0,
        }
    }

    /// Waits a random part of a time that grows, so that writers who met do not meet again.
    async fn pause(&self, attempt: u32) {
        let longest = self.patience.pause_millis << attempt.min(6);
        if longest == 0 {
            return tokio::task::yield_now().await;
        }
        let mut random = [0; 8];
        self.entropy.fill(&mut random);
        self.wait(u64::from_le_bytes(random) % (longest + 1)).await;
    }

    /// Waits so long: by the clock, where time passes by it alone.
    pub(crate) async fn wait(&self, millis: u64) {
        match self.clock.wait(millis) {
            Some(waiting) => waiting.await,
            None => tokio::time::sleep(Duration::from_millis(millis)).await,
        }
    }

    /// A text that is drawn once.
    pub(crate) fn token(&self) -> String {
        let mut random = [0; 16];
        self.tokens.fill(&mut random);
        Ulid::from(u128::from_le_bytes(random)).to_string()
    }
}

/// The attempts that patience allows.
pub(crate) struct Attempts<'r> {
    runner: &'r Runner,
    most: u32,
    failed: u32,
}

impl Attempts<'_> {
    /// Waits for another attempt after one that was not carried out. Where there is none, its cause
    /// is the answer.
    pub(crate) async fn again<E>(&mut self, cause: E) -> Result<(), E> {
        self.failed += 1;
        if self.failed >= self.most {
            return Err(cause);
        }
        self.runner.pause(self.failed - 1).await;
        Ok(())
    }
}

/// Notes a page for who measures.
fn note_page(operation: &'static str, index: Option<&String>, page: &Metered<Page>) {
    preview::note(|| ReadRequest {
        operation,
        index: index.cloned(),
        items: page.answer.items.len(),
        bytes: page.answer.items.iter().map(FoundItem::size).sum(),
        consumed: page.consumed.clone(),
    });
}

/// Notes items that were read one by one for who measures.
fn note_items(got: &Metered<Vec<BatchGot>>) {
    preview::note(|| {
        let found = got.answer.iter().filter_map(|one| match one {
            BatchGot::Found(found) => Some(found.size()),
            BatchGot::Missing | BatchGot::Unprocessed => None,
        });
        ReadRequest {
            operation: "BatchGetItem",
            index: None,
            items: found.clone().count(),
            bytes: found.sum(),
            consumed: got.consumed.clone(),
        }
    });
}

async fn in_parts(page: Page) -> Result<Page<Item>, PlanError> {
    load::take(page.items.iter().map(FoundItem::memory).sum()).await;
    Ok(page.into_parts()?)
}

/// What failed conditions mean: everything that says that it is final, or another attempt.
pub(crate) fn refused(steps: &[Step], error: StoreError) -> Result<Committed, PlanError> {
    let StoreError::TransactionCanceled { reasons } = error else {
        return Ok(Committed::not_yet(PlanError::Conflict));
    };
    let mut failed = Vec::new();
    let mut faults: Vec<Fault> = Vec::new();
    let mut refusals: Vec<Refused> = Vec::new();
    let mut refusal: Option<&PlanError> = None;
    for (at, (step, reason)) in steps.iter().zip(&reasons).enumerate() {
        let CancellationReason::ConditionalCheckFailed { item } = reason else {
            continue;
        };
        failed.push(at);
        // What must be there is there: then something else about it has changed.
        let is_there = item.is_some() && !matches!(step.action, TransactAction::Put(_));
        match &step.refusal {
            Refusal::Final(found) if !is_there && !is_there_already(step, item.as_ref()) => {
                match &**found {
                    PlanError::Invalid { faults: more } | PlanError::Taken { faults: more } => {
                        // Two designs may guard the same value.
                        for fault in more {
                            if !faults.contains(fault) {
                                faults.push(fault.clone());
                            }
                        }
                    }
                    PlanError::Batch { refusals: more } => refusals.extend(more.iter().cloned()),
                    // What is still being removed is why another item is in the way: an item that an
                    // effect of the first creation has made, say.
                    found if found.is_still_removed() => refusal = Some(found),
                    found => refusal = refusal.or(Some(found)),
                }
            }
            Refusal::Final(_) | Refusal::Stale => {}
        }
    }
    if let Some(refusal) = refusal {
        return Err(refusal.clone());
    }
    if !refusals.is_empty() {
        return Err(PlanError::Batch {
            refusals: by_operation(refusals),
        });
    }
    if faults.is_empty() {
        Ok(Committed::NotYet {
            cause: PlanError::Conflict,
            failed,
            hot: None,
        })
    } else {
        Err(PlanError::of_faults(faults))
    }
}

/// Whether what a step puts is there just so. Another request has done the same for the same item,
/// so that this one is planned again, and finds nothing left to do.
fn is_there_already(step: &Step, found: Option<&Item>) -> bool {
    let (TransactAction::Put(put), Some(found)) = (&step.action, found) else {
        return false;
    };
    put.return_item_on_failure && put.item == *found
}

/// Refusals in the order of their operations, and all faults of one together.
fn by_operation(mut refusals: Vec<Refused>) -> Vec<Refused> {
    refusals.sort_by_key(|refused| (refused.position, !refused.error.is_still_removed()));
    refusals.dedup_by(|later, first| {
        let is_same = later.position == first.position;
        if let (true, Some(faults), Some(more)) =
            (is_same, first.error.faults(), later.error.faults())
        {
            first.error = PlanError::of_faults([faults, more].concat());
        }
        is_same
    });
    refusals
}
