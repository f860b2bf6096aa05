//! Servers that say nothing, and those that say that they go on. Limits are short here: what is
//! waited for never comes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use partita_api::admin::answer::{Brought, GivenDesign, of_operator};
use partita_api::admin::client::{SILENCE_MAX, Server as Remote, ask_over};
use partita_api::admin::demo::{Demo, Demos, Filled};
use partita_api::admin::events::Gone;
use partita_api::admin::{
    self, ALIVE_EVERY, Currents, Failure, Installation, Line, Running, Scans,
};
use partita_design::Design;
use partita_plan::Partita;
use partita_store::capacity::Metered;
use partita_store::request::{Page, Scan};
use partita_store::surroundings::SystemClock;
use partita_store::{Layer, ModelStore, Store, StoreResult};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{filled, leftover, partita, put};
use crate::server::Server;
use crate::stage;

const SHORT: Duration = Duration::from_millis(50);

/// Reads a request, answers so much, and says nothing more.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, text: &str) {
    let mut request = vec![0; 1 << 20];
    let _ = stream.read(&mut request).await;
    stream.write_all(text.as_bytes()).await.unwrap();
    std::future::pending::<()>().await;
}

/// What comes of a command whose server answers so much.
async fn asked(text: &str) -> (Vec<Line<Json, Json>>, Option<Failure>) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let design = GivenDesign::of(&stage::design("stories", "stories"));
    let asking = async {
        match ask_over(Box::new(ours), design, "verify", json!({}), SHORT).await {
            Ok(lines) => (lines.collect().await, None),
            Err(failure) => (Vec::new(), Some(failure)),
        }
    };
    tokio::select! {
        came = asking => came,
        () = answer(theirs, text) => unreachable!("it never ends"),
    }
}

#[tokio::test]
async fn ends_a_command() {
    let (lines, failure) = asked("").await;
    let failure = failure.unwrap().detail;
    assert!(failure.contains("does not answer"), "{failure}");
    assert!(lines.is_empty());

    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let (lines, failure) = asked(&format!("{head}a\r\n\n{{\"event\":\r\n")).await;
    assert_eq!(failure, None);
    let [Line::Failure(failure)] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert!(failure.detail.contains("has said nothing"), "{failure}");

    let refused = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 100\r\n\r\n{";
    let (_, failure) = asked(refused).await;
    let failure = failure.unwrap().detail;
    assert!(failure.contains("answers 500"), "{failure}");
}

#[tokio::test]
async fn ends_a_command_over_http() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = Remote::at(&url).unwrap().silent_for(SHORT);
    let serving = async {
        let (stream, _) = listener.accept().await.unwrap();
        answer(stream, "").await;
    };
    let token = |_: &str, _: &[u8]| "token".to_owned();
    let request = json!({});
    let asked = tokio::select! {
        asked = server.ask("stories", "verify", &request, &token) => asked.map(drop),
        () = serving => unreachable!("it never ends"),
    };
    let failure = asked.unwrap_err().detail;
    assert!(failure.contains("does not answer"), "{failure}");
}

/// A store whose tables are never read to the end.
struct Endless(Arc<dyn Store>);

#[async_trait]
impl Layer for Endless {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn scan(&self, _: Scan) -> StoreResult<Metered<Page>> {
        std::future::pending().await
    }
}

/// Plays no demos.
struct Nobody;

#[async_trait]
impl Demos for Nobody {
    async fn play(
        &self,
        _: Design,
        _: Arc<dyn Store>,
        _: &Demo,
        _: &(dyn Fn() -> Result<(), Gone> + Sync),
    ) -> Result<Filled, Failure> {
        Err(Failure::new("nobody plays"))
    }
}

/// A command that has nothing to say shows that it goes on, more often than clients need.
#[tokio::test]
async fn is_broken_by_empty_lines() {
    assert!(ALIVE_EVERY * 3 < SILENCE_MAX);
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let design = stage::design("stories", "stories");
    drop(Partita::open(design.clone(), store.clone()).await.unwrap());
    let store = Arc::new(Endless(store));
    let (_stop, stopping) = tokio::sync::watch::channel(false);
    let installation = Installation {
        console: None,
        store,
        clock: Arc::new(SystemClock),
        tokens: None,
        demos: Arc::new(Nobody),
        scans: Scans::default(),
        served: Currents::default(),
        has_raw_writes: false,
        is_paused: Arc::default(),
        running: Running::default(),
        stopping,
        alive_every: Duration::from_millis(1),
        has_traffic: true,
    };
    let brought = Brought {
        design: GivenDesign::of(&design),
        request: json!({}),
    };
    let command = admin::find("verify").unwrap();
    let body = serde_json::to_vec(&brought).unwrap();
    let (_, response) = of_operator(installation, command, &body).unwrap();
    let mut body = response.into_body();
    let mut empty = 0;
    while empty < 3 {
        let frame = body.frame().await.unwrap().unwrap();
        empty += usize::from(frame.into_data().unwrap() == "\n");
    }
}

/// An administrator's command that nobody reads keeps its place; the operator has another.
#[tokio::test]
async fn of_an_administrators_client_does_not_hold_the_operator_up() {
    let data = filled();
    // More is found than a connection holds unread.
    put(data.path(), (0..5_000).map(leftover)).await;
    let server = Server::start(data.path(), &["stories"]);
    let token = super::admin(data.path(), "stories");
    let client = reqwest::Client::new();
    let verify = async || {
        let url = format!("{}/stories/admin/verify", server.base);
        let request = client.post(url).bearer_auth(&token).json(&json!({}));
        request.send().await.unwrap()
    };
    let mut unread = verify().await;
    assert!(unread.status().is_success());
    assert!(unread.chunk().await.unwrap().is_some());
    let _waiting = verify().await;
    let output = partita(data.path(), &["verify", "stories", "--entity", "Node"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(super::running(&server).await, 2, "both still have a client");
}
