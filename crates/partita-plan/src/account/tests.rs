//! Accounts, on the model.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};

use super::{Account, Claims, KeptPromise, NewSession, Promise, SignUp, SignedUp, folded};
use crate::{Caller, Current, Operation, Partita, Patience, PlanError, Surroundings};

const DESIGN: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[caller]
type = "User"

[accounts]
entity = "User"

[accounts.provision]
email = "email"

[entity.User]
PK = "USER#{userId}"
SK = "PROFILE"

[entity.User.attributes]
userId = "string"
email  = "string email"

[entity.User.allow]
"*" = "public"
"#;

fn compiled(text: &str) -> partita_design::Design {
    let (design, diagnostics) = partita_design::check(text, &|_| None);
    design.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

async fn open() -> Partita {
    open_with(DESIGN).await.0
}

async fn open_with(text: &str) -> (Partita, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_767_225_600_000));
    let surroundings = Surroundings {
        clock: clock.clone(),
        entropy: Arc::new(SeededEntropy::new(1)),
        cursor_key: [7; 32],
        patience: Patience::default(),
    };
    let store = Arc::new(ModelStore::default());
    let opened = Partita::open_with(compiled(text), store, surroundings).await;
    (opened.unwrap(), clock)
}

fn claims(subject: &str) -> Claims {
    Claims {
        subject: subject.to_owned(),
        signed_in_millis: None,
        others: Map::from([("email", Value::from("ann@example.org"))]),
    }
}

#[test]
fn only_letters_of_ascii_are_folded() {
    assert_eq!(folded(" Mark@Example.org\n"), "mark@example.org");
    for other in ["mar\u{212a}@example.org", "\u{a0}mark@example.org"] {
        assert_eq!(folded(other), other);
    }
}

/// However the account came about, and whether a token was ever shown for it or not.
#[tokio::test]
async fn who_is_deleted_does_not_come_back_with_a_token() {
    let partita = open().await;
    let run = async |operation| partita.run(&Caller::user("root"), operation).await;
    for (id, is_seen) in [("made", true), ("seen", true), ("unseen", false)] {
        if id != "made" {
            let attributes = Map::from([
                ("userId", Value::from(id)),
                ("email", Value::from("ann@example.org")),
            ]);
            let entity = "User".to_owned();
            let create = Operation::Create { entity, attributes };
            run(create).await.unwrap();
        }
        if is_seen {
            assert!(partita.may_act(id, Some(&claims(id))).await.unwrap());
        }
        let delete = Operation::Delete {
            entity: "User".to_owned(),
            identity: vec![id.to_owned()],
            version: None,
        };
        run(delete).await.unwrap();
        for claims in [Some(claims(id)), None] {
            let may_act = partita.may_act(id, claims.as_ref()).await.unwrap();
            assert!(!may_act, "{id}");
        }
    }
}

/// People who sign in, and confirm their addresses.
const CONFIRMING: &str = r#"
design = "circle"

[table]
name = "circle"
key  = ["PK", "SK"]
ttl  = "ttl"

[index]
bySession = ["sessionPK", "sessionSK"]

[caller]
type = "User"

[accounts]
entity    = "User"
login     = "email"
password  = "password"
verified  = "isVerified"
active    = "isActive"
signed-in = "signedInAt"
session   = { entity = "Session", user = "userId", secret = "secretHash", created = "createdAt", expires = "expiresAt" }

[accounts.verification]
entity  = "Confirmation"
token   = "token"
user    = "userId"
login   = "email"
expires = "expiresAt"

[accounts.reset]
entity  = "Reset"
token   = "token"
user    = "userId"
login   = "email"
expires = "expiresAt"

[entity.User]
PK = "USER#{userId}"
SK = "USER"

[entity.User.attributes]
userId     = "uuid, generated"
email      = "string email"
password   = "password?"
isVerified = "bool default false"
isActive   = "bool default true"
signedInAt = "timestamp?"
name       = "string"

[entity.User.unique]
email = "UNIQUE#EMAIL#{email}"
both  = "UNIQUE#BOTH#{name}#{email}"

[entity.User.allow]
read   = "userId = caller"
update = "userId = caller"
"write email isVerified isActive signedInAt" = "never"

[entity.Session]
PK        = "SESSION#{sessionId}"
SK        = "SESSION"
sessionPK = "USER#{userId}"
sessionSK = "{createdAt}#{sessionId}"

[entity.Session.attributes]
sessionId  = "uuid, generated"
userId     = "uuid, fixed"
secretHash = "string?, secret"
createdAt  = "timestamp = now on create"
expiresAt  = "timestamp"
ttl        = "expiry = expiresAt"

[entity.Session.refs]
user = "User, on delete cascade"

[entity.Session.allow]
"*" = "never"

[entity.Confirmation]
PK = "CONFIRMATION#{token}"
SK = "CONFIRMATION"

[entity.Confirmation.attributes]
token     = "string, secret"
userId    = "uuid"
email     = "string"
expiresAt = "timestamp"
ttl       = "expiry = expiresAt"

[entity.Confirmation.allow]
"*" = "never"

[entity.Reset]
PK = "RESET#{token}"
SK = "RESET"

[entity.Reset.attributes]
token     = "string, secret"
userId    = "uuid"
email     = "string"
expiresAt = "timestamp"
ttl       = "expiry = expiresAt"

[entity.Reset.allow]
"*" = "never"
"#;

/// The same without links.
fn trusting() -> String {
    let (before, rest) = CONFIRMING.split_once("[accounts.verification]").unwrap();
    let (_, after) = rest.split_once("[entity.User]").unwrap();
    let before = before.replace("verified  = \"isVerified\"\n", "");
    format!("{before}[entity.User]{after}")
}

fn ann(name: &str) -> SignUp {
    SignUp {
        login: "ann@example.org".to_owned(),
        password: "$hash".to_owned(),
        given: Map::from([("name", Value::from(name))]),
        public_url: "http://127.0.0.1".to_owned(),
    }
}

/// Ann's account, with its first session.
async fn signed_up(partita: &Partita) -> (Account, NewSession) {
    let signed_up = partita.sign_up(&ann("Ann")).await.unwrap();
    let SignedUp::Created { id, session } = signed_up else {
        panic!("{signed_up:?}");
    };
    let account = partita.account(&id).await.unwrap();
    (account.unwrap(), session.unwrap())
}

/// Whoever has the account has the session: no design that changes in between leaves one without the
/// other.
#[tokio::test]
async fn a_sign_up_opens_a_session_in_its_own_transaction() {
    let (partita, clock) = open_with(&trusting()).await;
    let (account, session) = signed_up(&partita).await;
    let now = partita_store::Clock::now_millis(&*clock);
    assert_eq!(account.signed_in_millis, Some(now));
    let (_, found) = partita.session(&session.credential).await.unwrap().unwrap();
    assert_eq!(found, account);
    let again = partita.sign_up(&ann("Anna")).await.unwrap();
    assert_eq!(again, SignedUp::Taken);
}

/// Passwords take long to hash, and meanwhile an administrator closes the account.
#[tokio::test]
async fn nobody_signs_in_to_an_account_that_is_closed_meanwhile() {
    let (partita, _) = open_with(&trusting()).await;
    let (account, _) = signed_up(&partita).await;
    partita.sign_in(&account, None).await.unwrap();
    let users = partita.people().unwrap().1;
    let active = users.attribute("isActive").unwrap();
    let close = super::errand::Errand::Change {
        entity: users,
        identity: super::identity_of(users, &account.id),
        set: vec![(active, Some(Value::Bool(false)))],
        expect: Vec::new(),
    };
    let nobody = Caller::anonymous();
    partita.run_errands(&nobody, vec![close]).await.unwrap();
    let refused = partita.sign_in(&account, None).await;
    assert_eq!(refused, Err(PlanError::Outdated));
}

/// Where a guard of several attributes has the login, the owner is told as of the login alone.
#[tokio::test]
async fn a_login_that_is_taken_with_other_values_is_taken() {
    let (partita, _) = open_with(CONFIRMING).await;
    for expected in [true, false] {
        let new = ann("Ann");
        let checked = partita.check_sign_up(&new.login, &new.given, Vec::new());
        checked.await.unwrap();
        let id = partita.promise(&Promise::SignUp(ann("Ann"))).await.unwrap();
        let kept = partita.keep_promise(&id).await.unwrap();
        let Some(KeptPromise::SignedUp(signed_up)) = kept else {
            panic!("{kept:?}");
        };
        assert_eq!(signed_up != SignedUp::Taken, expected);
    }
    assert_eq!(partita.outbox(10).await.unwrap().len(), 2);
}

/// What was answered is carried out with the design that is served then.
#[tokio::test]
async fn a_promise_is_kept_though_the_design_changes() {
    let (partita, clock) = open_with(CONFIRMING).await;
    let (login, public_url) = ("ann@example.org".to_owned(), String::new());
    let reset = Promise::Reset { login, public_url };
    let current = Current::new(partita);
    for promise in [Promise::SignUp(ann("Ann")), reset] {
        let before = current.get();
        let id = before.promise(&promise).await.unwrap();
        match current.migration().await.unwrap() {
            None => {
                let both = "both  = ";
                let more =
                    CONFIRMING.replace(both, &format!("name  = \"UNIQUE#NAME#{{name}}\"\n{both}"));
                current.start(compiled(&more), Vec::new()).await.unwrap()
            }
            Some(_) => current.roll_back().await.unwrap(),
        };
        let refused = before.keep_promise(&id).await;
        assert_eq!(refused, Err(PlanError::Superseded));
        clock.advance(60_000);
        let now = current.get();
        let waiting = now.outbox(10).await.unwrap().len();
        assert_eq!(now.keep_promises().await.unwrap(), 1);
        assert_eq!(now.outbox(10).await.unwrap().len(), waiting + 1);
    }
}

/// Who asks for another address does so with the password of then.
#[tokio::test]
async fn a_new_address_that_was_asked_for_with_an_earlier_password_gets_no_link() {
    let (partita, _) = open_with(CONFIRMING).await;
    let id = partita.promise(&Promise::SignUp(ann("Ann"))).await.unwrap();
    partita.keep_promise(&id).await.unwrap();
    let found = async || {
        partita
            .account_with("ann@example.org")
            .await
            .unwrap()
            .unwrap()
    };
    let asked = async || {
        let change = Promise::Change {
            asked: (&found().await).into(),
            login: "anna@example.org".to_owned(),
            public_url: String::new(),
        };
        partita.promise(&change).await.unwrap()
    };
    let waiting = async || partita.outbox(10).await.unwrap().len();
    let id = asked().await;
    partita.keep_promise(&id).await.unwrap();
    assert_eq!(waiting().await, 2);
    let id = asked().await;
    let account = found().await;
    let changed = partita.change_password(&account, "$other", None);
    changed.await.unwrap();
    assert_eq!(
        partita.keep_promise(&id).await.unwrap(),
        Some(KeptPromise::Mailed(None))
    );
    assert_eq!(waiting().await, 2);
    assert_eq!(partita.keep_promise(&id).await.unwrap(), None);
}
