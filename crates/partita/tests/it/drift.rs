//! Drifts that were planted: reported exactly, mended, and not found again.
//!
//! The cases are scenarios in `tests/drift/`, with `a bug` that writes past the design.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Caller, Operation, Partita, Surroundings};
use partita_store::{ModelStore, Store};
use partita_verify::{Collected, Outcome, Permission};

use crate::scenario::parse;
use crate::server::BINARY;
use crate::stage;

async fn all_of(design: &str, store: Arc<dyn Store>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/drift")
        .join(design)
        .with_extension("scenario");
    for (index, scenario) in parse(&file).iter().enumerate() {
        let table = format!("{design}-drift-{index}");
        let stage = stage::in_library(design, &table, store.clone()).await;
        if let Err(failure) = scenario.run(&stage).await {
            panic!("{failure}");
        }
    }
}

#[tokio::test]
async fn of_storyhub() {
    all_of("storyhub", Arc::new(ModelStore::default())).await;
}

#[tokio::test]
async fn of_mediahub() {
    all_of("mediahub", Arc::new(ModelStore::default())).await;
}

#[tokio::test]
async fn of_holdthatthought() {
    all_of("holdthatthought", Arc::new(ModelStore::default())).await;
}

#[tokio::test]
async fn of_figureforge() {
    all_of("figureforge", Arc::new(ModelStore::default())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store = stage::engine(folder.path());
    all_of("mediahub", Arc::new(store)).await;
}

const ANN: &str = "00000000-0000-4000-8000-fffffffff000";
const ALBUM: &str = "00000000-0000-4000-8000-fffffffff001";

async fn create(partita: &Partita, entity: &str, attributes: &[(&str, &str)]) {
    let attributes: Map = attributes
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Value::from(*text)))
        .collect();
    let entity = entity.to_owned();
    let operation = Operation::Create { entity, attributes };
    partita.run(&Caller::user(ANN), operation).await.unwrap();
}

/// What a job has yet to do is no drift, and a repair leaves it to the job.
#[tokio::test]
async fn is_not_what_a_job_will_settle() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let design = stage::design("mediahub", "mediahub");
    let partita = Partita::open(design, store);
    let partita = partita.await.unwrap();
    create(
        &partita,
        "Album",
        &[("id", ALBUM), ("title", "Sea"), ("createdBy", ANN)],
    )
    .await;
    for number in 0..120 {
        let media = format!("00000000-0000-4000-8000-{number:012x}");
        let given = [
            ("id", media.as_str()),
            ("filename", "w.jpg"),
            ("originalFilename", "w.jpg"),
            ("mimeType", "image/jpeg"),
            ("createdBy", ANN),
        ];
        create(&partita, "Media", &given).await;
        let link = [("albumId", ALBUM), ("mediaId", media.as_str())];
        create(&partita, "AlbumMedia", &link).await;
    }
    let delete = Operation::Delete {
        entity: "Album".to_owned(),
        identity: vec![ALBUM.to_owned()],
        version: None,
    };
    partita.run(&Caller::user(ANN), delete).await.unwrap();

    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    assert_eq!((report.drifts, report.awaited, report.jobs), (0, 120, 1));
    let is_awaited = |outcome: &Outcome| matches!(outcome, Outcome::Awaited { .. });
    assert!(found.open.iter().all(|(_, outcome)| is_awaited(outcome)));
    let all = Permission::granted();
    let report = partita.repair(all, &mut found).await.unwrap();
    assert_eq!((report.mended, report.awaited), (0, 120));
    partita.run_jobs().await.unwrap();
    let report = partita.verify(&mut found).await.unwrap();
    assert_eq!((report.drifts, report.awaited, report.jobs), (0, 0, 0));
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(BINARY)
        .args(["--log", "warn"])
        .args(arguments)
        .env_remove("TABLE_NAME")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

/// A store with one record that its story left behind.
fn spoiled(data: &Path) {
    spoiled_at(data, "ann");
}

/// The same of a user whose id may be anything.
fn spoiled_at(data: &Path, user: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store: Arc<dyn Store> = Arc::new(stage::engine(&data.join("store")));
        let design = stage::design("stories", "stories");
        let surroundings = Surroundings::default();
        Partita::open_with(design, store.clone(), surroundings)
            .await
            .unwrap();
        let text = |name: &str, value: &str| (name.to_owned(), Value::from(value));
        let row = Map::from([
            text("PK", &format!("USER#{user}")),
            text("SK", "STORY#01JGFJJZ0000000000000000AA"),
            text("ItemType", "StoryIndex"),
        ]);
        let table = "stories".parse().unwrap();
        let put = partita_store::request::PutItem::new(table, row);
        let returns = partita_store::request::ReturnValues::None;
        store.put_item(put, returns).await.unwrap();
    });
}

#[test]
fn on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    spoiled(folder.path());
    let told = "StoryIndex USER#ann STORY#01JGFJJZ0000000000000000AA is left behind by a `Story` that is gone (view.StoryIndex)";

    let (code, out, err) = run(&["verify", "stories", "--data", data]);
    assert_eq!((code, err.as_str()), (1, ""));
    let rest =
        format!("1 item: 1 drift; `partita repair stories --data {data}` mends what is derived");
    assert_eq!(out, format!("drift    {told}\n{rest}\n"));

    let (code, out, _) = run(&["verify", "stories", "--format", "json", "--data", data]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 1);
    assert_eq!(json["drifts"][0]["kind"], "view");
    assert_eq!(json["drifts"][0]["key"]["PK"], "USER#ann");
    assert_eq!(json["report"]["drifts"], 1);

    let would = "would remove 1 StoryIndex";
    let (code, out, err) = run(&["repair", "stories", "--dry-run", "--data", data]);
    assert_eq!((code, err.as_str()), (1, ""));
    let rest = "1 item: 1 drift; nothing was written";
    assert_eq!(out, format!("would    {told}\n{would}\n{rest}\n"));

    let arguments = [
        "repair",
        "stories",
        "--dry-run",
        "--format",
        "json",
        "--data",
        data,
    ];
    let (_, out, _) = run(&arguments);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["would"]["remove"]["StoryIndex"], 1);
    assert_eq!(json["drifts"][0]["outcome"], "would");

    // Without a terminal there is no confirmation.
    let (code, out, err) = run(&["repair", "stories", "--data", data]);
    assert_eq!(code, 1);
    assert!(out.contains(would), "{out}");
    assert!(
        err.contains("nothing was written") && err.contains("--yes"),
        "{err}"
    );

    let named = [
        "repair",
        "stories",
        "--yes",
        "--remove",
        "view.StoryIndex",
        "--data",
        data,
    ];
    let (code, _, err) = run(&named);
    assert_eq!(code, 2);
    assert!(
        err.contains("`view.StoryIndex` is nothing whose leftovers"),
        "{err}"
    );

    let (code, out, _) = run(&["repair", "stories", "--yes", "--data", data]);
    assert_eq!(code, 0);
    assert_eq!(
        out,
        format!("mended   {told}\n0 items: 1 drift mended, 0 left\n")
    );

    // With nothing to write, no confirmation is needed.
    let (code, out, _) = run(&["repair", "stories", "--format", "json", "--data", data]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["report"]["mended"]), (0, &0.into()));

    let (code, out, _) = run(&["verify", "stories", "--data", data]);
    assert_eq!((code, out.as_str()), (0, "0 items: nothing drifted\n"));

    let (code, _, err) = run(&["verify", "storyhub", "--data", data]);
    assert_eq!(code, 2);
    assert!(err.contains("does not exist"), "{err}");
    let nowhere = folder.path().join("nowhere");
    let (code, _, err) = run(&["verify", "stories", "--data", nowhere.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(err.contains("there is no data directory"), "{err}");
}

/// A monitor tells drift from tables that could not be read.
#[test]
fn has_another_exit_code_than_a_store_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    spoiled(folder.path());
    let commands = [
        &["verify"][..],
        &["repair", "--dry-run"],
        &["repair", "--yes"],
    ];
    let open = stage::engine(&folder.path().join("store"));
    for command in commands {
        let (code, _, err) = run(&[command, &["stories", "--data", data]].concat());
        assert_eq!(code, 2, "{command:?}: {err}");
    }
    drop(open);
    for (command, expected) in commands.into_iter().zip([1, 1, 0]) {
        let (code, _, err) = run(&[command, &["stories", "--data", data]].concat());
        assert_eq!(code, expected, "{command:?}: {err}");
    }
}

/// An operator agrees to what is printed: a caller's key may not be able to forge it.
#[test]
fn is_printed_as_one_line_whatever_is_in_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let forged = "ann\u{1b}[2J\u{7}\u{9b}\u{202e}\n0 items: nothing drifted";
    spoiled_at(folder.path(), forged);
    let is_hidden = |one: char| one != '\n' && (one.is_control() || one == '\u{202e}');
    let (_, out, _) = run(&["verify", "stories", "--format", "json", "--data", data]);
    assert!(!out.contains(is_hidden), "{out:?}");
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(
        told.to_string().contains('\u{202e}'),
        "the same document: {out}"
    );
    let shown = r"USER#ann\u{1b}[2J\u{7}\u{9b}\u{202e}\u{a}0 items: nothing drifted";
    for command in [
        &["verify"][..],
        &["repair", "--dry-run"],
        &["repair", "--yes"],
    ] {
        let (_, out, _) = run(&[command, &["stories", "--data", data]].concat());
        let first = out.lines().next().unwrap();
        assert!(first.contains(shown), "{command:?}: {out:?}");
        assert!(!out.contains(is_hidden), "{command:?}: {out:?}");
    }
}
