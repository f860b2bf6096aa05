//! A server whose disk becomes full and is freed again, over the API and at the endpoint.
//!
//! The disk is a file system in memory that only the server's namespace has mounted; the test
//! reaches it through `/proc`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::server::{BINARY, Server, token_for};

/// Has room for items while 320 MB are free, and for files while 480 MB are.
const DISK_MB: usize = 600;

/// Leaves room for items, and none for files.
const FOR_ITEMS_MB: usize = 200;

/// Leaves no room.
const FOR_NOTHING_MB: usize = 320;

const ANN: &str = "0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0a";

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any";

struct SmallDisk {
    design: &'static str,
    server: Server,
    /// Where the server's disk is seen from here.
    ballast: PathBuf,
    client: Client,
    token: String,
    _folder: TempDir,
}

impl SmallDisk {
    /// None where the system does not let a test mount anything.
    fn start(design: &'static str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let (data, secret) = (folder.path().join("data"), folder.path().join("secret"));
        std::fs::create_dir(&data).unwrap();
        std::fs::write(&secret, [7; 32]).unwrap();
        let mount = mount(&data);
        let tried = within(&mount, "true").output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            assert!(
                std::env::var_os("CI").is_none(),
                "under CI nothing is skipped: let users have namespaces"
            );
            let why = "skipped: it needs a namespace to mount in";
            let _ = writeln!(std::io::stderr(), "{why}");
            return None;
        }
        let secret = ["--secret-file", secret.to_str().unwrap()];
        let flags = [design, secret[0], secret[1]];
        let server = Server::start_by(within(&mount, BINARY), &data, &flags);
        let root = PathBuf::from(format!("/proc/{}/root", server.id()));
        let data = data.strip_prefix("/").unwrap();
        Some(SmallDisk {
            design,
            ballast: root.join(data).join("ballast"),
            server,
            client: Client::new(),
            token: token_for(design, &secret, ANN),
            _folder: folder,
        })
    }

    fn fill(&self, megabytes: usize) {
        let mut file = std::fs::File::create(&self.ballast).unwrap();
        let megabyte = vec![0; 1_048_576];
        (0..megabytes).for_each(|_| file.write_all(&megabyte).unwrap());
    }

    /// Frees the disk, and waits until the server has noticed.
    async fn free(&self) {
        std::fs::remove_file(&self.ballast).unwrap();
        while self.health().await.0 != 200 {
            tokio::task::yield_now().await;
        }
    }

    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/{}/{path}", self.server.base, self.design);
        self.client.request(method, url).bearer_auth(&self.token)
    }

    fn post(&self, path: &str, body: &Json) -> RequestBuilder {
        self.ask(Method::POST, path).json(body)
    }

    async fn get(&self, path: &str) -> (u16, Json) {
        answer(self.ask(Method::GET, path)).await
    }

    /// Asks the endpoint.
    async fn call(&self, operation: &str, body: Json) -> (u16, Json) {
        let call = self.client.post(&self.server.base).json(&body);
        let call = call.header("x-amz-target", format!("DynamoDB_20120810.{operation}"));
        let call = call.header("x-amz-date", "20260101T000000Z");
        answer(call.header("authorization", AUTHORIZATION)).await
    }

    async fn health(&self) -> (u16, String) {
        let url = format!("{}/healthz", self.server.base);
        let seen = self.client.get(url).send().await.unwrap();
        (seen.status().as_u16(), seen.text().await.unwrap())
    }
}

/// Mounts a small file system of its own at a folder.
fn mount(folder: &Path) -> String {
    format!(
        "mount -t tmpfs -o size={DISK_MB}m tmpfs '{}'",
        folder.display()
    )
}

/// Runs a program in a namespace of its own, after a command.
fn within(command: &str, program: &str) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    unshare.args([&format!("{command} && exec \"$0\" \"$@\""), program]);
    unshare
}

async fn answer(call: RequestBuilder) -> (u16, Json) {
    read(call.send().await.unwrap()).await
}

async fn read(seen: Response) -> (u16, Json) {
    let status = seen.status().as_u16();
    (status, seen.json().await.unwrap_or(Json::Null))
}

/// The answer to a write of the API for which there is no room.
async fn is_refused(call: RequestBuilder) {
    let seen = call.send().await.unwrap();
    assert_eq!(seen.headers()["content-type"], "application/problem+json");
    assert_eq!(seen.headers()["retry-after"], "30");
    let (status, problem) = read(seen).await;
    assert_eq!(status, 503, "{problem}");
    assert_eq!(problem["type"], "urn:partita:problem:disk-full");
    assert_eq!(problem["title"], "The server's disk is full");
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_writes_in_its_own_words_until_there_is_room() {
    let Some(disk) = SmallDisk::start("stories") else {
        return;
    };
    let (status, dune) = answer(disk.post("Story", &story())).await;
    assert_eq!(status, 201, "{dune}");
    let dune = format!("Story/{ANN}/{}", dune["id"].as_str().unwrap());
    let table = json!({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    assert_eq!(disk.call("CreateTable", table).await.0, 200);
    assert_eq!(disk.call("PutItem", put("before")).await.0, 200);
    for (before, after) in [
        ("Dune", "Dune Messiah"),
        ("Dune Messiah", "Children of Dune"),
    ] {
        let change = || {
            let change = disk
                .ask(Method::PATCH, &dune)
                .json(&json!({ "title": after }));
            change.header("idempotency-key", after)
        };
        disk.fill(FOR_NOTHING_MB);
        is_refused(disk.post("Story", &story())).await;
        is_refused(disk.post("batch", &batch())).await;
        is_refused(change()).await;
        endpoint_refuses(&disk).await;
        let (status, why) = disk.health().await;
        assert_eq!(status, 503);
        assert!(why.contains("the disk is full"), "{why}");
        reads_go_on(&disk, &dune, before).await;
        disk.free().await;
        // What was refused under a key was not carried out, and nothing was kept of it.
        let (status, changed) = answer(change()).await;
        assert_eq!((status, &changed["title"]), (200, &json!(after)));
        assert_eq!(answer(disk.post("batch", &batch())).await.0, 200);
        assert_eq!(disk.call("PutItem", put("after")).await.0, 200);
    }
    let (_, list) = disk.get(&format!("query/stories?userId={ANN}")).await;
    let count = list["items"].as_array().map(Vec::len);
    assert_eq!(count, Some(3), "of what was refused nothing is there");
    assert_eq!(disk.server.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn has_room_for_items_when_it_has_none_for_files() {
    let Some(disk) = SmallDisk::start("figureforge") else {
        return;
    };
    let user = json!({"user_id": ANN, "email": "ann@example.org"});
    assert_eq!(answer(disk.post("User", &user)).await.0, 201);
    let wanted = json!({"contentType": "image/jpeg", "size": 5});
    let (status, upload) = answer(disk.post("files/user", &wanted)).await;
    assert_eq!(status, 201, "{upload}");
    let url = upload["upload"]["url"].as_str().unwrap();
    let url = format!("{}{url}", disk.server.base);
    let send = || {
        let call = disk.client.put(&url).header("content-type", "image/jpeg");
        call.body("image")
    };
    disk.fill(FOR_ITEMS_MB);
    is_refused(send()).await;
    let email = json!({"email": "anna@example.org"});
    let change = disk.ask(Method::PATCH, &format!("User/{ANN}")).json(&email);
    let (status, changed) = answer(change).await;
    assert_eq!(status, 200, "{changed}");
    disk.free().await;
    assert_eq!(answer(send()).await.0, 201);
    assert_eq!(disk.server.stop(), Some(0));
}

async fn endpoint_refuses(disk: &SmallDisk) {
    let (status, refusal) = disk.call("PutItem", put("during")).await;
    assert_eq!(status, 503, "{refusal}");
    let text = |name: &str| refusal[name].as_str().unwrap();
    let kind = text("__type");
    assert!(kind.ends_with("#ServiceUnavailableException"), "{kind}");
    let message = text("message");
    assert!(
        message.starts_with("The server's disk is full"),
        "{message}"
    );
}

async fn reads_go_on(disk: &SmallDisk, story: &str, title: &str) {
    let (status, found) = disk.get(story).await;
    assert_eq!((status, &found["title"]), (200, &json!(title)));
    let (status, list) = disk.get(&format!("query/stories?userId={ANN}")).await;
    assert_eq!(status, 200);
    let titles = list["items"].as_array().unwrap().iter();
    assert!(titles.map(|row| &row["title"]).any(|one| one == title));
    let (status, found) = disk.call("GetItem", get("before")).await;
    assert_eq!((status, &found["Item"]), (200, &put("before")["Item"]));
    assert_eq!(disk.call("GetItem", get("during")).await, (200, json!({})));
}

fn story() -> Json {
    json!({"userId": ANN, "title": "Dune"})
}

fn batch() -> Json {
    json!({"operations": [{"method": "POST", "path": "Story", "body": story()}]})
}

fn put(name: &str) -> Json {
    json!({"TableName": "tab", "Item": {"pk": {"S": name}}})
}

fn get(name: &str) -> Json {
    json!({"TableName": "tab", "Key": {"pk": {"S": name}}})
}
