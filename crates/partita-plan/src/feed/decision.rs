//! What a change means to one row: a pure function of what was shown and what is shown.

use partita_core::Map;
use partita_design::{Design, nested};

use crate::operation::Record;

/// What a feed says of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedEvent {
    /// It is shown from now on.
    Enter(Record),
    /// It is shown otherwise.
    Change(Record),
    /// It is not shown any more.
    Leave {
        /// The entity or view that it is of.
        name: String,
        /// The attributes of its identity.
        identity: Map,
    },
}

/// What is said when a row showed one record and shows another.
pub(super) fn decide(design: &Design, was: Option<Record>, is: Option<Record>) -> Vec<FeedEvent> {
    match (was, is) {
        (None, None) => Vec::new(),
        (None, Some(is)) => vec![FeedEvent::Enter(is)],
        (Some(was), None) => vec![leave(design, &was)],
        (Some(was), Some(is)) if was == is => Vec::new(),
        (Some(was), Some(is)) => {
            let left = leave(design, &was);
            if left == leave(design, &is) {
                vec![FeedEvent::Change(is)]
            } else {
                vec![left, FeedEvent::Enter(is)]
            }
        }
    }
}

/// Whether an event says that a record leaves which another row still shows.
pub(super) fn is_same_row(design: &Design, event: &FeedEvent, shown: &Record) -> bool {
    matches!(event, FeedEvent::Leave { .. }) && *event == leave(design, shown)
}

fn leave(design: &Design, record: &Record) -> FeedEvent {
    let known = design.records.iter().find(|one| one.name == record.name);
    let parts = known.into_iter().flat_map(|one| &one.identity);
    let mut identity = Map::new();
    for part in parts {
        if let Some(value) = nested::get(&record.attributes, &part.attribute) {
            nested::set(&mut identity, &part.attribute, value.clone());
        }
    }
    FeedEvent::Leave {
        name: record.name.clone(),
        identity,
    }
}
