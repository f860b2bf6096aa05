//! Patterns that read more than they show: one row among many, and rows in another order.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError, ReadBound};
use partita_store::request::{BatchWrite, BatchWriteItem};
use partita_store::{ModelStore, Store};

const DESIGN: &str = r#"
design = "talk"

[table]
name = "talk"
key  = ["PK", "SK"]

[entity.Comment]
PK = "ITEM#{itemId}"
SK = "COMMENT#{at}"

[entity.Comment.attributes]
itemId = "string"
at     = "string"
word   = "string"
text   = "string?"
likes  = "count of Like"

[entity.Comment.allow]
"*" = "signed-in"

[entity.Like]
PK = "ITEM#{itemId}"
SK = "LIKE#{word}#{userId}"

[entity.Like.attributes]
itemId = "string"
word   = "string"
userId = "string"

[entity.Like.refs]
comment = "Comment via byWord, on delete cascade"

[entity.Like.allow]
"*" = "signed-in"

[action.rewrite]
find = "byWord"
input = ["text"]

[pattern.byWord]
query  = "PK = 'ITEM#{itemId}' AND begins_with(SK, 'COMMENT#')"
filter = "word = '{word}'"
one    = true
whole  = 500

[pattern.sorted]
query = "PK = 'ITEM#{itemId}' AND begins_with(SK, 'COMMENT#')"
sort  = ["-word"]
whole = 500
"#;

/// An item with so many comments, whose words run against their times.
async fn talk(count: usize, text: &str) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open(design, store.clone()).await.unwrap();
    let comments: Vec<BatchWrite> = (0..count).map(|at| comment(at, text)).collect();
    for writes in comments.chunks(25) {
        let writes = writes.to_vec();
        let written = store.batch_write_item(BatchWriteItem { writes }).await;
        assert!(written.unwrap().answer.is_empty());
    }
    partita
}

fn comment(at: usize, text: &str) -> BatchWrite {
    let time = format!("{at:05}");
    let item = [
        ("PK", "ITEM#i".to_owned()),
        ("SK", format!("COMMENT#{time}")),
        ("itemId", "i".to_owned()),
        ("at", time),
        ("word", word(at)),
        ("text", text.to_owned()),
    ];
    let item = item.map(|(name, value)| (name.to_owned(), Value::from(value.as_str())));
    BatchWrite::Put {
        table: "talk".parse().unwrap(),
        item: item.into_iter().collect(),
    }
}

fn word(at: usize) -> String {
    // 7919 is a prime, so that all words differ.
    format!("w{:05}", at * 7_919 % 100_000)
}

async fn ask(
    partita: &Partita,
    pattern: &str,
    word: Option<&str>,
    limit: Option<usize>,
    cursor: Option<String>,
) -> Result<Answer, PlanError> {
    let mut parameters = BTreeMap::from([("itemId".to_owned(), "i".to_owned())]);
    parameters.extend(word.map(|word| ("word".to_owned(), word.to_owned())));
    let operation = Operation::Query {
        pattern: pattern.to_owned(),
        parameters,
        limit,
        cursor,
    };
    partita.run(&Caller::user("ann"), operation).await
}

async fn like(partita: &Partita, word: &str) -> Result<Answer, PlanError> {
    let given = [("itemId", "i"), ("word", word), ("userId", "ann")];
    let operation = Operation::Create {
        entity: "Like".to_owned(),
        attributes: given.map(|(name, text)| (name, Value::from(text))).into(),
    };
    partita.run(&Caller::user("ann"), operation).await
}

fn words(answer: &Answer) -> Vec<String> {
    let records = match answer {
        Answer::Page { records, .. } => records.iter().collect(),
        Answer::Record(record) => vec![record],
        other => panic!("{other:?}"),
    };
    let words = records.iter().map(|record| &record.attributes["word"]);
    words
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

fn too_large(bound: ReadBound, pattern: &str) -> PlanError {
    PlanError::TooLarge {
        pattern: pattern.to_owned(),
        bound,
    }
}

#[tokio::test]
async fn a_row_is_found_wherever_it_is() {
    let partita = talk(500, "").await;
    for at in [0, 99, 100, 250, 499] {
        let word = word(at);
        let found = ask(&partita, "byWord", Some(&word), None, None).await;
        assert_eq!(words(&found.unwrap()), [word.as_str()]);
        like(&partita, &word).await.unwrap();
        let found = ask(&partita, "byWord", Some(&word), None, None).await;
        let Ok(Answer::Record(comment)) = found else {
            panic!("{found:?}")
        };
        assert_eq!(comment.attributes["likes"], Value::from(1));
    }
    let missing = ask(&partita, "byWord", Some("none"), None, None).await;
    assert!(
        matches!(missing, Err(PlanError::NotFound { .. })),
        "{missing:?}"
    );
    let missing = like(&partita, "none").await;
    assert!(
        matches!(missing, Err(PlanError::Invalid { .. })),
        "{missing:?}"
    );
}

#[tokio::test]
async fn beyond_the_bound_it_is_not_said_to_be_missing() {
    let partita = talk(501, "").await;
    let refused = too_large(ReadBound::Items(500), "byWord");
    let found = ask(&partita, "byWord", Some(&word(499)), None, None).await;
    assert_eq!(words(&found.unwrap()), [word(499)]);
    for word in [&word(500), "none"] {
        let beyond = ask(&partita, "byWord", Some(word), None, None).await;
        assert_eq!(beyond, Err(refused.clone()));
        assert_eq!(like(&partita, word).await, Err(refused.clone()));
    }
    let message = refused.to_string();
    assert_eq!(
        message,
        "`byWord` reads at most 500 items, and there is more to read"
    );
}

#[tokio::test]
async fn an_action_finds_its_item_wherever_it_is() {
    let partita = talk(501, "").await;
    let rewrite = |word: String| Operation::Act {
        action: "rewrite".to_owned(),
        entity: None,
        identity: Vec::new(),
        given: Map::from([
            ("itemId", Value::from("i")),
            ("word", Value::from(word.as_str())),
            ("text", Value::from("new")),
        ]),
        version: None,
    };
    let ann = Caller::user("ann");
    partita.run(&ann, rewrite(word(499))).await.unwrap();
    let found = ask(&partita, "byWord", Some(&word(499)), None, None).await;
    let Ok(Answer::Record(comment)) = found else {
        panic!("{found:?}")
    };
    assert_eq!(comment.attributes["text"], Value::from("new"));
    let beyond = partita.run(&ann, rewrite(word(500))).await;
    assert_eq!(beyond, Err(too_large(ReadBound::Items(500), "byWord")));
}

#[tokio::test]
async fn all_pages_of_a_sorted_list_are_in_order() {
    let partita = talk(500, "").await;
    let mut expected: Vec<String> = (0..500).map(word).collect();
    expected.sort();
    expected.reverse();
    for limit in [1, 7, 100] {
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let page = ask(&partita, "sorted", None, Some(limit), cursor)
                .await
                .unwrap();
            seen.extend(words(&page));
            let Answer::Page { cursor: next, .. } = page else {
                panic!("a page")
            };
            cursor = next;
            if cursor.is_none() || (limit == 1 && seen.len() == 20) {
                break;
            }
        }
        assert_eq!(seen, expected[..seen.len()], "limit {limit}");
        assert!(limit == 1 || seen.len() == 500);
    }
    let partita = talk(501, "").await;
    let refused = ask(&partita, "sorted", None, Some(1), None).await;
    assert_eq!(refused, Err(too_large(ReadBound::Items(500), "sorted")));
}

#[tokio::test]
async fn bytes_are_bounded_too() {
    let bound = ReadBound::Bytes(32 << 20);
    let partita = talk(120, &"x".repeat(300_000)).await;
    let refused = ask(&partita, "sorted", None, Some(1), None).await;
    assert_eq!(refused, Err(too_large(bound, "sorted")));
    let refused = ask(&partita, "byWord", Some("none"), None, None).await;
    assert_eq!(refused, Err(too_large(bound, "byWord")));
    assert_eq!(
        like(&partita, "none").await,
        Err(too_large(bound, "byWord"))
    );
    let found = ask(&partita, "byWord", Some(&word(50)), None, None).await;
    assert_eq!(words(&found.unwrap()), [word(50)]);
    like(&partita, &word(50)).await.unwrap();
}

/// The id of a comment carries the time that its key begins with, so that it is read by its key.
#[tokio::test]
async fn a_comment_among_thousands_is_found_by_its_id() {
    let source = partita_design::shipped::find("holdthatthought")
        .unwrap()
        .source;
    let design = partita_design::check(source, &|_| None).0.unwrap();
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open(design, store.clone()).await.unwrap();
    let ann = Caller::user("ann");
    let given = [
        ("userId", "ann"),
        ("email", "a@example.org"),
        ("displayName", "Ann"),
    ];
    create(&partita, "UserProfile", &given).await.unwrap();
    let given = [("itemId", "i"), ("commentText", "Lovely")];
    let mut ids = Vec::new();
    for at in 0..3 {
        let filler: Vec<BatchWrite> = (0..1000).map(|number| note(at * 1000 + number)).collect();
        for writes in filler.chunks(25) {
            let writes = writes.to_vec();
            store
                .batch_write_item(BatchWriteItem { writes })
                .await
                .unwrap();
        }
        let Answer::Created(comment) = create(&partita, "Comment", &given).await.unwrap() else {
            panic!("a comment")
        };
        ids.push(comment.attributes["commentId"].as_str().unwrap().to_owned());
    }
    for id in &ids {
        let given = [
            ("itemId", "i"),
            ("commentId", id),
            ("userId", "ann"),
            ("reactionType", "heart"),
        ];
        create(&partita, "Reaction", &given).await.unwrap();
        let parameters = [("itemId", "i"), ("commentId", id)];
        let parameters = parameters.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let operation = Operation::Query {
            pattern: "commentById".to_owned(),
            parameters: parameters.into(),
            limit: None,
            cursor: None,
        };
        let Ok(Answer::Record(comment)) = partita.run(&ann, operation).await else {
            panic!("a comment")
        };
        assert_eq!(comment.attributes["reactionCount"], Value::from(1));
    }
}

async fn create(
    partita: &Partita,
    entity: &str,
    given: &[(&str, &str)],
) -> Result<Answer, PlanError> {
    let attributes = given.iter().map(|(name, text)| (*name, Value::from(*text)));
    let operation = Operation::Create {
        entity: entity.to_owned(),
        attributes: attributes
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    };
    partita.run(&Caller::user("ann"), operation).await
}

/// A comment that another program has written.
fn note(number: usize) -> BatchWrite {
    let time = format!("2025-01-01T00:{:02}:{:02}.000Z", number / 60, number % 60);
    let id = format!("01JGFJJZ00{number:016}");
    let item = [
        ("PK", "COMMENT#i".to_owned()),
        ("SK", format!("{time}#{id}")),
        ("itemId", "i".to_owned()),
        ("commentId", id),
        ("userId", "bob".to_owned()),
        ("userName", "Bob".to_owned()),
        ("commentText", "x".repeat(200)),
        ("createdAt", time),
    ];
    let item = item.map(|(name, value)| (name.to_owned(), Value::from(value.as_str())));
    BatchWrite::Put {
        table: "HoldThatThought".parse().unwrap(),
        item: item.into_iter().collect(),
    }
}
