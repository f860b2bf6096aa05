//! Effects against each other: one write changes one attribute of one item once.
//!
//! What a write does is known from its action, and from the triggers that it fires. Two of them
//! clash when they write the same attribute of the same item, and when one happens whenever the
//! other does: then there are writes with both. Effects whose conditions merely differ are taken
//! to exclude each other, because that cannot be seen here. Triggers that an action cannot fire
//! follow from what it sets.

use std::borrow::Cow;

use partita_core::expression::{self, Condition, Found, Path, Span};

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{
    Access, Action, Assignments, Design, Effect, EffectTarget, EventKind, RecordId, Ref, Trigger,
};
use crate::expression::{Origin, Predicate};

/// Reports two effects of one write that change one attribute of one item.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let scope = Scope { symbols, design };
    for action in &design.actions {
        for record in action.on.records() {
            if scope.in_action(action, *record) {
                break;
            }
        }
    }
    let triggers = &design.triggers;
    for (index, one) in triggers.iter().enumerate() {
        for two in &triggers[index + 1..] {
            if one.on.of == two.on.of && meet(one.on.kind, two.on.kind) {
                let span = symbols[two.id].1;
                let related = symbols[one.id].1;
                scope.between(
                    (&scope.of_trigger(one), &scope.of_trigger(two)),
                    (span, Some(related)),
                );
            }
        }
    }
}

/// Whether some write is both.
fn meet(one: EventKind, two: EventKind) -> bool {
    let covers = |wide, narrow| {
        wide == EventKind::Write && matches!(narrow, EventKind::Create | EventKind::Update)
    };
    one == two || covers(one, two) || covers(two, one)
}

struct Scope<'w> {
    symbols: &'w Symbols,
    design: &'w Design,
}

/// Something that a write does to an item.
struct Change<'e> {
    /// Who says so, in messages.
    by: String,
    item: Option<Item<'e>>,
    changes: &'e Assignments,
    /// All of these hold when it happens. What turns true is another condition than what is true.
    conditions: Vec<(bool, &'e Condition)>,
}

/// Which item, as seen from the one that is written: the record, and a path for each part of its
/// identity. A ref and an identity that is written out can mean the same item.
#[derive(PartialEq)]
struct Item<'e> {
    record: RecordId,
    parts: Vec<(String, String)>,
    /// The list or pattern whose element the paths begin with.
    each: Option<&'e crate::design::Each>,
}

impl<'w> Scope<'w> {
    /// Reports what clashes in one action; whether something did.
    fn in_action(&self, action: &Action, record: RecordId) -> bool {
        let span = self.symbols[action.id].1;
        let facts = Facts { action };
        let mut changes = vec![Change {
            by: format!("`{}`", action.name),
            item: Some(self.itself(record)),
            changes: &action.changes,
            conditions: Vec::new(),
        }];
        for effect in &action.then {
            let by = format!("an effect of `{}`", action.name);
            let change = self.of_effect(by, effect, None, record, &action.refs);
            changes.extend(facts.reduce(change));
        }
        let own = changes.len();
        let access = if action.delete {
            Access::Delete
        } else {
            Access::Update
        };
        let is_fired =
            |trigger: &&Trigger| trigger.on.of == record && trigger.on.kind.includes(access);
        for trigger in self.design.triggers.iter().filter(is_fired) {
            let turns = trigger.turns.as_ref();
            if turns.is_none_or(|turns| facts.may_turn(turns)) {
                changes.extend(facts.reduce(self.of_trigger(trigger)));
            }
        }
        // Two triggers are compared with each other, whatever fires them.
        for (index, one) in changes[..own].iter().enumerate() {
            for two in &changes[index + 1..] {
                if self.between((one, two), (span, None)) {
                    return true;
                }
            }
        }
        false
    }

    fn of_trigger<'e>(&'e self, trigger: &'e Trigger) -> Change<'e> {
        let by = format!("`{}`", trigger.name);
        let turns = trigger.turns.as_ref();
        self.of_effect(by, &trigger.effect, turns, trigger.on.of, &[])
    }

    fn of_effect<'e>(
        &'e self,
        by: String,
        effect: &'e Effect,
        turns: Option<&'e Predicate>,
        of: RecordId,
        refs: &'e [Ref],
    ) -> Change<'e> {
        let mut conditions = Vec::new();
        for (is_turn, predicate) in [(true, turns), (false, effect.when.as_ref())] {
            let parts = predicate.map_or(&[][..], |predicate| parts(&predicate.tree));
            conditions.extend(parts.iter().map(|part| (is_turn, part)));
        }
        Change {
            by,
            item: self.item(effect, of, refs),
            changes: &effect.changes,
            conditions,
        }
    }

    /// The item that an action or a trigger is about.
    fn itself<'e>(&self, record: RecordId) -> Item<'e> {
        let identity = self.design[record].identity.iter();
        let parts = identity.map(|part| (part.attribute.clone(), part.attribute.clone()));
        Item {
            record,
            parts: parts.collect(),
            each: None,
        }
    }

    fn item<'e>(&'e self, effect: &'e Effect, of: RecordId, refs: &'e [Ref]) -> Option<Item<'e>> {
        let each = effect.each.as_ref();
        match &effect.target {
            EffectTarget::Identity { record, parts } => {
                let by_element = |(_, reading): &(String, crate::expression::Reading)| {
                    matches!(reading.origin, Origin::Element(_))
                };
                Some(Item {
                    record: *record,
                    parts: parts
                        .iter()
                        .map(|(part, reading)| (part.clone(), reading.path.to_string()))
                        .collect(),
                    each: each.filter(|_| parts.iter().any(by_element)),
                })
            }
            EffectTarget::Element(record) => Some(Item {
                record: *record,
                parts: Vec::new(),
                each,
            }),
            EffectTarget::Ref { name, .. } => self.led_to(name, of, refs),
            // What is created has an identity of its own.
            EffectTarget::Entity(_) | EffectTarget::Mail(_) | EffectTarget::Receiver { .. } => None,
        }
    }

    /// The item that a ref leads to. One of several targets has no form of its own.
    fn led_to<'e>(&'e self, name: &str, of: RecordId, refs: &'e [Ref]) -> Option<Item<'e>> {
        let own = &self.design[of].refs;
        let reference = refs.iter().chain(own).find(|one| one.name == name)?;
        let (record, target) = reference.single()?;
        if reference.is_many() || target.via.is_some() {
            return None;
        }
        Some(Item {
            record,
            parts: target
                .arguments
                .iter()
                .map(|argument| (argument.part.clone(), argument.path.clone()))
                .collect(),
            each: None,
        })
    }

    /// Reports two changes that clash.
    fn between(
        &self,
        (one, two): (&Change<'_>, &Change<'_>),
        (span, related): (Span, Option<Span>),
    ) -> bool {
        let is_same_item = one.item.is_some() && one.item == two.item;
        let is_together =
            follows(&one.conditions, &two.conditions) || follows(&two.conditions, &one.conditions);
        let name = if is_same_item && is_together {
            twice(one.changes, two.changes)
        } else {
            None
        };
        let Some(name) = name else { return false };
        let other = if one.by == two.by { "another" } else { &two.by };
        let message = format!("{} and {other} both write `{name}` of one item", one.by);
        let finding = self
            .symbols
            .report(Code::TwoWrites, span, message)
            .help("join them, or give each a `when` that excludes the other");
        if let Some(related) = related {
            finding.related(related, "the other trigger");
        }
        true
    }
}

/// Whether all conditions are among others.
fn follows(conditions: &[(bool, &Condition)], others: &[(bool, &Condition)]) -> bool {
    conditions.iter().all(|one| others.contains(one))
}

/// The parts of a condition that must all hold.
fn parts(condition: &Condition) -> &[Condition] {
    match condition {
        Condition::All(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

/// The attribute that both change. Additions add up.
fn twice<'e>(one: &'e Assignments, two: &Assignments) -> Option<&'e str> {
    let adds = |changes: &Assignments, name: &str| changes.add.iter().any(|(it, _)| it == name);
    let is_twice = |name: &&str| {
        let mut others = two.names();
        others.any(|other| other == *name) && !(adds(one, name) && adds(two, name))
    };
    one.names().find(is_twice)
}

/// What is known of the item in every write of an action.
struct Facts<'a> {
    action: &'a Action,
}

impl Facts<'_> {
    /// A change without the conditions that are known to hold; `None` if it cannot happen.
    fn reduce<'e>(&self, mut change: Change<'e>) -> Option<Change<'e>> {
        let outcome = |condition: &Condition| condition.decide(self);
        let mut conditions = change.conditions.iter();
        if conditions.any(|(_, condition)| outcome(condition) == Some(false)) {
            return None;
        }
        change
            .conditions
            .retain(|(_, condition)| outcome(condition) != Some(true));
        Some(change)
    }

    /// Whether the action changes something that a condition looks at.
    fn may_turn(&self, turns: &Predicate) -> bool {
        let changes = &self.action.changes;
        let is_changed = |name: &str| {
            let input = self.action.input.iter().map(String::as_str);
            changes.names().chain(input).any(|one| one == name)
        };
        turns.own_attributes().any(is_changed)
    }
}

impl expression::Scope for Facts<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        let name = path.to_string();
        let changes = &self.action.changes;
        let set = changes.set.iter().find(|(set, _)| *set == name);
        match set.and_then(|(_, formula)| formula.literal()) {
            Some(value) => Found::Value(Cow::Borrowed(value)),
            None if changes.remove.contains(&name) => Found::Missing,
            None => Found::Unknown,
        }
    }
}
