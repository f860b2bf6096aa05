//! Compression, and pages of other origins.

use std::io::Read as _;

use flate2::read::GzDecoder;
use reqwest::{Client, Method};
use serde_json::Value as Json;

use super::{Api, STORY};

#[tokio::test]
async fn large_answers_are_compressed_for_whoever_takes_that() {
    let api = Api::with_story(&[]).await;
    let path = format!("query/chapters?storyId={STORY}");
    let plain = api.get("admin", "openapi-or-nothing", &[]).await;
    assert_eq!(plain.header("content-encoding"), None, "a small one is not");
    assert_eq!(plain.header("vary"), Some("accept-encoding"));

    let long = "x".repeat(3000);
    let body = serde_json::json!({ "content": long });
    let chapter = format!("stories/{STORY}/chapters/{}", super::ROOT);
    let seen = api
        .send("ann", Method::PATCH, &chapter, &[], Some(body))
        .await;
    assert_eq!(seen.status, 200);
    let packed = [("accept-encoding", "br;q=1, gzip;q=0.8")];
    let url = format!("{}/storyhub/{path}", api.server.base);
    let call = Client::new()
        .get(url)
        .bearer_auth(api.token("ann"))
        .header(packed[0].0, packed[0].1);
    let response = call.send().await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(response.headers()["vary"], "accept-encoding");
    let bytes = response.bytes().await.unwrap();
    assert!(bytes.len() < 1500, "{}", bytes.len());
    let mut text = String::new();
    GzDecoder::new(&bytes[..])
        .read_to_string(&mut text)
        .unwrap();
    let page: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(page["items"][0]["content"], long);
    let refused = [("accept-encoding", "gzip;q=0")];
    let seen = api.get("ann", &chapter, &refused).await;
    assert_eq!(seen.header("content-encoding"), None);
    assert_eq!(seen.body["content"], long);
}

#[tokio::test]
async fn pages_of_other_origins_are_let_in_by_name() {
    let origin = "https://example.com";
    let asking = |origin: &'static str| {
        [
            ("origin", origin),
            ("access-control-request-method", "PATCH"),
            ("access-control-request-headers", "authorization, if-match"),
        ]
    };
    // Off unless it is configured.
    let api = Api::start(&[]);
    let seen = api
        .send("", Method::OPTIONS, "stories", &asking(origin), None)
        .await;
    assert_eq!(seen.status, 405);
    assert_eq!(seen.header("access-control-allow-origin"), None);

    let api = Api::start(&[
        "--cors-origin",
        origin,
        "--cors-origin",
        "http://localhost:3000",
    ]);
    let seen = api
        .send("", Method::OPTIONS, "stories", &asking(origin), None)
        .await;
    assert_eq!(seen.status, 200);
    assert_eq!(seen.header("access-control-allow-origin"), Some(origin));
    let methods = seen.header("access-control-allow-methods").unwrap();
    assert!(methods.contains("PATCH"), "{methods}");
    let headers = seen.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("if-match"), "{headers}");
    assert_eq!(seen.header("access-control-allow-credentials"), None);
    let seen = api.get("", "stories", &[("origin", origin)]).await;
    assert_eq!(seen.header("access-control-allow-origin"), Some(origin));
    let exposed = seen.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("etag"), "{exposed}");
    let other = "https://evil.example";
    let seen = api.get("", "stories", &[("origin", other)]).await;
    assert_eq!(seen.header("access-control-allow-origin"), None);

    let api = Api::start(&["--cors-origin", "*"]);
    let seen = api.get("", "stories", &[("origin", other)]).await;
    assert_eq!(seen.header("access-control-allow-origin"), Some("*"));
}
