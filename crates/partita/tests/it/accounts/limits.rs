//! How often something may be tried.

use std::sync::Arc;

use partita_api::Limits;
use partita_api::feed::FeedLimits;
use partita_store::ModelStore;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{Circle, MINUTE, PASSWORD, kind};

/// Wrong passwords lock an account for a while, and no session.
pub(crate) async fn lock_out(circle: &Circle) {
    let login = circle.member("ann").await;
    let token = circle.signed_in(&login).await;
    for _ in 0..10 {
        assert_eq!(
            circle.sign_in(&login, "wrong password").await.0,
            StatusCode::UNAUTHORIZED
        );
    }
    let (status, problem) = circle.sign_in(&login, PASSWORD).await;
    assert_eq!(
        (status, kind(&problem)),
        (StatusCode::TOO_MANY_REQUESTS, "limit-reached")
    );
    let wait = problem["wait"].as_i64().unwrap();
    assert!((1..=18 * 60).contains(&wait), "{wait}");
    assert_eq!(circle.get("auth/me", &token).await.0, StatusCode::OK);
    circle.clock.advance(wait * 1000);
    assert_eq!(circle.sign_in(&login, PASSWORD).await.0, StatusCode::OK);
}

/// Whenever somebody begins, no quarter of an hour has more wrong passwords than ten.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_attempts_has_no_edge() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let mut guesses: Vec<i64> = Vec::new();
    for minute in 0..50 {
        for _ in 0..3 {
            if circle.sign_in(&login, "wrong password").await.0 == StatusCode::UNAUTHORIZED {
                guesses.push(minute);
            }
        }
        circle.clock.advance(MINUTE);
    }
    for start in 0..50 {
        let inside = guesses
            .iter()
            .filter(|at| (start..start + 15).contains(*at));
        assert!(inside.count() <= 10, "{guesses:?}");
    }
    // It is no lock for good either.
    assert!(guesses.len() >= 20, "{guesses:?}");
}

/// A proxy that does not say whom it forwards makes all of them one, and one of them would keep the
/// others out.
#[tokio::test(flavor = "multi_thread")]
async fn guesses_from_unknown_addresses_keep_nobody_else_out() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let sign_in = |login: String, password: &'static str| {
        let body = json!({"login": login, "password": password});
        let request = circle.request(Method::POST, "auth/sign-in", None);
        let request = request.header("x-forwarded-for", "unknown").json(&body);
        async { request.send().await.unwrap().status() }
    };
    for number in 0..101 {
        let nobody = format!("nobody-{number}@example.org");
        assert_eq!(sign_in(nobody, "wrong horse battery").await, 401);
    }
    assert_eq!(sign_in(login, PASSWORD).await, 200);
}

/// Whom a header names counts where a proxy says it, and nobody names themselves.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_proxy_says_where_a_request_comes_from() {
    let proxies = [vec!["127.0.0.1".parse().unwrap()], Vec::new()];
    for (trusted, last) in proxies.into_iter().zip([202, 429]) {
        let limits = Limits {
            trusted,
            ..Limits::default()
        };
        let store = Arc::new(ModelStore::default());
        let circle = Circle::open_with(store, "circle", FeedLimits::default(), limits).await;
        let mut status = StatusCode::OK;
        for number in 0..=300 {
            let body = json!({"login": format!("nobody{number}@example.org")});
            let request = circle.request(Method::POST, "auth/request-reset", None);
            let from = format!("198.51.{}.{}", number / 256, number % 256);
            let request = request.header("x-forwarded-for", from).json(&body);
            status = request.send().await.unwrap().status();
        }
        assert_eq!(status, last);
    }
}
