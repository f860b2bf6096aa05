//! Which account somebody has who signs in at a provider.

use partita_core::{Item, Map, Value};
use partita_plan::{Account, Claims, PlanError};
use partita_store::request::{PutItem, ReturnValues, Scan};
use partita_store::table::TableName;
use reqwest::StatusCode;
use serde_json::json;

use super::{Circle, PASSWORD, kind};

/// Somebody at a provider with an address.
fn claims(subject: &str, email: &str, is_confirmed: bool) -> Claims {
    Claims {
        subject: subject.to_owned(),
        signed_in_millis: None,
        others: Map::from([
            ("email", Value::from(email)),
            ("email_verified", Value::Bool(is_confirmed)),
            ("name", Value::from("Somebody")),
        ]),
    }
}

fn table_of(circle: &Circle) -> TableName {
    circle.partita.design().tables[0].name.parse().unwrap()
}

/// The item of a session, as it is stored.
async fn session_item(circle: &Circle, id: &str) -> Item {
    let scan = Scan::new(table_of(circle));
    let page = circle.store.scan(scan).await.unwrap().answer;
    let key = Value::from(format!("SESSION#{id}"));
    let mut items = page.into_parts().unwrap().items.into_iter();
    items.find(|item| item["PK"] == key).unwrap()
}

async fn by(circle: &Circle, provider: &str, claims: &Claims) -> Result<Account, String> {
    match circle.partita.account_of_provider(provider, claims).await {
        Ok(account) => Ok(account),
        Err(PlanError::NotProvisioned { reason, .. }) => Err(reason),
        Err(error) => panic!("{error}"),
    }
}

/// Accounts that are found, linked and made.
pub(crate) async fn links(circle: &Circle) {
    // A confirmed account keeps its password and its sessions.
    let login = circle.member("ann").await;
    let session = circle.signed_in(&login).await;
    let ann = claims("g-ann", "Ann@Example.org", true);
    let linked = by(circle, "google", &ann).await.unwrap();
    // Its owner is told.
    let mails = circle.mails().await;
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert_eq!(mails[0].to, login);
    assert!(mails[0].text.contains("google"), "{mails:?}");
    assert_eq!(
        (linked.login.as_str(), linked.is_verified),
        (login.as_str(), true)
    );
    assert_eq!(circle.get("auth/me", &session).await.0, StatusCode::OK);
    assert_eq!(circle.sign_in(&login, PASSWORD).await.0, StatusCode::OK);
    let (_, me) = circle.get("auth/me", &session).await;
    assert_eq!(me["user"]["googleId"], "g-ann", "{me}");
    // It is found by the subject from now on, whatever the address is.
    let moved = claims("g-ann", "elsewhere@example.org", false);
    assert_eq!(by(circle, "google", &moved).await.unwrap().id, linked.id);
    // Another user of the provider does not get it.
    let other = by(circle, "google", &claims("g-eve", &login, true)).await;
    assert!(other.unwrap_err().contains("another user"));

    // An address that only reads like another one is not that address: this `k` is the sign of Kelvin.
    let mark = circle.member("mark").await;
    let kelvin = claims("g-kel", "mar\u{212a}@example.org", true);
    let refused = by(circle, "google", &kelvin).await.unwrap_err();
    assert!(refused.contains("read as other ones"), "{refused}");
    let session = circle.signed_in(&mark).await;
    let (_, me) = circle.get("auth/me", &session).await;
    assert_eq!(me["user"].get("googleId"), None, "{me}");
    // Nor does it sign in.
    let (status, _) = circle.sign_in("mar\u{212a}@example.org", PASSWORD).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);

    // One that somebody prepared with an address of others loses what they know.
    let body = json!({"email": "bob@example.org", "password": PASSWORD, "handle": "bob"});
    circle.post("auth/sign-up", None, body).await;
    let link = circle.link("bob@example.org", "verify-email").await;
    let bob = by(circle, "google", &claims("g-bob", "bob@example.org", true))
        .await
        .unwrap();
    assert_eq!((bob.password, bob.is_verified), (None, true));
    assert_eq!(circle.mails().await.len(), 1);
    let (status, problem) = circle.sign_in("bob@example.org", PASSWORD).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::UNAUTHORIZED, "wrong-credentials")
    );
    let (status, problem) = circle.verify(&link, PASSWORD).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::FORBIDDEN, "link-invalid")
    );

    // Many at once make one account.
    let cyd = claims("g-cyd", "cyd@example.org", true);
    let many = (0..20).map(|_| by(circle, "google", &cyd));
    let many = futures::future::join_all(many).await;
    let ids: Vec<String> = many.into_iter().map(|one| one.unwrap().id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");

    // Whose account is deleted gets no other one, with whatever address.
    let root = circle.member("root").await;
    let admin = circle.signed_in(&root).await;
    circle.partita.grant(&root, "admin").await.unwrap();
    for (subject, id) in [("g-cyd", &ids[0]), ("g-ann", &linked.id)] {
        let path = format!("User/{id}");
        let (status, _) = circle.delete(&path, &admin).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        let again = claims(subject, &format!("{subject}@example.org"), true);
        let refused = by(circle, "google", &again).await.unwrap_err();
        assert!(refused.contains("deleted"), "{refused}");
    }

    // A provider whose addresses are not trusted learns nothing, and neither does one that has not
    // confirmed them.
    for (provider, is_confirmed) in [("forge", true), ("google", false)] {
        let known = by(circle, provider, &claims("f-1", &mark, is_confirmed)).await;
        let unknown = by(
            circle,
            provider,
            &claims("f-2", "new@example.org", is_confirmed),
        )
        .await;
        assert_eq!(known, unknown);
        assert!(known.is_err());
    }
    let refused = circle.partita.account_of_provider("nobody", &cyd).await;
    assert!(matches!(refused, Err(PlanError::NoAccounts)), "{refused:?}");
}

/// What an owner was linked to can be taken away again, unless nobody could sign in then.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_unlinked() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let session = circle.signed_in(&login).await;
    let listed = async |token: &str| circle.get("auth/providers", token).await;
    let all = |google: bool| json!({"items": [{"provider": "forge", "linked": false}, {"provider": "google", "linked": google}]});
    let sorted = |mut answer: serde_json::Value| {
        let items = answer["items"].as_array_mut().unwrap();
        items.sort_by_key(|item| item["provider"].as_str().unwrap().to_owned());
        answer
    };
    assert_eq!(sorted(listed(&session).await.1), all(false));
    let (status, problem) = circle.delete("auth/providers/google", &session).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::NOT_FOUND, "not-found")
    );
    let eve = by(&circle, "google", &claims("g-eve", &login, true)).await;
    let eve = eve.unwrap();
    let theirs = circle.partita.sign_in_by(&eve, "google").await.unwrap();
    let kept = session_item(&circle, &theirs.id).await;
    assert_eq!(sorted(listed(&session).await.1), all(true));
    let me = async |credential: &str| circle.get("auth/me", credential).await.0;
    assert_eq!(me(&theirs.credential).await, StatusCode::OK);
    let (status, _) = circle.delete("auth/providers/google", &session).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(sorted(listed(&session).await.1), all(false));
    // Whoever signed in by it is out, also with a session that no index has shown.
    assert_eq!(me(&theirs.credential).await, StatusCode::UNAUTHORIZED);
    let put = PutItem::new(table_of(&circle), kept);
    circle
        .store
        .put_item(put, ReturnValues::None)
        .await
        .unwrap();
    assert_eq!(me(&theirs.credential).await, StatusCode::UNAUTHORIZED);
    assert_eq!(me(&session).await, StatusCode::OK);
    // And so is whoever had come back from it, and had no session yet.
    let late = circle.partita.sign_in_by(&eve, "google").await;
    assert!(matches!(late, Err(PlanError::Outdated)), "{late:?}");

    // An account that only a provider signs in keeps it.
    let cyd = claims("g-cyd", "cyd@example.org", true);
    let cyd = by(&circle, "google", &cyd).await.unwrap();
    let session = circle.partita.sign_in_by(&cyd, "google").await.unwrap();
    let (status, problem) = circle
        .delete("auth/providers/google", &session.credential)
        .await;
    assert_eq!((status, kind(&problem)), (StatusCode::CONFLICT, "last-way"));
    let stranger = circle.request(reqwest::Method::GET, "auth/providers", None);
    assert_eq!(stranger.send().await.unwrap().status(), 401);
}
