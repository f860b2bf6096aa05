//! PartiQL: statements lowered to the requests that the other operations make.
//!
//! | module | what it holds |
//! |---|---|
//! | `keys` | the key that a WHERE clause names, and what else it asks |
//! | `partitions` | the partitions and sort keys that a WHERE clause names |
//! | `order` | ORDER BY |
//! | `reading` | SELECT: queries and scans, page by page |
//! | `writing` | INSERT, UPDATE, DELETE and EXISTS |
//! | `next_token` | where the next page begins, sealed |
//!
//! The grammar is `partita_core`'s, and so is every condition's evaluation.

mod keys;
mod next_token;
mod order;
mod partitions;
mod reading;
mod writing;

use partita_core::Value;
use partita_core::expression::{SelectSource, Statement};
use partita_core::json::Received;
use partita_store::Store;
use partita_store::request::TableDescription;
use partita_store::table::TableName;
use serde::Deserialize;

use crate::constraints::Constraints;
use crate::messages;
use crate::parameters::{self, ReturnOnFailure};
use crate::refusal::Refusal;

pub(crate) use next_token::NextTokens;
pub(crate) use reading::{Columns, PageStart, SelectReading, single};
pub(crate) use writing::{StatementWrite, action};

/// Characters of a statement.
const STATEMENT_CHARS: std::ops::RangeInclusive<usize> = 1..=8192;

/// A statement of a request, with the values of its parameters.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Parameterized {
    pub(crate) statement: Option<String>,
    pub(crate) parameters: Option<Vec<Received<Value>>>,
    pub(crate) consistent_read: Option<bool>,
    pub(crate) return_values_on_condition_check_failure: Option<String>,
}

impl Parameterized {
    /// What the model of the API asks of it.
    pub(crate) fn check(&self, constraints: &mut Constraints, at: impl Fn(&str) -> String) {
        check(constraints, &at, &self.statement, &self.parameters);
        let on_failure = &self.return_values_on_condition_check_failure;
        ReturnOnFailure::of(constraints, &at(parameters::ON_FAILURE), on_failure);
    }

    pub(crate) fn returns_item_on_failure(&self) -> bool {
        self.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD")
    }

    pub(crate) fn parse(&mut self) -> Result<Statement, Refusal> {
        let text = self.statement.take().unwrap_or_default();
        parse(&text, values(self.parameters.take())?)
    }
}

/// The length of a statement and of its parameters.
pub(crate) fn check(
    constraints: &mut Constraints,
    at: impl Fn(&str) -> String,
    statement: &Option<String>,
    parameters: &Option<Vec<Received<Value>>>,
) {
    constraints.required(&at("statement"), statement);
    if let Some(text) = statement {
        let chars = text.chars().count();
        constraints.length(&at("statement"), chars, STATEMENT_CHARS, || text.clone());
    }
    if let Some(list) = parameters {
        let bounds = 1..=usize::MAX;
        constraints.length(&at("parameters"), list.len(), bounds, || "[]".to_owned());
    }
}

/// The values of parameters.
pub(crate) fn values(list: Option<Vec<Received<Value>>>) -> Result<Vec<Value>, Refusal> {
    let values = list.into_iter().flatten().map(Received::into_result);
    Ok(values.collect::<Result<_, _>>()?)
}

/// Reads a statement.
pub(crate) fn parse(text: &str, parameters: Vec<Value>) -> Result<Statement, Refusal> {
    Ok(Statement::parse(text, parameters)?)
}

/// What the store knows of the table that a statement is about. A write of an index is refused
/// before its table is looked up.
pub(crate) async fn described(
    store: &dyn Store,
    statement: &Statement,
) -> Result<TableDescription, Refusal> {
    let is_read = matches!(statement, Statement::Select(_));
    if !is_read && statement.source().index.is_some() {
        return Err(Refusal::validation(messages::WRITE_OF_INDEX));
    }
    Ok(store.describe_table(&table(statement)?).await?)
}

/// The table that a statement is about.
pub(crate) fn table(statement: &Statement) -> Result<TableName, Refusal> {
    let SelectSource { table, .. } = statement.source();
    let name = parameters::name_of_arn(table).unwrap_or(table);
    let table = name.parse();
    table.map_err(|_| Refusal::validation(messages::INVALID_STATEMENT_TABLE))
}
