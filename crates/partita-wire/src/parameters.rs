//! What the operations' parameters have in common.

use partita_core::Item;
use partita_core::json::{Received, ValueError};
use partita_core::limits::ITEM_BYTES_MAX;
use partita_core::size::item_bytes;
use partita_store::request::ReturnValues;
use partita_store::table::TableName;
use serde::de::IgnoredAny;

use crate::constraints::{Choice, Constraints};
use crate::messages;
use crate::refusal::Refusal;

/// A parameter that is looked at only to refuse it, see [`refuse`].
pub(crate) type Unread = Option<IgnoredAny>;

/// Refuses what this version cannot honour. To ignore it would be worse: the caller would
/// believe that a table has an index, or a deletion a guard.
pub(crate) fn refuse(unread: &[(&str, &Unread)]) -> Result<(), Refusal> {
    match unread.iter().find(|(_, value)| value.is_some()) {
        None => Ok(()),
        Some((name, _)) => Err(Refusal::validation(messages::unsupported(name))),
    }
}

/// The table that a data operation names, by its name or its ARN.
///
/// A name that is missing is reported with whatever else is; one that cannot be is reported
/// alone, as the service does.
pub(crate) fn table(
    constraints: &mut Constraints,
    text: &Option<String>,
) -> Result<Option<TableName>, Refusal> {
    constraints.required("tableName", text);
    text.as_deref()
        .map(|text| named_table("tableName", text))
        .transpose()
}

/// The table of a name or an ARN.
pub(crate) fn named_table(at: &str, text: &str) -> Result<TableName, Refusal> {
    checked_table(at, name_of_arn(text).unwrap_or(text), 1)
}

/// The name of a table that is about to be.
pub(crate) fn new_table(at: &str, text: &str) -> Result<TableName, Refusal> {
    checked_table(at, text, 3)
}

fn checked_table(at: &str, name: &str, chars_min: usize) -> Result<TableName, Refusal> {
    let mut constraints = Constraints::default();
    check_name(&mut constraints, at, name, chars_min);
    constraints.finish(())?;
    name.parse()
        .map_err(|_| Refusal::validation(messages::INVALID_TABLE_NAME))
}

/// The characters and the length of the name of a table or an index.
pub(crate) fn check_name(constraints: &mut Constraints, at: &str, name: &str, chars_min: usize) {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    constraints.length(at, name.len(), chars_min..=255, || name.to_owned());
    if !name.is_empty() && !name.bytes().all(is_allowed) {
        let constraint = messages::pattern(messages::TABLE_NAME_PATTERN);
        constraints.fail(messages::constraint(Some(name), at, &constraint));
    }
}

/// The index that a query or scan reads, if it names one.
pub(crate) fn check_index(constraints: &mut Constraints, name: &Option<String>) {
    if let Some(name) = name {
        check_name(constraints, "indexName", name, 3);
    }
}

/// The name in `arn:aws:dynamodb:us-east-1:000000000000:table/name`. Region and account are
/// not looked at: there is one of each here.
pub(crate) fn name_of_arn(text: &str) -> Option<&str> {
    let mut parts = text.splitn(6, ':');
    let is_arn = parts.next() == Some("arn");
    let _partition = parts.next()?;
    let is_dynamodb = parts.next() == Some("dynamodb");
    let (_region, _account) = (parts.next()?, parts.next()?);
    let name = parts.next()?.strip_prefix("table/")?;
    (is_arn && is_dynamodb).then_some(name)
}

/// The region of everything here. Clients may sign for any; ARNs and records need one name.
pub(crate) const REGION: &str = "us-east-1";

/// The ARN that this server gives a table.
pub(crate) fn arn(table: &TableName) -> String {
    format!("arn:aws:dynamodb:{REGION}:000000000000:table/{table}")
}

/// Whether an answer says what it consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReturnConsumedCapacity {
    /// Table and indexes apart.
    Indexes,
    /// One number.
    Total,
    #[default]
    None,
}

impl Choice for ReturnConsumedCapacity {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("INDEXES", ReturnConsumedCapacity::Indexes),
        ("TOTAL", ReturnConsumedCapacity::Total),
        ("NONE", ReturnConsumedCapacity::None),
    ];
}

impl ReturnConsumedCapacity {
    pub(crate) fn of(constraints: &mut Constraints, text: &Option<String>) -> Self {
        constraints
            .choice("returnConsumedCapacity", text)
            .unwrap_or_default()
    }
}

/// Whether an answer says how large the item collections are that it has touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReturnItemCollectionMetrics {
    Size,
    #[default]
    None,
}

impl Choice for ReturnItemCollectionMetrics {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("SIZE", ReturnItemCollectionMetrics::Size),
        ("NONE", ReturnItemCollectionMetrics::None),
    ];
}

impl ReturnItemCollectionMetrics {
    pub(crate) fn of(constraints: &mut Constraints, text: &Option<String>) -> Self {
        constraints
            .choice("returnItemCollectionMetrics", text)
            .unwrap_or_default()
    }
}

/// Whether a failed condition answers with the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReturnOnFailure(bool);

impl ReturnOnFailure {
    pub(crate) fn of(constraints: &mut Constraints, at: &str, text: &Option<String>) -> bool {
        constraints
            .choice(at, text)
            .is_some_and(|ReturnOnFailure(returns)| returns)
    }
}

/// Where a single write has that parameter.
pub(crate) const ON_FAILURE: &str = "returnValuesOnConditionCheckFailure";

impl Choice for ReturnOnFailure {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("ALL_OLD", ReturnOnFailure(true)),
        ("NONE", ReturnOnFailure(false)),
    ];
}

impl Choice for ReturnValues {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("ALL_NEW", ReturnValues::AllNew),
        ("UPDATED_OLD", ReturnValues::UpdatedOld),
        ("ALL_OLD", ReturnValues::AllOld),
        ("NONE", ReturnValues::None),
        ("UPDATED_NEW", ReturnValues::UpdatedNew),
    ];
}

/// Refuses an item that is too large for any table, before its table is looked for.
pub(crate) fn check_item_size(item: &Item) -> Result<(), Refusal> {
    if item_bytes(item) > ITEM_BYTES_MAX {
        return Err(Refusal::validation(messages::ITEM_TOO_LARGE));
    }
    Ok(())
}

/// Where the last page ended, as a request gives it. The service puts words of its own before
/// some of the mistakes in its values.
pub(crate) fn start_key(key: Option<Received<Item>>) -> Result<Option<Item>, Refusal> {
    let key = key.map(Received::into_result).transpose();
    key.map_err(|error| match error {
        ValueError::Empty
        | ValueError::SeveralTypes
        | ValueError::NullIsFalse
        | ValueError::EmptyStringSet
        | ValueError::EmptyBinarySet => {
            Refusal::validation(messages::invalid_start_key(&error.to_string()))
        }
        error => error.into(),
    })
}

/// What a put or a delete answers with; only the old item can be asked of them.
pub(crate) fn old_or_none(returns: Option<ReturnValues>) -> Result<ReturnValues, Refusal> {
    match returns.unwrap_or(ReturnValues::None) {
        returns @ (ReturnValues::None | ReturnValues::AllOld) => Ok(returns),
        _ => Err(Refusal::validation(messages::RETURN_VALUES_OF_PUT)),
    }
}

#[cfg(test)]
mod tests;
