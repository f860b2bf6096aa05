//! Attributes of any name.

use partita_core::expression::{Comparator, Condition, KeyCondition, Operand, Path, Step, Update};
use partita_core::{Item, Value};

use super::bench::Bench;
use super::values::{With as _, keys, map, row, setting};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{PutItem, Query, ReturnValues};
use partita_store::table::KeySchema;

topic! {"names":
    a_name_may_be_anything,
    a_key_may_have_any_name,
    a_name_may_not_be_empty,
    a_name_may_be_long,
}

/// Reserved words, names that look like syntax, and names in other scripts.
const NAMES: [&str; 16] = [
    "status",
    "SIZE",
    "Name",
    "#",
    ":v",
    "a.b",
    "a[0]",
    "two words",
    " ",
    "漢字",
    "\u{1f600}",
    "\"",
    "'",
    "\\",
    "and/or",
    "0",
];

async fn a_name_may_be_anything(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for name in NAMES {
        let path = Path::attribute(name);
        let item = row("1").with(name, 1);
        assert_eq!(table.update(row("1"), setting(name, 1)).await?, item);
        let request = PutItem {
            condition: Some(Condition::equals(path.clone(), 1)),
            ..table.putting(row("1").with(name, map([(name, 2.into())])))
        };
        bench.store.put_item(request, ReturnValues::None).await?;

        let inner = Path {
            steps: vec![Step::Field(name.into())],
            ..path.clone()
        };
        let deeper = row("1").with(name, map([(name, 3.into())]));
        let change = Update::default().setting(inner.clone(), 3);
        assert_eq!(table.update(row("1"), change).await?, deeper, "{name}");
        let two = Operand::value(2);
        let query = Query {
            filter: Some(Condition::Compare(
                Operand::Path(inner),
                Comparator::Greater,
                two,
            )),
            ..Query::new(table.name.clone(), keys("PK = 'p'"))
        };
        assert_eq!(bench.store.query(query).await?.items, [deeper], "{name}");
        let gone = Update {
            remove: vec![path],
            ..Update::default()
        };
        assert_eq!(table.update(row("1"), gone).await?, row("1"), "{name}");
    }
    Ok(())
}

async fn a_key_may_have_any_name(bench: &Bench<'_>) -> StoreResult<()> {
    for (partition, sort) in [("#", "a.b"), ("key", "Range"), ("two words", "漢字")] {
        let table = bench
            .table_with(KeySchema::strings(partition, sort))
            .await?;
        let key = Item::new().with(partition, "p").with(sort, "s");
        let item = key.clone().with("PK", "not a key here");
        table.put(item.clone()).await?;
        assert_eq!(table.get(key.clone()).await?, Some(item.clone()));
        let mut keys = KeyCondition::partition(partition, "p");
        keys.equals.push((sort.to_owned(), Value::from("s")));
        assert_eq!(table.query(keys).await?, [item]);
        expect::invalid(table.update(key, setting(sort, "t")).await);
    }
    Ok(())
}

async fn a_name_may_not_be_empty(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    expect::invalid(table.put(row("1").with("", 1)).await);
    expect::invalid(table.update(row("1"), setting("", 1)).await);
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn a_name_may_be_long(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = row("1").with(&"n".repeat(65_535), 1);
    table.put(item.clone()).await?;
    assert_eq!(table.get(row("1")).await?, Some(item));
    expect::invalid(table.put(row("1").with(&"n".repeat(65_536), 1)).await);
    Ok(())
}
