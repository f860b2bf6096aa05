//! Writes that are larger than a transaction: their answers name the job that does the rest. And
//! writes that move their item: their answers say where it is.

use std::process::Command;

use reqwest::{Client, Method, Response};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::server::{BINARY, Server, token_for};

const DESIGN: &str = r#"
design = "boards"

[table]
name = "boards"
key  = ["PK", "SK"]

[entity.Board]
PK = "SITE#{zone}"
SK = "BOARD#{area}"

[entity.Board.attributes]
zone = "string"
area = "string"
name = "string"

[entity.Board.allow]
"*" = "signed-in"

[entity.Alert]
PK = "BOARD#{zone}#{area}"
SK = "ALERT#{alertId}"

[entity.Alert.attributes]
zone      = "string"
area      = "string"
alertId   = "string, movable"
boardName = "copy board.name"
seen      = "bool default false"

[entity.Alert.refs]
board = "Board, on delete cascade"

[entity.Alert.allow]
"*"    = "signed-in"
see    = "signed-in"
seeAll = "signed-in"

[pattern.board]
get = "PK = 'SITE#{zone}' AND SK = 'BOARD#{area}'"

[pattern.alerts]
query = "PK = 'BOARD#{zone}#{area}' AND begins_with(SK, 'ALERT#')"

[action.see]
entity = "Alert"
set    = { seen = true }

[action.seeAll]
each  = "alert in alerts"
when  = "alert.seen = false"
apply = "see"
"#;

struct Boards {
    server: Server,
    client: Client,
    token: String,
    data: TempDir,
}

impl Boards {
    /// A board with so many alerts.
    async fn with_alerts(count: usize) -> Boards {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join("boards.toml");
        std::fs::write(&file, DESIGN).unwrap();
        let file = file.to_str().unwrap();
        let flags = ["--data", data.path().to_str().unwrap()];
        let boards = Boards {
            server: Server::start(data.path(), &[file, "--memory"]),
            client: Client::new(),
            token: token_for(file, &flags, "ann"),
            data,
        };
        let board = json!({"zone": "b", "area": "a", "name": "Sea"});
        let made = boards.send(Method::POST, "Board", None, board).await;
        assert_eq!(made.status(), 201);
        let alerts: Vec<Json> = (0..count)
            .map(|number| {
                let alert = json!({"zone": "b", "area": "a", "alertId": format!("{number:03}")});
                json!({"method": "POST", "path": "Alert", "body": alert})
            })
            .collect();
        for operations in alerts.chunks(40) {
            let batch = json!({ "operations": operations });
            let made = boards.send(Method::POST, "batch", None, batch).await;
            assert_eq!(made.status(), 200);
            assert_eq!(job(&made), None);
        }
        boards
    }

    async fn send(&self, method: Method, path: &str, key: Option<&str>, body: Json) -> Response {
        let url = format!("{}/boards/{path}", self.server.base);
        let mut call = self.client.request(method, url).bearer_auth(&self.token);
        if let Some(key) = key {
            call = call.header("idempotency-key", key);
        }
        if !body.is_null() {
            call = call.json(&body);
        }
        call.send().await.unwrap()
    }

    /// What `partita jobs` prints.
    fn jobs(&self, flags: &[&str]) -> String {
        let mut command = Command::new(BINARY);
        command
            .arg("jobs")
            .arg(self.data.path().join("boards.toml"));
        command.args(["--server", &self.server.base, "--data"]);
        let output = command.arg(self.data.path()).args(flags).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The jobs by their ids, once all of them are done.
    async fn done(&self) -> Vec<Json> {
        loop {
            if self.jobs(&[]) == "no jobs\n" {
                let listed = self.jobs(&["--all", "--format", "json"]);
                return serde_json::from_str(&listed).unwrap();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// The job that an answer names.
fn job(response: &Response) -> Option<String> {
    let job = response.headers().get("partita-job")?;
    Some(job.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn an_answer_names_the_job_that_does_the_rest() {
    let boards = Boards::with_alerts(130).await;
    let board = json!({"zone": "b", "area": "a"});
    let steps = [
        (Method::POST, "action/seeAll", board.clone(), "seeAll"),
        (
            Method::PATCH,
            "Board/b/a",
            json!({"name": "Lake"}),
            "Alert.board",
        ),
        (
            Method::PUT,
            "Board/b/a",
            json!({"name": "Pond"}),
            "Alert.board",
        ),
        (Method::DELETE, "Board/b/a", Json::Null, "Alert.board"),
    ];
    for (method, path, body, task) in steps {
        let key = Some(task).map(|task| format!("{method} {task}"));
        let key = key.as_deref();
        let first = boards.send(method.clone(), path, key, body.clone()).await;
        assert!(first.status().is_success(), "{first:?}");
        let named = job(&first).unwrap_or_else(|| panic!("{method} {path}: {first:?}"));
        let again = boards.send(method.clone(), path, key, body).await;
        assert_eq!(again.status(), first.status());
        assert_eq!(job(&again), Some(named.clone()), "{method} {path}");
        let done = boards.done().await;
        let listed = done.iter().find(|one| one["id"] == json!(named));
        let listed = listed.unwrap_or_else(|| panic!("{method} {path}: {done:?}"));
        assert_eq!(listed["tasks"], json!([task]));
        assert_eq!(listed["done"], json!(130));
        if task == "Alert.board" {
            assert_eq!(listed["of"], "Board b a", "in the order of the identity");
        }
    }
    let small = boards
        .send(Method::POST, "action/seeAll", None, board)
        .await;
    assert_eq!(job(&small), None, "nothing is left to do");
}

#[tokio::test]
async fn an_answer_says_where_an_item_has_moved() {
    let boards = Boards::with_alerts(2).await;
    let location = |response: &Response| {
        let location = response.headers().get("location")?;
        Some(location.to_str().unwrap().to_owned())
    };
    let changes = json!({"alertId": "x y"});
    let path = "Alert/b/a/000";
    let moved = boards
        .send(Method::PATCH, path, Some("k"), changes.clone())
        .await;
    assert_eq!(moved.status(), 200);
    let there = Some("/boards/Alert/b/a/x%20y".to_owned());
    assert_eq!(location(&moved), there);
    let again = boards.send(Method::PATCH, path, Some("k"), changes).await;
    assert_eq!(location(&again), there);
    let stays = boards.send(Method::PATCH, "Alert/b/a/001", None, json!({"seen": true}));
    assert_eq!(location(&stays.await), None);
    let operation = json!({"method": "PATCH", "path": "Alert/b/a/001", "body": {"alertId": "z"}});
    let batch = json!({ "operations": [operation] });
    let batch = boards.send(Method::POST, "batch", None, batch).await;
    let results: Json = batch.json().await.unwrap();
    assert_eq!(results["results"][0]["location"], "/boards/Alert/b/a/z");
}
