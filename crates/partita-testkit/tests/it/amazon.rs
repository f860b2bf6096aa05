//! The simulated service: at zero faults it is DynamoDB as every store plays it; otherwise each
//! thing that Amazon documents occurs, and is answered as it documents.
//!
//! That it agrees with DynamoDB Local at zero faults follows from one suite that both pass:
//! `without_faults_it_conforms` runs all of it here, and `dynamodb_local_conforms` in
//! `partita-remote` all of it there, but for the cases that are listed there because DynamoDB Local
//! differs from Amazon.

use std::sync::Arc;

use partita_core::expression::{Bindings, KeyCondition, Update};
use partita_core::{Item, Value};
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::{
    BatchGetItem, BatchGot, CreateTable, GetItem, ItemAddress, PutItem, Query, ReturnValues,
    TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::surroundings::ManualClock;
use partita_store::table::{KeyAttribute, KeySchema, TableName, TableSchema, string_key};
use partita_store::{ModelStore, Store as _};
use partita_testkit::amazon::Behaviour;
use partita_testkit::amazon::behaviour::Lag;
use partita_testkit::{Amazon, Simulation, conformance};

/// 2026-01-01.
pub(crate) const NOW: i64 = 1_767_225_600_000;

pub(crate) fn table() -> TableName {
    "notes".parse().unwrap()
}

pub(crate) fn key(sort: &str) -> Item {
    string_key(("PK", "p"), ("SK", sort))
}

/// An item in the partition `owner` of the index.
pub(crate) fn item(sort: &str, owner: &str) -> Item {
    let mut item = key(sort);
    item.insert("owner", Value::from(owner));
    item
}

pub(crate) fn by_owner() -> IndexSchema {
    let string = |name: &str| KeyAttribute {
        name: name.to_owned(),
        kind: partita_core::key::KeyType::S,
    };
    IndexSchema {
        name: "byOwner".to_owned(),
        kind: IndexKind::Global,
        partition: vec![string("owner")],
        sort: vec![string("SK")],
        projection: IndexProjection::All,
    }
}

pub(crate) fn put(sort: &str, owner: &str) -> PutItem {
    PutItem::new(table(), item(sort, owner))
}

/// A service with one table, which is there.
pub(crate) async fn service(simulation: &Simulation, behaviour: Behaviour) -> Arc<Amazon> {
    let amazon = Arc::new(Amazon::new(simulation, behaviour, 7));
    amazon.calm();
    let schema = TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![by_owner()],
    };
    let create = CreateTable::new(table(), schema);
    amazon.create_table(create).await.unwrap();
    amazon.begin();
    amazon
}

pub(crate) async fn owned(amazon: &Amazon, owner: &str) -> usize {
    let mut query = Query {
        index: Some("byOwner".to_owned()),
        consistent: false,
        ..Query::new(table(), KeyCondition::partition("owner", owner))
    };
    let mut count = 0;
    loop {
        let page = amazon.query(query.clone()).await.unwrap().answer;
        count += page.count;
        match page.last_key {
            None => return count,
            last_key => query.start_after = last_key,
        }
    }
}

pub(crate) fn adding(sort: &str) -> TransactAction {
    TransactAction::Update(UpdateItem {
        table: table(),
        key: key(sort),
        update: Update::parse("SET n = if_not_exists(n, 0) + 1", &Bindings::Literals).unwrap(),
        condition: None,
        return_item_on_failure: false,
    })
}

pub(crate) fn transaction(actions: Vec<TransactAction>, token: Option<&str>) -> TransactWriteItems {
    TransactWriteItems {
        actions,
        token: token.map(str::to_owned),
    }
}

#[tokio::test]
async fn without_faults_it_conforms() {
    let simulation = Simulation::new(1, NOW);
    let amazon = Amazon::new(&simulation, Behaviour::still(), 1);
    conformance::run(&amazon, "amazon").await;
}

/// What only a clock brings about: DynamoDB Local leaves expired items alone, so that there is
/// nothing to compare with but what is documented.
#[tokio::test]
async fn what_is_old_goes() {
    // Behind the clock that the suite sets, so that records of streams have come.
    let simulation = Simulation::new(1, 10 * NOW);
    let clock = Arc::new(ManualClock::at(0));
    let model = Arc::new(ModelStore::new(clock.clone()));
    let amazon = Amazon::around(model.clone(), model, &simulation, Behaviour::still(), 1);
    let sweep = async || amazon.sweep();
    let expired = conformance::items_expire(&amazon, &clock, sweep).await;
    expired.unwrap();
    let aged = conformance::streams_age(&amazon, &clock, sweep).await;
    aged.unwrap();
}

/// What is documented of a partition does not change what a suite of small requests sees, and
/// neither do several shards, as long as nothing comes late.
#[tokio::test]
async fn a_calm_one_conforms() {
    let simulation = Simulation::new(1, 0);
    let amazon = Amazon::new(&simulation, Behaviour::rough(), 1);
    amazon.calm();
    let cases = conformance::cases().into_iter();
    let cases = cases.filter(|case| !case.name().starts_with("stream"));
    let cases: Vec<_> = cases.collect();
    conformance::run_cases(&amazon, "calm", &cases).await;
}

#[test]
fn an_index_runs_behind_item_by_item_and_catches_up() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, Behaviour::rough()).await;
        let mut seen = Vec::new();
        for number in 0..40 {
            let put = put(&number.to_string(), "ann");
            amazon.put_item(put, ReturnValues::None).await.unwrap();
            seen.push(owned(&amazon, "ann").await);
            simulation.sleep(10).await;
        }
        assert!(
            seen.iter().zip(1..).any(|(seen, put)| *seen < put),
            "{seen:?}"
        );
        assert!(amazon.counts().behind > 0);
        simulation
            .sleep(Behaviour::rough().index_lag.worst_millis)
            .await;
        assert_eq!(owned(&amazon, "ann").await, 40);
        assert_eq!(amazon.changes_behind(), 0);
    });
}

#[test]
fn the_changes_of_one_item_come_in_their_order() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, Behaviour::rough()).await;
        for owner in ["ann", "bob", "cid", "dot", "eve"].repeat(8) {
            amazon
                .put_item(put("one", owner), ReturnValues::None)
                .await
                .unwrap();
        }
        simulation
            .sleep(Behaviour::rough().index_lag.worst_millis)
            .await;
        assert_eq!(owned(&amazon, "dot").await, 0);
        assert_eq!(owned(&amazon, "eve").await, 1);
    });
}

#[test]
fn only_consistent_reads_see_every_write() {
    let simulation = Simulation::new(1, 0);
    let late = Behaviour {
        replica_lag: Lag {
            usual_millis: 50..=50,
            rare: 0.0,
            worst_millis: 0,
        },
        ..Behaviour::still()
    };
    simulation.run(async {
        let amazon = service(&simulation, late).await;
        amazon
            .put_item(put("one", "ann"), ReturnValues::None)
            .await
            .unwrap();
        let get = |consistent| GetItem {
            consistent,
            ..GetItem::new(table(), key("one"))
        };
        let query = |consistent| Query {
            consistent,
            ..Query::new(table(), KeyCondition::partition("PK", "p"))
        };
        let batch = |is_eventual: bool| BatchGetItem {
            eventual: is_eventual.then(table).into_iter().collect(),
            ..BatchGetItem::new(vec![ItemAddress {
                table: table(),
                key: key("one"),
            }])
        };
        for millis in [0, 60] {
            simulation.sleep(millis).await;
            for consistent in [true, false] {
                let is_seen = consistent || millis > 50;
                let got = amazon.get_item(get(consistent)).await.unwrap().answer;
                assert_eq!(got.is_some(), is_seen, "{millis} {consistent}");
                let page = amazon.query(query(consistent)).await.unwrap().answer;
                assert_eq!(page.count == 1, is_seen, "{millis} {consistent}");
                let got = amazon
                    .batch_get_item(batch(!consistent))
                    .await
                    .unwrap()
                    .answer;
                assert_eq!(got != [BatchGot::Missing], is_seen, "{millis} {consistent}");
            }
        }
    });
}
