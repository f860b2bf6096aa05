//! Plans to the letter: what operations become.

use std::collections::BTreeSet;
use std::sync::Arc;

use partita_core::expression::{Condition, Renderer};
use partita_core::{Item, Map};
use partita_design::design::Access;
use partita_store::ModelStore;
use partita_store::request::{ReturnValues, TransactAction};
use partita_store::surroundings::{ManualClock, SeededEntropy};

use super::*;
use crate::commit::{Step, WritePlan};
use crate::evaluate::Reads;
use crate::operation::Caller;
use crate::request::rules::Asked;
use crate::request::{NamedItem, Request};
use crate::{Operation, Partita, Patience, Surroundings};

pub(crate) const STORY: &str = "01JGFJJZ00000000000000DVNE";
pub(crate) const NODE: &str = "01JGFJJZ0000000000000NDE01";

pub(crate) async fn open(design: &str) -> Partita {
    let source = partita_design::shipped::find(design).unwrap().source;
    let (design, diagnostics) = partita_design::check(source, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let surroundings = Surroundings {
        clock: Arc::new(ManualClock::at(1_767_261_600_000)),
        entropy: Arc::new(SeededEntropy::new(1)),
        cursor_key: [7; 32],
        patience: Patience::default(),
    };
    let store = Arc::new(ModelStore::default());
    Partita::open_with(design, store, surroundings)
        .await
        .unwrap()
}

fn text(name: &str, text: &str) -> (String, Value) {
    (name.to_owned(), Value::from(text))
}

/// A story as it is stored.
fn story(deleted: bool) -> Item {
    Map::from([
        text("PK", &format!("USER#ann#STORY#{STORY}")),
        text("SK", "METADATA"),
        text("ItemType", "Story"),
        text("id", STORY),
        text("title", "Dune"),
        text("CreatedAt", "2026-01-01T09:00:00.000Z"),
        text("UpdatedAt", "2026-01-01T09:00:00.000Z"),
        ("deleted".to_owned(), Value::Bool(deleted)),
    ])
}

/// A node as it is stored.
fn node() -> Item {
    Map::from([
        text("PK", &format!("USER#ann#STORY#{STORY}")),
        text("SK", &format!("NODE#{NODE}")),
        text("ItemType", "Node"),
        text("storyId", STORY),
        text("id", NODE),
        text("mood", "dark"),
    ])
}

/// A plan as a person would write it down, one action a paragraph.
fn shown(plan: &WritePlan) -> String {
    let steps: Vec<String> = plan.steps.iter().map(shown_step).collect();
    steps.join("\n")
}

fn shown_step(step: &Step) -> String {
    let mut renderer = Renderer::default();
    let key = |item: &Item| {
        let part = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        format!("{} | {}", part("PK"), part("SK"))
    };
    let mut condition = |condition: &Condition| format!("\n  if {}", renderer.condition(condition));
    let text = match &step.action {
        TransactAction::Put(put) => {
            let attributes = serde_json::to_string(&put.item).unwrap();
            let guard = put
                .condition
                .as_ref()
                .map(&mut condition)
                .unwrap_or_default();
            format!("put {}\n  {attributes}{guard}", key(&put.item))
        }
        TransactAction::Update(update) => {
            let guard = update
                .condition
                .as_ref()
                .map(&mut condition)
                .unwrap_or_default();
            let set = renderer.update(&update.update);
            format!("update {}\n  {set}{guard}", key(&update.key))
        }
        TransactAction::Delete(delete) => {
            let guard = delete
                .condition
                .as_ref()
                .map(&mut condition)
                .unwrap_or_default();
            format!("delete {}{guard}", key(&delete.key))
        }
        TransactAction::Check(check) => {
            format!("check {}{}", key(&check.key), condition(&check.condition))
        }
    };
    let (names, values) = renderer.into_bindings();
    // The longest placeholders first, so that `#n1` does not eat into `#n10`.
    let text = names.iter().rev().fold(text, |text, (placeholder, name)| {
        text.replace(placeholder, name)
    });
    let text = values
        .iter()
        .rev()
        .fold(text, |text, (placeholder, value)| {
            text.replace(placeholder, &serde_json::to_string(value).unwrap())
        });
    format!("{text}\n  otherwise {:?}\n", step.refusal)
}

#[tokio::test]
async fn plans() {
    let partita = open("stories").await;
    let caller = Caller::user("ann");
    let plan = async |request: Request<'_>, stored: &[Item]| {
        for item in stored {
            let put = partita_store::request::PutItem::new(
                partita.blueprint.tables[0].clone(),
                item.clone(),
            );
            let store = &partita.runner.store;
            store.put_item(put, ReturnValues::None).await.unwrap();
        }
        shown(
            &partita
                .plan(&caller, &request, Vec::new(), 0)
                .await
                .unwrap(),
        )
    };
    let create = |entity: &str, given: &[(&str, &str)]| Request::Create {
        entity: partita.blueprint.entity(entity).unwrap(),
        given: given
            .iter()
            .map(|(name, value)| text(name, value))
            .collect(),
    };
    let change = |entity: &str, identity: &[&str], access, given| {
        let identity: Vec<_> = identity.iter().map(|part| (*part).to_owned()).collect();
        Request::Change {
            on: NamedItem {
                with_deleted: true,
                ..partita.named_item(entity, &identity).unwrap()
            },
            asked: Asked::Access(access),
            given,
        }
    };
    let new_story = [("userId", "ann"), ("id", STORY), ("title", "Dune")];
    let created = plan(create("Story", &new_story), &[]).await;
    insta::assert_snapshot!("create_story", created);
    let new_node = [
        ("userId", "ann"),
        ("storyId", STORY),
        ("id", NODE),
        ("mood", "dark"),
    ];
    let created = plan(create("Node", &new_node), &[]).await;
    insta::assert_snapshot!("create_node", created);

    let identity = ["ann", STORY];
    let title = Map::from([text("title", "Dune Messiah")]);
    let rename = change("Story", &identity, Access::Update, title);
    let renamed = plan(rename, &[story(false)]).await;
    insta::assert_snapshot!("rename_story", renamed);
    let deleted = plan(
        change("Story", &identity, Access::Delete, Map::new()),
        &[story(false)],
    )
    .await;
    insta::assert_snapshot!("delete_story", deleted);
    let restored = plan(
        change("Story", &identity, Access::Restore, Map::new()),
        &[story(true)],
    )
    .await;
    insta::assert_snapshot!("restore_story", restored);

    let identity = ["ann", STORY, NODE];
    let stored = [story(false), node()];
    let removed = plan(
        change("Node", &identity, Access::Delete, Map::new()),
        &stored,
    )
    .await;
    insta::assert_snapshot!("delete_node", removed);
}

/// A published story of Ann's with one chapter, and Bob who reads it.
pub(crate) async fn storyhub() -> Partita {
    let partita = open("storyhub").await;
    let run = async |user: &str, operation: Operation| {
        partita.run(&Caller::user(user), operation).await.unwrap();
    };
    let create = |entity: &str, given: &[(&str, &str)]| Operation::Create {
        entity: entity.to_owned(),
        attributes: given
            .iter()
            .map(|(name, value)| text(name, value))
            .collect(),
    };
    for user in ["ann", "bob"] {
        let profile = [
            ("userId", user),
            ("email", "a@b.org"),
            ("displayName", user),
        ];
        run(user, create("User", &profile)).await;
    }
    let story = [
        ("storyId", STORY),
        ("title", "Dune"),
        ("synopsis", "Sand."),
        ("authorId", "ann"),
        ("genre", "sf"),
        ("ageRating", "12"),
    ];
    run("ann", create("Story", &story)).await;
    let published = Operation::Update {
        entity: "Story".to_owned(),
        identity: vec![STORY.to_owned()],
        changes: Map::from([text("status", "PUBLISHED")]),
        with_deleted: false,
        version: None,
    };
    run("ann", published).await;
    let chapter = [
        ("storyId", STORY),
        ("nodeId", NODE),
        ("authorId", "ann"),
        ("title", "One"),
        ("content", "…"),
    ];
    run("ann", create("ChapterNode", &chapter)).await;
    partita
}

fn new<'p>(partita: &'p Partita, entity: &str, given: &[(&str, &str)]) -> Request<'p> {
    Request::Create {
        entity: partita.blueprint.entity(entity).unwrap(),
        given: given
            .iter()
            .map(|(name, value)| text(name, value))
            .collect(),
    }
}

const VOTE: [(&str, &str); 4] = [
    ("userId", "bob"),
    ("nodeId", NODE),
    ("storyId", STORY),
    ("voteType", "UPVOTE"),
];

#[tokio::test]
async fn plans_of_readers() {
    let partita = storyhub().await;
    let bob = Caller::user("bob");
    let plan = async |caller: &Caller, request: Request<'_>| {
        shown(&partita.plan(caller, &request, Vec::new(), 0).await.unwrap())
    };
    let vote = plan(&bob, new(&partita, "Vote", &VOTE)).await;
    insta::assert_snapshot!("vote", vote);
    let branch = [
        ("storyId", STORY),
        ("nodeId", "01JGFJJZ0000000000000NDE02"),
        ("parentNodeId", NODE),
        ("authorId", "bob"),
        ("title", "Two"),
        ("content", "…"),
    ];
    let branch = plan(&bob, new(&partita, "ChapterNode", &branch)).await;
    insta::assert_snapshot!("branch", branch);
    let name = Request::Change {
        on: partita.named_item("User", &["ann".to_owned()]).unwrap(),
        asked: Asked::Access(Access::Update),
        given: Map::from([text("displayName", "Anna")]),
    };
    let name = plan(&Caller::user("ann"), name).await;
    insta::assert_snapshot!("rename_user", name);
    let bookmark = || Request::Upsert {
        on: {
            let identity = ["bob".to_owned(), STORY.to_owned()];
            partita.named_item("Bookmark", &identity).unwrap()
        },
        given: Map::from([text("currentNodeId", NODE)]),
    };
    let first = plan(&bob, bookmark()).await;
    insta::assert_snapshot!("upsert_new_bookmark", first);
    let upsert = Operation::Upsert {
        entity: "Bookmark".to_owned(),
        identity: vec!["bob".to_owned(), STORY.to_owned()],
        attributes: Map::from([text("currentNodeId", NODE)]),
        version: None,
    };
    partita.run(&bob, upsert).await.unwrap();
    let again = plan(&bob, bookmark()).await;
    insta::assert_snapshot!("upsert_old_bookmark", again);
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What planning a vote costs without the store. The bound is 20 µs in a release build; run it
/// there, with `--ignored --nocapture`.
#[tokio::test]
#[ignore = "a measurement"]
async fn planning_a_vote() {
    let partita = storyhub().await;
    let request = new(&partita, "Vote", &VOTE);
    let bob = Caller::user("bob");
    let moment = partita.moment();
    let mut reads = partita.reads(&moment);
    let evaluate = |reads: &Reads| {
        let context = partita.context(&bob, reads, &moment);
        Planner::new(context, &moment).plan(&request)
    };
    let first = measure(|| drop(evaluate(&partita.reads(&moment))));
    partita.runner.settle(&mut reads, evaluate).await.unwrap();
    let last = measure(|| drop(evaluate(&reads).unwrap()));
    for (name, at) in [("least", 0), ("median", BATCHES / 2)] {
        let (first, last) = (first[at], last[at]);
        let both = first + last;
        println!("{name}: {both:?}, {first:?} for the first round and {last:?} for the last");
    }
}

const BATCHES: usize = 100;

/// What something takes, as means of batches, the least first: that is what it takes when nothing
/// else gets in its way.
#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn measure(mut measured: impl FnMut()) -> Vec<std::time::Duration> {
    let rounds = 200;
    let batches = (0..BATCHES).map(|_| {
        let began = std::time::Instant::now();
        (0..rounds).for_each(|_| measured());
        began.elapsed() / rounds
    });
    let mut batches: Vec<_> = batches.collect();
    batches.sort();
    batches
}

/// One id tells nothing of the next, and ULIDs rise all the same, through a whole batch.
#[test]
fn ids_of_a_write_are_not_told_by_each_other() {
    for random in [0, 1, u128::MAX] {
        let moment = Moment {
            now: Value::from(""),
            now_millis: 0,
            random,
            first_id: 0,
        };
        let numbers = (0..8).chain(99 * IDS_EACH..99 * IDS_EACH + 8);
        let ulids: Vec<u128> = numbers.clone().map(|at| moment.ulid_bits(at)).collect();
        assert!(ulids.is_sorted() && ulids.last().unwrap() >> 80 == 0);
        let steps: BTreeSet<u128> = ulids.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(steps.len(), ulids.len() - 1);
        let uuids: BTreeSet<u128> = numbers.map(|at| moment.bits(at) >> 64).collect();
        assert_eq!(uuids.len(), ulids.len());
    }
}
