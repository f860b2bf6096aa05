//! The real binary over HTTP: what is not about a design.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};

use crate::server::{Server, make_secret, token};

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
        location.starts_with("/stories/users/a%20b%2F%C3%BC/stories/"),
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
    make_secret(elsewhere.path());
    let forged = token(elsewhere.path(), "ann");
    for (header, status) in [
        (None, 401),
        (Some("Bearer nonsense".to_owned()), 401),
        (Some(format!("Bearer {forged}")), 401),
        (Some("Basic YW5uOmFubg==".to_owned()), 401),
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
        ("application/json", r#"{"n": 1e999999999}"#, 422),
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
        ("/", 200),
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
async fn an_item_that_is_too_large_is_refused_with_its_largest_attribute() {
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
    assert_eq!(problem["type"], "urn:partita:problem:invalid");
    assert_eq!(problem["faults"][0]["attribute"], "text", "{problem}");
}

/// A request whose body has only half arrived when the server begins to stop is still answered.
#[test]
fn a_graceful_stop_answers_what_is_under_way() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory"]);
    let address = server.base.trim_start_matches("http://").to_owned();
    let token = token(data.path(), "ann");
    let body = r#"{"userId": "ann", "title": "Dune"}"#;
    let mut stream = TcpStream::connect(&address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let (first, rest) = body.split_at(10);
    let head = format!(
        "POST /stories/Story HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server asks for the body once it has the head.
    let mut asked = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(first.as_bytes()).unwrap();
    server.ask_to_stop();
    while TcpStream::connect(&address).is_ok() {
        std::thread::yield_now();
    }
    stream.write_all(rest.as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 201");
    assert_eq!(server.wait(), Some(0));
}

/// Pages that end at the store's megabyte, at the limit, and among hidden rows.
#[tokio::test]
async fn pages_end_where_they_should() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory"]);
    let token = token(data.path(), "ann");
    let story = "01JGFJJZ00000000000000DVNE";
    let post = async |entity: &str, body: &Json| {
        let call = Client::new().post(format!("{}/stories/{entity}", server.base));
        let answer = call.bearer_auth(&token).json(body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::CREATED);
    };
    post(
        "Story",
        &json!({"userId": "ann", "id": story, "title": "Dune"}),
    )
    .await;
    for _ in 0..6 {
        post(
            "Node",
            &json!({"userId": "ann", "storyId": story, "text": "x".repeat(390_000)}),
        )
        .await;
    }
    for limit in 1..=8 {
        let mut cursor = String::new();
        let mut count = 0;
        loop {
            let url = format!(
                "{}/stories/query/wholeStory?userId=ann&storyId={story}&limit={limit}{cursor}",
                server.base
            );
            let page = Client::new()
                .get(url)
                .bearer_auth(&token)
                .send()
                .await
                .unwrap();
            assert_eq!(page.status(), StatusCode::OK, "limit {limit}");
            let page: Json = page.json().await.unwrap();
            let items = page["items"].as_array().unwrap().len();
            count += items;
            match page["cursor"].as_str() {
                None => break,
                Some(next) => {
                    assert_eq!(items, limit, "only the last page is short");
                    cursor = format!("&cursor={next}");
                }
            }
        }
        assert_eq!(count, 7, "limit {limit}");
    }
}
