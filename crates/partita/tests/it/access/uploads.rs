//! Files that the requests of a cast name: `"upload temp image/jpeg"` in a body stands for an upload
//! of whoever sends it.

use serde_json::{Value as Json, json};

/// Uploads what a body names that way, and puts the names that it got in. Who may not upload sends
/// the body as it is, and is refused for that or for something else.
pub(super) async fn made(
    client: &reqwest::Client,
    base: &str,
    design: &str,
    token: Option<&str>,
    mut body: Json,
) -> Json {
    let mut places = vec![&mut body];
    while let Some(place) = places.pop() {
        match place {
            Json::Array(items) => places.extend(items),
            Json::Object(members) => places.extend(members.values_mut()),
            Json::String(text) => {
                let words: Vec<&str> = text.split(' ').collect();
                if let ["upload", prefix, media_type] = words[..] {
                    let asked = client.post(format!("{base}/{design}/files/{prefix}"));
                    let name = upload(asked, client, base, token, media_type).await;
                    *text = name.unwrap_or_else(|| text.clone());
                }
            }
            _ => {}
        }
    }
    body
}

async fn upload(
    mut asked: reqwest::RequestBuilder,
    client: &reqwest::Client,
    base: &str,
    token: Option<&str>,
    media_type: &str,
) -> Option<String> {
    if let Some(token) = token {
        asked = asked.bearer_auth(token);
    }
    let asked = asked.json(&json!({ "contentType": media_type, "size": 1 }));
    let granted: Json = asked.send().await.unwrap().json().await.unwrap();
    let url = granted["upload"]["url"].as_str()?;
    let sent = client
        .put(format!("{base}{url}"))
        .header("content-type", media_type)
        .body("x");
    assert_eq!(sent.send().await.unwrap().status(), 201);
    granted["name"].as_str().map(str::to_owned)
}
