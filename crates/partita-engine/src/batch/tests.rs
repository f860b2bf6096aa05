use partita_core::Value;
use partita_store::request::{CreateTable, PutItem};
use partita_store::table::KeySchema;

use super::finish::EXPIRED_TOKENS_MAX;
use super::*;
use crate::replaced::CommitCount;
use crate::storage::{Bounds, Bytes, Direction, Entries, StorageError};

const WINDOW_MILLIS: i64 = 600_000;

/// A storage with nothing in it.
struct Nothing;

impl View for Nothing {
    fn get(&self, _key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        Ok(None)
    }

    fn range(&self, _bounds: Bounds, _direction: Direction) -> Entries {
        Box::new(std::iter::empty())
    }
}

fn name() -> TableName {
    "notes".parse().unwrap()
}

/// A write as the queue brings it, with every kind of answer made into the same.
type Write = Box<dyn FnOnce(&mut Batch<'_>) -> StoreResult<Option<Item>>>;

fn create() -> Write {
    let request = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
    Box::new(|batch| batch.create_table(request).map(|_| None))
}

fn delete() -> Write {
    Box::new(|batch| batch.delete_table(&name()).map(|_| None))
}

fn note(text: &str) -> Item {
    Item::from(["PK", "SK", "text"].map(|name| {
        let value = if name == "text" { text } else { "a" };
        (name.to_owned(), Value::from(value))
    }))
}

fn transaction(text: &str, token: Option<&str>) -> Write {
    let request = TransactWriteItems {
        actions: vec![TransactAction::Put(PutItem::new(name(), note(text)))],
        token: token.map(str::to_owned),
    };
    Box::new(|batch| batch.transaction(request).map(|_| None))
}

fn put(text: &str) -> Write {
    let put = TransactAction::Put(PutItem::new(name(), note(text)));
    Box::new(move |batch| Ok(batch.single(&put, ReturnValues::AllOld)?.answer))
}

/// What one batch of writes answers and comes to, with these tokens in memory.
fn run(
    tokens: &Tokens,
    now_millis: i64,
    writes: impl IntoIterator<Item = Write>,
) -> (Vec<StoreResult<Option<Item>>>, BatchOutcome) {
    let replaced = Replaced::new(CommitCount::default());
    let view = Box::new(Nothing);
    let mut batch = Batch::new(Arc::default(), tokens, &replaced, view, now_millis);
    let answers = writes.into_iter().map(|write| write(&mut batch)).collect();
    (answers, batch.finish().unwrap())
}

#[test]
fn writes_see_those_before_them() {
    let writes = [put("early"), create(), create(), put("1"), put("2")];
    let (answers, outcome) = run(&Tokens::default(), 0, writes);
    let table = name();
    assert!(matches!(answers[0], Err(StoreError::TableNotFound { .. })));
    assert_eq!(answers[1], Ok(None));
    assert_eq!(answers[2], Err(StoreError::TableExists { table }));
    assert_eq!(answers[3], Ok(None));
    assert_eq!(answers[4], Ok(Some(note("1"))));
    // The item once, as the last write left it, the numbers, the table, and the last id.
    assert_eq!(outcome.edits.len(), 4);
    assert!(matches!(&outcome.edits[0], Edit::Put(_, bytes) if *bytes == item::encode(&note("2"))));
}

#[test]
fn a_token_holds_within_its_batch() {
    let writes = [
        create(),
        transaction("1", Some("t")),
        put("2"),
        transaction("1", Some("t")),
        transaction("3", Some("t")),
    ];
    let (answers, outcome) = run(&Tokens::default(), 0, writes);
    assert_eq!(answers[3], Ok(None));
    assert_eq!(answers[4], Err(StoreError::IdempotentParameterMismatch));
    let is_second =
        |edit: &Edit| matches!(edit, Edit::Put(_, bytes) if *bytes == item::encode(&note("2")));
    assert_eq!(
        outcome.edits.iter().filter(|edit| is_second(edit)).count(),
        1
    );
    assert_eq!(outcome.new_tokens.len(), 1);
}

#[test]
fn a_deleted_table_takes_its_writes_along() {
    let writes = [create(), put("1"), delete(), put("2"), create(), put("3")];
    let (answers, outcome) = run(&Tokens::default(), 0, writes);
    assert_eq!(answers[2], Ok(None));
    assert!(matches!(answers[3], Err(StoreError::TableNotFound { .. })));
    assert_eq!(answers[5], Ok(None), "the new table is empty");
    assert!(outcome.has_dropped);
    let tables = outcome.tables.unwrap();
    let table = tables.find(&name()).unwrap();
    assert_eq!(table.id, 2, "no id is used again");
    let rows: Vec<_> = outcome
        .edits
        .iter()
        .filter_map(|edit| keys::row_id(key(edit)))
        .collect();
    assert_eq!(rows, [2]);
    assert!(
        outcome
            .edits
            .contains(&Edit::Put(keys::dropped(1), Vec::new()))
    );
}

#[test]
fn what_ends_as_it_began_is_not_written() {
    let remove = TransactAction::Delete(partita_store::request::DeleteItem {
        table: name(),
        key: note("")
            .into_iter()
            .filter(|(name, _)| name != "text")
            .collect(),
        condition: None,
        return_item_on_failure: false,
    });
    let remove: Write =
        Box::new(move |batch| Ok(batch.single(&remove, ReturnValues::None)?.answer));
    let (_, outcome) = run(&Tokens::default(), 0, [create(), put("1"), remove]);
    assert!(
        outcome
            .edits
            .iter()
            .all(|edit| keys::row_id(key(edit)).is_none())
    );
}

fn key(edit: &Edit) -> &Vec<u8> {
    match edit {
        Edit::Put(key, _) | Edit::Remove(key) => key,
    }
}

#[test]
fn expired_tokens_go_with_other_writes_and_in_bounded_numbers() {
    let mut tokens = Tokens::default();
    for number in 0..1_000 {
        tokens.add(&format!("{number}"), Remembered::new(1, 0));
    }
    let (_, outcome) = run(&tokens, WINDOW_MILLIS, []);
    assert!(outcome.edits.is_empty(), "not worth a commit");
    let (_, outcome) = run(&tokens, WINDOW_MILLIS - 1, [create()]);
    assert!(outcome.expired_tokens.is_empty(), "not expired yet");
    let (_, outcome) = run(&tokens, WINDOW_MILLIS, [create()]);
    assert_eq!(outcome.expired_tokens.len(), EXPIRED_TOKENS_MAX);
    assert_eq!(outcome.edits.len(), EXPIRED_TOKENS_MAX + 2);
}

#[test]
fn an_expired_token_that_is_used_again_stays() {
    let mut tokens = Tokens::default();
    tokens.add("t", Remembered::new(1, 0));
    let writes = [create(), transaction("1", Some("t"))];
    let (answers, outcome) = run(&tokens, WINDOW_MILLIS, writes);
    assert_eq!(answers[1], Ok(None));
    assert!(outcome.expired_tokens.is_empty());
    let mut keys: Vec<_> = outcome.edits.iter().map(key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), outcome.edits.len(), "no key is named twice");
}
