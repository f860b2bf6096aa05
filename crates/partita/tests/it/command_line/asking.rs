//! Commands that only ask: `can` and `plan`.

use std::path::Path;
use std::sync::Arc;

use partita_core::{Map, plain};
use partita_engine::{EngineStore, Options};
use partita_plan::{Caller, Operation, Partita};
use partita_store::surroundings::SystemClock;
use serde_json::{Value as Json, json};

use super::{run, stderr, stdout};
use crate::stage;

const STORY: &str = "01JGFJJZ00000000000000DVNE";
const NODE: &str = "01JGFJJZ0000000000000NDE01";

fn map(json: Json) -> Map {
    plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

/// A draft of ann's with one chapter, in a data directory that no process has open.
async fn fill(data: &Path) {
    let options = Options::new(Arc::new(SystemClock));
    let store = Arc::new(EngineStore::open(&data.join("store"), options).unwrap());
    let design = stage::design("storyhub", "nlmonorepo-tsh-datatable-dev");
    let partita = Partita::open(design, store.clone()).await.unwrap();
    let ann = Caller::user("ann");
    for (entity, attributes) in [
        (
            "User",
            json!({"userId": "ann", "email": "ann@example.org", "displayName": "Ann"}),
        ),
        (
            "Story",
            json!({"storyId": STORY, "title": "Dune", "synopsis": "Sand.", "authorId": "ann", "genre": "sf", "ageRating": "12"}),
        ),
        (
            "ChapterNode",
            json!({"storyId": STORY, "nodeId": NODE, "authorId": "ann", "title": "One", "content": "…"}),
        ),
    ] {
        let operation = Operation::Create {
            entity: entity.to_owned(),
            attributes: map(attributes),
        };
        partita.run(&ann, operation).await.unwrap();
    }
}

#[tokio::test]
async fn can_says_yes_or_no_and_which_line_decides() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let data = folder.path().to_str().unwrap();
    let mut page = String::new();
    for (code, arguments) in [
        (
            0,
            &["--caller", "ann", "read", "ChapterNode", STORY, NODE][..],
        ),
        (1, &["--caller", "bob", "read", "ChapterNode", STORY, NODE]),
        (1, &["update", "ChapterNode", STORY, NODE]),
        (
            1,
            &[
                "--caller",
                "ann",
                "update",
                "ChapterNode",
                STORY,
                NODE,
                "--with",
                r#"{"authorApproved": true}"#,
            ],
        ),
        (
            0,
            &[
                "--caller", "ann", "--role", "admin", "delete", "Story", STORY,
            ],
        ),
        (
            1,
            &["--caller", "ann", "delete", "ChapterNode", STORY, NODE],
        ),
        (1, &["--caller", "bob", "create", "Vote", "ann", NODE]),
        (1, &["--caller", "bob", "query", "bookmarks", "userId=ann"]),
        (
            0,
            &[
                "--caller",
                "bob",
                "query",
                "chapters",
                &format!("storyId={STORY}"),
            ],
        ),
        (
            2,
            &["--caller", "bob", "update", "ChapterNode", STORY, STORY],
        ),
        (2, &["--caller", "bob", "fly", "Story", STORY]),
    ] {
        let output = run(
            &[
                &["can", "storyhub", "--log", "warn", "--data", data][..],
                arguments,
            ]
            .concat(),
            "",
        );
        page += &format!("$ partita can storyhub {}\n", arguments.join(" "));
        page += &(stdout(&output) + &stderr(&output) + "\n");
        assert_eq!(output.status.code(), Some(code), "{page}");
    }
    insta::assert_snapshot!(page);
}

#[tokio::test]
async fn can_names_a_rule_once_for_all_rows_that_it_decides() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let options = Options::new(Arc::new(SystemClock));
    let store = Arc::new(EngineStore::open(&folder.path().join("store"), options).unwrap());
    let design = stage::design("storyhub", "nlmonorepo-tsh-datatable-dev");
    let partita = Partita::open(design, store).await.unwrap();
    for number in 0..3 {
        let chapter = json!({"storyId": STORY, "nodeId": format!("01JGFJJZ00000000000000N0{number}0"), "parentNodeId": NODE, "authorId": "ann", "title": "More", "content": "…"});
        let operation = Operation::Create {
            entity: "ChapterNode".to_owned(),
            attributes: map(chapter),
        };
        partita.run(&Caller::user("ann"), operation).await.unwrap();
    }
    drop(partita);
    let data = folder.path().to_str().unwrap();
    let parameter = format!("storyId={STORY}");
    let arguments = [
        "can", "storyhub", "--data", data, "--caller", "bob", "query", "chapters", &parameter,
    ];
    let output = run(&arguments, "");
    let printed = stdout(&output);
    let rows = printed
        .lines()
        .filter(|line| line.starts_with("  no  ChapterNode"));
    assert_eq!(rows.count(), 4, "{printed}");
    assert_eq!(
        printed.matches("denied: read ChapterNode").count(),
        1,
        "{printed}"
    );
    assert!(
        printed.contains("all 4 denied: read ChapterNode"),
        "{printed}"
    );
}

#[tokio::test]
async fn can_tells_programs_too() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let data = folder.path().to_str().unwrap();
    let parameter = format!("storyId={STORY}");
    let arguments = [
        "can", "storyhub", "--data", data, "--format", "json", "--caller", "bob", "query",
        "chapters", &parameter,
    ];
    let output = run(&arguments, "");
    let decision: Json = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(decision["allowed"], true, "the pattern may be asked");
    assert_eq!(decision["rulings"][0]["verdict"], "open");
    let row = &decision["rows"][0];
    assert_eq!(
        (&row["allowed"], &row["identity"]["nodeId"]),
        (&json!(false), &json!(NODE))
    );
    let source = partita_design::shipped::find("storyhub").unwrap().source;
    let rule = &row["rulings"][0]["rule"];
    let line = source
        .lines()
        .nth(rule["line"].as_u64().unwrap() as usize - 1)
        .unwrap();
    assert!(line.contains(rule["text"].as_str().unwrap()), "{line}");
}

#[tokio::test]
async fn plan_prints_the_transaction_and_does_not_do_it() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let data = folder.path().to_str().unwrap();
    let title = r#"{"title": "Dune Messiah"}"#;
    let base = [
        "plan", "storyhub", "--data", data, "--caller", "ann", "--with",
    ];
    let rename = [&base[..], &[title, "update", "Story", STORY][..]].concat();
    let first = stdout(&run(&rename, ""));
    // The story, and the record that the author's list has of it.
    assert!(
        first.starts_with("TransactWriteItems, 2 actions, "),
        "{first}"
    );
    assert!(
        first.contains(r#"set     title = "Dune Messiah""#),
        "{first}"
    );
    assert!(first.contains("set     version = 2"), "{first}");
    assert!(
        first.contains("nlmonorepo-tsh-datatable-dev: 4 write units"),
        "{first}"
    );

    let json = [&rename[..], &["--format", "json"][..]].concat();
    let request: Json = serde_json::from_str(&stdout(&run(&json, ""))).unwrap();
    let actions = request["TransactItems"].as_array().unwrap();
    assert_eq!(actions.len(), 2, "nothing has changed meanwhile");
    let update = &actions[0]["Update"];
    assert_eq!(update["Key"]["PK"], json!({"S": format!("STORY#{STORY}")}));
    assert!(
        update["UpdateExpression"]
            .as_str()
            .unwrap()
            .starts_with("SET #n0 = :v0")
    );

    for (arguments, reason) in [
        (
            &["--caller", "bob", "update", "Story", STORY, "--with", title][..],
            "there is no `Story`",
        ),
        (
            &["--caller", "ann", "delete", "Story", STORY, "--with", title],
            "leave out --with",
        ),
    ] {
        let output = run(
            &[&["plan", "storyhub", "--data", data][..], arguments].concat(),
            "",
        );
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }

    // Of a read it says what that takes.
    let asked = ["plan", "storyhub", "--data", data, "--caller", "ann"];
    let output = run(&[&asked[..], &["read", "Story", STORY]].concat(), "");
    let text = stdout(&output);
    assert!(
        text.starts_with("1 record, 1 read units"),
        "{text}{}",
        stderr(&output)
    );
    assert!(text.contains("1. BatchGetItem: 1 item, "), "{text}");
}

/// Before anything was served there are no items, and nothing is made for looking.
#[test]
fn without_data_the_tables_are_empty() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let arguments = [
        "plan",
        "stories",
        "--data",
        data.to_str().unwrap(),
        "--caller",
        "ann",
        "create",
        "Story",
        "ann",
        STORY,
        "--with",
        "-",
    ];
    let output = run(&arguments, r#"{"title": "Dune"}"#);
    assert!(
        stdout(&output).starts_with("TransactWriteItems, 2 actions"),
        "{}",
        stderr(&output)
    );
    assert_eq!(std::fs::read_dir(data).unwrap().count(), 0);
}
