//! Triggers on what a cascade removes. They see everything that it removes as gone, in one
//! transaction and in a job alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{JobState, Operation, Partita, PlanError};
use partita_store::{ModelStore, Store};
use partita_verify::Collected;

use crate::stage::{create, items, open, run};

/// A user with entries and files, both of which go with it; a leaf goes with its file.
const DESIGN: &str = r#"
design = "users"

[table]
name          = "users"
key           = ["PK", "SK"]
discriminator = "Kind"

[entity.User]
PK = "USER#{u}"
SK = "USER"

[entity.User.attributes]
u       = "string"
points  = "int default 0"
entries = "count of Entry"

[entity.Entry]
PK = "USER#{u}"
SK = "ENTRY#{e}"

[entity.Entry.attributes]
u    = "string"
e    = "string"
mark = "string?"

[entity.Entry.refs]
user = "User, on delete cascade"
to   = "Mark(m = mark), unchecked"

[entity.File]
PK = "USER#{u}"
SK = "FILE#{f}"

[entity.File.attributes]
u     = "string"
f     = "string"
uses  = "int default 0"
files = "count of Leaf"

[entity.File.refs]
user = "User, UNCHECKEDon delete cascade"

[entity.Leaf]
PK = "LEAF#{u}#{f}"
SK = "{leaf}"

[entity.Leaf.attributes]
u    = "string"
f    = "string"
leaf = "string"

[entity.Leaf.refs]
file = "File, on delete cascade"

[entity.Stem]
PK = "STEM#{u}#{f}#{leaf}"
SK = "{stem}"

[entity.Stem.attributes]
u    = "string"
f    = "string"
leaf = "string"
stem = "string"

[entity.Stem.refs]
of = "Leaf, on delete cascade"

[entity.Mark]
PK = "MARK#{m}"
SK = "MARK"

[entity.Mark.attributes]
m = "string"
k = "int ..100 default 0"

[pattern.entries]
query = "PK = 'USER#{u}' AND begins_with(SK, 'ENTRY#')"

[pattern.files]
query = "PK = 'USER#{u}' AND begins_with(SK, 'FILE#')"

[pattern.leaves]
query = "PK = 'LEAF#{u}#{f}'"

[pattern.stems]
query = "PK = 'STEM#{u}#{f}#{leaf}'"

[trigger.gone]
on = "delete Entry"
"#;

/// What the trigger does, and what is left when everything is done.
const EFFECTS: [(&str, &str); 12] = [
    ("update the parent", "update = 'user'\nadd = { points = 1 }"),
    ("delete the parent", "delete = 'user'"),
    ("delete a sibling", "delete = 'File(u, f = e)'"),
    (
        "update a sibling",
        "update = 'File(u, f = e)'\nadd = { uses = 1 }",
    ),
    (
        "set a sibling",
        "update = 'File(u, f = e)'\nset = { uses = 5 }",
    ),
    (
        "upsert a sibling",
        "upsert = 'File'\nwith = { u = '{u}', f = '{e}' }",
    ),
    (
        "create a sibling",
        "create = 'File'\nwith = { u = '{u}', f = 'x{e}' }",
    ),
    (
        "create what is there",
        "create = 'File'\nwith = { u = '{u}', f = '{e}' }",
    ),
    (
        "create below a sibling",
        "create = 'Leaf'\nwith = { u = '{u}', f = '{e}', leaf = 'x{e}' }",
    ),
    (
        "create below that",
        "create = 'Stem'\nwith = { u = '{u}', f = '{e}', leaf = 'l', stem = 'x' }",
    ),
    (
        "delete all siblings",
        "each = 'file in files'\ndelete = 'file'",
    ),
    (
        "update all siblings",
        "each = 'file in files'\nupdate = 'user'\nadd = { points = 1 }",
    ),
];

fn design(effect: &str, unchecked: &str) -> String {
    let effect = effect.replace('\'', "\"");
    let mut design = DESIGN.replace("UNCHECKED", unchecked) + &effect + "\n";
    for entity in ["User", "Entry", "File", "Leaf", "Stem", "Mark"] {
        design += &format!("\n[entity.{entity}.allow]\n\"*\" = \"signed-in\"\n");
    }
    design
}

fn delete(entity: &str, identity: &[&str]) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: identity.iter().map(|&part| part.to_owned()).collect(),
        version: None,
    }
}

async fn populate(partita: &Partita, count: usize, more: &[(&str, &str)]) {
    create(partita, "User", &[("u", "1")]).await;
    for number in 0..count {
        let id = format!("{number:03}");
        let entry = [("u", "1"), ("e", id.as_str())];
        create(partita, "Entry", &[&entry, more].concat()).await;
        create(partita, "File", &[("u", "1"), ("f", &id)]).await;
        let leaf = [("u", "1"), ("f", id.as_str()), ("leaf", "l")];
        create(partita, "Leaf", &leaf).await;
    }
}

/// How many items there are of each kind.
async fn census(store: &dyn Store) -> BTreeMap<String, usize> {
    let mut census = BTreeMap::new();
    for item in items(store, "users").await {
        let kind = item["Kind"].as_str().unwrap().to_owned();
        *census.entry(kind).or_default() += 1;
    }
    census
}

async fn assert_done(partita: &Partita, case: &str) {
    let jobs = partita.jobs().await.unwrap();
    let mut open = jobs.iter().filter(|job| job.state != JobState::Done);
    assert_eq!(open.next(), None, "{case}");
    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    assert!(report.is_clean(), "{case}: {:?}", found.open);
    assert_eq!(report.awaited, 0, "{case}");
}

#[tokio::test]
async fn meet_what_the_cascade_removes() {
    for (name, effect) in EFFECTS {
        for unchecked in ["", "unchecked, "] {
            for count in [2, 36] {
                let case = format!("{name}, {unchecked}{count}");
                let store: Arc<dyn Store> = Arc::new(ModelStore::default());
                let partita = open(&design(effect, unchecked), store.clone(), 1).await;
                populate(&partita, count, &[]).await;
                let deleted = run(&partita, delete("User", &["1"])).await;
                assert!(deleted.is_ok(), "{case}: {deleted:?}");
                let worked = partita.run_jobs().await;
                assert!(worked.is_ok(), "{case}: {worked:?}");
                assert_eq!(census(&*store).await, BTreeMap::new(), "{case}");
                assert_done(&partita, &case).await;
                create(&partita, "User", &[("u", "1")]).await;
            }
        }
    }
}

/// What has nothing to do with the cascade happens once for each, in one transaction or a job.
#[tokio::test]
async fn reach_what_stays() {
    let effect = "update = 'to'\nadd = { k = 1 }";
    for (mark, count) in [("there", 2), ("there", 40), ("missing", 2), ("missing", 60)] {
        let case = format!("{mark}, {count}");
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let partita = open(&design(effect, ""), store.clone(), 1).await;
        create(&partita, "Mark", &[("m", "there")]).await;
        populate(&partita, count, &[("mark", mark)]).await;
        run(&partita, delete("User", &["1"])).await.unwrap();
        partita.run_jobs().await.unwrap();
        let left = items(&*store, "users").await;
        let [left] = left.as_slice() else {
            panic!("{case}: {left:?}")
        };
        let expected = if mark == "there" { count as i64 } else { 0 };
        assert_eq!(left["k"], Value::from(expected), "{case}");
        assert_done(&partita, &case).await;
    }
}

/// Deleted by itself, an entry still needs the target of its trigger.
#[tokio::test]
async fn are_refused_without_a_cascade_if_their_target_is_missing() {
    let effect = "update = 'to'\nadd = { k = 1 }";
    let partita = open(&design(effect, ""), Arc::new(ModelStore::default()), 1).await;
    populate(&partita, 1, &[("mark", "missing")]).await;
    let refused = run(&partita, delete("Entry", &["1", "000"])).await;
    assert!(
        matches!(refused, Err(PlanError::Invalid { .. })),
        "{refused:?}"
    );
}

/// Whether a trigger's `require` holds of each must be known before the first is gone.
#[tokio::test]
async fn that_may_refuse_are_not_left_to_a_job() {
    let effect = "require = 'mark <> user.u'\nupdate = 'to'\nadd = { k = 1 }";
    for (count, is_done) in [(2, true), (60, false)] {
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let partita = open(&design(effect, ""), store.clone(), 1).await;
        create(&partita, "Mark", &[("m", "there")]).await;
        populate(&partita, count, &[("mark", "there")]).await;
        let before = census(&*store).await;
        match run(&partita, delete("User", &["1"])).await {
            Ok(_) => assert!(is_done),
            Err(PlanError::TooMuch { what }) => {
                assert!(what.contains("delete the `Entry` items first"), "{what}");
                assert_eq!((is_done, census(&*store).await), (false, before));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A number at its limit refuses a cascade that is one transaction. In a job the rest goes without
/// the effect, which is recorded; what else follows from it is done.
#[tokio::test]
async fn that_are_refused_are_left_out_of_a_job() {
    let effect = "update = 'to'\nadd = { k = 1 }\n
[trigger.counted]
on     = 'delete Entry'
update = 'other'
add    = { k = 1 }";
    let refs = "to   = \"Mark(m = mark), unchecked\"";
    let more = format!("{refs}\nother = \"Mark(m = also), unchecked\"");
    let design = design(effect, "").replace(refs, &more);
    let design = design.replace(
        "mark = \"string?\"",
        "mark = \"string?\"\nalso = \"string?\"",
    );
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&design, store.clone(), 1).await;
    for mark in ["full", "open", "more"] {
        create(&partita, "Mark", &[("m", mark)]).await;
    }
    for (mark, number) in [("full", 98_i64), ("open", -100), ("more", -100)] {
        set_mark(&partita, mark, number).await;
    }
    populate(&partita, 3, &[("mark", "full"), ("also", "open")]).await;
    let refused = run(&partita, delete("User", &["1"])).await;
    assert!(
        matches!(refused, Err(PlanError::Invalid { .. })),
        "{refused:?}"
    );

    for number in 3..130 {
        let (id, mark) = (format!("{number:03}"), ["full", "more"][number % 2]);
        let entry = [
            ("u", "1"),
            ("e", id.as_str()),
            ("mark", mark),
            ("also", "open"),
        ];
        create(&partita, "Entry", &entry).await;
    }
    run(&partita, delete("User", &["1"])).await.unwrap();
    partita.run_jobs().await.unwrap();
    let left = items(&*store, "users").await;
    let numbers: BTreeMap<&str, &Value> = left
        .iter()
        .map(|mark| (mark["m"].as_str().unwrap(), &mark["k"]))
        .collect();
    let (full, open, more) = (
        Value::from(100_i64),
        Value::from(30_i64),
        Value::from(-36_i64),
    );
    let expected = BTreeMap::from([("full", &full), ("open", &open), ("more", &more)]);
    assert_eq!(numbers, expected);
    let jobs = partita.jobs().await.unwrap();
    let job = jobs.iter().find(|job| job.left_out > 0).unwrap();
    assert_eq!(
        (job.state, job.left_out, job.refused),
        (JobState::Done, 64, 0)
    );
    let why = job.last_error.as_deref().unwrap();
    assert!(why.contains("k"), "{why}");
    assert_done(&partita, "left out").await;
    create(&partita, "User", &[("u", "1")]).await;
}

async fn set_mark(partita: &Partita, mark: &str, number: i64) {
    let update = Operation::Update {
        entity: "Mark".into(),
        identity: vec![mark.into()],
        changes: Map::from([("k", Value::from(number))]),
        with_deleted: false,
        version: None,
    };
    run(partita, update).await.unwrap();
}
