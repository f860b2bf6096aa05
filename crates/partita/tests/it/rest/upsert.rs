//! PUT: creates an item, or changes the one that is there.

use reqwest::Method;
use serde_json::json;

use super::{Api, ROOT, STORY};

#[tokio::test]
async fn put_creates_and_then_changes() {
    let api = Api::with_story(&[]).await;
    let path = format!("users/ann/bookmarks/{STORY}");
    let body = Some(json!({ "currentNodeId": ROOT }));
    let put = async |headers: &[(&str, &str)]| {
        api.send("ann", Method::PUT, &path, headers, body.clone())
            .await
    };
    let first = put(&[]).await;
    assert_eq!(first.status, 201, "{first:?}");
    let location = format!("/storyhub/{path}");
    assert_eq!(first.header("location"), Some(location.as_str()));
    let tag = first.header("etag").unwrap().to_owned();
    let second = put(&[("if-match", &tag)]).await;
    assert_eq!((second.status, second.header("location")), (200, None));
    assert_eq!(second.body["createdAt"], first.body["createdAt"]);
    let stale = put(&[("if-match", &tag)]).await;
    assert_eq!((stale.status, stale.problem()), (412, "stale-version"));
    // The same identity in another place of the request must be the same.
    let other = Some(json!({ "currentNodeId": ROOT, "userId": "bob" }));
    let seen = api.send("ann", Method::PUT, &path, &[], other).await;
    assert_eq!((seen.status, seen.problem()), (422, "invalid"));
    // Saving a bookmark again is what bookmarks are for.
    let seen = put(&[("if-none-match", "*")]).await;
    assert_eq!(seen.status, 400);
}

#[tokio::test]
async fn a_condition_leaves_one_of_the_two() {
    let api = Api::with_story(&[]).await;
    let body = |title: &str| {
        Some(
            json!({"authorId": "ann", "title": title, "synopsis": "Sand.", "genre": "sf", "ageRating": "12"}),
        )
    };
    let there = format!("stories/{STORY}");
    let new = "stories/01JGFJJZ0000000000000000XX";
    let only_new = [("if-none-match", "*")];
    let only_old = [("if-match", "*")];
    for (path, headers, status) in [
        (there.as_str(), &only_new, 412),
        (new, &only_old, 412),
        (new, &only_new, 201),
        (new, &only_new, 412),
    ] {
        let seen = api
            .send("ann", Method::PUT, path, headers, body("New"))
            .await;
        assert_eq!(seen.status, status, "{path} {headers:?}: {seen:?}");
        if status == 412 {
            assert_eq!(seen.problem(), "precondition-failed");
        }
    }
    let title = Some(json!({"title": "Old"}));
    let seen = api.send("ann", Method::PUT, new, &only_old, title).await;
    assert_eq!(
        (seen.status, seen.body["title"].as_str()),
        (200, Some("Old"))
    );
    let seen = api
        .send(
            "ann",
            Method::PUT,
            new,
            &[("if-none-match", "\"1\"")],
            body("x"),
        )
        .await;
    assert_eq!(seen.status, 400);
}

/// Where creating an item again is no mistake, the answer says whether it was there.
#[tokio::test]
async fn a_second_creation_is_told_as_a_change() {
    let api = Api::with_story(&[]).await;
    api.publish().await;
    let vote = |how: &str| json!({"nodeId": ROOT, "storyId": STORY, "voteType": how});
    let location = format!("/storyhub/users/bob/votes/{ROOT}");
    for (how, status, location) in [
        ("UPVOTE", 201, Some(location.as_str())),
        ("DOWNVOTE", 200, None),
    ] {
        let path = "users/bob/votes";
        let seen = api
            .send("bob", Method::POST, path, &[], Some(vote(how)))
            .await;
        assert_eq!((seen.status, seen.header("location")), (status, location));
        assert_eq!(seen.body["voteType"], how);
    }
    let again = json!({"method": "POST", "path": "users/bob/votes", "body": vote("UPVOTE")});
    let batch = Some(json!({ "operations": [again] }));
    let seen = api.send("bob", Method::POST, "batch", &[], batch).await;
    assert_eq!(seen.body["results"][0]["status"], 200, "{seen:?}");
}
