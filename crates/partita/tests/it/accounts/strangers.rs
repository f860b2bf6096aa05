//! What strangers can learn and do: nothing of others.

use std::collections::HashMap;
use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Partita, PlanError, Promise, SignUp};
use partita_store::ModelStore;
use reqwest::StatusCode;
use serde_json::json;

use super::counting::Counting;
use super::{Circle, MINUTE, PASSWORD, kind, wait_for_link};
use crate::stage;

/// A hundred sign up with one address, and one of them gets it.
pub(crate) async fn race(circle: Circle) {
    let circle = Arc::new(circle);
    let mut tries = Vec::new();
    for number in 0..100 {
        let circle = circle.clone();
        tries.push(tokio::spawn(async move {
            let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": format!("ann{number}")});
            circle.post("auth/sign-up", None, body).await.0
        }));
    }
    let mut answers: HashMap<StatusCode, usize> = HashMap::new();
    for one in tries {
        *answers.entry(one.await.unwrap()).or_default() += 1;
    }
    // Those who waited too long for a thread are told so; all others are told the same.
    let told = answers.remove(&StatusCode::ACCEPTED).unwrap();
    answers.remove(&StatusCode::TOO_MANY_REQUESTS);
    assert!(told > 0 && answers.is_empty(), "{answers:?}");
    circle.settled().await;
    let stored = circle.stored().await;
    assert_eq!(stored.matches("UNIQUE#EMAIL#ann").count(), 1, "{stored}");
    let mails = circle.mails().await;
    let links = mails
        .iter()
        .filter(|mail| mail.text.contains("verify-email"));
    assert_eq!(links.count(), 1, "{mails:?}");
    assert!(mails.len() <= 5, "{mails:?}");
}

/// An answer does not tell who has an account.
pub(crate) async fn learn_nothing(circle: &Circle) {
    circle.member("ann").await;
    let sign_up =
        |email: &str, handle: &str| json!({"email": email, "password": PASSWORD, "handle": handle});
    let free = circle
        .post("auth/sign-up", None, sign_up("bob@example.org", "bob"))
        .await;
    let taken = circle
        .post("auth/sign-up", None, sign_up("ann@example.org", "ann2"))
        .await;
    assert_eq!(free, taken);
    let mails = circle.mails().await;
    let told: Vec<_> = mails
        .iter()
        .map(|mail| (mail.to.as_str(), mail.text.contains("token=")))
        .collect();
    assert!(
        told.contains(&("bob@example.org", true)) && told.contains(&("ann@example.org", false)),
        "{told:?}"
    );
    // What else is taken is said, and whether the address is taken too is not.
    let one = circle
        .post("auth/sign-up", None, sign_up("ann@example.org", "ann"))
        .await
        .1;
    let two = circle
        .post("auth/sign-up", None, sign_up("new@example.org", "ann"))
        .await
        .1;
    assert_eq!((kind(&one), &one["faults"]), (kind(&two), &two["faults"]));
    for password in ["", "short"] {
        let mut body = sign_up("new@example.org", "someone");
        body["password"] = json!(password);
        let (status, told) = circle.post("auth/sign-up", None, body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{told}");
    }
    // Nor is it where something else is wrong.
    for (name, value) in [
        ("handle", json!("")),
        ("stray", json!(1)),
        ("handle", json!(7)),
    ] {
        let mut faulty = Vec::new();
        for email in ["ann@example.org", "new@example.org"] {
            let mut body = sign_up(email, "someone");
            body[name] = value.clone();
            let (status, told) = circle.post("auth/sign-up", None, body).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{told}");
            faulty.push((told["detail"].clone(), told["faults"].clone()));
        }
        assert_eq!(faulty[0], faulty[1], "{name}");
    }
    let unknown = circle.sign_in("nobody@example.org", PASSWORD).await;
    let known = circle.sign_in("ann@example.org", "wrong password").await;
    assert_eq!(
        (unknown.0, &unknown.1["detail"]),
        (known.0, &known.1["detail"])
    );
    let asked = |login: &str| json!({ "login": login });
    let known = circle
        .post("auth/request-reset", None, asked("ann@example.org"))
        .await;
    assert_eq!(
        known,
        circle
            .post("auth/request-reset", None, asked("nobody@example.org"))
            .await
    );
}

/// Everything that is wrong is named at once, whoever has the address.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_names_all_faults() {
    let circle = Circle::in_memory().await;
    circle.member("ann").await;
    for email in ["ann@example.org", "new@example.org"] {
        let body = json!({"email": email, "password": "short", "handle": "", "stray": 1, "role": "admin", "cookie": 7});
        let (status, problem) = circle.post("auth/sign-up", None, body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert_eq!(
            attributes(&problem),
            ["cookie", "handle", "password", "role", "stray"],
            "{problem}"
        );
    }
    let nothing = circle.post("auth/sign-up", None, json!({})).await.1;
    assert_eq!(attributes(&nothing), ["email", "handle", "password"]);
    let misspelt = json!({"email": "ann", "password": "short", "handle": "ann"});
    let misspelt = circle.post("auth/sign-up", None, misspelt).await.1;
    assert_eq!(attributes(&misspelt), ["email", "handle", "password"]);
    assert!(circle.mails().await.is_empty());
}

/// The attributes of the faults of a problem, sorted.
fn attributes(problem: &serde_json::Value) -> Vec<&str> {
    let faults = problem["faults"].as_array().into_iter().flatten();
    let mut names: Vec<&str> = faults
        .filter_map(|fault| fault["attribute"].as_str())
        .collect();
    names.sort_unstable();
    names
}

/// What is done before the answer is the same, whoever has the address: the same requests to the
/// store, with as many rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_asks_the_store_the_same_before_its_answer() {
    let counting = Arc::new(Counting::default());
    let circle = Circle::open(counting.clone(), "circle").await;
    circle.member("ann").await;
    circle.settled().await;
    let mut asked = Vec::new();
    for (email, handle) in [("ann@example.org", "other"), ("bob@example.org", "third")] {
        let given = Map::from([("handle", Value::from(handle))]);
        counting.taken();
        let checked = circle.partita.check_sign_up(email, &given, Vec::new());
        checked.await.unwrap();
        let new = SignUp {
            login: email.to_owned(),
            password: "$hash".to_owned(),
            given,
            public_url: "http://127.0.0.1".to_owned(),
        };
        let id = circle.partita.promise(&Promise::SignUp(new)).await.unwrap();
        asked.push(counting.taken());
        circle.partita.keep_promise(&id).await.unwrap().unwrap();
    }
    assert!(!asked[0].is_empty());
    assert_eq!(asked[0], asked[1]);
}

/// A link leads to the server's own address, whatever a request calls it; and an answer with a secret
/// is not kept for those who repeat the request.
#[tokio::test(flavor = "multi_thread")]
async fn neither_host_nor_idempotency_key_counts() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let post = |path: &str, body: serde_json::Value| {
        let request = circle.request(reqwest::Method::POST, path, None);
        let request = request.header("Host", "evil.example");
        request.header("Idempotency-Key", "one").json(&body).send()
    };
    let asked = post("auth/request-reset", json!({ "login": login })).await;
    assert_eq!(asked.unwrap().status(), StatusCode::ACCEPTED);
    let mails = circle.some_mails().await;
    let link = "http://127.0.0.1:8000/circle/auth/reset?token=";
    assert!(mails[0].text.contains(link), "{mails:?}");
    let mut tokens = Vec::new();
    for password in [PASSWORD, PASSWORD, "another one"] {
        let body = json!({ "login": login, "password": password });
        let (_, answer) = super::answer(post("auth/sign-in", body).await.unwrap()).await;
        tokens.push(answer["token"].as_str().map(str::to_owned));
    }
    assert!(tokens[0].is_some() && tokens[1].is_some(), "{tokens:?}");
    assert_ne!(tokens[0], tokens[1]);
    assert_eq!(tokens[2], None);
}

/// Accounts that administrators make may begin as confirmed. One that somebody signs up for does not.
#[tokio::test]
async fn who_signs_up_has_confirmed_nothing() {
    let text = std::fs::read_to_string(stage::folder("circle").join("circle.toml")).unwrap();
    for default in ["bool default true", "bool"] {
        let text = text.replace(
            "isVerified = \"bool default false",
            &format!("isVerified = \"{default}"),
        );
        let design = stage::compiled("circle", &text, "circle");
        let store = Arc::new(ModelStore::default());
        let partita = Partita::open(design, store).await.unwrap();
        let new = SignUp {
            login: "ann@example.org".to_owned(),
            password: "$hash".to_owned(),
            given: Map::from([("handle", Value::from("ann"))]),
            public_url: String::new(),
        };
        partita.sign_up(&new).await.unwrap();
        let account = partita.account_with("ann@example.org").await.unwrap();
        assert!(!account.unwrap().is_verified, "{default}");
    }
}

/// So it is for a sign-in with a wrong password: as many reads, each of which may be a round trip.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_sign_in_asks_the_store_the_same_whoever_has_the_login() {
    let counting = Arc::new(Counting::default());
    let circle = Circle::open(counting.clone(), "circle").await;
    circle.member("ann").await;
    circle.settled().await;
    let mut asked = Vec::new();
    for login in ["ann@example.org", "nobody@example.org", "no address"] {
        counting.taken();
        let (status, problem) = circle.sign_in(login, "wrong horse battery").await;
        assert_eq!(
            (status, kind(&problem)),
            (StatusCode::UNAUTHORIZED, "wrong-credentials")
        );
        asked.push(counting.taken());
    }
    assert!(!asked[0].is_empty());
    assert_eq!(asked[0], asked[1]);
    assert_eq!(asked[0], asked[2]);
}

/// A server that dies behind the answer leaves the sign-up to the next one, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_that_was_answered_is_carried_out() {
    let circle = Circle::in_memory().await;
    for (email, handle) in [("ann@example.org", "ann"), ("ann@example.org", "anna")] {
        let new = SignUp {
            login: email.to_owned(),
            password: "$hash".to_owned(),
            given: Map::from([("handle", Value::from(handle))]),
            public_url: "http://127.0.0.1".to_owned(),
        };
        circle.partita.promise(&Promise::SignUp(new)).await.unwrap();
        // It is left to the server that answered, for a while.
        assert_eq!(circle.partita.keep_promises().await.unwrap(), 0);
        circle.clock.advance(MINUTE);
        let (one, two) = tokio::join!(
            circle.partita.keep_promises(),
            circle.partita.keep_promises()
        );
        assert_eq!(one.unwrap() + two.unwrap(), 1);
        let mails = circle.mails().await;
        assert_eq!(mails.len(), 1, "{mails:?}");
        assert_eq!(mails[0].text.contains("token="), handle == "ann");
    }
}

/// What belongs to the account is refused inside of a map, too.
#[tokio::test]
async fn a_sign_up_hides_nothing_in_a_map() {
    let text = std::fs::read_to_string(stage::folder("circle").join("circle.toml")).unwrap();
    let text = text
        .replace("role = \"role\"\nadmin", "role = \"profile.role\"\nadmin")
        .replace("role       = \"enum", "profile.role = \"enum")
        .replace("signedInAt role google", "signedInAt profile.role google");
    let design = stage::compiled("circle", &text, "circle");
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open(design, store).await.unwrap();
    let profile = Map::from([("role", Value::from("admin"))]);
    let given = Map::from([
        ("handle", Value::from("ann")),
        ("profile", Value::M(profile)),
    ]);
    let checked = partita.check_sign_up("ann@example.org", &given, Vec::new());
    let Err(PlanError::Invalid { faults }) = checked.await else {
        panic!("it is taken, or refused by a rule");
    };
    let faults: Vec<&str> = faults.iter().map(|one| one.attribute.as_str()).collect();
    assert_eq!(faults, ["profile.role"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_up_takes_what_an_owner_may_write() {
    let circle = Circle::in_memory().await;
    for (name, value) in [
        ("role", json!("admin")),
        ("isVerified", json!(true)),
        ("userId", json!("00000000-0000-4000-8000-000000000a11")),
        ("coins", json!(7)),
        ("provider", json!("google")),
        ("nothing", json!(1)),
    ] {
        let mut body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
        body[name] = value;
        let (status, problem) = circle.post("auth/sign-up", None, body).await;
        assert!(
            [StatusCode::UNPROCESSABLE_ENTITY, StatusCode::FORBIDDEN].contains(&status),
            "{name}: {problem}"
        );
    }
    for (email, password) in [
        ("ann", PASSWORD),
        ("ann@example.org", "short"),
        ("a#b@example.org", PASSWORD),
    ] {
        let body = json!({"email": email, "password": password, "handle": "ann"});
        let (status, problem) = circle.post("auth/sign-up", None, body).await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{email}: {problem}"
        );
    }
    // Nothing of it came about, and no request for items makes an account or a session.
    assert!(circle.mails().await.is_empty());
    let user = json!({"email": "ann@example.org", "handle": "ann", "provider": "email"});
    assert_eq!(
        circle.post("User", None, user).await.0,
        StatusCode::UNAUTHORIZED
    );
    let session = json!({"userId": "00000000-0000-4000-8000-000000000a11", "expiresAt": "2030-01-01T00:00:00.000Z"});
    assert_eq!(
        circle.post("Session", None, session).await.0,
        StatusCode::UNAUTHORIZED
    );
}

/// Nothing in a stolen table signs anybody in.
pub(crate) async fn steal(circle: &Circle) {
    let login = circle.member("ann").await;
    let token = circle.signed_in(&login).await;
    circle
        .post("auth/request-reset", None, json!({"login": login}))
        .await;
    let reset = wait_for_link(circle, &login).await;
    let stored = circle.stored().await;
    let (id, secret) = token.split_once('.').unwrap();
    for secret in [secret, &reset, PASSWORD] {
        assert!(!stored.contains(secret));
    }
    // Whatever is in the table, tried as a secret.
    let words = stored
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_$=,+/".contains(letter)));
    let words: Vec<&str> = words.filter(|word| word.len() >= 20).collect();
    assert!(words.len() > 5, "{words:?}");
    for word in words {
        assert_eq!(
            circle.get("auth/me", &format!("{id}.{word}")).await.0,
            StatusCode::UNAUTHORIZED
        );
        let body = json!({"token": word, "password": PASSWORD});
        let status = circle.post("auth/reset", None, body).await.0;
        assert!(
            [StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS].contains(&status),
            "{word}"
        );
    }
}

/// What is done behind the answer costs the same, whether somebody is mailed or not: as many rows
/// are written, and the outbox takes one of them away.
#[tokio::test(flavor = "multi_thread")]
async fn a_reset_leaves_as_much_to_do_whether_there_is_an_account_or_not() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let waiting = async || circle.stored().await.matches("OUTBOX#mail#").count();
    for (login, mails) in [(login.as_str(), 1), ("nobody@example.org", 0)] {
        let before = circle.stored().await.lines().count();
        let asked = json!({ "login": login });
        let (status, _) = circle.post("auth/request-reset", None, asked).await;
        assert_eq!(status, StatusCode::ACCEPTED);
        for turn in 0.. {
            if waiting().await == 1 {
                break;
            }
            assert!(turn < 2_000, "nothing is recorded for {login}");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        // One row counts the request, two are the link's, and one is the mail.
        let rows = circle.stored().await.lines().count() - before;
        assert!((4..=5).contains(&rows), "{login}: {rows} rows");
        assert_eq!(circle.partita.outbox(10).await.unwrap().len(), mails);
        assert_eq!(circle.mails().await.len(), mails);
        assert_eq!(waiting().await, 0, "{login}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sends_much_before_they_are_known() {
    let circle = Circle::in_memory().await;
    let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann", "name": "a".repeat(40_000)});
    for path in ["sign-up", "sign-in", "request-reset", "reset"] {
        let (status, problem) = circle
            .post(&format!("auth/{path}"), None, body.clone())
            .await;
        assert_eq!(
            (status, kind(&problem)),
            (StatusCode::PAYLOAD_TOO_LARGE, "body-too-large"),
            "{path}"
        );
    }
    let name = "a".repeat(20_000);
    let body =
        json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann", "name": name});
    let (status, told) = circle.post("auth/sign-up", None, body).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{told}");
}
