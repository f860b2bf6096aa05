//! What jobs cause is recorded once.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_store::Store;
use partita_store::surroundings::ManualClock;
use partita_testkit::{Faults, FaultyStore};

use super::{manual, model, open_design, run, turns_of};
use crate::{Operation, Partita};

/// A club writes to all of its members, who are more than a transaction holds.
const CLUB: &str = r#"
design = "club"

[table]
name          = "club"
key           = ["PK", "SK"]
discriminator = "kind"

[entity.Club]
PK   = "CLUB#{clubId}"
SK   = "CLUB"
kind = "Club"

[entity.Club.attributes]
clubId = "string"
news   = "string default ''"

[entity.Club.allow]
"*" = "public"

[entity.Member]
PK   = "CLUB#{clubId}"
SK   = "MEMBER#{memberId}"
kind = "Member"

[entity.Member.attributes]
clubId   = "string"
memberId = "string"

[entity.Member.refs]
club = "Club, on delete cascade"

[entity.Member.allow]
"*" = "public"

[pattern.members]
query = "PK = 'CLUB#{clubId}' AND begins_with(SK, 'MEMBER#')"

[trigger.told]
on      = "update Club"
each    = "member in members"
mail    = "{member.memberId}@example.org"
subject = "News of {clubId}"
text    = "{news}"

[trigger.left]
on   = "delete Member"
send = "archive"
"#;

/// What jobs cause is recorded once, also where their workers die on a store that fails.
#[tokio::test]
async fn a_job_records_every_message_once() {
    const MEMBERS: usize = 150;
    let faults = Faults {
        conflict: 0.1,
        throttle: 0.05,
        unknown_outcome: 0.05,
    };
    let faulty = Arc::new(FaultyStore::calm(model(), faults, 5));
    let store: Arc<dyn Store> = faulty.clone();
    let clock = manual();
    let partita = open_design(CLUB, &store, clock.clone(), 1).await;
    let given = |pairs: &[(&str, &str)]| -> Map {
        let pairs = pairs.iter();
        pairs
            .map(|(name, text)| ((*name).to_owned(), Value::from(*text)))
            .collect()
    };
    let create = |entity: &str, attributes: Map| Operation::Create {
        entity: entity.to_owned(),
        attributes,
    };
    run(&partita, create("Club", given(&[("clubId", "c")])))
        .await
        .unwrap();
    let names: Vec<String> = (0..MEMBERS).map(|number| format!("m{number:03}")).collect();
    for name in &names {
        let member = given(&[("clubId", "c"), ("memberId", name)]);
        run(&partita, create("Member", member)).await.unwrap();
    }
    let update = Operation::Update {
        entity: "Club".into(),
        identity: vec!["c".into()],
        changes: given(&[("news", "none")]),
        with_deleted: false,
        version: None,
    };
    run(&partita, update).await.unwrap();
    faulty.begin();
    finish(&partita, &clock).await;
    let delete = Operation::Delete {
        entity: "Club".into(),
        identity: vec!["c".into()],
        version: None,
    };
    run(&partita, delete).await.unwrap();
    finish(&partita, &clock).await;
    let listed = loop {
        if let Ok(listed) = partita.outbox(1_000).await {
            break listed;
        }
    };
    let mut mailed: Vec<String> = listed.iter().filter_map(|one| one.to.clone()).collect();
    mailed.sort();
    let expected = names.iter().map(|name| format!("{name}@example.org"));
    assert_eq!(mailed, expected.collect::<Vec<_>>());
    let sent = listed.iter().filter(|one| one.channel == "send:archive");
    let mut sent: Vec<String> = sent.map(|one| one.of.clone()).collect();
    sent.sort();
    let expected = names.iter().map(|name| format!("Member c {name}"));
    assert_eq!(sent, expected.collect::<Vec<_>>());
}

/// Works on jobs until none is left, with workers that die.
async fn finish(partita: &Partita, clock: &ManualClock) {
    for round in 0..300 {
        let working = async { drop(partita.run_jobs().await) };
        tokio::select! {
            biased;
            () = working => {}
            () = turns_of(round * 97 % 700) => {}
        }
        clock.advance(31_000);
        let jobs = partita.jobs().await;
        if jobs.is_ok_and(|jobs| jobs.iter().all(|job| job.state == crate::JobState::Done)) {
            return;
        }
    }
    panic!("it does not come to an end");
}
