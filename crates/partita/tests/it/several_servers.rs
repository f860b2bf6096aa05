//! Several servers on the tables of one design, while another design becomes live.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use partita_core::Value;
use partita_remote::{RemoteStore, Timeouts};
use partita_store::Store;
use partita_store::request::{GetItem, PutItem, ReturnValues};
use partita_store::table::string_key;
use partita_testkit::dynamodb_local::DynamoDbLocal;
use reqwest::{Client, StatusCode};
use serde_json::json;

use crate::server::{BINARY, Server, token_for};

const PRESS: &str = include_str!("../../../partita-plan/tests/evolution/press.toml");

/// How long something may take that the servers do by themselves.
const PATIENCE: Duration = Duration::from_secs(60);

/// What servers and commands are told of where the tables are.
struct Place {
    endpoint: String,
    folder: tempfile::TempDir,
    secret: PathBuf,
}

impl Place {
    fn new(local: &DynamoDbLocal) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("shared-secret");
        std::fs::write(&secret, [7; 32]).unwrap();
        Place {
            endpoint: local.endpoint(),
            folder,
            secret,
        }
    }

    fn flags(&self) -> [&str; 6] {
        let endpoint = &self.endpoint;
        let region = "us-east-1";
        [
            "--store",
            "dynamodb",
            "--endpoint",
            endpoint,
            "--region",
            region,
        ]
    }

    /// A file with a design.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn serve(&self, name: &str, design: &Path) -> Server {
        let secret = ["--secret-file", self.secret.to_str().unwrap()];
        let design = [design.to_str().unwrap()];
        let flags = [&self.flags()[..], &secret, &design].concat();
        Server::start(&self.folder.path().join(name), &flags)
    }

    fn command(&self, arguments: &[&str], design: &Path) -> Output {
        let mut command = Command::new(BINARY);
        command.args(arguments).arg(design).args(self.flags());
        let credentials = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        command.envs(credentials.map(|name| (name, "test")));
        command.output().unwrap()
    }

    fn says(&self, arguments: &[&str], design: &Path) -> String {
        let output = self.command(arguments, design);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn token(&self, design: &Path) -> String {
        let flags = ["--secret-file", self.secret.to_str().unwrap()];
        token_for(design.to_str().unwrap(), &flags, "ann")
    }
}

async fn author(server: &Server, token: &str, id: &str) -> StatusCode {
    let call = Client::new().post(format!("{}/press/Author", server.base));
    let item = json!({"authorId": id, "name": id});
    let answer = call.bearer_auth(token).json(&item).send().await.unwrap();
    answer.status()
}

async fn readiness(server: &Server) -> (StatusCode, String) {
    let answer = reqwest::get(format!("{}/readyz", server.base))
        .await
        .unwrap();
    (answer.status(), answer.text().await.unwrap())
}

/// Looks again and again until something is so.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let seen = tokio::time::timeout(PATIENCE, looking).await;
    assert!(seen.is_ok(), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_follow_what_becomes_live_and_one_that_cannot_says_so() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let place = Place::new(&local);
    let old = place.file("old.toml", PRESS);
    // Authors are made by themselves.
    let strict = PRESS.replacen("\"*\" = \"signed-in\"", "\"*\" = \"authorId = caller\"", 1);
    let new = place.file("new.toml", &strict);
    let one = place.serve("one", &old);
    let two = place.serve("two", &old);
    let token = place.token(&old);
    for (server, id) in [(&one, "a1"), (&two, "a2")] {
        assert_eq!(readiness(server).await.0, StatusCode::OK);
        assert_eq!(author(server, &token, id).await, StatusCode::CREATED);
    }
    let history = place.says(&["history"], &old);
    assert_eq!(history.matches(": design 1 at ").count(), 2, "{history}");

    // By a command beside them, and back by a server.
    let started = place.says(&["migrate", "start"], &new);
    assert!(
        started.contains("the design is live (number 2)"),
        "{started}"
    );
    for (server, id) in [(&one, "b1"), (&two, "b2")] {
        let is_refused = async || author(server, &token, id).await == StatusCode::FORBIDDEN;
        until("the rule holds in both", is_refused).await;
    }
    let named = || place.says(&["migrate", "status"], &old);
    until("the leases name it", async || {
        named().matches(": design 2 at ").count() == 2
    })
    .await;
    let third = place.file("third.toml", &format!("# Anybody again.\n{PRESS}"));
    let three = place.serve("three", &third);
    for (server, id) in [(&one, "c1"), (&two, "c2"), (&three, "c3")] {
        let is_accepted = async || author(server, &token, id).await == StatusCode::CREATED;
        until("all follow a server that starts", is_accepted).await;
    }

    // Who stops is not waited for.
    assert_eq!(three.stop(), Some(0));
    let history = place.says(&["history"], &old);
    assert_eq!(history.matches("  server ").count(), 2, "{history}");
    assert!(!history.contains("not heard of"), "{history}");

    // A later version makes a design live that this one does not understand.
    let store = RemoteStore::local(&place.endpoint, Timeouts::default());
    let sidecar = "press-partita".parse().unwrap();
    let key = string_key(("PK", "DESIGN"), ("SK", "0000000003"));
    let found = store.get_item(GetItem::new(sidecar, key)).await.unwrap();
    let mut record = found.answer.unwrap().into_item().unwrap();
    record.insert("SK", Value::from("0000000004"));
    record.insert("by", Value::from("9.9.9"));
    record.insert("text", Value::from("design = \"press\"\n[later]\n"));
    let put = PutItem::new("press-partita".parse().unwrap(), record);
    store.put_item(put, ReturnValues::None).await.unwrap();
    for (server, id) in [(&one, "d1"), (&two, "d2")] {
        let is_refused =
            async || author(server, &token, id).await == StatusCode::SERVICE_UNAVAILABLE;
        until("no writes are taken", is_refused).await;
        let (status, why) = readiness(server).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(why.contains("no writes are taken for `press`"), "{why}");
        assert!(why.contains("use Partita 9.9.9 with this data"), "{why}");
        let read = Client::new().get(format!("{}/press/Author/a1", server.base));
        let read = read.bearer_auth(&token).send().await.unwrap();
        assert_eq!(read.status(), StatusCode::OK);
    }
}
