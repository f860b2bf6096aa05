//! GlobalSecondaryIndexUpdates.

use partita_store::index::IndexKind;
use partita_store::settings::Throughput;
use serde::Deserialize;

use crate::constraints::Constraints;
use crate::messages;
use crate::ops::schema::billing::Units;
use crate::ops::schema::indexes::{IndexInput, Whole};
use crate::parameters;
use crate::refusal::Refusal;

/// One of the three.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct IndexUpdate {
    update: Option<Update>,
    create: Option<IndexInput>,
    delete: Option<Delete>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Update {
    index_name: Option<String>,
    provisioned_throughput: Option<Units>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Delete {
    index_name: Option<String>,
}

/// What happens to an index.
pub(super) enum IndexAction<'a> {
    Create(Whole<'a>),
    Delete(&'a str),
    Update(&'a str, Option<Throughput>),
}

impl IndexAction<'_> {
    pub(super) fn index(&self) -> &str {
        match self {
            IndexAction::Create(whole) => whole.name(),
            IndexAction::Delete(name) | IndexAction::Update(name, _) => name,
        }
    }
}

/// The actions of a request. One that is not whole has failed a constraint; one that is not one
/// action waits with its error until all constraints are known to hold.
pub(super) fn actions<'a>(
    constraints: &mut Constraints,
    updates: &'a [IndexUpdate],
) -> Vec<Result<IndexAction<'a>, Refusal>> {
    let mut actions: Vec<Result<IndexAction<'a>, Refusal>> = Vec::new();
    for (index, update) in updates.iter().enumerate() {
        let at = format!("globalSecondaryIndexUpdates.{}.member", index + 1);
        let found = update.actions(constraints, &at);
        let count = [
            update.update.is_some(),
            update.create.is_some(),
            update.delete.is_some(),
        ];
        actions.push(match count.iter().filter(|is_given| **is_given).count() {
            0 => Err(Refusal::validation(messages::NO_INDEX_ACTION)),
            1 => match found {
                Some(action) => Ok(action),
                None => continue,
            },
            _ => Err(Refusal::validation(messages::SEVERAL_INDEX_ACTIONS)),
        });
    }
    refuse_twice(&mut actions);
    actions
}

/// An index is acted on once in a request.
fn refuse_twice(actions: &mut [Result<IndexAction<'_>, Refusal>]) {
    for at in 1..actions.len() {
        let (before, rest) = actions.split_at_mut(at);
        let Some(Ok(action)) = rest.first() else {
            continue;
        };
        let is_same = |other: &Result<IndexAction<'_>, _>| matches!(other, Ok(other) if other.index() == action.index());
        if before.iter().any(is_same) {
            let message = messages::index_twice(action.index());
            rest[0] = Err(Refusal::validation(message));
        }
    }
}

impl IndexUpdate {
    /// The last action that is whole; with several there is an error anyway.
    fn actions<'a>(&'a self, constraints: &mut Constraints, at: &str) -> Option<IndexAction<'a>> {
        let mut action = None;
        if let Some(update) = &self.update {
            let at = format!("{at}.update");
            let name = index_name(constraints, &at, &update.index_name);
            let units = update.provisioned_throughput.as_ref();
            let units_at = format!("{at}.provisionedThroughput");
            let throughput = Units::check(constraints, &units_at, units);
            action = name.map(|name| IndexAction::Update(name, throughput));
        }
        if let Some(create) = &self.create {
            let whole = create.whole(constraints, IndexKind::Global, &format!("{at}.create"));
            action = whole.map(IndexAction::Create);
        }
        if let Some(delete) = &self.delete {
            let name = index_name(constraints, &format!("{at}.delete"), &delete.index_name);
            action = name.map(IndexAction::Delete);
        }
        action
    }
}

fn index_name<'a>(
    constraints: &mut Constraints,
    at: &str,
    name: &'a Option<String>,
) -> Option<&'a str> {
    let at = format!("{at}.indexName");
    constraints.required(&at, name);
    let name = name.as_deref()?;
    parameters::check_name(constraints, &at, name, 3);
    Some(name)
}
