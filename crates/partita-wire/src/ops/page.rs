//! What Query and Scan share.

use bytes::Bytes;
use partita_core::expression::Projection;
use partita_store::FoundItem;
use partita_store::capacity::Metered;
use partita_store::request::{Page, Select as Selected};

use crate::constraints::{Choice, Constraints};
use crate::json;
use crate::messages;
use crate::parameters::ReturnConsumedCapacity;
use crate::refusal::Refusal;

/// The parameters of a request for a page: those that Query and Scan share, and those of the one.
/// Serde's `flatten` would say the same, and make it keep a copy of everything that it reads.
macro_rules! input {
    ($($name:ident: $kind:ty),* $(,)?) => {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Input {
            table_name: Option<String>,
            index_name: Option<String>,
            filter_expression: Option<String>,
            projection_expression: Option<String>,
            expression_attribute_names: Option<partita_core::expression::AttributeNames>,
            expression_attribute_values: Option<partita_core::expression::AttributeValues>,
            select: Option<String>,
            limit: Option<i64>,
            exclusive_start_key: Option<partita_core::json::Received<partita_core::Item>>,
            consistent_read: Option<bool>,
            return_consumed_capacity: Option<String>,
            attributes_to_get: Option<Vec<String>>,
            conditional_operator: Option<String>,
            $($name: $kind,)*
        }
    };
}

pub(super) use input;

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
    pub(super) fn check(
        select: Option<Select>,
        projection: Option<&str>,
        has_index: bool,
    ) -> Result<(), Refusal> {
        let message = match (select, projection) {
            (Some(Select::Specific), None) => messages::NO_PROJECTION.to_owned(),
            (Some(Select::Projected), _) if !has_index => {
                messages::PROJECTED_WITHOUT_INDEX.to_owned()
            }
            (None | Some(Select::Specific), _) | (_, None) => return Ok(()),
            (Some(Select::Count), Some(name)) => {
                messages::projection_beside(name, "only the Count")
            }
            (Some(Select::All), Some(name)) => messages::projection_beside(name, "ALL_ATTRIBUTES"),
            (Some(Select::Projected), Some(name)) => {
                messages::projection_beside(name, "ALL_PROJECTED_ATTRIBUTES")
            }
        };
        Err(Refusal::validation(message))
    }

    /// The parameter by which a request names attributes.
    pub(super) fn projecting(
        attributes: &Option<Vec<String>>,
        expression: &Option<String>,
    ) -> Option<&'static str> {
        let attributes = attributes.as_ref().map(|_| "AttributesToGet");
        attributes.or(expression.as_ref().map(|_| "ProjectionExpression"))
    }

    /// What the store is asked for.
    pub(super) fn resolve(select: Option<Select>, projection: Option<Projection>) -> Selected {
        match (select, projection) {
            (Some(Select::Count), _) => Selected::Count,
            (_, Some(projection)) => Selected::Parts(projection),
            (Some(Select::All), None) => Selected::All,
            (_, None) => Selected::Projected,
        }
    }
}

/// What the answer must know of the request.
pub(super) struct Asked {
    counts_only: bool,
    capacity: ReturnConsumedCapacity,
}

impl Asked {
    pub(super) fn new(select: &Selected, capacity: ReturnConsumedCapacity) -> Self {
        let counts_only = *select == Selected::Count;
        Asked {
            counts_only,
            capacity,
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

pub(super) fn encode(asked: Asked, page: Metered<Page>) -> Bytes {
    let Metered { answer, consumed } = page;
    let consumed = asked.capacity.of_one(&consumed);
    let bytes = answer.items.iter().map(json::bytes_of).sum::<usize>();
    json::answer(bytes + PAGE_BYTES, |page| {
        if !asked.counts_only {
            let copy = |out: &mut Vec<u8>, item: &FoundItem| item.write_json(out);
            page.written("Items", |out| json::list(out, &answer.items, copy));
        }
        page.member("Count", &answer.count);
        page.member("ScannedCount", &answer.scanned);
        page.optional("LastEvaluatedKey", &answer.last_key);
        page.optional("ConsumedCapacity", &consumed);
    })
}

/// What a page has besides its items, about.
const PAGE_BYTES: usize = 512;
