use partita_store::ModelStore;
use partita_store::request::{CreateTable, Totals};
use partita_store::table::KeySchema;

use super::*;

#[tokio::test]
async fn a_range_holds_whatever_was_read() {
    let store = ModelStore::default();
    let name: TableName = "notes".parse().unwrap();
    let schema = KeySchema::strings("PK", "SK");
    let request = CreateTable::new(name, schema);
    let mut table = store.create_table(request).await.unwrap();
    let measure = async |table: &TableDescription| {
        let value = Value::from("a");
        range(&store, table, "PK".to_owned(), value).await
    };
    assert_eq!(measure(&table).await, [0.0, 1.0]);
    table.totals = Totals {
        items: 1,
        bytes: 2 * GIGABYTE + 1,
    };
    // The table is large, but the collection is not.
    assert_eq!(measure(&table).await, [0.0, 1.0]);
    // Of what cannot be read to its end only the table's size is known.
    table.table = "gone".parse().unwrap();
    assert_eq!(measure(&table).await, [0.0, 3.0]);
}
