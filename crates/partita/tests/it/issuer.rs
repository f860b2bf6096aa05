//! Tokens of another issuer, through the real binary with a key set in a file.

#[cfg(feature = "https")]
pub(crate) mod provisioning;

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use partita_store::Clock as _;
use partita_store::surroundings::SystemClock;
use reqwest::Client;
use serde_json::{Value as Json, json};

use crate::server::{BINARY, Server, token};

#[path = "../../../partita-api/src/token/tests/test_keys.rs"]
#[expect(dead_code, reason = "other tests need the others")]
mod test_keys;

const POOL: &str = "https://cognito-idp.eu-west-1.amazonaws.com/pool";

pub(crate) fn key_set() -> Json {
    json!({"keys": [{"kty": "RSA", "kid": "r1", "alg": "RS256", "use": "sig", "n": test_keys::RSA_MODULUS, "e": "AQAB"}]})
}

pub(crate) fn now() -> i64 {
    SystemClock.now_millis() / 1000
}

pub(crate) fn signed(key: &str, claims: &Json) -> String {
    let der = STANDARD.decode(test_keys::RSA).unwrap();
    let header = Header {
        kid: Some(key.to_owned()),
        ..Header::new(Algorithm::RS256)
    };
    encode(&header, claims, &EncodingKey::from_rsa_der(&der)).unwrap()
}

#[tokio::test]
async fn a_token_of_a_pool_opens_what_its_user_may_do() {
    let data = tempfile::tempdir().unwrap();
    let keys = data.path().join("jwks.json");
    std::fs::write(&keys, key_set().to_string()).unwrap();
    let flags = [
        "stories",
        "--jwks",
        keys.to_str().unwrap(),
        "--issuer",
        POOL,
        "--audience",
        "web,app",
    ];
    let server = Server::start(data.path(), &flags);
    let url = format!("{}/stories/query/stories?userId=ann", server.base);
    let status = async |token: &str| {
        let call = Client::new().get(&url).bearer_auth(token);
        call.send().await.unwrap().status().as_u16()
    };
    let now = now();
    let claims = |name: &str, value: Json| {
        let mut claims = json!({"iss": POOL, "client_id": "app", "token_use": "access", "sub": "ann", "exp": now + 600});
        claims[name] = value;
        claims
    };
    assert_eq!(
        status(&signed("r1", &claims("sub", json!("ann")))).await,
        200
    );
    assert_eq!(
        status(&signed("r1", &claims("sub", json!("bob")))).await,
        403
    );
    assert_eq!(
        status(&signed("r1", &claims("exp", json!(now - 1)))).await,
        401
    );
    assert_eq!(
        status(&signed("r1", &claims("client_id", json!("tv")))).await,
        401
    );
    assert_eq!(
        status(&signed("r1", &claims("iss", json!("me")))).await,
        401
    );
    assert_eq!(
        status(&signed("r2", &claims("sub", json!("ann")))).await,
        401
    );
    assert_eq!(status(&token(data.path(), "ann")).await, 200, "our own");
}

/// Serves the key set on a web server of this machine.
#[cfg(feature = "https")]
fn publish_keys(listener: tokio::net::TcpListener) -> tokio::task::JoinHandle<std::io::Result<()>> {
    let router = axum::Router::new().route(
        "/jwks.json",
        axum::routing::get(async || key_set().to_string()),
    );
    let service = partita_api::server::service(router);
    let limits = partita_api::Limits::default();
    tokio::spawn(partita_api::serve(
        listener,
        service,
        limits,
        std::future::pending(),
    ))
}

/// The URL of the key set.
#[cfg(feature = "https")]
async fn web_of_keys() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
    publish_keys(listener);
    url
}

#[cfg(feature = "https")]
#[tokio::test]
async fn keys_come_from_the_web() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
    let web = publish_keys(listener);
    let data = tempfile::tempdir().unwrap();
    let flags = [
        "stories",
        "--jwks",
        &url,
        "--issuer",
        POOL,
        "--audience",
        "app",
    ];
    let start = {
        let (data, flags) = (data.path().to_owned(), flags.map(str::to_owned));
        move || Server::start(&data, &flags.each_ref().map(String::as_str))
    };
    // Meanwhile this thread is the web.
    let server = tokio::task::spawn_blocking(start).await.unwrap();
    let now = now();
    let claims = json!({"iss": POOL, "aud": "app", "sub": "ann", "exp": now + 600});
    for (key, status) in [("r1", 200), ("r2", 401)] {
        let url = format!("{}/stories/query/stories?userId=ann", server.base);
        let call = Client::new().get(url).bearer_auth(signed(key, &claims));
        assert_eq!(call.send().await.unwrap().status(), status, "{key}");
    }
    assert_eq!(server.stop(), Some(0));

    web.abort();
    assert!(web.await.unwrap_err().is_cancelled());
    let refused = Command::new(BINARY)
        .args(["serve", "--listen", "127.0.0.1:0", "--memory", "--data"])
        .arg(data.path())
        .args(flags)
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains(&url), "{told}");
}

#[test]
fn an_issuer_is_named_whole_and_has_keys() {
    let data = tempfile::tempdir().unwrap();
    let start = |flags: &[&str]| {
        let mut command = Command::new(BINARY);
        command.args([
            "serve",
            "stories",
            "--listen",
            "127.0.0.1:0",
            "--memory",
            "--data",
        ]);
        let output = command.arg(data.path()).args(flags).output().unwrap();
        assert!(!output.status.success(), "{flags:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(start(&["--jwks", "keys.json"]).contains("--issuer"));
    assert!(start(&["--audience", "web"]).contains("--jwks"));
    let missing = [
        "--jwks",
        "nothing.json",
        "--issuer",
        POOL,
        "--audience",
        "web",
    ];
    assert!(start(&missing).contains("nothing.json"));
    let plain = [
        "--jwks",
        "http://example.org/jwks",
        "--issuer",
        POOL,
        "--audience",
        "web",
    ];
    assert!(start(&plain).contains("https"), "{}", start(&plain));
}
