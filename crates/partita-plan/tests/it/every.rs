//! What is done for every item of a pattern, where there are more than one transaction can hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Answer, Caller, JobState, Operation, Partita, PlanError};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};

use crate::stage::{self, texts};

/// Letters lie in boxes. Whoever has one reads them all, archives them all, or closes it.
const DESIGN: &str = r#"
design = "post"

[table]
name          = "post"
key           = ["PK", "SK"]
discriminator = "kind"

[index]
byPlace = ["PPK", "PSK"]

[entity.Box]
PK = "BOX#{boxId}"
SK = "BOX"

[entity.Box.attributes]
boxId  = "string"
status = "state open -> closed"
unread = "count of Letter where seen = false"

[entity.Box.allow]
"*"      = "public"
close    = "boxId = caller"
stampAll = "boxId = caller"

[action.close]
entity = "Box"
set    = { status = "closed" }

[action.stampAll]
entity = "Box"
params = { mark = "string 1..3" }

[[action.stampAll.then]]
each   = "letter in letters"
update = "letter"
set    = { stamp = "{mark}" }
add    = { stamps = 1 }

[entity.Letter]
PK  = "BOX#{boxId}"
SK  = "LETTER#{letterId}"
PPK = "PLACE#{boxId}#{place}"
PSK = "{letterId}"

[entity.Letter.attributes]
boxId    = "string"
letterId = "string"
sender   = "string"
seen     = "bool default false"
looks    = "counter"
place    = "enum inbox | archive default inbox"
moves    = "counter"
stamp    = "string?"
stamps   = "counter"

[entity.Letter.refs]
box = "Box"

[entity.Letter.allow]
"*"        = "public"
see        = "boxId = caller AND sender <> 'nobody'"
seeAll     = "boxId = caller"
archive    = "public"
archiveAll = "public"

[action.see]
entity = "Letter"
set    = { seen = true }
add    = { looks = 1 }

[action.seeAll]
each  = "letter in letters"
when  = "letter.seen = false"
apply = "see"

[action.archive]
entity = "Letter"
set    = { place = "archive" }
add    = { moves = 1 }

[action.archiveAll]
each  = "letter in inbox"
apply = "archive"

[entity.Notice]
PK = "USER#{userId}"
SK = "NOTICE#{noticeId}"

[entity.Notice.attributes]
userId   = "string"
noticeId = "ulid, generated"
text     = "string"
at       = "timestamp = now on create"

[entity.Notice.allow]
read = "public"

[trigger.closed]
on       = "write Box"
turns    = "status = 'closed'"
each     = "letter in letters"
distinct = "letter.sender"
when     = "letter.sender <> boxId"
create   = "Notice"
with     = { userId = "{letter.sender}", text = "{boxId} is {status}, {letter.letterId} was the first" }

[pattern.letters]
query = "PK = 'BOX#{boxId}' AND begins_with(SK, 'LETTER#')"

[pattern.inbox]
query = "PPK = 'PLACE#{boxId}#inbox'"

[pattern.notices]
query = "PK = 'USER#{userId}' AND begins_with(SK, 'NOTICE#')"
"#;

async fn open(store: &Arc<dyn Store>, seed: u64) -> Partita {
    stage::open(DESIGN, store.clone(), seed).await
}

/// A box with so many letters of seven people, its owner among them.
async fn filled(letters: usize) -> (Arc<dyn Store>, Partita) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, 1).await;
    let create = async |entity: &str, given: &[(&str, &str)]| {
        let operation = Operation::Create {
            entity: entity.to_owned(),
            attributes: texts(given),
        };
        let ann = Caller::user("ann");
        partita.run(&ann, operation).await.unwrap();
    };
    create("Box", &[("boxId", "ann")]).await;
    for number in 0..letters {
        let sender = match number % 7 {
            0 => "ann".to_owned(),
            other => format!("friend{other}"),
        };
        let letter = format!("{number:05}");
        let given = [
            ("boxId", "ann"),
            ("letterId", &*letter),
            ("sender", &*sender),
        ];
        create("Letter", &given).await;
    }
    (store, partita)
}

/// An action on everything that a pattern finds in the box.
fn on_all(action: &str) -> Operation {
    Operation::Act {
        action: action.to_owned(),
        entity: None,
        identity: Vec::new(),
        given: Map::from([("boxId".to_owned(), Value::from("ann"))]),
        version: None,
    }
}

/// An action on the box.
fn on_box(action: &str, given: &[(&str, &str)]) -> Operation {
    Operation::Act {
        action: action.to_owned(),
        entity: Some("Box".to_owned()),
        identity: vec!["ann".to_owned()],
        given: texts(given),
        version: None,
    }
}

async fn items(store: &dyn Store, kind: &str) -> Vec<Item> {
    let mut items = stage::items(store, "post").await;
    items.retain(|item| item["kind"] == Value::from(kind));
    items
}

fn number(item: &Item, name: &str) -> i64 {
    let number = item.get(name).and_then(Value::as_number);
    number.and_then(|number| number.to_i64()).unwrap_or(0)
}

/// How many letters have how large a number.
async fn letters_by(store: &dyn Store, name: &str) -> BTreeMap<i64, usize> {
    let mut counted = BTreeMap::new();
    for letter in items(store, "Letter").await {
        *counted.entry(number(&letter, name)).or_default() += 1;
    }
    counted
}

async fn unread(store: &dyn Store) -> i64 {
    number(&items(store, "Box").await[0], "unread")
}

#[tokio::test]
async fn few_are_done_at_once_and_many_by_a_job() {
    let ann = Caller::user("ann");
    let (store, partita) = filled(60).await;
    assert_eq!(partita.run(&ann, on_all("seeAll")).await, Ok(Answer::Done));
    assert_eq!(letters_by(&*store, "looks").await, [(1, 60)].into());
    assert_eq!(partita.jobs().await.unwrap(), []);

    let (store, partita) = filled(250).await;
    let bob = Caller::user("bob");
    let refused = partita.run(&bob, on_all("seeAll")).await;
    assert!(
        matches!(&refused, Err(PlanError::Forbidden { access, .. }) if access == "seeAll"),
        "{refused:?}"
    );
    assert_eq!(partita.jobs().await.unwrap(), []);
    assert_eq!(partita.run(&ann, on_all("seeAll")).await, Ok(Answer::Done));
    assert_eq!(unread(&*store).await, 250, "nothing is done yet");
    let job = partita.jobs().await.unwrap().remove(0);
    assert_eq!((&*job.of, job.state), ("seeAll ann", JobState::Waiting));
    assert_eq!(job.tasks, ["seeAll"]);
    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(partita.jobs().await.unwrap()[0].done, 250);
    assert_eq!(letters_by(&*store, "looks").await, [(1, 250)].into());
    assert_eq!(unread(&*store).await, 0);
    // There is nothing left to see, and nobody looks again.
    partita.run(&ann, on_all("seeAll")).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(letters_by(&*store, "looks").await, [(1, 250)].into());
}

#[tokio::test]
async fn what_the_rules_do_not_allow_stays_as_it_is() {
    let (store, partita) = filled(150).await;
    let letter = Operation::Update {
        entity: "Letter".into(),
        identity: vec!["ann".into(), "00149".into()],
        changes: Map::from([("sender", "nobody".into())]),
        with_deleted: false,
        version: None,
    };
    let ann = Caller::user("ann");
    partita.run(&ann, letter).await.unwrap();
    partita.run(&ann, on_all("seeAll")).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(
        letters_by(&*store, "looks").await,
        [(0, 1), (1, 149)].into()
    );
    assert_eq!(unread(&*store).await, 1);
}

#[tokio::test]
async fn what_leaves_the_list_under_the_job_is_done_once() {
    let (store, partita) = filled(250).await;
    let ann = Caller::user("ann");
    partita.run(&ann, on_all("archiveAll")).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(letters_by(&*store, "moves").await, [(1, 250)].into());
}

#[tokio::test]
async fn effects_of_actions_know_what_the_action_was_given() {
    let (store, partita) = filled(250).await;
    let ann = Caller::user("ann");
    let refused = partita
        .run(&ann, on_box("stampAll", &[("mark", "much")]))
        .await;
    assert!(
        matches!(refused, Err(PlanError::Invalid { .. })),
        "{refused:?}"
    );
    partita
        .run(&ann, on_box("stampAll", &[("mark", "x")]))
        .await
        .unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(letters_by(&*store, "stamps").await, [(1, 250)].into());
    let letters = items(&*store, "Letter").await;
    assert!(
        letters
            .iter()
            .all(|letter| letter["stamp"] == Value::from("x"))
    );
}

fn friends_are_told_once(notices: &[Item]) {
    let mut told: Vec<(&str, &str)> = notices
        .iter()
        .map(|notice| {
            let text = |name: &str| notice[name].as_str().unwrap();
            (text("userId"), text("text"))
        })
        .collect();
    told.sort_unstable();
    let expected: Vec<(String, String)> = (1..7)
        .map(|friend| {
            let text = format!("ann is closed, {friend:05} was the first");
            (format!("friend{friend}"), text)
        })
        .collect();
    let expected: Vec<(&str, &str)> = expected.iter().map(|(one, two)| (&**one, &**two)).collect();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn of_those_that_agree_only_the_first_counts_whatever_the_chunks_are() {
    for letters in [40, 400] {
        let (store, partita) = filled(letters).await;
        let ann = Caller::user("ann");
        partita.run(&ann, on_box("close", &[])).await.unwrap();
        let jobs = usize::from(letters > 100);
        assert_eq!(partita.run_jobs().await, Ok(jobs));
        friends_are_told_once(&items(&*store, "Notice").await);
    }
}

#[test]
fn two_workers_on_a_faulty_store_do_it_once() {
    for seed in 0..4 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (store, calm) = filled(250).await;
            let ann = Caller::user("ann");
            for operation in [
                on_all("archiveAll"),
                on_all("seeAll"),
                on_box("close", &[]),
                on_box("stampAll", &[("mark", "x")]),
            ] {
                calm.run(&ann, operation).await.unwrap();
            }
            let faults = Faults {
                conflict: 0.1,
                throttle: 0.02,
                unknown_outcome: 0.1,
            };
            let faulty: Arc<dyn Store> = Arc::new(FaultyStore::new(store.clone(), faults, seed));
            let one = open(&faulty, seed * 10 + 2).await;
            let two = open(&faulty, seed * 10 + 3).await;
            for _ in 0..100 {
                let _ = tokio::join!(one.run_jobs(), two.run_jobs());
                calm.take_over_jobs().await.unwrap();
                let jobs = calm.jobs().await.unwrap();
                if jobs.iter().all(|job| job.state == JobState::Done) {
                    break;
                }
            }
            for name in ["moves", "looks", "stamps"] {
                let counted = letters_by(&*store, name).await;
                assert_eq!(counted, [(1, 250)].into(), "{name} with seed {seed}");
            }
            friends_are_told_once(&items(&*store, "Notice").await);
        });
    }
}
