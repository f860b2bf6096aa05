//! Transactions that meet, and the tokens under which they are sent.

use partita_core::Value;
use partita_core::expression::{Bindings, Condition};
use partita_store::error::CancellationReason;
use partita_store::request::{
    GetItem, ItemAddress, PutItem, ReturnValues, TransactAction, TransactGetItems,
};
use partita_store::{ErrorKind, Store as _, StoreError};
use partita_testkit::amazon::Behaviour;
use partita_testkit::{Amazon, Simulation};

use crate::amazon::{adding, key, put, service, table, transaction};

async fn number(amazon: &Amazon, sort: &str) -> Option<Value> {
    let found = amazon.get_item(GetItem::new(table(), key(sort))).await;
    let found = found.unwrap().answer?.into_item().unwrap();
    found.get("n").cloned()
}

/// A service on which transactions take ten milliseconds.
fn slow() -> Behaviour {
    Behaviour {
        transaction_millis: 10..=10,
        write_millis: 5..=5,
        ..Behaviour::still()
    }
}

#[test]
fn what_meets_a_transaction_is_refused() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, slow()).await;
        let other = amazon.clone();
        let first = simulation.spawn(async move {
            let first = transaction(vec![adding("a"), adding("b")], None);
            other.transact_write_items(first).await
        });
        simulation.sleep(5).await;
        let second = transaction(vec![adding("x"), adding("b")], None);
        let conflict = CancellationReason::TransactionConflict;
        let met = StoreError::TransactionCanceled {
            reasons: vec![CancellationReason::None, conflict.clone()],
        };
        let refused = amazon.transact_write_items(second).await;
        assert_eq!(refused.map(drop), Err(met));
        let single = amazon.put_item(put("a", "ann"), ReturnValues::None).await;
        assert_eq!(single.map(drop), Err(StoreError::TransactionConflict));
        let get = (
            ItemAddress {
                table: table(),
                key: key("a"),
            },
            None,
        );
        let gets = TransactGetItems { gets: vec![get] };
        let read = amazon.transact_get_items(gets).await;
        let met = StoreError::TransactionCanceled {
            reasons: vec![conflict],
        };
        assert_eq!(read.map(drop), Err(met));
        // A single read sees what is committed.
        assert_eq!(number(&amazon, "a").await, None);
        first.await.unwrap().unwrap();
        assert_eq!(number(&amazon, "a").await, Some(Value::from(1_i64)));
        assert_eq!(number(&amazon, "x").await, None);
        assert_eq!(amazon.counts().conflicts, 3);
    });
}

#[test]
fn a_transaction_meets_a_single_write() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, slow()).await;
        amazon
            .put_item(put("a", "ann"), ReturnValues::None)
            .await
            .unwrap();
        let met = amazon
            .transact_write_items(transaction(vec![adding("a")], None))
            .await;
        assert_eq!(met.unwrap_err().kind(), ErrorKind::Conflict);
        // A transaction of reads meets it as well.
        let address = ItemAddress {
            table: table(),
            key: key("a"),
        };
        let gets = vec![(address, None)];
        let met = amazon.transact_get_items(TransactGetItems { gets }).await;
        assert_eq!(met.unwrap_err().kind(), ErrorKind::Conflict);
        // Single writes wait for each other.
        amazon
            .put_item(put("a", "bob"), ReturnValues::None)
            .await
            .unwrap();
        simulation.sleep(5).await;
        let done = amazon
            .transact_write_items(transaction(vec![adding("a")], None))
            .await;
        done.unwrap();
    });
}

#[test]
fn a_conflict_is_told_beside_a_condition_that_fails() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, slow()).await;
        amazon
            .put_item(put("a", "ann"), ReturnValues::None)
            .await
            .unwrap();
        simulation.sleep(10).await;
        amazon
            .put_item(put("b", "ann"), ReturnValues::None)
            .await
            .unwrap();
        let missing = Condition::parse("attribute_not_exists(PK)", &Bindings::Literals).unwrap();
        let new = TransactAction::Put(PutItem {
            condition: Some(missing),
            ..put("a", "bob")
        });
        let refused = amazon
            .transact_write_items(transaction(vec![new, adding("b")], None))
            .await;
        let reasons = vec![
            CancellationReason::ConditionalCheckFailed { item: None },
            CancellationReason::TransactionConflict,
        ];
        assert_eq!(
            refused.map(drop),
            Err(StoreError::TransactionCanceled { reasons })
        );
    });
}

#[test]
fn a_token_counts_once_also_while_it_is_under_way() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, slow()).await;
        let send = |sort: &str| {
            let (amazon, request) = (amazon.clone(), transaction(vec![adding(sort)], Some("t")));
            async move { amazon.transact_write_items(request).await.map(drop) }
        };
        let first = simulation.spawn(send("a"));
        simulation.sleep(5).await;
        let again = send("a").await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::OutcomeUnknown);
        first.await.unwrap().unwrap();
        send("a").await.unwrap();
        assert_eq!(
            send("b").await,
            Err(StoreError::IdempotentParameterMismatch)
        );
        assert_eq!(number(&amazon, "a").await, Some(Value::from(1_i64)));
        simulation.sleep(600_000).await;
        send("a").await.unwrap();
        assert_eq!(number(&amazon, "a").await, Some(Value::from(2_i64)));
        assert_eq!(amazon.counts().in_progress, 1);
    });
}
