//! The life of an account and of its sessions.

use partita_store::request::{PutItem, ReturnValues, Scan};
use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};

use super::{Circle, DAY, HOUR, MINUTE, PASSWORD, kind, wait_for_link};

/// The whole life of an account.
pub(crate) async fn lives(circle: &Circle) {
    let body =
        json!({"email": " Ann@Example.org ", "password": PASSWORD, "handle": "ann", "name": "Ann"});
    let (status, told) = circle.post("auth/sign-up", None, body).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{told}");
    let token = circle.link("ann@example.org", "verify-email").await;

    // Nobody signs in before the address is confirmed, and the password of the sign-up confirms it.
    let (status, problem) = circle.sign_in("ann@example.org", PASSWORD).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::FORBIDDEN, "unverified")
    );
    let (status, problem) = circle.verify(&token, "something else").await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::UNAUTHORIZED, "wrong-credentials")
    );
    assert_eq!(
        circle.verify(&token, PASSWORD).await.0,
        StatusCode::NO_CONTENT
    );
    let (status, problem) = circle.verify(&token, PASSWORD).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::FORBIDDEN, "link-invalid")
    );

    let (status, session) = circle.sign_in("ANN@example.org", PASSWORD).await;
    assert_eq!(status, StatusCode::OK, "{session}");
    let user = session["user"].clone();
    assert_eq!(user["email"], "ann@example.org");
    assert_eq!(
        (&user["isVerified"], &user["role"], &user["provider"]),
        (&json!(true), &json!("user"), &json!("email"))
    );
    assert_eq!(user.get("password"), None);
    let one = session["token"].as_str().unwrap().to_owned();
    let two = circle.signed_in("ann@example.org").await;

    // A session is a credential like any other.
    let id = user["userId"].as_str().unwrap();
    let note = json!({"userId": id, "text": "Buy milk"});
    assert_eq!(
        circle.post("Note", Some(&one), note.clone()).await.0,
        StatusCode::CREATED
    );
    let (_, me) = circle.get("auth/me", &one).await;
    assert_eq!(
        (&me["user"]["notes"], &me["session"]["current"]),
        (&json!(1), &json!(true))
    );
    let (_, sessions) = circle.get("auth/sessions", &one).await;
    assert_eq!(sessions["items"].as_array().unwrap().len(), 2, "{sessions}");

    // One ends the other.
    let other = two.split_once('.').unwrap().0;
    assert_eq!(
        circle
            .delete(&format!("auth/sessions/{other}"), &one)
            .await
            .0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        circle.get("auth/me", &two).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        circle
            .delete(&format!("auth/sessions/{other}"), &one)
            .await
            .0,
        StatusCode::NOT_FOUND
    );

    // A changed password ends the others, and this one stays.
    let three = circle.signed_in("ann@example.org").await;
    let changed = json!({"password": PASSWORD, "newPassword": "another good one"});
    assert_eq!(
        circle
            .post("auth/change-password", Some(&one), changed)
            .await
            .0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        circle.get("auth/me", &three).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(circle.get("auth/me", &one).await.0, StatusCode::OK);
    assert_eq!(
        circle.sign_in("ann@example.org", PASSWORD).await.0,
        StatusCode::UNAUTHORIZED
    );

    // A reset ends them all, and voids the other link.
    assert_eq!(
        circle
            .post(
                "auth/request-reset",
                None,
                json!({"login": "ann@example.org"})
            )
            .await
            .0,
        StatusCode::ACCEPTED
    );
    let reset = wait_for_link(circle, "ann@example.org").await;
    assert_eq!(
        circle
            .post(
                "auth/request-reset",
                None,
                json!({"login": "ann@example.org"})
            )
            .await
            .0,
        StatusCode::ACCEPTED
    );
    let second = wait_for_link(circle, "ann@example.org").await;
    let new = json!({"token": reset, "password": PASSWORD});
    assert_eq!(
        circle.post("auth/reset", None, new.clone()).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        circle.get("auth/me", &one).await.0,
        StatusCode::UNAUTHORIZED
    );
    for token in [&reset, &second] {
        let again = json!({"token": token, "password": "yet another one"});
        let (status, problem) = circle.post("auth/reset", None, again).await;
        assert_eq!(
            (status, kind(&problem)),
            (StatusCode::FORBIDDEN, "link-invalid")
        );
    }

    // Another address counts when it is confirmed, and voids the links of the old one.
    let one = circle.signed_in("ann@example.org").await;
    let asked = json!({"login": "ann@example.org"});
    circle.post("auth/request-reset", None, asked).await;
    let early = wait_for_link(circle, "ann@example.org").await;
    let changed = json!({"password": PASSWORD, "login": "Anna@example.org"});
    assert_eq!(
        circle
            .post("auth/change-email", Some(&one), changed)
            .await
            .0,
        StatusCode::ACCEPTED
    );
    let token = circle.link("anna@example.org", "verify-email").await;
    assert_eq!(
        circle.sign_in("anna@example.org", PASSWORD).await.0,
        StatusCode::UNAUTHORIZED
    );
    let (status, told) = circle.verify(&token, PASSWORD).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
    let again = json!({"token": early, "password": "yet another one"});
    let (status, problem) = circle.post("auth/reset", None, again).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::FORBIDDEN, "link-invalid")
    );
    assert_eq!(
        circle.sign_in("ann@example.org", PASSWORD).await.0,
        StatusCode::UNAUTHORIZED
    );
    let (_, session) = circle.sign_in("anna@example.org", PASSWORD).await;
    assert_eq!(session["user"]["isVerified"], true, "{session}");

    let one = session["token"].as_str().unwrap();
    assert_eq!(
        circle.post("auth/sign-out", Some(one), json!({})).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(circle.get("auth/me", one).await.0, StatusCode::UNAUTHORIZED);
}

/// Links and sessions end with their time.
pub(crate) async fn expire(circle: &Circle) {
    let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
    circle.post("auth/sign-up", None, body).await;
    let token = circle.link("ann@example.org", "verify-email").await;
    circle.clock.advance(DAY + 1);
    let (status, problem) = circle.verify(&token, PASSWORD).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::FORBIDDEN, "link-invalid")
    );
    circle
        .post(
            "auth/request-reset",
            None,
            json!({"login": "ann@example.org"}),
        )
        .await;
    let reset = wait_for_link(circle, "ann@example.org").await;
    let new = json!({"token": reset, "password": PASSWORD});
    assert_eq!(
        circle.post("auth/reset", None, new).await.0,
        StatusCode::NO_CONTENT
    );

    // A session slides with its use, and ends after 30 days however it is used.
    let used = circle.signed_in("ann@example.org").await;
    let idle = circle.signed_in("ann@example.org").await;
    for _ in 0..7 {
        circle.clock.advance(4 * DAY);
        assert_eq!(circle.get("auth/me", &used).await.0, StatusCode::OK);
    }
    assert_eq!(
        circle.get("auth/me", &idle).await.0,
        StatusCode::UNAUTHORIZED
    );
    circle.clock.advance(2 * DAY);
    assert_eq!(
        circle.get("auth/me", &used).await.0,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_session_moves_once_a_minute() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let token = circle.signed_in(&login).await;
    let ends = || async { circle.get("auth/me", &token).await.1["session"]["expiresAt"].clone() };
    let first = ends().await;
    circle.clock.advance(MINUTE - 1);
    assert_eq!(ends().await, first);
    circle.clock.advance(1);
    let second = ends().await;
    assert_ne!(second, first);
    assert_eq!(ends().await, second);
}

/// Who is not active or gone cannot act, whatever they bring.
pub(crate) async fn close(circle: &Circle) {
    let (ann, root) = (circle.member("ann").await, circle.member("root").await);
    let session = circle.signed_in(&ann).await;
    let admin = circle.signed_in(&root).await;
    circle.partita.grant(&root, "admin").await.unwrap();
    let (_, me) = circle.get("auth/me", &session).await;
    let id = me["user"]["userId"].as_str().unwrap().to_owned();
    let jwt = circle.tokens.make("circle", &id, None, &[], 3_600);
    assert_eq!(
        circle.get(&format!("User/{id}"), &jwt).await.0,
        StatusCode::OK
    );
    let patch = |body: Json| {
        circle
            .request(Method::PATCH, &format!("User/{id}"), Some(&admin))
            .json(&body)
            .send()
    };
    assert_eq!(
        patch(json!({"isActive": false})).await.unwrap().status(),
        StatusCode::OK
    );
    for token in [&session, &jwt] {
        let (status, problem) = circle.get(&format!("User/{id}"), token).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{problem}");
    }
    assert_eq!(
        kind(&circle.sign_in(&ann, PASSWORD).await.1),
        "account-closed"
    );
    assert_eq!(
        patch(json!({"isActive": true})).await.unwrap().status(),
        StatusCode::OK
    );
    assert_eq!(circle.get("auth/me", &session).await.0, StatusCode::OK);
    assert_eq!(
        circle.delete(&format!("User/{id}"), &admin).await.0,
        StatusCode::NO_CONTENT
    );
    for token in [&session, &jwt] {
        assert_eq!(
            circle.get(&format!("User/{id}"), token).await.0,
            StatusCode::UNAUTHORIZED
        );
    }
    let stored = circle.stored().await;
    assert!(!stored.contains("ann@example.org"), "{stored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_other_sessions_end_however_many_there_are() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let first = circle.signed_in(&login).await;
    let account = circle.partita.account_with(&login).await.unwrap().unwrap();
    for _ in 0..400 {
        circle.clock.advance(1);
        circle.partita.sign_in(&account, None).await.unwrap();
    }
    circle.clock.advance(1);
    let last = circle.signed_in(&login).await;
    let (_, listed) = circle.get("auth/sessions", &last).await;
    let items = listed["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["current"]), (402, &json!(true)));
    let (status, ended) = circle.delete("auth/sessions", &last).await;
    assert_eq!(
        (status, ended),
        (StatusCode::OK, json!({"ended": 401, "more": false}))
    );
    assert_eq!(
        circle.get("auth/me", &first).await.0,
        StatusCode::UNAUTHORIZED
    );
    let (_, listed) = circle.get("auth/sessions", &last).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
}

/// A hash that was made elsewhere signs in, and is replaced; sessions of before go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_hash_of_others_is_replaced_and_ends_no_session() {
    const THEIRS: &str = "$2b$04$4xCTvIb7y2Y9i/pkgpzP0ur.7wSXxOpMq3R.OvX/vOXN8d7UIQWfa";
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let before = circle.signed_in(&login).await;
    let scan = Scan::new("circle".parse().unwrap());
    let page = circle.store.scan(scan).await.unwrap().answer;
    let page = page.into_parts().unwrap();
    let is_user =
        |item: &&partita_core::Item| item.get("Kind").is_some_and(|kind| *kind == "User".into());
    let mut item = page.items.iter().find(is_user).unwrap().clone();
    item.insert("password", THEIRS.into());
    let put = PutItem::new("circle".parse().unwrap(), item);
    circle
        .store
        .put_item(put, ReturnValues::None)
        .await
        .unwrap();
    // It is another password than the one before.
    assert_eq!(
        circle.get("auth/me", &before).await.0,
        StatusCode::UNAUTHORIZED
    );
    let account = circle.partita.account_with(&login).await.unwrap().unwrap();
    let open = circle.partita.sign_in(&account, None).await.unwrap();
    let wrong = circle.sign_in(&login, PASSWORD).await;
    assert_eq!(wrong.0, StatusCode::UNAUTHORIZED);
    assert_eq!(
        circle.sign_in(&login, "correct horse").await.0,
        StatusCode::OK
    );
    let account = circle.partita.account_with(&login).await.unwrap().unwrap();
    assert!(account.password.unwrap().starts_with("$argon2id$"));
    assert_eq!(
        circle.get("auth/me", &open.credential).await.0,
        StatusCode::OK
    );
    assert_eq!(
        circle.sign_in(&login, "correct horse").await.0,
        StatusCode::OK
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_administrator_has_a_link_that_is_good_once() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let early = circle.partita.first_administrator().await.unwrap().unwrap();
    circle.clock.advance(HOUR + 1);
    let claim = |secret: &str| json!({"token": secret, "login": login, "password": PASSWORD});
    let (status, problem) = circle.post("auth/administrator", None, claim(&early)).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::FORBIDDEN, "link-invalid")
    );
    let secret = circle.partita.first_administrator().await.unwrap().unwrap();
    assert_eq!(
        circle
            .post("auth/administrator", None, claim(&secret))
            .await
            .0,
        StatusCode::NO_CONTENT
    );
    let (_, session) = circle.sign_in(&login, PASSWORD).await;
    assert_eq!(session["user"]["role"], "admin", "{session}");
    assert_eq!(
        circle
            .post("auth/administrator", None, claim(&secret))
            .await
            .0,
        StatusCode::FORBIDDEN
    );
    assert_eq!(circle.partita.first_administrator().await.unwrap(), None);
}
