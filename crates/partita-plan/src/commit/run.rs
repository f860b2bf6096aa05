//! What a store is asked, again while it lacks the capacity to answer; and what failed conditions
//! mean.

use std::sync::Arc;
use std::time::Duration;

use partita_core::Item;
use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_store::capacity::Metered;
use partita_store::error::CancellationReason;
use partita_store::request::{
    BatchGetItem, BatchGot, Page, PutItem, Query, ReturnValues, Scan, TransactAction, UpdateItem,
};
use partita_store::table::TableName;
use partita_store::{Clock, Entropy, ErrorKind, FoundItem, Store, StoreError};
use ulid::Ulid;

use crate::commit::{Committed, Step};
use crate::draft::Refusal;
use crate::error::{Fault, PlanError, Refused};
use crate::evaluate::reads::Needs;
use crate::evaluate::{Listed, Listing, Reads};
use crate::hot::Spots;
use crate::load;
use crate::migration::Gate;
use crate::pattern::READ_BYTES_MAX;
use crate::place::{Address, KeyNames};
use crate::preview::{self, ReadRequest};
use crate::room::Room;

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

impl Runner {
    /// The same, reading another store.
    pub(crate) fn reading(&self, store: Arc<dyn Store>) -> Runner {
        Runner {
            store,
            ..self.clone()
        }
    }

    /// Reads what an evaluation lacks.
    pub(crate) async fn read(&self, reads: &mut Reads, needs: Needs) -> Result<(), PlanError> {
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
        let places = || [self.keys.place(&request.table, &request.key)];
        let _passed = self.gate.pass_to(places).await?;
        let is_open =
            |kind: ErrorKind| matches!(kind, ErrorKind::Retry | ErrorKind::OutcomeUnknown);
        load::begin_write();
        let update = || self.store.update_item(request.clone(), ReturnValues::None);
        self.ask_while(is_open, update).await?;
        Ok(())
    }

    /// Where an action leaves something.
    pub(crate) fn written(&self, action: &TransactAction) -> Option<Address> {
        match action {
            TransactAction::Put(put) => Some(self.keys.place(&put.table, &put.item)),
            TransactAction::Update(update) => Some(self.keys.place(&update.table, &update.key)),
            TransactAction::Delete(_) | TransactAction::Check(_) => None,
        }
    }

    /// Writes one item.
    pub(crate) async fn put(&self, request: &PutItem) -> Result<(), PlanError> {
        let places = || [self.keys.place(&request.table, &request.item)];
        let _passed = self.gate.pass_to(places).await?;
        load::begin_write();
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

    pub(crate) async fn ask_while<T, F>(
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

/// Whether the same request may be carried out the next time, or was already.
pub(crate) fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Retry | ErrorKind::Conflict | ErrorKind::OutcomeUnknown
    )
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
