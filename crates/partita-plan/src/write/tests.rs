//! Plans to the letter: what each operation on a story becomes.

use partita_core::expression::Renderer;
use partita_store::request::TransactAction;

use super::*;
use crate::operation::Caller;

const STORY: &str = "01JGFJJZ00000000000000DVNE";

fn blueprint() -> Blueprint {
    let source = partita_design::shipped::find("stories").unwrap().source;
    let (design, diagnostics) = partita_design::check(source, &|_| None);
    Blueprint::new(design.unwrap_or_else(|| panic!("{diagnostics:?}"))).unwrap()
}

fn story(deleted: bool) -> Map {
    let text = |name: &str, text: &str| (name.to_owned(), Value::from(text));
    Map::from([
        text("userId", "ann"),
        text("id", STORY),
        text("title", "Dune"),
        text("CreatedAt", "2026-01-01T10:00:00.000Z"),
        text("UpdatedAt", "2026-01-01T10:00:00.000Z"),
        ("deleted".to_owned(), Value::Bool(deleted)),
    ])
}

fn node() -> Map {
    let text = |name: &str, text: &str| (name.to_owned(), Value::from(text));
    Map::from([
        text("userId", "ann"),
        text("storyId", STORY),
        text("id", "01JGFJJZ0000000000000NDE01"),
        text("mood", "dark"),
    ])
}

fn existing<'a>(
    blueprint: &'a Blueprint,
    entity: &str,
    attributes: Map,
    access: Access,
) -> Existing<'a> {
    let entity = blueprint.entity(entity).unwrap();
    let address = blueprint.address(&entity.key, &attributes).unwrap();
    Existing {
        entity,
        address,
        attributes,
        access,
    }
}

fn setting(name: &str, value: impl Into<Value>) -> Changes {
    let at = Value::from("2026-01-01T11:00:00.000Z");
    Changes {
        set: Map::from([
            (name.to_owned(), value.into()),
            ("UpdatedAt".to_owned(), at),
        ]),
        ..Changes::default()
    }
}

/// A plan as a person would write it down, one action a paragraph.
fn shown(plan: &WritePlan) -> String {
    let steps: Vec<String> = plan.steps.iter().map(shown_step).collect();
    steps.join("\n")
}

fn shown_step(step: &Step) -> String {
    let mut renderer = Renderer::default();
    let key = |item: &Item| {
        let part = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        format!("{} | {}", part("PK"), part("SK"))
    };
    let mut condition = |condition: &Condition| format!("\n  if {}", renderer.condition(condition));
    let text = match &step.action {
        TransactAction::Put(put) => {
            let attributes = serde_json::to_string(&put.item).unwrap();
            let guard = put
                .condition
                .as_ref()
                .map(&mut condition)
                .unwrap_or_default();
            format!("put {}\n  {attributes}{guard}", key(&put.item))
        }
        TransactAction::Update(update) => {
            let guard = update
                .condition
                .as_ref()
                .map(&mut condition)
                .unwrap_or_default();
            let set = renderer.update(&update.update);
            format!("update {}\n  {set}{guard}", key(&update.key))
        }
        TransactAction::Delete(delete) => {
            let guard = delete
                .condition
                .as_ref()
                .map(&mut condition)
                .unwrap_or_default();
            format!("delete {}{guard}", key(&delete.key))
        }
        TransactAction::Check(check) => {
            format!("check {}{}", key(&check.key), condition(&check.condition))
        }
    };
    let (names, values) = renderer.into_bindings();
    // The longest placeholders first, so that `#n1` does not eat into `#n10`.
    let text = names.iter().rev().fold(text, |text, (placeholder, name)| {
        text.replace(placeholder, name)
    });
    let text = values
        .iter()
        .rev()
        .fold(text, |text, (placeholder, value)| {
            text.replace(placeholder, &serde_json::to_string(value).unwrap())
        });
    format!("{text}\n  otherwise {:?}\n", step.refusal)
}

#[test]
fn plans() {
    let blueprint = blueprint();
    let caller = Caller::user("ann");
    let create = |entity: &str, attributes: &Map| {
        let subject = Subject {
            caller: &caller,
            attributes,
            complete: true,
        };
        blueprint
            .create(blueprint.entity(entity).unwrap(), subject)
            .unwrap()
    };
    insta::assert_snapshot!("create_story", shown(&create("Story", &story(false))));
    insta::assert_snapshot!("create_node", shown(&create("Node", &node())));

    let live = existing(&blueprint, "Story", story(false), Access::Update);
    let renamed = blueprint
        .update(&live, &setting("title", "Dune Messiah"))
        .unwrap();
    insta::assert_snapshot!("rename_story", shown(&renamed));
    let deleted = blueprint.update(&live, &setting("deleted", true)).unwrap();
    insta::assert_snapshot!("delete_story", shown(&deleted));

    let gone = existing(&blueprint, "Story", story(true), Access::Restore);
    let restored = blueprint.update(&gone, &setting("deleted", false)).unwrap();
    insta::assert_snapshot!("restore_story", shown(&restored));

    let node = existing(&blueprint, "Node", node(), Access::Delete);
    let removed = blueprint.remove_item(&node).unwrap();
    insta::assert_snapshot!("delete_node", shown(&removed));
}
