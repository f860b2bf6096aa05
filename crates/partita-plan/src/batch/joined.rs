//! Transactions one after the other, as a single one.
//!
//! A transaction may touch an item once. What several operations do to one is therefore one action
//! here, which comes to the same: it writes what they would have left, and passes only if each
//! would have passed in its turn.

use std::collections::HashMap;

use partita_core::expression::{Condition, Path, SetOperand, SetValue, Update};
use partita_core::{Item, Map, Number, Value};
use partita_store::request::{ConditionCheck, DeleteItem, PutItem, TransactAction, UpdateItem};

use crate::blueprint::Blueprint;
use crate::commit::Step;
use crate::draft::Refusal;
use crate::error::PlanError;
use crate::evaluate::{Known, Reads};
use crate::place::Address;

/// The steps of several transactions, one for each item.
#[derive(Default)]
pub(super) struct Joined {
    steps: Vec<Step>,
    places: HashMap<Address, usize>,
}

impl Joined {
    /// Adds the steps of the next transaction. They were planned over what the earlier ones leave
    /// behind, so where they contradict them, what was read does not fit together.
    pub(super) fn add(
        &mut self,
        blueprint: &Blueprint,
        reads: &Reads,
        steps: impl Iterator<Item = Step>,
    ) -> Result<(), PlanError> {
        for next in steps {
            let address = blueprint.place_of(&next.action);
            let Some(&at) = self.places.get(&address) else {
                self.places.insert(address, self.steps.len());
                self.steps.push(next);
                continue;
            };
            let base = match reads.peek(&address) {
                Known::Found(item) => Some(item),
                Known::Missing | Known::Unread => None,
            };
            let first = self.steps[at].clone();
            let joined = join(first, next, base);
            if joined.is_none() {
                // Perhaps more is known of the item the next time.
                reads.need(address);
            }
            self.steps[at] = joined.ok_or(PlanError::Conflict)?;
        }
        Ok(())
    }

    pub(super) fn into_steps(self) -> Vec<Step> {
        self.steps
    }
}

/// Two steps on one item, one after the other; none where the second can never follow the first.
///
/// What the second asks of something that the first has written cannot be asked of the item as it
/// is stored. There the item as it was read is taken: it passes, and it must not have changed.
fn join(first: Step, second: Step, base: Option<&Item>) -> Option<Step> {
    let refusal = if first.action == second.action {
        first.refusal
    } else {
        // Which of the two is at fault is found out by reading the item and planning again.
        Refusal::Stale
    };
    let action = follow(first.action, second.action, base)?;
    Some(Step { action, refusal })
}

fn follow(
    first: TransactAction,
    second: TransactAction,
    base: Option<&Item>,
) -> Option<TransactAction> {
    use TransactAction::{Check, Delete, Put, Update};
    let both = |one, other| all([one, other]);
    Some(match (first, second) {
        (Check(check), second) => {
            let own = condition_of(&second).cloned();
            with_condition(second, both(Some(check.condition), own))
        }
        (Put(put), second) => {
            demand(condition_of(&second), &put.item)?;
            let condition = put.condition.clone();
            match second {
                Put(second) => with_condition(Put(second), condition),
                Delete(second) => with_condition(Delete(second), condition),
                Check(_) => Put(put),
                Update(second) => {
                    let mut item = put.item;
                    second.update.apply(&mut item).ok()?;
                    Put(PutItem { item, ..put })
                }
            }
        }
        (Delete(delete), second) => {
            demand(condition_of(&second), &Map::new())?;
            match second {
                Put(second) => with_condition(Put(second), delete.condition),
                // Nothing is there to be updated, and the planner knows.
                Update(_) => return None,
                Delete(_) | Check(_) => Delete(delete),
            }
        }
        (Update(update), second) => {
            let asked = before(condition_of(&second), &update.update, base)?;
            let condition = both(update.condition.clone(), asked);
            match second {
                Update(second) => {
                    let joined = update_after(update.update, second.update)?;
                    let second = UpdateItem {
                        update: joined,
                        ..second
                    };
                    with_condition(Update(second), condition)
                }
                Check(_) => with_condition(Update(update), condition),
                second => with_condition(second, condition),
            }
        }
    })
}

/// All of the conditions, each once.
fn all(conditions: impl IntoIterator<Item = Option<Condition>>) -> Option<Condition> {
    let mut parts: Vec<Condition> = Vec::new();
    for condition in conditions.into_iter().flatten() {
        for part in conjuncts(condition) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    parts.into_iter().reduce(Condition::and)
}

fn conjuncts(condition: Condition) -> Vec<Condition> {
    match condition {
        Condition::All(parts) => parts,
        one => vec![one],
    }
}

/// Passes only what a condition allows.
fn demand(condition: Option<&Condition>, item: &Map) -> Option<()> {
    condition
        .is_none_or(|condition| condition.holds(item))
        .then_some(())
}

/// What must hold before an update for a condition to hold after it.
fn before(
    condition: Option<&Condition>,
    update: &Update,
    base: Option<&Item>,
) -> Option<Option<Condition>> {
    let Some(condition) = condition else {
        return Some(None);
    };
    let mut parts: Vec<Option<Condition>> = Vec::new();
    for part in conjuncts(condition.clone()) {
        let mut paths: Vec<Path> = Vec::new();
        part.visit_paths(&mut |path| paths.push(path.clone()));
        let is_written = |path: &Path| update.paths().any(|written| written.overlaps(path));
        if !paths.iter().any(is_written) {
            parts.push(Some(part));
            continue;
        }
        let base = base?;
        let mut after = base.clone();
        update.apply(&mut after).ok()?;
        demand(Some(&part), &after)?;
        let paths = paths.into_iter().filter(|path| !is_settled(update, path));
        parts.extend(paths.map(|path| Some(as_read(path, base))));
    }
    Some(all(parts))
}

/// Whether an update decides what is at a path, whatever was there.
fn is_settled(update: &Update, path: &Path) -> bool {
    let is_above =
        |written: &Path| written.overlaps(path) && written.steps.len() <= path.steps.len();
    let mut set = update.set.iter();
    let is_set = set.any(|(written, value)| {
        is_above(written) && matches!(value, SetValue::Is(SetOperand::Value(_)))
    });
    is_set || update.remove.iter().any(is_above)
}

/// That what is at a path is what was read.
fn as_read(path: Path, base: &Item) -> Condition {
    match path.find(base) {
        Some(value) => Condition::equals(path.clone(), value.clone()),
        None => Condition::NotExists(path),
    }
}

/// Two updates as one. None where they are not of the kind that plans are made of: values that are
/// written or removed, and numbers that are added to.
fn update_after(mut first: Update, second: Update) -> Option<Update> {
    if !second.add.is_empty() || !second.delete.is_empty() {
        return None;
    }
    for (path, value) in second.set {
        match value {
            SetValue::Is(SetOperand::Value(value)) => write(&mut first, path, Some(value))?,
            SetValue::Plus(left, SetOperand::Value(Value::N(amount))) => {
                add(&mut first, path, left, amount)?;
            }
            _ => return None,
        }
    }
    for path in second.remove {
        write(&mut first, path, None)?;
    }
    Some(first)
}

/// Has an update also write a value, or remove it.
fn write(update: &mut Update, path: Path, value: Option<Value>) -> Option<()> {
    if let Some((above, whole)) = written_above(update, &path) {
        let inside = match value {
            Some(value) => Update::default().setting(below(&above, &path), value),
            None => Update {
                remove: vec![below(&above, &path)],
                ..Update::default()
            },
        };
        return inside_of(whole, &inside);
    }
    if is_removed_above(update, &path) {
        return None;
    }
    // What was written there, or to a part of it, does not matter any more.
    update.set.retain(|(written, _)| !written.overlaps(&path));
    update.remove.retain(|removed| !removed.overlaps(&path));
    match value {
        Some(value) => {
            let value = SetValue::Is(SetOperand::Value(value));
            update.set.push((path, value));
        }
        None => update.remove.push(path),
    }
    Some(())
}

/// Has an update also add to a number.
fn add(update: &mut Update, path: Path, left: SetOperand, amount: Number) -> Option<()> {
    if let Some((above, whole)) = written_above(update, &path) {
        let path = below(&above, &path);
        let left = match left {
            SetOperand::Path(_) => SetOperand::Path(path.clone()),
            SetOperand::IfNotExists(_, otherwise) => {
                SetOperand::IfNotExists(path.clone(), otherwise)
            }
            _ => return None,
        };
        let sum = SetValue::Plus(left, SetOperand::Value(Value::N(amount)));
        let inside = Update {
            set: vec![(path, sum)],
            ..Update::default()
        };
        return inside_of(whole, &inside);
    }
    if is_removed_above(update, &path) {
        return None;
    }
    let mut set = update.set.iter_mut();
    if let Some((_, value)) = set.find(|(written, _)| *written == path) {
        let (SetValue::Is(SetOperand::Value(Value::N(number)))
        | SetValue::Plus(_, SetOperand::Value(Value::N(number)))) = value
        else {
            return None;
        };
        *number = number.checked_add(amount).ok()?;
        return Some(());
    }
    if let Some(at) = update.remove.iter().position(|removed| *removed == path) {
        let SetOperand::IfNotExists(_, otherwise) = left else {
            return None;
        };
        let SetOperand::Value(Value::N(otherwise)) = *otherwise else {
            return None;
        };
        update.remove.remove(at);
        let sum = otherwise.checked_add(amount).ok()?;
        let value = SetValue::Is(SetOperand::Value(Value::N(sum)));
        update.set.push((path, value));
        return Some(());
    }
    let sum = SetValue::Plus(left, SetOperand::Value(Value::N(amount)));
    update.set.push((path, sum));
    Some(())
}

/// The value that an update writes at a path that leads to another.
fn written_above<'u>(update: &'u mut Update, path: &Path) -> Option<(Path, &'u mut Value)> {
    let mut set = update.set.iter_mut();
    let above = |written: &Path| written.overlaps(path) && written.steps.len() < path.steps.len();
    set.find_map(|(written, value)| match value {
        SetValue::Is(SetOperand::Value(value)) if above(written) => Some((written.clone(), value)),
        _ => None,
    })
}

fn is_removed_above(update: &Update, path: &Path) -> bool {
    let mut removed = update.remove.iter();
    removed.any(|removed| removed.overlaps(path) && removed.steps.len() < path.steps.len())
}

/// What a value is called while it is changed by itself.
const WHOLE: &str = "whole";

/// The rest of a path, from a value above it.
fn below(above: &Path, path: &Path) -> Path {
    let mut rest = Path::attribute(WHOLE);
    rest.steps = path.steps[above.steps.len()..].to_vec();
    rest
}

/// Changes something inside a value.
fn inside_of(value: &mut Value, update: &Update) -> Option<()> {
    let mut item = Item::from([(WHOLE.to_owned(), value.clone())]);
    update.apply(&mut item).ok()?;
    *value = item.remove(WHOLE)?;
    Some(())
}

fn condition_of(action: &TransactAction) -> Option<&Condition> {
    match action {
        TransactAction::Put(put) => put.condition.as_ref(),
        TransactAction::Update(update) => update.condition.as_ref(),
        TransactAction::Delete(delete) => delete.condition.as_ref(),
        TransactAction::Check(check) => Some(&check.condition),
    }
}

/// The action with another condition. No refusal of a joined action is reported, so that the item need
/// not be returned.
fn with_condition(action: TransactAction, condition: Option<Condition>) -> TransactAction {
    match action {
        TransactAction::Put(put) => TransactAction::Put(PutItem {
            condition,
            return_item_on_failure: false,
            ..put
        }),
        TransactAction::Update(update) => TransactAction::Update(UpdateItem {
            condition,
            return_item_on_failure: false,
            ..update
        }),
        TransactAction::Delete(delete) => TransactAction::Delete(DeleteItem {
            condition,
            return_item_on_failure: false,
            ..delete
        }),
        TransactAction::Check(check) => TransactAction::Check(ConditionCheck {
            condition: condition.unwrap_or(Condition::All(Vec::new())),
            return_item_on_failure: false,
            ..check
        }),
    }
}

#[cfg(test)]
mod tests;
