//! One pass over the tables of a design.
//!
//! The tables are scanned page by page. The items of a page are judged together, over what was
//! read for them in batches. Where one looks wrong, it is looked at again by itself: everything
//! that it rests on is read twice, and only if nothing has changed in between is that what stood
//! there at one moment. So writers may go on meanwhile.

use partita_core::Item;
use partita_design::Design;
use partita_store::request::{ItemAddress, Scan};
use partita_store::{Clock, Store, StoreResult};

use crate::check::shares::Numbers;
use crate::check::{Findings, Mend, Subject, examine};
use crate::grouping::{Grouping, Place};
use crate::jobs::Jobs;
use crate::layout::Layout;
use crate::mend::{mend_other, mend_own};
use crate::reader::{Reader, Written, pause};
use crate::reads::{Known, Reads};
use crate::report::{Outcome, Progress, Report, VerifyError, Watch};
use crate::scene::World;

/// Rounds of reading at most. A path goes through a few refs.
const ROUNDS_MAX: usize = 16;
/// How often an item is looked at again that changes meanwhile.
const LOOKS_MAX: u32 = 8;
/// Items of a page. A few thousand items are read for them at once.
const PAGE_ITEMS: usize = 500;

/// Whether what is found is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Verify,
    Repair,
}

/// A pass, and what it has found so far.
pub(crate) struct Pass<'a> {
    pub(crate) layout: Layout<'a>,
    pub(crate) numbers: Numbers<'a>,
    pub(crate) reader: Reader<'a>,
    clock: &'a dyn Clock,
    pub(crate) mode: Mode,
    bytes_max: usize,
    pub(crate) report: Report,
    progress: Progress,
}

/// An item of a page with what it counts.
struct Judged {
    address: ItemAddress,
    is_suspect: bool,
    is_stranger: bool,
    shares: Vec<(Place, partita_core::Number)>,
    kept: Vec<(Place, Option<partita_core::Value>)>,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        design: &'a Design,
        store: &'a dyn Store,
        clock: &'a dyn Clock,
        mode: Mode,
        bytes_max: usize,
    ) -> StoreResult<Pass<'a>> {
        let layout = Layout::new(design)?;
        Ok(Pass {
            numbers: Numbers::new(&layout),
            layout,
            reader: Reader { store },
            clock,
            mode,
            bytes_max,
            report: Report::default(),
            progress: Progress::default(),
        })
    }

    /// Goes through all tables.
    pub(crate) async fn run(mut self, watch: &mut dyn Watch) -> Result<Report, VerifyError> {
        self.report.jobs = Jobs::load(&self.layout, self.reader).await?.count;
        let tables: Vec<_> = self.layout.names().cloned().collect();
        for table in &tables {
            let described = self.reader.store.describe_table(table).await?;
            self.progress.total += described.totals.items;
        }
        let mut grouping = Grouping::new(self.bytes_max);
        for table in tables {
            let mut request = page(Scan::new(table));
            loop {
                let found = self.reader.scan(&request).await?;
                let judged = self.judge_page(&request, &found.items).await?;
                self.take(judged, &mut grouping, watch).await?;
                self.progress.items += found.items.len() as u64;
                watch.moves(self.progress);
                match found.last_key {
                    None => break,
                    last_key => request.start_after = last_key,
                }
            }
        }
        self.report.items = self.progress.items;
        self.settle_numbers(grouping, watch).await?;
        Ok(self.report)
    }

    /// Looks at the items of a page, and reads what that takes.
    async fn judge_page(&self, request: &Scan, items: &[Item]) -> StoreResult<Vec<Judged>> {
        let mut reads = Reads::new(self.clock.now_millis());
        for item in items {
            if let Some(address) = self.layout.address_of(&request.table, item) {
                reads.insert(&self.layout, address, Some(item.clone()));
            }
        }
        let jobs = Jobs::default();
        for _ in 0..ROUNDS_MAX {
            let judged = items.iter().filter_map(|item| {
                let address = self.layout.address_of(&request.table, item)?;
                let is_over = reads.is_over(&self.layout, &address.table, item);
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
        let world = World {
            layout: &self.layout,
            reads,
        };
        let findings = examine(Subject {
            world,
            jobs,
            address: &address,
            stored: item,
        });
        let stored = self.layout.recognise(&address.table, item);
        let (shares, kept) = self.numbers.of(world, &stored, &address);
        let shares = shares.into_iter();
        let kept = kept.into_iter();
        Judged {
            is_suspect: !findings.found.is_empty(),
            is_stranger: findings.is_stranger,
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
            self.report.strangers += u64::from(judged.is_stranger);
            for (place, amount) in judged.shares {
                grouping.add(place, amount)?;
            }
            for (place, stored) in judged.kept {
                grouping.keep(place, stored)?;
            }
            if judged.is_suspect {
                self.settle(&judged.address, watch).await?;
            }
        }
        Ok(())
    }

    /// Looks at one item until nothing changes meanwhile, and tells or mends what is wrong.
    async fn settle(
        &mut self,
        address: &ItemAddress,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        let mut last = Findings::default();
        for look in 0..LOOKS_MAX {
            let Some((reads, findings)) = self.look(address).await? else {
                return Ok(());
            };
            let second = reads.again(&self.layout, self.reader).await?;
            let is_still = reads.is_same(&second);
            if is_still && self.conclude(address, &reads, &findings, watch).await? {
                return Ok(());
            }
            last = findings;
            pause(look).await;
        }
        for finding in &last.found {
            self.tell(watch, &finding.drift, &Outcome::Moving);
        }
        Ok(())
    }

    /// The item as it is now, judged by itself; none if it is gone.
    async fn look(&self, address: &ItemAddress) -> StoreResult<Option<(Reads, Findings)>> {
        let mut reads = Reads::new(self.clock.now_millis());
        let jobs = Jobs::load(&self.layout, self.reader).await?;
        for _ in 0..ROUNDS_MAX {
            let findings = match reads.item(address) {
                Known::Missing => return Ok(None),
                Known::Unread => Findings::default(),
                Known::Found(stored) => examine(Subject {
                    world: World {
                        layout: &self.layout,
                        reads: &reads,
                    },
                    jobs: &jobs,
                    address,
                    stored,
                }),
            };
            if reads.is_complete() {
                return Ok(Some((reads, findings)));
            }
            reads.fill(&self.layout, self.reader).await?;
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
        if self.mode == Mode::Repair && !self.mend(address, reads, findings, watch).await? {
            return Ok(false);
        }
        for finding in &findings.found {
            let outcome = match (&finding.mend, self.mode) {
                (Mend::Job(job), _) => Outcome::Awaited { job: job.clone() },
                (_, Mode::Verify) => Outcome::Found,
                (Mend::Nobody, Mode::Repair) => Outcome::Left,
                (Mend::Own | Mend::Other(_), Mode::Repair) => continue,
            };
            self.tell(watch, &finding.drift, &outcome);
        }
        Ok(true)
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
        // First what others are derived from rests on: the item as it is.
        for (at, action) in findings.others.iter().enumerate() {
            let (layout, reader) = (&self.layout, self.reader);
            let written = mend_other(layout, reader, reads, address, action.clone()).await?;
            is_done &= self.mended(written, &Mend::Other(at), findings, watch);
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
        if written == Written::Done {
            for finding in findings.found.iter().filter(|one| one.mend == *by) {
                self.tell(watch, &finding.drift, &Outcome::Mended);
            }
        }
        written == Written::Done
    }

    pub(crate) fn tell(
        &mut self,
        watch: &mut dyn Watch,
        drift: &crate::report::Drift,
        outcome: &Outcome,
    ) {
        self.report.count(drift, outcome);
        watch.finds(drift, outcome);
    }

    /// The shares of every item, for those numbers that are asked for.
    pub(crate) async fn count_again(
        &self,
        mut take: impl FnMut(Place, partita_core::Number) + Send,
    ) -> StoreResult<()> {
        for table in self.layout.names() {
            let mut request = page(Scan::new(table.clone()));
            loop {
                let found = self.reader.scan(&request).await?;
                for judged in self.judge_page(&request, &found.items).await? {
                    for (place, amount) in judged.shares {
                        take(place, amount);
                    }
                }
                match found.last_key {
                    None => break,
                    last_key => request.start_after = last_key,
                }
            }
        }
        Ok(())
    }
}

fn page(scan: Scan) -> Scan {
    Scan {
        limit: Some(PAGE_ITEMS),
        ..scan
    }
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
