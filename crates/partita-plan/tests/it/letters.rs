//! Letters whose replaced states are kept.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, Surroundings};
use partita_store::ModelStore;
use partita_store::surroundings::ManualClock;

const DESIGN: &str = r#"
design = "letters"

[table]
name = "letters"
key  = ["PK", "SK"]

[entity.Letter]
PK = "LETTER#{date}"
SK = "CURRENT"

[entity.Letter.attributes]
date         = "date"
title        = "string"
mood         = "string?"
versionCount = "count of LetterVersion"

[entity.Letter.allow]
"*"    = "signed-in"
revert = "signed-in"

[view.LetterVersion]
history-of = "Letter"
when       = "changed(title)"
PK         = "LETTER#{date}"
SK         = "VERSION#{timestamp}"
keep       = ["date", "title"]

[view.LetterVersion.attributes]
timestamp = "timestamp = now, rising"

[action.revert]
entity = "Letter"
params = { timestamp = "timestamp" }
refs   = { version = "LetterVersion(date, timestamp = timestamp)" }
set    = { title = "{version.title}" }

[pattern.versions]
query = "PK = 'LETTER#{date}' AND begins_with(SK, 'VERSION#')"

[pattern.letter]
get = "PK = 'LETTER#{date}' AND SK = 'CURRENT'"
"#;

async fn run(partita: &Partita, operation: Operation) -> Answer {
    let answer = partita.run(&Caller::user("ann"), operation).await;
    answer.unwrap()
}

fn change(name: &str, value: &str) -> Operation {
    Operation::Update {
        entity: "Letter".to_owned(),
        identity: vec!["1923-05-01".to_owned()],
        changes: Map::from([(name.to_owned(), Value::from(value))]),
        with_deleted: false,
        version: None,
    }
}

/// The times and titles of the versions, in their order.
async fn versions(partita: &Partita) -> Vec<(String, String)> {
    let query = Operation::Query {
        pattern: "versions".to_owned(),
        parameters: [("date".to_owned(), "1923-05-01".to_owned())].into(),
        limit: None,
        cursor: None,
    };
    let found = run(partita, query).await;
    let Answer::Page { records, .. } = found else {
        panic!("{found:?}")
    };
    let text = |map: &Map, name: &str| map[name].as_str().unwrap().to_owned();
    records
        .iter()
        .map(|record| {
            let map = &record.attributes;
            (text(map, "timestamp"), text(map, "title"))
        })
        .collect()
}

#[tokio::test]
async fn every_replaced_title_is_kept_once_and_in_order() {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let clock = Arc::new(ManualClock::at(1_767_225_600_000));
    let surroundings = Surroundings {
        clock: clock.clone(),
        ..Surroundings::default()
    };
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open_with(design, store, surroundings)
        .await
        .unwrap();
    let letter = Operation::Create {
        entity: "Letter".to_owned(),
        attributes: Map::from([
            ("date".to_owned(), Value::from("1923-05-01")),
            ("title".to_owned(), Value::from("one")),
        ]),
    };
    run(&partita, letter).await;
    // The clock stands still, or goes back: the versions stay in the order of the changes.
    run(&partita, change("title", "two")).await;
    run(&partita, change("title", "three")).await;
    clock.set(1_767_225_500_000);
    run(&partita, change("title", "four")).await;
    // Another attribute is no reason, and neither is the same title.
    run(&partita, change("mood", "dark")).await;
    run(&partita, change("title", "four")).await;
    let at = |millis: u32| format!("2026-01-01T00:00:00.00{millis}Z");
    let expected = [(0, "one"), (1, "two"), (2, "three")];
    let expected = expected.map(|(millis, title)| (at(millis), title.to_owned()));
    assert_eq!(versions(&partita).await, expected);

    let revert = Operation::Act {
        action: "revert".to_owned(),
        entity: Some("Letter".to_owned()),
        identity: vec!["1923-05-01".to_owned()],
        given: Map::from([("timestamp".to_owned(), Value::from(at(1)))]),
        version: None,
    };
    let reverted = run(&partita, revert).await;
    let Answer::Record(letter) = reverted else {
        panic!("{reverted:?}")
    };
    assert_eq!(letter.attributes["title"], Value::from("two"));
    assert_eq!(letter.attributes["versionCount"], Value::from(4));
    assert_eq!(versions(&partita).await.len(), 4);
}
