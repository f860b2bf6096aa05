//! The end of a transaction that is in doubt.

use partita_store::request::{TransactAction, TransactWriteItems};

use super::run::{Runner, is_passing};
use crate::error::PlanError;
use crate::sidecar;

impl Runner {
    /// Keeps a transaction that is in doubt from being carried out from now on.
    ///
    /// A request may come to the store after its sender gave up, when its conditions may hold
    /// again. Only one transaction is carried out under a token, so another one takes it. Where
    /// that is refused, the outcome stays unknown: DynamoDB does not say whether a mismatch means
    /// that the first was carried out or that it was cancelled.
    pub(crate) async fn fence(&self, token: &str) -> Result<(), PlanError> {
        let Some(sidecar) = &self.sidecar else {
            return Ok(());
        };
        let put = sidecar::fence(sidecar, token, self.clock.now_millis());
        let request = TransactWriteItems {
            actions: vec![TransactAction::Put(put)],
            token: Some(token.to_owned()),
        };
        let send = || self.store.transact_write_items(request.clone());
        let taken = self.ask_while(is_passing, send).await;
        taken.map(drop).map_err(|_| PlanError::OutcomeUnknown)
    }
}
