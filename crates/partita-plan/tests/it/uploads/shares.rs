//! Files that several items name, and files that go from one item to another.

use super::*;

pub(super) const DESIGN: &str =
    include_str!("../../../../partita/tests/designs/archive/archive.toml");

impl Scene {
    pub(super) async fn make(&self, entity: &str, item: Json) -> Result<Json, PlanError> {
        let operation = Operation::Create {
            entity: entity.to_owned(),
            attributes: map(item),
        };
        self.run("ann", operation).await
    }

    pub(super) async fn change(
        &self,
        entity: &str,
        id: &[&str],
        changes: Json,
    ) -> Result<Json, PlanError> {
        let operation = Operation::Update {
            entity: entity.to_owned(),
            identity: id.iter().map(|part| (*part).to_owned()).collect(),
            changes: map(changes),
            with_deleted: false,
            version: None,
        };
        self.run("ann", operation).await
    }

    pub(super) async fn remove(&self, entity: &str, id: &[&str]) {
        let operation = Operation::Delete {
            entity: entity.to_owned(),
            identity: id.iter().map(|part| (*part).to_owned()).collect(),
            version: None,
        };
        self.run("ann", operation).await.unwrap();
    }

    pub(super) async fn act(
        &self,
        action: &str,
        entity: &str,
        id: &str,
        given: Json,
    ) -> Result<Json, PlanError> {
        let operation = Operation::Act {
            action: action.to_owned(),
            entity: Some(entity.to_owned()),
            identity: vec![id.to_owned()],
            given: map(given),
            version: None,
        };
        self.run("ann", operation).await
    }

    pub(super) async fn item(&self, entity: &str, id: &[&str]) -> Json {
        let operation = Operation::Get {
            entity: entity.to_owned(),
            identity: id.iter().map(|part| (*part).to_owned()).collect(),
            with_deleted: false,
        };
        self.run("ann", operation).await.unwrap()
    }

    /// A draft with a scan; gives the last step of its name.
    async fn draft(&self, id: &str, title: &str) -> String {
        let scan = self.upload("ann", "temp").await;
        let draft = json!({"draftId": id, "title": title, "scans": [scan.name]});
        self.make("Draft", draft).await.unwrap();
        scan.name.strip_prefix("temp/").unwrap().to_owned()
    }

    /// Long after everything that has a time is over.
    pub(super) async fn much_later(&self) {
        self.clock.advance(100 * 24 * HOUR);
        while self.partita.sweep_files(100).await.unwrap().has_more {}
    }

    pub(super) async fn can_ann_read(&self, name: &str) -> bool {
        self.may_read(&Caller::user("ann"), name).await
    }
}

#[tokio::test]
async fn a_published_letter_has_its_scans_for_good() {
    let scene = Scene::of(DESIGN).await;
    let scan = scene.draft("d", "Easter").await;
    scene.act("publish", "Draft", "d", json!({})).await.unwrap();
    let letter = scene.item("Letter", &["Easter"]).await;
    let name = format!("letters/{scan}");
    assert_eq!(letter["scans"], json!([name]));
    assert_eq!(scene.shelf.list(), [name.as_str()], "moved, and not copied");
    scene.much_later().await;
    assert_eq!(scene.shelf.list(), [name.as_str()]);
    assert!(scene.can_ann_read(&name).await);
    scene.remove("Draft", &["d"]).await;
    assert!(scene.can_ann_read(&name).await);
}

#[tokio::test]
async fn where_both_keep_naming_it_each_has_a_file_of_its_own() {
    let scene = Scene::of(DESIGN).await;
    let scan = scene.draft("d", "Easter").await;
    for _ in 0..2 {
        // Done again, it makes no further copy.
        scene.act("lend", "Draft", "d", json!({})).await.unwrap();
        let names = [format!("letters/{scan}"), format!("temp/{scan}")];
        assert_eq!(scene.shelf.list(), names);
    }
    scene.much_later().await;
    assert!(scene.can_ann_read(&format!("temp/{scan}")).await);
    scene.remove("Draft", &["d"]).await;
    assert_eq!(scene.shelf.list(), [format!("letters/{scan}")]);
    assert!(scene.can_ann_read(&format!("letters/{scan}")).await);
}

#[tokio::test]
async fn a_file_that_several_items_name_is_there_until_none_does() {
    let scene = Scene::of(DESIGN).await;
    let scan = scene.draft("d", "one").await;
    scene.act("publish", "Draft", "d", json!({})).await.unwrap();
    let name = format!("letters/{scan}");
    for title in ["two", "three"] {
        let given = json!({"as": title});
        scene.act("copy", "Letter", "one", given).await.unwrap();
        assert_eq!(scene.item("Letter", &[title]).await["scans"], json!([name]));
    }
    // In any order, by deletion and by another value; the first owner is the first to go.
    scene.remove("Letter", &["one"]).await;
    assert!(scene.can_ann_read(&name).await);
    scene.much_later().await;
    // One of them moves, and has its file with it.
    let moved = json!({"title": "second"});
    scene.change("Letter", &["two"], moved).await.unwrap();
    scene.remove("Letter", &["three"]).await;
    assert!(scene.can_ann_read(&name).await);
    assert_eq!(scene.shelf.list(), [name.as_str()]);
    scene.remove("Letter", &["second"]).await;
    assert!(scene.shelf.list().is_empty());
    scene.much_later().await;
    assert_eq!(scene.sweep().await, 0, "nothing is due for ever");
}

#[tokio::test]
async fn a_name_that_is_taken_when_an_item_is_created_keeps_the_file() {
    let scene = Scene::of(DESIGN).await;
    let photo = scene.upload("ann", "photos").await;
    let user = json!({"userId": "ann", "photo": photo.name});
    let user = scene.make("User", user).await.unwrap();
    let name = user["photo"].as_str().unwrap();
    for note in ["a", "b"] {
        let note = scene.make("Note", json!({"noteId": note})).await.unwrap();
        assert_eq!(note["photo"], *name);
    }
    let other = scene.upload("ann", "photos").await;
    let changes = json!({"photo": other.name});
    scene.change("User", &["ann"], changes).await.unwrap();
    scene.much_later().await;
    // The user's rule would not show it: the notes do.
    assert!(scene.may_read(&Caller::user("bob"), name).await);
    assert_eq!(scene.shelf.list().len(), 2);
    scene.remove("Note", &["ann", "a"]).await;
    assert!(scene.may_read(&Caller::user("bob"), name).await);
    // A cascade takes the last one along.
    scene.remove("User", &["ann"]).await;
    scene.partita.run_jobs().await.unwrap();
    scene.sweep().await;
    assert!(scene.shelf.list().is_empty());
}

#[tokio::test]
async fn what_a_caller_gives_an_action_lends_nothing() {
    let scene = Scene::of(DESIGN).await;
    let scan = scene.draft("d", "one").await;
    scene.act("publish", "Draft", "d", json!({})).await.unwrap();
    scene.draft("e", "two").await;
    let name = format!("letters/{scan}");
    let stolen = scene.act("steal", "Draft", "e", json!({"name": name}));
    assert_eq!(faults(stolen.await), ["steal.cover"]);
    // Not even where the item that has it takes part in the write.
    let draft = scene.item("Draft", &["e"]).await;
    let own = draft["scans"][0].as_str().unwrap();
    let stolen = scene.act("steal", "Draft", "e", json!({"name": own}));
    assert_eq!(faults(stolen.await), ["steal.cover"]);
    let direct = json!({"title": "x", "userId": "ann", "scans": [name]});
    assert_eq!(faults(scene.make("Letter", direct).await), ["scans[0]"]);
}

#[tokio::test]
async fn an_older_state_comes_back_with_its_file_and_goes_with_its_item() {
    let scene = Scene::of(DESIGN).await;
    let first = scene.draft("d", "one").await;
    scene.act("publish", "Draft", "d", json!({})).await.unwrap();
    scene.clock.advance(1_000);
    let second = scene.draft("e", "one").await;
    scene.act("publish", "Draft", "e", json!({})).await.unwrap();
    let names = [format!("letters/{first}"), format!("letters/{second}")];
    assert_eq!(
        scene.shelf.list(),
        names,
        "the replaced state keeps its own"
    );
    let ann = Caller::user("ann");
    let listed = scene.partita.run(
        &ann,
        Operation::Query {
            pattern: "versions".to_owned(),
            parameters: [("title".to_owned(), "one".to_owned())].into(),
            limit: None,
            cursor: None,
        },
    );
    let Answer::Page { records, .. } = listed.await.unwrap() else {
        panic!("a page");
    };
    let at = records[0].attributes["at"].as_str().unwrap().to_owned();
    let reverted = scene.act("revert", "Letter", "one", json!({"at": at}));
    assert_eq!(reverted.await.unwrap()["scans"], json!([names[0]]));
    scene.much_later().await;
    assert!(scene.can_ann_read(&names[0]).await);
    assert_eq!(scene.shelf.list(), names);
    // Where the letter goes its past goes too, and with it the files.
    scene
        .change("Letter", &["one"], json!({"title": "moved"}))
        .await
        .unwrap();
    scene.much_later().await;
    assert_eq!(scene.shelf.list(), names);
    scene.remove("Letter", &["moved"]).await;
    assert!(scene.shelf.list().is_empty());
}
