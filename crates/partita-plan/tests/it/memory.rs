//! Items that are small to store and large in memory: a list of empty texts counts one byte for
//! each, and takes thirty.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::request::{PutItem, ReturnValues};
use partita_store::{ModelStore, Store};

const DESIGN: &str = r#"
design = "shelf"

[table]
name = "shelf"
key  = ["PK", "SK"]

[entity.Book]
PK = "SHELF#{shelfId}"
SK = "BOOK#{bookId}"

[entity.Book.attributes]
shelfId = "string"
bookId  = "string"
title   = "string?"
parts   = "list? of string"

[entity.Book.allow]
"*" = "signed-in"

[entity.Loan]
PK = "USER#{userId}"
SK = "LOAN#{bookId}"

[entity.Loan.attributes]
userId  = "string"
shelfId = "string"
bookId  = "string"

[entity.Loan.refs]
book = "Book(shelfId, bookId)"

[entity.Loan.allow]
"*" = "signed-in"

[pattern.books]
query = "PK = 'SHELF#{shelfId}' AND begins_with(SK, 'BOOK#')"

[pattern.sorted]
query = "PK = 'SHELF#{shelfId}' AND begins_with(SK, 'BOOK#')"
sort  = ["-title"]
whole = 100

[pattern.titled]
query  = "PK = 'SHELF#{shelfId}' AND begins_with(SK, 'BOOK#')"
filter = "title = '{title}'"
one    = true
whole  = 100

[pattern.lent]
query  = "PK = 'USER#{userId}' AND begins_with(SK, 'LOAN#')"
follow = "book"
"#;

const BOOKS: usize = 9;

/// Texts of one book, which then takes five megabytes.
const PARTS: usize = 160_000;

/// A shelf of large books, all of them lent.
async fn shelf() -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open(design, store.clone()).await.unwrap();
    for at in 0..BOOKS {
        let id = format!("b{at}");
        let book = [
            ("PK", Value::from("SHELF#s")),
            ("SK", Value::S(format!("BOOK#{id}"))),
            ("shelfId", Value::from("s")),
            ("bookId", Value::S(id.clone())),
            ("title", Value::S(format!("t{at}"))),
            ("parts", Value::L(vec![Value::from(""); PARTS])),
        ];
        let loan = [
            ("PK", Value::from("USER#ann")),
            ("SK", Value::S(format!("LOAN#{id}"))),
            ("userId", Value::from("ann")),
            ("shelfId", Value::from("s")),
            ("bookId", Value::S(id)),
        ];
        for item in [Item::from_iter(book), Item::from_iter(loan)] {
            let put = PutItem::new("shelf".parse().unwrap(), item);
            store.put_item(put, ReturnValues::None).await.unwrap();
        }
    }
    partita
}

async fn ask(
    partita: &Partita,
    pattern: &str,
    parameters: &[(&str, &str)],
    cursor: Option<String>,
) -> Result<Answer, PlanError> {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    let operation = Operation::Query {
        pattern: pattern.to_owned(),
        parameters: BTreeMap::from_iter(parameters.iter().map(owned)),
        limit: Some(100),
        cursor,
    };
    partita.run(&Caller::user("ann"), operation).await
}

#[tokio::test]
async fn a_page_ends_when_it_is_large_in_memory() {
    let partita = shelf().await;
    for (pattern, parameter) in [
        ("books", ("shelfId", "s")),
        ("sorted", ("shelfId", "s")),
        ("lent", ("userId", "ann")),
    ] {
        let mut seen = BTreeSet::new();
        let mut next = None;
        loop {
            let page = ask(&partita, pattern, &[parameter], next).await.unwrap();
            let Answer::Page { records, cursor } = page else {
                panic!("{page:?}")
            };
            assert!(records.len() <= 1, "{pattern}: {} books", records.len());
            for record in records {
                let id = record.attributes["bookId"].as_str().unwrap();
                assert!(seen.insert(id.to_owned()), "{pattern}: {id} is there twice");
            }
            match cursor {
                Some(_) => next = cursor,
                None => break,
            }
        }
        assert_eq!(seen.len(), BOOKS, "{pattern}");
    }
}

#[tokio::test]
async fn one_row_is_found_among_large_ones() {
    let partita = shelf().await;
    let parameters = [("shelfId", "s"), ("title", "t8")];
    let Answer::Record(found) = ask(&partita, "titled", &parameters, None).await.unwrap() else {
        panic!()
    };
    assert_eq!(found.attributes["bookId"], Value::from("b8"));
}

#[tokio::test]
async fn a_batch_does_not_answer_more_than_memory_holds() {
    let partita = shelf().await;
    let rename = |id: &str, title: String| Operation::Update {
        entity: "Book".to_owned(),
        identity: vec!["s".to_owned(), id.to_owned()],
        changes: Map::from([("title", Value::S(title))]),
        with_deleted: false,
        version: None,
    };
    let ann = Caller::user("ann");
    for count in [2, 30] {
        let operations = (0..count).map(|at| rename("b0", format!("new {at}")));
        let answers = partita.run_all(&ann, operations.collect()).await;
        match count {
            2 => assert_eq!(answers.unwrap().len(), 2),
            _ => assert!(
                matches!(answers, Err(PlanError::TooMuchMemory { .. })),
                "{answers:?}"
            ),
        }
    }
}
