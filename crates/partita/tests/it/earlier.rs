//! Data directories that earlier versions wrote: every later version verifies them, takes them over
//! and serves them. `tests/fixtures/README.md` has how they were made.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use partita_design::{Design, shipped};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::server::{BINARY, Server, token_for};

/// A data directory of an earlier version, unpacked.
pub(crate) struct Earlier {
    _folder: TempDir,
    /// The data directory.
    pub(crate) data: PathBuf,
    /// The queries that were printed with it, and a write.
    asked: Json,
}

impl Earlier {
    pub(crate) fn unpack(version: &str, design: &str) -> Earlier {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let from = |suffix: &str| fixtures.join(version).join(format!("{design}.{suffix}"));
        let folder = tempfile::tempdir().unwrap();
        let unpacked = Command::new("tar")
            .arg("-xzf")
            .arg(from("tar.gz"))
            .arg("-C")
            .arg(folder.path())
            .status()
            .unwrap();
        assert!(unpacked.success());
        let asked = std::fs::read(from("json")).unwrap();
        Earlier {
            data: folder.path().join(design),
            _folder: folder,
            asked: serde_json::from_slice(&asked).unwrap(),
        }
    }
}

fn partita(data: &Path, words: &[&str]) -> Output {
    Command::new(BINARY)
        .args(words)
        .arg("--data")
        .arg(data)
        .env_remove("TABLE_NAME")
        .output()
        .unwrap()
}

/// Holds everything that is derived against its sources.
fn verify(design: &str, data: &Path) {
    let verified = partita(data, &["verify", design]);
    assert!(verified.status.success(), "{design}: {verified:#?}");
}

/// Version 0.1.0 recorded no design, so that its data are not served before they are taken over.
fn take_over(design: &str, data: &Path) {
    let refused = partita(data, &["serve", design, "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("`partita adopt DESIGN --start` takes the table over"),
        "{said}"
    );
    for words in [
        &["adopt", design][..],
        &["adopt", design, "--start"],
        &["history", design],
    ] {
        let output = partita(data, words);
        assert!(output.status.success(), "{words:?}: {output:#?}");
    }
}

/// A request of the caller in the fixture.
fn request(
    (server, design, data): (&Server, &str, &Path),
    (method, path): (Method, &str),
    asked: &Json,
) -> RequestBuilder {
    let request = Client::new().request(method, format!("{}{path}", server.base));
    let Some(caller) = asked["caller"].as_str() else {
        return request;
    };
    let mut flags = vec!["--data", data.to_str().unwrap()];
    flags.extend(
        asked["role"]
            .as_str()
            .iter()
            .flat_map(|role| ["--role", role]),
    );
    request.bearer_auth(token_for(design, &flags, caller))
}

/// Whether time alone takes rows out of a pattern's result.
fn can_expire(design: &Design, pattern: &str) -> bool {
    let pattern = design.find_pattern(pattern).unwrap();
    let mut records = pattern.returns.iter().map(|record| &design[*record]);
    records.any(|record| record.is_entity() && record.expiry().is_some())
}

async fn opens(version: &str, name: &str) {
    let earlier = Earlier::unpack(version, name);
    let data = earlier.data.as_path();
    verify(name, data);
    take_over(name, data);

    let server = Server::start(data, &[name]);
    let place = (&server, name, data);
    let source = shipped::find(name).unwrap().source;
    let design = partita_design::check(source, &|_| None).0.unwrap();
    for query in earlier.asked["queries"].as_array().unwrap() {
        let pattern = query["pattern"].as_str().unwrap();
        let path = format!("/{name}/query/{pattern}");
        let request = request(place, (Method::GET, &path), query);
        let answer = request.query(&query["parameters"]).send().await.unwrap();
        let status = answer.status().as_u16();
        let answer: Json = answer.json().await.unwrap();
        let rows = match answer["items"].as_array() {
            Some(items) => items.len(),
            // A pattern for one item answers with the item itself.
            None => usize::from(status == 200),
        };
        if can_expire(&design, pattern) {
            assert!([200, 404].contains(&status), "{query}: {answer:#}");
        } else {
            assert_eq!(rows as u64, query["rows"], "{query}: {answer:#}");
        }
    }

    let write = &earlier.asked["write"];
    let method: Method = write["method"].as_str().unwrap().parse().unwrap();
    let mut request = request(place, (method, write["path"].as_str().unwrap()), write);
    if let Some(body) = write.get("body") {
        request = request.json(body);
    }
    let answer = request.send().await.unwrap();
    assert!(
        answer.status().is_success(),
        "{}",
        answer.text().await.unwrap()
    );
    assert_eq!(server.stop(), Some(0));
    verify(name, data);
}

/// A test for each design, so that each is named when it fails.
macro_rules! of_version_0_1_0 {
    ($($design:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $design() {
            opens("0.1.0", stringify!($design)).await;
        }
    )*};
}

of_version_0_1_0! { stories storyhub mediahub holdthatthought figureforge }
