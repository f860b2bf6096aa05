//! Feeds of the real binary: resumed across restarts, with their ends and limits.

use std::collections::VecDeque;

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use crate::server::{Server, make_secret, token_for};

/// One event, as it came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Json,
}

/// A feed that is read.
pub(crate) struct Events {
    response: Response,
    text: String,
    ready: VecDeque<Event>,
}

impl Events {
    /// Begins to follow; the answer itself where it is refused.
    pub(crate) async fn open(request: RequestBuilder) -> Result<Events, Response> {
        let request = request.header("Accept", "text/event-stream");
        let response = request.send().await.unwrap();
        if response.status() != StatusCode::OK {
            return Err(response);
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Ok(Events {
            response,
            text: String::new(),
            ready: VecDeque::new(),
        })
    }

    /// The next event; none when the feed has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let chunk = self.response.chunk().await.ok()??;
            self.text += std::str::from_utf8(&chunk).unwrap();
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                self.ready.extend(event_of(block));
                self.text = rest.to_owned();
            }
        }
    }

    /// The id of the next sign of life; none when the feed has ended.
    pub(crate) async fn silence(&mut self) -> Option<String> {
        loop {
            let chunk = self.response.chunk().await.ok()??;
            let text = std::str::from_utf8(&chunk).unwrap();
            assert!(!text.contains("event:"), "{text}");
            if let Some(id) = text.strip_prefix("id: ") {
                return Some(id.trim_end().to_owned());
            }
        }
    }

    /// The rows up to `ready`, and the id of that.
    pub(crate) async fn rows(&mut self) -> (Vec<Json>, String) {
        let mut rows = Vec::new();
        loop {
            let event = self.next().await.unwrap();
            match event.name.as_str() {
                "enter" => rows.push(event.data),
                "ready" => return (rows, event.id.unwrap()),
                other => panic!("{other} before the end of the rows"),
            }
        }
    }
}

fn event_of(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let mut lines = block.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|text| text.strip_prefix(' ').unwrap_or(text).to_owned())
    };
    Some(Event {
        name: field("event")?,
        id: field("id"),
        data: serde_json::from_str(&field("data")?).unwrap(),
    })
}

/// A place with a server for `stories`, and ann in it.
struct Place {
    data: tempfile::TempDir,
    token: String,
}

impl Place {
    fn new() -> Place {
        let data = tempfile::tempdir().unwrap();
        make_secret(data.path());
        let token = token_for("stories", &["--data", data.path().to_str().unwrap()], "ann");
        Place { data, token }
    }

    fn serve(&self, flags: &[&str]) -> Server {
        let flags: Vec<&str> = ["stories"].iter().chain(flags).copied().collect();
        Server::start(self.data.path(), &flags)
    }

    fn get(&self, server: &Server, path: &str) -> RequestBuilder {
        let url = format!("{}/stories/{path}", server.base);
        Client::new().get(url).bearer_auth(&self.token)
    }

    async fn create(&self, server: &Server, title: &str) -> Json {
        let body = json!({ "userId": "ann", "title": title });
        let url = format!("{}/stories/Story", server.base);
        let request = Client::new().post(url).bearer_auth(&self.token).json(&body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::CREATED);
        answer.json().await.unwrap()
    }

    async fn rename(&self, server: &Server, story: &Json, title: &str) {
        let url = format!("{}/stories/Story/ann/{}", server.base, id_of(story));
        let request = Client::new().patch(url).bearer_auth(&self.token);
        let answer = request
            .json(&json!({ "title": title }))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
    }

    async fn delete(&self, server: &Server, story: &Json) {
        let url = format!("{}/stories/Story/ann/{}", server.base, id_of(story));
        let answer = Client::new().delete(url).bearer_auth(&self.token).send();
        assert!(answer.await.unwrap().status().is_success());
    }
}

fn id_of(story: &Json) -> &str {
    story["storyId"].as_str().or(story["id"].as_str()).unwrap()
}

const STORIES: &str = "query/stories?userId=ann";

#[tokio::test]
async fn a_feed_says_what_happens_and_goes_on_after_a_crash() {
    let place = Place::new();
    let server = place.serve(&[]);
    let first = place.create(&server, "One").await;
    let mut feed = Events::open(place.get(&server, STORIES)).await.unwrap();
    let (rows, _) = feed.rows().await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["title"], "One");

    let second = place.create(&server, "Two").await;
    let entered = feed.next().await.unwrap();
    assert_eq!(
        (entered.name.as_str(), &entered.data["title"]),
        ("enter", &json!("Two"))
    );
    place.rename(&server, &first, "Uno").await;
    let changed = feed.next().await.unwrap();
    assert_eq!(
        (changed.name.as_str(), &changed.data["title"]),
        ("change", &json!("Uno"))
    );
    // A soft delete moves the record to another partition.
    place.delete(&server, &second).await;
    let left = feed.next().await.unwrap();
    assert_eq!(left.name, "leave");
    assert!(left.data.get("title").is_none(), "{left:?}");

    server.kill();
    let server = place.serve(&[]);
    place.rename(&server, &first, "Un").await;
    place.create(&server, "Three").await;
    let resumed = place
        .get(&server, STORIES)
        .header("Last-Event-ID", left.id.unwrap());
    let mut feed = Events::open(resumed).await.unwrap();
    let mut said = Vec::new();
    loop {
        let event = feed.next().await.unwrap();
        if event.name == "ready" {
            break;
        }
        said.push((event.name, event.data["title"].as_str().unwrap().to_owned()));
    }
    said.sort();
    let expected = [("change", "Un"), ("enter", "Three")];
    assert_eq!(
        said,
        expected.map(|(one, two)| (one.to_owned(), two.to_owned()))
    );
    // A server that stops ends its feeds.
    assert_eq!(server.stop(), Some(0));
    assert_eq!(feed.next().await, None);
}

#[tokio::test]
async fn an_item_is_followed_before_it_is_there_and_after_it_is_gone() {
    let place = Place::new();
    let server = place.serve(&[]);
    let story = place.create(&server, "One").await;
    let path = format!("Story/ann/{}", id_of(&story));
    place.delete(&server, &story).await;
    let mut feed = Events::open(place.get(&server, &path)).await.unwrap();
    assert_eq!(feed.rows().await.0, Vec::<Json>::new());
    let url = format!("{}/stories/{path}/restore", server.base);
    let restored = Client::new().post(url).bearer_auth(&place.token).send();
    let restored: Json = restored.await.unwrap().json().await.unwrap();
    let entered = feed.next().await.unwrap();
    assert_eq!((entered.name.as_str(), &entered.data), ("enter", &restored));
    place.delete(&server, &story).await;
    assert_eq!(feed.next().await.unwrap().name, "leave");
}

#[tokio::test]
async fn ids_of_others_and_of_half_read_rows_begin_again() {
    let place = Place::new();
    let server = place.serve(&[]);
    place.create(&server, "One").await;
    let mut feed = Events::open(place.get(&server, STORIES)).await.unwrap();
    let unready = feed.next().await.unwrap().id.unwrap();
    let deleted = place.get(&server, "query/deletedStories?userId=ann");
    let mut other = Events::open(deleted).await.unwrap();
    let (_, others) = other.rows().await;
    for id in [unready.as_str(), others.as_str(), "nonsense"] {
        let asked = place.get(&server, STORIES).header("Last-Event-ID", id);
        let mut feed = Events::open(asked).await.unwrap();
        let first = feed.next().await.unwrap();
        assert_eq!(
            (first.name.as_str(), first.id.as_deref()),
            ("refetch", Some(""))
        );
        assert_eq!(feed.rows().await.0.len(), 1);
    }
}

#[tokio::test]
async fn what_cannot_be_followed_is_refused() {
    let place = Place::new();
    let server = place.serve(&["--feeds-per-caller", "2"]);
    let refused = async |path: &str, token: bool| {
        let url = format!("{}/stories/{path}", server.base);
        let mut request = Client::new().get(url);
        if token {
            request = request.bearer_auth(&place.token);
        }
        let refused = Events::open(request).await.err().unwrap();
        let status = refused.status();
        let is_told_when = refused.headers().contains_key("retry-after");
        assert_eq!(is_told_when, status == StatusCode::SERVICE_UNAVAILABLE);
        (status, refused.json::<Json>().await.unwrap())
    };
    assert_eq!(refused(STORIES, false).await.0, StatusCode::UNAUTHORIZED);
    let (status, _) = refused("query/stories?userId=bob", true).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, problem) = refused(&format!("{STORIES}&limit=3"), true).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut feed = Events::open(place.get(&server, STORIES)).await.unwrap();
        feed.rows().await;
        held.push(feed);
    }
    let (status, problem) = refused(STORIES, true).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(problem["type"], "urn:partita:problem:throttled");
    let detail = "you follow as many feeds as one caller may; close one of them";
    assert_eq!(problem["detail"], detail);
    // Its place is free when the connection is closed, which the server learns in a moment.
    drop(held);
    while Events::open(place.get(&server, STORIES)).await.is_err() {
        tokio::task::yield_now().await;
    }
}

/// Who does not read is told to begin again, and closed. Nobody who writes waits for that.
#[tokio::test]
async fn a_slow_reader_begins_again() {
    let place = Place::new();
    let server = place.serve(&["--feed-buffer-kb", "64", "--durability", "buffered"]);
    let story = place.create(&server, "One").await;
    let url = format!("{}/stories/Node", server.base);
    let node = json!({ "userId": "ann", "storyId": id_of(&story), "prompt": "x" });
    let made = Client::new()
        .post(url)
        .bearer_auth(&place.token)
        .json(&node);
    let made: Json = made.send().await.unwrap().json().await.unwrap();
    let path = format!(
        "stories/Node/ann/{}/{}",
        id_of(&story),
        made["id"].as_str().unwrap()
    );
    let host = server.base.strip_prefix("http://").unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut slow = socket.connect(host.parse().unwrap()).await.unwrap();
    let token = &place.token;
    let head = format!(
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains("event: ready") {
        assert!(slow.read_buf(&mut text).await.unwrap() > 0);
    }
    // Together they are more than the sockets of any system hold.
    for number in 0..64 {
        let url = format!("{}/{path}", server.base);
        let change = Client::new().patch(url).bearer_auth(token);
        let prompt = format!("{number} {}", "x".repeat(300_000));
        let change = change.json(&json!({ "prompt": prompt })).send();
        assert_eq!(change.await.unwrap().status(), StatusCode::OK);
    }
    slow.read_to_end(&mut text).await.unwrap();
    let text = String::from_utf8_lossy(&text);
    let last = text.rfind("event: ").unwrap();
    assert!(
        text[last..]
            .starts_with("event: refetch\nid: \ndata: {\"why\":\"the reader is too slow\"}"),
        "{}",
        &text[last..]
    );
    assert!(text.matches("event: change").count() < 64);
}

#[tokio::test]
async fn a_table_without_a_stream_has_no_feeds() {
    let data = tempfile::tempdir().unwrap();
    make_secret(data.path());
    let source = partita_design::shipped::find("stories").unwrap().source;
    let text = source.replacen("[table]\n", "[table]\nstream = \"off\"\n", 1);
    let design = data.path().join("stories.toml");
    std::fs::write(&design, text).unwrap();
    let design = design.to_str().unwrap();
    let token = token_for(design, &["--data", data.path().to_str().unwrap()], "ann");
    let server = Server::start(data.path(), &[design]);
    let asked = Client::new().get(format!("{}/stories/{STORIES}", server.base));
    let refused = Events::open(asked.bearer_auth(token)).await.err().unwrap();
    assert_eq!(refused.status(), StatusCode::NOT_IMPLEMENTED);
    let problem: Json = refused.json().await.unwrap();
    assert_eq!(problem["type"], "urn:partita:problem:no-feed");
}
