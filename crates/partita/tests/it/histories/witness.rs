//! A store that sees every committed write as it happens: each item before and after, all of one
//! transaction together. It keeps the [`World`] in step and has the laws of [`super::laws`] judge
//! every commit.
//!
//! It can also spoil transactions on the way, as a planner would that forgot something.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use partita_core::expression::{Comparator, Condition, Operand, Path};
use partita_core::{Item, Map, Value};
use partita_plan::{Caller, Operation};
use partita_store::capacity::Metered;
use partita_store::error::CancellationReason;
use partita_store::request::{
    DeleteItem, GetItem, PutItem, ReturnValues, TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::table::TableName;
use partita_store::{Clock, Layer, Store, StoreError, StoreResult};

use super::defects::Spoil;
use super::laws;
use super::world::{Identity, World, identity_of};

/// What became of one record in a commit.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) record: String,
    pub(crate) identity: Identity,
    pub(crate) old: Option<Map>,
    pub(crate) new: Option<Map>,
}

/// A record that is watched from some time on.
pub(crate) struct Watched {
    record: String,
    identity: Identity,
    /// What it was then.
    state: Option<Map>,
    since: usize,
}

/// An operation that was sent under a key.
#[derive(Clone, Debug)]
pub(crate) struct Intent {
    pub(crate) operation: Operation,
}

/// Everything that one transaction did.
pub(crate) struct Commit<'c> {
    /// As it was before.
    pub(crate) world: &'c World,
    pub(crate) transitions: &'c [Transition],
    /// The operation that it carries out, if that was sent under a key.
    pub(crate) intent: Option<&'c Intent>,
    /// Whether it is a part of a job.
    pub(crate) is_chunk: bool,
    /// Whether it leaves something to a job.
    pub(crate) has_job: bool,
    pub(crate) now_millis: i64,
}

/// What the witness knows.
pub(crate) struct Seen {
    pub(crate) world: World,
    /// What goes against the laws, in the order in which it happened.
    pub(crate) faults: Vec<String>,
    /// Triggers that fired and records that were written, as the design names them.
    pub(crate) covered: BTreeSet<String>,
    pub(crate) intents: BTreeMap<(String, String), Intent>,
    /// How often an operation under a key took effect.
    pub(crate) effects: BTreeMap<(String, String), u32>,
    /// How often somebody did what is limited, by limit, caller and window.
    pub(crate) windows: BTreeMap<(String, String, String), u64>,
    /// Chunks of jobs that were carried out.
    pub(crate) chunks: u64,
    /// What became of records, in the order in which it happened.
    log: Vec<(String, Identity, Option<Map>)>,
    tokens: HashSet<String>,
}

/// The store.
pub(crate) struct Witness {
    inner: Arc<dyn Store>,
    /// Held during a write, because a store that waits would let other writes in between.
    turn: tokio::sync::Mutex<()>,
    clock: Arc<dyn Clock>,
    table: TableName,
    /// What the table's primary key is called.
    keys: [String; 2],
    spoil: Option<Spoil>,
    seen: Mutex<Seen>,
}

impl Witness {
    pub(crate) fn new(
        inner: Arc<dyn Store>,
        world: World,
        clock: Arc<dyn Clock>,
        spoil: Option<Spoil>,
    ) -> Witness {
        Witness {
            inner,
            turn: tokio::sync::Mutex::default(),
            table: world.design.tables[0].name.parse().unwrap(),
            keys: [
                &world.design.tables[0].partition,
                &world.design.tables[0].sort,
            ]
            .map(Clone::clone),
            clock,
            spoil,
            seen: Mutex::new(Seen {
                world,
                faults: Vec::new(),
                covered: BTreeSet::new(),
                intents: BTreeMap::new(),
                effects: BTreeMap::new(),
                windows: BTreeMap::new(),
                chunks: 0,
                log: Vec::new(),
                tokens: HashSet::new(),
            }),
        }
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes down what will be asked for under a key.
    pub(crate) fn intend(&self, caller: &Caller, key: &str, operation: &Operation) {
        let intent = Intent {
            operation: operation.clone(),
        };
        let by = caller.id.clone().unwrap_or_default();
        self.seen().intents.insert((by, key.to_owned()), intent);
    }

    /// Begins to watch a record.
    pub(crate) fn watch(&self, record: &str, identity: &[String]) -> Watched {
        let seen = self.seen();
        Watched {
            record: record.to_owned(),
            identity: identity.to_vec(),
            state: seen.world.get(record, identity).cloned(),
            since: seen.log.len(),
        }
    }

    /// Everything that a record was from the beginning of the watch until now.
    pub(crate) fn states(&self, watched: &Watched) -> Vec<Option<Map>> {
        let seen = self.seen();
        let later = seen.log[watched.since..].iter();
        let later = later.filter(|(record, identity, _)| {
            *record == watched.record && *identity == watched.identity
        });
        let later = later.map(|(_, _, state)| state.clone());
        std::iter::once(watched.state.clone())
            .chain(later)
            .collect()
    }

    /// Waits until what was written so far is noted.
    pub(crate) async fn note_all(&self) {
        drop(self.turn.lock().await);
    }

    /// Carries actions out, spoilt if they are to be, and compares what changed. No other write
    /// comes in between.
    async fn witness<T>(
        &self,
        actions: &[TransactAction],
        token: Option<&String>,
        write: impl Future<Output = StoreResult<T>>,
    ) -> StoreResult<T> {
        let _turn = self.turn.lock().await;
        let before = self.items(actions).await;
        let answer = write.await?;
        let is_repeated = token.is_some_and(|token| !self.seen().tokens.insert(token.clone()));
        if !is_repeated {
            let after = self.items(actions).await;
            self.note(actions, before, after);
        }
        Ok(answer)
    }

    async fn items(&self, actions: &[TransactAction]) -> Vec<Option<Item>> {
        let mut items = Vec::new();
        for action in actions {
            let (table, key) = self.address(action);
            let request = GetItem {
                consistent: true,
                ..GetItem::new(table, key)
            };
            let found = self.inner.get_item(request).await.unwrap();
            items.push(found.answer.map(|found| found.into_item().unwrap()));
        }
        items
    }

    fn address(&self, action: &TransactAction) -> (TableName, Item) {
        let (table, key) = match action {
            TransactAction::Put(put) => (&put.table, &put.item),
            TransactAction::Update(update) => (&update.table, &update.key),
            TransactAction::Delete(delete) => (&delete.table, &delete.key),
            TransactAction::Check(check) => (&check.table, &check.key),
        };
        let names = if *table == self.table {
            self.keys.each_ref().map(String::as_str)
        } else {
            ["PK", "SK"]
        };
        let key = names.map(|name| (name.to_owned(), key[name].clone()));
        (table.clone(), Item::from(key))
    }

    fn note(
        &self,
        actions: &[TransactAction],
        before: Vec<Option<Item>>,
        after: Vec<Option<Item>>,
    ) {
        let mut seen = self.seen();
        let seen = &mut *seen;
        let mut transitions = Vec::new();
        let mut guards = Vec::new();
        let (mut intent, mut is_chunk, mut has_job) = (None, false, false);
        for ((action, old), new) in actions.iter().zip(before).zip(after) {
            if let Some((partition, sort)) = self.aside(action) {
                if let Some(caller) = partition.strip_prefix("KEY#") {
                    intent = Some((caller.to_owned(), sort.clone()));
                }
                is_chunk |= partition == "JOB" && old.is_some();
                // A job that somebody has from the start only looks again: nothing is left to it.
                let is_left = |job: &Item| !job.contains_key("leaseOwner");
                has_job |= partition == "JOB" && old.is_none() && new.as_ref().is_some_and(is_left);
                continue;
            }
            if old == new {
                continue;
            }
            let any = new.as_ref().or(old.as_ref());
            if let Some(key) = any.and_then(|item| seen.world.guard_key(item)) {
                guards.push((key.to_owned(), new));
                continue;
            }
            let now = self.clock.now_millis();
            let old = old.filter(|old| !seen.world.is_over(old, now));
            if old.is_none() && new.is_none() {
                continue;
            }
            match transition(&seen.world, old, new) {
                Some(transition) => transitions.push(transition),
                None => seen
                    .faults
                    .push(format!("{action:?} writes what the design does not know")),
            }
        }
        if let Some(key) = &intent {
            let count = seen.effects.entry(key.clone()).or_default();
            *count += 1;
            if *count > 1 {
                seen.faults.push(format!("{key:?} took effect again"));
            }
        }
        let commit = Commit {
            world: &seen.world,
            transitions: &transitions,
            intent: intent.as_ref().and_then(|key| seen.intents.get(key)),
            is_chunk,
            has_job,
            now_millis: self.clock.now_millis(),
        };
        seen.chunks += u64::from(is_chunk);
        let mut verdict = laws::judge(&commit);
        laws::count_windows(&commit, &mut seen.windows, &mut verdict.faults);
        seen.faults.append(&mut verdict.faults);
        seen.covered.append(&mut verdict.covered);
        for (key, guard) in guards {
            match guard {
                Some(guard) => drop(seen.world.guards.insert(key, guard)),
                None => drop(seen.world.guards.remove(&key)),
            }
        }
        for Transition {
            record,
            identity,
            new,
            ..
        } in transitions
        {
            let entry = (record.clone(), identity.clone(), new.clone());
            seen.log.push(entry);
            match new {
                Some(new) => seen.world.put(&record, identity, new),
                None => seen.world.remove(&record, &identity),
            }
        }
    }

    /// What a store does now and then with what has expired, guards or what they guard: it is
    /// deleted, if it still is expired by then.
    pub(crate) fn sweeps(&self, guards: bool) -> Vec<DeleteItem> {
        let now = self.clock.now_millis();
        let mut seen = self.seen();
        let Some(ttl) = seen.world.design.tables[0].ttl.clone() else {
            return Vec::new();
        };
        let seconds = now.saturating_add(999).div_euclid(1000);
        let swept = seen.world.sweep(guards, now).into_iter();
        let deletes = swept.map(|key| DeleteItem {
            table: self.table.clone(),
            key,
            condition: Some(Condition::Compare(
                Operand::Path(Path::attribute(ttl.as_str())),
                Comparator::Less,
                Operand::value(Value::N(seconds.into())),
            )),
            return_item_on_failure: false,
        });
        deletes.collect()
    }

    /// The key of an item of the sidecar.
    fn aside(&self, action: &TransactAction) -> Option<(String, String)> {
        let (table, key) = self.address(action);
        let text = |name: &str| key.get(name)?.as_str().map(str::to_owned);
        (table != self.table).then(|| Some((text("PK")?, text("SK")?)))?
    }

    /// What is left of each action.
    fn spoilt(&self, actions: &[TransactAction]) -> Vec<Option<TransactAction>> {
        let actions = actions.iter().cloned();
        match &self.spoil {
            Some(spoil) => actions.map(|one| spoil.applied(one)).collect(),
            None => actions.map(Some).collect(),
        }
    }
}

fn transition(world: &World, old: Option<Item>, new: Option<Item>) -> Option<Transition> {
    let (shape, any) = world.recognise(new.as_ref().or(old.as_ref())?)?;
    let attributes = |item: Item| Some(world.recognise(&item)?.1);
    Some(Transition {
        record: shape.name.to_owned(),
        identity: identity_of(shape, &any)?,
        old: old.and_then(attributes),
        new: new.and_then(attributes),
    })
}

/// The reasons of a refusal where the planner looks for them: one for each action that it sent.
fn in_place(error: StoreError, left: &[Option<TransactAction>]) -> StoreError {
    let StoreError::TransactionCanceled { reasons } = error else {
        return error;
    };
    let mut reasons = reasons.into_iter();
    let reasons = left.iter().map(|action| {
        let reason = action.as_ref().and_then(|_| reasons.next());
        reason.unwrap_or(CancellationReason::None)
    });
    StoreError::TransactionCanceled {
        reasons: reasons.collect(),
    }
}

#[async_trait]
impl Layer for Witness {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let actions = [TransactAction::Put(request.clone())];
        let write = self.inner.put_item(request, returns);
        self.witness(&actions, None, write).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let actions = [TransactAction::Update(request.clone())];
        let write = self.inner.update_item(request, returns);
        self.witness(&actions, None, write).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        let actions = [TransactAction::Delete(request.clone())];
        let write = self.inner.delete_item(request, returns);
        self.witness(&actions, None, write).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let left = self.spoilt(&request.actions);
        let spoilt = TransactWriteItems {
            actions: left.iter().flatten().cloned().collect(),
            token: request.token.clone(),
        };
        let write = async {
            if spoilt.actions.is_empty() {
                Ok(Metered::default())
            } else {
                self.inner.transact_write_items(spoilt).await
            }
        };
        let answer = self.witness(&request.actions, request.token.as_ref(), write);
        answer.await.map_err(|error| in_place(error, &left))
    }
}
