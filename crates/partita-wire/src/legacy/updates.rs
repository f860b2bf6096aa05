//! AttributeUpdates.

use std::collections::BTreeMap;

use partita_core::expression::{SetOperand, SetValue, Update, UpdateError};
use partita_core::json::Received;
use partita_core::{Type, Value};
use partita_store::StoreError;
use serde::Deserialize;

use super::attribute;
use crate::constraints::{Choice, Constraints};
use crate::messages;
use crate::refusal::Refusal;

/// What happens to each attribute.
pub(crate) type AttributeUpdates = BTreeMap<String, AttributeUpdate>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AttributeUpdate {
    value: Option<Received<Value>>,
    action: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LegacyAction {
    Add,
    Put,
    Delete,
}

impl Choice for LegacyAction {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("ADD", LegacyAction::Add),
        ("PUT", LegacyAction::Put),
        ("DELETE", LegacyAction::Delete),
    ];
}

/// What the model of the API asks of them.
pub(crate) fn check_updates(constraints: &mut Constraints, updates: &Option<AttributeUpdates>) {
    for (name, update) in updates.iter().flatten() {
        let at = format!("attributeUpdates.{name}.member.action");
        constraints.choice::<LegacyAction>(&at, &update.action);
    }
}

/// The update that they are.
pub(crate) fn update(updates: AttributeUpdates) -> Result<Update, Refusal> {
    let mut update = Update::default();
    for (name, change) in updates {
        change.add_to(&mut update, &name)?;
    }
    Ok(update)
}

impl AttributeUpdate {
    fn action(&self) -> LegacyAction {
        let mut names = LegacyAction::NAMES.iter();
        let found = names.find(|(name, _)| self.action.as_deref() == Some(*name));
        found.map_or(LegacyAction::Put, |(_, action)| *action)
    }

    fn add_to(self, update: &mut Update, name: &str) -> Result<(), Refusal> {
        let action = self.action();
        let value = self.value.map(Received::into_result).transpose()?;
        let path = attribute(name)?;
        let Some(value) = value else {
            if action != LegacyAction::Delete {
                return Err(Refusal::validation(messages::NO_VALUE_TO_UPDATE));
            }
            update.remove.push(path);
            return Ok(());
        };
        let kind = value.kind();
        let is_set = matches!(kind, Type::Ss | Type::Ns | Type::Bs);
        match action {
            LegacyAction::Put => {
                let value = SetValue::Is(SetOperand::Value(value));
                update.set.push((path, value));
            }
            LegacyAction::Delete if is_set => update.delete.push((path, value)),
            LegacyAction::Delete => {
                return Err(Refusal::validation(messages::no_deletion_of(
                    kind.letters(),
                )));
            }
            LegacyAction::Add if is_set || kind == Type::N => update.add.push((path, value)),
            // A list is appended to; ADD in an expression does not take it.
            LegacyAction::Add if kind == Type::L => {
                let empty = Box::new(SetOperand::Value(Value::L(Vec::new())));
                let front = Box::new(SetOperand::IfNotExists(path.clone(), empty));
                let back = Box::new(SetOperand::Value(value));
                let value = SetValue::Is(SetOperand::ListAppend(front, back));
                update.set.push((path, value));
            }
            LegacyAction::Add => {
                return Err(Refusal::validation(messages::no_addition_of(
                    kind.letters(),
                )));
            }
        }
        Ok(())
    }
}

/// What the service says here of a value that does not fit the item, which an expression hears
/// in other words.
pub(crate) fn reworded(error: StoreError) -> Refusal {
    match error {
        StoreError::Validation { message } if message == UpdateError::WrongType.to_string() => {
            Refusal::validation(messages::UPDATE_TYPE_MISMATCH)
        }
        error => error.into(),
    }
}
