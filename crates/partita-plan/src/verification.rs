//! Whether everything that is derived is right, and making it so again.

use partita_verify::{Extent, Permission, Report, VerifyError, Watch};

use crate::partita::Partita;

impl Partita {
    /// Recomputes everything that is derived from its sources and tells what drifted. Writes may
    /// go on meanwhile.
    pub async fn verify(&self, watch: &mut dyn Watch) -> Result<Report, VerifyError> {
        self.verify_within(&Extent::default(), watch).await
    }

    /// As [`Partita::verify`], of a part of the design.
    pub async fn verify_within(
        &self,
        extent: &Extent,
        watch: &mut dyn Watch,
    ) -> Result<Report, VerifyError> {
        let (design, store) = (self.design(), &*self.runner.store);
        partita_verify::verify_within(extent, design, store, &*self.clock, watch).await
    }

    /// Mends what is derived and drifted, as far as that is permitted. Writes may go on meanwhile,
    /// and doing it again does nothing. What callers gave is never touched.
    pub async fn repair(
        &self,
        permission: Permission<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Report, VerifyError> {
        self.repair_within(&Extent::default(), permission, watch)
            .await
    }

    /// As [`Partita::repair`], of a part of the design.
    pub async fn repair_within(
        &self,
        extent: &Extent,
        permission: Permission<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Report, VerifyError> {
        let (design, store, clock) = (self.design(), &*self.runner.store, &*self.clock);
        partita_verify::repair_within(extent, design, store, clock, permission, watch).await
    }
}
