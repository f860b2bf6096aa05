//! What problem documents say.

use reqwest::Method;
use serde_json::json;

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
