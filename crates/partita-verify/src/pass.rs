//! One pass over the tables of a design.
//!
//! The tables are scanned page by page. The items of a page are judged together, over what was
//! read for them in batches. Where one looks wrong, it is looked at again by itself: everything
//! that it rests on is read twice, and only if nothing has changed in between is that what stood
//! there at one moment. So writers may go on meanwhile.

use std::collections::BTreeSet;
use std::pin::Pin;

use partita_core::Item;
use partita_design::Design;
use partita_store::request::{ItemAddress, TransactAction};
use partita_store::table::TableName;
use partita_store::{Clock, Snapshot, Store, StoreResult};

use crate::check::shares::Numbers;
use crate::check::{Finding, Findings, Mend, Subject, examine};
use crate::derivation::{Derivation, kept_place};
use crate::extent::{Chosen, Extent};
use crate::grouping::{Grouping, Place};
use crate::jobs::Jobs;
use crate::layout::{Layout, Stored};
use crate::lock::Lock;
use crate::mend::{mend_other, mend_own};
use crate::permission::{Intent, Rights};
use crate::reader::{Reader, Written, pause};
use crate::reads::{Known, Reads};
use crate::report::{Drift, Outcome, Progress, Report, Unrecognised, VerifyError, Watch};
use crate::rounds::Rounds;
use crate::scope::ReadState;
use crate::suspects::{Suspect, Suspects};

/// Rounds of reading at most. A path goes through a few refs.
const ROUNDS_MAX: usize = 16;
/// How often an item is looked at again that changes meanwhile.
const LOOKS_MAX: u32 = 8;

/// What is done about what is found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode<'i> {
    /// It is reported.
    Verify,
    /// It is reported, and what a repair would write is counted.
    Survey,
    /// It is mended, as far as the removals were agreed to.
    Repair(&'i Intent),
}

/// A pass, and what it has found so far.
pub(crate) struct Pass<'a> {
    pub(crate) layout: Layout<'a>,
    pub(crate) numbers: Numbers<'a>,
    pub(crate) reader: Reader<'a>,
    clock: &'a dyn Clock,
    /// Kept from before the first read of a pass that writes.
    lock: Option<&'a Lock<'a>>,
    pub(crate) mode: Mode<'a>,
    pub(crate) rights: Rights,
    pub(crate) extent: &'a Extent,
    derivation: &'a Derivation,
    /// What was asked for.
    chosen: Chosen,
    /// What is looked at.
    pub(crate) looked_at: Chosen,
    /// The places of the design whose wrong values are derived from right ones, once that is known.
    roots: Option<BTreeSet<String>>,
    suspects: Suspects,
    pub(crate) report: Report,
    /// What a repair would write.
    pub(crate) intent: Intent,
    /// What it has written of that.
    spent: Intent,
    progress: Progress,
}

/// What a pass came to.
pub(crate) struct Passed {
    pub(crate) report: Report,
    pub(crate) intent: Intent,
    pub(crate) rights: Rights,
    pub(crate) roots: BTreeSet<String>,
    /// Whether all that was found is reported; otherwise another pass, which knows the roots, does.
    pub(crate) is_told: bool,
}

/// An item of a page with what it counts.
pub(crate) struct Judged {
    pub(crate) address: ItemAddress,
    /// Whether it is an item of what was asked for.
    is_asked: bool,
    findings: Findings,
    pub(crate) shares: Vec<(Place, partita_core::Number)>,
    kept: Vec<(Place, Option<partita_core::Value>)>,
}

impl<'a> Pass<'a> {
    /// A pass that knows the roots, or one that finds them out.
    pub(crate) fn new(
        rounds: &'a Rounds<'a>,
        moment: Option<&'a dyn Snapshot>,
        mode: Mode<'a>,
        rights: Rights,
        roots: Option<BTreeSet<String>>,
    ) -> Result<Pass<'a>, VerifyError> {
        let Rounds { design, extent, .. } = *rounds;
        let layout = Layout::new(design)?;
        let chosen = Chosen::of(extent, design)?;
        let looked_at = if roots.is_none() {
            chosen.with_sources(&rounds.derivation)
        } else {
            chosen.clone()
        };
        Ok(Pass {
            numbers: Numbers::new(&layout),
            layout,
            reader: Reader::new(rounds.store, moment),
            clock: rounds.clock,
            lock: rounds.lock.as_ref(),
            mode,
            rights,
            extent,
            derivation: &rounds.derivation,
            chosen,
            looked_at,
            roots,
            suspects: Suspects::default(),
            report: Report::default(),
            intent: Intent::default(),
            spent: Intent::default(),
            progress: Progress::default(),
        })
    }

    /// Goes through all tables. Boxed, so that the code is compiled here and not once more in each
    /// crate that awaits it.
    pub(crate) fn run<'r>(
        self,
        watch: &'r mut dyn Watch,
    ) -> Pin<Box<dyn Future<Output = Result<Passed, VerifyError>> + Send + 'r>>
    where
        Self: 'r,
    {
        Box::pin(self.go_through(watch))
    }

    async fn go_through(mut self, watch: &mut dyn Watch) -> Result<Passed, VerifyError> {
        let jobs = Jobs::load(&self.layout, self.reader).await?;
        (self.report.jobs, self.report.stalled) = (jobs.count, jobs.stalled);
        let tables: Vec<_> = self.layout.names().cloned().collect();
        for table in &tables {
            let described = self.reader.store.describe_table(table).await?;
            self.progress.total += described.totals.items;
        }
        let mut grouping = Grouping::new(self.extent.grouping_bytes);
        for table in tables {
            let mut pages = self.reader.pages(table.clone(), self.extent);
            while let Some(items) = pages.next().await? {
                let judged = self.judge_page(&table, &items).await?;
                self.take(judged, &mut grouping, watch).await?;
                self.progress.items += items.len() as u64;
                watch.moves(self.progress);
                self.step(watch).await?;
            }
        }
        self.report.items = self.progress.items;
        self.group_kept(&mut grouping, watch).await?;
        self.settle_numbers(grouping, watch).await?;
        let is_told = self.tell_suspects(watch);
        Ok(Passed {
            report: self.report,
            intent: self.intent,
            rights: self.rights,
            roots: self.roots.unwrap_or_default(),
            is_told,
        })
    }

    /// Between two steps: others have their turn, and the lock stays ours.
    pub(crate) async fn step(&self, watch: &mut dyn Watch) -> Result<(), VerifyError> {
        watch.between_steps().await?;
        match self.lock {
            Some(lock) => lock.renew().await,
            None => Ok(()),
        }
    }

    /// Writes a number, once, if the lock is still ours and the item is the one that was read.
    pub(crate) async fn write_number(
        &self,
        actions: Vec<TransactAction>,
    ) -> Result<Written, VerifyError> {
        let moment = self.reader.moment();
        match self.lock {
            Some(lock) => lock.write(moment, actions).await,
            None => Ok(self.reader.write_since(moment, actions).await?),
        }
    }

    pub(crate) fn has_lock(&self) -> bool {
        self.lock.is_some()
    }

    /// Sees to it that no number is written any more by what was sent.
    pub(crate) async fn settle_writes(&self) -> Result<(), VerifyError> {
        match self.lock {
            Some(lock) => lock.settle().await,
            None => Ok(()),
        }
    }

    /// Reports what was found before the roots were known; false where that was too much.
    fn tell_suspects(&mut self, watch: &mut dyn Watch) -> bool {
        if self.roots.is_some() {
            return true;
        }
        let suspects = std::mem::take(&mut self.suspects);
        self.roots = Some(self.derivation.roots(&suspects.wrong));
        let kept = suspects.into_kept();
        let is_told = kept.is_some();
        for suspect in kept.into_iter().flatten() {
            self.tell(watch, suspect);
        }
        is_told
    }

    /// What an item is judged by, once it looks wrong: what is mended is as it is now.
    fn present(&self) -> Reader<'a> {
        match self.mode {
            Mode::Verify | Mode::Survey => self.reader,
            Mode::Repair(_) => self.reader.now(),
        }
    }

    /// Looks at the items of a page, and reads what that takes.
    pub(crate) async fn judge_page(
        &self,
        table: &TableName,
        items: &[Item],
    ) -> StoreResult<Vec<Judged>> {
        let mut reads = Reads::new(self.clock.now_millis());
        for item in items {
            if let Some(address) = self.layout.address_of(table, item) {
                reads.insert(&self.layout, address, Some(item.clone()));
            }
        }
        let jobs = Jobs::default();
        for _ in 0..ROUNDS_MAX {
            let judged = items.iter().filter_map(|item| {
                let address = self.layout.address_of(table, item)?;
                let is_over = reads.is_over(&self.layout, table, item);
                (!is_over).then(|| self.judge(&reads, &jobs, address, item))
            });
            let judged: Vec<Judged> = judged.collect();
            if reads.is_complete() {
                return Ok(judged);
            }
            reads.fill(&self.layout, self.reader).await?;
        }
        // Refs have no cycles; what is still unknown after so many rounds is left alone.
        Ok(Vec::new())
    }

    fn judge(&self, reads: &Reads, jobs: &Jobs, address: ItemAddress, item: &Item) -> Judged {
        let state = ReadState {
            layout: &self.layout,
            reads,
        };
        let stored = self.layout.recognise(&address.table, item);
        // An item that is not looked at may still count for one that is.
        let is_looked_at = self.looked_at.has_item(&stored);
        let findings = if is_looked_at {
            examine(Subject {
                state,
                jobs,
                rights: &self.rights,
                address: &address,
                stored: item,
            })
        } else {
            Findings::default()
        };
        let (shares, kept) = self.numbers.of(state, &stored, &address);
        let shares = shares.into_iter();
        let kept = kept.into_iter().filter(|_| is_looked_at);
        Judged {
            is_asked: self.chosen.has_item(&stored),
            findings,
            shares: shares
                .map(|share| {
                    (
                        place(&self.layout, &share.at, share.attribute),
                        share.amount,
                    )
                })
                .collect(),
            kept: kept
                .map(|(name, value)| (place(&self.layout, &address, name), value))
                .collect(),
            address,
        }
    }

    async fn take(
        &mut self,
        judged: Vec<Judged>,
        grouping: &mut Grouping,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        for judged in judged {
            if judged.is_asked {
                self.meet(&judged, watch);
            }
            for (place, amount) in judged.shares {
                grouping.add(place, amount)?;
            }
            for (place, stored) in judged.kept {
                grouping.keep(place, stored)?;
            }
            if !judged.findings.found.is_empty() {
                self.settle(&judged.address, watch).await?;
                self.step(watch).await?;
            }
        }
        Ok(())
    }

    /// Tells what the design does not recognise of an item.
    fn meet(&mut self, judged: &Judged, watch: &mut dyn Watch) {
        let findings = &judged.findings;
        self.report.kept_references += findings.kept_references;
        self.report.unrecognised_attributes += findings.unrecognised.len() as u64;
        let mut met = Unrecognised {
            table: judged.address.table.to_string(),
            key: judged.address.key.clone(),
            attribute: None,
        };
        if findings.is_unrecognised {
            self.report.unrecognised += 1;
            self.rights.is_held = true;
            watch.meets(&met);
        }
        for attribute in &findings.unrecognised {
            met.attribute = Some(attribute.clone());
            watch.meets(&met);
        }
    }

    /// Looks at one item until nothing changes meanwhile, and reports or mends what is wrong.
    async fn settle(
        &mut self,
        address: &ItemAddress,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        let mut last = Findings::default();
        for look in 0..LOOKS_MAX {
            let Some((reads, mut findings)) = self.look(address).await? else {
                return Ok(());
            };
            findings.hold_back(|says| self.is_later(says));
            let second = reads.again(&self.layout, self.present()).await?;
            let is_still = reads.is_same(&second);
            if is_still && self.conclude(address, &reads, &findings, watch).await? {
                return Ok(());
            }
            last = findings;
            pause(look).await;
        }
        for finding in &last.found {
            self.find(watch, finding, Outcome::Moving);
        }
        Ok(())
    }

    /// The item as it is now, judged by itself; none if it is gone.
    async fn look(&self, address: &ItemAddress) -> StoreResult<Option<(Reads, Findings)>> {
        let mut reads = Reads::new(self.clock.now_millis());
        let jobs = Jobs::load(&self.layout, self.present()).await?;
        for _ in 0..ROUNDS_MAX {
            let findings = match reads.item(address) {
                Known::Missing => return Ok(None),
                Known::Unread => Findings::default(),
                Known::Found(stored) => examine(Subject {
                    state: ReadState {
                        layout: &self.layout,
                        reads: &reads,
                    },
                    jobs: &jobs,
                    rights: &self.rights,
                    address,
                    stored,
                }),
            };
            if reads.is_complete() {
                return Ok(Some((reads, findings)));
            }
            reads.fill(&self.layout, self.present()).await?;
        }
        Ok(None)
    }

    /// Tells what is wrong with an item, or mends it; false where it has to be looked at again.
    async fn conclude(
        &mut self,
        address: &ItemAddress,
        reads: &Reads,
        findings: &Findings,
        watch: &mut dyn Watch,
    ) -> Result<bool, VerifyError> {
        let is_permitted = self.is_permitted(findings);
        if is_permitted && !self.mend(address, reads, findings, watch).await? {
            return Ok(false);
        }
        for finding in &findings.found {
            let outcome = match (&finding.mend, self.mode) {
                (Mend::Job(job), _) => Outcome::Awaited { job: job.clone() },
                (_, Mode::Verify) => Outcome::Found,
                (Mend::Nobody, _) => Outcome::Left { removable: false },
                (Mend::Named, _) => Outcome::Left { removable: true },
                (Mend::Held, _) => Outcome::Held,
                (Mend::Own | Mend::Other(_) | Mend::Later, Mode::Survey) => Outcome::Mendable,
                (Mend::Later, Mode::Repair(_)) => Outcome::Found,
                (Mend::Own | Mend::Other(_), Mode::Repair(_)) if is_permitted => continue,
                // It is asked for with the next pass.
                (Mend::Own | Mend::Other(_), Mode::Repair(_)) => Outcome::Mendable,
            };
            self.find(watch, finding, outcome);
        }
        Ok(true)
    }

    /// Whether all that would be written for an item was agreed to.
    fn is_permitted(&self, findings: &Findings) -> bool {
        let Mode::Repair(agreed) = self.mode else {
            return false;
        };
        let mut wanted = self.spent.clone();
        let writes = findings.found.iter().filter(|one| one.mend.is_write());
        writes.for_each(|one| wanted.add(&one.drift));
        agreed.covers(&wanted)
    }

    /// Carries out all writes that mend an item and what is derived from it; false where one of
    /// them met somebody else's.
    async fn mend(
        &mut self,
        address: &ItemAddress,
        reads: &Reads,
        findings: &Findings,
        watch: &mut dyn Watch,
    ) -> Result<bool, VerifyError> {
        let mut is_done = true;
        // First what is derived from the item: these writes require that it is as it was read.
        for (at, action) in findings.others.iter().enumerate() {
            let mend = Mend::Other(at);
            if !findings.found.iter().any(|one| one.mend == mend) {
                continue;
            }
            let (layout, reader) = (&self.layout, self.reader);
            let action = action.clone();
            let written = mend_other(layout, reader, reads, address, findings, action).await?;
            is_done &= self.mended(written, &mend, findings, watch);
        }
        let Known::Found(stored) = reads.item(address) else {
            return Ok(is_done);
        };
        if !findings.own.is_empty() {
            let (layout, reader) = (&self.layout, self.reader);
            let written = mend_own(layout, reader, reads, address, stored, findings).await?;
            is_done &= self.mended(written, &Mend::Own, findings, watch);
        }
        Ok(is_done)
    }

    fn mended(
        &mut self,
        written: Written,
        by: &Mend,
        findings: &Findings,
        watch: &mut dyn Watch,
    ) -> bool {
        let outcome = match written {
            Written::Done => Outcome::Mended,
            Written::Refused => Outcome::Left { removable: false },
            Written::Stale | Written::Replaced => return false,
        };
        for finding in findings.found.iter().filter(|one| one.mend == *by) {
            if written == Written::Done {
                self.spent.add(&finding.drift);
            }
            self.find(watch, finding, outcome.clone());
        }
        true
    }

    /// Whether what a declaration derives waits until what it is derived from is right.
    pub(crate) fn is_later(&self, place: &str) -> bool {
        let roots = self.roots.as_ref();
        let is_root = roots.is_none_or(|roots| roots.contains(place));
        !self.rights.may_mend(is_root)
    }

    fn find(&mut self, watch: &mut dyn Watch, finding: &Finding, outcome: Outcome) {
        let drift = finding.drift.clone();
        let derived_by = finding.mend.is_derived().then(|| drift.says.clone());
        self.suspect(
            watch,
            Suspect {
                drift,
                outcome,
                derived_by,
            },
        );
    }

    /// Reports something that looks wrong, or keeps it until the roots are known.
    pub(crate) fn suspect(&mut self, watch: &mut dyn Watch, suspect: Suspect) {
        if self.is_unsettled(&suspect.drift.says) {
            return;
        }
        if self.roots.is_some() {
            self.tell(watch, suspect);
        } else {
            let is_asked = self.is_asked(&suspect.drift);
            self.suspects.add(suspect, is_asked);
        }
    }

    /// Whether what a declaration derives is not judged, also as far as it is kept of items that are
    /// gone.
    fn is_unsettled(&self, says: &str) -> bool {
        let unsettled = &self.extent.unsettled;
        let mut places = unsettled.iter();
        places.any(|place| says == *place || says == kept_place(place))
    }

    /// Whether a drift is of what was asked for: the design names its record.
    fn is_asked(&self, drift: &Drift) -> bool {
        let record = drift.says.split('.').nth(1);
        let record = record.and_then(|name| self.layout.design.find_record(name));
        record.is_none_or(|record| self.chosen.has(record))
    }

    fn tell(&mut self, watch: &mut dyn Watch, suspect: Suspect) {
        let Suspect {
            drift,
            outcome,
            derived_by,
        } = suspect;
        let is_open = !matches!(outcome, Outcome::Mended | Outcome::Moving);
        if is_open && derived_by.is_some_and(|place| self.is_later(&place)) {
            self.report.follow(&drift);
            return;
        }
        self.report.count(&drift, &outcome);
        if outcome == Outcome::Mendable {
            self.intent.add(&drift);
        }
        watch.finds(&drift, &outcome);
    }
}

/// Whether a table has items that the design does not recognise. It is known before anything is
/// removed: what belongs to such an item may come before it.
pub(crate) async fn has_unrecognised(
    design: &Design,
    store: &dyn Store,
    extent: &Extent,
    watch: &mut dyn Watch,
) -> Result<bool, VerifyError> {
    let moment = store.snapshot();
    let (layout, reader) = (Layout::new(design)?, Reader::new(store, moment.as_deref()));
    for table in layout.names() {
        let is_strange = |item: &Item| matches!(layout.recognise(table, item), Stored::Stranger);
        let mut pages = reader.pages(table.clone(), extent);
        while let Some(items) = pages.next().await? {
            watch.between_steps().await?;
            if items.iter().any(is_strange) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The place of a number of an item.
fn place(layout: &Layout<'_>, address: &ItemAddress, attribute: String) -> Place {
    let text = |name: Option<&String>| {
        let value = name.and_then(|name| address.key.get(name)?.as_str());
        value.unwrap_or_default().to_owned()
    };
    let table = layout.table(&address.table);
    Place {
        table: address.table.to_string(),
        partition: text(table.map(|table| &table.partition)),
        sort: text(table.map(|table| &table.sort)),
        attribute,
    }
}
