//! Paths that follow from names, and nicer ones.

use reqwest::Method;
use serde_json::json;

use super::{Api, ROOT, STORY};

#[tokio::test]
async fn both_paths_lead_to_the_same() {
    let api = Api::with_story(&[]).await;
    let (nicer, named) = (
        format!("stories/{STORY}/chapters/{ROOT}"),
        format!("ChapterNode/{STORY}/{ROOT}"),
    );
    let one = api.get("ann", &nicer, &[]).await;
    assert_eq!(one.body["title"], "Arrakis");
    assert_eq!(one.body, api.get("ann", &named, &[]).await.body);

    let list = api
        .get("ann", &format!("stories/{STORY}/chapters?limit=1"), &[])
        .await;
    let same = format!("query/chapters?storyId={STORY}&limit=1");
    assert_eq!(list.body, api.get("ann", &same, &[]).await.body);
    assert_eq!(list.body["items"][0]["nodeId"], ROOT);

    for path in [&nicer, &named] {
        let path = format!("{path}/judge");
        let body = Some(json!({"matchesVision": true}));
        let judged = api.send("ann", Method::POST, &path, &[], body).await;
        assert_eq!(judged.status, 200, "{path}");
        assert_eq!(judged.body["matchesVision"], true);
    }
    let told = api
        .send(
            "ann",
            Method::POST,
            "action/markAllRead",
            &[],
            Some(json!({"userId": "ann"})),
        )
        .await;
    assert!(told.status < 300, "{told:?}");

    // A new item is where its `Location` says, on the nicer path.
    let vote = json!({"userId": "bob", "storyId": STORY, "nodeId": ROOT, "voteType": "UPVOTE"});
    let story = format!("stories/{STORY}");
    let published = Some(json!({"status": "PUBLISHED"}));
    api.send("ann", Method::PATCH, &story, &[], published).await;
    let voted = api.send("bob", Method::POST, "Vote", &[], Some(vote)).await;
    let location = format!("/storyhub/users/bob/votes/{ROOT}");
    assert_eq!(voted.header("location"), Some(location.as_str()));
}

#[tokio::test]
async fn what_is_nowhere_says_what_was_meant() {
    let api = Api::start(&[]);
    for (path, detail) in [
        (
            "stroies",
            "there is nothing at `stroies`; did you mean `stories`?",
        ),
        (
            "query/chapter2",
            "there is nothing at `query/chapter2`; did you mean `query/chapter`?",
        ),
        (
            "ChapterNode/1",
            "there is nothing at `ChapterNode/1`; there is `ChapterNode/{storyId}/{nodeId}`, `ChapterNode/{storyId}/{nodeId}/approve` and `ChapterNode/{storyId}/{nodeId}/judge`",
        ),
    ] {
        let seen = api.get("", path, &[]).await;
        assert_eq!((seen.status, seen.problem()), (404, "no-route"), "{path}");
        assert_eq!(seen.body["detail"], detail);
    }
    for (method, path, allow) in [
        (Method::GET, "Vote", "POST"),
        (Method::POST, "query/browse", "GET, HEAD"),
        // A pattern reads where items are created.
        (Method::DELETE, "stories", "GET, HEAD, POST"),
        (Method::POST, "batch/x", ""),
    ] {
        let seen = api.send("", method.clone(), path, &[], None).await;
        if allow.is_empty() {
            assert_eq!(seen.status, 404, "{method} {path}");
            continue;
        }
        assert_eq!(
            (seen.status, seen.problem()),
            (405, "method-not-allowed"),
            "{method} {path}"
        );
        assert_eq!(seen.header("allow"), Some(allow), "{method} {path}");
    }
}

#[tokio::test]
async fn the_path_counts_where_the_body_says_otherwise() {
    let api = Api::with_story(&[]).await;
    let body =
        Some(json!({"userId": "ann", "nodeId": ROOT, "storyId": STORY, "voteType": "UPVOTE"}));
    let seen = api
        .send("bob", Method::POST, "users/bob/votes", &[], body)
        .await;
    assert_eq!((seen.status, seen.problem()), (422, "invalid"));
    assert_eq!(seen.body["faults"][0]["attribute"], "userId");
    let seen = api.get("bob", "users/bob/bookmarks?userId=ann", &[]).await;
    assert_eq!((seen.status, seen.problem()), (400, "bad-request"));
}
