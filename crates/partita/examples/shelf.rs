//! A small service of one's own on a design: shelves with books, over HTTP.
//!
//! The design is in `shelf.toml`. It says who may do what, and that a shelf knows how many books it
//! has and how many of them are unread; the service only names what it wants.
//!
//! ```sh
//! cargo run --example shelf -- ./shelf-data
//! curl -H 'x-user: ann' -d '{"shelfId": "sea", "title": "The sea"}' 127.0.0.1:8080/shelves
//! curl -H 'x-user: ann' -d '{"title": "Moby-Dick"}' 127.0.0.1:8080/shelves/sea/books
//! curl 127.0.0.1:8080/shelves/sea
//! ```

use std::path::Path as FilePath;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use partita_engine::{EngineStore, Options};
use partita_plan::typed::PageOf;
use partita_plan::{Caller, Partita, PlanError, Typed, TypedError};
use partita_store::Store;
use partita_store::surroundings::SystemClock;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shelf {
    shelf_id: String,
    owner_id: String,
    title: String,
    books: u64,
    unread: u64,
}

impl Typed for Shelf {
    const NAME: &'static str = "Shelf";
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Book {
    book_id: String,
    title: String,
    is_read: bool,
}

impl Typed for Book {
    const NAME: &'static str = "Book";
}

/// What the service answers: JSON, or why not.
type Answer = Result<(StatusCode, String), (StatusCode, String)>;

#[tokio::main]
async fn main() -> Result<()> {
    let directory = std::env::args().nth(1);
    let directory = directory.unwrap_or_else(|| "shelf-data".to_owned());
    let options = Options::new(Arc::new(SystemClock));
    let store = EngineStore::open(FilePath::new(&directory), options)?;
    let service = service(open(Arc::new(store)).await?);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, service).await?;
    Ok(())
}

/// The design, on whichever store.
async fn open(store: Arc<dyn Store>) -> Result<Arc<Partita>> {
    let (design, faults) = partita_design::check(include_str!("shelf.toml"), &|_| None);
    let design = design.with_context(|| format!("shelf.toml has mistakes: {faults:?}"))?;
    let partita = Partita::open(design, store).await?;
    Ok(Arc::new(partita))
}

fn service(partita: Arc<Partita>) -> Router {
    Router::new()
        .route("/shelves", post(new_shelf))
        .route("/shelves/{shelf}", get(shelf))
        .route("/shelves/{shelf}/books", get(books).post(new_book))
        .route("/shelves/{shelf}/books/{book}/read", post(read_book))
        .with_state(partita)
}

/// This is where your own authentication goes.
fn caller(headers: &HeaderMap) -> Caller {
    match headers.get("x-user").and_then(|user| user.to_str().ok()) {
        Some(user) => Caller::user(user),
        None => Caller::anonymous(),
    }
}

async fn new_shelf(State(partita): State<Arc<Partita>>, headers: HeaderMap, body: Bytes) -> Answer {
    let new = object(&body)?;
    let shelf = partita.create::<Shelf>(&caller(&headers), &new).await;
    answer(StatusCode::CREATED, shelf)
}

async fn shelf(
    State(partita): State<Arc<Partita>>,
    headers: HeaderMap,
    Path(shelf): Path<String>,
) -> Answer {
    let found = partita.get::<Shelf>(&caller(&headers), &[&shelf]).await;
    match found {
        Ok(None) => Err((StatusCode::NOT_FOUND, "there is no such shelf".to_owned())),
        found => answer(StatusCode::OK, found),
    }
}

async fn new_book(
    State(partita): State<Arc<Partita>>,
    headers: HeaderMap,
    Path(shelf): Path<String>,
    body: Bytes,
) -> Answer {
    let mut new = object(&body)?;
    new["shelfId"] = shelf.into();
    // The shelf's numbers change in the same transaction.
    let book = partita.create::<Book>(&caller(&headers), &new).await;
    answer(StatusCode::CREATED, book)
}

async fn books(
    State(partita): State<Arc<Partita>>,
    headers: HeaderMap,
    Path(shelf): Path<String>,
) -> Answer {
    let caller = caller(&headers);
    let parameters = [("shelfId", shelf.as_str())];
    let page = partita.pattern::<Book>(&caller, "books", &parameters, PageOf::default());
    answer(StatusCode::OK, page.await.map(|page| page.items))
}

async fn read_book(
    State(partita): State<Arc<Partita>>,
    headers: HeaderMap,
    Path((shelf, book)): Path<(String, String)>,
) -> Answer {
    let caller = caller(&headers);
    let read = json!({ "isRead": true });
    let identity = [shelf.as_str(), book.as_str()];
    let book = partita.update::<Book>(&caller, &identity, &read);
    answer(StatusCode::OK, book.await)
}

fn object(body: &[u8]) -> Result<Json, (StatusCode, String)> {
    match serde_json::from_slice(body) {
        Ok(object @ Json::Object(_)) => Ok(object),
        Ok(_) => Err((StatusCode::BAD_REQUEST, "send a JSON object".to_owned())),
        Err(error) => Err((StatusCode::BAD_REQUEST, error.to_string())),
    }
}

fn answer<T: Serialize>(status: StatusCode, answer: Result<T, TypedError>) -> Answer {
    match answer {
        Ok(answer) => Ok((status, json!(answer).to_string())),
        Err(error) => {
            let status = match &error {
                TypedError::Refused(PlanError::Unauthenticated { .. }) => StatusCode::UNAUTHORIZED,
                TypedError::Refused(PlanError::Forbidden { .. }) => StatusCode::FORBIDDEN,
                TypedError::Refused(PlanError::NotFound { .. }) => StatusCode::NOT_FOUND,
                TypedError::Refused(
                    PlanError::Exists { .. } | PlanError::Conflict | PlanError::Hot(_),
                ) => StatusCode::CONFLICT,
                TypedError::Refused(PlanError::Invalid { .. }) => StatusCode::UNPROCESSABLE_ENTITY,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            Err((status, error.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use partita_store::ModelStore;

    use super::*;

    /// The service on a port of its own.
    async fn start() -> String {
        let partita = open(Arc::new(ModelStore::default())).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, service(partita)).await });
        format!("http://{address}")
    }

    async fn send(user: Option<&str>, url: &str, body: Option<Json>) -> (u16, Json) {
        let client = reqwest::Client::new();
        let mut request = match &body {
            Some(body) => client.post(url).body(body.to_string()),
            None => client.get(url),
        };
        if let Some(user) = user {
            request = request.header("x-user", user);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    #[tokio::test]
    async fn a_shelf_knows_its_books() {
        let base = start().await;
        let shelf = json!({ "shelfId": "sea", "title": "The sea" });
        let shelves = format!("{base}/shelves");
        let (status, _) = send(None, &shelves, Some(shelf.clone())).await;
        assert_eq!(status, 401);
        let (status, made) = send(Some("ann"), &shelves, Some(shelf)).await;
        assert_eq!((status, &made["ownerId"]), (201, &json!("ann")));

        let books = format!("{base}/shelves/sea/books");
        let moby = json!({ "title": "Moby-Dick" });
        let (status, _) = send(Some("bob"), &books, Some(moby.clone())).await;
        assert_eq!(status, 403, "only ann fills her shelf");
        let (status, moby) = send(Some("ann"), &books, Some(moby)).await;
        assert_eq!(status, 201);
        send(Some("ann"), &books, Some(json!({ "title": "Typhoon" }))).await;
        let id = moby["bookId"].as_str().unwrap();
        let (status, _) = send(Some("ann"), &format!("{books}/{id}/read"), Some(json!({}))).await;
        assert_eq!(status, 200);

        let (_, shelf) = send(None, &format!("{base}/shelves/sea"), None).await;
        assert_eq!((&shelf["books"], &shelf["unread"]), (&json!(2), &json!(1)));
        let (_, listed) = send(Some("bob"), &books, None).await;
        assert_eq!(listed.as_array().unwrap().len(), 2);
    }
}
