//! Whether everything that is derived is right, and making it so again.

use std::borrow::Cow;

use partita_design::Design;
use partita_store::StoreError;
use partita_verify::{Extent, Permission, Report, VerifyError, Watch};

use crate::migration::gated::Gated;
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
        let (design, extent) = self.verified(extent);
        let store = &*self.runner.store;
        partita_verify::verify_within(&extent, design, store, &*self.clock, watch).await
    }

    /// What is verified: while a migration runs both designs, without what is being filled in or
    /// removed.
    fn verified<'a>(&'a self, extent: &'a Extent) -> (&'a Design, Cow<'a, Extent>) {
        let blueprint = &self.blueprint;
        let (design, places) = match (&blueprint.fading, blueprint.filling()) {
            (Some(union), _) => (&union.design, union.aside.places(&union.design)),
            (None, Some(beside)) => {
                let places = beside.aside.places(&blueprint.design);
                (&blueprint.design, places)
            }
            (None, None) => return (&blueprint.design, Cow::Borrowed(extent)),
        };
        let mut extent = extent.clone();
        extent.unsettled.extend(places);
        (design, Cow::Owned(extent))
    }

    /// Mends what is derived and drifted, as far as that is permitted. Writes may go on meanwhile,
    /// and doing it again does nothing. What callers gave is never touched. It writes nothing more
    /// when a migration begins or moves on, which it does not while a repair writes.
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
        if self.blueprint.beside.is_some() || self.blueprint.fading.is_some() {
            let message = "a migration is running, and a repair knows one design only: complete \
                           the migration or roll it back first";
            return Err(StoreError::validation(message).into());
        }
        let store = Gated {
            store: self.runner.store.clone(),
            gate: self.runner.gate.clone(),
        };
        drop(store.pass().await?);
        let (design, clock) = (self.design(), &*self.clock);
        partita_verify::repair_within(extent, design, &store, clock, permission, watch).await
    }
}
