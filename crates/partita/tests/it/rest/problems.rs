//! What problem documents say.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::Api;

#[tokio::test]
async fn every_fault_is_told_with_what_the_design_asks() {
    let api = Api::start(&[]);
    let body = json!({"storyId": "short", "authorId": "ann", "title": "", "genre": 7, "ageRating": "12", "nothing": 1});
    let seen = api
        .send("ann", Method::POST, "stories", &[], Some(body))
        .await;
    assert_eq!((seen.status, seen.problem()), (422, "invalid"));
    assert_eq!(seen.body["entity"], "Story");
    let request = seen.header("x-request-id").unwrap();
    assert_eq!(
        seen.body["instance"],
        format!("urn:partita:request:{request}")
    );
    let faults = seen.body["faults"].as_array().unwrap();
    let named = |name: &str| {
        let mut faults = faults.iter();
        faults.find(|fault| fault["attribute"] == name).unwrap()
    };
    assert_eq!(named("title")["rule"], "value");
    assert_eq!(named("title")["entity"], "Story");
    assert_eq!(named("genre")["rule"], "type");
    assert!(
        named("genre")["detail"]
            .as_str()
            .unwrap()
            .contains("string")
    );
    assert_eq!(named("synopsis")["detail"], "is required");
    assert_eq!(named("nothing")["rule"], "unknown");
    let names = faults
        .iter()
        .map(|fault| fault["attribute"].as_str().unwrap());
    let names: std::collections::BTreeSet<_> = names.collect();
    let all = ["genre", "nothing", "storyId", "synopsis", "title"];
    assert!(names.is_superset(&all.into()), "{faults:#?}");
}

#[tokio::test]
async fn a_head_that_is_a_little_too_large_gets_a_document() {
    let api = Api::start(&[]);
    let long = "x".repeat(33 * 1024);
    let seen = api.get("", "stories", &[("x-long", &long)]).await;
    assert_eq!((seen.status, seen.problem()), (431, "head-too-large"));
    let names: Vec<String> = (0..70).map(|at| format!("x-{at}")).collect();
    let headers: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let seen = api.get("", "stories", &headers).await;
    assert_eq!((seen.status, seen.problem()), (431, "head-too-large"));
}

/// An item has at most 400 KB: the answer names the attribute that is to blame, on a new item and
/// on one that grows.
#[tokio::test]
async fn what_is_too_large_is_named() {
    let api = Api::start(&[]);
    let post =
        async |path: &str, body: Json| api.send("ann", Method::POST, path, &[], Some(body)).await;
    let ann = json!({"userId": "ann", "email": "ann@example.org", "displayName": "Ann"});
    assert_eq!(post("users", ann).await.status, 201);
    let story = json!({"title": "Dune", "synopsis": "Sand.", "authorId": "ann", "genre": "sf", "ageRating": "12"});
    let story = post("stories", story).await.body["storyId"].clone();
    let chapters = format!("stories/{}/chapters", story.as_str().unwrap());
    let chapter = |content: String| json!({"authorId": "ann", "title": "One", "content": content});
    let seen = post(&chapters, chapter("x".repeat(410_000))).await;
    assert_eq!((seen.status, seen.problem()), (422, "invalid"));
    assert_eq!(seen.body["faults"][0]["attribute"], "content");
    let made = post(&chapters, chapter("x".repeat(390_000))).await;
    assert_eq!(made.status, 201);
    let path = format!("{chapters}/{}", made.body["nodeId"].as_str().unwrap());
    let longer = json!({"content": "x".repeat(410_000)});
    let seen = api
        .send("ann", Method::PATCH, &path, &[], Some(longer))
        .await;
    assert_eq!((seen.status, seen.problem()), (422, "invalid"));
    assert_eq!(seen.body["faults"][0]["attribute"], "content");
}
