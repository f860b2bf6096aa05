//! About how many bytes a request takes while it waits.

use partita_core::expression::{Condition, Operand, SetOperand, SetValue, Update};
use partita_core::size::{item_bytes, value_bytes};
use partita_store::request::{BatchWrite, BatchWriteItem, TransactAction, TransactWriteItems};

/// What a request takes besides the values in it: names, paths, the request itself.
const REQUEST_BYTES: usize = 512;

pub(crate) fn of_action(action: &TransactAction) -> usize {
    let (content, condition) = match action {
        TransactAction::Put(put) => (item_bytes(&put.item), put.condition.as_ref()),
        TransactAction::Update(update) => {
            let bytes = item_bytes(&update.key) + of_update(&update.update);
            (bytes, update.condition.as_ref())
        }
        TransactAction::Delete(delete) => (item_bytes(&delete.key), delete.condition.as_ref()),
        TransactAction::Check(check) => (item_bytes(&check.key), Some(&check.condition)),
    };
    REQUEST_BYTES + content + condition.map_or(0, of_condition)
}

pub(crate) fn of_transaction(request: &TransactWriteItems) -> usize {
    request.actions.iter().map(of_action).sum()
}

pub(crate) fn of_batch(request: &BatchWriteItem) -> usize {
    let bytes = request.writes.iter().map(|write| match write {
        BatchWrite::Put { item, .. } => item_bytes(item),
        BatchWrite::Delete(address) => item_bytes(&address.key),
    });
    bytes.map(|bytes| REQUEST_BYTES + bytes).sum()
}

fn of_update(update: &Update) -> usize {
    let set = update.set.iter().map(|(_, value)| match value {
        SetValue::Is(operand) => of_set_operand(operand),
        SetValue::Plus(left, right) | SetValue::Minus(left, right) => {
            of_set_operand(left) + of_set_operand(right)
        }
    });
    let others = update.add.iter().chain(&update.delete);
    set.sum::<usize>() + others.map(|(_, value)| value_bytes(value)).sum::<usize>()
}

fn of_set_operand(operand: &SetOperand) -> usize {
    match operand {
        SetOperand::Path(_) => 0,
        SetOperand::Value(value) => value_bytes(value),
        SetOperand::IfNotExists(_, otherwise) => of_set_operand(otherwise),
        SetOperand::ListAppend(left, right) => of_set_operand(left) + of_set_operand(right),
    }
}

fn of_condition(condition: &Condition) -> usize {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter().map(of_condition).sum(),
        Condition::Not(part) => of_condition(part),
        Condition::Compare(left, _, right)
        | Condition::BeginsWith(left, right)
        | Condition::Contains(left, right) => of_operand(left) + of_operand(right),
        Condition::Between(value, low, high) => {
            of_operand(value) + of_operand(low) + of_operand(high)
        }
        Condition::In(value, list) => {
            of_operand(value) + list.iter().map(of_operand).sum::<usize>()
        }
        Condition::Exists(_) | Condition::NotExists(_) | Condition::HasType(..) => 0,
    }
}

fn of_operand(operand: &Operand) -> usize {
    match operand {
        Operand::Value(value, _) => value_bytes(value),
        Operand::Path(_) | Operand::Size(_) => 0,
    }
}
