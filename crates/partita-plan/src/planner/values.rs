//! What is computed from an item and its refs, and whether the result is a good item.

use std::rc::Rc;

use partita_core::expression::{Comparator, Condition, Found, Operand, Scope as _};
use partita_core::{Map, Number, Value};
use partita_design::design::{Attribute, Computed, Record, Source, Timing};
use partita_design::expression::{Formula, Reading};
use partita_design::kernel::reference_inputs;
use partita_design::types::AttributeType;

use super::{By, Planner};
use crate::draft::EntryId;
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::ItemScope;
use crate::request::input::fault_of_value;
use partita_design::nested;

/// Which states an item may be given in.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Beginning {
    /// The first: it comes into being.
    First,
    /// Any: it is there already, and its steps are looked at when it changes.
    Any,
}

impl<'a> Planner<'a> {
    /// Gives a new item what it begins with before anything is computed: ids, zeros, the first
    /// version.
    pub(crate) fn begin(&mut self, entity: &'a Record, item: &mut Map) {
        for attribute in entity.attributes.iter().filter(|one| has_beginning(one)) {
            let name = &attribute.name;
            if nested::get(item, name).is_some() {
                continue;
            }
            match &attribute.source {
                Source::Generated => {
                    let id = self.new_id(&attribute.kind);
                    nested::set(item, name, Value::S(id));
                }
                _ if attribute.begins_with_zero() && attribute.optional => {
                    nested::make_room(item, name);
                }
                _ if attribute.begins_with_zero() => {
                    nested::set(item, name, Value::N(Number::ZERO));
                }
                _ => nested::set(item, name, Value::N(Number::from(1_i64))),
            }
        }
    }

    /// Computes again what follows from the changes of an item.
    pub(crate) fn recompute(
        &mut self,
        at: EntryId,
        entity: &'a Record,
        by: By,
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (before, Some(after)) = (entry.old().cloned(), entry.after.clone()) else {
            return Ok(());
        };
        let mut item = Map::clone(&after);
        self.watch(Some(at), |planner, reads| {
            let scope = planner.scope(entity, &after, reads).was(before.as_deref());
            let computed = compute(scope, &mut item, by, planner.entry(at).computed());
            let entry = planner.entry_mut(at);
            computed.iter().for_each(|name| entry.note_computed(name));
            entry.take_followed();
            planner.entry_mut(at).after = Some(Rc::new(item));
        })
    }

    /// Moves the version of an item on, once for one write. An effect adds to it, so that effects
    /// on one item do not wait for each other; counters alone leave it.
    pub(super) fn move_version(
        &mut self,
        at: EntryId,
        entity: &'a Record,
        by: By,
    ) -> Result<(), PlanError> {
        let one = Number::from(1_i64);
        let blueprint = self.context.blueprint;
        let is_aside = |name: &str| blueprint.is_aside_attribute(entity, name);
        let entry = self.entry_mut(at);
        let (Some(version), Some(old)) = (entity.version(), entry.old().cloned()) else {
            return Ok(());
        };
        let name = &version.name;
        let now = entity.number(&old, name);
        let is_moved = |new: &Rc<Map>| entity.number(new, name) != now;
        let Some(new) = entry.after.as_ref().filter(|new| !is_moved(new)) else {
            return Ok(());
        };
        match by {
            By::Effect if !is_rewritten(entity, &old, new, is_aside) => Ok(()),
            By::Effect => entry.add(name, one),
            By::Caller => {
                let next = now.and_then(|now| now.checked_add(one).ok());
                if let (Some(next), Some(after)) = (next, entry.edit()) {
                    nested::set(after, name, Value::N(next));
                    entry.guard(name);
                }
                Ok(())
            }
        }
    }

    /// Finds everything that is wrong with a new item.
    pub(crate) fn check_new(&mut self, entity: &Record, item: &Map, start: Beginning) {
        for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
            let name = &attribute.name;
            if self.is_faulty(name) {
                continue;
            }
            match nested::get(item, name) {
                None if attribute.optional || self.is_explained(attribute) => {}
                None => self.fault(entity, name, FaultRule::Required, lacking(attribute)),
                Some(value) => {
                    self.faults.extend(fault_of_value(entity, attribute, value));
                    if let (AttributeType::State(states), Some(now)) =
                        (&attribute.kind, value.as_str())
                        && let Some(first) = states.names.first()
                        && now != first
                        && start == Beginning::First
                    {
                        let message = format!("begins as `{first}`");
                        self.fault(entity, name, FaultRule::State, message);
                    }
                }
            }
        }
        self.check_files(entity, None, item);
    }

    /// Finds everything that was changed and never changes.
    pub(super) fn check_fixed(&mut self, at: EntryId, entity: &'a Record) {
        let entry = self.entry(at);
        let (Some(before), Some(after)) = (entry.old().cloned(), entry.after.clone()) else {
            return;
        };
        for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
            let name = &attribute.name;
            if nested::get(&before, name) == nested::get(&after, name) {
                continue;
            }
            if self.is_faulty(name) {
                continue;
            }
            if entity.is_identified_by(name) && !attribute.movable {
                let message = "is part of the identity and never changes";
                self.fault(entity, name, FaultRule::Identity, message);
            } else if attribute.fixed {
                let message = "is fixed and never changes";
                self.fault(entity, name, FaultRule::Fixed, message);
            }
        }
    }

    /// Finds everything that is wrong with the changes of an item.
    pub(super) fn check_changed(&mut self, at: EntryId, entity: &'a Record) {
        let entry = self.entry(at);
        let (before, after) = match (entry.old().cloned(), entry.after.clone()) {
            (Some(before), Some(after)) => (before, after),
            // An effect changes what this write creates.
            (None, Some(after)) => return self.check_new(entity, &after, Beginning::Any),
            (_, None) => return,
        };
        for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
            let name = &attribute.name;
            let (old, new) = (nested::get(&before, name), nested::get(&after, name));
            if old == new || self.is_faulty(name) {
                continue;
            }
            if let Some(new) = new {
                self.faults.extend(fault_of_value(entity, attribute, new));
                let was = entity.read(&before, name);
                self.check_step(at, entity, attribute, was.as_deref(), new);
                self.check_range(at, attribute);
            } else if !attribute.optional && !self.is_explained(attribute) {
                let message = match attribute.source {
                    Source::Computed(_) => lacking(attribute),
                    _ => "is required and cannot be removed",
                };
                self.fault(entity, name, FaultRule::Required, message);
            }
        }
        self.check_files(entity, Some(&before), &after);
    }

    /// Remembers that something is wrong with an attribute.
    pub(crate) fn fault(
        &mut self,
        entity: &Record,
        attribute: &str,
        rule: FaultRule,
        message: impl Into<String>,
    ) {
        let fault = Fault::of(&entity.name, attribute, rule, message);
        self.faults.push(fault);
    }

    /// Whether something is known to be wrong with an attribute: that is said once.
    pub(crate) fn is_faulty(&self, name: &str) -> bool {
        self.faults.iter().any(|fault| fault.attribute == name)
    }

    /// Whether a value is missing because a ref leads nowhere, which is said already, of the ref or
    /// of what it is made of.
    fn is_explained(&self, attribute: &Attribute) -> bool {
        let reads = match &attribute.source {
            Source::Copy(_) | Source::Computed(_) => attribute.reads(),
            _ => &[],
        };
        let mut refs = reads.iter().filter_map(|reading| reading.hops.first());
        refs.any(|hop| {
            let reference = self.context.blueprint.design.reference(hop);
            let mut inputs = reference.into_iter().flat_map(reference_inputs);
            self.is_faulty(&hop.name) || inputs.any(|name| self.is_faulty(name))
        })
    }

    /// A state changes only by the steps of the design, and the one that it was in is guarded.
    fn check_step(
        &mut self,
        at: EntryId,
        entity: &Record,
        attribute: &'a Attribute,
        old: Option<&Value>,
        new: &Value,
    ) {
        let AttributeType::State(states) = &attribute.kind else {
            return;
        };
        let (Some(from), Some(to)) = (old.and_then(Value::as_str), new.as_str()) else {
            return;
        };
        self.entry_mut(at).guard(&attribute.name);
        if states.allows(from, to) {
            return;
        }
        let next: Vec<String> = states
            .names
            .iter()
            .filter(|name| *name != from && states.allows(from, name))
            .map(|name| format!("`{name}`"))
            .collect();
        let rest = if next.is_empty() {
            "and stays so".to_owned()
        } else {
            format!("and can only become {}", next.join(" or "))
        };
        let message = format!("is `{from}` {rest}");
        self.fault(entity, &attribute.name, FaultRule::State, message);
    }

    /// A number that is added to stays in its range, whatever it is when the write arrives.
    pub(super) fn check_range(&mut self, at: EntryId, attribute: &'a Attribute) {
        let (AttributeType::Number(bounds) | AttributeType::Int(bounds)) = &attribute.kind else {
            return;
        };
        let Some(amount) = self.entry(at).adds().get(attribute.name.as_str()).copied() else {
            return;
        };
        let (limit, comparator) = if amount >= Number::ZERO {
            (bounds.max, Comparator::LessOrEqual)
        } else if bounds.above_min {
            (bounds.min, Comparator::Greater)
        } else {
            (bounds.min, Comparator::GreaterOrEqual)
        };
        let Some(bound) = limit.and_then(|limit| limit.checked_sub(amount).ok()) else {
            return;
        };
        let operand = Operand::Path(attribute.path());
        let mut condition = Condition::Compare(operand, comparator, Operand::value(bound));
        let entry = self.entry_mut(at);
        let lacks_it = |old: &Rc<Map>| nested::get(old, &attribute.name).is_none();
        // The sum that was checked is what a missing one becomes.
        if entry.old().is_some_and(lacks_it) {
            let is_missing = Condition::NotExists(attribute.path());
            condition = Condition::Any(vec![is_missing, condition]);
        }
        entry.guards.require(condition);
    }

    /// What the design requires of an item holds after every write to it.
    pub(crate) fn check_requirement(
        &mut self,
        at: EntryId,
        entity: &'a Record,
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (Some(require), Some(item)) = (&entity.require, entry.after.clone()) else {
            return Ok(());
        };
        // Of what is wrong by itself nothing can be required.
        if require.own_attributes().any(|name| self.is_faulty(name)) {
            return Ok(());
        }
        let old = entry.old().cloned();
        let holds = self.evaluate(at, &item, |scope| require.holds(&scope.was(old.as_deref())))?;
        if !holds {
            let name = require.own_attributes().next().unwrap_or(&entity.name);
            let message = format!("breaks the rule `{}`", require.text);
            self.fault(entity, name, FaultRule::Requirement, message);
        }
        Ok(())
    }
}

/// What is wrong where a required attribute has no value.
pub(super) fn lacking(attribute: &Attribute) -> &'static str {
    match attribute.source {
        Source::Computed(_) => {
            "cannot be computed: something that it is made of is missing, or it would have more than 38 digits"
        }
        _ => "is required",
    }
}

/// Whether a change of an item is one that its version tells.
fn is_rewritten(entity: &Record, old: &Map, new: &Map, is_aside: impl Fn(&str) -> bool) -> bool {
    let mut attributes = entity.attributes.iter();
    attributes.any(|one| {
        let name = &one.name;
        let is_told = !one.changes_beside_version() && !is_aside(name);
        is_told && nested::get(old, name) != nested::get(new, name)
    })
}

/// Computes the values of an item until nothing changes any more: one may depend on another. What
/// was computed before in the same write is computed again. Says which attributes were computed.
pub(crate) fn compute<'a>(
    scope: ItemScope<'_, 'a>,
    item: &mut Map,
    by: By,
    before: &[&'a str],
) -> Vec<&'a str> {
    let entity = scope.record;
    let mut computed = before.to_vec();
    let own = scope.context.blueprint.design.reactions.own(entity.id);
    for _ in 0..=entity.attributes.len() {
        let mut is_done = true;
        for attribute in own.computed(entity) {
            let name = attribute.name.as_str();
            let is_again = computed.contains(&name);
            let Some(value) = due(attribute, &scope.over(item), by, is_again) else {
                continue;
            };
            if !is_again {
                computed.push(name);
            }
            let value = value.map(|value| attribute.kind.adopt(value));
            if nested::get(item, &attribute.name) == value.as_ref() {
                continue;
            }
            is_done &= !own.is_basis(&attribute.name);
            match value {
                Some(value) => nested::set(item, &attribute.name, value),
                None => nested::remove(item, &attribute.name),
            }
        }
        if is_done {
            break;
        }
    }
    computed
}

/// Whether a new item has something in an attribute before anything is computed: an id, a zero, the
/// first version.
fn has_beginning(attribute: &Attribute) -> bool {
    let is_made = matches!(attribute.source, Source::Generated)
        || attribute.kind == AttributeType::Version
        || attribute.begins_with_zero();
    is_made && !attribute.is_virtual
}

/// The value of an attribute that is to be computed now, where `None` inside means that there is
/// none; `None` outside leaves the attribute alone. What was computed before in the same write is
/// due again: what it is made of may be by now as it was at first.
fn due(
    attribute: &Attribute,
    scope: &ItemScope<'_, '_>,
    by: By,
    is_again: bool,
) -> Option<Option<Value>> {
    let is_new = scope.old.is_none();
    match &attribute.source {
        Source::Given {
            default: Some(default),
        } if is_new && nested::get(scope.item, &attribute.name).is_none() => {
            Some(default.value(scope))
        }
        Source::Copy(reading) if is_new || is_again || leads_elsewhere(&[reading], scope) => {
            Some(match scope.find(&reading.path) {
                Found::Value(value) => Some(value.into_owned()),
                Found::Missing | Found::Unknown => None,
            })
        }
        Source::Computed(Computed { value, timing }) => {
            let is_due = match timing {
                Timing::Create => is_new,
                Timing::Write => is_new || by == By::Caller,
                Timing::Always => is_new || is_again || has_changed(value, scope),
                Timing::Ref => {
                    let reads: Vec<&Reading> = value.reads.iter().collect();
                    is_new || is_again || leads_elsewhere(&reads, scope)
                }
                Timing::Once(condition) => {
                    let old = scope.old.and_then(|old| nested::get(old, &attribute.name));
                    old.is_none() && condition.holds(scope)
                }
            };
            is_due.then(|| value.value(scope))
        }
        _ => None,
    }
}

/// Whether one of the item's own attributes that a value reads was changed.
fn has_changed(value: &Formula, scope: &ItemScope<'_, '_>) -> bool {
    let mut names = value.own_attributes();
    names.any(|name| differs(name, scope))
}

/// Whether one of the refs that these readings go through was changed.
fn leads_elsewhere(reads: &[&Reading], scope: &ItemScope<'_, '_>) -> bool {
    let design = &scope.context.blueprint.design;
    let hops = reads.iter().filter_map(|reading| reading.hops.first());
    hops.filter_map(|hop| design.reference(hop))
        .flat_map(reference_inputs)
        .any(|name| differs(name, scope))
}

fn differs(name: &str, scope: &ItemScope<'_, '_>) -> bool {
    let old = scope.old.and_then(|old| nested::get(old, name));
    old != nested::get(scope.item, name)
}
