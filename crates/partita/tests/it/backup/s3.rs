//! A backup in something that speaks as much of S3's API as it needs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use percent_encoding::percent_decode_str;

use super::Scene;

/// Objects by bucket and name.
type Shelf = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

async fn answer(State(shelf): State<Shelf>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let name = head.uri.path().trim_start_matches('/').to_owned();
    let query = head.uri.query().unwrap_or_default();
    assert!(head.headers.contains_key("authorization"), "{head:?}");
    let mut shelf = shelf.lock().unwrap();
    let mut answer = Response::new(Body::empty());
    let tag = HeaderValue::from_static("\"e\"");
    match head.method {
        Method::PUT => {
            let is_careful = head
                .headers
                .get(header::IF_NONE_MATCH)
                .is_some_and(|tag| tag == "*");
            assert!(is_careful, "an object could be written over: {name}");
            match shelf.entry(name) {
                Entry::Occupied(_) => *answer.status_mut() = StatusCode::PRECONDITION_FAILED,
                Entry::Vacant(free) => {
                    free.insert(body.to_vec());
                    answer.headers_mut().insert(header::ETAG, tag);
                }
            }
        }
        Method::DELETE => drop(shelf.remove(&name)),
        Method::GET if query.contains("list-type=2") => {
            let prefix = query
                .split('&')
                .find_map(|part| part.strip_prefix("prefix="));
            let prefix = percent_decode_str(prefix.unwrap_or_default())
                .decode_utf8()
                .unwrap();
            let mut xml = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
            let bucket = format!("{name}/");
            for (object, bytes) in shelf.iter() {
                let Some(key) = object
                    .strip_prefix(&bucket)
                    .filter(|key| key.starts_with(&*prefix))
                else {
                    continue;
                };
                write!(
                    xml,
                    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag><Size>{}</Size></Contents>",
                    bytes.len()
                )
                .unwrap();
            }
            xml.push_str("</ListBucketResult>");
            answer = Response::new(Body::from(xml));
        }
        _ => match shelf.get(&name) {
            Some(bytes) => {
                let length = bytes.len().into();
                answer = Response::new(Body::from(bytes.clone()));
                let headers = answer.headers_mut();
                headers.insert(header::CONTENT_LENGTH, length);
                headers.insert(header::ETAG, tag);
                let time = HeaderValue::from_static("Thu, 01 Jan 2026 00:00:00 GMT");
                headers.insert(header::LAST_MODIFIED, time);
            }
            None => *answer.status_mut() = StatusCode::NOT_FOUND,
        },
    }
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_in_s3_is_restored() {
    let shelf = Shelf::default();
    let router = Router::new().fallback(answer).with_state(shelf.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });

    let scene = Scene::new();
    let flags = format!("--backup-endpoint http://{address} --backup-region eu-west-1");
    let serving: Vec<&str> = flags
        .split(' ')
        .chain(["--backup", "s3://shelf/stories"])
        .collect();
    let server = scene.serve("data", &serving);
    scene.write(&server, 0..3).await;
    scene.wait_for_backup();
    scene.write(&server, 3..5).await;
    scene.wait_for_backup();
    drop(server);
    scene.said(&format!("backup s3://shelf/stories --data data {flags}"));
    assert!(
        shelf
            .lock()
            .unwrap()
            .keys()
            .all(|name| name.starts_with("shelf/stories/chains/"))
    );
    scene.said(&format!("backup check s3://shelf/stories {flags}"));
    let listed = scene.said(&format!("backup list s3://shelf/stories {flags}"));
    assert!(listed.contains("chain 2"), "{listed}");
    scene.said(&format!(
        "restore s3://shelf/stories --chain 1 --into restored {flags}"
    ));
    std::fs::copy(scene.path("data/secret"), scene.path("restored/secret")).unwrap();
    let server = scene.serve("restored", &[]);
    assert_eq!(scene.titles(&server).await.len(), 5);
}
