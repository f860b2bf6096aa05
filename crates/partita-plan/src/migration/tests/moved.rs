//! Items that come under other keys.

use partita_core::{Item, Value};

use super::cases::{self, Case, cases};
use super::press::{End, Press};
use crate::error::PlanError;
use crate::live::DesignError;
use crate::migration::{MigrationError, Stage};

const STORY: &str = "another primary key of what others refer to, with a history and views";

fn case(name: &str) -> Case {
    let case = cases().into_iter().find(|one| one.name == name);
    case.expect("it is there")
}

/// Why a change of a text cannot be carried out.
fn obstacle(old: &str, replaced: &str, by: &str) -> String {
    let new = old.replacen(replaced, by, 1);
    assert_ne!(old, new);
    // The patterns find the items under whichever keys.
    let found = if by.contains("LIKED#") {
        new.replace("begins_with(SK, 'LIKE#')", "begins_with(SK, 'LIKED#')")
    } else {
        new
    };
    let new = if by.contains("STORIES#") {
        found.replace(
            "PK = 'STORY#{storyId}' AND SK = 'STORY'",
            "PK = 'STORIES#{storyId}' AND SK = 'META'",
        )
    } else {
        found
    };
    let (old, new) = (cases::compiled(old), cases::compiled(&new));
    let changes = crate::migration::changes::changes(&old, &new, &[]);
    let obstacles = changes.into_iter().filter_map(|one| one.obstacle);
    obstacles.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_cannot_be_kept_under_two_keys_is_refused_by_its_reason() {
    let Case { old, .. } = case("another sort key");
    let like = "SK = \"LIKE#{userId}\"";
    let was = "was = { SK = \"LIKE#{userId}\" }";
    let refused = obstacle(
        &old,
        like,
        "SK = \"LIKE#{userId}#{weight:03}\"\nwas = { SK = \"LIKE#{userId}\" }",
    );
    assert!(refused.contains("another identity"), "{refused}");
    let others = obstacle(
        &old,
        "SK = \"{noticeId}\"",
        "SK = \"N{noticeId}\"\nwas = { SK = \"{noticeId}\" }",
    );
    assert!(
        others.contains("can spell a key of `entity.Notice`"),
        "{others}"
    );
    let open = old.replace("[entity.Like]\n", "[entity.Like]\nopen = true\n");
    let refused = obstacle(&open, like, &format!("SK = \"LIKED#{{userId}}\"\n{was}"));
    assert!(refused.contains("`open`"), "{refused}");
    let story = "PK     = \"STORY#{storyId}\"\nSK     = \"STORY\"";
    let moved = "PK = \"STORIES#{storyId}\"\nSK = \"META\"\nwas = { PK = \"STORY#{storyId}\", SK = \"STORY\" }";
    let refused = obstacle(&case("a count").new, story, moved);
    assert!(refused.contains("may outlive"), "{refused}");
    let missing = obstacle(&old, like, "SK = \"LIKED#{userId}\"");
    assert!(missing.contains("was = { SK"), "{missing}");
}

#[tokio::test]
async fn what_the_design_does_not_list_is_not_lost() {
    let Case { old, new, .. } = case(STORY);
    let press = Press::open(&old, 1).await;
    press.author("a0", "ann").await.unwrap();
    press.story("s1").await.unwrap();
    press.put_past_the_design("extra").await;
    let refused = press.start(&new).await.unwrap_err();
    let PlanError::Migration(MigrationError::InTheWay { count: 1, items }) = refused else {
        panic!("{refused}");
    };
    assert!(items[0].contains("`extra`"), "{items:?}");
}

#[tokio::test]
async fn what_is_stored_under_the_new_keys_is_in_the_way() {
    let Case { old, new, .. } = case(STORY);
    let press = Press::open(&old, 1).await;
    press.author("a0", "ann").await.unwrap();
    press.put_at("STORIES#s1", "META").await;
    let refused = press.start(&new).await.unwrap_err();
    let PlanError::Design(DesignError::Occupied { key, .. }) = refused else {
        panic!("{refused}");
    };
    assert_eq!(key.0, "STORIES#s1");
}

/// Until the switch an item is where it was, and from then on where the new design has it; the
/// other one goes.
#[tokio::test]
async fn an_item_is_kept_under_both_keys_and_under_one_in_the_end() {
    let Case { old, new, .. } = case(STORY);
    for end in [End::Completed, End::RolledBack, End::SwitchedBack] {
        let press = Press::open(&old, 1).await;
        press.author("a0", "ann").await.unwrap();
        press.story("s1").await.unwrap();
        press.start(&new).await.unwrap();
        press.story("s2").await.unwrap();
        press.drive().await;
        let stories = |items: Vec<Item>| -> Vec<(Value, Value)> {
            let stories = items
                .into_iter()
                .filter(|one| one["Kind"] == "Story".into());
            let stories = stories.map(|one| (one["PK"].clone(), one["SK"].clone()));
            let mut stories: Vec<_> = stories.collect();
            stories.sort_by_key(|key| format!("{key:?}"));
            stories
        };
        assert_eq!(stories(press.items().await).len(), 4);
        press.show("s1").await.unwrap();
        if end == End::RolledBack {
            press.current.roll_back().await.unwrap();
        } else {
            press.current.switch().await.unwrap();
            assert_eq!(stories(press.items().await).len(), 4);
            press.story("s3").await.unwrap();
            let twice = press.story("s2").await.unwrap_err();
            assert!(matches!(twice, PlanError::Exists { .. }), "{twice}");
            press.remove_story("s2").await.unwrap();
        }
        match end {
            End::Completed => drop(press.current.complete().await.unwrap()),
            End::SwitchedBack => drop(press.current.roll_back().await.unwrap()),
            _ => {}
        }
        press.drive().await;
        press.expect_settled("settled").await;
        let (partition, sort) = match end {
            End::Completed => ("STORIES", "META"),
            _ => ("STORY", "STORY"),
        };
        let ids = if end == End::RolledBack {
            ["s1", "s2"]
        } else {
            ["s1", "s3"]
        };
        let expected = ids.map(|id| (format!("{partition}#{id}").as_str().into(), sort.into()));
        assert_eq!(stories(press.items().await), expected);
    }
}

/// A job knows its items by their keys.
#[tokio::test]
async fn a_switch_waits_for_jobs_whose_items_have_other_keys_then() {
    let Case { old, new, .. } = case(STORY);
    let press = Press::open(&old, 1).await;
    press.author("a0", "ann").await.unwrap();
    press.story("s1").await.unwrap();
    for _ in 0..150 {
        press.show("s1").await.unwrap();
        press.hide("s1").await.unwrap();
    }
    press.start(&new).await.unwrap();
    assert_eq!(press.drive().await.stage, Stage::Filled);
    press.remove_story("s1").await.unwrap();
    let refused = press.current.switch().await.unwrap_err();
    assert!(
        matches!(refused, PlanError::Migration(MigrationError::Jobs { .. })),
        "{refused}"
    );
    press.current.get().run_jobs().await.unwrap();
    press.current.switch().await.unwrap();
    press.expect_right("switched").await;
}

/// Both of an item's keys are in the index, and both marks are stored. It is found once, by the name
/// that callers know.
#[tokio::test]
async fn items_are_found_once_and_by_their_name_in_every_stage() {
    let by_mark =
        "\n[pattern.marked]\nquery = \"PK = 'STORY#{storyId}'\"\nfilter = \"Kind = 'Like'\"\n";
    let voted = case("another name of an entity");
    let voted = (
        format!("{}{by_mark}", voted.old),
        format!("{}{}", voted.new, by_mark.replace("Like", "Vote")),
        ("marked", "storyId", "s1"),
        ["Like", "Vote"],
    );
    let moved = case(STORY);
    let moved = (
        moved.old,
        moved.new,
        ("ofAuthor", "authorId", "a0"),
        ["Story"; 2],
    );
    for (old, new, (pattern, name, value), [before, after]) in [voted, moved] {
        for end in [End::Completed, End::SwitchedBack] {
            let press = Press::open(&old, 1).await;
            press.author("a0", "ann").await.unwrap();
            press.story("s1").await.unwrap();
            press.like("s1", "u1", 1).await.unwrap();
            let expect = async |expected: &str| {
                assert_eq!(press.found(pattern, (name, value)).await, [expected]);
            };
            press.start(&new).await.unwrap();
            expect(before).await;
            press.drive().await;
            expect(before).await;
            press.current.switch().await.unwrap();
            expect(after).await;
            press.drive().await;
            expect(after).await;
            let last = if end == End::Completed {
                press.current.complete().await.unwrap();
                after
            } else {
                press.current.roll_back().await.unwrap();
                before
            };
            expect(last).await;
            press.drive().await;
            expect(last).await;
            press.expect_settled("settled").await;
        }
    }
}
