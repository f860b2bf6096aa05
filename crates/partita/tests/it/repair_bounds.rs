//! What a repair does not write, and that it goes on: no more is removed than was shown, a count is
//! held back while something may count for it, a value that the store refuses is left, and so is one
//! that rests on more than a transaction can require. What it writes is whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Caller, Operation, Partita};
use partita_store::request::{DeleteItem, PutItem, ReturnValues, Scan};
use partita_store::{ModelStore, Store};
use partita_verify::{Collected, Intent, Outcome, Permission, Report};

use crate::stage;

const CLUB: &str = r##"
design = "club"

[table]
name = "club"
key  = ["PK", "SK"]

[entity.User]
PK = "USER#{userId}"
SK = "USER"
[entity.User.attributes]
userId = "string"
name   = "string"
posts  = "count of Post"
[entity.User.allow]
"*" = "public"

[entity.Room]
PK = "ROOM#{roomId}"
SK = "ROOM"
[entity.Room.attributes]
roomId    = "string"
memberIds = "list of string ..200"
label     = "string = lower(roomId)"
[entity.Room.refs]
members = "User(userId in memberIds)"
[entity.Room.allow]
"*" = "public"

[entity.Post]
PK = "POST#{postId}"
SK = "POST"
[entity.Post.attributes]
postId = "string"
userId = "string"
title  = "string"
[entity.Post.refs]
by = "User(userId)"
[entity.Post.allow]
"*" = "public"

[view.PostRow]
of   = "Post"
PK   = "USER#{userId}"
SK   = "POST#{postId}"
keep = ["title"]
[view.PostRow.attributes]
author = "= by.name"
"##;

type Items = BTreeMap<(String, String), Item>;

/// A club in a table of its own: a user with two posts.
struct Club {
    store: Arc<dyn Store>,
    partita: Partita,
    table: String,
}

impl Club {
    async fn open(store: &Arc<dyn Store>, table: &str) -> Club {
        let design = stage::compiled("club", CLUB, table);
        let club = Club {
            store: store.clone(),
            partita: Partita::open(design, store.clone()).await.unwrap(),
            table: table.to_owned(),
        };
        club.create("User", &[("userId", "ann"), ("name", "Ann")])
            .await;
        for post in ["1", "2"] {
            club.create(
                "Post",
                &[("postId", post), ("userId", "ann"), ("title", "Dune")],
            )
            .await;
        }
        club
    }

    async fn create(&self, entity: &str, given: &[(&str, &str)]) {
        let given = given.iter();
        let attributes: Map = given
            .map(|(name, text)| (*name, Value::from(*text)))
            .collect();
        let entity = entity.to_owned();
        let operation = Operation::Create { entity, attributes };
        let caller = Caller::anonymous();
        self.partita.run(&caller, operation).await.unwrap();
    }

    async fn put(&self, item: Item) {
        put(&*self.store, &self.table, item).await;
    }

    async fn items(&self) -> Items {
        let mut request = Scan::new(self.table.parse().unwrap());
        let mut items = Items::new();
        loop {
            let page = self.store.scan(request.clone()).await.unwrap();
            let page = page.answer.into_parts().unwrap();
            let text = |item: &Item, name: &str| item[name].as_str().unwrap().to_owned();
            let key = |item: &Item| (text(item, "PK"), text(item, "SK"));
            items.extend(page.items.into_iter().map(|item| (key(&item), item)));
            match page.last_key {
                None => return items,
                last_key => request.start_after = last_key,
            }
        }
    }

    async fn repair(&self, permission: Permission<'_>) -> (Report, Collected) {
        let mut found = Collected::default();
        let report = self.partita.repair(permission, &mut found).await;
        (report.unwrap(), found)
    }

    /// Puts a room past the design, with a wrong label and so many members.
    async fn room(&self, id: &str, members: usize) -> Item {
        let members = (0..members).map(|number| Value::from(format!("u{number}")));
        let room = Item::from([
            ("PK", Value::from(format!("ROOM#{id}"))),
            ("SK", Value::from("ROOM")),
            ("roomId", Value::from(id)),
            ("memberIds", Value::L(members.collect())),
            ("label", Value::from("wrong")),
        ]);
        self.put(room.clone()).await;
        room
    }
}

async fn put(store: &dyn Store, table: &str, item: Item) {
    let put = PutItem::new(table.parse().unwrap(), item);
    store.put_item(put, ReturnValues::None).await.unwrap();
}

/// A record of a post that is not there.
fn leftover(number: usize) -> Item {
    Item::from([
        ("PK", Value::from("USER#zoe")),
        ("SK", Value::from(format!("POST#{number}"))),
        ("title", Value::from("Dune")),
    ])
}

/// Leftovers that appear when others have been shown are not removed with them.
async fn removes_no_more_than_was_shown(store: &Arc<dyn Store>) {
    let club = Club::open(store, "club-shown").await;
    for number in 0..2 {
        club.put(leftover(number)).await;
    }
    let mut shown: Vec<Intent> = Vec::new();
    let permission = Permission::asked(|intent| {
        shown.push(intent.clone());
        let is_first = shown.len() == 1;
        if is_first {
            let (store, table) = (store.clone(), club.table.clone());
            let planting = std::thread::spawn(move || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(async {
                    for number in 2..5 {
                        put(&*store, &table, leftover(number)).await;
                    }
                });
            });
            planting.join().unwrap();
        }
        is_first
    });
    let (report, _) = club.repair(permission).await;
    assert_eq!((report.mended, report.drifts), (2, 3), "{report:?}");
    let removed: Vec<_> = shown.iter().map(|one| one.removed["PostRow"]).collect();
    assert_eq!(removed, [2, 3]);
    let items = club.items().await;
    let left = items.keys().filter(|key| key.0 == "USER#zoe");
    assert_eq!(left.count(), 3);
}

/// An item that a right value makes too large stays as it is, and the others are mended.
async fn goes_on_after_a_refusal(store: &Arc<dyn Store>) {
    let club = Club::open(store, "club-refusal").await;
    for id in ["A", "Z"] {
        club.room(id, 0).await;
    }
    // Without its label it is a few bytes smaller than an item may be.
    let id = "M".repeat(500);
    let mut large = club.room(&id, 0).await;
    large.remove("label");
    let free = 409_600 - partita_core::size::item_bytes(&large);
    large.insert("shoe", Value::from("x".repeat(free - 200)));
    club.put(large.clone()).await;
    let (report, found) = club.repair(Permission::granted()).await;
    assert_eq!((report.mended, report.drifts), (2, 1), "{report:?}");
    let [(drift, Outcome::Left { removable: false })] = &found.open[..] else {
        panic!("{:?}", found.open);
    };
    assert_eq!(drift.key["PK"], large["PK"]);
    let items = club.items().await;
    let label = |id: &str| &items[&(format!("ROOM#{id}"), "ROOM".to_owned())]["label"];
    assert_eq!(
        [label("A"), label("Z")],
        [&Value::from("a"), &Value::from("z")]
    );
    assert_eq!(items[&(format!("ROOM#{id}"), "ROOM".to_owned())], large);
}

/// A record is written again as a write of its item would have written it.
async fn writes_whole_records(store: &Arc<dyn Store>) {
    let club = Club::open(store, "club-whole").await;
    let before = club.items().await;
    let row = &before[&("USER#ann".to_owned(), "POST#1".to_owned())];
    assert_eq!(row["author"], Value::from("Ann"));
    let delete = DeleteItem {
        table: club.table.parse().unwrap(),
        key: row.part(|name| name == "PK" || name == "SK"),
        condition: None,
        return_item_on_failure: false,
    };
    let deleted = club.store.delete_item(delete, ReturnValues::None).await;
    deleted.unwrap();
    let (report, _) = club.repair(Permission::granted()).await;
    assert_eq!((report.mended, report.is_clean()), (1, true), "{report:?}");
    assert_eq!(club.items().await, before);
}

/// What rests on more items than a transaction can require is left, and is not written without
/// requiring all of them.
async fn rests_on_all_that_it_read(store: &Arc<dyn Store>) {
    let club = Club::open(store, "club-rests").await;
    club.room("FEW", 90).await;
    let many = club.room("MANY", 120).await;
    let (report, found) = club.repair(Permission::granted()).await;
    assert_eq!((report.mended, report.drifts), (1, 1), "{report:?}");
    assert_eq!(found.mended[0].key["PK"], Value::from("ROOM#FEW"));
    assert_eq!(found.open[0].1, Outcome::Left { removable: false });
    let items = club.items().await;
    assert_eq!(items[&("ROOM#MANY".to_owned(), "ROOM".to_owned())], many);
}

/// A count is left while there is an item that the design does not recognise, which may be one that
/// counts; and is mended when that is gone.
async fn holds_counts_back(store: &Arc<dyn Store>) {
    let club = Club::open(store, "club-held").await;
    let before = club.items().await;
    let ann = ("USER#ann".to_owned(), "USER".to_owned());
    let mut wrong = before[&ann].clone();
    wrong.insert("posts", Value::from(7));
    club.put(wrong).await;
    let stranger = ["PK", "SK"].map(|name| (name, Value::from("ARTICLE#3")));
    club.put(Item::from(stranger.clone())).await;
    let spoilt = club.items().await;
    let (report, found) = club.repair(Permission::granted()).await;
    let told = (report.mended, report.held, report.unrecognised);
    assert_eq!(told, (0, 1, 1), "{report:?}");
    assert!(!report.is_clean(), "{report:?}");
    let [(drift, Outcome::Held)] = &found.open[..] else {
        panic!("{:?}", found.open);
    };
    assert_eq!(drift.attribute.as_deref(), Some("posts"));
    assert_eq!(club.items().await, spoilt);
    let delete = DeleteItem {
        table: club.table.parse().unwrap(),
        key: Item::from(stranger),
        condition: None,
        return_item_on_failure: false,
    };
    let deleted = club.store.delete_item(delete, ReturnValues::None).await;
    deleted.unwrap();
    let (report, _) = club.repair(Permission::granted()).await;
    assert_eq!((report.mended, report.is_clean()), (1, true), "{report:?}");
    assert_eq!(club.items().await, before);
}

async fn all(store: Arc<dyn Store>) {
    holds_counts_back(&store).await;
    removes_no_more_than_was_shown(&store).await;
    goes_on_after_a_refusal(&store).await;
    writes_whole_records(&store).await;
    rests_on_all_that_it_read(&store).await;
}

fn in_memory() -> Arc<dyn Store> {
    Arc::new(ModelStore::default())
}

#[tokio::test]
async fn of_what_was_shown() {
    removes_no_more_than_was_shown(&in_memory()).await;
}

#[tokio::test]
async fn of_what_may_count() {
    holds_counts_back(&in_memory()).await;
}

#[tokio::test]
async fn of_what_the_store_takes() {
    goes_on_after_a_refusal(&in_memory()).await;
}

#[tokio::test]
async fn of_a_record() {
    writes_whole_records(&in_memory()).await;
}

#[tokio::test]
async fn of_a_transaction() {
    rests_on_all_that_it_read(&in_memory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    all(Arc::new(stage::engine(folder.path()))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_dynamodb_local() {
    let Some(local) = partita_testkit::dynamodb_local::DynamoDbLocal::start() else {
        return;
    };
    let timeouts = partita_remote::Timeouts::default();
    let store = partita_remote::RemoteStore::local(&local.endpoint(), timeouts);
    all(Arc::new(store)).await;
}
