//! Accounts that are made of the first token of another issuer, whose keys are on the web.

use std::path::Path;
use std::process::Command;

use reqwest::Client;
use serde_json::{Value as Json, json};

use super::{POOL, now, signed, web_of_keys};
use crate::server::{BINARY, Server};

/// Somebody in the pool.
fn claims(subject: &str, name: &str) -> Json {
    let address = format!("{name}@example.org");
    json!({"iss": POOL, "aud": "app", "sub": subject, "token_use": "id", "exp": now() + 600, "iat": now(), "auth_time": now(), "email": address, "name": name})
}

struct Pool {
    server: Server,
    design: &'static str,
}

impl Pool {
    /// A server that takes the tokens of the pool.
    async fn serve(design: &'static str, data: &Path, more: &[&str]) -> Pool {
        let url = web_of_keys().await;
        let flags = [
            design,
            "--jwks",
            &url,
            "--issuer",
            POOL,
            "--audience",
            "app",
        ];
        let flags: Vec<String> = flags
            .iter()
            .chain(more)
            .map(|one| (*one).to_owned())
            .collect();
        let data = data.to_owned();
        let start = move || {
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            Server::start(&data, &flags)
        };
        // Meanwhile this thread is the web.
        let server = tokio::task::spawn_blocking(start).await.unwrap();
        Pool { server, design }
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{}/{path}", self.server.base, self.design)
    }

    async fn me(&self, claims: &Json) -> (u16, Json) {
        self.me_by(&signed("r1", claims)).await
    }

    async fn me_by(&self, token: &str) -> (u16, Json) {
        let call = Client::new().get(self.url("auth/me")).bearer_auth(token);
        answered(call).await
    }
}

async fn answered(call: reqwest::RequestBuilder) -> (u16, Json) {
    let answer = call.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_first_requests_make_one_user() {
    let data = tempfile::tempdir().unwrap();
    let pool = Pool::serve("storyhub", data.path(), &[]).await;
    let ann = claims("7f0c6e0e-ann", "Ann");
    // Made once: connections do not wait for a hundred signatures.
    let token = signed("r1", &ann);
    let calls = (0..100).map(|_| pool.me_by(&token));
    let answers = futures::future::join_all(calls).await;
    let users: Vec<&Json> = answers.iter().map(|(_, answer)| &answer["user"]).collect();
    assert!(
        answers.iter().all(|(status, _)| *status == 200),
        "{answers:?}"
    );
    assert!(users.iter().all(|user| *user == users[0]), "{users:?}");
    assert_eq!(users[0]["displayName"], "Ann");
    let story = json!({"title": "Dune", "synopsis": "Sand.", "authorId": "7f0c6e0e-ann", "genre": "sf", "ageRating": "12"});
    let write = Client::new()
        .post(pool.url("stories"))
        .bearer_auth(signed("r1", &ann));
    let (status, story) = answered(write.json(&story)).await;
    assert_eq!(
        (status, &story["authorName"]),
        (201, &json!("Ann")),
        "{story}"
    );

    // There are no sessions here. What looks like one is no token, and a cookie of one is nobody's.
    let session = format!("id.{}", "A".repeat(43));
    let (status, refused) = pool.me_by(&session).await;
    assert_eq!(
        (status, &refused["type"]),
        (401, &json!("urn:partita:problem:token-invalid"))
    );
    let document = Client::new().get(pool.url("openapi.json"));
    let document = document.header("cookie", format!("partita-storyhub={session}"));
    assert_eq!(answered(document).await.0, 200);

    let mut access = claims("7f0c6e0e-bob", "Bob");
    access.as_object_mut().unwrap().remove("email");
    let (status, refused) = pool.me(&access).await;
    assert_eq!(status, 403, "{refused}");
    assert_eq!(refused["type"], "urn:partita:problem:not-provisioned");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("no claim `email`"), "{detail}");
}

/// A profile of `holdthatthought`, and its first administrator by the operator's word.
pub(crate) async fn first_administrator(data: &Path, more: &[&str]) {
    let pool = Pool::serve("holdthatthought", data, more).await;
    let (ann, bob) = (
        claims("ann-at-the-pool", "Ann"),
        claims("bob-at-the-pool", "Bob"),
    );
    for claims in [&ann, &bob] {
        let (status, me) = pool.me(claims).await;
        assert_eq!((status, &me["user"]["groups"]), (200, &json!([])), "{me}");
    }
    let promote = || {
        let url = pool.url("users/bob-at-the-pool");
        let call = Client::new().patch(url).bearer_auth(signed("r1", &ann));
        answered(call.json(&json!({"groups": ["scanners"]})))
    };
    assert_eq!(promote().await.0, 403);
    let granted = Command::new(BINARY)
        .args([
            "admin",
            "grant",
            "holdthatthought",
            "ann-at-the-pool",
            "admin",
            "--data",
        ])
        .arg(data)
        .args(more)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env_remove("TABLE_NAME")
        .output()
        .unwrap();
    assert!(granted.status.success(), "{granted:?}");
    let (status, promoted) = promote().await;
    assert_eq!(
        (status, &promoted["groups"]),
        (200, &json!(["scanners"])),
        "{promoted}"
    );

    // Who is closed is closed at once, whatever token there is.
    let close = Client::new().patch(pool.url("users/bob-at-the-pool"));
    let close = close
        .bearer_auth(signed("r1", &ann))
        .json(&json!({"status": "inactive"}));
    assert_eq!(answered(close).await.0, 200);
    let (status, refused) = pool.me(&bob).await;
    assert_eq!(
        (status, &refused["type"]),
        (401, &json!("urn:partita:problem:account-closed"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_names_the_first_administrator() {
    let data = tempfile::tempdir().unwrap();
    first_administrator(data.path(), &[]).await;
}
