use partita_core::Value;
use partita_store::request::PutItem;

use super::*;
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

fn create() -> Write {
    Write::CreateTable(CreateTable {
        table: name(),
        schema: KeySchema::strings("PK", "SK"),
    })
}

fn note(text: &str) -> Item {
    Item::from(["PK", "SK", "text"].map(|name| {
        let value = if name == "text" { text } else { "a" };
        (name.to_owned(), Value::from(value))
    }))
}

fn transaction(text: &str, token: Option<&str>) -> Write {
    Write::Transaction(TransactWriteItems {
        actions: vec![TransactAction::Put(PutItem::new(name(), note(text)))],
        token: token.map(str::to_owned),
    })
}

fn put(text: &str) -> Write {
    let put = TransactAction::Put(PutItem::new(name(), note(text)));
    Write::Single(Box::new(put), ReturnValues::AllOld)
}

/// What one batch of writes answers and comes to, with these tokens in memory.
fn run(
    tokens: &Tokens,
    now_millis: i64,
    writes: impl IntoIterator<Item = Write>,
) -> (Vec<StoreResult<Option<Item>>>, Outcome) {
    let catalog = Catalog::default();
    let mut batch = Batch::new(&catalog, tokens, Box::new(Nothing), now_millis);
    let answers = writes.into_iter().map(|write| batch.take(write)).collect();
    (answers, batch.finish())
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
    // The table, and the item once, as the last write left it.
    assert_eq!(outcome.edits.len(), 2);
    assert!(matches!(&outcome.edits[1], Edit::Put(_, bytes) if *bytes == item::encode(&note("2"))));
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
    let written = Edit::Put(
        outcome.edits.last().map(key).unwrap().clone(),
        item::encode(&note("2")),
    );
    assert_eq!(outcome.edits.last(), Some(&written));
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
        tokens.add(format!("{number}").into(), Remembered::new(1, 0));
    }
    let (_, outcome) = run(&tokens, WINDOW_MILLIS, []);
    assert!(outcome.edits.is_empty(), "not worth a commit");
    let (_, outcome) = run(&tokens, WINDOW_MILLIS - 1, [create()]);
    assert!(outcome.expired_tokens.is_empty(), "not expired yet");
    let (_, outcome) = run(&tokens, WINDOW_MILLIS, [create()]);
    assert_eq!(outcome.expired_tokens.len(), EXPIRED_TOKENS_MAX);
    assert_eq!(outcome.edits.len(), EXPIRED_TOKENS_MAX + 1);
}

#[test]
fn an_expired_token_that_is_used_again_stays() {
    let mut tokens = Tokens::default();
    tokens.add("t".into(), Remembered::new(1, 0));
    let writes = [create(), transaction("1", Some("t"))];
    let (answers, outcome) = run(&tokens, WINDOW_MILLIS, writes);
    assert_eq!(answers[1], Ok(None));
    assert!(outcome.expired_tokens.is_empty());
    let mut keys: Vec<_> = outcome.edits.iter().map(key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), outcome.edits.len(), "no key is named twice");
}
