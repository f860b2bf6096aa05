//! The way between one server and the service: requests and answers take a while, and some are
//! lost, or come when nobody waits for them any more.
//!
//! A request goes its way by itself: a server that pauses, dies or gives up does not call it back.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::future::{BoxFuture, Either, select};
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem, Page,
    PutItem, Query, ReturnValues, Scan, TableDescription, TransactGetItems, TransactWriteItems,
    UpdateItem, UpdateTable,
};
use partita_store::stream::{GetRecords, GetShardIterator, Records, ShardIterator};
use partita_store::table::TableName;
use partita_store::{FoundItem, Layer, Store, StoreError, StoreResult};

use super::Amazon;
use crate::simulation::{Host, Simulation};

/// How requests and answers travel.
#[derive(Clone, Debug)]
pub struct Network {
    /// How long each way takes.
    pub delay_millis: RangeInclusive<i64>,
    /// How often a request is lost, from 0 to 1.
    pub lost_request: f64,
    /// How often an answer is lost.
    pub lost_answer: f64,
    /// How often a request comes after the server has given up.
    pub late_request: f64,
    /// How late a request comes at most: Amazon refuses a signature that is older.
    pub late_millis_max: i64,
    /// When a server gives up.
    pub timeout_millis: i64,
    /// How far behind the server believes that indexes are.
    pub index_delay_millis: i64,
    /// Whether a server that has decided to write does not pause before the request is sent. What it
    /// has looked at before, such as a lease, holds for that moment and no longer.
    pub sends_at_once: bool,
}

impl Network {
    /// At once, and nothing is lost.
    pub fn still() -> Self {
        Network {
            delay_millis: 0..=0,
            lost_request: 0.0,
            lost_answer: 0.0,
            late_request: 0.0,
            late_millis_max: 0,
            timeout_millis: i64::MAX,
            index_delay_millis: 0,
            sends_at_once: false,
        }
    }

    /// A network on a bad day.
    pub fn rough() -> Self {
        Network {
            delay_millis: 1..=15,
            lost_request: 0.005,
            lost_answer: 0.01,
            late_request: 0.005,
            late_millis_max: 300_000,
            timeout_millis: 10_000,
            index_delay_millis: 150_000,
            sends_at_once: false,
        }
    }
}

/// The attempts of a read, as the remote store makes them. A write is sent once.
const READ_ATTEMPTS: usize = 3;

/// One server's way to the service.
pub struct Connection {
    simulation: Simulation,
    amazon: Arc<Amazon>,
    host: Arc<Host>,
    network: Network,
    random: Mutex<fastrand::Rng>,
}

/// What becomes of one request.
struct Journey {
    there_millis: i64,
    back_millis: i64,
    is_request_lost: bool,
    is_answer_lost: bool,
}

impl Connection {
    /// A way from a server to the service.
    pub fn new(
        simulation: &Simulation,
        amazon: Arc<Amazon>,
        host: Arc<Host>,
        network: Network,
        seed: u64,
    ) -> Self {
        Connection {
            simulation: simulation.clone(),
            amazon,
            host,
            network,
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    fn journey(&self) -> Journey {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let Network {
            delay_millis,
            lost_request,
            lost_answer,
            late_request,
            late_millis_max,
            timeout_millis,
            ..
        } = &self.network;
        let mut journey = Journey {
            there_millis: random.i64(delay_millis.clone()),
            back_millis: random.i64(delay_millis.clone()),
            is_request_lost: random.f64() < *lost_request,
            is_answer_lost: random.f64() < *lost_answer,
        };
        let is_late = random.f64() < *late_request;
        if is_late {
            journey.there_millis = random.i64(*timeout_millis..=*late_millis_max);
        }
        let counts = &mut self.amazon.state().counts;
        counts.lost_requests += u64::from(journey.is_request_lost);
        counts.lost_answers += u64::from(journey.is_answer_lost && !journey.is_request_lost);
        counts.late_requests += u64::from(is_late && !journey.is_request_lost);
        journey
    }

    /// Sends a request, and waits for its answer as long as the server does; none came otherwise.
    async fn send<T: Debug + Send + 'static>(
        &self,
        name: &'static str,
        request: BoxFuture<'static, StoreResult<T>>,
    ) -> Option<StoreResult<T>> {
        let journey = self.journey();
        let simulation = self.simulation.clone();
        let host = self.host.clone();
        let answer = self.simulation.spawn(async move {
            simulation.sleep(journey.there_millis).await;
            if journey.is_request_lost {
                simulation.note(|| format!("{} {name} is lost", host.name()));
                return None;
            }
            let answer = request.await;
            simulation.note(|| format!("{} {name} {}", host.name(), digest(&answer)));
            simulation.sleep(journey.back_millis).await;
            (!journey.is_answer_lost).then_some(answer)
        });
        let is_still = self.network.timeout_millis == i64::MAX;
        let answer = if is_still {
            answer.await.ok().flatten()
        } else {
            let timeout = self.simulation.sleep(self.network.timeout_millis);
            match select(answer, timeout).await {
                Either::Left((Ok(Some(answer)), _)) => Some(answer),
                // Nothing comes any more, but the server does not know.
                Either::Left((_, timeout)) => {
                    timeout.await;
                    None
                }
                Either::Right(_) => None,
            }
        };
        self.host.step().await;
        answer
    }

    /// A read has no effect to repeat by mistake, so it is sent again.
    async fn read<R: Clone, T: Debug + Send + 'static>(
        &self,
        name: &'static str,
        request: R,
        ask: fn(Arc<Amazon>, R) -> BoxFuture<'static, StoreResult<T>>,
    ) -> StoreResult<T> {
        for _ in 0..READ_ATTEMPTS {
            let asked = ask(self.amazon.clone(), request.clone());
            self.host.step().await;
            if let Some(answer) = self.send(name, asked).await {
                return answer;
            }
        }
        Err(StoreError::Unavailable {
            message: format!("no answer to {name}"),
        })
    }

    async fn write<R, T: Debug + Send + 'static>(
        &self,
        name: &'static str,
        request: R,
        ask: fn(Arc<Amazon>, R) -> BoxFuture<'static, StoreResult<T>>,
    ) -> StoreResult<T> {
        let asked = ask(self.amazon.clone(), request);
        if !self.network.sends_at_once || self.host.is_dead() {
            self.host.step().await;
        }
        let lost = || StoreError::OutcomeUnknown {
            message: format!("no answer to {name}"),
        };
        self.send(name, asked).await.unwrap_or_else(|| Err(lost()))
    }
}

/// An answer in a few letters, for the trace.
fn digest<T: Debug>(answer: &StoreResult<T>) -> String {
    match answer {
        Ok(answer) => {
            let mut hasher = DefaultHasher::new();
            format!("{answer:?}").hash(&mut hasher);
            format!("{:016x}", hasher.finish())
        }
        Err(error) => error.to_string(),
    }
}

/// Sends an operation by its name.
macro_rules! sent {
    ($connection:ident, $way:ident, $name:ident, $request:expr) => {
        $connection
            .$way(stringify!($name), $request, |amazon, request| {
                Box::pin(async move { Store::$name(&*amazon, request).await })
            })
            .await
    };
    ($connection:ident, $way:ident, $name:ident, $request:expr, $returns:expr) => {
        $connection
            .$way(
                stringify!($name),
                ($request, $returns),
                |amazon, (request, returns)| {
                    Box::pin(async move { Store::$name(&*amazon, request, returns).await })
                },
            )
            .await
    };
}

#[async_trait]
impl Layer for Connection {
    fn inner(&self) -> &dyn Store {
        &*self.amazon
    }

    /// Waited for: a server that creates a table asks until it is there.
    async fn create_table(&self, request: CreateTable) -> StoreResult<TableDescription> {
        self.host.step().await;
        Store::create_table(&*self.amazon, request).await
    }

    async fn describe_table(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.host.step().await;
        Store::describe_table(&*self.amazon, table).await
    }

    async fn update_table(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        sent!(self, write, update_table, request)
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        sent!(self, read, get_shard_iterator, request)
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        sent!(self, read, get_records, request)
    }

    async fn get_item(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        sent!(self, read, get_item, request)
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        sent!(self, read, batch_get_item, request)
    }

    async fn transact_get_items(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        sent!(self, read, transact_get_items, request)
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        sent!(self, read, query, request)
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        sent!(self, read, scan, request)
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        sent!(self, write, put_item, request, returns)
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        sent!(self, write, update_item, request, returns)
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        sent!(self, write, delete_item, request, returns)
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        sent!(self, write, batch_write_item, request)
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        sent!(self, write, transact_write_items, request)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn index_delay_millis(&self) -> i64 {
        self.network.index_delay_millis
    }

    fn timeout_millis(&self) -> i64 {
        match self.network.timeout_millis {
            i64::MAX => 0,
            millis => millis,
        }
    }
}
