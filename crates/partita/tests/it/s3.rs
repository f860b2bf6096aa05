//! Files in S3, or in something that speaks as much of its API as they need.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use reqwest::Client;
use serde_json::{Value as Json, json};

use crate::files::Stand;

/// Objects by bucket and name, with their types, and the parts of uploads.
type Shelf = BTreeMap<String, (String, Vec<u8>)>;

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Shelf>>);

impl Fake {
    /// Starts it; gives its address.
    async fn start(&self) -> String {
        let router = Router::new().fallback(answer).with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        format!("http://{address}")
    }

    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }
}

async fn answer(State(fake): State<Fake>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let name = head.uri.path().trim_start_matches('/').to_owned();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let text = |name: &str| {
        let value = head.headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    let signed = text("authorization").is_some() || query.contains("X-Amz-Signature=");
    assert!(signed, "{} {}", head.method, head.uri);
    let mut objects = fake.0.lock().unwrap();
    let part = format!("{name}?part");
    let mut answer = Response::new(Body::empty());
    let xml = |text: &str| Response::new(Body::from(text.to_owned()));
    match head.method {
        Method::POST if query.starts_with("uploads") => {
            let kind = text("content-type").unwrap_or_default();
            objects.insert(part, (kind, Vec::new()));
            answer = xml("<R><UploadId>u</UploadId></R>");
        }
        Method::POST => {
            let whole = objects.remove(&part).unwrap();
            objects.insert(name, whole);
            answer = xml("<R><ETag>\"e\"</ETag></R>");
        }
        Method::PUT => match text("x-amz-copy-source") {
            Some(from) => match objects.get(from.trim_start_matches('/')).cloned() {
                Some(object) => drop(objects.insert(name, object)),
                None => *answer.status_mut() = StatusCode::NOT_FOUND,
            },
            None => {
                objects.get_mut(&part).unwrap().1.extend_from_slice(&body);
                let tag = header::HeaderValue::from_static("\"e\"");
                answer.headers_mut().insert(header::ETAG, tag);
            }
        },
        Method::DELETE => drop(objects.remove(&name)),
        _ => match objects.get(&name) {
            Some((kind, bytes)) => {
                let headers = [
                    (header::CONTENT_TYPE, kind.clone()),
                    (header::CONTENT_LENGTH, bytes.len().to_string()),
                    (header::ETAG, "\"e\"".to_owned()),
                    (
                        header::LAST_MODIFIED,
                        "Sat, 01 Jan 2000 00:00:00 GMT".to_owned(),
                    ),
                ];
                if head.method == Method::GET {
                    answer = Response::new(Body::from(bytes.clone()));
                }
                for (name, value) in headers {
                    answer.headers_mut().insert(name, value.parse().unwrap());
                }
            }
            None => *answer.status_mut() = StatusCode::NOT_FOUND,
        },
    }
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_kept_in_s3_and_read_from_there() {
    let fake = Fake::default();
    let endpoint = fake.start().await;
    let flags = [
        "--files",
        "s3",
        "--files-endpoint",
        &endpoint,
        "--files-region",
        "eu-west-1",
    ];
    let stand = Stand::new("holdthatthought", &flags);
    let ann = stand.token("ann", &[]);
    let profile = json!({"userId": "ann", "email": "ann@example.org", "displayName": "Ann"});
    assert_eq!(stand.post("UserProfile", &ann, profile).await.0, 201);

    let upload = stand
        .upload("profilePhotos", &ann, "image/png", b"photo")
        .await;
    let changes = json!({"photoUrl": upload});
    let changed = stand
        .call(Method::PATCH, "UserProfile/ann", &ann, Some(changes))
        .await;
    let changed: Json = changed.json().await.unwrap();
    let key = changed["photoUrl"].as_str().unwrap();
    assert_eq!(fake.names(), [format!("holdthatthought-archive/{key}")]);

    let (status, granted) = stand.get(&format!("files/{key}"), &ann).await;
    assert_eq!(status, 200, "{granted}");
    let url = granted["url"].as_str().unwrap();
    assert!(url.starts_with(&endpoint), "{url}");
    assert!(
        url.contains("X-Amz-Signature=") && url.contains("X-Amz-Expires=900"),
        "{url}"
    );
    let photo = Client::new().get(url).send().await.unwrap();
    assert_eq!(photo.headers()["content-type"], "image/png");
    assert_eq!(photo.bytes().await.unwrap().as_ref(), b"photo");

    let cleared = json!({"photoUrl": null});
    let cleared = stand
        .call(Method::PATCH, "UserProfile/ann", &ann, Some(cleared))
        .await;
    assert_eq!(cleared.status(), 200);
    assert!(fake.names().is_empty(), "{:?}", fake.names());
}
