//! Files of items that expire: the store removes the item, and the sweeper the file.

use super::shares::DESIGN;
use super::*;

const START_SECONDS: i64 = 1_700_000_000;

impl Scene {
    /// A pin with a photo of its own that expires after some hours; gives the name of the photo.
    async fn pin(&self, id: &str, hours: i64) -> String {
        let upload = self.upload("ann", "photos").await;
        let pin = json!({"pinId": id, "photo": upload.name, "until": self.until(hours)});
        let pin = self.make("Pin", pin).await.unwrap();
        pin["photo"].as_str().unwrap().to_owned()
    }

    /// The second that so many hours from the start of the test are.
    fn until(&self, hours: i64) -> i64 {
        START_SECONDS + hours * 3_600
    }

    /// Lets hours pass, and looks at all files that are due.
    async fn after(&self, hours: i64) -> Vec<String> {
        self.clock.advance(hours * HOUR);
        while self.partita.sweep_files(100).await.unwrap().has_more {}
        self.shelf.list()
    }
}

#[tokio::test]
async fn a_file_is_removed_after_its_item_has_expired_and_is_removed() {
    let scene = Scene::of(DESIGN).await;
    let photo = scene.pin("p", 48).await;
    assert_eq!(scene.after(47).await, [photo.as_str()]);
    assert!(scene.can_ann_read(&photo).await);
    // Expired for whoever reads, but the store still has it.
    assert_eq!(scene.after(2).await, [photo.as_str()]);
    assert!(!scene.can_ann_read(&photo).await);
    assert_eq!(scene.after(100).await, [photo.as_str()]);
    scene.store.sweep();
    assert!(scene.after(2).await.is_empty());
}

#[tokio::test]
async fn a_file_stays_while_the_time_of_its_item_is_put_off() {
    let scene = Scene::of(DESIGN).await;
    let photo = scene.pin("p", 48).await;
    for hours in [72, 96] {
        let later = json!({"until": scene.until(hours)});
        scene.change("Pin", &["ann", "p"], later).await.unwrap();
        assert_eq!(scene.after(24).await, [photo.as_str()]);
        scene.store.sweep();
    }
    // At 48 hours of 96; then it need not expire at all, and then it does.
    let never = json!({"until": null});
    scene.change("Pin", &["ann", "p"], never).await.unwrap();
    assert_eq!(scene.after(100).await, [photo.as_str()]);
    scene.store.sweep();
    let soon = json!({"until": scene.until(160)});
    scene.change("Pin", &["ann", "p"], soon).await.unwrap();
    assert_eq!(scene.after(20).await, [photo.as_str()]);
    scene.store.sweep();
    assert!(scene.after(2).await.is_empty());
}

#[tokio::test]
async fn files_that_come_later_go_with_the_item_too() {
    let scene = Scene::of(DESIGN).await;
    let pin = json!({"pinId": "p", "until": scene.until(48)});
    scene.make("Pin", pin).await.unwrap();
    for _ in 0..2 {
        let upload = scene.upload("ann", "photos").await;
        let change = json!({"photo": upload.name});
        scene.change("Pin", &["ann", "p"], change).await.unwrap();
    }
    assert_eq!(scene.after(1).await.len(), 1);
    scene.clock.advance(50 * HOUR);
    scene.store.sweep();
    assert!(scene.after(2).await.is_empty());
}

#[tokio::test]
async fn an_item_that_shares_a_file_with_one_that_expires_keeps_it() {
    let scene = Scene::of(DESIGN).await;
    let upload = scene.upload("ann", "photos").await;
    let user = json!({"userId": "ann", "photo": upload.name});
    let user = scene.make("User", user).await.unwrap();
    let photo = user["photo"].as_str().unwrap();
    for id in ["p", "q"] {
        let given = json!({"pinId": id, "until": scene.until(48)});
        scene.act("pin", "User", "ann", given).await.unwrap();
    }
    scene.clock.advance(50 * HOUR);
    scene.store.sweep();
    assert_eq!(scene.after(2).await, [photo]);
    assert!(scene.can_ann_read(photo).await);
    // The last one that names it is the user.
    let other = json!({"photo": null});
    scene.change("User", &["ann"], other).await.unwrap();
    assert!(scene.shelf.list().is_empty());
}

#[tokio::test]
async fn a_new_item_in_the_place_of_an_expired_one_has_only_its_own_files() {
    let scene = Scene::of(DESIGN).await;
    let first = scene.pin("p", 48).await;
    scene.clock.advance(50 * HOUR);
    // The store still has the expired item, whose file is none of the new one's.
    let pin = json!({"pinId": "p", "photo": first, "until": scene.until(90)});
    assert_eq!(faults(scene.make("Pin", pin).await), ["photo"]);
    let second = scene.pin("p", 90).await;
    assert_eq!(scene.after(1).await, [second.as_str()]);
    assert!(scene.can_ann_read(&second).await);
    scene.clock.advance(50 * HOUR);
    scene.store.sweep();
    assert!(scene.after(2).await.is_empty());
}

/// A history does not expire with its item, so what it names stays, and nothing else.
#[tokio::test]
async fn of_an_item_with_a_history_only_what_that_names_stays() {
    let design = format!(
        "{DESIGN}\n{}",
        r#"
[view.OldPin]
history-of = "Pin"
when       = "changed(photo)"
PK         = "OLDPIN#{userId}#{pinId}"
SK         = "{at}"
keep       = ["photo"]

[view.OldPin.attributes]
at = "timestamp = now, rising"
"#
    );
    let scene = Scene::of(&design).await;
    let first = scene.pin("changed", 48).await;
    let upload = scene.upload("ann", "photos").await;
    let change = json!({"photo": upload.name});
    scene
        .change("Pin", &["ann", "changed"], change)
        .await
        .unwrap();
    scene.pin("whole", 48).await;
    assert_eq!(scene.after(24).await.len(), 3);
    // What is looked at while the item is there stays, whoever names it.
    scene.after(26).await;
    assert_eq!(scene.shelf.list().len(), 3);
    scene.store.sweep();
    assert_eq!(scene.after(2).await, [first.as_str()]);
}
