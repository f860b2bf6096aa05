//! Files over HTTP, through the real binary: both designs that have them, as every caller.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use partita_plan::Partita;
use partita_store::Store;
use partita_store::request::{PutItem, ReturnValues};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value as Json, json};

use crate::server::{BINARY, Server};
use crate::stage;

const ANN: &str = "0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0a";

/// A server with one design, and its callers.
pub(crate) struct Stand {
    design: &'static str,
    pub(crate) data: tempfile::TempDir,
    pub(crate) server: Server,
    client: Client,
}

impl Stand {
    pub(crate) fn new(design: &'static str, flags: &[&str]) -> Stand {
        Stand::on(tempfile::tempdir().unwrap(), design, flags)
    }

    fn on(data: tempfile::TempDir, design: &'static str, flags: &[&str]) -> Stand {
        let flags = [&[design], flags].concat();
        let server = Server::start(data.path(), &flags);
        Stand {
            design,
            data,
            server,
            client: Client::new(),
        }
    }

    /// Ends the server as a power cut would, and starts it again.
    fn restart(&mut self, flags: &[&str]) {
        self.server.end();
        self.server = Server::start(self.data.path(), flags);
    }

    pub(crate) fn token(&self, user: &str, more: &[&str]) -> String {
        let output = Command::new(BINARY)
            .args(["token", self.design, "--user", user, "--data"])
            .arg(self.data.path())
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Option<Json>,
    ) -> Response {
        let url = format!("{}/{}/{path}", self.server.base, self.design);
        let mut call = self.client.request(method, url);
        if !token.is_empty() {
            call = call.bearer_auth(token);
        }
        if let Some(body) = body {
            call = call.json(&body);
        }
        call.send().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: Json) -> (StatusCode, Json) {
        json_of(self.call(Method::POST, path, token, Some(body)).await).await
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> (StatusCode, Json) {
        json_of(self.call(Method::GET, path, token, None).await).await
    }

    /// Asks for an upload and sends the bytes; gives the name for the item.
    pub(crate) async fn upload(
        &self,
        prefix: &str,
        token: &str,
        kind: &str,
        bytes: &[u8],
    ) -> String {
        let asked = json!({"contentType": kind, "size": bytes.len(), "fileName": "../../x.exe"});
        let (status, upload) = self.post(&format!("files/{prefix}"), token, asked).await;
        assert_eq!(status, StatusCode::CREATED, "{upload}");
        let sent = self.put(&upload, kind, bytes.to_vec()).await;
        assert_eq!(sent.status(), StatusCode::CREATED);
        let sent: Json = sent.json().await.unwrap();
        sent["name"].as_str().unwrap().to_owned()
    }

    async fn put(&self, upload: &Json, kind: &str, bytes: Vec<u8>) -> Response {
        let url = upload["upload"]["url"].as_str().unwrap();
        self.put_to(url, kind, bytes).await
    }

    async fn put_to(&self, url: &str, kind: &str, bytes: Vec<u8>) -> Response {
        let call = self.client.put(format!("{}{url}", self.server.base));
        let call = call.header("content-type", kind).body(bytes);
        call.send().await.unwrap()
    }

    /// The object behind a signed URL.
    async fn fetch(&self, url: &str) -> Response {
        let url = format!("{}{url}", self.server.base);
        self.client.get(url).send().await.unwrap()
    }

    /// The files that are on the disk, below the bucket.
    fn on_disk(&self) -> Vec<String> {
        let mut found = Vec::new();
        for bucket in std::fs::read_dir(self.data.path().join("files")).unwrap() {
            let bucket = bucket.unwrap().path();
            list(&bucket, &bucket, &mut found);
        }
        found.sort();
        found
    }
}

fn list(root: &Path, directory: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(root, &path, found)
        } else {
            found.push(path.strip_prefix(root).unwrap().display().to_string())
        }
    }
}

async fn json_of(response: Response) -> (StatusCode, Json) {
    let status = response.status();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Json::Null))
}

fn problem(json: &Json) -> &str {
    let name = json["type"].as_str().unwrap_or_default();
    name.trim_start_matches("urn:partita:problem:")
}

pub(crate) async fn family(stand: &Stand) -> (String, String, String) {
    let ann = stand.token("ann", &[]);
    let bob = stand.token("bob", &[]);
    let eve = stand.token("eve", &[]);
    for (user, token) in [("ann", &ann), ("bob", &bob), ("eve", &eve)] {
        let profile =
            json!({"userId": user, "email": format!("{user}@example.org"), "displayName": user});
        let (status, created) = stand.post("UserProfile", token, profile).await;
        assert_eq!(status, StatusCode::CREATED, "{created}");
    }
    (ann, bob, eve)
}

#[tokio::test]
async fn an_attachment_is_uploaded_named_read_and_removed() {
    let stand = Stand::new("holdthatthought", &[]);
    let (ann, bob, eve) = family(&stand).await;
    let talk = json!({"conversationType": "direct", "participantIds": ["ann", "bob"]});
    let (status, talk) = stand.post("ConversationMeta", &ann, talk).await;
    assert_eq!(status, StatusCode::CREATED, "{talk}");
    let talk = talk["conversationId"].as_str().unwrap();

    let name = stand
        .upload("messages", &ann, "image/jpeg", b"0123456789")
        .await;
    assert!(
        name.starts_with("temp/") && name.ends_with(".jpg"),
        "{name}"
    );
    let attachment = json!({"s3Key": name, "fileName": "cat.jpg", "contentType": "image/jpeg"});
    let message =
        json!({"conversationId": talk, "messageText": "See", "attachments": [attachment]});
    let (status, refused) = stand.post("Message", &bob, message.clone()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "not bob's upload");
    assert_eq!(refused["faults"][0]["attribute"], "attachments[0].s3Key");
    let (status, created) = stand.post("Message", &ann, message).await;
    assert_eq!(status, StatusCode::CREATED, "{created}");
    let key = created["attachments"][0]["s3Key"].as_str().unwrap();
    assert_eq!(key, name.replace("temp/", "messages/"));
    assert_eq!(stand.on_disk(), [key], "moved to where the page says");

    // A caller who sees the message reads the file; others do not learn that there is one.
    let path = format!("files/{key}");
    let (status, granted) = stand.get(&path, &bob).await;
    assert_eq!(status, StatusCode::OK, "{granted}");
    let url = granted["url"].as_str().unwrap();
    let response = stand.fetch(url).await;
    assert_eq!(response.status(), StatusCode::OK);
    let headers = response.headers().clone();
    assert_eq!(headers["content-type"], "image/jpeg");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert!(
        headers["content-security-policy"]
            .to_str()
            .unwrap()
            .contains("sandbox")
    );
    assert!(
        headers["content-disposition"]
            .to_str()
            .unwrap()
            .starts_with("inline; filename=\"0")
    );
    assert_eq!(response.bytes().await.unwrap().as_ref(), b"0123456789");
    assert_eq!(stand.get(&path, &eve).await.0, StatusCode::NOT_FOUND);
    assert_eq!(stand.get(&path, "").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(
        stand.get("files/messages/none.jpg", &bob).await.0,
        StatusCode::NOT_FOUND
    );

    ranges(&stand, url).await;
    forgeries(&stand, url, &eve).await;

    // The conversation goes, and with it the message and its file.
    let gone = stand
        .call(
            Method::DELETE,
            &format!("ConversationMeta/{talk}"),
            &ann,
            None,
        )
        .await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    assert_eq!(stand.get(&path, &bob).await.0, StatusCode::NOT_FOUND);
    assert!(stand.on_disk().is_empty());
    assert_eq!(stand.fetch(url).await.status(), StatusCode::NOT_FOUND);
}

async fn ranges(stand: &Stand, url: &str) {
    let get = |name: &'static str, value: String| {
        let call = stand.client.get(format!("{}{url}", stand.server.base));
        call.header(name, value).send()
    };
    let part = get("range", "bytes=2-4".to_owned()).await.unwrap();
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(part.headers()["content-range"], "bytes 2-4/10");
    let tag = part.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(part.bytes().await.unwrap().as_ref(), b"234");
    let beyond = get("range", "bytes=10-".to_owned()).await.unwrap();
    assert_eq!(beyond.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    let known = get("if-none-match", tag).await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    let head = stand.client.head(format!("{}{url}", stand.server.base));
    let head = head.send().await.unwrap();
    assert_eq!(head.status(), StatusCode::OK);
    assert_eq!(head.headers()["content-length"], "10");
}

async fn forgeries(stand: &Stand, url: &str, stranger: &str) {
    let altered = [
        url.replace("image%2Fjpeg", "text%2Fhtml"),
        url.replace("/messages/", "/letters/"),
        url.replace("expires=", "expires=9"),
        url.replace("signature=", "signature=A"),
        url.replace("bucket=archive", "bucket=other"),
        format!("{url}&more=1"),
    ];
    for altered in altered {
        assert_ne!(altered, url);
        let (status, refused) = json_of(stand.fetch(&altered).await).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{altered}");
        assert_eq!(problem(&refused), "bad-signature");
    }
    // What is for reading is not for writing, and what is for one is not for another.
    let written = stand.put_to(url, "image/jpeg", b"x".to_vec()).await;
    assert_eq!(written.status(), StatusCode::FORBIDDEN);
    let call = stand.client.get(format!("{}{url}", stand.server.base));
    let other = call.bearer_auth(stranger).send().await.unwrap();
    assert_eq!(other.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_upload_is_what_was_asked_for_or_nothing() {
    let stand = Stand::new("holdthatthought", &["--upload-mb", "1"]);
    let (ann, _, _) = family(&stand).await;
    let ask = |prefix: &'static str, kind: &'static str, size: u64| {
        let body = json!({"contentType": kind, "size": size});
        let (stand, ann) = (&stand, &ann);
        async move { stand.post(&format!("files/{prefix}"), ann, body).await }
    };
    assert_eq!(
        ask("pictures", "text/html", 1).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        ask("pictures", "image/png", 1_000_001).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        ask("nowhere", "image/png", 1).await.0,
        StatusCode::METHOD_NOT_ALLOWED,
        "it could be the name of a file"
    );
    let body = json!({"contentType": "image/png"});
    let (status, _) = stand.post("files/pictures", "", body).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);

    let (_, upload) = ask("pictures", "image/png", 10).await;
    let url = upload["upload"]["url"].as_str().unwrap();
    let wrong = stand.put(&upload, "text/html", b"<p>".to_vec()).await;
    assert_eq!(wrong.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let large = stand.put(&upload, "image/png", vec![0; 1_000_001]).await;
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    // A body of unknown length is cut off where it becomes too large.
    let chunks = (0..40).map(|_| Ok::<_, std::io::Error>(vec![0_u8; 65_536]));
    let body = reqwest::Body::wrap_stream(futures::stream::iter(chunks));
    let call = stand.client.put(format!("{}{url}", stand.server.base));
    let streamed = call
        .header("content-type", "image/png")
        .body(body)
        .send()
        .await;
    assert!(streamed.is_err() || streamed.unwrap().status() == StatusCode::PAYLOAD_TOO_LARGE);
    let altered = url.replace("size=10", "size=90");
    assert_ne!(altered, url);
    let forged = stand.put_to(&altered, "image/png", b"x".to_vec()).await;
    assert_eq!(forged.status(), StatusCode::FORBIDDEN);
    let elsewhere = url.replace("/temp/", "/letters/");
    let forged = stand.put_to(&elsewhere, "image/png", b"x".to_vec()).await;
    assert_eq!(forged.status(), StatusCode::FORBIDDEN);
    let unsigned = url.split('?').next().unwrap();
    let unsigned = stand.put_to(unsigned, "image/png", b"x".to_vec()).await;
    assert_eq!(unsigned.status(), StatusCode::FORBIDDEN);
    assert!(stand.on_disk().is_empty(), "nothing half-written stays");

    // A record takes a picture over, which is then for everybody of the family.
    let (_, upload) = ask("pictures", "image/png", 700_000).await;
    let sent = stand.put(&upload, "image/png", vec![1; 700_000]).await;
    assert_eq!(sent.status(), StatusCode::CREATED);
    let picture = json!({"picture": upload["name"]});
    let (status, media) = stand.post("media", &ann, picture).await;
    assert_eq!(status, StatusCode::CREATED, "{media}");
    let key = media["picture"].as_str().unwrap();
    assert!(
        key.starts_with("media/pictures/") && key.ends_with(".png"),
        "{key}"
    );
    assert_eq!(stand.on_disk(), [key]);
    let again = stand.put(&upload, "image/png", b"other".to_vec()).await;
    assert_ne!(again.status(), StatusCode::CREATED);
    assert_eq!(stand.on_disk(), [key]);
    let eve = stand.token("eve", &[]);
    let (status, granted) = stand.get(&format!("files/{key}"), &eve).await;
    assert_eq!(status, StatusCode::OK);
    let picture = stand.fetch(granted["url"].as_str().unwrap()).await;
    assert_eq!(picture.bytes().await.unwrap().len(), 700_000);
}

/// A body of unknown length.
fn chunked(bytes: usize) -> reqwest::Body {
    let chunks = (0..bytes).map(|_| Ok::<_, std::io::Error>(vec![b'x']));
    reqwest::Body::wrap_stream(futures::stream::iter(chunks))
}

#[tokio::test]
async fn an_upload_has_the_size_that_was_announced() {
    let stand = Stand::new("holdthatthought", &[]);
    let (ann, _, _) = family(&stand).await;
    let asked = json!({"contentType": "image/png", "size": 10});
    let (_, upload) = stand.post("files/messages", &ann, asked).await;
    assert_eq!(upload["upload"]["size"], 10);
    let url = upload["upload"]["url"].as_str().unwrap();
    for (bytes, status) in [(9, 400), (11, 413), (0, 400)] {
        let sent = stand.put_to(url, "image/png", vec![0; bytes]).await;
        assert_eq!(sent.status(), status, "{bytes}");
        let call = stand.client.put(format!("{}{url}", stand.server.base));
        let call = call.header("content-type", "image/png");
        let sent = call.body(chunked(bytes)).send().await.unwrap();
        assert_eq!(sent.status(), status, "{bytes} in chunks");
    }
    assert!(stand.on_disk().is_empty(), "nothing half-written stays");
    let call = stand.client.put(format!("{}{url}", stand.server.base));
    let call = call.header("content-type", "image/png");
    let sent = call.body(chunked(10)).send().await.unwrap();
    assert_eq!(sent.status(), 201);
    // Who does not say how many there are has the largest there may be.
    let asked = json!({"contentType": "image/png"});
    let (_, upload) = stand.post("files/messages", &ann, asked).await;
    assert_eq!(upload["upload"]["size"], 100_000_000);
    let sent = stand.put(&upload, "image/png", vec![0; 3]).await;
    assert_eq!(sent.status(), 201);
}

#[tokio::test]
async fn a_url_takes_one_upload() {
    let mut stand = Stand::new("holdthatthought", &[]);
    let (ann, _, _) = family(&stand).await;
    let ask = || json!({"contentType": "image/png", "size": 3});
    let (_, upload) = stand.post("files/temp", &ann, ask()).await;
    // Of many at once, one.
    let bodies = (0..8_u8).map(|number| stand.put(&upload, "image/png", vec![number; 3]));
    let sent = futures::future::join_all(bodies).await;
    let statuses: Vec<u16> = sent.iter().map(|sent| sent.status().as_u16()).collect();
    let won = statuses.iter().position(|status| *status == 201).unwrap();
    let others = statuses.iter().filter(|status| **status == 409).count();
    assert_eq!(others, 7, "{statuses:?}");
    let name = upload["name"].as_str().unwrap();
    let refused = |sent: Response| async move {
        let (status, refused) = json_of(sent).await;
        assert_eq!(status, StatusCode::CONFLICT, "{refused}");
        assert_eq!(problem(&refused), "uploaded");
    };
    refused(stand.put(&upload, "image/png", vec![9; 3]).await).await;
    // Neither once an item has it, nor after a restart.
    let (status, draft) = stand.post("Draft", &ann, json!({"fileKeys": [name]})).await;
    assert_eq!(status, StatusCode::CREATED, "{draft}");
    refused(stand.put(&upload, "image/png", vec![9; 3]).await).await;
    let (_, other) = stand.post("files/temp", &ann, ask()).await;
    assert_eq!(
        stand.put(&other, "image/png", vec![5; 3]).await.status(),
        201
    );
    stand.restart(&["holdthatthought"]);
    refused(stand.put(&upload, "image/png", vec![9; 3]).await).await;
    refused(stand.put(&other, "image/png", vec![9; 3]).await).await;
    let (_, granted) = stand.get(&format!("files/{name}"), &ann).await;
    let bytes = stand.fetch(granted["url"].as_str().unwrap()).await;
    assert_eq!(bytes.bytes().await.unwrap().as_ref(), [won as u8; 3]);
}

/// Only a write to the table itself makes the first administrator.
async fn with_an_administrator(data: &Path) {
    let store: Arc<dyn Store> = Arc::new(stage::engine(&data.join("store")));
    let design = stage::design("holdthatthought", "HoldThatThought");
    Partita::open(design, store.clone()).await.unwrap();
    let root = json!({"PK": "USER#root", "SK": "PROFILE", "userId": "root", "email": "root@example.org", "displayName": "Root", "groups": ["admin"], "isProfilePrivate": false, "notifyOnMessage": true, "notifyOnComment": true, "mediaUploadCount": 0, "status": "active", "createdAt": "2025-01-01T00:00:00.000Z", "updatedAt": "2025-01-01T00:00:00.000Z"});
    let root = partita_core::plain::map_from_json(root.as_object().unwrap().clone()).unwrap();
    let put = PutItem::new("HoldThatThought".parse().unwrap(), root);
    store.put_item(put, ReturnValues::None).await.unwrap();
}

#[tokio::test]
async fn the_scans_of_a_published_letter_are_the_letters() {
    let data = tempfile::tempdir().unwrap();
    with_an_administrator(data.path()).await;
    let stand = Stand::on(data, "holdthatthought", &[]);
    let (ann, bob, _) = family(&stand).await;
    let root = stand.token("root", &[]);
    let scan = stand.upload("temp", &ann, "application/pdf", b"%PDF").await;
    let (status, draft) = stand.post("Draft", &ann, json!({"fileKeys": [scan]})).await;
    assert_eq!(status, StatusCode::CREATED, "{draft}");
    let path = format!("Draft/{}", draft["draftId"].as_str().unwrap());
    let text = json!({"extractedData": {"date": "1923-05-01", "title": "To Ida", "author": "Max", "content": "Dear Ida"}});
    for (action, caller, given) in [
        ("process", &root, json!({})),
        ("extract", &root, text),
        ("publish", &ann, json!({})),
    ] {
        let (status, done) = stand.post(&format!("{path}/{action}"), caller, given).await;
        assert_eq!(status, StatusCode::OK, "{action}: {done}");
    }
    let (_, letter) = stand.get("Letter/1923-05-01", &bob).await;
    let name = scan.replace("temp/", "letters/");
    assert_eq!(letter["fileKeys"], json!([name]));
    assert_eq!(stand.on_disk(), [name.as_str()], "moved, and not copied");
    let (status, granted) = stand.get(&format!("files/{name}"), &bob).await;
    assert_eq!(status, StatusCode::OK, "{granted}");
    let bytes = stand.fetch(granted["url"].as_str().unwrap()).await;
    assert_eq!(bytes.bytes().await.unwrap().as_ref(), b"%PDF");
    let gone = stand.get(&format!("files/{scan}"), &ann).await;
    assert_eq!(gone.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_layout_of_the_page_holds_for_photos_and_drafts() {
    let stand = Stand::new("holdthatthought", &[]);
    let (ann, bob, _) = family(&stand).await;
    let photo = stand
        .upload("profilePhotos", &ann, "image/webp", b"photo")
        .await;
    let changes = json!({"photoUrl": photo});
    let changed = stand
        .call(Method::PATCH, "UserProfile/ann", &ann, Some(changes))
        .await;
    let (status, changed) = json_of(changed).await;
    assert_eq!(status, StatusCode::OK, "{changed}");
    let key = changed["photoUrl"].as_str().unwrap();
    assert_eq!(key, photo.replace("temp/", "profile-photos/"));
    assert_eq!(
        stand.get(&format!("files/{key}"), &bob).await.0,
        StatusCode::OK
    );
    let redirect = Client::builder().redirect(reqwest::redirect::Policy::none());
    let redirect = redirect.build().unwrap();
    let url = format!(
        "{}/holdthatthought/files/{key}?redirect=true",
        stand.server.base
    );
    let there = redirect.get(url).bearer_auth(&bob).send().await.unwrap();
    assert_eq!(there.status(), StatusCode::TEMPORARY_REDIRECT);

    // Scans of a draft stay under temp/, and callers who may read the draft read them.
    let scan = stand.upload("temp", &ann, "application/pdf", b"%PDF").await;
    let (status, draft) = stand.post("Draft", &ann, json!({"fileKeys": [scan]})).await;
    assert_eq!(status, StatusCode::CREATED, "{draft}");
    assert_eq!(draft["fileKeys"], json!([scan]));
    let admin = stand.token("root", &["--group", "admin"]);
    assert_eq!(
        stand.get(&format!("files/{scan}"), &bob).await.0,
        StatusCode::NOT_FOUND
    );
    let seen = stand.get(&format!("files/{scan}"), &ann).await;
    assert_eq!(seen.0, StatusCode::OK, "{admin}");
}

#[tokio::test]
async fn an_image_is_where_its_record_says() {
    let stand = Stand::new("figureforge", &[]);
    let ann = stand.token(ANN, &[]);
    let user = json!({"user_id": ANN, "email": "ann@example.org"});
    assert_eq!(stand.post("User", &ann, user).await.0, StatusCode::CREATED);
    let png = json!({"contentType": "image/png"});
    let (status, _) = stand.post("files/user", &ann, png).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "images are .jpg");

    let upload = stand.upload("user", &ann, "image/jpeg", b"image").await;
    let image = json!({"user_id": ANN, "url": upload, "prompt_json": {"prompt": "p", "negative_prompt": "n", "tags": []}, "provider": "x", "provider_model_id": "y", "cost_cents": 3});
    let (status, image) = stand.post("Image", &ann, image).await;
    assert_eq!(status, StatusCode::CREATED, "{image}");
    let (url, id) = (
        image["url"].as_str().unwrap(),
        image["image_id"].as_str().unwrap(),
    );
    assert_eq!(image["object"], *url);
    let parts: Vec<&str> = url.split('/').collect();
    let [users, owner, year, month, day, file] = parts[..] else {
        panic!("{url}");
    };
    assert_eq!((users, owner), ("users", ANN));
    assert_eq!((year.len(), month.len(), day.len()), (4, 2, 2));
    assert_eq!(file, format!("{id}.jpg"));
    assert_eq!(stand.on_disk(), [url]);

    // Callers who may see the image read it: only its owner while it is private, all when public.
    let eve = stand.token("0e0e0e0e-0e0e-4e0e-8e0e-0e0e0e0e0e0e", &[]);
    let path = format!("files/{url}");
    assert_eq!(stand.get(&path, &ann).await.0, StatusCode::OK);
    assert_eq!(stand.get(&path, &eve).await.0, StatusCode::NOT_FOUND);
    let public = json!({"public": true});
    let item = format!("Image/{id}");
    let changed = stand.call(Method::PATCH, &item, &ann, Some(public)).await;
    assert_eq!(changed.status(), StatusCode::OK);
    assert_eq!(stand.get(&path, &eve).await.0, StatusCode::OK);
    // Deleted softly it is not shown, and can come back.
    let deleted = stand.call(Method::DELETE, &item, &ann, None).await;
    assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    assert_eq!(stand.get(&path, &ann).await.0, StatusCode::NOT_FOUND);
    assert_eq!(stand.on_disk(), [url]);

    // A worker brings what it made to the job's image; an anonymous one is a teaser.
    let root = stand.token("0b0b0b0b-0b0b-4b0b-8b0b-0b0b0b0b0b0b", &["--role", "admin"]);
    let teaser = stand.upload("teaser", &root, "image/jpeg", b"teaser").await;
    let image = json!({"url": teaser, "public": true, "prompt_json": {"prompt": "p", "negative_prompt": "n", "tags": []}, "provider": "x", "provider_model_id": "y", "cost_cents": 0});
    let created = stand.call(Method::POST, "Image", &root, Some(image)).await;
    assert_eq!(created.status(), StatusCode::CREATED);
    let disk = stand.on_disk();
    assert!(
        disk.iter().any(|name| name.starts_with("public/teaser/")),
        "{disk:?}"
    );
}

#[tokio::test]
async fn uploads_that_nothing_names_are_counted() {
    let stand = Stand::new("holdthatthought", &["--uploads-per-caller", "2"]);
    let (ann, bob, _) = family(&stand).await;
    let asked = || json!({"contentType": "image/png", "size": 1});
    for _ in 0..2 {
        let (status, _) = stand.post("files/messages", &ann, asked()).await;
        assert_eq!(status, StatusCode::CREATED);
    }
    let call = stand.call(Method::POST, "files/messages", &ann, Some(asked()));
    let refused = call.await;
    let wait = refused.headers()["retry-after"]
        .to_str()
        .unwrap()
        .to_owned();
    let (status, refused) = json_of(refused).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(problem(&refused), "too-many-uploads");
    assert_eq!(refused["wait"].to_string(), wait);
    let (status, _) = stand.post("files/messages", &bob, asked()).await;
    assert_eq!(status, StatusCode::CREATED);
}

#[tokio::test]
async fn names_that_would_lead_elsewhere_lead_nowhere() {
    let stand = Stand::new("holdthatthought", &[]);
    let ann = stand.token("ann", &[]);
    for name in [
        "..%2F..%2Fsecret",
        "%2e%2e/%2e%2e/secret",
        "messages/..%2f..%2fsecret",
        "messages/%00",
        "messages%2F01.jpg",
        "..%5C..%5Csecret",
        "C:%5Cwindows",
        "%2Fetc%2Fpasswd",
        "messages//x.jpg",
        "messages/",
    ] {
        let (status, _) = stand.get(&format!("files/{name}"), &ann).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{name}");
        let url = format!(
            "/holdthatthought/files/{name}?bucket=archive&type=image%2Fpng&size=10&for=x&expires=9999999999&signature=AAAA"
        );
        let sent = stand.put_to(&url, "image/png", b"x".to_vec()).await;
        assert!(sent.status().is_client_error(), "{name}: {}", sent.status());
    }
    assert!(stand.on_disk().is_empty());
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
id    = "string"
by    = "string = caller on create"
title = "string"
file  = "string?, file at place"
place = ["string, virtual =", { is = "docs/{title}.png" }]
[entity.Doc.allow]
create = "signed-in"
"*"    = "by = caller"
[bucket.b]
name = "shelf"
[bucket.b.prefix]
docs = { path = "docs/" }
"#;

/// A directory has no place for `a/b` beside a file `a`, and none for a name of 300 letters. That is
/// the fault of the name, and not of the store.
#[tokio::test]
async fn names_that_a_directory_cannot_have_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let design = data.path().join("shelf.toml");
    std::fs::write(&design, SHELF).unwrap();
    let server = Server::start(data.path(), &[design.to_str().unwrap()]);
    let stand = Stand {
        design: "shelf",
        data,
        server,
        client: Client::new(),
    };
    let path = design.to_str().unwrap();
    let token = |user: &str| {
        let data = stand.data.path().to_str().unwrap();
        crate::server::token_for(path, &["--data", data], user)
    };
    let (ann, cat) = (token("ann"), token("cat"));
    let create = |id: &'static str, title: String, token: String| {
        let stand = &stand;
        async move {
            let file = stand.upload("docs", &token, "image/png", b"PNG").await;
            let doc = json!({"id": id, "title": title, "file": file});
            stand.post("Doc", &token, doc).await
        }
    };
    let cases = [
        ("d1", "t".to_owned(), &ann, true),
        ("d2", "t.png/u".to_owned(), &cat, false),
        ("d3", "w.png/u".to_owned(), &cat, true),
        ("d4", "w".to_owned(), &ann, false),
        ("d5", "t".to_owned(), &cat, false),
        ("d6", "x".repeat(300), &ann, false),
    ];
    for (id, title, token, is_good) in cases {
        let (status, answer) = create(id, title.clone(), token.clone()).await;
        let expected = if is_good {
            StatusCode::CREATED
        } else {
            StatusCode::UNPROCESSABLE_ENTITY
        };
        assert_eq!(status, expected, "{id}: {answer}");
        // That there is a stranger's file is not told.
        if !is_good && title.len() < 300 {
            let fault = json!({
                "entity": "Doc",
                "attribute": "file",
                "rule": "file",
                "detail": format!("cannot be at `docs/{title}.png`"),
            });
            assert_eq!(answer["faults"], json!([fault]), "{id}");
        }
    }
}

/// For ten minutes, unless whoever runs it says otherwise.
#[tokio::test]
async fn the_lifetime_of_urls_is_a_setting() {
    for (flags, seconds) in [
        (&[][..], 600),
        (&["--set", "SIGNED_URL_LIFETIME=2 minutes"][..], 120),
    ] {
        let stand = Stand::new("figureforge", flags);
        let ann = stand.token(ANN, flags);
        let before = partita_design::time::format_millis(now_millis());
        let asked = json!({"contentType": "image/jpeg"});
        let (status, upload) = stand.post("files/user", &ann, asked).await;
        assert_eq!(status, StatusCode::CREATED, "{upload}");
        let expires = upload["upload"]["expires"].as_str().unwrap();
        let of = |text: &str| partita_design::time::parse_millis(text).unwrap() / 1000;
        let lasts = of(expires) - of(&before);
        assert!((seconds..=seconds + 60).contains(&lasts), "{lasts} seconds");
    }
}

fn now_millis() -> i64 {
    use partita_store::Clock as _;
    partita_store::surroundings::SystemClock.now_millis()
}

#[tokio::test]
async fn signed_urls_can_be_bound_to_tokens() {
    let stand = Stand::new("holdthatthought", &["--bind-urls"]);
    let (ann, bob, _) = family(&stand).await;
    let asked = json!({"contentType": "image/png"});
    let (_, upload) = stand.post("files/pictures", &ann, asked).await;
    let unbound = stand.put(&upload, "image/png", b"x".to_vec()).await;
    assert_eq!(unbound.status(), StatusCode::FORBIDDEN);
    let url = upload["upload"]["url"].as_str().unwrap();
    for (token, status) in [(&bob, 403), (&ann, 201)] {
        let call = stand.client.put(format!("{}{url}", stand.server.base));
        let call = call.header("content-type", "image/png").bearer_auth(token);
        let sent = call.body("x").send().await.unwrap();
        assert_eq!(sent.status(), status);
        if status == 201 {
            let picture = json!({"picture": upload["name"]});
            let (_, media) = stand.post("media", &ann, picture).await;
            bound_to_read(&stand, media["picture"].as_str().unwrap(), &ann, &bob).await;
        }
    }
}

async fn bound_to_read(stand: &Stand, name: &str, owner: &str, other: &str) {
    let (_, granted) = stand.get(&format!("files/{name}"), owner).await;
    let url = granted["url"].as_str().unwrap();
    assert_eq!(stand.fetch(url).await.status(), StatusCode::FORBIDDEN);
    for (token, status) in [(other, 403), (owner, 200)] {
        let call = stand.client.get(format!("{}{url}", stand.server.base));
        let read = call.bearer_auth(token).send().await.unwrap();
        assert_eq!(read.status(), status);
    }
}
