//! What Query and Scan share.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::Projection;
use partita_store::request::Page;
use serde::Serialize;

use crate::constraints::{Choice, Constraints};
use crate::json;
use crate::messages;
use crate::refusal::Refusal;

/// Which attributes a page answers, as a request spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Select {
    Specific,
    Count,
    All,
    Projected,
}

impl Choice for Select {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("SPECIFIC_ATTRIBUTES", Select::Specific),
        ("COUNT", Select::Count),
        ("ALL_ATTRIBUTES", Select::All),
        ("ALL_PROJECTED_ATTRIBUTES", Select::Projected),
    ];
}

impl Select {
    /// Holds the choice against the other parameters.
    pub(super) fn check(select: Option<Select>, has_projection: bool) -> Result<(), Refusal> {
        let message = match (select, has_projection) {
            (Some(Select::Specific), false) => messages::NO_PROJECTION,
            (Some(Select::Count), true) => messages::PROJECTION_OF_COUNT,
            (Some(Select::All), true) => messages::PROJECTION_OF_ALL,
            (Some(Select::Projected), _) => messages::PROJECTED_WITHOUT_INDEX,
            _ => return Ok(()),
        };
        Err(Refusal::validation(message))
    }
}

/// What of a page is written into the answer.
#[derive(Debug)]
pub(super) enum Shown {
    Items,
    Parts(Projection),
    Count,
}

impl Shown {
    pub(super) fn new(select: Option<Select>, projection: Option<Projection>) -> Self {
        match (select, projection) {
            (Some(Select::Count), _) => Shown::Count,
            (_, Some(projection)) => Shown::Parts(projection),
            (_, None) => Shown::Items,
        }
    }
}

/// How many items a page reads at most, for a scan.
pub(super) fn limit_of_scan(constraints: &mut Constraints, limit: Option<i64>) -> Option<usize> {
    constraints.at_least("limit", limit, 1);
    limit.and_then(|limit| usize::try_from(limit).ok())
}

/// How many items a page reads at most, for a query, of which the service speaks otherwise.
pub(super) fn limit_of_query(constraints: &mut Constraints, limit: Option<i64>) -> Option<usize> {
    if limit.is_some_and(|limit| limit < 1) {
        constraints.fail(messages::constraint_alone("Limit", &messages::at_least(1)));
    }
    limit.and_then(|limit| usize::try_from(limit).ok())
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Item>>,
    count: usize,
    scanned_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_evaluated_key: Option<Item>,
}

pub(super) fn encode(page: Page, shown: &Shown) -> Bytes {
    let count = page.items.len();
    let items = match shown {
        Shown::Items => Some(page.items),
        Shown::Parts(parts) => Some(page.items.iter().map(|item| parts.apply(item)).collect()),
        Shown::Count => None,
    };
    json::write(&Output {
        items,
        count,
        scanned_count: page.scanned,
        last_evaluated_key: page.last_key,
    })
}
