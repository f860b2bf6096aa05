//! Several writes in one request: all of them, or none.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::{Api, ROOT, STORY, Seen};

async fn batch(api: &Api, user: &str, headers: &[(&str, &str)], operations: Json) -> Seen {
    let body = Some(json!({ "operations": operations }));
    api.send(user, Method::POST, "batch", headers, body).await
}

#[tokio::test]
async fn every_write_of_a_batch_is_carried_out() {
    let api = Api::with_story(&[]).await;
    let version = api.get("ann", &format!("stories/{STORY}"), &[]).await;
    let version = version.header("etag").unwrap().to_owned();
    let branch = "01JGFJJZ000000000000BRANCH";
    let operations = json!([
        {"method": "PATCH", "path": format!("stories/{STORY}"), "body": {"title": "Dune Messiah"}, "ifMatch": version},
        {"method": "POST", "path": format!("stories/{STORY}/chapters"), "body": {"nodeId": branch, "parentNodeId": ROOT, "authorId": "ann", "title": "The worm", "content": "It came."}},
        {"method": "PUT", "path": format!("users/ann/votes/{ROOT}"), "body": {"storyId": STORY, "voteType": "UPVOTE"}},
        {"method": "POST", "path": format!("ChapterNode/{STORY}/{ROOT}/judge"), "body": {"matchesVision": true}},
    ]);
    let key = [("idempotency-key", "b1")];
    let seen = batch(&api, "ann", &key, operations.clone()).await;
    assert_eq!(seen.status, 200, "{seen:?}");
    let results = seen.body["results"].as_array().unwrap();
    let statuses: Vec<_> = results.iter().map(|one| one["status"].clone()).collect();
    assert_eq!(statuses, [200, 201, 201, 200]);
    assert_eq!(results[0]["body"]["title"], "Dune Messiah");
    assert_ne!(results[0]["etag"], json!(version));
    let location = format!("/storyhub/stories/{STORY}/chapters/{branch}");
    assert_eq!(results[1]["location"], location);
    // Under the same key it is answered, and not carried out, again.
    let again = batch(&api, "ann", &key, operations).await;
    assert_eq!(again.body, seen.body);

    let chapter = format!("stories/{STORY}/chapters/{ROOT}");
    let chapter = api.get("ann", &chapter, &[]).await;
    assert_eq!(chapter.body["stats"]["upvotes"], 1);
    assert_eq!(chapter.body["stats"]["childCount"], 1);
    let minimal = [("prefer", "return=minimal")];
    let operations = json!([{"method": "DELETE", "path": format!("users/ann/votes/{ROOT}")}]);
    let seen = batch(&api, "ann", &minimal, operations).await;
    assert_eq!(seen.body, json!({"results": [{"status": 204}]}));
    assert_eq!(seen.header("preference-applied"), Some("return=minimal"));
}

#[tokio::test]
async fn one_refusal_is_a_refusal_of_all_that_names_it() {
    let api = Api::with_story(&[]).await;
    let story = format!("stories/{STORY}");
    let operations = json!([
        {"method": "PATCH", "path": story, "body": {"title": "Dune Messiah"}},
        {"method": "PATCH", "path": story, "body": {"title": "", "nothing": 1}},
        {"method": "PATCH", "path": "stories/01JGFJJZ0000000000000N0NE0", "body": {"title": "x"}},
    ]);
    let seen = batch(&api, "ann", &[], operations).await;
    assert_eq!((seen.status, seen.problem()), (422, "invalid"), "{seen:?}");
    assert_eq!(seen.body["operation"], 1);
    let problems = seen.body["problems"].as_array().unwrap();
    let named: Vec<_> = problems
        .iter()
        .map(|one| one["operation"].clone())
        .collect();
    assert_eq!(named, [1, 2], "{problems:#?}");
    assert_eq!(problems[0]["faults"].as_array().unwrap().len(), 2);
    assert_eq!(problems[1]["type"], "urn:partita:problem:not-found");
    let left = api.get("ann", &story, &[]).await;
    assert_eq!(left.body["title"], "Dune");

    let stale =
        json!([{"method": "PATCH", "path": story, "body": {"title": "x"}, "ifMatch": "\"9\""}]);
    let seen = batch(&api, "ann", &[], stale).await;
    assert_eq!((seen.status, seen.problem()), (412, "stale-version"));
    assert_eq!(seen.body["operation"], 0);
}

#[tokio::test]
async fn what_cannot_be_understood_is_told_for_each() {
    let api = Api::with_story(&[]).await;
    let operations = json!([
        {"method": "GET", "path": format!("stories/{STORY}")},
        {"method": "POST", "path": "nowhere"},
        {"path": "stories"},
        {"method": "POST", "path": "stories", "body": []},
        {"method": "POST", "path": "stories", "extra": 1},
        7,
    ]);
    let seen = batch(&api, "ann", &[], operations).await;
    assert_eq!((seen.status, seen.problem()), (400, "bad-request"));
    assert_eq!(seen.body["problems"].as_array().unwrap().len(), 6);
    assert_eq!(
        seen.body["problems"][1]["type"],
        "urn:partita:problem:no-route"
    );
    for body in [
        json!({}),
        json!({"operations": {}}),
        json!({"operations": [], "x": 1}),
    ] {
        let seen = api
            .send("ann", Method::POST, "batch", &[], Some(body.clone()))
            .await;
        assert_eq!(seen.status, 400, "{body}");
    }
    let seen = batch(&api, "ann", &[], json!([])).await;
    assert_eq!((seen.status, seen.problem()), (422, "too-much"));
    let vote =
        json!({"method": "PATCH", "path": format!("stories/{STORY}"), "body": {"title": "x"}});
    let seen = batch(&api, "ann", &[], json!(vec![vote; 101])).await;
    assert_eq!((seen.status, seen.problem()), (422, "too-much"));
    assert_eq!(seen.body["operations"], 101);
}

#[tokio::test]
async fn what_cannot_be_understood_hides_no_other_fault() {
    let api = Api::with_story(&[]).await;
    let story = format!("stories/{STORY}");
    let bad = json!({"method": "PATCH", "path": story, "body": {"title": ""}});
    let nothing = "stories/01JGFJJZ0000000000000N0NE0";
    let missing = json!({"method": "PATCH", "path": nothing, "body": {"title": "x"}});
    let wrong_identity = json!({"method": "PATCH", "path": "stories/x", "body": {"title": "x"}});
    let nowhere = json!({"method": "POST", "path": "nowhere"});
    let stray = json!({"method": "PATCH", "path": story, "extra": 1});
    for malformed in [wrong_identity, nowhere, stray] {
        let operations = json!([bad, malformed, missing, bad]);
        let seen = batch(&api, "ann", &[], operations).await;
        let problems = seen.body["problems"].as_array().unwrap();
        let named: Vec<_> = problems.iter().map(|one| &one["operation"]).collect();
        assert_eq!(named, [0, 1, 2, 3], "{malformed}: {problems:#?}");
        assert_eq!(problems[0]["faults"][0]["attribute"], "title");
        assert_eq!(problems[2]["type"], "urn:partita:problem:not-found");
    }
    let left = api.get("ann", &story, &[]).await;
    assert_eq!(left.body["title"], "Dune");
}

#[tokio::test]
async fn the_rules_are_asked_before_anything_is_said_of_a_body() {
    let api = Api::with_story(&[]).await;
    let nowhere = json!({"method": "POST", "path": "nowhere"});
    let good = json!({"method": "POST", "path": format!("stories/{STORY}/recordRead")});
    let bodies = [json!([]), json!({"nothing": 1}), json!({"email": 1})];
    let mut malformed: Vec<Json> = bodies.map(|body| json!({ "body": body })).into();
    malformed.push(json!({"extra": 1}));
    // What no rule allows without a token, and what the identity alone refuses another user.
    for (user, refusal) in [("", (401, "unauthenticated")), ("bob", (403, "forbidden"))] {
        for wrong in &malformed {
            let mut operation = json!({"method": "PATCH", "path": "users/ann"});
            operation
                .as_object_mut()
                .unwrap()
                .extend(wrong.as_object().unwrap().clone());
            for operations in [
                json!([operation]),
                json!([nowhere, operation]),
                json!([good, operation]),
                json!([operation, 7]),
            ] {
                let seen = batch(&api, user, &[], operations.clone()).await;
                assert_eq!(
                    (seen.status, seen.problem()),
                    refusal,
                    "{operations} {seen:?}"
                );
                let problems = seen.body["problems"].as_array().unwrap();
                assert_eq!(problems.len(), 1, "{seen:?}");
                let list = operations.as_array().unwrap();
                let at = list.iter().position(|one| *one == operation);
                assert_eq!(seen.body["operation"], json!(at), "{seen:?}");
            }
            let alone = wrong.get("body").cloned();
            let alone = api.send(user, Method::PATCH, "users/ann", &[], alone).await;
            assert_eq!((alone.status, alone.problem()), refusal, "{alone:?}");
        }
    }
    // A condition that cannot be read is not looked at without a token, either.
    let operation = json!({"method": "PATCH", "path": "users/ann", "ifMatch": 3});
    let seen = batch(&api, "", &[], json!([operation])).await;
    assert_eq!(seen.status, 401, "{seen:?}");
}
