//! INSERT, UPDATE, DELETE and EXISTS as the writes that they are.

use partita_core::Item;
use partita_core::expression::{Condition, Path, Returning, Statement};
use partita_store::request::{
    ConditionCheck, DeleteItem, PutItem, ReturnValues, TableDescription, TransactAction, UpdateItem,
};

use super::keys::{address, all, typed};
use crate::messages;
use crate::refusal::Refusal;

/// A write, and what it answers.
pub(crate) struct StatementWrite {
    pub(crate) action: TransactAction,
    pub(crate) returns: ReturnValues,
    /// The key of its item.
    pub(crate) key: Item,
    /// What is said of an item that is there already.
    pub(crate) is_insert: bool,
}

/// The write of a statement about a table; a SELECT is none.
///
/// An INSERT needs that there is no such item, and an UPDATE that there is one. A DELETE of an item
/// that is not there does nothing, whatever else it asks.
pub(crate) fn action(
    statement: Statement,
    described: &TableDescription,
    return_item_on_failure: bool,
) -> Result<StatementWrite, Refusal> {
    let schema = &described.schema.key;
    let table = described.table.clone();
    let partition = || Path::attribute(schema.partition.name.as_str());
    let returns = match &statement {
        Statement::Update { returning, .. } => returned(*returning),
        Statement::Delete { returning, .. } => deleted(*returning)?,
        _ => ReturnValues::None,
    };
    let is_insert = matches!(statement, Statement::Insert { .. });
    let no_key = || Refusal::validation(messages::NO_KEY_EQUALITY);
    let (action, key) = match statement {
        Statement::Insert { item, .. } => {
            let key = key_of(described, &item)?;
            let put = PutItem {
                table,
                item,
                condition: Some(Condition::NotExists(partition())),
                return_item_on_failure,
            };
            (TransactAction::Put(put), key)
        }
        Statement::Update {
            update, condition, ..
        } => {
            let (key, mut rest) = address(schema, condition)?.ok_or_else(no_key)?;
            rest.push(Condition::Exists(partition()));
            let update = UpdateItem {
                table,
                key: key.clone(),
                update,
                condition: all(rest),
                return_item_on_failure,
            };
            (TransactAction::Update(update), key)
        }
        Statement::Delete { condition, .. } => {
            let (key, rest) = address(schema, condition)?.ok_or_else(no_key)?;
            let is_gone = Condition::NotExists(partition());
            let delete = DeleteItem {
                table,
                key: key.clone(),
                condition: all(rest).map(|rest| Condition::Any(vec![is_gone, rest])),
                return_item_on_failure,
            };
            (TransactAction::Delete(delete), key)
        }
        Statement::Exists(select) | Statement::Select(select) => {
            let unfit = || Refusal::validation(messages::EXISTS_WITHOUT_CONDITION);
            let (key, rest) = address(schema, select.condition)?.ok_or_else(unfit)?;
            let check = ConditionCheck {
                table,
                key: key.clone(),
                condition: all(rest).ok_or_else(unfit)?,
                return_item_on_failure,
            };
            (TransactAction::Check(check), key)
        }
    };
    Ok(StatementWrite {
        action,
        returns,
        key,
        is_insert,
    })
}

fn key_of(described: &TableDescription, item: &Item) -> Result<Item, Refusal> {
    let mut key = Item::new();
    for attribute in described.schema.key.attributes() {
        let name = attribute.name.as_str();
        let missing = || Refusal::validation(messages::missing_key(name));
        let value = item.get(name).cloned().ok_or_else(missing)?;
        key.insert(name, typed(attribute, value)?);
    }
    Ok(key)
}

fn returned(returning: Option<Returning>) -> ReturnValues {
    match returning {
        None => ReturnValues::None,
        Some(Returning { is_whole, is_new }) => match (is_whole, is_new) {
            (true, true) => ReturnValues::AllNew,
            (true, false) => ReturnValues::AllOld,
            (false, true) => ReturnValues::UpdatedNew,
            (false, false) => ReturnValues::UpdatedOld,
        },
    }
}

fn deleted(returning: Option<Returning>) -> Result<ReturnValues, Refusal> {
    let returned = returned(returning);
    let Some(Returning { is_whole, is_new }) = returning else {
        return Ok(returned);
    };
    if returned == ReturnValues::AllOld {
        return Ok(returned);
    }
    let extent = if is_whole { "ALL" } else { "MODIFIED" };
    let moment = if is_new { "NEW" } else { "OLD" };
    let message = messages::returning_of_delete(&format!("RETURNING {extent} {moment} *"));
    Err(Refusal::validation(message))
}
