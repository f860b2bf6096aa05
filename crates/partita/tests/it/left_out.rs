//! What a job is refused for good: it comes to its end without it, and says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Caller, JobState, JobStatus, Operation, Partita};
use partita_store::request::Scan;
use partita_store::{ModelStore, Store};
use partita_verify::{Collected, DriftKind};

use crate::stage;

/// A club has members. An active member has a club.
const CLUB: &str = r##"
design = "club"

[table]
name = "club"
key  = ["PK", "SK"]

[index]
byClub = ["GPK", "GSK"]

[entity.Club]
PK = "CLUB#{club}"
SK = "CLUB"
[entity.Club.attributes]
club  = "string"
title = "string default 'none'"
[entity.Club.allow]
"*" = "public"

[entity.Member]
PK      = "MEMBER#{member}"
SK      = "MEMBER"
GPK     = "CLUB#{club}"
GSK     = "{member}"
require = "active = false OR attribute_exists(club)"
[entity.Member.attributes]
member = "string"
club   = "string?"
active = "bool default false"
points = "int ..1 default 0"
[entity.Member.refs]
in = "Club(club), on delete clear club"
[entity.Member.allow]
"*" = "public"

[trigger.renamed]
on     = "update Club"
turns  = "title = 'gold'"
each   = "one in members"
update = "one"
add    = { points = 1 }

[pattern.members]
query = "GPK = 'CLUB#{club}'"
"##;

/// More than a transaction holds.
const COUNT: usize = 120;
/// Members of whom a job is refused something: the first, one in the middle, and the last.
const STUBBORN: [usize; 3] = [0, 60, COUNT - 1];

struct Club {
    store: Arc<dyn Store>,
    partita: Partita,
    table: String,
}

impl Club {
    /// A club in a table of its own. The stubborn members are active, or have all points.
    async fn open(store: &Arc<dyn Store>, table: &str, given: &[(&str, Value)]) -> Club {
        let design = stage::compiled("club", CLUB, table);
        let club = Club {
            store: store.clone(),
            partita: Partita::open(design, store.clone()).await.unwrap(),
            table: table.to_owned(),
        };
        club.create("Club", Map::from([("club", Value::from("c"))]))
            .await;
        for number in 0..COUNT {
            let mut member = Map::from([
                ("member", Value::from(format!("{number:03}"))),
                ("club", Value::from("c")),
            ]);
            if STUBBORN.contains(&number) {
                member.extend(
                    given
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), value.clone())),
                );
            }
            club.create("Member", member).await;
        }
        club
    }

    async fn run(&self, operation: Operation) {
        let caller = Caller::user("ann");
        self.partita.run(&caller, operation).await.unwrap();
    }

    async fn create(&self, entity: &str, attributes: Map) {
        let entity = entity.to_owned();
        self.run(Operation::Create { entity, attributes }).await;
    }

    /// How many members have each value of an attribute.
    async fn members_by(&self, name: &str) -> BTreeMap<String, usize> {
        let mut request = Scan::new(self.table.parse().unwrap());
        let mut counts = BTreeMap::new();
        loop {
            let page = self.store.scan(request.clone()).await.unwrap();
            let page = page.answer.into_parts().unwrap();
            let is_member = |item: &&Item| item["SK"] == Value::from("MEMBER");
            for item in page.items.iter().filter(is_member) {
                let value = match item.get(name) {
                    Some(Value::S(text)) => text.clone(),
                    Some(Value::N(number)) => number.to_string(),
                    _ => "none".to_owned(),
                };
                *counts.entry(value).or_default() += 1;
            }
            match page.last_key {
                None => return counts,
                last_key => request.start_after = last_key,
            }
        }
    }

    /// Works until nothing is left to do, and answers with the job of which something is left out.
    async fn work(&self) -> JobStatus {
        self.partita.run_jobs().await.unwrap();
        let jobs = self.partita.jobs().await.unwrap();
        let is_done = |job: &JobStatus| job.state == JobState::Done && job.refused == 0;
        assert!(jobs.iter().all(is_done), "{jobs:?}");
        let mut jobs = jobs.into_iter().filter(|job| job.left_out > 0);
        jobs.next().unwrap()
    }
}

fn counts<const N: usize>(counts: [(&str, usize); N]) -> BTreeMap<String, usize> {
    let counts = counts.into_iter();
    counts
        .map(|(value, count)| (value.to_owned(), count))
        .collect()
}

/// A ref that cannot be cleared stays, and `verify` says so. The identity is free again.
async fn a_ref_that_is_required(store: &Arc<dyn Store>) {
    let club = Club::open(store, "left-clear", &[("active", Value::Bool(true))]).await;
    club.run(Operation::Delete {
        entity: "Club".to_owned(),
        identity: vec!["c".to_owned()],
        version: None,
    })
    .await;
    let job = club.work().await;
    assert_eq!(job.left_out, 3, "{job:?}");
    let why = job.last_error.unwrap();
    assert!(why.contains("active"), "{why}");
    assert_eq!(
        club.members_by("club").await,
        counts([("c", 3), ("none", COUNT - 3)])
    );
    let mut found = Collected::default();
    let report = club.partita.verify(&mut found).await.unwrap();
    assert_eq!((report.drifts, report.jobs), (3, 0), "{report:?}");
    let mut kinds = found.open.iter().map(|(drift, _)| drift.kind);
    assert!(
        kinds.all(|kind| kind == DriftKind::Dangling),
        "{:?}",
        found.open
    );
    club.create("Club", Map::from([("club", Value::from("c"))]))
        .await;
}

/// An effect that is refused for some items is done for the others.
async fn an_effect_beyond_a_range(store: &Arc<dyn Store>) {
    let full = [("points", Value::from(1_i64))];
    let club = Club::open(store, "left-effect", &full).await;
    club.run(Operation::Update {
        entity: "Club".to_owned(),
        identity: vec!["c".to_owned()],
        changes: Map::from([("title", Value::from("gold"))]),
        with_deleted: false,
        version: None,
    })
    .await;
    let job = club.work().await;
    assert_eq!(job.left_out, 3, "{job:?}");
    let why = job.last_error.unwrap();
    assert!(why.contains("points"), "{why}");
    assert_eq!(club.members_by("points").await, counts([("1", COUNT)]));
}

async fn all(store: Arc<dyn Store>) {
    a_ref_that_is_required(&store).await;
    an_effect_beyond_a_range(&store).await;
}

#[tokio::test]
async fn of_a_clearing() {
    a_ref_that_is_required(&(Arc::new(ModelStore::default()) as Arc<dyn Store>)).await;
}

#[tokio::test]
async fn of_effects() {
    an_effect_beyond_a_range(&(Arc::new(ModelStore::default()) as Arc<dyn Store>)).await;
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
