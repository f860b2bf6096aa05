//! The design that stored data follow: what is adopted beside items, what is refused, and what is
//! served instead. `tests/changes/notes.changes` has the cases.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use partita_core::{Map, Value};
use partita_design::difference::between;
use partita_design::{Change, Design, fingerprint, shipped};
use partita_engine::{EngineStore, Options, Upkeep};
use partita_plan::{Caller, DesignError, Operation, Partita, PlanError, Surroundings};
use partita_store::request::{DeleteItem, GetItem, ListTables, PutItem, ReturnValues};
use partita_store::surroundings::SystemClock;
use partita_store::table::{TableName, string_key};
use partita_store::{ModelStore, Store};
use regex_lite::Regex;

use crate::server::BINARY;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/changes")
}

fn notes() -> String {
    std::fs::read_to_string(folder().join("notes.toml")).unwrap()
}

fn compile(text: &str, table: &str) -> Design {
    let (design, diagnostics) = partita_design::check(text, &|name| {
        (name == "NOTES_TABLE").then(|| table.to_owned())
    });
    design.unwrap_or_else(|| panic!("{diagnostics:#?}\n{text}"))
}

/// One change of a design.
struct Case {
    title: String,
    /// What is replaced by what; nothing is replaced at the end of the file.
    hunks: Vec<(String, String)>,
    /// What becomes of it, line by line.
    expected: Vec<String>,
}

impl Case {
    fn read(block: &str) -> Case {
        let mut lines = block.lines();
        let mut case = Case {
            title: lines.next().unwrap().to_owned(),
            hunks: Vec::new(),
            expected: Vec::new(),
        };
        let mut before = ' ';
        for line in lines {
            let sign = line.chars().next().unwrap();
            let text = line[1..].strip_prefix(' ').unwrap_or("").to_owned() + "\n";
            if sign == '>' {
                case.expected.push(text.trim_end().to_owned());
                continue;
            }
            if case.hunks.is_empty() || (sign == '-' && before == '+') {
                case.hunks.push(Default::default());
            }
            before = sign;
            let (old, new) = case.hunks.last_mut().unwrap();
            match sign {
                '-' => old.push_str(&text),
                '+' => new.push_str(&text),
                _ => panic!("{}: `{line}` has no sign", case.title),
            }
        }
        case
    }

    fn changed(&self, base: &str) -> String {
        let mut text = base.to_owned();
        for (old, new) in &self.hunks {
            if old.is_empty() {
                text = text + "\n" + new;
            } else {
                assert_eq!(
                    text.matches(old.as_str()).count(),
                    1,
                    "{}: {old}",
                    self.title
                );
                text = text.replace(old.as_str(), new);
            }
        }
        text
    }

    fn is_refused(&self) -> bool {
        self.expected[0] == "refused"
    }
}

fn cases() -> (String, Vec<Case>) {
    let file = std::fs::read_to_string(folder().join("notes.changes")).unwrap();
    let (head, rest) = file.split_once("\n\n").unwrap();
    (
        head.to_owned(),
        rest.trim_end().split("\n\n").map(Case::read).collect(),
    )
}

/// What becomes of a change beside items.
fn verdict(differences: &[Change]) -> Vec<String> {
    let refused = differences.iter().filter(|one| !one.is_free());
    let refused: Vec<String> = refused.map(ToString::to_string).collect();
    if !refused.is_empty() {
        return std::iter::once("refused".to_owned())
            .chain(refused)
            .collect();
    }
    let free = differences.iter().map(ToString::to_string);
    std::iter::once("adopted".to_owned()).chain(free).collect()
}

#[test]
fn every_change_becomes_what_it_says() {
    let base = notes();
    let old = compile(&base, "notes");
    let (mut file, cases) = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        let new = compile(&case.changed(&base), "notes");
        let found = verdict(&between(&old, &new));
        if found != case.expected {
            wrong.push(format!("{}: {found:#?}", case.title));
        }
        file += &format!("\n\n{}\n", case.title);
        let mark = |sign: &str, text: &str| -> String {
            let lines = text
                .lines()
                .map(|line| format!("{sign} {line}").trim_end().to_owned());
            lines.map(|line| line + "\n").collect()
        };
        for (old, new) in &case.hunks {
            file += &(mark("-", old) + &mark("+", new));
        }
        file += mark(">", &found.join("\n")).trim_end();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(folder().join("notes.changes"), file + "\n").unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The prints are stored with data: a change of one makes every stored design differ.
#[test]
fn prints_do_not_change_between_versions() {
    let prints = fingerprint::prints(&compile(&notes(), "notes"));
    let lines = prints
        .iter()
        .map(|(name, print)| format!("{print} {name}\n"));
    insta::assert_snapshot!(lines.collect::<String>());
}

async fn open(store: &Arc<dyn Store>, text: &str, table: &str) -> Result<Partita, PlanError> {
    Partita::open(compile(text, table), store.clone()).await
}

async fn create_user(partita: &Partita) {
    let attributes = Map::from([
        ("userId", Value::from("ann")),
        ("name", Value::from("Ann")),
        ("email", Value::from("ann@example.org")),
        ("town", Value::from("Ulm")),
    ]);
    let operation = Operation::Create {
        entity: "User".to_owned(),
        attributes,
    };
    partita.run(&Caller::user("ann"), operation).await.unwrap();
}

fn numbers(history: &[partita_plan::Recorded]) -> Vec<u64> {
    history.iter().map(|one| one.number).collect()
}

/// Every case, on a store: the base with an item, and then the changed design.
pub(crate) async fn changes_beside_items(store: Arc<dyn Store>) {
    let base = notes();
    for (number, case) in cases().1.iter().enumerate() {
        let table = format!("notes-{number}");
        create_user(&open(&store, &base, &table).await.unwrap()).await;
        let changed = case.changed(&base);
        let found = match open(&store, &changed, &table).await {
            Ok(partita) => {
                assert_eq!(partita.design().origin.text, changed, "{}", case.title);
                assert_eq!(numbers(&partita.history().await.unwrap()), [1, 2]);
                "adopted".to_owned()
            }
            Err(PlanError::Design(DesignError::Differs { differences, .. })) => {
                verdict(&differences).join("\n")
            }
            Err(error) => panic!("{}: {error}", case.title),
        };
        let expected = if case.is_refused() {
            case.expected.join("\n")
        } else {
            "adopted".to_owned()
        };
        assert_eq!(found, expected, "{}", case.title);
        // What is refused is refused to those who only look, and the recorded one is as it was.
        let look = Partita::inspect(
            compile(&changed, &table),
            store.clone(),
            Surroundings::default(),
        );
        assert_eq!(look.await.is_err(), case.is_refused(), "{}", case.title);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_beside_items_in_memory() {
    changes_beside_items(Arc::new(ModelStore::default())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_beside_items_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(folder.path(), options).unwrap();
    changes_beside_items(Arc::new(store)).await;
}

#[tokio::test]
async fn on_empty_tables_every_design_of_the_name_is_adopted() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let base = notes();
    open(&store, &base, "notes").await.unwrap();
    let other = base.replace("NOTE#{noteId}", "N#{noteId}");
    let other = other.replace("'NOTE#'", "'N#'");
    open(&store, &other, "notes").await.unwrap();
    let partita = open(&store, &base, "notes").await.unwrap();
    assert_eq!(numbers(&partita.history().await.unwrap()), [1, 2, 3]);
    let again = open(&store, &base, "notes").await.unwrap();
    assert_eq!(numbers(&again.history().await.unwrap()), [1, 2, 3]);

    let renamed = base.replace("design = \"notes\"", "design = \"pages\"");
    let refused = open(&store, &renamed, "notes").await.err().unwrap();
    assert_eq!(
        refused.to_string(),
        "the table `notes` belongs to the design `notes`, and this design is called `pages`: name \
         another table in it, or call it `notes`"
    );
}

#[tokio::test]
async fn whoever_only_looks_creates_and_records_nothing() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let design = compile(&notes(), "notes");
    let looking = Partita::inspect(design, store.clone(), Surroundings::default()).await;
    assert!(looking.unwrap().history().await.unwrap().is_empty());
    let tables = store.list_tables(ListTables::default()).await.unwrap();
    assert!(tables.names.is_empty(), "{tables:?}");
}

/// Version 0.1.0 recorded nothing.
#[tokio::test]
async fn items_without_a_recorded_design_are_refused_until_they_are_taken_over() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let base = notes();
    create_user(&open(&store, &base, "notes").await.unwrap()).await;
    let sidecar = "notes-partita".parse().unwrap();
    let key = string_key(("PK", "DESIGN"), ("SK", "0000000001"));
    let delete = DeleteItem {
        table: sidecar,
        key,
        condition: None,
        return_item_on_failure: false,
    };
    store.delete_item(delete, ReturnValues::None).await.unwrap();

    let other = base.replace("\"string 1..40\"", "\"string 1..20\"");
    for text in [&base, &other] {
        let refused = open(&store, text, "notes").await.err();
        let is_unknown = matches!(
            refused,
            Some(PlanError::Design(DesignError::NotAdopted { .. }))
        );
        assert!(is_unknown, "{refused:?}");
    }
    let given = compile(&other, "notes");
    let taken = Partita::take_over(given, store.clone(), Surroundings::default());
    let history = taken.await.unwrap().history().await.unwrap();
    assert_eq!((history.len(), &history[0].text), (1, &other));
    open(&store, &other, "notes").await.unwrap();
    assert!(
        open(&store, &notes().replace("1..40", "1..10"), "notes")
            .await
            .is_err()
    );
}

/// An old server that is started again does not take back what was adopted since.
#[tokio::test]
async fn a_text_that_was_live_before_is_not_adopted_again() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let first = notes();
    let second = first.replace("read = \"public\"", "read = \"signed-in\"");
    create_user(&open(&store, &first, "notes").await.unwrap()).await;
    open(&store, &second, "notes").await.unwrap();
    let partita = open(&store, &first, "notes").await.unwrap();
    assert_eq!(partita.design().origin.text, second);
    assert_eq!(numbers(&partita.history().await.unwrap()), [1, 2]);
    // Who wants it back says so with a text of its own.
    let third = first + "# back again\n";
    let partita = open(&store, &third, "notes").await.unwrap();
    assert_eq!(partita.design().origin.text, third);
}

/// Stored items may have the new attribute, so the old text could not be adopted as a new one.
#[tokio::test]
async fn a_text_that_was_live_before_gives_way_to_a_newer_one_that_added_an_attribute() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let first = notes();
    let line = "[entity.Note.attributes]\n";
    let second = first.replace(line, &format!("{line}due = \"date?\"\n"));
    assert_ne!(first, second);
    create_user(&open(&store, &first, "notes").await.unwrap()).await;
    open(&store, &second, "notes").await.unwrap();
    let partita = open(&store, &first, "notes").await.unwrap();
    assert_eq!(partita.design().origin.text, second);
    assert_eq!(numbers(&partita.history().await.unwrap()), [1, 2]);
    let third = first + "# back again\n";
    let refused = open(&store, &third, "notes").await.err().unwrap();
    let said = refused.to_string();
    assert!(
        said.contains("removed entity.Note.attributes.due"),
        "{said}"
    );
}

/// A new version of the program may ship another text; the data of the old one are served by it.
#[tokio::test]
async fn a_shipped_design_that_has_changed_is_served_with_its_recorded_text() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let shipped = shipped::find("stories").unwrap().source;
    let earlier = shipped.replace("NODE#", "KNOT#");
    assert_ne!(earlier, shipped);
    let given = |text: &str| {
        let mut design = partita_design::check(text, &|_| None).0.unwrap();
        design.origin.is_shipped = true;
        design
    };
    let partita = Partita::open(given(&earlier), store.clone()).await.unwrap();
    let attributes = Map::from([
        ("userId", Value::from("ann")),
        ("title", Value::from("Dune")),
    ]);
    let operation = Operation::Create {
        entity: "Story".to_owned(),
        attributes,
    };
    partita.run(&Caller::user("ann"), operation).await.unwrap();
    for _ in 0..2 {
        let partita = Partita::open(given(shipped), store.clone()).await.unwrap();
        assert_eq!(partita.design().origin.text, earlier);
        assert_eq!(numbers(&partita.history().await.unwrap()), [1]);
    }
    // Given as a file, it is compared like any other.
    let design = partita_design::check(shipped, &|_| None).0.unwrap();
    let refused = Partita::open(design, store).await.err();
    assert!(matches!(refused, Some(PlanError::Design(_))), "{refused:?}");
}

/// A new text may have other defaults; the data are where the recorded ones say.
#[tokio::test]
async fn a_shipped_design_that_has_changed_keeps_its_variables() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let given = |text: &str, bucket: Option<&str>| {
        let variable = |name: &str| match name {
            "NOTES_BUCKET" => bucket.map(str::to_owned),
            _ => None,
        };
        let mut design = partita_design::check(text, &variable).0.unwrap();
        design.origin.is_shipped = true;
        design
    };
    let first = notes();
    create_user(&open(&store, &first, "notes").await.unwrap()).await;
    let next = first.replace("NOTES_BUCKET | notes-files", "NOTES_BUCKET | other-files");
    for bucket in [None, Some("notes-files")] {
        let design = given(&next, bucket);
        let partita = Partita::open(design, store.clone()).await.unwrap();
        assert_eq!(partita.design().origin.text, first);
        assert_eq!(partita.design().buckets[0].bucket, "notes-files");
        assert_eq!(numbers(&partita.history().await.unwrap()), [1]);
    }
    let elsewhere = given(&next, Some("elsewhere"));
    let refused = Partita::open(elsewhere, store).await.err().unwrap();
    let said = refused.to_string();
    assert!(said.contains("\n  changed bucket.files (line "), "{said}");
}

/// Another version of the program may compile the same text to something else.
#[tokio::test]
async fn a_text_that_is_compiled_differently_is_refused() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let base = notes();
    create_user(&open(&store, &base, "notes").await.unwrap()).await;
    let sidecar = "notes-partita".parse::<TableName>().unwrap();
    let key = string_key(("PK", "DESIGN"), ("SK", "0000000001"));
    let get = GetItem::new(sidecar.clone(), key);
    let item = store.get_item(get).await.unwrap().answer.unwrap();
    let mut item = item.into_item().unwrap();
    let prints = item
        .get("prints")
        .and_then(Value::as_str)
        .unwrap()
        .to_owned();
    let line = prints
        .lines()
        .find(|line| line.ends_with(" view.ByTitle.SK"))
        .unwrap();
    let other = prints.replace(line, &format!("{} view.ByTitle.SK", "0".repeat(32)));
    item.insert("prints", other.into());
    let put = PutItem::new(sidecar, item);
    store.put_item(put, ReturnValues::None).await.unwrap();
    let refused = open(&store, &base, "notes")
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains("\n  changed view.ByTitle.SK (line "),
        "{refused}"
    );
}

/// The message as somebody sees it who starts a server or looks at data with another design.
#[tokio::test]
async fn every_command_refuses_another_design_in_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let base = notes();
    {
        let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
        let store: Arc<dyn Store> =
            Arc::new(EngineStore::open(&data.join("store"), options).unwrap());
        create_user(&open(&store, &base, "notes").await.unwrap()).await;
    }
    let changed = base
        .replace(
            "SK          = \"NOTE#{noteId}\"",
            "SK          = \"N#{noteId}\"",
        )
        .replace("'NOTE#'", "'N#'")
        .replace("stars   = \"int? 1..5\"\n", "likes   = \"count of Like\"\n");
    let file = folder.path().join("notes.toml");
    std::fs::write(&file, changed).unwrap();
    let commands: [&[&str]; 7] = [
        &["serve", "DESIGN", "--listen", "127.0.0.1:0"],
        &["verify", "DESIGN"],
        &["repair", "DESIGN"],
        &["jobs", "DESIGN"],
        &["plan", "DESIGN", "delete", "User", "ann"],
        &["can", "DESIGN", "delete", "User", "ann"],
        &["demo", "DESIGN", "--script", "SCRIPT"],
    ];
    let script = folder.path().join("notes.demo");
    std::fs::write(&script, "at now\n").unwrap();
    let mut said = Vec::new();
    for words in commands {
        let words = words.iter().map(|word| match *word {
            "DESIGN" => file.to_str().unwrap(),
            "SCRIPT" => script.to_str().unwrap(),
            word => word,
        });
        let output = Command::new(BINARY)
            .args(words)
            .arg("--data")
            .arg(&data)
            .env_remove("NOTES_TABLE")
            .output()
            .unwrap();
        assert!(!output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        let (_, text) = text
            .split_once("the data of the table")
            .unwrap_or_else(|| panic!("{text}"));
        said.push(format!("the data of the table{text}"));
    }
    said.dedup();
    assert_eq!(said.len(), 1, "{said:#?}");
    let time = Regex::new(r"\d{4}-\d\d-\d\dT[\d:.]+Z").unwrap();
    let version = Regex::new(r"Partita \d+\.\d+\.\d+").unwrap();
    let said = time.replace_all(&said[0], "[time]");
    insta::assert_snapshot!(version.replace_all(&said, "Partita [version]"));
}

/// Items of an entity that is new, which another program wrote.
pub(crate) async fn a_new_entity_is_refused_beside_its_items(store: Arc<dyn Store>) {
    let base = notes();
    let more = format!(
        "{base}\n{}",
        r#"
[entity.Room]
PK = "ROOM#{roomId}"
SK = "ROOM"

[entity.Room.attributes]
roomId = "string"
seats  = "count of Seat"

[entity.Room.allow]
"*" = "public"

[entity.Room.unique]
roomId = "U#{roomId}"

[entity.Seat]
PK = "ROOM#{roomId}"
SK = "SEAT#{n}"

[entity.Seat.attributes]
roomId = "string"
n      = "string"

[entity.Seat.refs]
room = "Room, on delete cascade"

[entity.Seat.allow]
"*" = "public"
"#
    );
    for (number, key, name) in [
        (1, ("ROOM#r", "SEAT#1"), "entity.Seat"),
        (2, ("ROOM#r", "ROOM"), "entity.Room"),
        (3, ("U#r", "UNIQUE"), "entity.Room"),
    ] {
        let table = format!("rooms-{number}");
        create_user(&open(&store, &base, &table).await.unwrap()).await;
        let item = string_key(("PK", key.0), ("SK", key.1));
        let put = PutItem::new(table.parse().unwrap(), item.clone());
        store.put_item(put, ReturnValues::None).await.unwrap();
        let refused = open(&store, &more, &table).await.err().unwrap().to_string();
        assert!(
            refused.contains(&format!("added {name} (line ")),
            "{refused}"
        );
        let example = format!("is stored already, `{}` `{}`", key.0, key.1);
        assert!(refused.contains(&example), "{refused}");
        let partita = open(&store, &base, &table).await.unwrap();
        assert_eq!(numbers(&partita.history().await.unwrap()), [1]);
        let delete = DeleteItem {
            table: table.parse().unwrap(),
            key: item,
            condition: None,
            return_item_on_failure: false,
        };
        store.delete_item(delete, ReturnValues::None).await.unwrap();
        let partita = open(&store, &more, &table).await.unwrap();
        assert_eq!(numbers(&partita.history().await.unwrap()), [1, 2]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_entity_is_refused_beside_its_items_in_memory() {
    a_new_entity_is_refused_beside_its_items(Arc::new(ModelStore::default())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_entity_is_refused_beside_its_items_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(folder.path(), options).unwrap();
    a_new_entity_is_refused_beside_its_items(Arc::new(store)).await;
}
