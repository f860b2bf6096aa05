//! Counters that start again with every period, against what adds to them.

use partita_core::expression::Span;

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Assignments, Design, Effect, EffectKind, Record, RecordId, Source, Timing};
use crate::syntax::Word;

/// Warns of what adds to a counter of a period and does not set its time: once the period is over
/// the counter reads as 0, and what is added to it is lost.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for action in &design.actions {
        let place = Place::new(symbols, "action", &symbols[action.id]);
        let write = Write {
            changes: &action.changes,
            input: &action.input,
            kind: Kind::Action,
        };
        place.check(design, action.on.records(), &write);
        for effect in &action.then {
            place.check_effect(design, effect);
        }
    }
    for trigger in &design.triggers {
        let place = Place::new(symbols, "trigger", &symbols[trigger.id]);
        place.check_effect(design, &trigger.effect);
    }
}

/// The action or trigger that a warning is about.
struct Place<'w> {
    symbols: &'w Symbols,
    name: &'w str,
    at: String,
    span: Span,
}

impl<'w> Place<'w> {
    fn new(symbols: &'w Symbols, section: &str, (name, span): &'w Word) -> Self {
        Place {
            symbols,
            name,
            at: format!("{section}.{name}"),
            span: *span,
        }
    }

    fn check_effect(&self, design: &Design, effect: &Effect) {
        let write = Write {
            changes: &effect.changes,
            input: &[],
            kind: match effect.kind {
                EffectKind::Create => Kind::Creation,
                _ => Kind::Effect,
            },
        };
        self.check(design, effect.target.records(), &write);
    }

    fn check(&self, design: &Design, records: &[RecordId], write: &Write<'_>) {
        for record in records {
            for (counter, time) in write.lost(&design[*record]) {
                let message = format!(
                    "`{}` adds to `{counter}`, and does not set `{time}`, the time of its period",
                    self.name
                );
                let record = &design[*record];
                let is_given = record
                    .stored(time)
                    .is_some_and(|one| matches!(one.source, Source::Given { .. }));
                let help = if is_given {
                    format!("write `set = {{ {time} = \"{{now}}\" }}` beside it")
                } else {
                    format!("effects do not stamp `{time}`: set a time of its own beside it")
                };
                self.symbols
                    .report(Code::CounterWithoutTime, self.span, message)
                    .help(help)
                    .acceptable(vec![vec![self.at.clone()]]);
            }
        }
    }
}

/// What becomes of an item.
struct Write<'w> {
    changes: &'w Assignments,
    input: &'w [String],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Action,
    Creation,
    Effect,
}

impl Write<'_> {
    /// The counters that are added to without their time.
    fn lost<'r>(&self, record: &'r Record) -> Vec<(&'r str, &'r str)> {
        let counters = record.attributes.iter().filter_map(|attribute| {
            let (_, time) = attribute.per.as_ref()?;
            Some((attribute.name.as_str(), time.as_str()))
        });
        let is_lost = |(counter, time): &(&str, &str)| {
            self.changes.add.iter().any(|(name, _)| name == counter) && !self.sets(record, time)
        };
        counters.filter(is_lost).collect()
    }

    /// Whether an attribute has a new value afterwards.
    fn sets(&self, record: &Record, name: &str) -> bool {
        let is_given = |name: &str| {
            let mut set = self.changes.set.iter();
            set.any(|(one, _)| one == name) || self.input.iter().any(|one| one == name)
        };
        if is_given(name) {
            return true;
        }
        let source = record.stored(name).map(|attribute| &attribute.source);
        let is_new = self.kind == Kind::Creation;
        match source {
            Some(Source::Given { default }) => is_new && default.is_some(),
            Some(Source::Computed(computed)) => match &computed.timing {
                // Callers' writes are stamped, actions among them, and effects are not.
                Timing::Write => is_new || self.kind == Kind::Action,
                Timing::Always => is_new || computed.value.own_attributes().any(is_given),
                Timing::Ref | Timing::Create | Timing::Once(_) => is_new,
            },
            _ => false,
        }
    }
}
