//! Clients that `partita client typescript` writes: they compile under the strictest flags, and small
//! applications do with them what people do, in Node.js and in a browser.
//!
//! `clients/typescript` has the applications.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use partita_design::shipped;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::accounts::binary::Logged;
use crate::browser::webdriver::Browser;
use crate::server::{BINARY, token_for};

/// The script's way of saying that Node.js is missing.
const MISSING: i32 = 3;

/// What the moderators and workers of `figureforge` are called there.
const USERS: [(&str, &str); 3] = [
    ("ann", "00000000-0000-4000-8000-00000000000a"),
    ("bob", "00000000-0000-4000-8000-00000000000b"),
    ("admin", "00000000-0000-4000-8000-0000000000ad"),
];

#[tokio::test(flavor = "multi_thread")]
async fn applications_compile_and_run() {
    let Some(compiled) = Compiled::with_applications() else {
        return;
    };
    let page = Page::of(compiled.out()).await;
    let data = tempfile::tempdir().unwrap();
    let data = data.path().join("data");
    let mediahub = Path::new("mediahub");
    let others = shipped::all().iter().map(|shipped| shipped.name);
    let mut flags: Vec<&str> = others.filter(|name| *name != "mediahub").collect();
    flags.extend(["--durability", "buffered", "--cors-origin", &page.origin]);
    let server = Logged::of_design(mediahub, &data, &flags);
    let callers = callers(&server, &data);

    let output = Command::new("node")
        .arg(root().join("clients/typescript/node.js"))
        .arg(compiled.out())
        .arg(callers.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));

    let Some(browser) = Browser::start().await else {
        return;
    };
    browser.open(&page.origin).await;
    let run = "
        const [callers, done] = arguments;
        import('/storyhub.app.js')
            .then((app) => app.run(callers))
            .then(() => done('done'), (error) => done(String(error)));";
    let outcome = browser.run_async(run, &[callers]).await;
    assert_eq!(outcome, "done");
    browser.stop().await;
}

/// A folder with the clients of all shipped designs, compiled together with their applications.
struct Compiled(TempDir);

impl Compiled {
    /// None where there is nothing to compile with.
    fn with_applications() -> Option<Compiled> {
        let folder = tempfile::tempdir().unwrap();
        let applications = std::fs::read_dir(root().join("clients/typescript")).unwrap();
        for file in applications.map(|file| file.unwrap().path()) {
            let name = file.file_name().unwrap().to_str().unwrap();
            if name.ends_with(".ts") || name == "tsconfig.json" {
                std::fs::copy(&file, folder.path().join(name)).unwrap();
            }
        }
        let hostile = root().join("clients/typescript/hostile.toml");
        let designs = shipped::all().iter().map(|one| (one.name, one.name));
        for (name, design) in designs.chain([("hostile", hostile.to_str().unwrap())]) {
            let client = partita(&["client", "typescript", design]);
            assert!(client.status.success(), "{}", said(&client));
            let file = folder.path().join(format!("{name}.ts"));
            std::fs::write(file, client.stdout).unwrap();
        }
        let compiled = Command::new(root().join("scripts/clients"))
            .arg("typescript")
            .arg(folder.path())
            .output()
            .unwrap();
        if compiled.status.code() == Some(MISSING) && std::env::var_os("CI").is_none() {
            // Past the capture of the test harness, which shows nothing of a test that passes.
            let _ = writeln!(std::io::stderr(), "skipped: {}", said(&compiled).trim());
            return None;
        }
        assert!(compiled.status.success(), "{}", said(&compiled));
        // What it needs of the world is named: Node.js must not take it for older modules.
        std::fs::write(
            folder.path().join("out/package.json"),
            r#"{"type":"module"}"#,
        )
        .unwrap();
        Some(Compiled(folder))
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }
}

/// A file of a client is held against its design.
#[test]
fn a_stale_client_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stories.ts");
    let client = partita(&["client", "typescript", "stories"]);
    std::fs::write(&file, &client.stdout).unwrap();
    let check = |design| {
        partita(&[
            "client",
            "typescript",
            design,
            "--check",
            file.to_str().unwrap(),
        ])
    };
    assert!(check("stories").status.success());
    let stale = check("storyhub");
    assert_eq!(stale.status.code(), Some(1));
    let said = String::from_utf8(stale.stderr).unwrap();
    assert!(
        said.contains("write it again with `partita client typescript storyhub >"),
        "{said}"
    );
}

/// Whoever calls, and where.
fn callers(server: &Logged, data: &Path) -> Json {
    // The address of a design.
    let (url, _) = server.base.rsplit_once('/').unwrap();
    let flags = ["--data", data.to_str().unwrap(), "--role", "admin"];
    let tokens = |design: &str, user: &dyn Fn(&(&'static str, &'static str)) -> &'static str| {
        let tokens = USERS.iter().map(|one| {
            let flags = if one.0 == "admin" {
                &flags[..]
            } else {
                &flags[..2]
            };
            (one.0.to_owned(), token_for(design, flags, user(one)).into())
        });
        tokens.collect::<serde_json::Map<String, Json>>()
    };
    let mut callers = Json::Object(tokens("storyhub", &|one| one.0));
    callers["url"] = json!(url);
    callers["log"] = json!(data.with_extension("log"));
    callers["stories"] = tokens("stories", &|one| one.0).into();
    callers["holdthatthought"] = tokens("holdthatthought", &|one| one.0).into();
    callers["figureforge"] = tokens("figureforge", &|one| one.1).into();
    callers
}

/// A page with compiled applications, which is not of the server's origin.
struct Page {
    origin: String,
}

impl Page {
    async fn of(folder: PathBuf) -> Page {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(async move |uri: Uri| file(&folder, uri.path()));
        tokio::spawn(partita_api::serve(
            listener,
            partita_api::server::service(router),
            partita_api::Limits::default(),
            std::future::pending(),
        ));
        Page { origin }
    }
}

fn file(folder: &Path, path: &str) -> Response {
    let name = path.trim_start_matches('/');
    if name.is_empty() {
        let page = "<!doctype html><link rel=icon href=data:,><title>An application</title>";
        return axum::response::Html(page).into_response();
    }
    match std::fs::read(folder.join(name)) {
        Ok(module) => ([(header::CONTENT_TYPE, "text/javascript")], module).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

fn partita(arguments: &[&str]) -> Output {
    Command::new(BINARY).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(error)
    )
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
