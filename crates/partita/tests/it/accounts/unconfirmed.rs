//! Accounts that nobody confirms keep nothing from others for long.

use partita_core::{Map, Value};
use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};

use super::{Circle, DAY, HOUR, PASSWORD, kind};

async fn sign_up(circle: &Circle, email: &str, handle: &str) -> (StatusCode, Json) {
    let body = json!({"email": email, "password": PASSWORD, "handle": handle});
    circle.post("auth/sign-up", None, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_and_a_name_are_free_again_after_a_day() {
    let circle = Circle::in_memory().await;
    sign_up(&circle, "ann@example.org", "ann").await;
    let old = circle.link("ann@example.org", "verify-email").await;
    // Until then whoever signs up with the address is told by mail, and the name is taken.
    circle.clock.advance(DAY - HOUR);
    let (status, _) = sign_up(&circle, "ann@example.org", "other").await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let mails = circle.mails().await;
    assert!(
        mails.len() == 1 && !mails[0].text.contains("token="),
        "{mails:?}"
    );
    let (status, problem) = sign_up(&circle, "bob@example.org", "ann").await;
    assert_eq!((status, kind(&problem)), (StatusCode::CONFLICT, "taken"));

    circle.clock.advance(HOUR);
    // The name goes to whoever asks for it, and the account that held it is gone.
    let (status, _) = sign_up(&circle, "bob@example.org", "ann").await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let bob = circle.link("bob@example.org", "verify-email").await;
    let (status, _) = circle.verify(&bob, PASSWORD).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (status, problem) = circle.verify(&old, PASSWORD).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::FORBIDDEN, "link-invalid")
    );
    // So does the address.
    let (status, _) = sign_up(&circle, "ann@example.org", "anna").await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let ann = circle.link("ann@example.org", "verify-email").await;
    let (status, _) = circle.verify(&ann, PASSWORD).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let stored = circle.stored().await;
    assert!(!stored.contains("UNCONFIRMED#"), "{stored}");
}

/// What somebody has confirmed, or an administrator has made, is nobody else's to take.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_takes_an_account_that_somebody_has() {
    let circle = Circle::in_memory().await;
    let confirmed = circle.member("ann").await;
    let root = circle.member("root").await;
    circle.partita.grant(&root, "admin").await.unwrap();
    let admin = circle.signed_in(&root).await;
    let made = json!({"email": "made@example.org", "handle": "made", "provider": "email"});
    let (status, told) = circle.post("User", Some(&admin), made).await;
    assert_eq!(status, StatusCode::CREATED, "{told}");
    // Somebody forgot the password before the address was confirmed, and has it by a reset.
    sign_up(&circle, "cyd@example.org", "cyd").await;
    circle.mails().await;
    let asked = json!({"login": "cyd@example.org"});
    circle.post("auth/request-reset", None, asked).await;
    let reset = super::wait_for_link(&circle, "cyd@example.org").await;
    let new = json!({"token": reset, "password": PASSWORD});
    let (status, _) = circle.post("auth/reset", None, new).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let admins = circle.signed_in(&root).await;
    circle.clock.advance(6 * DAY);
    for (email, handle) in [
        (confirmed.as_str(), "ann"),
        ("made@example.org", "made"),
        ("cyd@example.org", "cyd"),
    ] {
        let (status, _) = sign_up(&circle, email, "new").await;
        assert_eq!(status, StatusCode::ACCEPTED);
        let mails = circle.mails().await;
        assert!(
            mails.iter().all(|mail| !mail.text.contains("token=")),
            "{mails:?}"
        );
        let (status, problem) = sign_up(&circle, "new@example.org", handle).await;
        assert_eq!(
            (status, kind(&problem)),
            (StatusCode::CONFLICT, "taken"),
            "{handle}"
        );
    }
    let listed = circle.request(Method::GET, "auth/me", Some(&admins)).send();
    assert_eq!(listed.await.unwrap().status(), StatusCode::OK);
    let (status, _) = circle.sign_in("cyd@example.org", PASSWORD).await;
    assert_eq!(status, StatusCode::OK);
}

/// Once somebody could have acted as it, an account is theirs, confirmed or not.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_somebody_touched_stays() {
    let circle = Circle::in_memory().await;
    let root = circle.member("root").await;
    circle.partita.grant(&root, "admin").await.unwrap();
    for name in ["set", "named", "acted", "left"] {
        sign_up(&circle, &format!("{name}@example.org"), name).await;
    }
    circle.mails().await;
    let id = async |name: &str| {
        let login = format!("{name}@example.org");
        let account = circle.partita.account_with(&login).await.unwrap();
        account.unwrap().id
    };
    // An administrator confirms one and takes it back, and changes the name of another.
    let admin = circle.signed_in(&root).await;
    let changes = [
        ("set", json!({"isVerified": true})),
        ("set", json!({"isVerified": false})),
        ("named", json!({"name": "Ned"})),
    ];
    for (name, change) in changes {
        let path = format!("User/{}", id(name).await);
        let sent = circle.request(Method::PATCH, &path, Some(&admin));
        let answer = sent.json(&change).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
    }
    // Somebody acts as the third with a token of the operator's.
    let acted = id("acted").await;
    let token = circle.tokens.make("circle", &acted, None, &[], 3_600);
    assert_eq!(circle.get("auth/me", &token).await.0, StatusCode::OK);
    let left = id("left").await;
    circle.clock.advance(6 * DAY);
    for (name, stays) in [
        ("set", true),
        ("named", true),
        ("acted", true),
        ("left", false),
    ] {
        let (status, _) = sign_up(&circle, &format!("{name}@example.com"), name).await;
        let expected = match stays {
            true => StatusCode::CONFLICT,
            false => StatusCode::ACCEPTED,
        };
        assert_eq!(status, expected, "{name}");
    }
    circle.settled().await;
    assert!(circle.partita.account(&left).await.unwrap().is_none());
    assert!(circle.partita.account(&acted).await.unwrap().is_some());
}

/// What others refer to is never removed, whatever their refs say `on delete`.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_others_refer_to_stays() {
    let circle = Circle::in_memory().await;
    sign_up(&circle, "ann@example.org", "ann").await;
    circle.mails().await;
    let ann = circle
        .partita
        .account_with("ann@example.org")
        .await
        .unwrap();
    let ann = ann.unwrap().id;
    let note = Map::from([
        ("userId", Value::from(ann.as_str())),
        ("text", Value::from("Buy milk")),
    ]);
    circle
        .partita
        .create_past_rules("Note", note)
        .await
        .unwrap();
    circle.clock.advance(6 * DAY);
    let before = circle.stored().await;
    let (status, _) = sign_up(&circle, "bob@example.org", "ann").await;
    assert_eq!(status, StatusCode::CONFLICT);
    let (status, _) = sign_up(&circle, "ann@example.org", "anna").await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let mails = circle.mails().await;
    assert!(
        mails.len() == 1 && !mails[0].text.contains("token="),
        "{mails:?}"
    );
    for mark in ["Buy milk", ann.as_str(), "UNIQUE#HANDLE#ann\""] {
        let count = |stored: &str| stored.matches(mark).count();
        assert_eq!(count(&before), count(&circle.stored().await), "{mark}");
    }
}
