//! What is good for one design, or until one time, is good for no other.

use std::sync::Arc;

use partita_api::{App, FileLimits, Files, Limits, Place, Secrets, Tokens};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{Clock, ModelStore, Store};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value as Json, json};

use crate::server::{Server, token_for};
use crate::stage;

const MINUTE_MILLIS: i64 = 60_000;

/// One design under two names, in tables and buckets of their own, with the same people.
struct Twins {
    server: Server,
    client: Client,
    data: tempfile::TempDir,
}

impl Twins {
    const NAMES: [&str; 2] = ["first", "second"];

    async fn open() -> Twins {
        let data = tempfile::tempdir().unwrap();
        let shipped = partita_design::shipped::find("holdthatthought").unwrap();
        let files = Self::NAMES.map(|name| {
            let renamed = shipped
                .source
                .replace(
                    r#"design = "holdthatthought""#,
                    &format!("design = \"{name}\""),
                )
                .replace(
                    "TABLE_NAME | HoldThatThought",
                    &format!("TABLE_OF_{name} | {name}"),
                )
                .replace(
                    "ARCHIVE_BUCKET | holdthatthought-archive",
                    &format!("BUCKET_OF_{name} | {name}-archive"),
                );
            let path = data.path().join(format!("{name}.toml"));
            std::fs::write(&path, renamed).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let flags: Vec<&str> = files.iter().map(String::as_str).collect();
        let twins = Twins {
            server: Server::start(data.path(), &flags),
            client: Client::new(),
            data,
        };
        for design in Self::NAMES {
            for user in ["ann", "bob"] {
                let email = format!("{user}@example.org");
                let profile = json!({"userId": user, "email": email, "displayName": user});
                let call = twins.call(Method::POST, design, "UserProfile");
                let call = call.bearer_auth(twins.token(design, user)).json(&profile);
                assert_eq!(seen(call).await.0, 201);
            }
        }
        twins
    }

    fn token(&self, design: &str, user: &str) -> String {
        let data = self.data.path();
        let file = data.join(format!("{design}.toml"));
        let flags = ["--data", data.to_str().unwrap()];
        token_for(file.to_str().unwrap(), &flags, user)
    }

    fn call(&self, method: Method, design: &str, path: &str) -> RequestBuilder {
        let url = format!("{}/{design}/{path}", self.server.base);
        self.client.request(method, url)
    }

    /// A request to a signed URL.
    fn to_url(&self, method: Method, url: &str) -> RequestBuilder {
        let call = self
            .client
            .request(method, format!("{}{url}", self.server.base));
        call.header("content-type", "image/png").body("x")
    }
}

async fn seen(call: RequestBuilder) -> (u16, Json) {
    let answer = call.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_design_gives_is_nothing_to_another() {
    let twins = Twins::open().await;
    let [first, second] = Twins::NAMES.map(|design| twins.token(design, "ann"));
    let list = |design, token: &str| {
        let call = twins.call(Method::GET, design, "query/listUsers?limit=1");
        call.bearer_auth(token)
    };

    let (status, refused) = seen(list("second", &first)).await;
    assert_eq!((status, problem(&refused)), (401, "token-invalid"));

    let (_, page) = seen(list("first", &first)).await;
    let cursor = [("cursor", page["cursor"].as_str().unwrap())];
    assert_eq!(seen(list("first", &first).query(&cursor)).await.0, 200);
    let (status, refused) = seen(list("second", &second).query(&cursor)).await;
    assert_eq!((status, problem(&refused)), (400, "bad-cursor"));

    let asked = json!({"contentType": "image/png", "size": 1});
    let call = twins.call(Method::POST, "first", "files/pictures");
    let (_, upload) = seen(call.bearer_auth(&first).json(&asked)).await;
    let url = upload["upload"]["url"].as_str().unwrap();
    let elsewhere = |url: &str| url.replacen("/first/", "/second/", 1);
    let (status, refused) = seen(twins.to_url(Method::PUT, &elsewhere(url))).await;
    assert_eq!((status, problem(&refused)), (403, "bad-signature"));
    let (status, sent) = seen(twins.to_url(Method::PUT, url)).await;
    assert_eq!(status, 201, "{sent}");

    let path = format!("files/{}", sent["name"].as_str().unwrap());
    let call = twins.call(Method::GET, "first", &path);
    let (_, file) = seen(call.bearer_auth(&first)).await;
    let url = file["url"].as_str().unwrap();
    let (status, refused) = seen(twins.to_url(Method::GET, &elsewhere(url))).await;
    assert_eq!((status, problem(&refused)), (403, "bad-signature"));
    assert_eq!(seen(twins.to_url(Method::GET, url)).await.0, 200);
}

#[tokio::test]
async fn a_signed_url_is_good_until_its_time_is_over() {
    let clock = Arc::new(ManualClock::at(1_767_225_600_000));
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = stage::open("holdthatthought", "archive", &store, &clock).await;
    let buckets = Place::Memory.open([partita.design()]).unwrap();
    let partita = partita.with_objects(buckets.of_design("holdthatthought"));
    let secret = Secrets::one(vec![7; 32]).unwrap();
    let time: Arc<dyn Clock> = clock.clone();
    let tokens = || Tokens::new(&secret, time.clone());
    let files = Files::new(buckets, &secret, FileLimits::default(), time.clone());
    let entropy = Arc::new(SeededEntropy::new(8));
    let app = App::new(vec![partita], tokens(), time.clone(), entropy);
    let router = app.with_files(files).router();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let service = partita_api::server::service(router);
    let limits = Limits::default();
    tokio::spawn(partita_api::serve(
        listener,
        service,
        limits,
        std::future::pending(),
    ));

    let client = Client::new();
    let token = tokens().make("holdthatthought", "ann", None, &[], 3600);
    let put = |url: &str| {
        let call = client.put(format!("{base}{url}"));
        call.header("content-type", "image/png").body("x")
    };
    let get = |url: &str| client.get(format!("{base}{url}"));
    let ask = async || {
        let url = format!("{base}/holdthatthought/files/pictures");
        let asked = json!({"contentType": "image/png", "size": 1});
        let call = client.post(url).bearer_auth(&token).json(&asked);
        seen(call).await.1["upload"]["url"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let over = (403, "url-expired");

    // The design says 15 minutes: one second less is in time.
    let url = ask().await;
    clock.advance(15 * MINUTE_MILLIS);
    let (status, refused) = seen(put(&url)).await;
    assert_eq!((status, problem(&refused)), over);
    let url = ask().await;
    clock.advance(15 * MINUTE_MILLIS - 1000);
    let (status, sent) = seen(put(&url)).await;
    assert_eq!(status, 201, "{sent}");

    let path = format!("/holdthatthought/files/{}", sent["name"].as_str().unwrap());
    let (_, file) = seen(get(&path).bearer_auth(&token)).await;
    let url = file["url"].as_str().unwrap();
    clock.advance(15 * MINUTE_MILLIS - 1000);
    assert_eq!(seen(get(url)).await.0, 200);
    clock.advance(1000);
    // Not even for the one whom it was made for.
    for call in [get(url), get(url).bearer_auth(&token)] {
        let (status, refused) = seen(call).await;
        assert_eq!((status, problem(&refused)), over);
    }
}

fn problem(json: &Json) -> &str {
    let name = json["type"].as_str().unwrap_or_default();
    name.trim_start_matches("urn:partita:problem:")
}
