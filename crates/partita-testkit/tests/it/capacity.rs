//! What a partition can do, batches that are done in parts, pages that end early, and items that
//! expire.

use futures::future::join_all;
use partita_core::Value;
use partita_core::expression::{Bindings, Condition, KeyCondition, Update};
use partita_store::error::{CancellationReason, Exhausted};
use partita_store::request::{
    BatchGetItem, BatchGot, BatchWrite, BatchWriteItem, ConditionCheck, GetItem, ItemAddress,
    PutItem, Query, ReturnValues, Scan, TransactAction, TransactGetItems, UpdateItem,
    UpdateTimeToLive,
};
use partita_store::table::string_key;
use partita_store::{ErrorKind, Store as _, StoreError, StoreResult};
use partita_testkit::Simulation;
use partita_testkit::amazon::Behaviour;
use partita_testkit::amazon::behaviour::Throughput;

use crate::amazon::{adding, item, key, owned, put, service, table, transaction};

#[test]
fn a_partition_does_so_much_in_a_second() {
    let simulation = Simulation::new(1, 0);
    let documented = Behaviour {
        throughput: Throughput::DOCUMENTED,
        ..Behaviour::still()
    };
    simulation.run(async {
        let amazon = service(&simulation, documented).await;
        // Two partitions of the table share one of the index.
        let put = |number: u64| {
            let mut item = string_key(
                ("PK", &format!("p{}", number % 2)),
                ("SK", &number.to_string()),
            );
            item.insert("owner", Value::from("ann"));
            amazon.put_item(PutItem::new(table(), item), ReturnValues::None)
        };
        let results = join_all((0..1_500).map(put)).await;
        let done = results.iter().filter(|result| result.is_ok()).count();
        assert_eq!(done, 1_000);
        let refused = results.into_iter().find_map(Result::err);
        let exhausted = Exhausted {
            reason: "IndexWriteKeyRangeThroughputExceeded".to_owned(),
            index: Some("byOwner".to_owned()),
        };
        assert_eq!(refused, Some(StoreError::Exhausted(exhausted)));
        let throttles = amazon.throttles();
        let first = throttles.first().unwrap();
        assert_eq!(first.reason(), "IndexWriteKeyRangeThroughputExceeded");
        assert_eq!(first.partition.index.as_deref(), Some("byOwner"));
        simulation.sleep(1_000).await;
        put(1).await.unwrap();
    });
}

#[test]
fn a_throttled_action_cancels_its_transaction() {
    let simulation = Simulation::new(1, 0);
    let small = Behaviour {
        throughput: Throughput { read: 2, write: 2 },
        ..Behaviour::still()
    };
    simulation.run(async {
        let amazon = service(&simulation, small).await;
        let send = || amazon.transact_write_items(transaction(vec![adding("a")], None));
        send().await.unwrap();
        let reasons = vec![CancellationReason::Exhausted(Exhausted {
            reason: "TableWriteKeyRangeThroughputExceeded".to_owned(),
            index: None,
        })];
        let refused = send().await.map(drop);
        assert_eq!(refused, Err(StoreError::TransactionCanceled { reasons }));
        let reads = (0..8).map(|_| amazon.get_item(GetItem::new(table(), key("a"))));
        let reads = join_all(reads).await;
        let refused = reads.into_iter().filter(Result::is_err).count();
        assert!((5..8).contains(&refused), "{refused}");
        let reasons: Vec<_> = amazon.throttles().iter().map(|one| one.reason()).collect();
        assert_eq!(reasons[0], "TableWriteKeyRangeThroughputExceeded");
        assert_eq!(reasons[1], "TableReadKeyRangeThroughputExceeded");
    });
}

/// Who has so little can be used up by writes that change nothing.
fn poor() -> Behaviour {
    Behaviour {
        throughput: Throughput { read: 4, write: 4 },
        ..Behaviour::still()
    }
}

fn with_condition(condition: &str) -> PutItem {
    let condition = Condition::parse(condition, &Bindings::Literals).unwrap();
    PutItem {
        condition: Some(condition),
        ..put("a", "ann")
    }
}

#[test]
fn a_condition_that_is_checked_takes_units_whether_it_holds_or_not() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, poor()).await;
        let put = |condition| amazon.put_item(with_condition(condition), ReturnValues::None);
        let kind = |refused: StoreResult<_>| refused.map(drop).map_err(|error| error.kind());
        put("attribute_not_exists(PK)").await.unwrap();
        for _ in 0..3 {
            let refused = put("attribute_not_exists(PK)").await;
            assert_eq!(kind(refused), Err(ErrorKind::ConditionFailed));
        }
        let refused = put("attribute_not_exists(PK)").await;
        assert_eq!(kind(refused), Err(ErrorKind::Retry));
        simulation.sleep(1_000).await;
        // A transaction takes twice as much.
        let check = || {
            TransactAction::Check(ConditionCheck {
                table: table(),
                key: key("a"),
                condition: Condition::parse("attribute_exists(PK)", &Bindings::Literals).unwrap(),
                return_item_on_failure: false,
            })
        };
        let send = || amazon.transact_write_items(transaction(vec![check()], None));
        send().await.unwrap();
        send().await.unwrap();
        assert_eq!(send().await.unwrap_err().kind(), ErrorKind::Retry);
    });
}

#[test]
fn batches_and_transactions_of_reads_take_units() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, poor()).await;
        let address = || ItemAddress {
            table: table(),
            key: key("a"),
        };
        let batch = || amazon.batch_get_item(BatchGetItem::new(vec![address()]));
        for _ in 0..4 {
            batch().await.unwrap();
        }
        let get = amazon.get_item(GetItem::new(table(), key("a"))).await;
        assert_eq!(get.unwrap_err().kind(), ErrorKind::Retry);
        // A batch of which nothing can be done is refused as a whole.
        assert_eq!(batch().await.unwrap_err().kind(), ErrorKind::Retry);
        simulation.sleep(1_000).await;
        let transaction = || {
            let gets = vec![(address(), None)];
            amazon.transact_get_items(TransactGetItems { gets })
        };
        transaction().await.unwrap();
        transaction().await.unwrap();
        let reasons = vec![CancellationReason::Exhausted(Exhausted {
            reason: "TableReadKeyRangeThroughputExceeded".to_owned(),
            index: None,
        })];
        let refused = transaction().await.map(drop);
        assert_eq!(refused, Err(StoreError::TransactionCanceled { reasons }));
    });
}

#[test]
fn a_scan_takes_units_of_the_partitions_that_it_comes_through() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, poor()).await;
        amazon
            .put_item(put("a", "ann"), ReturnValues::None)
            .await
            .unwrap();
        for index in [None, Some("byOwner".to_owned())] {
            // Half a unit each time.
            let scan = || Scan {
                index: index.clone(),
                consistent: false,
                ..Scan::new(table())
            };
            for _ in 0..8 {
                assert_eq!(amazon.scan(scan()).await.unwrap().answer.count, 1);
            }
            let refused = amazon.scan(scan()).await;
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Retry);
            let reason = match &index {
                None => "TableReadKeyRangeThroughputExceeded",
                Some(_) => "IndexReadKeyRangeThroughputExceeded",
            };
            assert_eq!(amazon.throttles().last().unwrap().reason(), reason);
        }
    });
}

#[test]
fn an_update_is_throttled_by_the_partition_of_an_index_that_it_takes_its_item_to() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, poor()).await;
        let other = |number: usize| {
            let mut item = string_key(("PK", &format!("p{number}")), ("SK", "s"));
            item.insert("owner", Value::from("bob"));
            amazon.put_item(PutItem::new(table(), item), ReturnValues::None)
        };
        amazon
            .put_item(put("a", "ann"), ReturnValues::None)
            .await
            .unwrap();
        for number in 0..4 {
            other(number).await.unwrap();
        }
        let moved = UpdateItem {
            table: table(),
            key: key("a"),
            update: Update::parse("SET owner = 'bob'", &Bindings::Literals).unwrap(),
            condition: None,
            return_item_on_failure: false,
        };
        let refused = amazon.update_item(moved, ReturnValues::None).await;
        let exhausted = Exhausted {
            reason: "IndexWriteKeyRangeThroughputExceeded".to_owned(),
            index: Some("byOwner".to_owned()),
        };
        assert_eq!(refused.err(), Some(StoreError::Exhausted(exhausted)));
    });
}

#[test]
fn batches_are_done_in_parts() {
    let simulation = Simulation::new(1, 0);
    let partial = Behaviour {
        unprocessed: 0.3,
        ..Behaviour::still()
    };
    simulation.run(async {
        let amazon = service(&simulation, partial).await;
        let numbers: Vec<String> = (0..25).map(|number| number.to_string()).collect();
        let mut writes: Vec<_> = numbers
            .iter()
            .map(|number| BatchWrite::Put {
                table: table(),
                item: item(number, "ann"),
            })
            .collect();
        let mut rounds = 0;
        while !writes.is_empty() {
            let left = amazon.batch_write_item(BatchWriteItem { writes }).await;
            writes = left.unwrap().answer;
            rounds += 1;
        }
        assert!(rounds > 1);
        assert_eq!(owned(&amazon, "ann").await, 25);
        let addresses = numbers.iter().map(|number| ItemAddress {
            table: table(),
            key: key(number),
        });
        let got = amazon
            .batch_get_item(BatchGetItem::new(addresses.collect()))
            .await;
        let got = got.unwrap().answer;
        let left = got
            .iter()
            .filter(|one| **one == BatchGot::Unprocessed)
            .count();
        assert!((1..25).contains(&left), "{left}");
        assert!(!got.contains(&BatchGot::Missing));
    });
}

#[test]
fn a_page_may_end_before_it_is_full() {
    let simulation = Simulation::new(1, 0);
    let short = Behaviour {
        short_page: 0.5,
        ..Behaviour::still()
    };
    simulation.run(async {
        let amazon = service(&simulation, short).await;
        for number in 0..30 {
            let put = put(&format!("{number:02}"), "ann");
            amazon.put_item(put, ReturnValues::None).await.unwrap();
        }
        let mut query = Query::new(table(), KeyCondition::partition("PK", "p"));
        let (mut pages, mut items) = (0, 0);
        loop {
            let page = amazon.query(query.clone()).await.unwrap().answer;
            pages += 1;
            items += page.count;
            match page.last_key {
                None => break,
                last_key => query.start_after = last_key,
            }
        }
        assert_eq!(items, 30);
        assert!(pages > 1 && amazon.counts().short_pages > 0);
    });
}

#[test]
fn expired_items_go_late_and_in_any_order() {
    let simulation = Simulation::new(1, 1_000_000_000_000);
    simulation.run(async {
        let amazon = service(&simulation, Behaviour::rough()).await;
        let expiry = UpdateTimeToLive {
            table: table(),
            attribute: "until".to_owned(),
            is_enabled: true,
        };
        amazon.update_time_to_live(expiry).await.unwrap();
        let until = 1_000_000_060_i64;
        for number in 0..50 {
            let mut item = item(&number.to_string(), "ann");
            item.insert("until", Value::from(until));
            let put = PutItem::new(table(), item);
            amazon.put_item(put, ReturnValues::None).await.unwrap();
            simulation.sleep(100).await;
        }
        let mut left = Vec::new();
        for _ in 0..50 {
            amazon.sweep();
            left.push(50 - amazon.counts().expired);
            simulation.sleep(3_600_000).await;
        }
        assert_eq!(left.first(), Some(&50), "never early");
        assert_eq!(left.last(), Some(&0), "within two days");
        assert!(left.iter().any(|left| (1..50).contains(left)), "{left:?}");
        assert_eq!(owned(&amazon, "ann").await, 0);
    });
}
