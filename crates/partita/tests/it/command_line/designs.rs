//! Commands on designs: `check --format json`, `describe`, `docs`, `access`, `new`, `keys`.

use std::process::Command;

use serde_json::{Value as Json, json};

use super::{file, run, stderr, stdout};
use crate::readme::root;
use crate::server::BINARY;

const DESIGNS: [&str; 5] = [
    "stories",
    "storyhub",
    "mediahub",
    "holdthatthought",
    "figureforge",
];

fn printed(arguments: &[&str], input: &str) -> Json {
    let output = run(arguments, input);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn all_shipped_designs_check_without_a_word() {
    for design in DESIGNS {
        let output = run(&["check", design], "");
        assert!(output.status.success());
        let expected = format!("{design}.toml: 0 errors, 0 warnings\n");
        assert_eq!(
            (stdout(&output), stderr(&output)),
            (expected, String::new())
        );
        assert_eq!(
            printed(&["check", design, "--format", "json"], ""),
            json!([])
        );
    }
}

/// What a name means does not depend on the working directory.
#[test]
fn the_name_of_a_shipped_design_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "stories", "design = \"other\"");
    let check = |design: &str| {
        let mut command = Command::new(BINARY);
        command.args(["check", design]).current_dir(folder.path());
        command.env_remove("TABLE_NAME").output().unwrap()
    };
    let shipped = check("stories");
    assert!(shipped.status.success(), "{}", stderr(&shipped));
    assert!(
        stderr(&shipped).contains("for the file of that name write `./stories`"),
        "{}",
        stderr(&shipped)
    );
    assert_eq!(check("./stories").status.code(), Some(1));
}

#[test]
fn check_tells_programs_what_it_tells_people() {
    let folder = tempfile::tempdir().unwrap();
    let source = partita_design::shipped::find("stories").unwrap().source;
    let faulty = source.replace("of       = \"Story\"", "of       = \"Stroy\"");
    let path = file(folder.path(), "faulty.toml", &faulty);
    let output = run(&["check", &path, "--format", "json"], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "");
    let found: Json = serde_json::from_str(&stdout(&output)).unwrap();
    let first = &found[0];
    assert_eq!(first["code"], "unknown-record");
    assert_eq!(first["severity"], "error");
    assert_eq!(first["help"], "did you mean `Story`?");
    let start = faulty.find("\"Stroy\"").unwrap();
    assert_eq!(first["start"]["offset"], start);
    assert_eq!(first["end"]["offset"], start + "\"Stroy\"".len());
    let line = faulty[..start].matches('\n').count() + 1;
    assert_eq!(first["start"]["line"], line);
}

#[test]
fn a_warning_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let source = partita_design::shipped::find("stories").unwrap().source;
    let risky = source.split("[[accept]]").next().unwrap();
    let path = file(folder.path(), "risky.toml", risky);
    let found = printed(&["check", &path, "--format", "json"], "");
    let found = found.as_array().unwrap();
    assert!(!found.is_empty());
    assert!(found.iter().all(|one| one["severity"] == "warning"));
}

#[test]
fn docs_knows_a_fresh_page_from_a_stale_one() {
    let folder = tempfile::tempdir().unwrap();
    for design in DESIGNS {
        let page = stdout(&run(&["docs", design], ""));
        assert!(page.starts_with(&format!("# {design}\n")), "{page}");
        let path = file(folder.path(), "page.md", &page);
        let output = run(&["docs", design, "--check", &path], "");
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");

        let stale = page
            .replacen("| `PK` |", "| `PK ` |", 1)
            .replacen("| `pk` |", "| `pk ` |", 1);
        let path = file(folder.path(), "page.md", &stale);
        let output = run(&["docs", design, "--check", &path], "");
        assert_eq!(output.status.code(), Some(1));
        let shown = stderr(&output);
        assert!(shown.contains("is stale"), "{shown}");
        assert!(
            shown.contains(&format!("partita docs {design} > ")),
            "{shown}"
        );
    }
    let output = run(&["docs", "stories", "--check", "/no/such/page.md"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot read "));
}

/// The pages beside the shipped designs are what the command prints; so is that of one's own.
#[test]
fn access_prints_who_may_do_what() {
    let committed = std::fs::read_to_string(root().join("designs/stories/access.md")).unwrap();
    assert_eq!(stdout(&run(&["access", "stories"], "")), committed);

    let folder = tempfile::tempdir().unwrap();
    let design = file(
        folder.path(),
        "own.toml",
        include_str!("../../../src/starter.toml"),
    );
    let page = stdout(&run(&["access", &design], ""));
    assert!(page.contains("| `POST /Task` |"), "{page}");
    let stale = file(folder.path(), "access.md", "another");
    let output = run(&["access", &design, "--check", &stale], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("partita access "));
}

#[test]
fn a_misspelt_design_is_recognised() {
    let shown = stderr(&run(&["check", "storyhubb"], ""));
    assert!(shown.contains("did you mean `storyhub`?"), "{shown}");
}

#[test]
fn describe_has_every_part_of_a_design() {
    let described = printed(&["describe", "mediahub"], "");
    let names = |kind: &str| -> Vec<String> {
        let parts = described[kind].as_array().unwrap().iter();
        parts
            .map(|part| part["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(described["design"], "mediahub");
    assert!(names("entities").contains(&"Album".to_owned()));
    assert_eq!(names("views"), ["AlbumTag"]);
    assert!(names("patterns").contains(&"popularAlbums".to_owned()));
    assert!(names("actions").contains(&"setRole".to_owned()));
    let album = described["entities"].as_array().unwrap().iter();
    let album = album.clone().find(|one| one["name"] == "Album").unwrap();
    assert_eq!(album["identity"], json!(["albumId"]));
    assert_eq!(album["keys"]["SK"], "METADATA");
    let sizes = described["transactions"].as_array().unwrap();
    let update = sizes
        .iter()
        .find(|one| one["of"] == "Album" && one["write"] == "update");
    let update = update.unwrap();
    assert_eq!(
        update["parts"][0],
        json!({ "cause": "view.AlbumTag", "actions": 98 })
    );
    assert!(
        sizes
            .iter()
            .all(|size| size["actions"].as_u64().unwrap() <= 100)
    );
}

#[test]
fn new_writes_a_design_that_checks_and_never_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let new = |name: &str| {
        let mut command = Command::new(BINARY);
        let command = command.args(["new", name]).current_dir(folder.path());
        command.output().unwrap()
    };
    let output = new("errands");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("partita check errands.toml"));
    let path = folder.path().join("errands.toml");
    let path = path.to_str().unwrap();
    let output = run(&["check", path], "");
    assert_eq!(stdout(&output), format!("{path}: 0 errors, 0 warnings\n"));
    let keys = r#"{"userId": "ann", "listId": "01JGFJJZ00000000000000DVNE"}"#;
    let keys = printed(&["keys", path, "List"], keys);
    assert_eq!(keys["PK"], "USER#ann");

    let written = std::fs::read_to_string(path).unwrap();
    let output = new("errands");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("something is there"));
    assert_eq!(std::fs::read_to_string(path).unwrap(), written);

    let output = new("Not A Name");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn keys_of_a_view_with_each_are_a_list() {
    let album = r#"{
        "id": "0b6f2f0e-9c1d-4a53-8f5e-3a1b2c4d5e6f",
        "title": "Sea",
        "tags": [" Beach", "sun", "beach"],
        "createdAt": "2026-01-02T03:04:05.678Z",
        "isPublic": "true",
        "createdBy": "7d444840-9dc0-11d1-b245-5ffdce74fad2"
    }"#;
    let keys = printed(&["keys", "mediahub", "AlbumTag"], album);
    let partitions: Vec<_> = keys
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["PK"])
        .collect();
    assert_eq!(partitions, ["ALBUM_TAG#beach", "ALBUM_TAG#sun"]);
    assert_eq!(
        keys[1]["SK"],
        "ALBUM#0b6f2f0e-9c1d-4a53-8f5e-3a1b2c4d5e6f#2026-01-02T03:04:05.678Z"
    );
    assert_eq!(keys[1]["GSI2PK"], "ALBUM_TAG#sun#true");
    let untagged = album.replace(r#"[" Beach", "sun", "beach"]"#, "[]");
    assert_eq!(
        printed(&["keys", "mediahub", "AlbumTag"], &untagged),
        json!([])
    );
}

#[test]
fn cost_tells_units_and_what_a_month_is() {
    let output = run(&["cost", "storyhub"], "");
    let text = stdout(&output);
    assert!(
        text.starts_with("storyhub: what one operation takes at most"),
        "{text}"
    );
    let vote = text
        .lines()
        .find(|line| line.starts_with("create Vote "))
        .unwrap();
    let words: Vec<&str> = vote.split_whitespace().collect();
    assert_eq!((words[2], words[4]), ("7", "17"), "{vote}");

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let rates = file(
        "rates.toml",
        "[rates]\n\"create Vote\" = { per-second = 10, hottest = 0.5 }\nbrowse = { per-month = 1000000 }\n",
    );
    let prices = file(
        "prices.toml",
        "currency = \"EUR\"\nmillion-write-units = 1.0\nmillion-read-units = 0.2\n",
    );
    let asked = ["cost", "storyhub", "--rates", &rates, "--prices", &prices];
    let text = stdout(&run(&asked, ""));
    assert!(
        text.contains("full first: one STORY#{storyId}, by writes"),
        "{text}"
    );
    let told: Json = serde_json::from_str(&stdout(&run(
        &[&asked[..], &["--format", "json"]].concat(),
        "",
    )))
    .unwrap();
    assert_eq!(told["month"]["currency"], "EUR");
    assert_eq!(told["month"]["partitions"][0]["key"], "STORY#{storyId}");

    for (text, reason) in [
        (
            "[rates]\n\"create Vot\" = { per-second = 1 }\n",
            "did you mean `create Vote`?",
        ),
        (
            "[rates]\nbrowse = { per-second = 1, per-month = 2 }\n",
            "one of `per-second` and `per-month`",
        ),
        ("[rates]\nbrowse = { per-second = -1 }\n", "at least 0"),
        ("[rate]\n", "unknown field `rate`"),
    ] {
        let rates = file("wrong.toml", text);
        let output = run(&["cost", "storyhub", "--rates", &rates], "");
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}
