//! `items`: everything that is stored, once, and never a secret.

use std::collections::BTreeMap;

use partita_design::{Design, shipped};
use reqwest::Client;
use serde_json::{Value as Json, json};

use super::{admin, filled, partita};
use crate::server::Server;

/// Asks for a page, which is the outcome in the last line, or what went wrong.
async fn page(server: &Server, design: &str, bearer: &str, request: &Json) -> Result<Json, Json> {
    let url = format!("{}/{design}/admin/items", server.base);
    let call = Client::new().post(url).bearer_auth(bearer).json(request);
    let answer = call.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200, "{request}");
    let text = answer.text().await.unwrap();
    let mut line: Json = serde_json::from_str(text.trim().lines().last().unwrap()).unwrap();
    match line.get("outcome").is_some() {
        true => Ok(line["outcome"].take()),
        false => Err(line["failure"].take()),
    }
}

/// Every item that a question finds, page by page.
async fn all(server: &Server, design: &str, bearer: &str, request: Json) -> Vec<Json> {
    let mut request = request;
    let mut items = Vec::new();
    loop {
        let mut page = page(server, design, bearer, &request).await.unwrap();
        items.append(page["items"].as_array_mut().unwrap());
        match page["cursor"].as_str() {
            Some(cursor) => request["cursor"] = cursor.into(),
            None => return items,
        }
    }
}

/// A credential of the operator, by a link of the console.
async fn credential(server: &Server, data: &std::path::Path, design: &str) -> String {
    let output = partita(data, &["console", design]);
    let link = String::from_utf8(output.stdout).unwrap();
    let (_, secret) = link.split_once("#link=").unwrap();
    let secret = secret.split('&').next().unwrap();
    let url = format!("{}/console/session", server.base);
    let call = Client::new().post(url).json(&json!({ "secret": secret }));
    let answer: Json = call.send().await.unwrap().json().await.unwrap();
    answer["credential"].as_str().unwrap().to_owned()
}

fn compiled(name: &str) -> Design {
    let source = shipped::find(name).unwrap().source;
    partita_design::check(source, &|_| None).0.unwrap()
}

/// In small pages and in large ones, by record and by partition: the same items, each once.
#[tokio::test]
async fn pages_have_every_item_once() {
    let data = filled();
    let server = Server::start(data.path(), &["stories"]);
    let bearer = admin(data.path(), "stories");
    let mut partitions: BTreeMap<String, usize> = BTreeMap::new();
    for record in &compiled("stories").records {
        let name = &record.name;
        let large = json!({ "record": name, "limit": 100 });
        let large = all(&server, "stories", &bearer, large).await;
        let small = json!({ "record": name, "limit": 7 });
        let small = all(&server, "stories", &bearer, small).await;
        assert_eq!(large, small, "{name}");
        assert!(large.iter().all(|one| one["record"] == **name));
        for one in &large {
            let key = one["keys"]["PK"].as_str().unwrap().to_owned();
            *partitions.entry(key).or_default() += 1;
            let named = json!({ "record": name, "identity": one["identity"] });
            let found = page(&server, "stories", &bearer, &named).await.unwrap();
            assert_eq!(found["items"], json!([one]));
        }
    }
    assert!(partitions.len() > 10);
    for (value, count) in partitions {
        let request = json!({ "partition": value, "limit": 3 });
        let found = all(&server, "stories", &bearer, request).await;
        assert_eq!(found.len(), count, "{value}");
        let sort = |one: &Json| one["keys"]["SK"].as_str().unwrap().to_owned();
        assert!(found.is_sorted_by_key(sort), "{value}");
    }
}

/// A number is made of the items that it is said to be made of.
#[tokio::test]
async fn sources_come_to_their_number() {
    let data = tempfile::tempdir().unwrap();
    assert!(partita(data.path(), &["demo", "storyhub"]).status.success());
    let server = Server::start(data.path(), &["storyhub"]);
    let bearer = admin(data.path(), "storyhub");
    let stories = all(&server, "storyhub", &bearer, json!({ "record": "Story" })).await;
    let mut upvotes = 0;
    for story in stories {
        let request = json!({ "record": "Story", "identity": story["identity"], "number": "stats.totalUpvotes", "limit": 100 });
        let found = page(&server, "storyhub", &bearer, &request).await.unwrap();
        assert_eq!(found["hasMore"], false);
        let added = found["items"].as_array().unwrap().iter();
        let sum: u64 = added.filter_map(|one| one["adds"].as_u64()).sum();
        assert_eq!(json!(sum), story["attributes"]["stats"]["totalUpvotes"]);
        upvotes += sum;
        let request = json!({ "record": "Story", "identity": story["identity"], "of": "ChapterNode", "by": "story", "limit": 100 });
        let again = page(&server, "storyhub", &bearer, &request).await.unwrap();
        let count = |page: &Json| page["items"].as_array().unwrap().len();
        assert_eq!(count(&again), count(&found));
    }
    assert!(upvotes > 0);
}

/// Secrets are shown to nobody, the operator included, nor found by their values.
#[tokio::test]
async fn no_page_has_a_secret() {
    let data = tempfile::tempdir().unwrap();
    assert!(partita(data.path(), &["demo", "mediahub"]).status.success());
    let server = Server::start(data.path(), &["mediahub"]);
    let bearer = credential(&server, data.path(), "mediahub").await;
    let design = compiled("mediahub");
    let mut secrets = 0;
    for record in &design.records {
        let found = json!({ "record": record.name, "limit": 100 });
        let found = all(&server, "mediahub", &bearer, found).await;
        for secret in record.attributes.iter().filter(|one| one.secret) {
            secrets += 1;
            let pointer = format!("/attributes/{}", secret.name.replace('.', "/"));
            for one in &found {
                assert_eq!(one.pointer(&pointer), None, "{one}");
            }
            let request = json!({ "record": record.name, "having": { &*secret.name: "x" } });
            let failure = page(&server, "mediahub", &bearer, &request).await;
            let failure = failure.unwrap_err();
            assert_eq!(failure["faults"][0]["attribute"], *secret.name, "{failure}");
        }
    }
    assert!(secrets > 3, "{secrets}");
}

const TEAMS: &str = r#"
design = "teams"

[table]
name = "teams"
key  = ["PK", "SK"]

[caller]
administrators = "caller.role = 'admin'"

[entity.Team]
PK = "TEAM#{teamId}"
SK = "TEAM"

[entity.Team.attributes]
teamId  = "string"
members = "count of Member by team"
total   = "sum of salary of Member by team"

[entity.Team.allow]
"*" = "caller.role = 'admin'"

[entity.Member]
PK = "MEMBER#{memberId}"
SK = "MEMBER"

[entity.Member.attributes]
memberId = "string"
teamId   = "string"
salary   = "int, secret"
formerId = "string, secret"

[entity.Member.refs]
team   = "Team"
former = "Team(teamId = formerId), unchecked"

[entity.Member.allow]
"*" = "caller.role = 'admin'"
"#;

/// Who is shown what adds how much to a number, or which items refer to one, learns what these are
/// made of.
#[tokio::test]
async fn no_number_and_no_ref_shows_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("teams.toml");
    std::fs::write(&file, TEAMS).unwrap();
    let file = file.to_str().unwrap();
    let server = Server::start(&data, &[file]);
    let bearer = admin(&data, file);
    for (path, body) in [
        ("Team", json!({ "teamId": "red" })),
        (
            "Member",
            json!({ "memberId": "ann", "teamId": "red", "salary": 4711, "formerId": "red" }),
        ),
    ] {
        let url = format!("{}/teams/{path}", server.base);
        let call = Client::new().post(url).bearer_auth(&bearer).json(&body);
        assert_eq!(call.send().await.unwrap().status(), 201);
    }
    let red = |more: Json| {
        let mut request = json!({ "record": "Team", "identity": ["red"] });
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request
    };
    for (more, is_shown) in [
        (json!({ "number": "members" }), true),
        (json!({ "number": "total" }), false),
        (json!({ "of": "Member", "by": "team" }), true),
        (json!({ "of": "Member", "by": "former" }), false),
    ] {
        let found = page(&server, "teams", &bearer, &red(more.clone())).await;
        assert_eq!(found.is_ok(), is_shown, "{more}: {found:?}");
        assert!(!format!("{found:?}").contains("4711"), "{found:?}");
    }
}

/// A cursor is good for its question, and a page has a bound.
#[tokio::test]
async fn questions_that_make_no_sense_are_refused() {
    let data = filled();
    let server = Server::start(data.path(), &["stories"]);
    let bearer = admin(data.path(), "stories");
    let first = json!({ "record": "Story", "limit": 1 });
    let first = page(&server, "stories", &bearer, &first).await.unwrap();
    let cursor = &first["cursor"];
    assert!(cursor.is_string(), "{first}");
    for request in [
        json!({ "record": "Node", "cursor": cursor }),
        json!({ "record": "Story", "having": { "title": "x" }, "cursor": cursor }),
        json!({ "record": "Story", "cursor": "made up" }),
        json!({ "record": "None" }),
        json!({ "record": "Story", "limit": 0 }),
        json!({ "record": "Story", "limit": 101 }),
        json!({ "record": "Story", "identity": ["ann"] }),
        json!({ "record": "Story", "having": { "none": "1" } }),
        json!({ "record": "Story", "identity": ["ann", "1"], "of": "Node" }),
        json!({ "partition": "x", "table": "none" }),
        json!({}),
    ] {
        let refused = page(&server, "stories", &bearer, &request).await;
        assert!(refused.is_err(), "{request}: {refused:?}");
    }
}
