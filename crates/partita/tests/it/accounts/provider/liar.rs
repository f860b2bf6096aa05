//! Providers that lie: each thing that is wrong with an id token, or with what a provider says of
//! itself, is found.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response as Answer};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value as Json, json};

use super::{Browser, CLIENT, Site, kind, told};
use crate::issuer::{key_set, now, signed};
use crate::stage;

/// What the provider answers next.
#[derive(Default)]
struct Script {
    /// What it says of itself, if it is not true.
    issuer: Option<String>,
    /// How the id token differs from a good one.
    changes: Json,
    /// The nonce that was asked for.
    nonce: String,
    /// The answer of the token endpoint, if it is no token.
    answer: Option<(u16, String)>,
    /// Whether the token has no signature.
    is_unsigned: bool,
    /// The key that is named.
    key: Option<&'static str>,
}

type Shared = (String, Arc<Mutex<Script>>);

async fn describe(State((base, script)): State<Shared>) -> String {
    let issuer = script.lock().unwrap().issuer.clone();
    json!({
        "issuer": issuer.unwrap_or_else(|| base.clone()),
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "jwks_uri": format!("{base}/keys"),
    })
    .to_string()
}

async fn token(State((base, script)): State<Shared>) -> Answer {
    let script = script.lock().unwrap();
    if let Some((status, body)) = &script.answer {
        let location = [(header::LOCATION, "/token")];
        let status = StatusCode::from_u16(*status).unwrap();
        return (status, location, body.clone()).into_response();
    }
    let mut claims = json!({"iss": base, "aud": CLIENT, "sub": "liar", "exp": now() + 600, "iat": now(), "nonce": script.nonce, "email": "liar@example.org", "email_verified": true});
    for (name, value) in script.changes.as_object().into_iter().flatten() {
        match value {
            Json::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    let mut token = signed(script.key.unwrap_or("r1"), &claims);
    if script.is_unsigned {
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","kid":"r1"}"#);
        token = format!("{header}.{}.", token.split('.').nth(1).unwrap());
    }
    json!({"access_token": "a", "token_type": "Bearer", "id_token": token})
        .to_string()
        .into_response()
}

struct Liar {
    issuer: String,
    script: Arc<Mutex<Script>>,
}

impl Liar {
    async fn start() -> Liar {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(Script::default()));
        let router = axum::Router::new()
            .route("/.well-known/openid-configuration", get(describe))
            .route("/keys", get(async || key_set().to_string()))
            .route("/token", post(token))
            .with_state((issuer.clone(), script.clone()));
        tokio::spawn(partita_api::serve(
            listener,
            partita_api::server::service(router),
            partita_api::Limits::default(),
            std::future::pending(),
        ));
        Liar { issuer, script }
    }

    /// A sign-in at which the provider answers so.
    async fn sign_in(&self, site: &Site, script: Script) -> (u16, String) {
        let mut browser = Browser::new(site);
        let there = browser.begin("google", "").await;
        let part = |name: &str| {
            let (_, rest) = there.split_once(&format!("{name}=")).unwrap();
            rest.split('&').next().unwrap().to_owned()
        };
        assert_eq!(part("code_challenge_method"), "S256");
        *self.script.lock().unwrap() = Script {
            nonce: part("nonce"),
            ..script
        };
        let state = part("state");
        let url = site.url(&format!("auth/oidc/google/callback?code=c&state={state}"));
        let (status, told) = told(browser.get(&url).await).await;
        (status, kind(&told).to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_must_be_for_this_sign_in() {
    let folder = tempfile::tempdir().unwrap();
    let circle = stage::folder("circle").join("circle.toml");
    let liar = Liar::start().await;
    let data = folder.path().join("data");
    let site = Site::start(
        &circle,
        &[("google", &liar.issuer)],
        &data,
        &["--mail", "log"],
    );
    let changed = |changes: Json| Script {
        changes,
        ..Script::default()
    };
    let refused = (403, "provider-refused".to_owned());
    for wrong in [
        json!({"nonce": "another"}),
        json!({"nonce": null}),
        json!({"aud": "somebody else"}),
        json!({"aud": null}),
        json!({"aud": null, "client_id": CLIENT}),
        json!({"aud": [CLIENT, "somebody else"]}),
        json!({"aud": [CLIENT, "somebody else"], "azp": "somebody else"}),
        json!({"azp": "somebody else"}),
        json!({"iss": "https://elsewhere.example"}),
        json!({"exp": now() - 1}),
        json!({"nbf": now() + 600}),
        json!({"sub": ""}),
    ] {
        let answer = liar.sign_in(&site, changed(wrong.clone())).await;
        assert_eq!(answer, refused, "{wrong}");
    }
    let unsigned = Script {
        is_unsigned: true,
        ..Script::default()
    };
    assert_eq!(liar.sign_in(&site, unsigned).await, refused, "no signature");
    let unknown = Script {
        key: Some("r2"),
        ..Script::default()
    };
    assert_eq!(liar.sign_in(&site, unknown).await, refused, "another key");
    let unavailable = (503, "provider-unavailable".to_owned());
    for (status, body, expected) in [
        (302, String::new(), &unavailable),
        (500, String::new(), &unavailable),
        (200, "nothing".to_owned(), &unavailable),
        (200, "x".repeat(1 << 20), &unavailable),
        (400, json!({"error": "invalid_grant"}).to_string(), &refused),
    ] {
        let answer = Script {
            answer: Some((status, body)),
            ..Script::default()
        };
        assert_eq!(liar.sign_in(&site, answer).await, *expected, "{status}");
    }
    // The harness can also tell the truth.
    for good in [
        json!({}),
        json!({"aud": [CLIENT]}),
        json!({"aud": [CLIENT, "b"], "azp": CLIENT}),
    ] {
        let answer = liar.sign_in(&site, changed(good.clone())).await;
        assert_eq!(answer.0, 200, "{good} {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_speaks_for_itself_alone() {
    let folder = tempfile::tempdir().unwrap();
    let circle = stage::folder("circle").join("circle.toml");
    let liar = Liar::start().await;
    liar.script.lock().unwrap().issuer = Some("https://accounts.google.com".to_owned());
    let data = folder.path().join("data");
    let site = Site::start(
        &circle,
        &[("google", &liar.issuer)],
        &data,
        &["--mail", "log"],
    );
    let answer = Browser::new(&site).get(&site.url("auth/oidc/google")).await;
    let (status, told) = told(answer).await;
    assert_eq!(
        (status, kind(&told)),
        (503, "provider-unavailable"),
        "{told}"
    );
}
