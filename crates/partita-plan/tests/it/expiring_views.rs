//! Views of items that expire: their records expire with them, whether or not the design keeps the
//! time.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::{Map, Number, Value};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::request::{PutItem, ReturnValues};
use partita_store::surroundings::ManualClock;
use partita_store::{ModelStore, Store};
use partita_verify::{Collected, Permission};

use crate::stage::{NOW, items, open_at, texts};

const DESIGN: &str = r#"
design = "codes"

[table]
name          = "codes"
key           = ["PK", "SK"]
discriminator = "Kind"
ttl           = "until"

[entity.Code]
PK = "CODE#{id}"
SK = "CODE"

[entity.Code.attributes]
id    = "string"
text  = "string"
tags  = "list of string ..9 default []"
until = "expiry?"

[entity.Code.allow]
"*" = "signed-in"

[view.All]
of   = "Code"
PK   = "ALL"
SK   = "{id}"
keep = ["text"]

[view.Tagged]
of   = "Code"
each = "tag in tags"
PK   = "TAG#{tag}"
SK   = "{id}"

[view.Version]
history-of = "Code"
PK         = "CODE#{id}"
SK         = "VERSION#{text}"
keep       = ["text"]

[view.Passing]
history-of = "Code"
PK         = "CODE#{id}"
SK         = "PASSING#{text}"
keep       = ["text", "until"]

[pattern.all]
query = "PK = 'ALL'"

[pattern.tagged]
query = "PK = 'TAG#{tag}'"
"#;

struct Codes {
    store: Arc<ModelStore>,
    partita: Partita,
    clock: Arc<ManualClock>,
}

impl Codes {
    async fn open() -> Codes {
        let clock = Arc::new(ManualClock::at(NOW));
        let store = Arc::new(ModelStore::new(clock.clone()));
        let partita = open_at(DESIGN, store.clone(), 1, clock.clone()).await;
        Codes {
            store,
            partita,
            clock,
        }
    }

    async fn create(&self, id: &str, until: Option<i64>) -> Result<Answer, PlanError> {
        let mut attributes = texts(&[("id", id), ("text", "x")]);
        attributes.insert("tags", Value::L(vec!["a".into(), "b".into()]));
        attributes.extend(until.map(|after| ("until", seconds(after))));
        let entity = "Code".into();
        self.run(Operation::Create { entity, attributes }).await
    }

    async fn run(&self, operation: Operation) -> Result<Answer, PlanError> {
        self.partita.run(&Caller::user("ann"), operation).await
    }

    async fn update(&self, changes: Map) {
        let update = Operation::Update {
            entity: "Code".into(),
            identity: vec!["1".into()],
            changes,
            with_deleted: false,
            version: None,
        };
        self.run(update).await.unwrap();
    }

    /// How many records the patterns show.
    async fn shown(&self) -> [usize; 2] {
        let mut shown = [0; 2];
        let tag = BTreeMap::from([("tag".to_owned(), "a".to_owned())]);
        let patterns = [("all", BTreeMap::new()), ("tagged", tag)];
        for (count, (pattern, parameters)) in shown.iter_mut().zip(patterns) {
            let pattern = pattern.to_owned();
            let query = Operation::Query {
                pattern,
                parameters,
                limit: None,
                cursor: None,
            };
            let Answer::Page { records, .. } = self.run(query).await.unwrap() else {
                panic!("no page")
            };
            for record in &records {
                assert_eq!(record.attributes.get("until"), None, "it is not asked for");
            }
            *count = records.len();
        }
        shown
    }

    async fn assert_clean(&self) {
        let mut found = Collected::default();
        let report = self.partita.verify(&mut found).await.unwrap();
        assert!(report.is_clean(), "{:?}", found.open);
    }
}

fn seconds(after: i64) -> Value {
    Value::N(Number::from(NOW / 1000 + after))
}

#[tokio::test]
async fn expire_with_their_items() {
    let codes = Codes::open().await;
    codes.create("1", Some(10)).await.unwrap();
    for item in items(&*codes.store, "codes").await {
        assert_eq!(item.get("until"), Some(&seconds(10)), "{item:?}");
    }
    assert_eq!(codes.shown().await, [1, 1]);
    codes.update(Map::from([("until", seconds(20))])).await;
    codes.clock.set(NOW + 15_000);
    assert_eq!(codes.shown().await, [1, 1], "it was put off");
    codes.assert_clean().await;
    codes.clock.set(NOW + 25_000);
    assert_eq!(codes.shown().await, [0, 0]);
    // Nothing was swept; the identity is free all the same.
    codes.create("1", None).await.unwrap();
    assert_eq!(codes.shown().await, [1, 1]);
    codes.assert_clean().await;
}

/// Records from before they had the time.
#[tokio::test]
async fn are_mended() {
    let codes = Codes::open().await;
    for id in ["1", "2"] {
        codes.create(id, Some(10)).await.unwrap();
    }
    for mut item in items(&*codes.store, "codes").await {
        if item["PK"]
            .as_str()
            .is_some_and(|key| !key.starts_with("CODE"))
        {
            item.remove("until");
            let put = PutItem::new("codes".parse().unwrap(), item);
            codes.store.put_item(put, ReturnValues::None).await.unwrap();
        }
    }
    let mut found = Collected::default();
    let report = codes.partita.verify(&mut found).await.unwrap();
    assert_eq!((report.drifts, report.is_clean()), (6, false));
    let repaired = codes
        .partita
        .repair(Permission::granted(), &mut found)
        .await;
    assert!(repaired.unwrap().is_clean(), "{:?}", found.open);
    codes.clock.set(NOW + 15_000);
    assert_eq!(codes.shown().await, [0, 0]);
    codes.create("1", None).await.unwrap();
    codes.assert_clean().await;
}

/// States that were kept of an item that expires stay, or go at the time that they keep.
#[tokio::test]
async fn of_the_past_stay() {
    let codes = Codes::open().await;
    codes.create("1", Some(10)).await.unwrap();
    let later = [("text", Value::from("y")), ("until", seconds(20))];
    codes.update(Map::from(later)).await;
    codes.clock.set(NOW + 25_000);
    codes.assert_clean().await;
    codes.create("1", None).await.unwrap();
    codes.assert_clean().await;
    let stored = items(&*codes.store, "codes").await;
    let kept = |sort: &str| stored.iter().find(|item| item["SK"] == Value::from(sort));
    assert_eq!(kept("VERSION#x").and_then(|state| state.get("until")), None);
    let passing = kept("PASSING#x").unwrap();
    assert_eq!(passing["until"], seconds(10));
}
