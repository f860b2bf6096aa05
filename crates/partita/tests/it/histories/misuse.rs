//! Mistakes in how a server uses Amazon, planted between it and the service.

use std::sync::Arc;

use async_trait::async_trait;
use partita_store::capacity::Metered;
use partita_store::error::CancellationReason;
use partita_store::request::{
    BatchGetItem, BatchGot, Page, Query, TransactAction, TransactWriteItems,
};
use partita_store::{ErrorKind, Layer, Store, StoreError, StoreResult};

/// A way to use Amazon wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// Indexes are taken to be never behind, so that nobody looks again.
    TrustsIndexes,
    /// All transactions have one token.
    ReusesTokens,
    /// A transaction without an answer is taken to be carried out.
    TakesSilenceForYes,
    /// A transaction that met another is taken to be carried out.
    TakesConflictForYes,
    /// A transaction for which there was no capacity is taken to be carried out.
    TakesThrottlingForYes,
    /// A page that ended early is taken to be the last.
    ForgetsTheRest,
    /// Keys of a batch that were not processed are taken to be missing.
    ForgetsUnprocessed,
    /// A transaction without an answer is sent again under another token.
    SendsAgain,
    /// A transaction in doubt is not fenced, and its conditions are not believed either.
    LosesConditions,
    /// Items are read as some copy has them.
    ReadsCopies,
}

/// A misuse, the design in which it shows, the operations that bring it out, and whether it takes
/// more items than a transaction has room for.
type Planted = (Misuse, &'static str, &'static [&'static str], bool);

/// Every misuse.
pub(crate) const MISUSES: &[Planted] = &[
    (
        Misuse::TrustsIndexes,
        "storyhub",
        &["update User", "create Story", "create ChapterNode"],
        false,
    ),
    (Misuse::ReusesTokens, "stories", &[], false),
    (Misuse::TakesSilenceForYes, "stories", &[], false),
    (
        Misuse::TakesConflictForYes,
        "storyhub",
        &["create Vote"],
        false,
    ),
    (
        Misuse::TakesThrottlingForYes,
        "storyhub",
        &["create Vote"],
        false,
    ),
    (
        Misuse::ForgetsTheRest,
        "helpdesk",
        &["create Ticket", "delete Org"],
        true,
    ),
    (Misuse::ForgetsUnprocessed, "helpdesk", &[], false),
    (Misuse::SendsAgain, "storyhub", &["create Vote"], false),
    (Misuse::LosesConditions, "mediahub", &["create User"], false),
    (Misuse::ReadsCopies, "stories", &["update Story"], false),
];

/// A store that is used wrongly.
pub(crate) struct Misused {
    inner: Arc<dyn Store>,
    misuse: Misuse,
}

impl Misused {
    pub(crate) fn new(inner: impl Store + 'static, misuse: Misuse) -> Misused {
        let inner = Arc::new(inner);
        Misused { inner, misuse }
    }

    fn is(&self, misuse: Misuse) -> bool {
        self.misuse == misuse
    }
}

/// Whether all reasons of a cancelled transaction are of one kind.
fn only(error: &StoreError, is_meant: fn(&CancellationReason) -> bool) -> bool {
    let StoreError::TransactionCanceled { reasons } = error else {
        return false;
    };
    let mut guilty = reasons.iter();
    guilty.all(|one| *one == CancellationReason::None || is_meant(one))
}

fn without_conditions(actions: Vec<TransactAction>) -> Vec<TransactAction> {
    let actions = actions.into_iter().filter_map(|action| match action {
        TransactAction::Put(mut put) => {
            put.condition = None;
            Some(TransactAction::Put(put))
        }
        TransactAction::Update(mut update) => {
            update.condition = None;
            Some(TransactAction::Update(update))
        }
        TransactAction::Delete(mut delete) => {
            delete.condition = None;
            Some(TransactAction::Delete(delete))
        }
        TransactAction::Check(_) => None,
    });
    actions.collect()
}

#[async_trait]
impl Layer for Misused {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn batch_get_item(
        &self,
        mut request: BatchGetItem,
    ) -> StoreResult<Metered<Vec<BatchGot>>> {
        if self.is(Misuse::ReadsCopies) {
            let tables = request.addresses.iter().map(|one| one.table.clone());
            request.eventual = tables.collect();
        }
        let mut got = self.inner.batch_get_item(request).await?;
        if self.is(Misuse::ForgetsUnprocessed) {
            let left = got.answer.iter_mut();
            let left = left.filter(|one| matches!(one, BatchGot::Unprocessed));
            left.for_each(|one| *one = BatchGot::Missing);
        }
        Ok(got)
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        let limit = request.limit;
        let mut page = self.inner.query(request).await?;
        let is_short = limit.is_none_or(|limit| page.answer.items.len() < limit);
        if self.is(Misuse::ForgetsTheRest) && is_short {
            page.answer.last_key = None;
        }
        Ok(page)
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let again = self.is(Misuse::SendsAgain).then(|| TransactWriteItems {
            token: request.token.as_ref().map(|token| format!("{token}-2")),
            actions: without_conditions(request.actions.clone()),
        });
        let request = if self.is(Misuse::LosesConditions) {
            TransactWriteItems {
                actions: without_conditions(request.actions),
                ..request
            }
        } else {
            request
        };
        let Err(error) = self.inner.transact_write_items(request).await else {
            return Ok(Metered::default());
        };
        let is_taken_for_yes = match self.misuse {
            Misuse::TakesSilenceForYes => error.kind() == ErrorKind::OutcomeUnknown,
            Misuse::TakesConflictForYes => only(&error, |one| {
                matches!(one, CancellationReason::TransactionConflict)
            }),
            Misuse::TakesThrottlingForYes => only(&error, |one| {
                matches!(one, CancellationReason::Exhausted(_))
            }),
            _ => false,
        };
        match again {
            Some(again) if error.kind() == ErrorKind::OutcomeUnknown => {
                self.inner.transact_write_items(again).await
            }
            _ if is_taken_for_yes => Ok(Metered::default()),
            _ => Err(error),
        }
    }
}
