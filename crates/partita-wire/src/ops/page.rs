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
pub(super) enum SelectInput {
    Specific,
    Count,
    All,
    Projected,
}

impl Choice for SelectInput {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("SPECIFIC_ATTRIBUTES", SelectInput::Specific),
        ("COUNT", SelectInput::Count),
        ("ALL_ATTRIBUTES", SelectInput::All),
        ("ALL_PROJECTED_ATTRIBUTES", SelectInput::Projected),
    ];
}

impl SelectInput {
    /// Holds the choice against the other parameters.
    pub(super) fn check(
        select: Option<SelectInput>,
        projection: Option<&str>,
        has_index: bool,
    ) -> Result<(), Refusal> {
        let message = match (select, projection) {
            (Some(SelectInput::Specific), None) => messages::NO_PROJECTION.to_owned(),
            (Some(SelectInput::Projected), _) if !has_index => {
                messages::PROJECTED_WITHOUT_INDEX.to_owned()
            }
            (None | Some(SelectInput::Specific), _) | (_, None) => return Ok(()),
            (Some(SelectInput::Count), Some(name)) => {
                messages::projection_beside(name, "only the Count")
            }
            (Some(SelectInput::All), Some(name)) => {
                messages::projection_beside(name, "ALL_ATTRIBUTES")
            }
            (Some(SelectInput::Projected), Some(name)) => {
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
    pub(super) fn resolve(select: Option<SelectInput>, projection: Option<Projection>) -> Selected {
        match (select, projection) {
            (Some(SelectInput::Count), _) => Selected::Count,
            (_, Some(projection)) => Selected::Parts(projection),
            (Some(SelectInput::All), None) => Selected::All,
            (_, None) => Selected::Projected,
        }
    }
}

/// What the answer must know of the request.
pub(super) struct PageWish {
    counts_only: bool,
    capacity: ReturnConsumedCapacity,
}

impl PageWish {
    pub(super) fn new(select: &Selected, capacity: ReturnConsumedCapacity) -> Self {
        let counts_only = *select == Selected::Count;
        PageWish {
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

pub(super) fn encode(asked: PageWish, page: Metered<Page>) -> Bytes {
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
