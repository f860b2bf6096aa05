//! Items that move: what goes along, what keeps them where they are, and what a move never undoes.

use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::request::Scan;
use partita_store::surroundings::ManualClock;
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use serde_json::{Value as Json, json};

const DESIGN: &str = r#"
design = "shelves"

[table]
name = "shelves"
key  = ["PK", "SK"]

[index]
GSI1 = ["GSI1PK", "GSI1SK"]

[entity.Book]
PK     = "BOOK#{shelf}#{place}"
SK     = "METADATA"
GSI1PK = "READERS#{owner}"
GSI1SK = "{shelf}"

[entity.Book.attributes]
shelf    = "string, movable"
place    = "string, key-only, movable"
isbn     = "string"
owner    = "string"
readers  = "list of string ..9 default []"
seen     = "counter"
loans    = "count of Loan"
changes  = "count of BookBefore"

[entity.Book.unique]
isbn = "UNIQUE#ISBN#{isbn}"

[entity.Book.allow]
"*" = "signed-in"
see = "signed-in"

[action.see]
entity = "Book"
add    = { seen = 1 }

[view.Reader]
of   = "Book"
each = "reader in readers"
PK   = "READER#{reader}"
SK   = "BOOK#{shelf}#{place}"
keep = ["isbn"]

[view.Reader.attributes]
page = "counter"

[view.Reader.allow]
read = "signed-in"
turn = "signed-in"

[action.turn]
entity = "Reader"
add    = { page = 1 }

[view.BookBefore]
history-of = "Book"
when       = "changed(owner)"
PK         = "BOOK#{shelf}#{place}"
SK         = "BEFORE#{time}"
GSI1PK     = "BEFORE#{shelf}"
GSI1SK     = "{time}"
keep       = ["owner"]

[view.BookBefore.attributes]
time = "timestamp = now, rising"

[entity.Loan]
PK = "LOAN#{loanId}"
SK = "METADATA"

[entity.Loan.attributes]
loanId = "string"
shelf  = "string"
place  = "string"

[entity.Loan.refs]
book = "Book"

[entity.Loan.allow]
"*" = "signed-in"

[pattern.booksOf]
query = "GSI1PK = 'READERS#{owner}'"

[pattern.before]
query = "GSI1PK = 'BEFORE#{shelf}'"
"#;

struct Shelves {
    partita: Partita,
    store: Arc<dyn Store>,
}

impl Shelves {
    async fn open(store: Arc<dyn Store>) -> Shelves {
        Shelves::through(store.clone(), store).await
    }

    /// Writes through one store, looks into the other.
    async fn through(writes: Arc<dyn Store>, store: Arc<dyn Store>) -> Shelves {
        let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
        let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        let surroundings = Surroundings {
            clock: Arc::new(ManualClock::at(1_767_261_600_000)),
            patience: Patience {
                attempts: 60,
                pause_millis: 0,
            },
            ..Surroundings::default()
        };
        let partita = Partita::open_with(design, writes, surroundings)
            .await
            .unwrap();
        Shelves { partita, store }
    }

    async fn run(&self, operation: Operation) -> Result<Answer, PlanError> {
        self.partita.run(&Caller::user("ann"), operation).await
    }

    async fn create(&self, entity: &str, attributes: Json) {
        let operation = Operation::Create {
            entity: entity.to_owned(),
            attributes: map(attributes),
        };
        self.run(operation).await.unwrap();
    }

    async fn change(&self, book: &str, changes: Json) -> Result<Answer, PlanError> {
        let operation = Operation::Update {
            entity: "Book".to_owned(),
            identity: book.split('/').map(str::to_owned).collect(),
            changes: map(changes),
            with_deleted: false,
            version: None,
        };
        self.run(operation).await
    }

    async fn act(&self, action: &str, entity: &str, path: &str) -> Result<Answer, PlanError> {
        let operation = Operation::Act {
            action: action.to_owned(),
            entity: Some(entity.to_owned()),
            identity: path.split('/').map(str::to_owned).collect(),
            given: Map::new(),
            version: None,
        };
        self.run(operation).await
    }

    async fn items(&self) -> Vec<Item> {
        let table = "shelves".parse().unwrap();
        let page = self.store.scan(Scan::new(table)).await.unwrap();
        page.answer.into_parts().unwrap().items
    }

    /// The table, one item a line.
    async fn lines(&self) -> Vec<String> {
        let items = self.items().await;
        let lines = items.iter().map(|item| {
            let mut item = partita_core::plain::map_to_json(item);
            let key = [item.remove("PK"), item.remove("SK")].map(|key| key.unwrap());
            let [pk, sk] = key.map(|key| key.as_str().unwrap().to_owned());
            format!("{pk} | {sk} | {}", Json::Object(item))
        });
        let mut lines: Vec<String> = lines.collect();
        lines.sort();
        lines
    }
}

fn map(json: Json) -> Map {
    partita_core::plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

fn book() -> Json {
    json!({"shelf": "a", "place": "1", "isbn": "x", "owner": "ann", "readers": ["bob", "eve"]})
}

#[tokio::test]
async fn views_with_what_is_theirs_history_keys_and_guards_go_along() {
    let shelves = Shelves::open(Arc::new(ModelStore::default())).await;
    shelves.create("Book", book()).await;
    shelves.act("turn", "Reader", "bob/a/1").await.unwrap();
    shelves.act("see", "Book", "a/1").await.unwrap();
    let changed = shelves.change("a/1", json!({"owner": "max"})).await;
    changed.unwrap();
    let moved = shelves.change("a/1", json!({"shelf": "b", "place": "2"}));
    moved.await.unwrap();
    let expected = [
        r#"BOOK#b#2 | BEFORE#2026-01-01T10:00:00.000Z | {"GSI1PK":"BEFORE#b","GSI1SK":"2026-01-01T10:00:00.000Z","owner":"ann","time":"2026-01-01T10:00:00.000Z"}"#,
        r#"BOOK#b#2 | METADATA | {"GSI1PK":"READERS#max","GSI1SK":"b","changes":1,"isbn":"x","loans":0,"owner":"max","readers":["bob","eve"],"seen":1,"shelf":"b"}"#,
        r#"READER#bob | BOOK#b#2 | {"isbn":"x","page":1}"#,
        r#"READER#eve | BOOK#b#2 | {"isbn":"x","page":0}"#,
        r#"UNIQUE#ISBN#x | UNIQUE | {"place":"2","shelf":"b"}"#,
    ];
    assert_eq!(shelves.lines().await, expected);
    let delete = Operation::Delete {
        entity: "Book".to_owned(),
        identity: vec!["b".to_owned(), "2".to_owned()],
        version: None,
    };
    shelves.run(delete).await.unwrap();
    assert!(shelves.lines().await.is_empty(), "nothing is left behind");
}

#[tokio::test]
async fn what_others_refer_to_and_count_stays_where_it_is() {
    let shelves = Shelves::open(Arc::new(ModelStore::default())).await;
    shelves.create("Book", book()).await;
    let loan = json!({"loanId": "l", "shelf": "a", "place": "1"});
    shelves.create("Loan", loan).await;
    let before = shelves.lines().await;
    let moved = shelves.change("a/1", json!({"place": "2"})).await;
    let Err(PlanError::Invalid { faults }) = moved else {
        panic!("{moved:?}")
    };
    assert_eq!(faults[0].attribute, "place");
    assert!(
        faults[0].message.contains("`Loan`"),
        "{}",
        faults[0].message
    );
    assert_eq!(shelves.lines().await, before);
}

#[tokio::test]
async fn a_place_that_is_taken_is_refused_and_bad_parts_are_named() {
    let shelves = Shelves::open(Arc::new(ModelStore::default())).await;
    shelves.create("Book", book()).await;
    let other = json!({"shelf": "a", "place": "2", "isbn": "y", "owner": "ann"});
    shelves.create("Book", other).await;
    let before = shelves.lines().await;
    let moved = shelves.change("a/1", json!({"place": "2"})).await;
    assert!(matches!(moved, Err(PlanError::Exists { .. })), "{moved:?}");
    let moved = shelves.change("a/1", json!({"place": "b#2"})).await;
    assert!(matches!(moved, Err(PlanError::Invalid { .. })), "{moved:?}");
    assert_eq!(shelves.lines().await, before);
}

/// Counting goes on while a book is carried about: no count is lost, and none is made twice.
#[tokio::test]
async fn a_move_loses_nothing_that_others_write_meanwhile() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let faults = Faults {
        conflict: 0.1,
        ..Faults::default()
    };
    let faulty = Arc::new(FaultyStore::new(store.clone(), faults, 7));
    let shelves = Arc::new(Shelves::through(faulty, store).await);
    shelves.create("Book", book()).await;
    let mover = {
        let shelves = shelves.clone();
        tokio::spawn(async move {
            for (from, to) in [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")] {
                let path = format!("a/{from}");
                shelves.change(&path, json!({"place": to})).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    let mut counted: i64 = 0;
    for _ in 0..40 {
        for place in ["1", "2", "3", "4", "5"] {
            let seen = shelves.act("see", "Book", &format!("a/{place}")).await;
            counted += i64::from(seen.is_ok());
            tokio::task::yield_now().await;
        }
    }
    mover.await.unwrap();
    let items = shelves.items().await;
    let mut books = items.iter().filter(|item| item.contains_key("owner"));
    let book = books.next().unwrap();
    assert_eq!(books.next(), None, "there is one book");
    assert_eq!(book["PK"], Value::from("BOOK#a#5"));
    assert_eq!(book["seen"], Value::from(counted));
}

/// Where the states of a book are, and how many.
async fn states(shelves: &Shelves) -> std::collections::BTreeMap<String, usize> {
    let mut found = std::collections::BTreeMap::new();
    for line in shelves.lines().await {
        if let Some((place, _)) = line.split_once(" | BEFORE#") {
            *found.entry(place.to_owned()).or_default() += 1;
        }
    }
    found
}

#[tokio::test]
async fn a_long_past_follows_in_a_job_and_nothing_comes_between() {
    let shelves = Shelves::open(Arc::new(ModelStore::default())).await;
    shelves.create("Book", book()).await;
    for number in 0..150 {
        let owner = json!({"owner": format!("owner{number}")});
        shelves.change("a/1", owner).await.unwrap();
    }
    let delete = || Operation::Delete {
        entity: "Book".to_owned(),
        identity: vec!["b".to_owned(), "1".to_owned()],
        version: None,
    };
    let create = || Operation::Create {
        entity: "Book".to_owned(),
        attributes: map(json!({"shelf": "a", "place": "1", "isbn": "y", "owner": "eve"})),
    };
    let on_its_way = |answer: Result<Answer, PlanError>| {
        assert!(
            matches!(&answer, Err(PlanError::StillRemoved { entity }) if entity == "Book"),
            "{answer:?}"
        );
    };
    shelves.change("a/1", json!({"shelf": "b"})).await.unwrap();
    assert_eq!(
        states(&shelves).await,
        [("BOOK#a#1".to_owned(), 150)].into()
    );
    on_its_way(shelves.run(create()).await);
    on_its_way(shelves.run(delete()).await);
    on_its_way(shelves.change("b/1", json!({"place": "2"})).await);
    assert_eq!(shelves.partita.run_jobs().await, Ok(1));
    assert_eq!(
        states(&shelves).await,
        [("BOOK#b#1".to_owned(), 150)].into()
    );
    let lines = shelves.lines().await;
    let is_right = |line: &&String| line.contains(r#""GSI1PK":"BEFORE#b""#);
    assert_eq!(lines.iter().filter(is_right).count(), 150);
    assert!(lines.iter().any(|line| line.contains(r#""changes":150"#)));

    shelves.run(create()).await.unwrap();
    shelves.run(delete()).await.unwrap();
    assert_eq!(
        states(&shelves).await,
        [("BOOK#b#1".to_owned(), 150)].into()
    );
    on_its_way(shelves.change("a/1", json!({"shelf": "b"})).await);
    assert_eq!(shelves.partita.run_jobs().await, Ok(1));
    assert_eq!(states(&shelves).await, [].into());
    shelves.change("a/1", json!({"shelf": "b"})).await.unwrap();
    assert_eq!(shelves.lines().await.len(), 2, "the new book and its guard");
}
