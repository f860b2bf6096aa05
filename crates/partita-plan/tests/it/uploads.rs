//! Uploads, the items that take them over, and what is swept.

mod expiring;
mod purges;
mod shares;
mod slots;
mod together;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::Map;
use partita_plan::{
    Answer, Caller, Copied, Objects, ObjectsError, Operation, Partita, Patience, PlanError,
    Surroundings, Upload, UploadLimits,
};
use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use serde_json::{Value as Json, json};

const DESIGN: &str = r#"
design = "albums"

[table]
name = "albums"
key  = ["PK", "SK"]

[entity.Album]
PK = "ALBUM#{albumId}"
SK = "METADATA"

[entity.Album.attributes]
albumId = "string"
userId  = "string = caller on create"
cover   = "string?, file in covers"
pages   = "list? of Page ..5"
drafts  = "list? of string ..5, each file in temp"
image   = "string?, file at place"
place   = ["string, virtual =", { is = "images/{albumId}.jpg" }]

[shape.Page]
scan = "string?, file in covers"

[entity.Album.allow]
"*" = "userId = caller"

[pattern.album]
get = "PK = 'ALBUM#{albumId}' AND SK = 'METADATA'"

[bucket.files]
name = "albums"
signed-url-lifetime = "5 minutes"

[bucket.files.prefix]
covers = { path = "users/{userId}/covers/", accepts = ["image/*"], largest = "1 KB" }
images = { path = "images/", accepts = ["image/jpeg"] }
shared = { path = "shared/", read = "signed-in", write = "signed-in" }
closed = { path = "closed/" }
temp   = { path = "temp/", lifetime = "1 day" }
"#;

const HOUR: i64 = 3_600_000;

/// Names of objects, and what goes wrong with them.
#[derive(Default)]
struct Shelf {
    names: Mutex<BTreeSet<String>>,
    /// The process dies after the next copy.
    dies: AtomicBool,
}

impl Shelf {
    fn put(&self, upload: &Upload) {
        self.names.lock().unwrap().insert(upload.name.clone());
    }

    fn list(&self) -> Vec<String> {
        self.names.lock().unwrap().iter().cloned().collect()
    }
}

#[async_trait]
impl Objects for Shelf {
    async fn copy(&self, bucket: &str, from: &str, to: &str) -> Result<Copied, ObjectsError> {
        let mut names = self.names.lock().unwrap();
        if !names.contains(from) {
            return Ok(Copied::Missing);
        }
        names.insert(to.to_owned());
        if self.dies.swap(false, Ordering::SeqCst) {
            Err(ObjectsError {
                bucket: bucket.to_owned(),
                message: "the process is gone".to_owned(),
            })
        } else {
            Ok(Copied::Done)
        }
    }

    async fn remove(&self, _: &str, name: &str) -> Result<(), ObjectsError> {
        self.names.lock().unwrap().remove(name);
        Ok(())
    }
}

const LIMITS: UploadLimits = UploadLimits {
    bytes: 1_000_000,
    open: 8,
};

struct Scene {
    partita: Partita,
    store: Arc<ModelStore>,
    shelf: Arc<Shelf>,
    clock: Arc<ManualClock>,
}

impl Scene {
    async fn new() -> Scene {
        Scene::of(DESIGN).await
    }

    async fn of(design: &str) -> Scene {
        let (design, diagnostics) = partita_design::check(design, &|_| None);
        let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let surroundings = Surroundings {
            clock: clock.clone(),
            entropy: Arc::new(SeededEntropy::new(1)),
            cursor_key: [7; 32],
            patience: Patience {
                pause_millis: 0,
                ..Patience::default()
            },
        };
        let store = Arc::new(ModelStore::new(clock.clone()));
        let partita = Partita::open_with(design, store.clone(), surroundings)
            .await
            .unwrap();
        let shelf = Arc::new(Shelf::default());
        Scene {
            partita: partita.with_objects(shelf.clone()),
            store,
            shelf,
            clock,
        }
    }

    async fn ask(&self, caller: &Caller, prefix: &str, kind: &str) -> Result<Upload, PlanError> {
        let bytes = Some(100);
        self.partita
            .allow_upload(caller, prefix, kind, bytes, LIMITS)
            .await
    }

    /// An upload whose bytes have come.
    async fn upload(&self, user: &str, prefix: &str) -> Upload {
        let upload = self.sent(user, prefix).await;
        let name = self.partita.arrived("files", &upload.name).await;
        assert_eq!(name.as_ref(), Ok(&upload.name));
        upload
    }

    /// An upload whose bytes have come, and nobody has said so.
    async fn sent(&self, user: &str, prefix: &str) -> Upload {
        let caller = Caller::user(user);
        let upload = self.ask(&caller, prefix, "image/jpeg").await.unwrap();
        self.shelf.put(&upload);
        upload
    }

    async fn create(&self, user: &str, album: Json) -> Result<Json, PlanError> {
        self.run(
            user,
            Operation::Create {
                entity: "Album".to_owned(),
                attributes: map(album),
            },
        )
        .await
    }

    async fn update(&self, user: &str, id: &str, changes: Json) -> Result<Json, PlanError> {
        self.run(
            user,
            Operation::Update {
                entity: "Album".to_owned(),
                identity: vec![id.to_owned()],
                changes: map(changes),
                with_deleted: false,
                version: None,
            },
        )
        .await
    }

    async fn delete(&self, user: &str, id: &str) {
        let operation = Operation::Delete {
            entity: "Album".to_owned(),
            identity: vec![id.to_owned()],
            version: None,
        };
        self.run(user, operation).await.unwrap();
    }

    async fn run(&self, user: &str, operation: Operation) -> Result<Json, PlanError> {
        match self.partita.run(&Caller::user(user), operation).await? {
            Answer::Record(record) | Answer::Created(record) => Ok(Json::Object(
                partita_core::plain::map_to_json(&record.attributes),
            )),
            _ => Ok(Json::Null),
        }
    }

    async fn may_read(&self, caller: &Caller, name: &str) -> bool {
        match self.partita.file(caller, name).await {
            Ok(file) => {
                assert_eq!(file.media_type, "image/jpeg");
                assert_eq!(file.seconds, 300);
                true
            }
            Err(PlanError::NotFound { .. } | PlanError::Unauthenticated { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    async fn sweep(&self) -> usize {
        self.partita.sweep_files(100).await.unwrap().removed
    }
}

fn map(json: Json) -> Map {
    partita_core::plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

fn faults(outcome: Result<impl Sized, PlanError>) -> Vec<String> {
    match outcome.map(drop) {
        Err(PlanError::Invalid { faults }) => {
            faults.into_iter().map(|fault| fault.attribute).collect()
        }
        outcome => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn an_upload_becomes_the_file_of_the_item_that_names_it() {
    let scene = Scene::new().await;
    let upload = scene.upload("ann", "covers").await;
    assert!(upload.name.starts_with("temp/") && upload.name.ends_with(".jpg"));
    assert_eq!(
        upload.bytes_max, 1000,
        "the prefix takes less than the server"
    );
    let album = json!({"albumId": "a", "cover": upload.name});
    let created = scene.create("ann", album).await.unwrap();

    let name = created["cover"].as_str().unwrap();
    let last = upload.name.strip_prefix("temp/").unwrap();
    assert_eq!(name, format!("users/ann/covers/{last}"));
    assert_eq!(scene.shelf.list(), [name], "moved, not copied");
    assert!(scene.may_read(&Caller::user("ann"), name).await);
    assert!(!scene.may_read(&Caller::user("bob"), name).await);
    assert!(!scene.may_read(&Caller::anonymous(), name).await);
    assert!(!scene.may_read(&Caller::user("ann"), &upload.name).await);

    // The file stays, whatever else is written, and whenever somebody sweeps.
    scene.clock.advance(100 * 24 * HOUR);
    scene.sweep().await;
    let same = scene.update("ann", "a", json!({"cover": name})).await;
    assert_eq!(same.unwrap()["cover"], *name);
    assert_eq!(scene.shelf.list(), [name]);
}

#[tokio::test]
async fn a_file_goes_with_its_item_or_its_name() {
    let scene = Scene::new().await;
    let (first, second) = (
        scene.upload("ann", "covers").await,
        scene.upload("ann", "covers").await,
    );
    let album = json!({"albumId": "a", "cover": first.name});
    scene.create("ann", album).await.unwrap();
    let changes = json!({"cover": second.name});
    let changed = scene.update("ann", "a", changes).await.unwrap();
    let name = changed["cover"].as_str().unwrap().to_owned();
    assert_eq!(scene.shelf.list(), [name.as_str()]);
    scene.delete("ann", "a").await;
    assert!(scene.shelf.list().is_empty());
    assert!(!scene.may_read(&Caller::user("ann"), &name).await);
    scene.clock.advance(48 * HOUR);
    scene.sweep().await;
    assert_eq!(scene.sweep().await, 0, "nothing is due for ever");
}

#[tokio::test]
async fn only_an_upload_of_ones_own_can_be_named() {
    let scene = Scene::new().await;
    let bobs = scene.upload("bob", "covers").await;
    let other = scene.upload("ann", "images").await;
    let used = scene.upload("ann", "covers").await;
    let album = json!({"albumId": "a", "cover": used.name});
    let used_name = scene.create("ann", album).await.unwrap()["cover"].clone();
    let too_old = scene.upload("ann", "covers").await;
    let cases = [
        json!(bobs.name),
        json!(other.name),
        json!(used.name),
        used_name,
        json!("temp/nothing.jpg"),
        json!("users/ann/covers/made-up.jpg"),
        json!("temp/../users/ann/covers/x.jpg"),
    ];
    for (at, case) in cases.iter().enumerate() {
        let album = json!({"albumId": format!("b{at}"), "cover": case});
        assert_eq!(
            faults(scene.create("ann", album).await),
            ["cover"],
            "{case}"
        );
    }
    // What was asked for and not sent cannot be named yet.
    let unsent = scene.ask(&Caller::user("ann"), "covers", "image/png").await;
    let album = json!({"albumId": "c", "cover": unsent.unwrap().name});
    assert_eq!(faults(scene.create("ann", album).await), ["cover"]);
    scene.clock.advance(24 * HOUR);
    let album = json!({"albumId": "d", "cover": too_old.name});
    assert_eq!(faults(scene.create("ann", album).await), ["cover"]);
}

#[tokio::test]
async fn files_inside_lists_and_shapes_are_taken_over_one_by_one() {
    let scene = Scene::new().await;
    let uploads = [
        scene.upload("ann", "covers").await,
        scene.upload("ann", "covers").await,
    ];
    let draft = scene.upload("ann", "temp").await;
    let album = json!({
        "albumId": "a",
        "pages": [{"scan": uploads[0].name}, {}, {"scan": uploads[1].name}],
        "drafts": [draft.name],
    });
    let created = scene.create("ann", album).await.unwrap();
    let scan = created["pages"][2]["scan"].as_str().unwrap();
    assert!(scan.starts_with("users/ann/covers/"), "{created}");
    // A file of the temporary prefix stays where it is, as long as an item names it.
    assert_eq!(created["drafts"], json!([draft.name]));
    scene.clock.advance(25 * HOUR);
    scene.sweep().await;
    assert!(scene.may_read(&Caller::user("ann"), &draft.name).await);
    assert_eq!(scene.shelf.list().len(), 3);
    let pages = json!({"pages": [{"scan": scan}], "drafts": null});
    scene.update("ann", "a", pages).await.unwrap();
    assert_eq!(scene.shelf.list(), [scan]);
}

#[tokio::test]
async fn a_file_can_have_a_name_that_the_item_computes() {
    let scene = Scene::new().await;
    let upload = scene.upload("ann", "images").await;
    let album = json!({"albumId": "a", "image": upload.name});
    let created = scene.create("ann", album).await.unwrap();
    assert_eq!(created["image"], "images/a.jpg");
    assert!(scene.may_read(&Caller::user("ann"), "images/a.jpg").await);
    // Another address is welcome, but it is not this file's.
    let album = json!({"albumId": "b", "userId": "bob", "image": "images/a.jpg"});
    let error = scene.create("bob", album).await;
    assert_eq!(faults(error), ["userId"], "computed");
    let album = json!({"albumId": "b", "image": "images/a.jpg"});
    scene.create("bob", album).await.unwrap();
    assert!(!scene.may_read(&Caller::user("bob"), "images/a.jpg").await);
    scene.delete("bob", "b").await;
    assert_eq!(scene.shelf.list(), ["images/a.jpg"], "it is ann's");
    // The file of an item is not written over.
    let again = scene.upload("ann", "images").await;
    let changes = json!({"image": again.name});
    assert_eq!(faults(scene.update("ann", "a", changes).await), ["image"]);
    let wrong = scene.upload("ann", "covers").await;
    let album = json!({"albumId": "c", "image": wrong.name});
    assert_eq!(faults(scene.create("ann", album).await), ["image"]);
}

#[tokio::test]
async fn a_prefix_that_no_item_names_says_who_may_use_it() {
    let scene = Scene::new().await;
    let (ann, bob) = (Caller::user("ann"), Caller::user("bob"));
    let upload = scene.sent("ann", "shared").await;
    let name = scene.partita.arrived("files", &upload.name).await.unwrap();
    let last = upload.name.strip_prefix("temp/").unwrap();
    assert_eq!(name, format!("shared/{last}"));
    assert_eq!(scene.shelf.list(), [name.as_str()]);
    assert!(scene.may_read(&bob, &name).await);
    assert!(!scene.may_read(&Caller::anonymous(), &name).await);
    scene.clock.advance(48 * HOUR);
    scene.sweep().await;
    assert!(scene.may_read(&ann, &name).await, "it stays");

    let closed = scene.ask(&ann, "closed", "image/jpeg").await;
    assert!(matches!(closed, Err(PlanError::Forbidden { .. })));
    let nobody = scene
        .ask(&Caller::anonymous(), "covers", "image/jpeg")
        .await;
    assert!(matches!(nobody, Err(PlanError::Unauthenticated { .. })));
    let nowhere = scene.ask(&ann, "nowhere", "image/jpeg").await;
    assert!(matches!(nowhere, Err(PlanError::UnknownPrefix { .. })));
    let wrong = scene.ask(&ann, "covers", "text/html").await;
    assert_eq!(faults(wrong), ["contentType"]);
    let large = scene
        .partita
        .allow_upload(&ann, "covers", "image/png", Some(1001), LIMITS);
    assert_eq!(faults(large.await), ["size"]);
}

#[tokio::test]
async fn what_nobody_takes_over_is_swept() {
    let scene = Scene::new().await;
    for _ in 0..5 {
        scene.upload("ann", "covers").await;
    }
    scene.clock.advance(23 * HOUR);
    assert_eq!(scene.sweep().await, 0);
    scene.clock.advance(2 * HOUR);
    let first = scene.partita.sweep_files(3).await.unwrap();
    assert_eq!((first.removed, first.has_more), (3, true), "bounded");
    assert_eq!(scene.sweep().await, 2);
    assert!(scene.shelf.list().is_empty());
}

#[tokio::test]
async fn a_crash_between_copy_and_commit_loses_nothing_and_leaves_nothing() {
    let scene = Scene::new().await;
    let upload = scene.upload("ann", "covers").await;
    let album = json!({"albumId": "a", "cover": upload.name});
    scene.shelf.dies.store(true, Ordering::SeqCst);
    let died = scene.create("ann", album.clone()).await;
    assert!(matches!(died, Err(PlanError::Objects(_))));
    assert_eq!(scene.shelf.list().len(), 2, "the copy is there");
    // Whoever tries again has what was uploaded.
    let created = scene.create("ann", album).await.unwrap();
    let name = created["cover"].as_str().unwrap();
    assert_eq!(scene.shelf.list(), [name]);
    scene.clock.advance(25 * HOUR);
    scene.sweep().await;
    assert_eq!(scene.shelf.list(), [name], "the item's file stays");

    // Whoever does not leaves a copy that is swept, and then the upload.
    let upload = scene.upload("ann", "covers").await;
    scene.shelf.dies.store(true, Ordering::SeqCst);
    let album = json!({"albumId": "b", "cover": upload.name});
    scene.create("ann", album).await.unwrap_err();
    assert_eq!(scene.shelf.list().len(), 3);
    scene.clock.advance(2 * HOUR);
    assert_eq!(scene.sweep().await, 1);
    assert_eq!(scene.shelf.list().len(), 2);
    scene.clock.advance(24 * HOUR);
    assert_eq!(scene.sweep().await, 1);
    assert_eq!(scene.shelf.list(), [name]);
}
