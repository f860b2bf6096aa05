//! Positions that are taken from a count.

use super::world::World;
use crate::codes::Code;
use crate::design::{
    Access, Action, Effect, EffectKind, Entity, RecordName, Rule, Source, Trigger,
};
use crate::diagnostic::Report;

/// Warns of a position that is the count of its siblings, where siblings can be deleted.
pub(crate) fn check(
    world: &World,
    entities: &[Option<Entity>],
    triggers: &[Option<Trigger>],
    actions: &[Option<Action>],
    report: &mut Report,
) {
    for entity in entities.iter().flatten() {
        let name = RecordName::Entity(entity.name.clone());
        if !can_be_deleted(entity, &name, triggers, actions) {
            continue;
        }
        for attribute in &entity.attributes {
            let Source::Computed(computed) = &attribute.source else {
                continue;
            };
            let counted = computed.value.reads.iter().find(|reading| {
                let [hop] = reading.hops.as_slice() else {
                    return false;
                };
                let end = &reading.attribute;
                counts(world, entities, &entity.name, &hop.reference, end) == Some(true)
            });
            let Some(reading) = counted else { continue };
            let record = world.find(&entity.name).map(|(_, record)| record);
            let declared = record.and_then(|record| record.find(&attribute.name));
            let span = declared.map_or(Default::default(), |one| one.span);
            let message = format!(
                "`{}` falls when a `{}` is deleted, and then a `{}` repeats",
                reading.path, entity.name, attribute.name
            );
            report
                .add(Code::RepeatedPosition, span, message)
                .help("take it from a `counter` of the same item that only grows")
                .acceptable(vec![vec![format!(
                    "entity.{}.{}",
                    entity.name, attribute.name
                )]]);
        }
    }
}

/// Whether the attribute that a ref leads to counts the very items that refer.
fn counts(
    world: &World,
    entities: &[Option<Entity>],
    entity: &str,
    reference: &str,
    attribute: &str,
) -> Option<bool> {
    let (_, record) = world.find(entity)?;
    let declared = record.refs.iter().find(|one| one.name.0 == reference)?;
    let target = declared.targets.iter().find_map(|target| match target {
        super::reference::DeclaredTarget::Record { record, .. } => {
            Some(world.records[*record].title())
        }
        _ => None,
    })?;
    let target = entities.iter().flatten().find(|one| one.name == target)?;
    let Source::Aggregate(aggregate) = &target.attribute(attribute)?.source else {
        return None;
    };
    Some(aggregate.sum.is_none() && aggregate.of.as_str() == entity && aggregate.by == reference)
}

fn can_be_deleted(
    entity: &Entity,
    name: &RecordName,
    triggers: &[Option<Trigger>],
    actions: &[Option<Action>],
) -> bool {
    let deletes = |effect: &Effect| {
        effect.kind == EffectKind::Delete && effect.target.records().contains(name)
    };
    let by_trigger = triggers.iter().flatten().any(|one| deletes(&one.effect));
    let by_action = actions.iter().flatten().any(|action| {
        let is_own = match &action.on {
            crate::design::ActionOn::Items(records) => records.contains(name),
            crate::design::ActionOn::Found { record, .. } => record == name,
            crate::design::ActionOn::Every(_) => false,
        };
        action.delete && is_own || action.then.iter().any(deletes)
    });
    *entity.rules.get(Access::Delete) != Rule::Never || by_trigger || by_action
}
