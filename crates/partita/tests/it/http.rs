//! The real binary over HTTP: what is not about a design.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};

use crate::server::{Server, token};

#[tokio::test]
async fn a_created_item_has_a_location_that_leads_to_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let token = token(data.path(), "a b/ü");
    let client = Client::new();
    let created = client
        .post(format!("{}/stories/Story", server.base))
        .bearer_auth(&token)
        .json(&json!({"userId": "a b/ü", "title": "Dune"}))
        .send()
        .await
        .unwrap();
    assert_eq!(created.status(), StatusCode::CREATED);
    assert!(created.headers().contains_key("x-request-id"));
    let location = created.headers()["location"].to_str().unwrap().to_owned();
    assert!(
        location.starts_with("/stories/Story/a%20b%2F%C3%BC/"),
        "{location}"
    );
    let created: Json = created.json().await.unwrap();
    let found = client
        .get(format!("{}{location}", server.base))
        .bearer_auth(&token);
    let found = found.send().await.unwrap();
    assert_eq!(found.status(), StatusCode::OK);
    assert_eq!(found.json::<Json>().await.unwrap(), created);
}

#[tokio::test]
async fn tokens_are_checked_before_anything_else() {
    let data = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let url = format!("{}/stories/query/stories?userId=ann", server.base);
    let forged = token(elsewhere.path(), "ann");
    for (header, status) in [
        (None, 401),
        (Some("Bearer nonsense".to_owned()), 401),
        (Some(format!("Bearer {forged}")), 401),
        (Some("Basic YW5uOmFubg==".to_owned()), 400),
        (Some(format!("Bearer {}", token(data.path(), "bob"))), 403),
        (Some(format!("Bearer {}", token(data.path(), "ann"))), 200),
    ] {
        let mut call = Client::new().get(&url);
        if let Some(header) = &header {
            call = call.header("authorization", header);
        }
        let response = call.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{header:?}");
        let challenged = response.headers().contains_key("www-authenticate");
        assert_eq!(challenged, status == 401, "{header:?}");
    }
}

#[tokio::test]
async fn bad_requests_are_refused_and_the_server_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let token = token(data.path(), "ann");
    let url = format!("{}/stories/Story", server.base);
    let deep = format!(
        "{{\"userId\":\"ann\",\"title\":{}1{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let large = "x".repeat(3_000_000);
    for (media_type, body, status) in [
        ("application/json", "", 400),
        ("application/json", "{", 400),
        ("application/json", "7", 400),
        ("application/json", deep.as_str(), 400),
        ("application/json", r#"{"n": 1e999999999}"#, 400),
        ("application/json", large.as_str(), 413),
        ("text/plain", "{}", 415),
    ] {
        let call = Client::new().post(&url).bearer_auth(&token);
        let call = call
            .header("content-type", media_type)
            .body(body.to_owned());
        let response = call.send().await.unwrap();
        let start: String = body.chars().take(30).collect();
        assert_eq!(response.status().as_u16(), status, "{start}");
        let media_type = &response.headers()["content-type"];
        assert_eq!(media_type, "application/problem+json", "{start}");
    }
    let item = json!({"userId": "ann", "title": "x".repeat(300)});
    let call = Client::new().post(&url).bearer_auth(&token).json(&item);
    assert_eq!(call.send().await.unwrap().status(), StatusCode::CREATED);
    for (path, status) in [
        ("/", 404),
        ("/nothing", 404),
        ("/nothing/Story", 404),
        ("/healthz", 200),
    ] {
        let response = Client::new()
            .get(format!("{}{path}", server.base))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), status, "{path}");
    }
}

#[tokio::test]
async fn an_item_that_is_too_large_is_refused_with_the_stores_reason() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory"]);
    let token = token(data.path(), "ann");
    let story = "01JGFJJZ00000000000000DVNE";
    let post = async |entity: &str, body: Json| {
        let call = Client::new().post(format!("{}/stories/{entity}", server.base));
        call.bearer_auth(&token).json(&body).send().await.unwrap()
    };
    let created = post(
        "Story",
        json!({"userId": "ann", "id": story, "title": "Dune"}),
    )
    .await;
    assert_eq!(created.status(), StatusCode::CREATED);
    let node = json!({"userId": "ann", "storyId": story, "text": "x".repeat(500_000)});
    let refused = post("Node", node).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let problem: Json = refused.json().await.unwrap();
    assert_eq!(problem["type"], "urn:partita:problem:refused-by-store");
}

/// A raw connection that sends half a request does not keep the server from stopping.
#[test]
fn a_graceful_stop_answers_what_is_under_way() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory"]);
    let address = server.base.trim_start_matches("http://").to_owned();
    let mut idle = TcpStream::connect(&address).unwrap();
    idle.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let mut start = [0; 12];
    idle.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    assert_eq!(server.stop(), Some(0));
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).unwrap();
    assert!(
        TcpStream::connect(&address).is_err(),
        "nobody listens any more"
    );
}
