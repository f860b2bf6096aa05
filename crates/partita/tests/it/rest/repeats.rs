//! The same request under the same `Idempotency-Key`, when the item is too large to be kept.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::{Api, Seen};

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
