//! The schedules of mediahub: mails about unread notifications and balances, by preference.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use partita_core::{Map, Number, Value};
use partita_plan::moving::{Moving, Way};
use partita_plan::outbox::{Content, Courier, Message, Transport, Undelivered};
use partita_plan::{Caller, Operation, Partita, Surroundings};
use partita_store::request::{PutItem, ReturnValues};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};

use crate::stage::{engine, open};

/// 2036-01-31T00:00:00Z. DynamoDB Local removes what has expired by the machine's own clock.
const START: i64 = 2_085_350_400_000;
const HOUR: i64 = 3_600_000;

const ROOT: &str = "00000000-0000-4000-8000-00000000ad01";

/// Whoever is mailed, and about what.
#[derive(Default)]
struct Letterbox(Mutex<Vec<(String, String)>>);

#[async_trait]
impl Transport for Letterbox {
    async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        if let Content::Mail(mail) = &message.content {
            let mail = (mail.to.clone(), mail.text.clone());
            self.0.lock().unwrap().push(mail);
        }
        Ok(())
    }
}

/// Users with their preferences: who wants which mails, and is verified.
const USERS: [(&str, &[&str], bool); 5] = [
    ("a11", &["unreadNotifications", "pscBalance"], true),
    ("b0b", &["unreadNotifications"], true),
    ("c1d", &[], true),
    ("dad", &["unreadNotifications", "pscBalance"], false),
    ("e11", &["unreadNotifications"], true),
];

fn id(name: &str) -> String {
    format!("00000000-0000-4000-8000-000000000{name}")
}

async fn run(partita: &Partita, caller: &Caller, operation: Operation) {
    partita.run(caller, operation).await.unwrap();
}

fn create(entity: &str, given: Vec<(&str, Value)>) -> Operation {
    let attributes = given
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Operation::Create {
        entity: entity.to_owned(),
        attributes: attributes.collect::<Map>(),
    }
}

/// Users, their coins, and followers of all but the last, who are notified of.
async fn fill(partita: &Partita, store: &dyn Store, table: &str) {
    let text = |name: &str, value: &str| (name.to_owned(), Value::from(value));
    let root = Map::from([
        text("PK", &format!("USER#{ROOT}")),
        text("SK", "METADATA"),
        text("EntityType", "User"),
        text("userId", ROOT),
        text("email", "root@example.org"),
        text("username", "root"),
        text("provider", "email"),
        text("role", "admin"),
        text("createdAt", "2026-01-01T10:00:00.000Z"),
        ("emailPreferences".to_owned(), Value::M(Map::new())),
    ]);
    let put = PutItem::new(table.parse().unwrap(), root);
    store.put_item(put, ReturnValues::None).await.unwrap();
    let admin = Caller::user(ROOT);
    for (name, wants, is_verified) in USERS {
        let wants = wants
            .iter()
            .map(|one| ((*one).to_owned(), Value::Bool(true)));
        let given = vec![
            ("userId", Value::from(id(name))),
            ("email", Value::from(format!("{name}@example.org"))),
            ("username", Value::from(name)),
            ("provider", Value::from("email")),
            ("emailPreferences", Value::M(wants.collect())),
        ];
        run(partita, &admin, create("User", given)).await;
        if is_verified {
            let changes = Map::from([("isEmailVerified", Value::Bool(true))]);
            let update = Operation::Update {
                entity: "User".into(),
                identity: vec![id(name)],
                changes,
                with_deleted: false,
                version: None,
            };
            run(partita, &admin, update).await;
        }
        let earn = Operation::Act {
            action: "earn".into(),
            entity: Some("User".into()),
            identity: vec![id(name)],
            given: Map::from([("amount", Value::N(Number::from(12)))]),
            version: None,
        };
        run(partita, &admin, earn).await;
    }
    for (name, ..) in &USERS[..4] {
        let given = vec![
            ("followerId", Value::from(id("e11"))),
            ("followedId", Value::from(id(name))),
        ];
        run(partita, &Caller::user(id("e11")), create("Follow", given)).await;
    }
}

/// Two servers look at the same time whether a period has begun.
async fn work(one: &Partita, two: &Partita) {
    let (first, second) = tokio::join!(one.start_schedules(), two.start_schedules());
    first.unwrap();
    second.unwrap();
    let (first, second) = tokio::join!(one.run_jobs(), two.run_jobs());
    first.unwrap();
    second.unwrap();
}

pub(crate) async fn mail_each_user_once(store: Arc<dyn Store>) {
    let clock = Arc::new(ManualClock::at(START));
    let table = "schedules";
    let one = Arc::new(open("mediahub", table, &store, &clock).await);
    let two = open("mediahub", table, &store, &clock).await;
    let two = two.with_tokens_from(Arc::new(partita_store::surroundings::SystemEntropy));
    fill(&one, &*store, table).await;
    let letters = Arc::new(Letterbox::default());
    let courier = Courier::new(one.clone(), letters.clone());
    work(&one, &two).await;
    let mailed = async |hours: i64| {
        clock.advance(hours * HOUR);
        work(&one, &two).await;
        while courier.deliver().await.unwrap().delivered > 0 {}
        let mut mails = std::mem::take(&mut *letters.0.lock().unwrap());
        mails.sort();
        mails
    };
    let digest = |name: &str| {
        let text = format!("Hello {name}, there are notifications that you have not read yet.");
        (format!("{name}@example.org"), text)
    };
    let balance = |name: &str| {
        let text = format!("Hello {name}, your balance is 12 PSC.");
        (format!("{name}@example.org"), text)
    };
    assert_eq!(mailed(7).await, []);
    assert_eq!(mailed(1).await, [digest("a11"), digest("b0b")]);
    assert_eq!(mailed(1).await, []);
    // The first of the month.
    let both = mailed(24).await;
    assert_eq!(both, [digest("a11"), balance("a11"), digest("b0b")]);
    // Ten days without a server.
    assert_eq!(mailed(240).await, [digest("a11"), digest("b0b")]);
}

#[tokio::test]
async fn each_user_is_mailed_once_in_a_period() {
    mail_each_user_once(Arc::new(ModelStore::default())).await;
}

/// A copy beside the store that it is of mails nobody and begins nothing before the operator lets it:
/// the other store does.
#[tokio::test]
async fn a_copy_waits_beside_the_other_store() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = Arc::new(ManualClock::at(START));
    let table = "copied";
    let copy = Arc::new(open("mediahub", table, &store, &clock).await);
    fill(&copy, &*store, table).await;
    let letters = Arc::new(Letterbox::default());
    let courier = Courier::new(copy.clone(), letters.clone());
    assert_eq!(copy.start_schedules().await.unwrap(), 0);
    clock.advance(8 * HOUR);
    assert_eq!(copy.start_schedules().await.unwrap(), 1);
    copy.run_jobs().await.unwrap();
    // The copy is made here: two mails are recorded, and the next period has begun.
    clock.advance(24 * HOUR);
    let mark = Moving {
        way: Way::Beside,
        place: "/srv/one".to_owned(),
        since: "2036-01-31T08:00:00.000Z".to_owned(),
        waited: false,
    };
    let sidecar = format!("{table}-partita");
    let put = PutItem::new(sidecar.parse().unwrap(), mark.item());
    store.put_item(put, ReturnValues::None).await.unwrap();
    assert_eq!(copy.start_schedules().await.unwrap(), 0);
    assert_eq!(courier.deliver().await.unwrap().delivered, 0);
    assert_eq!(letters.0.lock().unwrap().len(), 0);
    // It is opened as any other store.
    let again = open("mediahub", table, &store, &clock).await;
    assert_eq!(again.waits_beside().await.unwrap(), Some(mark));
    let why = again.why_outbox_waits().await.unwrap().unwrap();
    assert!(why.contains("beside /srv/one"), "{why}");

    assert!(copy.resume_outbox().await.unwrap());
    assert!(!copy.resume_outbox().await.unwrap());
    while courier.deliver().await.unwrap().delivered > 0 {}
    assert_eq!(letters.0.lock().unwrap().len(), 2);
    assert!(copy.start_schedules().await.unwrap() > 0);
}

const CLUB: &str = r#"
design = "club"

[table]
name = "club-of-kills"
key  = ["PK", "SK"]

[entity.Member]
PK = "MEMBER#{memberId}"
SK = "MEMBER"

[entity.Member.attributes]
memberId = "string"
turns    = "int default 0"

[entity.Member.allow]
"*" = "public"

[action.write]
entity = "Member"
add    = { turns = 1 }

[[action.write.then]]
mail    = "{memberId}@example.org"
subject = "News"
text    = "at {now}"

[schedule.news]
every  = "day at 08:00"
entity = "Member"
apply  = "write"
"#;

/// Several servers begin the periods of a schedule and die at any moment, also while the store has a
/// request of theirs. Everybody is mailed once in each period all the same.
pub(crate) async fn outlive_kills(store: Arc<dyn Store>, seed: u64) {
    const MEMBERS: usize = 60;
    const PERIODS: i64 = 3;
    let clock = Arc::new(ManualClock::at(START));
    let mut random = fastrand::Rng::with_seed(seed);
    let open = |seed: u64| {
        let surroundings = Surroundings {
            clock: clock.clone(),
            entropy: Arc::new(SeededEntropy::new(seed)),
            ..Surroundings::default()
        };
        let (design, _) = partita_design::check(CLUB, &|_| None);
        Partita::open_with(design.unwrap(), store.clone(), surroundings)
    };
    let one = open(seed).await.unwrap();
    for number in 0..MEMBERS {
        let member = create("Member", vec![("memberId", format!("m{number:02}").into())]);
        run(&one, &Caller::default(), member).await;
    }
    one.start_schedules().await.unwrap();
    for period in 0..PERIODS {
        clock.set(START + (24 * period + 9) * HOUR);
        for round in 0..8 {
            let servers = (0..3).map(|number| {
                let server = open(random.u64(..));
                let life = Duration::from_millis(random.u64(1..=150 + 50 * number));
                async move {
                    let working = async {
                        let server = server.await.unwrap();
                        let _ = server.start_schedules().await;
                        let _ = server.run_jobs().await;
                    };
                    let _ = tokio::time::timeout(life, working).await;
                }
            });
            futures::future::join_all(servers.collect::<Vec<_>>()).await;
            clock.advance(20_000 + round);
        }
        // The last one lives.
        for _ in 0..10 {
            one.start_schedules().await.unwrap();
            one.run_jobs().await.unwrap();
            clock.advance(61_000);
        }
    }
    let mails = one.outbox(1_000).await.unwrap();
    let mut count: BTreeMap<String, i64> = BTreeMap::new();
    for mail in mails {
        *count.entry(mail.to.unwrap()).or_default() += 1;
    }
    assert_eq!(count.len(), MEMBERS, "{count:?}");
    assert!(count.values().all(|turns| *turns == PERIODS), "{count:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_outlives_its_servers() {
    let folder = tempfile::tempdir().unwrap();
    outlive_kills(Arc::new(engine(folder.path())), 1).await;
}

const BIN: &str = r#"
design = "bin"

[table]
name = "bin"
key  = ["PK", "SK"]

[entity.Note]
PK = "NOTE#{id}"
SK = "NOTE"

[entity.Note.attributes]
id  = "string"
due = "timestamp"

[entity.Note.allow]
"*" = "public"

[schedule.purge]
every  = "hour"
entity = "Note"
when   = "due < now"
apply  = "discard"

[action.discard]
entity = "Note"

[[action.discard.then]]
delete = "Note(id)"
"#;

/// An action that is nothing but an effect on its own item removes what is due.
#[tokio::test]
async fn what_is_due_is_removed() {
    let (design, diagnostics) = partita_design::check(BIN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let clock = Arc::new(ManualClock::at(START));
    let surroundings = Surroundings {
        clock: clock.clone(),
        ..Surroundings::default()
    };
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open_with(design, store, surroundings);
    let partita = partita.await.unwrap();
    for (id, due) in [("soon", START + HOUR / 2), ("later", START + 90 * HOUR)] {
        let due = Value::from(partita_design::time::format_millis(due));
        let note = create("Note", vec![("id", id.into()), ("due", due)]);
        run(&partita, &Caller::default(), note).await;
    }
    assert_eq!(partita.start_schedules().await.unwrap(), 0);
    clock.advance(HOUR);
    assert_eq!(partita.start_schedules().await.unwrap(), 1);
    partita.run_jobs().await.unwrap();
    for (id, is_there) in [("soon", false), ("later", true)] {
        let get = Operation::Get {
            entity: "Note".to_owned(),
            identity: vec![id.to_owned()],
            with_deleted: false,
        };
        let found = partita.run(&Caller::default(), get).await;
        assert_eq!(found.is_ok(), is_there, "{found:?}");
    }
}
