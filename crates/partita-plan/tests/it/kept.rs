//! Numbers of items that are deleted while what they count stays, and that come back.

use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Caller, Operation, Partita, PlanError};
use partita_store::request::{DeleteItem, PutItem, ReturnValues};
use partita_store::table::TableName;
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::{Collected, Permission};

use crate::stage::{items, open, texts};

const DESIGN: &str = r#"
design = "tree"

[table]
name          = "tree"
key           = ["PK", "SK"]
discriminator = "Kind"

[index]
byScore = ["GSI1PK", "GSI1SK"]

[entity.Story]
PK = "STORY#{storyId}"
SK = "STORY"

[entity.Story.attributes]
storyId = "string"
total   = "sum of stats.votes of Chapter"
weight  = "sum of stats.weight of Chapter"

[entity.Story.allow]
"*" = "signed-in"

[entity.Chapter]
PK     = "CHAPTER#{chapterId}"
SK     = "CHAPTER"
GSI1PK = "SCORES"
GSI1SK = "{score:010}#{chapterId}"

[entity.Chapter.attributes]
chapterId    = "string"
storyId      = "string"
stats.votes  = "count of Vote where up = true"
stats.weight = "sum of weight of Vote"
score        = "int = stats.votes + 1"

[entity.Chapter.refs]
story = "Story"

[entity.Chapter.allow]
"*" = "signed-in"

[entity.Vote]
PK = "VOTES#{userId}"
SK = "{chapterId}"

[entity.Vote.attributes]
userId    = "string"
chapterId = "string"
up        = "bool default true"
weight    = "int default 1"

[entity.Vote.refs]
chapter = "Chapter"

[entity.Vote.allow]
"*" = "signed-in"

[pattern.scores]
query = "GSI1PK = 'SCORES'"

[pattern.votes]
query = "PK = 'VOTES#{userId}'"

[pattern.story]
get = "PK = 'STORY#{storyId}' AND SK = 'STORY'"
"#;

struct Tree {
    store: Arc<ModelStore>,
    partita: Partita,
}

impl Tree {
    async fn open() -> Tree {
        let store = Arc::new(ModelStore::default());
        let partita = open(DESIGN, store.clone(), 1).await;
        let tree = Tree { store, partita };
        tree.run(create("Story", &[("storyId", "s")]))
            .await
            .unwrap();
        tree.run(chapter()).await.unwrap();
        tree
    }

    async fn run(&self, operation: Operation) -> Result<(), PlanError> {
        let ann = Caller::user("ann");
        self.partita.run(&ann, operation).await.map(drop)
    }

    async fn all(&self, operations: Vec<Operation>) -> Result<(), PlanError> {
        let ann = Caller::user("ann");
        self.partita.run_all(&ann, operations).await.map(drop)
    }

    async fn stored(&self, partition: &str) -> Item {
        let mut items = items(&*self.store, "tree").await.into_iter();
        items.find(|item| item["PK"] == partition.into()).unwrap()
    }

    /// Votes, weight and score of the chapter, and the total and weight of the story.
    async fn numbers(&self) -> [i64; 5] {
        let (chapter, story) = (self.stored("CHAPTER#c").await, self.stored("STORY#s").await);
        let Some(Value::M(stats)) = chapter.get("stats") else {
            panic!("{chapter:?}")
        };
        let number = |map: &Map, name: &str| match map.get(name) {
            Some(Value::N(number)) => number.to_i64().unwrap(),
            _ => 0,
        };
        [
            number(stats, "votes"),
            number(stats, "weight"),
            number(&chapter, "score"),
            number(&story, "total"),
            number(&story, "weight"),
        ]
    }

    /// What the sidecar keeps of numbers.
    async fn kept(&self) -> Vec<Item> {
        let mut kept = items(&*self.store, "tree-partita").await;
        kept.retain(|item| {
            item["PK"]
                .as_str()
                .is_some_and(|key| key.starts_with("KEPT#"))
        });
        kept
    }

    /// Removes a record of the sidecar.
    async fn forget(&self, kept: &Item) {
        let forget = DeleteItem {
            table: "tree-partita".parse().unwrap(),
            key: Item::from([("PK", kept["PK"].clone()), ("SK", kept["SK"].clone())]),
            condition: None,
            return_item_on_failure: false,
        };
        let forgotten = self.store.delete_item(forget, ReturnValues::None).await;
        forgotten.unwrap();
    }

    async fn assert_clean(&self) {
        let mut found = Collected::default();
        let report = self.partita.verify(&mut found).await.unwrap();
        assert!(report.is_clean(), "{:?}", found.open);
    }
}

fn create(entity: &str, given: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    }
}

fn chapter() -> Operation {
    create("Chapter", &[("chapterId", "c"), ("storyId", "s")])
}

fn vote(user: &str, weight: i64) -> Operation {
    let mut attributes = texts(&[("userId", user), ("chapterId", "c")]);
    attributes.insert("weight", Value::from(weight));
    let entity = "Vote".into();
    Operation::Create { entity, attributes }
}

fn weight(weight: i64) -> Map {
    Map::from([("weight", Value::from(weight))])
}

fn change(user: &str, changes: Map) -> Operation {
    Operation::Update {
        entity: "Vote".into(),
        identity: vec![user.into(), "c".into()],
        changes,
        with_deleted: false,
        version: None,
    }
}

fn delete(entity: &str, identity: &[&str]) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: identity.iter().map(|part| (*part).to_owned()).collect(),
        version: None,
    }
}

#[tokio::test]
async fn come_back_with_their_item() {
    let tree = Tree::open().await;
    for (user, weight) in [("ann", 2), ("bob", 3), ("cid", 4)] {
        tree.run(vote(user, weight)).await.unwrap();
    }
    assert_eq!(tree.numbers().await, [3, 9, 4, 3, 9]);
    tree.run(delete("Chapter", &["c"])).await.unwrap();
    tree.assert_clean().await;
    // Meanwhile one goes, one is changed, and one counts no longer.
    tree.run(delete("Vote", &["ann", "c"])).await.unwrap();
    tree.run(change("bob", weight(10))).await.unwrap();
    let down = Map::from([("up", Value::Bool(false))]);
    tree.run(change("cid", down)).await.unwrap();
    tree.assert_clean().await;
    tree.run(chapter()).await.unwrap();
    assert_eq!(tree.numbers().await, [1, 14, 2, 1, 14]);
    tree.assert_clean().await;
    tree.run(delete("Vote", &["bob", "c"])).await.unwrap();
    tree.run(delete("Vote", &["cid", "c"])).await.unwrap();
    assert_eq!(tree.numbers().await, [0, 0, 1, 0, 0]);
    tree.assert_clean().await;
    assert_eq!(tree.kept().await, []);
}

#[tokio::test]
async fn are_forgotten_when_nothing_is_left_to_count() {
    let tree = Tree::open().await;
    tree.run(vote("ann", 2)).await.unwrap();
    tree.run(delete("Chapter", &["c"])).await.unwrap();
    assert_eq!(tree.kept().await.len(), 1);
    tree.run(delete("Vote", &["ann", "c"])).await.unwrap();
    assert_eq!(tree.kept().await, []);
    tree.run(chapter()).await.unwrap();
    tree.run(delete("Chapter", &["c"])).await.unwrap();
    assert_eq!(tree.kept().await, []);
}

/// Nothing is kept of numbers that are 0, and they may change while the item is gone.
#[tokio::test]
async fn begin_where_all_were_zero() {
    let tree = Tree::open().await;
    tree.run(vote("ann", 0)).await.unwrap();
    let down = Map::from([("up", Value::Bool(false))]);
    tree.run(change("ann", down)).await.unwrap();
    tree.run(delete("Chapter", &["c"])).await.unwrap();
    assert_eq!(tree.kept().await, []);
    tree.run(change("ann", weight(5))).await.unwrap();
    tree.assert_clean().await;
    tree.run(change("ann", weight(7))).await.unwrap();
    tree.run(chapter()).await.unwrap();
    assert_eq!(tree.numbers().await, [0, 7, 1, 0, 7]);
    tree.assert_clean().await;
}

/// Version 0.1.0 kept nothing: what is left of its votes is not counted until a repair does.
#[tokio::test]
async fn do_not_begin_with_fewer_than_none() {
    let tree = Tree::open().await;
    for user in ["ann", "bob", "cid"] {
        tree.run(vote(user, 1)).await.unwrap();
    }
    tree.run(delete("Chapter", &["c"])).await.unwrap();
    let kept = tree.kept().await.remove(0);
    tree.forget(&kept).await;
    tree.run(delete("Vote", &["ann", "c"])).await.unwrap();
    let kept = tree.kept().await;
    let numbers = kept.first().and_then(|kept| kept["numbers"].as_map());
    assert!(numbers.is_none_or(|numbers| !numbers.contains_key("stats.votes")));
    let report = tree
        .partita
        .repair(Permission::granted(), &mut Collected::default())
        .await;
    assert!(report.unwrap().is_clean());
    tree.run(delete("Vote", &["bob", "c"])).await.unwrap();
    tree.run(chapter()).await.unwrap();
    assert_eq!(tree.numbers().await, [1, 1, 2, 1, 1]);
    tree.assert_clean().await;
}

#[tokio::test]
async fn are_those_of_any_number_of_items() {
    let tree = Tree::open().await;
    for number in 0..250 {
        tree.run(vote(&format!("u{number}"), 1)).await.unwrap();
    }
    tree.run(delete("Chapter", &["c"])).await.unwrap();
    tree.run(delete("Vote", &["u7", "c"])).await.unwrap();
    tree.run(chapter()).await.unwrap();
    assert_eq!(tree.numbers().await, [249, 249, 250, 249, 249]);
    tree.assert_clean().await;
}

#[tokio::test]
async fn go_with_a_batch() {
    let tree = Tree::open().await;
    tree.run(vote("ann", 2)).await.unwrap();
    tree.run(vote("bob", 3)).await.unwrap();
    let gone = || delete("Chapter", &["c"]);
    tree.all(vec![gone(), delete("Vote", &["ann", "c"]), chapter()])
        .await
        .unwrap();
    assert_eq!(tree.numbers().await, [1, 3, 2, 1, 3]);
    tree.all(vec![gone(), chapter(), gone()]).await.unwrap();
    tree.all(vec![chapter(), vote("cid", 1)]).await.unwrap();
    assert_eq!(tree.numbers().await, [2, 4, 3, 2, 4]);
    tree.assert_clean().await;
}

/// Version 0.1.0 kept nothing; and what is kept can be wrong like anything that is derived.
#[tokio::test]
async fn are_verified_and_repaired() {
    let tree = Tree::open().await;
    tree.run(vote("ann", 2)).await.unwrap();
    tree.run(vote("bob", 3)).await.unwrap();
    tree.run(delete("Chapter", &["c"])).await.unwrap();
    let sidecar: TableName = "tree-partita".parse().unwrap();
    let kept = tree.kept().await.remove(0);
    let wrong = async |numbers: Map| {
        let mut item = kept.clone();
        item.insert("numbers", Value::M(numbers));
        let put = PutItem::new(sidecar.clone(), item);
        tree.store.put_item(put, ReturnValues::None).await.unwrap();
    };
    let drifts = async || {
        let mut found = Collected::default();
        tree.partita.verify(&mut found).await.unwrap();
        let names = found.open.iter().map(|(drift, _)| drift.attribute.clone());
        names.flatten().collect::<Vec<_>>()
    };
    let mend = async || {
        let report = tree
            .partita
            .repair(Permission::granted(), &mut Collected::default())
            .await;
        assert!(report.unwrap().is_clean());
        assert_eq!(drifts().await, [""; 0]);
        assert_eq!(tree.kept().await, std::slice::from_ref(&kept));
    };
    assert_eq!(drifts().await, [""; 0]);
    tree.forget(&kept).await;
    assert_eq!(drifts().await, ["stats.votes", "stats.weight"]);
    mend().await;
    let number = |number: i64| Value::from(number);
    wrong(Map::from([
        ("stats.votes", number(2)),
        ("stats.weight", number(7)),
    ]))
    .await;
    assert_eq!(drifts().await, ["stats.weight"]);
    mend().await;
    wrong(Map::from([("stats.votes", number(2))])).await;
    mend().await;
    tree.run(chapter()).await.unwrap();
    assert_eq!(tree.numbers().await, [2, 5, 3, 2, 5]);
    tree.assert_clean().await;
    // A record for an item that is there again is of no account.
    wrong(Map::from([("stats.votes", number(9))])).await;
    tree.run(delete("Chapter", &["c"])).await.unwrap();
    assert_eq!(tree.kept().await, std::slice::from_ref(&kept));
}

/// Votes go while their chapter goes and comes back, again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn are_exact_when_all_of_it_races() {
    let tree = Arc::new(Tree::open().await);
    let store: Arc<dyn Store> = tree.store.clone();
    for round in 0..20_u64 {
        for number in 0..6 {
            let _ = tree.run(vote(&format!("u{number}"), 1 + number)).await;
        }
        let voters = (0..3).map(|number| {
            let (store, round) = (store.clone(), round);
            tokio::spawn(async move {
                let seed = 100 + round * 10 + number;
                let partita = open(DESIGN, store, seed).await;
                let ann = Caller::user("ann");
                for user in [number, number + 3] {
                    let user = format!("u{user}");
                    let _ = partita.run(&ann, delete("Vote", &[&user, "c"])).await;
                }
            })
        });
        let voters: Vec<_> = voters.collect();
        for _ in 0..3 {
            let _ = tree.run(delete("Chapter", &["c"])).await;
            let _ = tree.run(chapter()).await;
        }
        for voter in voters {
            voter.await.unwrap();
        }
        let _ = tree.run(chapter()).await;
        tree.assert_clean().await;
    }
}

/// One vote goes and one is changed while the chapter goes and comes back, in an order that the
/// seed decides.
#[tokio::test]
async fn are_exact_in_every_order() {
    for seed in 0..100 {
        let tree = Tree::open().await;
        tree.run(vote("ann", 2)).await.unwrap();
        tree.run(vote("bob", 3)).await.unwrap();
        tree.run(delete("Chapter", &["c"])).await.unwrap();
        let shuffled = FaultyStore::new(tree.store.clone(), Faults::default(), seed);
        let partita = open(DESIGN, Arc::new(shuffled), seed + 2).await;
        let ann = Caller::user("ann");
        let run = async |operations: Vec<Operation>| {
            for operation in operations {
                let done = partita.run(&ann, operation).await;
                assert!(
                    done.is_ok() || matches!(done, Err(PlanError::Conflict | PlanError::Hot(_))),
                    "{done:?}"
                );
            }
        };
        let gone = || delete("Chapter", &["c"]);
        tokio::join!(
            run(vec![chapter(), gone(), chapter(), gone()]),
            run(vec![delete("Vote", &["ann", "c"])]),
            run(vec![change("bob", weight(8)), change("bob", weight(0))]),
            run(vec![change("bob", weight(5))]),
        );
        tree.assert_clean().await;
        tree.run(chapter()).await.unwrap();
        tree.assert_clean().await;
    }
}
