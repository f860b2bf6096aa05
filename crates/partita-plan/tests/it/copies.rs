//! Copies follow what they are of, and what is made of copies follows them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::{Item, Map, Value};
use partita_plan::{Caller, Operation, Partita};
use partita_store::capacity::Metered;
use partita_store::request::{DeleteItem, Page, PutItem, Query, ReturnValues, TransactWriteItems};
use partita_store::{Layer, ModelStore, Store, StoreResult};
use partita_verify::Collected;

use crate::stage::{items, open, texts};

const DESIGN: &str = r#"
design = "blog"

[table]
name          = "blog"
key           = ["PK", "SK"]
discriminator = "Kind"

[entity.Author]
PK = "AUTHOR#{author}"
SK = "AUTHOR"

[entity.Author.attributes]
author = "string"
mail   = "string?"

[entity.Author.allow]
"*" = "signed-in"

[entity.Post]
PK = "AUTHOR#{author}"
SK = "POST#{id}"

[entity.Post.attributes]
author = "string"
id     = "string"
mail   = "copy by.mail"

[entity.Post.refs]
by = "Author, on delete keep, unchecked"

[entity.Post.allow]
"*" = "signed-in"
"#;

async fn run(partita: &Partita, operation: Operation) {
    let done = partita.run(&Caller::user("ann"), operation).await;
    done.unwrap();
    partita.run_jobs().await.unwrap();
}

fn create(entity: &str, given: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    }
}

/// The mails of all posts, each once.
async fn mails(store: &dyn Store) -> Vec<Option<Value>> {
    let items = items(store, "blog").await;
    let posts = items
        .iter()
        .filter(|item| item["Kind"] == Value::from("Post"));
    let mut mails: Vec<_> = posts.map(|post| post.get("mail").cloned()).collect();
    mails.dedup();
    mails
}

#[tokio::test]
async fn follow_an_item_that_is_created_after_them_or_again() {
    // A transaction holds the first number of posts, and a job does the other.
    for posts in [3, 150] {
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let partita = open(DESIGN, store.clone(), 1).await;
        for post in 0..posts {
            let id = format!("p{post:03}");
            run(&partita, create("Post", &[("author", "ann"), ("id", &id)])).await;
        }
        assert_eq!(mails(&*store).await, [None]);
        for mail in ["ann@one.example", "ann@two.example"] {
            let author = [("author", "ann"), ("mail", mail)];
            run(&partita, create("Author", &author)).await;
            assert_eq!(mails(&*store).await, [Some(Value::from(mail))]);
            let delete = Operation::Delete {
                entity: "Author".into(),
                identity: vec!["ann".into()],
                version: None,
            };
            run(&partita, delete).await;
        }
        run(&partita, create("Author", &[("author", "ann")])).await;
        assert_eq!(mails(&*store).await, [None]);
        let mut found = Collected::default();
        let report = partita.verify(&mut found).await.unwrap();
        assert!(report.is_clean(), "{posts}: {:?}", found.open);
    }
}

/// A copy through a ref that may lead nowhere may be missing.
#[tokio::test]
async fn are_missing_where_their_ref_leads_nowhere() {
    let design = DESIGN
        .replace(
            "author = \"string\"\nid     = ",
            "author = \"string?\"\nid     = ",
        )
        .replace("mail   = \"string?\"", "mail   = \"string\"")
        .replace(
            "PK = \"AUTHOR#{author}\"\nSK = \"POST#{id}\"",
            "PK  = \"POST#{id}\"\nSK  = \"POST\"\nGPK = \"AUTHOR#{author}\"\nGSK = \"POST#{id}\"",
        )
        .replace(
            "[entity.Author]",
            "[index]\nposts = [\"GPK\", \"GSK\"]\n\n[entity.Author]",
        )
        .replace("on delete keep, unchecked", "on delete clear author");
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&design, store.clone(), 1).await;
    let author = [("author", "ann"), ("mail", "ann@one.example")];
    run(&partita, create("Author", &author)).await;
    run(&partita, create("Post", &[("id", "p1")])).await;
    assert_eq!(mails(&*store).await, [None]);
    run(&partita, create("Post", &[("id", "p2"), ("author", "ann")])).await;
    let delete = Operation::Delete {
        entity: "Author".into(),
        identity: vec!["ann".into()],
        version: None,
    };
    run(&partita, delete).await;
    assert_eq!(mails(&*store).await, [None]);
}

/// Removes an item before the next transaction, as another writer may.
struct Remover {
    inner: ModelStore,
    removed: Mutex<Option<Item>>,
}

#[async_trait]
impl Layer for Remover {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let key = self.removed.lock().unwrap().take();
        if let Some(key) = key {
            let delete = DeleteItem {
                table: "blog".parse().unwrap(),
                key,
                condition: None,
                return_item_on_failure: false,
            };
            self.inner.delete_item(delete, ReturnValues::None).await?;
        }
        self.inner.transact_write_items(request).await
    }
}

/// A copy that is right already is written again, but not where its item has gone.
#[tokio::test]
async fn are_not_written_to_an_item_that_is_gone() {
    let store = Arc::new(Remover {
        inner: ModelStore::default(),
        removed: Mutex::default(),
    });
    let partita = open(DESIGN, store.clone(), 1).await;
    let author = [("author", "ann"), ("mail", "ann@one.example")];
    run(&partita, create("Author", &author)).await;
    run(&partita, create("Post", &[("author", "ann"), ("id", "p1")])).await;
    // Another writer has come to the same mail, and to the post first.
    let items_before = items(&*store, "blog").await;
    let is_post = |item: &&Item| item["Kind"] == Value::from("Post");
    let mut post = items_before.iter().find(is_post).unwrap().clone();
    post.insert("mail", Value::from("ann@two.example"));
    let key = Item::from(["PK", "SK"].map(|name| (name, post[name].clone())));
    let put = PutItem::new("blog".parse().unwrap(), post);
    Store::put_item(&*store, put, ReturnValues::None)
        .await
        .unwrap();
    *store.removed.lock().unwrap() = Some(key);
    let update = Operation::Update {
        entity: "Author".into(),
        identity: vec!["ann".into()],
        changes: texts(&[("mail", "ann@two.example")]),
        with_deleted: false,
        version: None,
    };
    run(&partita, update).await;
    let left = items(&*store, "blog").await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0]["Kind"], Value::from("Author"));
}

/// Values, keys of an index and of a view, and copies that are made of copies; and a copy of a count.
const CHAIN: &str = r#"
design = "chain"

[table]
name          = "chain"
key           = ["PK", "SK"]
discriminator = "Kind"

[index]
byGroup = ["gPK", "gSK"]
byName  = ["nPK", "nSK"]
bySize  = ["sPK", "sSK"]

[entity.Group]
PK  = "GROUP#{group}"
SK  = "GROUP"
sPK = "GROUP#{outer}"
sSK = "{group}"

[entity.Group.attributes]
group = "string"
outer = "string?"
name  = "string"
heavy = "count of Person where weight > 5"
above = "copy in.name"

[entity.Group.refs]
in = "Group(group = outer), on delete cascade"

[entity.Group.allow]
"*" = "public"

[entity.Person]
PK  = "PERSON#{person}"
SK  = "PERSON"
gPK = "GROUP#{group}"
gSK = "{person}"
nPK = "NAME#{small}"
nSK = "{person}"

[entity.Person.attributes]
person = "string"
group  = "string?"
weight = "int default 0"
name   = "copy of.name"
small  = "string = lower(name) | 'none'"
heavy  = "copy of.heavy"
double = "int = heavy + heavy | 0"

[entity.Person.refs]
of = "Group, on delete clear group"

[entity.Person.allow]
"*" = "public"

[entity.Note]
PK = "PERSON#{person}"
SK = "NOTE#{note}"

[entity.Note.attributes]
person = "string"
note   = "string"
group  = "copy by.name"

[entity.Note.refs]
by = "Person, on delete cascade"

[entity.Note.allow]
"*" = "public"

[view.Named]
of   = "Person"
PK   = "NAMED#{small}"
SK   = "{person}"
keep = ["double"]
"#;

async fn chain(persons: usize) -> (Arc<dyn Store>, Partita) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(CHAIN, store.clone(), 1).await;
    run(
        &partita,
        create("Group", &[("group", "g"), ("name", "One")]),
    )
    .await;
    for person in 0..persons {
        let id = format!("p{person:03}");
        run(
            &partita,
            create("Person", &[("person", &id), ("group", "g")]),
        )
        .await;
    }
    run(
        &partita,
        create("Note", &[("person", "p000"), ("note", "n")]),
    )
    .await;
    (store, partita)
}

fn update(entity: &str, identity: &str, changes: impl Into<Map>) -> Operation {
    Operation::Update {
        entity: entity.into(),
        identity: vec![identity.into()],
        changes: changes.into(),
        with_deleted: false,
        version: None,
    }
}

/// An attribute of the first item of a kind, with that everything derived is as it should be.
async fn exact(store: &dyn Store, partita: &Partita, kind: &str, name: &str) -> Option<Value> {
    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    assert!(report.is_clean(), "{:?}", found.open);
    let items = items(store, "chain").await;
    let mut items = items.iter();
    let item = items.find(|item| item["Kind"] == Value::from(kind));
    item.unwrap().get(name).cloned()
}

#[tokio::test]
async fn carry_along_what_is_computed_from_them() {
    // A transaction holds the first number of persons, and a job does the other.
    for persons in [1, 150] {
        let (store, partita) = chain(persons).await;
        run(&partita, update("Group", "g", texts(&[("name", "Two")]))).await;
        let small = exact(&*store, &partita, "Person", "small").await;
        assert_eq!(small, Some(Value::from("two")));
        let group = exact(&*store, &partita, "Note", "group").await;
        assert_eq!(group, Some(Value::from("Two")));
    }
}

#[tokio::test]
async fn follow_a_count() {
    let (store, partita) = chain(2).await;
    let weight = Map::from([("weight", Value::from(9_i64))]);
    run(&partita, update("Person", "p000", weight)).await;
    let double = exact(&*store, &partita, "Person", "double").await;
    assert_eq!(double, Some(Value::from(2_i64)));
}

/// The ref of the note leads somewhere for certain, and the copy there may still be missing.
#[tokio::test]
async fn are_missing_where_what_they_copy_is() {
    let (store, partita) = chain(1).await;
    run(&partita, create("Person", &[("person", "alone")])).await;
    run(
        &partita,
        create("Note", &[("person", "alone"), ("note", "n")]),
    )
    .await;
    let delete = Operation::Delete {
        entity: "Group".into(),
        identity: vec!["g".into()],
        version: None,
    };
    run(&partita, delete).await;
    assert_eq!(exact(&*store, &partita, "Note", "group").await, None);
}

#[tokio::test]
async fn are_there_in_an_item_that_refers_to_itself() {
    let (store, partita) = chain(1).await;
    let group = [("group", "a"), ("outer", "a"), ("name", "Self")];
    run(&partita, create("Group", &group)).await;
    let above = exact(&*store, &partita, "Group", "above").await;
    assert_eq!(above, Some(Value::from("Self")));
}

/// Counts the pages of posts that are read.
struct Counting {
    inner: ModelStore,
    pages: AtomicUsize,
}

#[async_trait]
impl Layer for Counting {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        if request.table.as_str() == "blog" {
            self.pages.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.query(request).await
    }
}

/// An author who changes again and again leaves a job for each time, and one of them does the work of
/// all.
#[tokio::test]
async fn follow_a_restless_item_once() {
    const POSTS: usize = 150;
    const CHANGES: usize = 20;
    let counting = Arc::new(Counting {
        inner: ModelStore::default(),
        pages: AtomicUsize::new(0),
    });
    let store: Arc<dyn Store> = counting.clone();
    let partita = open(DESIGN, store.clone(), 1).await;
    run(&partita, create("Author", &[("author", "ann")])).await;
    for post in 0..POSTS {
        let id = format!("p{post:03}");
        run(&partita, create("Post", &[("author", "ann"), ("id", &id)])).await;
    }
    let mut pages = Vec::new();
    for changes in [1, CHANGES] {
        for change in 0..changes {
            let mail = format!("{changes}-{change}@one.example");
            let update = Operation::Update {
                entity: "Author".into(),
                identity: vec!["ann".into()],
                changes: texts(&[("mail", &mail)]),
                with_deleted: false,
                version: None,
            };
            let done = partita.run(&Caller::user("ann"), update).await;
            done.unwrap();
        }
        assert_eq!(partita.jobs().await.unwrap().len(), changes + pages.len());
        let before = counting.pages.load(Ordering::SeqCst);
        assert_eq!(partita.run_jobs().await, Ok(changes));
        pages.push(counting.pages.load(Ordering::SeqCst) - before);
        let last = format!("{changes}-{}@one.example", changes - 1);
        assert_eq!(mails(&*store).await, [Some(Value::from(last))]);
    }
    assert!(pages[0] > 0);
    assert_eq!(pages[0], pages[1]);
    let report = partita.verify(&mut Collected::default()).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
}
