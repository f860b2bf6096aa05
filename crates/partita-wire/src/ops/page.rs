//! The answer that Query and Scan share.

use bytes::Bytes;
use partita_core::Item;
use partita_store::request::Page;
use serde::Serialize;

use crate::constraints::{Choice, Constraints};
use crate::json;
use crate::messages;
use crate::refusal::Refusal;

/// Which attributes a page answers.
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

/// What of a page is written into the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Items,
    Count,
}

impl Select {
    /// Holds the choice against the other parameters.
    pub(super) fn shown(select: Option<Select>) -> Result<Shown, Refusal> {
        match select {
            None | Some(Select::All) => Ok(Shown::Items),
            Some(Select::Count) => Ok(Shown::Count),
            Some(Select::Specific) => Err(Refusal::validation(messages::NO_PROJECTION)),
            Some(Select::Projected) => Err(Refusal::validation(messages::PROJECTED_WITHOUT_INDEX)),
        }
    }
}

/// How many items a page reads at most.
pub(super) fn limit(constraints: &mut Constraints, limit: Option<i64>) -> Option<usize> {
    constraints.at_least("limit", limit, 1);
    limit.and_then(|limit| usize::try_from(limit).ok())
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<&'a [Item]>,
    count: usize,
    scanned_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_evaluated_key: Option<&'a Item>,
}

pub(super) fn encode(page: &Page, shown: Shown) -> Bytes {
    json::write(&Output {
        items: (shown == Shown::Items).then_some(&page.items),
        count: page.items.len(),
        scanned_count: page.scanned,
        last_evaluated_key: page.last_key.as_ref(),
    })
}
