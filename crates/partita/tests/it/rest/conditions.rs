//! Versions as entity tags, `Prefer`, and the keys that administrators may see.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::{Api, ROOT, STORY};

fn title(text: &str) -> Option<Json> {
    Some(json!({ "title": text }))
}

#[tokio::test]
async fn a_change_passes_only_while_the_version_is_the_one_that_was_seen() {
    let api = Api::with_story(&[]).await;
    let path = format!("stories/{STORY}");
    let first = api.get("ann", &path, &[]).await;
    let tag = first.header("etag").unwrap().to_owned();
    let version = format!("\"{}-", first.body["version"]);
    assert!(tag.starts_with(&version), "{tag}");

    let mine = [("if-match", tag.as_str())];
    let changed = api
        .send("ann", Method::PATCH, &path, &mine, title("Two"))
        .await;
    assert_eq!(changed.status, 200);
    let next = changed.header("etag").unwrap().to_owned();
    assert_ne!(next, tag);
    let stale = api
        .send("ann", Method::PATCH, &path, &mine, title("Three"))
        .await;
    assert_eq!((stale.status, stale.problem()), (412, "stale-version"));
    assert_eq!(stale.body["entity"], "Story");
    let stale = api.send("admin", Method::DELETE, &path, &mine, None).await;
    assert_eq!(stale.status, 412);
    let weak = format!("W/{next}");
    for matching in [weak.as_str(), "\"3\"", "*"] {
        let again = [("if-match", matching)];
        let changed = api
            .send("ann", Method::PATCH, &path, &again, title("Four"))
            .await;
        assert_eq!(changed.status, 200, "{matching}");
    }
    for nonsense in ["3", "\"x\"", "\"1-x\"", "\"1\", \"2\"", ""] {
        let headers = [("if-match", nonsense)];
        let seen = api
            .send("ann", Method::PATCH, &path, &headers, title("Five"))
            .await;
        assert_eq!(seen.status, 400, "{nonsense}");
    }
    // An entity without a version has no tag, and no condition on one holds.
    let vote = json!({"nodeId": ROOT, "storyId": STORY, "voteType": "UPVOTE"});
    let voted = api
        .send("ann", Method::POST, "users/ann/votes", &[], Some(vote))
        .await;
    assert_eq!((voted.status, voted.header("etag")), (201, None));
}

#[tokio::test]
async fn whoever_has_an_item_is_not_sent_it_again() {
    let api = Api::with_story(&[]).await;
    let path = format!("stories/{STORY}");
    let tag = api.get("ann", &path, &[]).await;
    let tag = tag.header("etag").unwrap().to_owned();
    let several = format!("\"77\", {tag}");
    for (header, value, status) in [
        ("if-none-match", tag.as_str(), 304),
        ("if-none-match", several.as_str(), 304),
        ("if-none-match", "*", 304),
        ("if-none-match", "\"77\"", 200),
        ("if-match", tag.as_str(), 200),
        ("if-match", "\"77\"", 412),
    ] {
        let seen = api.get("ann", &path, &[(header, value)]).await;
        assert_eq!(seen.status, status, "{header}: {value}");
        if status == 304 {
            assert_eq!(seen.header("etag"), Some(tag.as_str()));
            assert_eq!(seen.body, Json::Null);
        }
    }
    let same = format!("query/story?storyId={STORY}");
    let seen = api.get("ann", &same, &[("if-none-match", &tag)]).await;
    assert_eq!(
        (seen.status, seen.header("etag")),
        (304, Some(tag.as_str()))
    );
    let list = api.get("ann", "stories", &[("if-none-match", "*")]).await;
    assert_eq!(list.status, 400, "a list has no version");
}

/// Sums and counts of an item change while its version stays.
#[tokio::test]
async fn whoever_has_other_numbers_is_sent_the_item_again() {
    let api = Api::with_story(&[]).await;
    api.publish().await;
    let path = format!("stories/{STORY}");
    let first = api.get("ann", &path, &[]).await;
    let tag = first.header("etag").unwrap();
    let read = format!("{path}/chapters/{ROOT}/recordRead");
    let seen = api.send("bob", Method::POST, &read, &[], None).await;
    assert_eq!(seen.status, 204, "{seen:?}");
    let second = api.get("ann", &path, &[("if-none-match", tag)]).await;
    assert_eq!(second.status, 200);
    assert_eq!(second.body["stats"]["totalReads"], 1);
    assert_eq!(second.body["version"], first.body["version"]);
    assert_ne!(second.header("etag"), Some(tag));
    // No other request has changed the story.
    let mine = [("if-match", tag)];
    let changed = api
        .send("ann", Method::PATCH, &path, &mine, title("Two"))
        .await;
    assert_eq!(changed.status, 200, "{changed:?}");
}

#[tokio::test]
async fn whoever_wants_little_gets_little() {
    let api = Api::with_story(&[]).await;
    let path = format!("stories/{STORY}");
    for prefer in ["return=minimal", "respond-async, Return=\"minimal\"; x=1"] {
        let headers = [("prefer", prefer)];
        let seen = api
            .send("ann", Method::PATCH, &path, &headers, title("Two"))
            .await;
        assert_eq!((seen.status, &seen.body), (204, &Json::Null), "{prefer}");
        assert_eq!(seen.header("preference-applied"), Some("return=minimal"));
        assert!(seen.header("etag").is_some());
    }
    let headers = [("prefer", "return=representation, return=minimal")];
    let seen = api
        .send("ann", Method::PATCH, &path, &headers, title("Two"))
        .await;
    assert_eq!(
        (seen.status, seen.body["title"].as_str()),
        (200, Some("Two"))
    );

    let headers = [("prefer", "return=minimal")];
    let vote = json!({"nodeId": ROOT, "storyId": STORY, "voteType": "UPVOTE"});
    let seen = api
        .send("ann", Method::POST, "users/ann/votes", &headers, Some(vote))
        .await;
    assert_eq!((seen.status, &seen.body), (201, &Json::Null));
    let location = format!("/storyhub/users/ann/votes/{ROOT}");
    assert_eq!(seen.header("location"), Some(location.as_str()));
}

#[tokio::test]
async fn keys_are_for_administrators() {
    let api = Api::with_story(&[]).await;
    let published = Some(json!({"status": "PUBLISHED"}));
    let path = format!("stories/{STORY}");
    api.send("ann", Method::PATCH, &path, &[], published).await;
    let seen = api.get("ann", &format!("{path}?keys=true"), &[]).await;
    assert_eq!((seen.status, seen.problem()), (403, "forbidden"));
    let seen = api.get("admin", &format!("{path}?keys=true"), &[]).await;
    assert_eq!(seen.body["PK"], format!("STORY#{STORY}"));
    assert_eq!(seen.body["SK"], "METADATA");
    assert_eq!(seen.body["GSI1PK"], "STORY_LIST");
    let seen = api
        .get("admin", &format!("{path}/chapters?keys=true"), &[])
        .await;
    assert_eq!(seen.body["items"][0]["SK"], format!("CHAPTER#{ROOT}"));
    let seen = api.get("ann", &path, &[]).await;
    assert_eq!(seen.body["PK"], Json::Null);
    let seen = api.get("admin", &format!("{path}?keys=yes"), &[]).await;
    assert_eq!(seen.status, 400);
}
