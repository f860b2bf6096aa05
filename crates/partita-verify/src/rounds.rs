//! The passes of a verification or a repair.
//!
//! A round begins with a pass that looks. It learns which values are wrong, which of them are roots
//! and which are derived from other wrong ones; if these are too many to keep in mind, a second pass
//! reports them. A repair then mends the roots, and the next round looks at what was derived from
//! them. So no value is mended before what it is derived from, and no right value is overwritten by
//! what a wrong one says.

use std::collections::BTreeSet;

use partita_design::Design;
use partita_store::{Clock, Store};

use crate::derivation::Derivation;
use crate::extent::Extent;
use crate::lock::Lock;
use crate::pass::{self, Mode, Pass, Passed};
use crate::permission::{Permission, Rights};
use crate::reader::Reader;
use crate::report::{Report, VerifyError, Watch};

/// Rounds of a repair at most. Each goes one step further along what is derived from what; values
/// that are derived from each other may never come to rest.
const ROUNDS_MAX: u32 = 32;

/// What all passes work on.
pub(crate) struct Rounds<'a> {
    pub(crate) design: &'a Design,
    pub(crate) store: &'a dyn Store,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) extent: &'a Extent,
    pub(crate) derivation: Derivation,
    passes: u32,
    /// Taken before the first pass that writes.
    pub(crate) lock: Option<Lock<'a>>,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(
        extent: &'a Extent,
        design: &'a Design,
        store: &'a dyn Store,
        clock: &'a dyn Clock,
    ) -> Rounds<'a> {
        Rounds {
            design,
            store,
            clock,
            extent,
            derivation: Derivation::of(design),
            passes: 0,
            lock: None,
        }
    }

    /// Looks at everything, and changes nothing.
    pub(crate) async fn verify(mut self, watch: &mut dyn Watch) -> Result<Report, VerifyError> {
        let seen = self.look(Mode::Verify, Rights::default(), watch).await?;
        Ok(self.told(seen.report, 0))
    }

    /// Mends what is permitted, until nothing is left to mend.
    pub(crate) async fn repair(
        mut self,
        permission: Permission<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Report, VerifyError> {
        let repaired = self.mend(permission, watch).await;
        if let Some(lock) = self.lock.take() {
            lock.release().await;
        }
        repaired
    }

    async fn mend(
        &mut self,
        mut permission: Permission<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Report, VerifyError> {
        let is_held = pass::has_unrecognised(self.design, self.store, self.extent, watch).await?;
        let mut rights = permission.rights(self.design, is_held)?;
        let mut mended = 0;
        for _ in 0..ROUNDS_MAX {
            let seen = self.look(Mode::Survey, rights, watch).await?;
            if seen.intent.is_empty() || !permission.allows(&seen.intent) {
                return Ok(self.told(seen.report, mended));
            }
            // What a pass with the lock reads, no other repair mends until it writes.
            if self.lock.is_none() {
                let (reader, holder) = (Reader::new(self.store, None), permission.holder());
                self.lock = Lock::take(self.design, reader, self.clock, holder).await?;
            }
            let mode = Mode::Repair(&seen.intent);
            let repaired = self
                .pass(mode, seen.rights, Some(seen.roots), watch)
                .await?;
            mended += repaired.report.mended;
            if repaired.report.mended == 0 {
                return Ok(self.told(repaired.report, mended));
            }
            rights = repaired.rights;
        }
        let seen = self.look(Mode::Survey, rights, watch).await?;
        Ok(self.told(seen.report, mended))
    }

    /// Finds out what is wrong, and reports the roots.
    async fn look(
        &mut self,
        mode: Mode<'_>,
        rights: Rights,
        watch: &mut dyn Watch,
    ) -> Result<Passed, VerifyError> {
        let seen = self.pass(mode, rights, None, watch).await?;
        if seen.is_told {
            return Ok(seen);
        }
        self.pass(mode, seen.rights, Some(seen.roots), watch).await
    }

    async fn pass(
        &mut self,
        mode: Mode<'_>,
        rights: Rights,
        roots: Option<BTreeSet<String>>,
        watch: &mut dyn Watch,
    ) -> Result<Passed, VerifyError> {
        self.passes += 1;
        watch.begins(self.passes);
        let moment = self.store.snapshot();
        let pass = Pass::new(self, moment.as_deref(), mode, rights, roots)?;
        pass.run(watch).await
    }

    fn told(&self, report: Report, mended: u64) -> Report {
        Report {
            mended,
            passes: self.passes,
            ..report
        }
    }
}
