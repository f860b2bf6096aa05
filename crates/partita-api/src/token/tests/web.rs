//! Key sets from a web server, which rotates its keys, answers nonsense, and goes away.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use jsonwebtoken::Algorithm;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::foreign::{NOW, claims, ec, rsa, signed, tokens_with, with};
use super::*;
use crate::server::{self, Limits};
use crate::token::fetch::KeyUrl;
use crate::token::keys::SET_BYTES_MAX;

const MINUTE_MILLIS: i64 = 60_000;

/// Somebody who publishes keys on this machine.
struct Publisher {
    shelf: Arc<Shelf>,
    url: String,
    /// Stops the server when it is dropped.
    _running: oneshot::Sender<()>,
}

/// What is answered, and how often it was asked for.
struct Shelf {
    answer: Mutex<(StatusCode, String)>,
    asked: AtomicUsize,
}

impl Publisher {
    async fn open(keys: Json) -> Publisher {
        let shelf = Arc::new(Shelf {
            answer: Mutex::new((StatusCode::OK, json!({ "keys": keys }).to_string())),
            asked: AtomicUsize::new(0),
        });
        let router = Router::new()
            .route("/jwks.json", get(answer))
            .with_state(shelf.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (running, stopped) = oneshot::channel::<()>();
        let service = server::service(router);
        tokio::spawn(server::serve(
            listener,
            service,
            Limits::default(),
            async move { drop(stopped.await) },
        ));
        Publisher {
            shelf,
            url: format!("http://{address}/jwks.json"),
            _running: running,
        }
    }

    fn publish(&self, keys: Json) {
        self.say(StatusCode::OK, json!({ "keys": keys }).to_string());
    }

    fn say(&self, status: StatusCode, body: String) {
        *self.shelf.answer.lock().unwrap() = (status, body);
    }

    fn asked(&self) -> usize {
        self.shelf.asked.load(Ordering::SeqCst)
    }

    async fn fetch(&self, clock: &Arc<ManualClock>) -> Result<Keys, KeyError> {
        Keys::fetch(KeyUrl::new(&self.url)?, clock.clone()).await
    }
}

async fn answer(State(shelf): State<Arc<Shelf>>) -> Response {
    shelf.asked.fetch_add(1, Ordering::SeqCst);
    let (status, body) = shelf.answer.lock().unwrap().clone();
    // A client that follows the redirect comes back here, and is counted.
    let location = [(header::LOCATION, "/jwks.json")];
    (status, location, body).into_response()
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(NOW * 1000))
}

async fn is_good(tokens: &Tokens, token: &str) -> bool {
    tokens.verify("stories", Some(token)).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_is_fetched_once_and_not_by_everybody() {
    let (clock, publisher) = (clock(), Publisher::open(json!([rsa("r1")])).await);
    let tokens = tokens_with(publisher.fetch(&clock).await.unwrap(), &clock);
    let tokens = Arc::new(tokens);
    let old = signed(
        Algorithm::RS256,
        Some("r1"),
        &with("exp", json!(NOW + 3600)),
    );
    let new = signed(
        Algorithm::ES256,
        Some("e2"),
        &with("exp", json!(NOW + 3600)),
    );
    assert!(is_good(&tokens, &old).await);

    publisher.publish(json!([ec("e2")]));
    assert!(!is_good(&tokens, &new).await, "they were just fetched");
    assert_eq!(publisher.asked(), 1);
    clock.advance(MINUTE_MILLIS);
    let callers = (0..20).map(|_| {
        let (tokens, new) = (tokens.clone(), new.clone());
        tokio::spawn(async move { is_good(&tokens, &new).await })
    });
    for caller in callers.collect::<Vec<_>>() {
        assert!(caller.await.unwrap(), "whoever waits gets the new key, too");
    }
    assert_eq!(publisher.asked(), 2, "twenty callers ask once");
    assert!(!is_good(&tokens, &old).await, "the old key is withdrawn");
    for id in ["x1", "x2", "x3"] {
        let unknown = signed(Algorithm::RS256, Some(id), &claims());
        assert!(!is_good(&tokens, &unknown).await);
    }
    assert_eq!(publisher.asked(), 2, "a stranger cannot make us ask");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_key_set_is_refused_at_first_and_passed_over_later() {
    let (clock, publisher) = (clock(), Publisher::open(json!([rsa("r1")])).await);
    let tokens = tokens_with(publisher.fetch(&clock).await.unwrap(), &clock);
    let known = signed(
        Algorithm::RS256,
        Some("r1"),
        &with("exp", json!(NOW + 3600)),
    );
    let unknown = signed(
        Algorithm::RS256,
        Some("r2"),
        &with("exp", json!(NOW + 3600)),
    );
    let set = json!({ "keys": [rsa("r2")] }).to_string();
    let answers = [
        (
            StatusCode::OK,
            "<!doctype html>".to_owned(),
            "expected value",
        ),
        (
            StatusCode::OK,
            json!({"keys": []}).to_string(),
            "it is empty",
        ),
        (
            StatusCode::OK,
            format!("{set}{}", " ".repeat(SET_BYTES_MAX)),
            "length limit",
        ),
        (StatusCode::NOT_FOUND, set.clone(), "404"),
        // Another place is another issuer.
        (StatusCode::FOUND, set, "302"),
    ];
    for (status, body, reason) in answers {
        publisher.say(status, body);
        let refused = publisher.fetch(&clock).await.err().unwrap().to_string();
        assert!(refused.contains(reason), "{refused}");
        let asked = publisher.asked();
        clock.advance(MINUTE_MILLIS);
        assert!(!is_good(&tokens, &unknown).await, "{reason}");
        assert!(is_good(&tokens, &known).await, "{reason}");
        assert_eq!(publisher.asked(), asked + 1, "{reason}");
    }
}

#[tokio::test]
async fn a_publisher_that_is_away_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
    drop(listener);
    let source = KeyUrl::new(&url).unwrap();
    let refused = Keys::fetch(source, clock()).await.err().unwrap();
    assert!(refused.to_string().contains(&url), "{refused}");
    for url in [
        "http://example.org/jwks.json",
        "ftp://localhost/x",
        "no URL",
    ] {
        assert!(KeyUrl::new(url).is_err(), "{url}");
    }
}
