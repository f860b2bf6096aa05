//! The same request under the same `Idempotency-Key`, when the item is too large to be kept.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::{Api, STORY, Seen};

async fn create(api: &Api, story: &Json) -> Seen {
    let key = [("idempotency-key", "k1")];
    let body = Some(story.clone());
    let seen = api.send("ann", Method::POST, "stories", &key, body).await;
    assert_eq!(seen.status, 201, "{seen:?}");
    seen
}

#[tokio::test]
async fn a_large_item_is_created_once_and_told_as_it_is() {
    let api = Api::with_story(&[]).await;
    let synopsis = "Sand. ".repeat(800);
    let story = json!({"authorId": "ann", "title": "Dune", "synopsis": synopsis, "genre": "sf", "ageRating": "12"});
    let first = create(&api, &story).await;
    let location = first.header("location").unwrap().to_owned();
    let again = create(&api, &story).await;
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("etag"), first.header("etag"));

    let path = location.strip_prefix("/storyhub/").unwrap();
    let change = Some(json!({"title": "Dune Messiah"}));
    let changed = api.send("ann", Method::PATCH, path, &[], change).await;
    let again = create(&api, &story).await;
    assert_eq!(again.header("location"), Some(location.as_str()));
    assert_eq!(again.body["title"], "Dune Messiah");
    assert_eq!(again.header("etag"), changed.header("etag"));

    let gone = api.send("admin", Method::DELETE, path, &[], None).await;
    assert_eq!(gone.status, 204, "{gone:?}");
    let again = create(&api, &story).await;
    assert_eq!(again.header("location"), Some(location.as_str()));
    assert_eq!(again.body, json!({"storyId": first.body["storyId"]}));
    let there = api.get("ann", path, &[]).await;
    assert_eq!(there.status, 404, "repeating it has not created it again");
}

#[tokio::test]
async fn a_caller_has_as_many_keys_as_the_server_says() {
    let api = Api::with_story(&["--idempotency-mb", "1"]).await;
    let path = format!("stories/{STORY}");
    let change = |number: usize| {
        let synopsis = "Sand. ".repeat(500);
        Some(json!({"title": format!("Dune {number}"), "synopsis": synopsis}))
    };
    let mut answered = Vec::new();
    let refused = loop {
        let number = answered.len();
        // At least 3 KB are kept of each, so that there is no room for more than 340.
        assert!(number < 340, "nothing bounds the keys of a caller");
        let key = format!("k{number}");
        let key = [("idempotency-key", key.as_str())];
        let seen = api
            .send("ann", Method::PATCH, &path, &key, change(number))
            .await;
        if seen.status != 200 {
            break seen;
        }
        answered.push(seen);
    };
    assert_eq!((refused.status, refused.problem()), (429, "too-many-keys"));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{refused:?}");
    // The caller gets the same answer again, and writes on without a key.
    let key = [("idempotency-key", "k0")];
    let again = api.send("ann", Method::PATCH, &path, &key, change(0)).await;
    assert_eq!(again.body, answered[0].body);
    let without = api.send("ann", Method::PATCH, &path, &[], change(0)).await;
    assert_eq!(without.status, 200, "{without:?}");
}
