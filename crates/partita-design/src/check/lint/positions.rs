//! Positions that are taken from a count.

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Access, Design, Effect, EffectKind, Record, Rule, Source};
use crate::expression::Reading;
use partita_core::wording::one;

/// Warns of a position that is the count of its siblings, where siblings can be deleted.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for entity in design.entities() {
        if !can_be_deleted(entity, design) {
            continue;
        }
        for attribute in &entity.attributes {
            let Source::Computed(computed) = &attribute.source else {
                continue;
            };
            let mut reads = computed.value.reads.iter();
            let counted = reads.find(|reading| counts(design, reading) == Some(true));
            let Some(reading) = counted else { continue };
            let span = symbols[entity.id].span_of(&attribute.name);
            let message = format!(
                "`{}` falls when {} is deleted, and then {} repeats",
                reading.path,
                one(&entity.name),
                one(&attribute.name)
            );
            symbols
                .report(Code::RepeatedPosition, span, message)
                .help("take it from a `counter` of the same item that only grows")
                .acceptable(vec![vec![format!(
                    "entity.{}.{}",
                    entity.name, attribute.name
                )]]);
        }
    }
}

/// Whether what is read through a ref counts the very items that refer.
fn counts(design: &Design, reading: &Reading) -> Option<bool> {
    let [hop] = reading.hops.as_slice() else {
        return None;
    };
    let target = design.reference(hop)?.records().next()?;
    let Source::Aggregate(aggregate) = &design[target].stored(&reading.attribute)?.source else {
        return None;
    };
    let is_same = hop.reference == Some((aggregate.of, aggregate.by));
    Some(aggregate.sum.is_none() && is_same)
}

fn can_be_deleted(entity: &Record, design: &Design) -> bool {
    let deletes = |effect: &Effect| {
        effect.kind == EffectKind::Delete && effect.target.records().contains(&entity.id)
    };
    let by_trigger = design.triggers.iter().any(|one| deletes(&one.effect));
    let by_action = design.actions.iter().any(|action| {
        let is_own = action.on.records().contains(&entity.id);
        action.delete && is_own || action.then.iter().any(deletes)
    });
    let may = |access| *entity.rules.get(access) != Rule::Never;
    may(Access::Delete) || may(Access::Purge) || by_trigger || by_action
}
