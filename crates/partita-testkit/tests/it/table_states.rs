//! Tables that take their time, and an index that is filled while the table is written to.

use partita_store::request::{
    CreateTable, PutItem, ReturnValues, TableChange, TableStatus, UpdateTable,
};
use partita_store::table::{KeySchema, TableSchema};
use partita_store::{Clock as _, Store as _, StoreError};
use partita_testkit::amazon::Behaviour;
use partita_testkit::{Amazon, Simulation};

use crate::amazon::{by_owner, item, owned, put, service, table};

#[test]
fn a_new_table_takes_a_while() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = std::sync::Arc::new(Amazon::new(&simulation, Behaviour::rough(), 1));
        let other = amazon.clone();
        let creating = simulation.spawn(async move {
            let create = CreateTable::new(table(), KeySchema::strings("PK", "SK"));
            other.create_table(create).await
        });
        simulation.sleep(1).await;
        let early = amazon.put_item(put("a", "ann"), ReturnValues::None).await;
        assert_eq!(
            early.map(drop),
            Err(StoreError::TableNotFound { table: table() })
        );
        let create = CreateTable::new(table(), KeySchema::strings("PK", "SK"));
        let again = amazon.create_table(create).await.map(drop);
        assert_eq!(again, Err(StoreError::TableExists { table: table() }));
        // Who asks for it waits for it.
        let described = amazon.describe_table(&table()).await.unwrap();
        assert_eq!(described.status, TableStatus::Active);
        assert!(simulation.now_millis() >= *Behaviour::rough().table_millis.start());
        creating.await.unwrap().unwrap();
        amazon
            .put_item(put("a", "ann"), ReturnValues::None)
            .await
            .unwrap();
    });
}

#[test]
fn an_index_is_filled_while_the_table_is_written_to() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = Amazon::new(&simulation, Behaviour::rough(), 1);
        amazon.calm();
        let schema = TableSchema::from(KeySchema::strings("PK", "SK"));
        let create = CreateTable::new(table(), schema);
        amazon.create_table(create).await.unwrap();
        for number in 0..40 {
            let put = put(&number.to_string(), "ann");
            amazon.put_item(put, ReturnValues::None).await.unwrap();
        }
        amazon.begin();
        let change = |change: TableChange| UpdateTable {
            table: table(),
            changes: vec![change],
        };
        let adding = TableChange::CreateIndex(by_owner());
        let updated = amazon.update_table(change(adding)).await.unwrap();
        assert_eq!(updated.status, TableStatus::Updating);
        assert_eq!(updated.building, ["byOwner"]);
        let second = TableChange::DeleteIndex("byOwner".to_owned());
        let refused = amazon.update_table(change(second)).await;
        assert!(matches!(refused, Err(StoreError::LimitExceeded { .. })));
        let protecting = TableChange::Protection(true);
        let refused = amazon.update_table(change(protecting.clone())).await;
        assert!(matches!(refused, Err(StoreError::ResourceInUse { .. })));
        // A write overtakes the old state of its item.
        for number in 0..40 {
            let moved = PutItem::new(table(), item(&number.to_string(), "bob"));
            amazon.put_item(moved, ReturnValues::None).await.unwrap();
            simulation.sleep(50).await;
        }
        let wait = Behaviour::rough().backfill_millis + Behaviour::rough().index_lag.worst_millis;
        simulation.sleep(wait).await;
        assert_eq!(owned(&amazon, "ann").await, 0);
        assert_eq!(owned(&amazon, "bob").await, 40);
        amazon.update_table(change(protecting)).await.unwrap();
    });
}

#[test]
fn an_index_that_is_being_filled_cannot_be_read() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, Behaviour::rough()).await;
        let mut second = by_owner();
        second.name = "second".to_owned();
        let adding = UpdateTable {
            table: table(),
            changes: vec![TableChange::CreateIndex(second)],
        };
        amazon.update_table(adding).await.unwrap();
        let keys = partita_core::expression::KeyCondition::partition("owner", "ann");
        let query = partita_store::request::Query {
            index: Some("second".to_owned()),
            consistent: false,
            ..partita_store::request::Query::new(table(), keys)
        };
        let refused = amazon.query(query.clone()).await;
        assert!(matches!(refused, Err(StoreError::Validation { .. })));
        simulation.sleep(Behaviour::rough().backfill_millis).await;
        amazon.query(query).await.unwrap();
    });
}
