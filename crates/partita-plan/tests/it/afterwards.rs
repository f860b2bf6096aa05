//! Who the caller is to an item holds before a change and after it: in a batch, by groups, as `can`
//! says, and while memberships change meanwhile.
//!
//! The scenarios of the design `boards` have the other ways to change an item.

use std::sync::Arc;

use partita_core::Map;
use partita_plan::{Caller, Operation, Partita, PlanError};
use partita_store::ModelStore;

use crate::stage::{open, texts};

const DESIGN: &str = include_str!("../../../partita/tests/designs/boards/boards.toml");

fn create(entity: &str, given: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    }
}

fn update(entity: &str, identity: &[&str], changes: Map) -> Operation {
    Operation::Update {
        entity: entity.into(),
        identity: identity.iter().map(|part| (*part).to_owned()).collect(),
        changes,
        with_deleted: false,
        version: None,
    }
}

/// Two organisations of ann's; bob is an editor in those that are named.
async fn boards(design: &str, seed: u64, editor_in: &[&str]) -> Partita {
    let partita = open(design, Arc::new(ModelStore::default()), seed).await;
    let ann = Caller::user("ann");
    for org in ["A", "B"] {
        let made = create("Org", &[("orgId", org)]);
        partita.run(&ann, made).await.unwrap();
    }
    for org in editor_in {
        let member = [("orgId", *org), ("userId", "bob"), ("role", "editor")];
        partita.run(&ann, create("Member", &member)).await.unwrap();
    }
    let card = create("Card", &[("cardId", "c"), ("orgId", "A"), ("text", "one")]);
    partita.run(&Caller::user("bob"), card).await.unwrap();
    partita
}

fn carried_to(org: &str) -> Operation {
    update("Card", &["c"], texts(&[("orgId", org)]))
}

#[tokio::test]
async fn a_batch_carries_nothing_over_either() {
    let partita = boards(DESIGN, 1, &["A"]).await;
    let bob = Caller::user("bob");
    let harmless = update("Card", &["c"], texts(&[("text", "two")]));
    let refused = partita.run_all(&bob, vec![harmless, carried_to("B")]).await;
    let Err(PlanError::Batch { refusals }) = refused else {
        panic!("{refused:?}")
    };
    let of: Vec<usize> = refusals.iter().map(|one| one.position).collect();
    assert_eq!(of, [1]);
    // Ann makes bob an editor there, and carries nothing herself; bob may from then on.
    let member = [("orgId", "B"), ("userId", "bob"), ("role", "editor")];
    let ann = Caller::user("ann");
    partita.run(&ann, create("Member", &member)).await.unwrap();
    partita.run_all(&bob, vec![carried_to("B")]).await.unwrap();
}

#[tokio::test]
async fn a_refusal_says_that_the_rule_holds_afterwards_too() {
    let partita = boards(DESIGN, 2, &["A"]).await;
    let refused = partita.run(&Caller::user("bob"), carried_to("B")).await;
    let there = refused.unwrap_err();
    assert_eq!(
        there.to_string(),
        "the rule `me.role = 'editor' AND status = 'draft'` does not let you update this `Card` \
         so: it must hold after the change, too"
    );
    let missing = partita.run(&Caller::user("bob"), carried_to("Z")).await;
    assert_eq!(missing.unwrap_err(), there);
}

#[tokio::test]
async fn groups_are_asked_for_again() {
    let partita = open(DESIGN, Arc::new(ModelStore::default()), 3).await;
    let bob = Caller {
        groups: vec!["red".to_owned()],
        ..Caller::user("bob")
    };
    let post = [("postId", "p"), ("groupId", "red"), ("text", "one")];
    partita.run(&bob, create("Post", &post)).await.unwrap();
    let blue = update("Post", &["p"], texts(&[("groupId", "blue")]));
    let refused = partita.run(&bob, blue.clone()).await;
    assert!(matches!(refused, Err(PlanError::Forbidden { .. })));
    let both = Caller {
        groups: vec!["red".to_owned(), "blue".to_owned()],
        ..bob
    };
    partita.run(&both, blue).await.unwrap();
}

#[tokio::test]
async fn can_says_what_the_write_does() {
    for (seed, editor_in) in [(4, &["A"][..]), (5, &["A", "B"][..])] {
        let partita = boards(DESIGN, seed, editor_in).await;
        let bob = Caller::user("bob");
        let carry = Operation::Act {
            action: "carry".into(),
            entity: Some("Card".into()),
            identity: vec!["c".to_owned()],
            given: texts(&[("orgId", "B")]),
            version: None,
        };
        let note = create("Note", &[("noteId", "n"), ("author", "bob"), ("text", "x")]);
        partita.run(&bob, note).await.unwrap();
        let again = create("Note", &[("noteId", "n"), ("author", "ann"), ("text", "x")]);
        let named = update("Note", &["n"], texts(&[("author", "ann")]));
        for asked in [carried_to("A"), carried_to("B"), carry, again, named] {
            let can = partita.can(&bob, asked.clone()).await.unwrap();
            let admitted = partita.admit_all(&bob, vec![asked.clone()]).await;
            assert_eq!(can.is_allowed, admitted.is_ok(), "{asked:?}");
        }
    }
}

/// A rule that excludes finds nothing to exclude where there is nothing: what is there and may not
/// be read answers as what is not there.
#[tokio::test]
async fn a_rule_that_excludes_does_not_tell_of_what_is_there() {
    let design = DESIGN.replace(
        r#""*" = "owner = caller AND box.owner = caller""#,
        r#""*" = "owner = caller AND box.text <> 'shut'""#,
    );
    let partita = open(&design, Arc::new(ModelStore::default()), 6).await;
    let (ann, bob) = (Caller::user("ann"), Caller::user("bob"));
    let shut = create("Box", &[("boxId", "anns"), ("text", "shut")]);
    partita.run(&ann, shut).await.unwrap();
    for made in [
        create("Box", &[("boxId", "bobs")]),
        create("Key", &[("keyId", "k"), ("boxId", "bobs")]),
    ] {
        partita.run(&bob, made).await.unwrap();
    }
    let turned = |to: &str| update("Key", &["k"], texts(&[("boxId", to)]));
    let there = partita.run(&bob, turned("anns")).await.unwrap_err();
    let missing = partita.run(&bob, turned("missing")).await.unwrap_err();
    assert!(matches!(missing, PlanError::Invalid { .. }), "{missing}");
    assert_eq!(there, missing);
}

/// Whoever leaves the other organisation meanwhile carries nothing into it.
#[tokio::test]
async fn what_was_found_there_is_guarded() {
    let partita = boards(DESIGN, 7, &["A", "B"]).await;
    let bob = Caller::user("bob");
    let preview = partita.preview(&bob, carried_to("B")).await.unwrap();
    let printed = format!("{preview:?}");
    let there = printed.matches("MEMBER#bob").count();
    assert!(there >= 2, "both memberships are looked at: {printed}");
}

/// For every pair of organisations and every membership: a change passes exactly if a creation
/// with the same values would pass, and the change of the item as it was. The same law finds a rule
/// that does not ask for the place.
#[tokio::test]
async fn a_change_passes_where_a_creation_would() {
    let careless = DESIGN.replace(
        r#""*"    = "me.role = 'editor' AND status = 'draft'""#,
        r#""*"    = "caller.role <> 'guest' OR status = 'draft'""#,
    );
    assert_ne!(careless, DESIGN);
    assert_eq!(exceptions(DESIGN, 10).await, Vec::<String>::new());
    assert_eq!(exceptions(&careless, 20).await, ["A to B"]);
}

async fn exceptions(design: &str, seed: u64) -> Vec<String> {
    let mut found = Vec::new();
    for (more, editor_in) in [(0, &["A"][..]), (1, &["A", "B"][..])] {
        for to in ["A", "B", "missing"] {
            let partita = boards(design, seed + more, editor_in).await;
            let bob = Caller::user("bob");
            let made = create("Card", &[("cardId", "d"), ("orgId", to), ("text", "one")]);
            let created = partita.run(&bob, made).await.is_ok();
            let carried = partita.run(&bob, carried_to(to)).await.is_ok();
            if created != carried {
                found.push(format!("A to {to}"));
            }
        }
    }
    found
}

/// Where an item belongs is no state of it, also where the rule asks only whether it belongs
/// somewhere.
#[tokio::test]
async fn an_item_that_belongs_nowhere_is_not_carried_to_a_strangers_place() {
    let design = r#"
        design = "places"

        [table]
        name = "places"
        key  = ["PK", "SK"]

        [entity.Proj]
        PK = "PROJ#{projId}"
        SK = "PROJ"

        [entity.Proj.attributes]
        projId  = "string /^[^#]+$/"
        ownerId = "string = caller on create"

        [entity.Proj.allow]
        "*" = "ownerId = caller"

        [entity.Task]
        PK = "TASK#{taskId}"
        SK = "TASK"

        [entity.Task.attributes]
        taskId = "string /^[^#]+$/"
        owner  = "string = caller on create"
        projId = "string? /^[^#]+$/"

        [entity.Task.refs]
        proj = "Proj"

        [entity.Task.allow]
        "*" = "attribute_not_exists(projId) AND owner = caller OR proj.ownerId = caller"
    "#;
    let partita = open(design, Arc::new(ModelStore::default()), 7).await;
    let (ann, bob) = (Caller::user("ann"), Caller::user("bob"));
    for (caller, project) in [(&ann, "anns"), (&bob, "bobs")] {
        let made = create("Proj", &[("projId", project)]);
        partita.run(caller, made).await.unwrap();
    }
    let task = create("Task", &[("taskId", "t")]);
    partita.run(&bob, task).await.unwrap();
    let to = |project| update("Task", &["t"], texts(&[("projId", project)]));
    partita.run(&bob, to("anns")).await.unwrap_err();
    partita.run(&bob, to("bobs")).await.unwrap();
}
