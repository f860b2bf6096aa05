//! The shell blocks of guides, run as printed, each guide against a server of its own.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::accounts::binary::Logged;
use crate::readme::{answers, blocks, root, said};
use crate::server::Server;

/// Runs a guide whose first block starts a server; gives what the others print.
fn run(guide: &str, design: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs").join(guide)).unwrap();
    let shell = blocks(&page, "sh");
    let (start, client) = shell.split_first().unwrap();
    assert_eq!(*start, format!("cargo run --release -- serve {design}"));
    let answers = answers(guide, client, &[design]).unwrap_or_default();
    answers.lines().map(str::to_owned).collect()
}

#[test]
fn files() {
    if let [upload, .., text] = &run("files.md", "holdthatthought")[..] {
        assert!(upload.contains("\"upload\":{"), "{upload}");
        assert_eq!(text, "Hello!");
    }
}

/// A newcomer signs up, finds the link in the log, signs in, and uploads something.
#[test]
fn accounts() {
    let page = std::fs::read_to_string(root().join("docs/accounts.md")).unwrap();
    let shell = blocks(&page, "sh");
    let (start, client) = shell.split_first().unwrap();
    assert_eq!(
        start,
        "cargo run --release -- serve mediahub 2> partita.log"
    );
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("partita");
    let server = Logged::of_design(Path::new("mediahub"), &data, &[]);
    let said = said(client, folder.path(), &server.base);
    let answers: Vec<Json> = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let [_, album, media, sessions] = &answers[..] else {
        panic!("{said}");
    };
    assert_eq!(
        (&album["title"], &media["type"]),
        (&"Summer".into(), &"image".into())
    );
    assert_eq!(sessions["items"][0]["current"], true);
}

/// What the README beside each design says to begin with: ten requests, and what they need.
#[test]
fn designs() {
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    for design in partita_design::shipped::all() {
        let name = design.name;
        let page = root().join("designs").join(name).join("README.md");
        let shell = blocks(&std::fs::read_to_string(page).unwrap(), "sh");
        let (start, client) = shell.split_first().unwrap();
        let serve = format!("cargo run --release -- serve {name}");
        assert!(start.starts_with(&serve), "{start}");
        let folder = tempfile::tempdir().unwrap();
        // Commands look into `partita-data`; the page of accounts looks into the log.
        let has_log = start.ends_with("partita.log");
        let data = if has_log { "partita" } else { "partita-data" };
        let data = folder.path().join(data);
        let server = Logged::of_design(Path::new(name), &data, &[]);
        let requests = client.last().unwrap();
        assert!((1..=10).all(|number| requests.contains(&format!("# {number}. "))));
        let said = said(client, folder.path(), &server.base);
        let answers = said.lines().filter(|line| line.starts_with('{'));
        assert!(answers.count() >= 5, "{name}: {said}");
    }
}

#[test]
fn outbox() {
    let page = std::fs::read_to_string(root().join("docs/outbox.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let design = folder.path().join("shop.toml");
    std::fs::write(&design, &blocks(&page, "toml")[0]).unwrap();
    let shell = blocks(&page, "sh");
    let (start, client) = shell.split_first().unwrap();
    assert_eq!(*start, "cargo run --release -- serve shop.toml");
    let design = design.to_str().unwrap();
    let client: Vec<String> = client
        .iter()
        .map(|block| block.replace("shop.toml", design))
        .collect();
    let answers = answers("outbox.md", &client, &[design]).unwrap_or_default();
    if !answers.is_empty() {
        assert!(answers.contains("send:billing"), "{answers}");
        assert!(
            answers.contains("Order 17: paid, shop.Order.paid"),
            "{answers}"
        );
    }
}

#[test]
fn tokens() {
    if let [answer] = &run("tokens.md", "stories")[..] {
        assert_eq!(answer, "{\"items\":[]}");
    }
}

#[test]
fn first_steps() {
    let answers = run("first-steps.md", "storyhub").join("\n");
    if answers.is_empty() {
        return;
    }
    let (answers, plan) = answers.split_once("TransactWriteItems").unwrap();
    assert!(plan.starts_with(", 6 actions"), "{plan}");
    let answers: Vec<Json> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [.., voted, chapters, branches, story, told] = &answers[..] else {
        panic!("{answers:#?}");
    };
    assert_eq!(answers.len(), 11);
    assert_eq!(voted["voteType"], "UPVOTE");
    let chapter = |title: &str| -> &Json {
        let mut found = chapters["items"].as_array().unwrap().iter();
        found.find(|chapter| chapter["title"] == title).unwrap()
    };
    assert_eq!(chapter("Arrakis")["stats"]["upvotes"], 1);
    assert_eq!(chapter("Arrakis")["stats"]["childCount"], 1);
    assert_eq!(chapter("The worm")["depth"], 1);
    assert_eq!(
        branches["items"][0]["nodeId"],
        chapter("The worm")["nodeId"]
    );
    assert_eq!(story["stats"]["totalUpvotes"], 1);
    assert_eq!(story["stats"]["totalBranches"], 1);
    assert_eq!(story["stats"]["totalChapters"], 2);
    let mut kinds: Vec<&str> = Vec::new();
    for notification in told["items"].as_array().unwrap() {
        kinds.push(notification["type"].as_str().unwrap());
    }
    kinds.sort_unstable();
    assert_eq!(kinds, ["NEW_BRANCH", "UPVOTE"]);
}

/// The sections of the page are a design without a warning, and its requests do what it says.
#[test]
fn tutorial() {
    let page = std::fs::read_to_string(root().join("docs/tutorial.md")).unwrap();
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let design = folder.path().join("desk.toml");
    let text = blocks(&page, "toml").join("\n\n");
    std::fs::write(&design, &text).unwrap();
    let (_, found) = partita_design::check(&text, &|_| None);
    assert_eq!(found, []);

    let shell = blocks(&page, "sh");
    let (start, client) = shell.split_first().unwrap();
    assert_eq!(start, "cargo run --release -- serve desk.toml");
    let data = folder.path().join("partita-data");
    let server = Server::start(&data, &[design.to_str().unwrap()]);
    let said = said(client, folder.path(), &server.base);
    let (answers, commands) = said.split_once("TransactWriteItems").unwrap();
    let answers = answers.lines().filter(|line| !line.is_empty());
    let answers: Vec<Json> = answers
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [
        org,
        members,
        taken,
        unknown,
        cy,
        changed,
        refused,
        open,
        solved,
        versions,
        one,
        none,
        restored,
        again,
    ] = &answers[..]
    else {
        panic!("{said}");
    };
    assert_eq!(org["founder"], "ann");
    assert_eq!(members["items"][0]["role"], "admin");
    assert_eq!(
        (&taken["status"], &unknown["status"]),
        (&409.into(), &404.into())
    );
    assert_eq!(cy["role"], "customer");
    assert_eq!(changed["text"], "Blue flames. Now green ones.");
    assert_eq!(refused["status"], 403);
    assert_eq!(open["items"][0]["ticketId"], changed["ticketId"]);
    assert_eq!(solved["agent"], "bob");
    assert_eq!(versions["items"][0]["text"], "Blue flames.");
    assert_eq!((&one["open"], &one["solved"]), (&0.into(), &1.into()));
    assert_eq!(none["solved"], 0);
    assert_eq!(restored["status"], "solved");
    assert_eq!(again["solved"], 1);
    assert!(commands.contains("nothing drifted"), "{commands}");
}

/// Month two of an application: its commands run, and what was written is there after each of them.
#[test]
fn evolution() {
    let page = std::fs::read_to_string(root().join("docs/evolution.md")).unwrap();
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let design = folder.path().join("notes.toml");
    std::fs::write(&design, &blocks(&page, "toml")[0]).unwrap();
    let shell = blocks(&page, "sh");
    let (start, client) = shell.split_first().unwrap();
    assert_eq!(start, "cargo run --release -- serve notes.toml");
    let data = folder.path().join("partita-data");
    let server = Server::start(&data, &[design.to_str().unwrap()]);
    let said = said(client, folder.path(), &server.base);
    let answers = said.lines().filter(|line| line.starts_with('{'));
    let answers: Vec<Json> = answers
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [_, _, kept, switched, _, back, rated, changed, refused] = &answers[..] else {
        panic!("{said}");
    };
    let values = |page: &Json, name: &str| -> Vec<Json> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item[name].clone()).collect()
    };
    assert_eq!(values(kept, "stars"), [4.into(), Json::Null], "{kept}");
    assert_eq!(values(kept, "length"), [Json::Null, Json::Null]);
    assert_eq!(values(switched, "rating"), [4.into(), Json::Null]);
    assert_eq!(values(switched, "length"), [4, 4].map(Json::from));
    assert_eq!(values(back, "stars"), [4.into(), Json::Null, 5.into()]);
    assert_eq!(values(rated, "rating"), [5, 4].map(Json::from));
    assert_eq!(
        values(rated, "colour"),
        ["yellow", "yellow"].map(Json::from)
    );
    assert_eq!(changed["rating"], 4);
    assert_eq!(refused["status"], 422, "{refused}");
    for wanted in [
        "renamed entity.Note.attributes.rating",
        "migration 1: rolled back",
        "items are in the way, 1 in all",
        "migration 4: completed",
        "nothing drifted",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

/// The commands of the page run, and print the lines that it shows.
#[test]
fn scaling() {
    let page = std::fs::read_to_string(root().join("docs/scaling.md")).unwrap();
    let shell = blocks(&page, "sh");
    let Some(answers) = answers("scaling.md", &shell, &["stories"]) else {
        return;
    };
    let shown = blocks(&page, "text");
    let lines = shown.iter().flat_map(|block| block.lines());
    for line in lines.filter(|line| *line != "…" && !line.is_empty()) {
        assert!(
            answers.lines().any(|told| told == line),
            "{line}\n{answers}"
        );
    }
}

/// The runbook: from the key of a backup to the restored directory, and from there elsewhere.
#[test]
fn backups() {
    let page = std::fs::read_to_string(root().join("docs/running.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Nothing in it needs a server.
    let said = said(&blocks(&page, "sh"), folder.path(), "http://127.0.0.1:8000");
    for wanted in [
        "target has commit",
        "chain 1  commits",
        "is whole and can be restored",
        "restored is as it was after commit",
        "nothing waits",
        "mails, events and schedules go on",
        "takes no more writes of stories",
        "says whether they follow the design",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}
