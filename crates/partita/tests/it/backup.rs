//! Backups by the real binary: beside a server, behind one, and under SIGKILL.

mod load;
mod purges;
mod s3;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use partita_backup::restoring::{Moment, Plan};
use partita_backup::shipping::Step;
use partita_backup::{DirectoryTarget, Shipper, Shipping, Wanted};
use partita_engine::{CommitId, EngineStore, Options, Upkeep};
use partita_store::surroundings::{SystemClock, SystemEntropy};
use reqwest::Client;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::readme::{blocks, root, said};
use crate::server::{BINARY, Server, make_secret, rounds, token, token_for};

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// A folder with a data directory, a target and whatever is restored.
struct Scene(TempDir);

impl Scene {
    fn new() -> Scene {
        let scene = Scene(tempfile::tempdir().unwrap());
        fs::create_dir(scene.path("data")).unwrap();
        make_secret(&scene.path("data"));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Whether a directory has the secret that the server signs with.
    fn has_the_secret(&self, directory: &str) -> bool {
        let secrets = ["data", directory].map(|name| fs::read(self.path(name).join("secret")));
        let [own, other] = secrets.map(Result::unwrap);
        own == other
    }

    fn serve(&self, data: &str, flags: &[&str]) -> Server {
        let flags = [&["stories"], flags].concat();
        Server::start(&self.path(data), &flags)
    }

    /// Runs a command in the folder.
    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(BINARY);
        command.args(line.split(' ')).current_dir(self.0.path());
        command
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test");
        command.env_remove("TABLE_NAME").output().unwrap()
    }

    /// What a command prints that succeeds.
    fn said(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {output:#?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Why a command is refused.
    fn refused(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(!output.status.success(), "{line}: {output:#?}");
        String::from_utf8(output.stderr).unwrap()
    }

    async fn write(&self, server: &Server, numbers: std::ops::Range<u32>) {
        let token = token(&self.path("data"), "ann");
        let client = Client::new();
        for number in numbers {
            let answer = client
                .post(format!("{}/stories/Story", server.base))
                .bearer_auth(&token)
                .json(&json!({"userId": "ann", "id": format!("01{number:024}"), "title": format!("story {number}")}))
                .send()
                .await
                .unwrap();
            assert!(answer.status().is_success(), "{answer:?}");
        }
    }

    /// Waits until the backup behind the server has everything.
    fn wait_for_backup(&self) -> Json {
        loop {
            let status = self.said("backup status --data data --format json");
            let status: Json = serde_json::from_str(&status).unwrap();
            if status["lagCommits"] == 0 && status["lastBase"] != Json::Null {
                return status;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    async fn titles(&self, server: &Server) -> Vec<String> {
        let token = token(&self.path("data"), "ann");
        let url = format!("{}/stories/query/stories?userId=ann&limit=100", server.base);
        let page = Client::new()
            .get(url)
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        let page: Json = page.json().await.unwrap();
        let items = page["items"].as_array().unwrap_or_else(|| panic!("{page}"));
        let mut titles: Vec<String> = items
            .iter()
            .map(|item| item["title"].as_str().unwrap().to_owned())
            .collect();
        titles.sort();
        titles
    }
}

fn open(data: &Path) -> Arc<EngineStore> {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    Arc::new(EngineStore::open(&data.join("store"), options).unwrap())
}

async fn contents(store: &EngineStore) -> (CommitId, Contents) {
    let rows = store.rows_after(None, usize::MAX).await.unwrap();
    let contents = rows
        .rows
        .into_iter()
        .map(|(key, value)| (key, value.to_vec()));
    (rows.commit, contents.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_beside_a_server_and_without_one() {
    let scene = Scene::new();
    let server = scene.serve("data", &[]);
    scene.write(&server, 0..5).await;
    let beside = scene.said("backup target --data data");
    assert!(beside.contains("target has commit"), "{beside}");
    scene.write(&server, 5..8).await;
    assert_eq!(server.stop(), Some(0));
    scene.said("backup target --data data");
    let chains: Json =
        serde_json::from_str(&scene.said("backup list target --format json")).unwrap();
    assert_eq!(chains.as_array().unwrap().len(), 2, "{chains}");
    assert!(
        scene
            .said("backup list target")
            .contains("a backup by hand")
    );
    let checked = scene.said("backup check target");
    assert!(
        checked.contains("is whole and can be restored"),
        "{checked}"
    );

    let first = &chains[0]["last"]["commit"];
    scene.said(&format!(
        "restore target --into first --commit {first} --chain 1"
    ));
    scene.said("restore target --into last");
    for (data, count) in [("first", 5), ("last", 8)] {
        fs::copy(scene.path("data/secret"), scene.path(data).join("secret")).unwrap();
        let server = scene.serve(data, &[]);
        assert_eq!(scene.titles(&server).await.len(), count);
        drop(server);
        scene.said(&format!("verify stories --data {data}"));
    }
    let refused = scene.refused("restore target --into last");
    assert!(
        refused.contains("a restore writes over nothing"),
        "{refused}"
    );
    let refused = scene.refused("restore target --into other --commit 99999");
    assert!(refused.contains("no chain has commit 99999"), "{refused}");
    let refused = scene.refused("restore nowhere --into other");
    assert!(refused.contains("there is no backup"), "{refused}");
    assert!(!scene.path("other").exists() && !scene.path("nowhere").exists());
    let later = scene.refused("backup status --data data");
    assert!(later.contains("no server has the store"), "{later}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_backs_up_all_the_time() {
    let scene = Scene::new();
    fs::write(scene.path("key"), [5; 32]).unwrap();
    set_mode(&scene.path("key"), 0o600);
    let target = scene.path("target");
    let key = scene.path("key");
    let flags = [
        "--backup",
        target.to_str().unwrap(),
        "--backup-key",
        key.to_str().unwrap(),
    ];
    let server = scene.serve("data", &flags);
    scene.write(&server, 0..4).await;
    let four = scene.wait_for_backup();
    scene.write(&server, 4..7).await;
    scene.wait_for_backup();
    let metrics = reqwest::get(format!("{}/metrics", server.base))
        .await
        .unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(
        metrics.contains("partita_backup_lag_seconds 0"),
        "{metrics}"
    );
    let ready = reqwest::get(format!("{}/readyz", server.base))
        .await
        .unwrap();
    assert_eq!(ready.text().await.unwrap(), "well\n");
    server.kill();

    // The next server goes on with the chain.
    let server = scene.serve("data", &flags);
    scene.write(&server, 7..9).await;
    let status = scene.wait_for_backup();
    assert_eq!(status["chain"], 1, "{status}");
    assert_eq!(server.stop(), Some(0));

    let refused = scene.refused("restore target --into other");
    assert!(
        refused.contains("is encrypted: give the key with --key"),
        "{refused}"
    );
    set_mode(&scene.path("key"), 0o644);
    let refused = scene.refused("restore target --key key --into other");
    assert!(refused.contains("others can read the key"), "{refused}");
    set_mode(&scene.path("key"), 0o600);
    scene.said("restore target --key key --into all");
    let commit = &four["commit"];
    scene.said(&format!(
        "restore target --key key --into four --commit {commit}"
    ));
    for (data, count) in [("all", 9), ("four", 4)] {
        let secret = fs::read(scene.path(data).join("secret")).unwrap();
        assert_eq!(secret, [7; 32], "an encrypted backup has the secret");
        let server = scene.serve(data, &[]);
        assert_eq!(scene.titles(&server).await.len(), count);
    }
    scene.said("backup check target --key key");
    // A restored store has a chain of its own.
    let server = scene.serve("four", &flags);
    drop(server);
    let words = String::from("story 3");
    for object in walk(&target) {
        let bytes = fs::read(&object).unwrap();
        let is_shown = bytes
            .windows(words.len())
            .any(|part| part == words.as_bytes());
        assert!(!is_shown, "{}", object.display());
    }
}

/// What is answered while the server drains is in the backup when it ends.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_last_is_backed_up() {
    let scene = Scene::new();
    let target = scene.path("target");
    let server = scene.serve("data", &["--backup", target.to_str().unwrap()]);
    scene.write(&server, 0..2).await;
    scene.wait_for_backup();
    let token = token(&scene.path("data"), "ann");
    let body = json!({"userId": "ann", "id": format!("01{:024}", 2), "title": "story 2"});
    let body = body.to_string();
    let (begin, end) = body.split_at(body.len() / 2);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(
        stream,
        "POST /stories/Story HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{begin}",
        server.address(),
        body.len()
    )
    .unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.ask_to_stop();
    // The shipping looks three times a second; it must not have ended when the rest comes.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    stream.write_all(end.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(server.wait(), Some(0));
    scene.said("restore target --into restored");
    fs::copy(scene.path("data/secret"), scene.path("restored/secret")).unwrap();
    let server = scene.serve("restored", &[]);
    assert_eq!(scene.titles(&server).await.len(), 3);
}

/// A chain has one secret, so another one begins another chain: while the server runs, and at a start.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_has_the_secret_that_signs() {
    let scene = Scene::new();
    fs::write(scene.path("key"), [5; 32]).unwrap();
    set_mode(&scene.path("key"), 0o600);
    let (target, key) = (scene.path("target"), scene.path("key"));
    let (target, key) = (target.to_str().unwrap(), key.to_str().unwrap());
    let flags = ["--backup", target, "--backup-key", key];
    let server = scene.serve("data", &flags);
    scene.write(&server, 0..2).await;
    assert_eq!(scene.wait_for_backup()["chain"], 1);
    scene.said("secret rotate --data data");
    // A new secret is accepted before it signs: whether both steps begin a chain depends on when the
    // shipping looks.
    for attempt in 0.. {
        let into = format!("rotated{attempt}");
        scene.said(&format!("restore target --key key --into {into}"));
        if scene.has_the_secret(&into) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let chain = scene.wait_for_backup()["chain"].as_u64().unwrap();
    assert!(chain > 1, "{chain}");
    assert_eq!(server.stop(), Some(0));
    scene.said("secret rotate --data data");
    let server = scene.serve("data", &flags);
    scene.write(&server, 2..3).await;
    assert_eq!(scene.wait_for_backup()["chain"], chain + 1);
    assert_eq!(server.stop(), Some(0));
    scene.said("restore target --key key --into all");
    assert!(scene.has_the_secret("all"));
    let listed = scene.said("backup list target --key key");
    assert!(listed.contains("the secret was changed"), "{listed}");
    let server = scene.serve("all", &[]);
    assert_eq!(scene.titles(&server).await.len(), 3);
}

/// An encrypted backup has the secret, or says why not.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_cannot_be_read_is_told() {
    let scene = Scene::new();
    drop(scene.serve("data", &[]));
    fs::write(scene.path("key"), [5; 32]).unwrap();
    set_mode(&scene.path("key"), 0o600);
    fs::rename(scene.path("data/secret"), scene.path("secret")).unwrap();
    fs::create_dir(scene.path("data/secret")).unwrap();
    let refused = scene.refused("backup target --key key --data data");
    assert!(refused.contains("cannot read the secret"), "{refused}");
    // One that is not encrypted has none.
    scene.said("backup target --data data");
}

/// Neither a server nor a backup by hand of another store gets at a target, and a restored store goes
/// on in the target that it is from.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_is_of_one_store() {
    let scene = Scene::new();
    drop(scene.serve("data", &[]));
    scene.said("backup target --data data");
    scene.said("restore target --into again --at 2099-03-01T12:00:00+01:00");
    scene.said("backup target --data again");
    fs::create_dir(scene.path("other")).unwrap();
    make_secret(&scene.path("other"));
    drop(scene.serve("other", &[]));
    for line in [
        "backup target --data other",
        "serve stories --data other --listen 127.0.0.1:0 --backup target --backup-keep 1h",
    ] {
        let refused = scene.refused(line);
        assert!(refused.contains("the backup of another store"), "{refused}");
    }
    let chains: Json =
        serde_json::from_str(&scene.said("backup list target --format json")).unwrap();
    assert_eq!(chains.as_array().unwrap().len(), 2, "{chains}");
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// The guide for files, and then what it made restored elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn the_files_that_items_name_are_restored() {
    let page = fs::read_to_string(root().join("docs/files.md")).unwrap();
    let shell = blocks(&page, "sh");
    let scene = Scene::new();
    // The guide looks for the secret in the default place.
    let data = scene.path("partita-data");
    fs::rename(scene.path("data"), &data).unwrap();
    let target = scene.path("target");
    let flags = ["holdthatthought", "--backup", target.to_str().unwrap()];
    let server = Server::start(&data, &flags);
    said(&shell[1..], scene.0.path(), &server.base);
    let files = |data: &Path| -> BTreeMap<PathBuf, Vec<u8>> {
        let root = data.join("files");
        let found = walk(&root).into_iter();
        found
            .map(|path| {
                (
                    path.strip_prefix(&root).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                )
            })
            .collect()
    };
    scene.said("backup by-hand --data partita-data");
    assert_eq!(server.stop(), Some(0));
    for (target, into) in [("target", "one"), ("by-hand", "other")] {
        scene.said(&format!("restore {target} --into {into}"));
        let (restored, own) = (files(&scene.path(into)), files(&data));
        assert!(
            restored.values().any(|bytes| bytes == b"Hello!"),
            "{restored:?}"
        );
        assert!(
            restored
                .iter()
                .all(|(path, bytes)| own.get(path) == Some(bytes))
        );
        scene.said(&format!("verify holdthatthought --data {into}"));
    }
    for object in walk(&target)
        .iter()
        .filter(|path| path.to_string_lossy().contains("/files/"))
    {
        fs::remove_file(object).unwrap();
    }
    let refused = scene.refused("restore target --into third");
    assert!(
        refused.contains("/files/") && refused.contains("is missing"),
        "{refused}"
    );
    assert!(scene.refused("backup check target").contains("is missing"));
}

const SHELF: &str = r#"
design = "shelf"
[table]
name = "shelf"
key  = ["PK", "SK"]
[entity.Doc]
PK = "DOC#{id}"
SK = "DOC"
[entity.Doc.attributes]
id   = "string"
by   = "string = caller on create"
file = "string?, file in docs"
[entity.Doc.allow]
create = "signed-in"
"*"    = "by = caller"
[bucket.b]
name = "shelf"
[bucket.b.prefix]
docs = { path = "docs/" }
"#;

/// A file that came and went while the target did not answer is there at every moment that names it.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_short_life_is_restored() {
    let scene = Scene::new();
    let design = scene.path("shelf.toml");
    fs::write(&design, SHELF).unwrap();
    let (design, target) = (design.to_str().unwrap(), scene.path("target"));
    let flags = [design, "--backup", target.to_str().unwrap()];
    let server = Server::start(&scene.path("data"), &flags);
    let before = scene.wait_for_backup();
    fs::rename(&target, scene.path("aside")).unwrap();
    fs::write(&target, b"").unwrap();

    let data = scene.path("data");
    let token = token_for(design, &["--data", data.to_str().unwrap()], "ann");
    let client = Client::new();
    let asked = client
        .post(format!("{}/shelf/files/docs", server.base))
        .json(&json!({"contentType": "text/plain", "size": 6}));
    let upload: Json = asked
        .bearer_auth(&token)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let url = upload["upload"]["url"].as_str().unwrap();
    let sent = client
        .put(format!("{}{url}", server.base))
        .header("content-type", "text/plain")
        .body("Hello!");
    assert!(sent.send().await.unwrap().status().is_success());
    let doc = client
        .post(format!("{}/shelf/Doc", server.base))
        .json(&json!({"id": "d", "file": upload["name"]}));
    let doc = doc.bearer_auth(&token).send().await.unwrap();
    assert!(doc.status().is_success(), "{doc:?}");
    let doc = client.delete(format!("{}/shelf/Doc/d", server.base));
    let gone = doc.bearer_auth(&token).send().await.unwrap();
    assert!(gone.status().is_success(), "{gone:?}");
    assert_eq!(walk(&data.join("files")), Vec::<PathBuf>::new());
    assert_eq!(walk(&data.join("kept-files")).len(), 1);

    fs::remove_file(&target).unwrap();
    fs::rename(scene.path("aside"), &target).unwrap();
    let after = scene.wait_for_backup();
    assert_eq!(after["chain"], 1, "{after}");
    assert_eq!(server.stop(), Some(0));
    let commits = before["commit"].as_u64().unwrap()..=after["commit"].as_u64().unwrap();
    let mut found = 0;
    for commit in commits {
        scene.said(&format!(
            "restore target --commit {commit} --into at-{commit}"
        ));
        found += walk(&scene.path(&format!("at-{commit}/files"))).len();
    }
    assert!(found > 0, "some moment has the file");
    assert_eq!(walk(&data.join("kept-files")), Vec::<PathBuf>::new());
}

/// DynamoDB's clients are told of the backup behind the server.
#[tokio::test(flavor = "multi_thread")]
async fn the_endpoint_tells_of_the_backup() {
    let scene = Scene::new();
    let ask = async |server: &Server, operation: &str, body: Json| -> (u16, Json) {
        let request = Client::new().post(&server.base).json(&body);
        let request = request
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
            .header("x-amz-date", "20260101T000000Z")
            .header("authorization", "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any");
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    };
    let told = |answer: &Json| {
        let description = &answer["ContinuousBackupsDescription"];
        description["PointInTimeRecoveryDescription"].clone()
    };
    let table = || json!({"TableName": "stories"});
    let wished = |enabled: bool| json!({"TableName": "stories", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": enabled}});
    let alone = scene.serve("data", &[]);
    let (_, answer) = ask(&alone, "DescribeContinuousBackups", table()).await;
    assert_eq!(told(&answer)["PointInTimeRecoveryStatus"], "DISABLED");
    let (status, answer) = ask(&alone, "UpdateContinuousBackups", wished(true)).await;
    let fault = answer["__type"].as_str().unwrap();
    assert!(status == 400 && fault.ends_with("#ContinuousBackupsUnavailableException"));
    assert_eq!(alone.stop(), Some(0));

    let target = scene.path("target");
    let server = scene.serve("data", &["--backup", target.to_str().unwrap()]);
    scene.write(&server, 0..3).await;
    scene.wait_for_backup();
    for (operation, body) in [
        ("DescribeContinuousBackups", table()),
        ("UpdateContinuousBackups", wished(true)),
    ] {
        let (status, answer) = ask(&server, operation, body).await;
        let told = told(&answer);
        assert_eq!(
            (status, &told["PointInTimeRecoveryStatus"]),
            (200, &json!("ENABLED"))
        );
        let moment = |name: &str| told[name].as_f64().unwrap();
        let (first, last) = (
            moment("EarliestRestorableDateTime"),
            moment("LatestRestorableDateTime"),
        );
        assert!(1.7e9 < first && first <= last, "{told}");
    }
    let (status, _) = ask(&server, "UpdateContinuousBackups", wished(false)).await;
    assert_eq!(status, 400);
}

/// A target that cannot be written does not hold the server up, and is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_fails_is_told_and_holds_nobody_up() {
    let scene = Scene::new();
    // A file where the target would be: whoever is root writes past modes.
    fs::write(scene.path("target"), b"").unwrap();
    let target = scene.path("target");
    let server = scene.serve(
        "data",
        &["--log", "error", "--backup", target.to_str().unwrap()],
    );
    scene.write(&server, 0..3).await;
    let status: Json = loop {
        let status = scene.said("backup status --data data --format json");
        let status: Json = serde_json::from_str(&status).unwrap();
        if status["lastError"] != Json::Null {
            break status;
        }
    };
    assert!(status["lagCommits"].as_u64() > Some(0), "{status}");
    fs::remove_file(&target).unwrap();
    scene.write(&server, 3..6).await;
    let status = scene.wait_for_backup();
    assert_eq!(
        (&status["lastError"], &status["chain"]),
        (&Json::Null, &json!(1)),
        "{status}"
    );
}

/// Kills servers at any moment. What their backup has is always a state that the store had, and the
/// next one goes on.
#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_leave_a_good_backup() {
    let scene = Scene::new();
    let target = scene.path("target");
    let mut random = fastrand::Rng::with_seed(5);
    let rounds = u32::try_from(rounds()).unwrap() / 2;
    for round in 0..rounds {
        let durability = if round % 3 == 2 { "buffered" } else { "sync" };
        let flags = [
            "--backup",
            target.to_str().unwrap(),
            "--durability",
            durability,
        ];
        let server = scene.serve("data", &flags);
        scene
            .write(&server, round * 100..round * 100 + random.u32(1..20))
            .await;
        std::thread::sleep(Duration::from_millis(random.u64(..700)));
        server.kill();
        let store = open(&scene.path("data"));
        let target: Arc<DirectoryTarget> = Arc::new(DirectoryTarget::new(&target));
        let id = fs::read_to_string(scene.path("data/backup-id")).unwrap();
        let shipping = Shipping {
            source: store.clone(),
            store: id.trim_end().to_owned(),
            target: target.clone(),
            key: None,
            secret: None,
            files: None,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        };
        let mut shipper = Shipper::resume(shipping).await.unwrap();
        assert_eq!(shipper.chain(), 1, "round {round}: the chain goes on");
        while shipper.step().await.unwrap() != Step::Rested {}
        drop(shipper);
        let (commit, rows) = contents(&store).await;
        let place = scene.path(&format!("round-{round}"));
        let wanted = Wanted {
            chain: None,
            moment: Moment::Commit(commit.number),
            plain_too: false,
        };
        let plan = Plan::make(&*target, &[], wanted).await.unwrap();
        let restored = plan
            .carry_out(&*target, &place.join("store"), &mut |_| {})
            .await;
        assert_eq!(restored.unwrap().commit, commit);
        let restored = open(&place);
        assert!(contents(&restored).await == (commit, rows), "round {round}");
        assert_eq!(restored.verify().await, Ok(Vec::new()));
        drop(restored);
        fs::remove_dir_all(place).unwrap();
    }
}

/// Kills restores and backups at any moment. A directory is whole or refused, and the next attempt
/// makes it whole.
#[tokio::test(flavor = "multi_thread")]
async fn killed_restores_and_backups_are_begun_again() {
    let scene = Scene::new();
    let server = scene.serve("data", &[]);
    scene.write(&server, 0..30).await;
    assert_eq!(server.stop(), Some(0));
    scene.said("backup target --data data");
    let mut random = fastrand::Rng::with_seed(6);
    let mut cut_short = 0;
    for round in 0..rounds() {
        for line in [
            format!("backup target --data data --format json --log error --key key-{round}"),
            format!("restore target --into into-{round} --chain 1"),
        ] {
            fs::write(scene.path(&format!("key-{round}")), [5; 32]).unwrap();
            set_mode(&scene.path(&format!("key-{round}")), 0o600);
            let mut command = Command::new(BINARY);
            command.args(line.split(' ')).current_dir(scene.0.path());
            let mut child = command.stdout(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(random.u64(..400)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let into = format!("into-{round}");
        if scene.path(&into).join("restoring").exists() {
            cut_short += 1;
            let refused = scene.refused(&format!("verify stories --data {into}"));
            assert!(
                refused.contains("was not finished: run it again"),
                "{refused}"
            );
        }
        if !scene.path(&into).join("restored").exists()
            || scene.path(&into).join("restoring").exists()
        {
            scene.said(&format!("restore target --into {into} --chain 1"));
        }
        scene.said(&format!("verify stories --data {into}"));
        fs::remove_dir_all(scene.path(&into)).unwrap();
    }
    scene.said("backup check target --chain 1");
    println!("{cut_short} restores were cut short");
}
