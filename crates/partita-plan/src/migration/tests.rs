//! Migrations beside writers: the changes of `tests/evolution`, each in both directions.
//!
//! A store that gives way to other tasks at every request, and sometimes fails, interleaves writers
//! with the backfill. Whatever is derived must be right in every stage, which `verify` says with
//! arithmetic of its own, and nothing may be left of the design that is not served in the end. A
//! migration that is taken back leaves every item as it was.

mod cases;
mod crowd;
mod defects;
mod moved;
mod press;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cases::{Case, cases};
use partita_core::Map;
use partita_design::Design;
use partita_engine::{Durability, EngineStore, Options};
use partita_verify::{Drift, Outcome, Permission, Stopped, Watch};
use press::{End, Press};

use super::{Current, Migration, MigrationError, Stage};
use crate::error::PlanError;
use crate::{Caller, Operation};

fn long(usual: u64, long: u64) -> u64 {
    match std::env::var_os("PARTITA_LONG") {
        Some(_) => long,
        None => usual,
    }
}

/// Nobody else writes: a migration that is taken back, before or after the switch, leaves every item
/// as it was, and one that is completed leaves what a store has that knew no other design.
#[tokio::test]
async fn a_quiet_migration_writes_derived_data_and_nothing_else() {
    for Case { name, old, new } in cases() {
        for (at, end) in [End::RolledBack, End::SwitchedBack, End::Completed]
            .into_iter()
            .enumerate()
        {
            if !end.is_possible(&old, &new) {
                continue;
            }
            let context = format!("{name}, {end:?}");
            let mut press = Press::open(&old, 7 + at as u64).await;
            press.write_some(60).await;
            let before = press.items().await;
            press.migrate(&new, end).await.expect(&context);
            press.expect_settled(&context).await;
            if end == End::Completed {
                press.expect_as_new(&new, &context).await;
            } else {
                press.expect_items(&before, &context).await;
            }
        }
    }
}

#[tokio::test]
async fn derived_data_are_exact_beside_writers_and_faults() {
    let rounds = long(2, 40);
    for Case { name, old, new } in cases() {
        for round in 0..rounds {
            for (way, from, to) in [("to", &old, &new), ("from", &new, &old)] {
                // Some changes cannot be undone by another migration, or need none.
                if !cases::is_possible(from, to) {
                    assert_eq!(way, "from", "{name}");
                    continue;
                }
                let ends = End::all().into_iter();
                let ends = ends.filter(|end| end.is_possible(from, to));
                let ends: Vec<End> = ends.collect();
                let end = ends[(round as usize + name.len()) % ends.len()];
                let context = format!("{way} {name}, round {round}, {end:?}");
                let mut press = Press::open(from, round * 2 + u64::from(way == "to")).await;
                press.write_some(40).await;
                press.begin_faults();
                press.migrate_beside_writers(to, end).await;
                press.expect_settled(&context).await;
            }
        }
    }
}

/// The embedded store is the one that has migrations in production: it builds indexes beside writers,
/// and reads from snapshots.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_is_carried_out_on_the_embedded_store() {
    for (at, Case { name, old, new }) in cases().into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::new(Arc::new(press::clock()));
        options.durability = Durability::Buffered;
        let store = EngineStore::open(folder.path(), options).unwrap();
        let mut press = Press::open_on(&old, Arc::new(store), at as u64).await;
        press.write_some(60).await;
        let before = press.items().await;
        let back = match End::SwitchedBack.is_possible(&old, &new) {
            true => End::SwitchedBack,
            false => End::RolledBack,
        };
        press.migrate(&new, back).await.expect(&name);
        press.expect_settled(&format!("{name}, {back:?}")).await;
        press.expect_items(&before, &name).await;
        press.migrate_beside_writers(&new, End::Completed).await;
        press.expect_settled(&format!("{name}, completed")).await;
    }
}

/// A process that ends anywhere goes on where the sidecar says.
#[tokio::test]
async fn a_migration_goes_on_after_any_number_of_requests() {
    let cases = cases().into_iter();
    for Case { name, old, new } in cases.filter(|one| one.name.starts_with("all at once")) {
        for requests in (1..400).step_by(if long(0, 1) == 1 { 1 } else { 13 }) {
            for end in [End::Completed, End::RolledBack] {
                let context = format!("{name}, ended after {requests}, {end:?}");
                let mut press = Press::open(&old, requests).await;
                press.write_some(30).await;
                press.migrate_interrupted(&new, end, requests).await;
                press.expect_settled(&context).await;
            }
        }
    }
}

#[tokio::test]
async fn repeated_values_are_listed_and_filling_goes_on_when_they_are_mended() {
    let case = cases().into_iter().find(|one| one.name == "a unique value");
    let Case { old, new, .. } = case.expect("it is there");
    let press = Press::open(&old, 1).await;
    for author in ["a", "b", "c"] {
        let name = if author == "c" { "other" } else { "same" };
        press.author(author, name).await.unwrap();
    }
    press.start(&new).await.unwrap();
    let migration = press.drive().await;
    assert!(migration.is_paused);
    assert_eq!(migration.stage, Stage::Kept);
    let [refused] = migration.refused.as_slice() else {
        panic!("{:?}", migration.refused);
    };
    assert!(refused.contains("is taken"), "{refused}");
    let taken = press.author("d", "other").await.unwrap_err();
    assert!(matches!(taken, PlanError::Taken { .. }), "{taken}");

    press
        .rename(if refused.contains("#a") { "a" } else { "b" }, "third")
        .await
        .unwrap();
    press.current.resume().await.unwrap();
    assert_eq!(press.drive().await.stage, Stage::Filled);
    press.current.switch().await.unwrap();
    press.current.complete().await.unwrap();
    press.drive().await;
    press.expect_settled("mended").await;
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_refused_with_a_list() {
    let case = cases().into_iter();
    let mut case = case.filter(|one| one.name == "a required attribute with a default");
    let Case { old, new, .. } = case.next().expect("it is there");
    let mut press = Press::open(&old, 1).await;
    press.write_some(20).await;
    press.migrate(&new, End::Switched).await.unwrap();
    press.story_in("s9", "de").await;
    let refused = press.current.roll_back().await.unwrap_err();
    let PlanError::Migration(MigrationError::InTheWay { count: 1, items }) = refused else {
        panic!("{refused}");
    };
    assert_eq!(items.len(), 1);
    assert!(
        items[0].contains("STORY#s9") && items[0].contains("`language`"),
        "{items:?}"
    );
}

/// Callers write while a rollback looks at all items: either it is refused, or they are.
#[tokio::test]
async fn what_is_written_while_a_rollback_looks_at_the_items_is_not_lost() {
    let case = cases().into_iter();
    let mut case = case.filter(|one| one.name == "a required attribute with a default");
    let Case { old, new, .. } = case.next().expect("it is there");
    let (mut refused, mut went_back) = (0, 0);
    for seed in 0..60 {
        let mut press = Press::open(&old, seed).await;
        press.write_some(20).await;
        let _ = press.author("a0", "ann").await;
        press.migrate(&new, End::Switched).await.unwrap();
        press.begin_faults();
        let writer = async {
            for _ in 0..seed / 3 {
                tokio::task::yield_now().await;
            }
            press.try_story_in("s90", "de").await
        };
        let (rolled, created) = futures::join!(press.current.roll_back(), writer);
        match (&rolled, &created) {
            (Ok(_), _) => {
                // What was created after it was created under the old design.
                let items = press.items().await;
                let mut given = items.iter().filter_map(|item| item.get("language"));
                assert!(!given.any(|one| *one == "de".into()), "{seed}");
                went_back += 1;
            }
            (Err(error), Ok(())) => {
                let is_listed = matches!(
                    error,
                    PlanError::Migration(MigrationError::InTheWay { count: 1, .. })
                );
                refused += usize::from(is_listed);
                // Nothing has changed, and writes pass.
                let migration = press.current.migration().await.unwrap().unwrap();
                assert_eq!(migration.stage, Stage::Switched);
                let _ = press.try_story_in("s91", "en").await;
            }
            (Err(_), Err(_)) => {}
        }
    }
    assert!(refused > 0 && went_back > 0, "{refused}, {went_back}");
}

/// What both designs declare otherwise has one name for callers, and the value of the design that is
/// served, in every stage; and nothing is left of the names between.
#[tokio::test]
async fn what_is_declared_otherwise_has_one_name_and_one_value_in_every_stage() {
    let case = cases().into_iter();
    let mut case = case.filter(|one| one.name == "another count that an index is over");
    let Case { old, new, .. } = case.next().expect("it is there");
    for end in [End::Completed, End::RolledBack, End::SwitchedBack] {
        let press = Press::open(&old, 1).await;
        press.author("a0", "ann").await.unwrap();
        press.story("s1").await.unwrap();
        for weight in 1..4 {
            press
                .like("s1", &format!("u{weight}"), weight)
                .await
                .unwrap();
        }
        press.expect_likes(3).await;
        press.start(&new).await.unwrap();
        press.expect_likes(3).await;
        press.drive().await;
        press.expect_likes(3).await;
        if end == End::RolledBack {
            press.current.roll_back().await.unwrap();
        } else {
            press.current.switch().await.unwrap();
            press.expect_likes(2).await;
        }
        match end {
            End::Completed => drop(press.current.complete().await.unwrap()),
            End::SwitchedBack => drop(press.current.roll_back().await.unwrap()),
            _ => {}
        }
        let likes = if end == End::Completed { 2 } else { 3 };
        press.expect_likes(likes).await;
        let mut stages = Vec::new();
        let mut note = |migration: &Migration| stages.push(migration.stage);
        let driving = press.current.drive(&mut note);
        let reading = async {
            for _ in 0..40 {
                press.expect_likes(likes).await;
            }
        };
        press.begin_faults();
        let (driven, ()) = futures::join!(driving, reading);
        // Something may have failed on the way.
        if driven.is_err() {
            press.drive().await;
        }
        assert_eq!(stages.contains(&Stage::Naming), end == End::Completed);
        press.expect_likes(likes).await;
        press.expect_settled("settled").await;
        let text = format!("{:?}", press.items().await);
        assert!(!text.contains('~'), "{text}");
    }
}

#[tokio::test]
async fn what_cannot_have_an_interim_name_is_refused_before_anything_is_written() {
    let old = cases()
        .into_iter()
        .find(|one| one.name == "a view that keeps a new count");
    let old = old.expect("it is there").new;
    let new = old.replace("count of Like", "count of Like where weight > 1");
    let press = Press::open(&old, 1).await;
    let refused = press.start(&new).await.unwrap_err().to_string();
    assert!(
        refused.contains("decides which records a view has"),
        "{refused}"
    );
    assert!(press.current.migration().await.unwrap().is_none());
}

/// What an item would copy may be gone already. It has nothing then, until it is there again.
#[tokio::test]
async fn a_copy_of_what_is_gone_is_missing_by_right() {
    let case = cases().into_iter().find(|one| one.name == "a copy");
    let Case { old, new, .. } = case.expect("it is there");
    let press = Press::open(&old, 1).await;
    press.author("a0", "ann").await.unwrap();
    press.story("s1").await.unwrap();
    press.like("s1", "u1", 1).await.unwrap();
    press.remove_story("s1").await.unwrap();
    press.migrate(&new, End::Completed).await.unwrap();
    press.expect_settled("gone").await;
    press.weigh("s1", "u1", 2).await.unwrap();
    press.story("s1").await.unwrap();
    press.expect_settled("there again").await;
    let items = press.items().await;
    let like = items.iter().find(|item| item["Kind"] == "Like".into());
    let like = like.expect("it outlives its story");
    assert_eq!(like["title"], "t".into());
}

#[tokio::test]
async fn what_is_stored_already_is_never_written_over() {
    let case = cases()
        .into_iter()
        .find(|one| one.name == "a computed value");
    let Case { old, new, .. } = case.expect("it is there");
    let mut press = Press::open(&old, 1).await;
    press.write_some(20).await;
    press.put_past_the_design("pages").await;
    let refused = press.start(&new).await.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("has `pages` already"), "{text}");
}

#[tokio::test]
async fn items_that_do_not_fit_are_counted_and_nothing_starts() {
    let case = cases()
        .into_iter()
        .find(|one| one.name == "a smaller range");
    let Case { old, new, .. } = case.expect("it is there");
    let press = Press::open(&old, 1).await;
    press.author("a0", "ann").await.unwrap();
    press.story("s1").await.unwrap();
    for user in 0..30 {
        press
            .like("s1", &format!("u{user:02}"), 2 + user % 3)
            .await
            .unwrap();
    }
    let PlanError::Migration(MigrationError::InTheWay { count, items }) =
        press.start(&new).await.unwrap_err()
    else {
        panic!("it starts");
    };
    assert_eq!((count, items.len()), (10, 10));
    assert!(items[0].contains("STORY#s1 LIKE#u02"), "{items:?}");
    assert!(items[0].contains("`weight`"), "{items:?}");
    assert!(press.current.migration().await.unwrap().is_none());
}

#[tokio::test]
async fn what_does_not_fit_the_new_design_is_refused_and_names_the_migration() {
    let case = cases()
        .into_iter()
        .find(|one| one.name == "a smaller range");
    let Case { old, new, .. } = case.expect("it is there");
    let press = Press::open(&old, 1).await;
    press.author("a0", "ann").await.unwrap();
    press.story("s1").await.unwrap();
    press.start(&new).await.unwrap();
    let refused = press.like("s1", "u1", 4).await.unwrap_err().to_string();
    assert!(refused.contains("migration 1, which is kept"), "{refused}");
    press.drive().await;
    let refused = press.like("s1", "u1", 4).await.unwrap_err().to_string();
    assert!(
        refused.contains("migration 1, which is filled"),
        "{refused}"
    );
    press.like("s1", "u1", 3).await.unwrap();
    press.current.roll_back().await.unwrap();
    press.drive().await;
    press.like("s1", "u2", 4).await.unwrap();
}

/// What callers gave goes when it is named, and not before the migration is completed.
#[tokio::test]
async fn what_is_dropped_is_named_and_goes_last() {
    let (old, _) = cases()
        .into_iter()
        .map(|one| (one.old, one.new))
        .next()
        .unwrap();
    let new = old.replace("mail     = \"string?\"\n", "");
    let entity = old.split("[entity.Notice]").next().unwrap().to_owned()
        + old
            .split("[view.Shown]")
            .nth(1)
            .map(|rest| format!("[view.Shown]{rest}"))
            .unwrap()
            .as_str();
    let entity = entity.replace(
        "[pattern.notices]\nquery = \"PK = 'NOTICE#{storyId}'\"\n",
        "",
    );
    for new in [new, entity] {
        let mut press = Press::open(&old, 1).await;
        press.write_some(80).await;
        let _ = press.author("a0", "ann").await;
        press.mail("a0", "ann@example.org").await;
        let refused = press.current.start(cases::compiled(&new), Vec::new()).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("--drop entity."), "{refused}");
        let before = press.items().await;
        press.start(&new).await.unwrap();
        press.drive().await;
        press.current.switch().await.unwrap();
        press.drive().await;
        press.expect_items(&before, "switched").await;
        press.current.complete().await.unwrap();
        press.drive().await;
        press.expect_settled("completed").await;
        let after = press.items().await;
        assert_ne!(before, after);
        let is_gone = |item: &partita_core::Item| {
            !item.contains_key("mail") && item.get("Kind") != Some(&"Notice".into())
        };
        let left = after.iter().filter(|item| is_gone(item)).count();
        let kept = before.iter().filter(|item| is_gone(item)).count();
        assert!(left >= kept, "nothing else goes");
    }
}

/// Whoever gives an attribute another name without a word about it is first asked for that word: a
/// `fill` and a `--drop` would lose what was stored.
#[test]
fn a_name_without_a_word_is_asked_for_first() {
    let design = "
        design = \"notes\"
        table = { name = \"notes\", key = [\"PK\", \"SK\"] }
        entity.Note.PK = \"NOTE#{id}\"
        entity.Note.SK = \"NOTE\"
        entity.Note.attributes = { id = \"string\", title = \"string\" }
        entity.Note.allow = { \"*\" = \"public\" }";
    let old = cases::compiled(design);
    let new = cases::compiled(&design.replace("title", "name"));
    let changes = super::changes::changes(&old, &new, &[]);
    let mut obstacles = changes.into_iter().filter_map(|one| one.obstacle);
    let (added, removed) = (obstacles.next().unwrap(), obstacles.next().unwrap());
    assert!(added.starts_with("if it had another name, add `was title`"));
    assert!(removed.starts_with("if `name` is the same under another name"));
    assert!(removed.contains("--drop entity.Note.attributes.title"));
    assert_eq!(obstacles.next(), None);
}

/// What was written under the new design is there under the old one after a rollback, in its names.
#[tokio::test]
async fn a_rollback_brings_back_what_was_written_since() {
    let case = cases().into_iter().find(|one| one.name == "another name");
    let Case { old, new, .. } = case.expect("it is there");
    let mut press = Press::open(&old, 3).await;
    press.write_some(40).await;
    press.migrate(&new, End::Switched).await.unwrap();
    press.write_some(60).await;
    let served: Vec<_> = press.items().await;
    press.current.roll_back().await.unwrap();
    press.drive().await;
    press.expect_settled("rolled back").await;
    let stories = |items: &[partita_core::Item], name: &str| -> Vec<partita_core::Value> {
        let stories = items.iter().filter(|item| item["Kind"] == "Story".into());
        stories.map(|item| item[name].clone()).collect()
    };
    let after = press.items().await;
    assert!(!stories(&served, "length").is_empty());
    assert_eq!(stories(&served, "length"), stories(&after, "words"));
    assert!(after.iter().all(|item| !item.contains_key("length")));
}

/// Of two that begin at the same moment one does, in one process and in two.
#[tokio::test]
async fn one_of_two_that_begin_together_does() {
    let of = |name: &str| {
        let case = cases().into_iter().find(|one| one.name == name);
        case.expect("it is there")
    };
    let old = of("a computed value").old;
    let news = [of("a computed value").new, of("a unique value").new];
    let mut together = 0;
    for seed in 0..20 {
        let press = Press::open(&old, seed).await;
        let other = press.another(&old).await;
        let second = if seed % 2 == 0 {
            &press.current
        } else {
            &other
        };
        // The store gives way at every request from here on.
        press.begin_faults();
        let [a, b] = news.each_ref().map(|new| cases::compiled(new));
        let began = futures::join!(
            press.current.start(a, Vec::new()),
            second.start(b, Vec::new())
        );
        let (began, refused) = match began {
            (Ok(began), Err(refused)) | (Err(refused), Ok(began)) => (began, refused),
            (Err(_), Err(_)) => continue,
            began => panic!("{seed}: {began:?}"),
        };
        together += usize::from(refused == MigrationError::Moved.into());
        press.expect_begun(&began).await;
    }
    assert!(together > 0);
}

/// What goes is said once: a migration that has begun without it does not take it up.
#[tokio::test]
async fn a_migration_that_begins_again_drops_what_it_dropped() {
    let case = cases()
        .into_iter()
        .find(|one| one.name == "a computed value");
    let Case { old, new, .. } = case.expect("it is there");
    let press = Press::open(&old, 1).await;
    press
        .current
        .start(cases::compiled(&new), Vec::new())
        .await
        .unwrap();
    let drops = vec!["entity.Author.attributes.mail".to_owned()];
    let again = press.current.start(cases::compiled(&new), drops).await;
    let PlanError::Migration(MigrationError::Running { number: 1, .. }) = again.unwrap_err() else {
        panic!("it goes on");
    };
    press
        .current
        .start(cases::compiled(&new), Vec::new())
        .await
        .unwrap();
}

/// Begins a migration in the middle of a repair.
struct Beginner {
    current: Arc<Current>,
    new: Design,
    /// Whether it waits until the repair is to write.
    waits: bool,
    is_to_write: Arc<AtomicBool>,
    began: Option<Result<Migration, PlanError>>,
}

#[async_trait::async_trait]
impl Watch for Beginner {
    async fn between_steps(&mut self) -> Result<(), Stopped> {
        let is_time = !self.waits || self.is_to_write.load(Ordering::Relaxed);
        if self.began.is_none() && is_time {
            self.began = Some(self.current.start(self.new.clone(), Vec::new()).await);
        }
        Ok(())
    }

    fn finds(&mut self, _: &Drift, _: &Outcome) {}
}

/// A repair knows the design of its beginning: it writes nothing for a stage that has passed, and
/// no stage moves while it writes.
#[tokio::test]
async fn a_repair_and_a_migration_exclude_each_other() {
    let case = cases()
        .into_iter()
        .find(|one| one.name == "a computed value");
    let Case { old, new, .. } = case.expect("it is there");
    for waits in [false, true] {
        let mut press = Press::open(&old, 5).await;
        press.write_some(60).await;
        press.story("s9").await.unwrap();
        press.show("s9").await.unwrap();
        press.lose_records().await;
        let before = press.items().await;
        let is_to_write = Arc::<AtomicBool>::default();
        let mut beginner = Beginner {
            current: press.current.clone(),
            new: cases::compiled(&new),
            waits,
            is_to_write: is_to_write.clone(),
            began: None,
        };
        let permission = Permission::asked(move |_| {
            is_to_write.store(true, Ordering::Relaxed);
            true
        });
        let partita = press.current.get();
        let repaired = partita
            .repair(permission.held_by("Ann"), &mut beginner)
            .await;
        let began = beginner.began.expect("there are several steps");
        if waits {
            let refused = began.unwrap_err().to_string();
            assert!(refused.starts_with("Ann has been repairing"), "{refused}");
            assert!(repaired.unwrap().mended > 0);
            press.expect_right("repaired").await;
        } else {
            began.unwrap();
            let refused = repaired.unwrap_err().to_string();
            assert!(refused.contains("another stage"), "{refused}");
            press.expect_items(&before, "nothing is written").await;
        }
    }
}

/// Whoever fills in while somebody else takes the migration back stops, and says so in its words.
#[tokio::test]
async fn filling_in_ends_when_the_migration_is_taken_back() {
    let case = cases()
        .into_iter()
        .find(|one| one.name == "a computed value");
    let Case { old, new, .. } = case.expect("it is there");
    let mut press = Press::open(&old, 1).await;
    press.write_some(40).await;
    press.start(&new).await.unwrap();
    let other = press.another(&old).await;
    let mut known = press.current.migration().await.unwrap().unwrap();
    other.roll_back().await.unwrap();
    let filled = press.current.backfill(&mut known, &mut |_| {}).await;
    assert_eq!(filled, Ok(false));
    let sidecar = "press-partita".parse().unwrap();
    let update = known.pausing(true, &sidecar);
    let paused = press.current.get().update_migration(&update).await;
    assert_eq!(paused, Err(MigrationError::Moved.into()));
}

/// An attribute and the guard of its value have another name in the new design.
#[tokio::test]
async fn refusals_blame_the_design_that_refuses() {
    const OLD: &str = r#"
design = "staff"

[table]
name = "staff"
key  = ["PK", "SK"]

[entity.Post]
PK = "POST#{postId}"
SK = "POST"

[entity.Post.attributes]
postId = "string"
label  = "string"

[entity.Post.unique]
label = "UNIQUE#LABEL#{label}"

[entity.Post.allow]
"*" = "signed-in"
"#;
    let new = OLD
        .replace("label  = \"string\"", "title  = \"string, was label\"")
        .replace(
            "label = \"UNIQUE#LABEL#{label}\"",
            "title = \"UNIQUE#TITLE#{title}\"",
        );
    let press = Press::open(OLD, 1).await;
    let create = async |id: &str, name: &str, given: &str| {
        let attributes = Map::from([("postId", id.into()), (name, given.into())]);
        let entity = "Post".to_owned();
        let operation = Operation::Create { entity, attributes };
        let partita = press.current.get();
        partita.run(&Caller::user("ann"), operation).await
    };
    create("a", "label", "cook").await.unwrap();
    press.start(&new).await.unwrap();
    assert_eq!(press.drive().await.stage, Stage::Filled);

    let unknown = create("b", "title", "waiter")
        .await
        .unwrap_err()
        .to_string();
    assert!(!unknown.contains("migration"), "{unknown}");
    let taken = create("b", "label", "cook").await.unwrap_err();
    assert_eq!(taken.to_string(), "`label` of `Post` is taken");

    press.current.switch().await.unwrap();
    let unknown = create("b", "label", "waiter")
        .await
        .unwrap_err()
        .to_string();
    assert!(!unknown.contains("migration"), "{unknown}");
    let taken = create("b", "title", "cook").await.unwrap_err();
    assert_eq!(taken.to_string(), "`title` of `Post` is taken");
}
