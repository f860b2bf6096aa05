//! `plan` says what the server would do, wherever it is asked.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{partita, said};
use crate::files::{Stand, family};
use crate::server::Server;

/// A write that names an upload, one that names what nobody has uploaded, and one that lets a
/// file go.
#[tokio::test]
async fn of_files_it_says_the_same_three_ways() {
    let mut stand = Stand::new("holdthatthought", &[]);
    let (ann, ..) = family(&stand).await;
    let photo = |name: &str| json!({ "photoUrl": name });
    let first = stand
        .upload("profilePhotos", &ann, "image/png", b"one")
        .await;
    let taken = stand.call(Method::PATCH, "UserProfile/ann", &ann, Some(photo(&first)));
    assert_eq!(taken.await.status(), StatusCode::OK);
    let upload = stand
        .upload("profilePhotos", &ann, "image/png", b"two")
        .await;

    let update = ["plan", "holdthatthought", "update", "UserProfile", "ann"];
    let caller = ["--caller", "ann"];
    let (good, bad) = (photo(&upload).to_string(), photo("temp/x.png").to_string());
    let [good, bad] = [&good, &bad].map(|with| [&update[..], &["--with", with], &caller].concat());
    let gone = ["--with", r#"{"photoUrl": null}"#];
    let gone = [&update[..], &gone, &caller].concat();
    let all = [good, bad, gone];
    let beside = all
        .each_ref()
        .map(|words| said(&partita(stand.data.path(), words)));
    let server = ["--server", &stand.server.base];
    for (words, beside) in all.iter().zip(&beside) {
        let over = partita(stand.data.path(), &[words, &server[..]].concat());
        assert_eq!(said(&over), *beside, "{words:?}");
    }
    stand.server.end();
    for (words, beside) in all.iter().zip(&beside) {
        assert_eq!(
            said(&partita(stand.data.path(), words)),
            *beside,
            "{words:?}"
        );
    }
    let [
        (good, text, failure),
        (bad, _, refusal),
        (gone, released, _),
    ] = beside;
    assert_eq!(
        (good, bad, gone),
        (Some(0), Some(1), Some(0)),
        "{failure}{refusal}"
    );
    assert!(text.contains("profile-photos/"), "{text}");
    assert!(refusal.contains("photoUrl"), "{refusal}");
    assert!(released.contains("FILE#"), "{released}");
}

/// What is said behind the entity and what is said with `--with` are one identity.
#[test]
fn an_identity_that_contradicts_itself_is_refused() {
    let data = super::filled();
    for word in ["create", "upsert"] {
        let words = ["plan", "stories", word, "Story", "ann", "--caller", "ann"];
        let words = [
            &words[..],
            &["--with", r#"{"userId": "bob", "title": "Dune"}"#],
        ]
        .concat();
        let (code, _, refusal) = said(&partita(data.path(), &words));
        assert_eq!(code, Some(1), "{refusal}");
        assert!(
            refusal.contains("`userId` is `ann` behind `Story`"),
            "{refusal}"
        );
    }
}

/// A rule that a server has decided by is not cited from a file that says something else.
#[test]
fn a_rule_is_cited_from_the_design_that_is_served() {
    let data = super::filled();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stories.toml");
    let source = partita_design::shipped::find("stories").unwrap().source;
    let server = Server::start(data.path(), &["stories"]);
    let file_name = file.to_str().unwrap();
    let asked = [
        "can", file_name, "create", "Story", "ann", "--caller", "bob",
    ];
    let words = [&asked[..], &["--server", &server.base]].concat();
    for (text, cited) in [
        (source.to_owned(), "stories.toml:"),
        (
            format!("# Mine.\n{source}"),
            "the design that is served as `stories`:",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, said, _) = said(&partita(data.path(), &words));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(cited), "{said}");
    }
}
