//! What is purged stays purged, whichever moment is restored.

use super::*;

/// Without a stream, which would keep what was for a day.
const DIARY: &str = r#"
design = "diary"
[table]
name   = "diary"
key    = ["PK", "SK"]
stream = "off"
[entity.Page]
PK = "PAGE#{id}"
SK = "PAGE"
soft-delete = "gone"
[entity.Page.attributes]
id    = "string"
by    = "string = caller on create"
text  = "string"
cover = "string?, file in covers"
gone  = "timestamp?"
[entity.Page.unique]
text = "TEXT#{text}"
[entity.Page.allow]
"*"   = "by = caller"
purge = "by = caller"
[entity.Line]
PK = "PAGE#{id}"
SK = "LINE#{number}"
[entity.Line.attributes]
id     = "string"
number = "string"
text   = "string"
[entity.Line.refs]
page = "Page, on delete cascade"
[entity.Line.allow]
"*" = "signed-in"
[view.Past]
history-of = "Page"
PK   = "PAST#{id}"
SK   = "{at}"
keep = ["text"]
[view.Past.attributes]
at = "timestamp = now, rising"
[bucket.b]
name = "diary"
[bucket.b.prefix]
covers = { path = "covers/" }
"#;

/// In everything that is stored of the page that goes, and in its file.
const SECRET: &str = "quince jelly";

struct Diary {
    base: String,
    token: String,
    client: Client,
}

impl Diary {
    async fn ask(&self, method: reqwest::Method, path: &str, body: Json) -> (u16, Json) {
        let url = format!("{}/diary/{path}", self.base);
        let request = self.client.request(method, url).bearer_auth(&self.token);
        let request = match body {
            Json::Null => request,
            body => request.json(&body),
        };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or_default())
    }

    async fn post(&self, path: &str, body: Json) -> (u16, Json) {
        self.ask(reqwest::Method::POST, path, body).await
    }

    async fn page(&self, id: &str, text: &str) {
        let file = json!({"contentType": "text/plain", "size": text.len()});
        let (_, upload) = self.post("files/covers", file).await;
        let url = format!("{}{}", self.base, upload["upload"]["url"].as_str().unwrap());
        let sent = self.client.put(url).header("content-type", "text/plain");
        let sent = sent.body(text.to_owned()).send().await.unwrap();
        assert!(sent.status().is_success(), "{sent:?}");
        let page = json!({"id": id, "text": format!("first {text}"), "cover": upload["name"]});
        assert_eq!(self.post("Page", page).await.0, 201);
        let line = json!({"id": id, "number": "1", "text": text});
        assert_eq!(self.post("Line", line).await.0, 201);
        let change = json!({"text": text});
        let path = format!("Page/{id}");
        assert_eq!(self.ask(reqwest::Method::PATCH, &path, change).await.0, 200);
    }
}

/// Whether a text is in a file of a folder.
fn has(folder: &Path, text: &str) -> bool {
    let is_in = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    walk(folder).iter().any(is_in)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_purged_later_is_not_restored() {
    let scene = Scene::new();
    let design = scene.path("diary.toml");
    fs::write(&design, DIARY).unwrap();
    let (design, target) = (design.to_str().unwrap(), scene.path("target"));
    let flags = [design, "--backup", target.to_str().unwrap()];
    let server = Server::start(&scene.path("data"), &flags);
    let data = scene.path("data");
    let diary = Diary {
        base: server.base.clone(),
        token: token_for(design, &["--data", data.to_str().unwrap()], "ann"),
        client: Client::new(),
    };
    diary.page("a", SECRET).await;
    diary.page("b", "medlar wine").await;
    let live = scene.wait_for_backup()["commit"].as_u64().unwrap();
    let refused = diary.post("Page/a/purge", Json::Null).await;
    assert_eq!(
        (refused.0, &refused.1["type"]),
        (409, &json!("urn:partita:problem:not-deleted"))
    );
    let deleted = diary
        .ask(reqwest::Method::DELETE, "Page/a", Json::Null)
        .await;
    assert_eq!(deleted.0, 204);
    let gone = scene.wait_for_backup()["commit"].as_u64().unwrap();
    assert_eq!(diary.post("Page/a/purge", Json::Null).await.0, 204);
    let again = diary.post("Page/a/purge", Json::Null).await;
    assert_eq!(again.0, 404, "{again:?}");
    assert!(!has(&data.join("files"), SECRET) && has(&data.join("files"), "medlar wine"));
    scene.wait_for_backup();
    scene.said("backup since --data data");
    assert_eq!(server.stop(), Some(0));

    // A new base has nothing of it; what was shipped before stays in its segments.
    assert!(has(&target, SECRET) && has(&scene.path("since"), "medlar wine"));
    assert!(!has(&scene.path("since"), SECRET));
    for (commit, into) in [(live, "live"), (gone, "gone")] {
        let said = scene.said(&format!("restore target --commit {commit} --into {into}"));
        let purged = "1 item that was purged since is purged again\n";
        assert!(said.contains(purged), "{said}");
        scene.said(&format!("verify diary.toml --data {into}"));
        let out = format!("{into}-out");
        scene.said(&format!("export items diary.toml --data {into} --to {out}"));
        let text = exported(&scene.path(&out));
        assert!(
            text.contains("medlar wine") && !text.contains(SECRET),
            "{text}"
        );
        assert!(
            !text.contains("PAGE#a") && text.contains("PAGE#b"),
            "{text}"
        );
        let files = scene.path(into).join("files");
        assert!(!has(&files, SECRET) && has(&files, "medlar wine"));
    }
    // Whoever says so gets the moment as it was.
    let as_it_was = format!("restore target --commit {live} --with-purged --into as-it-was");
    assert!(!scene.said(&as_it_was).contains("purged again"));
    scene.said("verify diary.toml --data as-it-was");
    assert!(has(&scene.path("as-it-was").join("files"), SECRET));
    // The last moment knows of nothing later.
    assert!(!scene.said("restore target --into last").contains("purged"));
    assert!(!has(&scene.path("last").join("files"), SECRET));
}

/// All lines of an export.
fn exported(folder: &Path) -> String {
    let mut text = String::new();
    let files = walk(folder);
    let data = files
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(".json.gz"));
    for path in data {
        let file = fs::File::open(path).unwrap();
        flate2::read::GzDecoder::new(file)
            .read_to_string(&mut text)
            .unwrap();
    }
    text
}
