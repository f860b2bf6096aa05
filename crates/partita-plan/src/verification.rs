//! Whether everything that is derived is right, and making it so again.

use partita_verify::{Report, VerifyError, Watch};

use crate::partita::Partita;

impl Partita {
    /// Recomputes everything that is derived from its sources and tells what drifted. Writes may
    /// go on meanwhile.
    pub async fn verify(&self, watch: &mut dyn Watch) -> Result<Report, VerifyError> {
        partita_verify::verify(self.design(), &*self.runner.store, &*self.clock, watch).await
    }

    /// Mends what drifted. Writes may go on meanwhile, and doing it again does nothing.
    pub async fn repair(&self, watch: &mut dyn Watch) -> Result<Report, VerifyError> {
        partita_verify::repair(self.design(), &*self.runner.store, &*self.clock, watch).await
    }
}
