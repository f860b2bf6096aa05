//! Whether everything that is derived is right, and making it so again.

use partita_verify::{Permission, Report, VerifyError, Watch};

use crate::partita::Partita;

impl Partita {
    /// Recomputes everything that is derived from its sources and tells what drifted. Writes may
    /// go on meanwhile.
    pub async fn verify(&self, watch: &mut dyn Watch) -> Result<Report, VerifyError> {
        partita_verify::verify(self.design(), &*self.runner.store, &*self.clock, watch).await
    }

    /// Mends what is derived and drifted, as far as that is permitted. Writes may go on meanwhile,
    /// and doing it again does nothing. What callers gave is never touched.
    pub async fn repair(
        &self,
        permission: Permission<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Report, VerifyError> {
        let (design, store) = (self.design(), &*self.runner.store);
        partita_verify::repair(design, store, &*self.clock, permission, watch).await
    }
}
