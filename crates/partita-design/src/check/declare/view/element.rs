//! `each`: one record for every element of a list.

use crate::check::declare::symbols::Element;
use crate::check::resolve::names::{Meaning, Names};
use crate::codes::Code;
use crate::design::{Each, EachOver};
use crate::document::Section;
use crate::expression::Origin;

/// Actions in a transaction at most.
const ACTIONS_MAX: usize = partita_core::limits::TRANSACTION_ACTIONS_MAX;

/// Elements of a view at most: each may be replaced by another.
const EACH_MAX: usize = (ACTIONS_MAX - 1) / 2;

/// The records of a view change in one transaction with their source.
pub(super) fn unbounded(each: &Each, section: &Section<'_>) {
    let EachOver::List { reading, max } = &each.over else {
        return;
    };
    let span = section.key_span("each").unwrap_or(section.span);
    let name = &reading.attribute;
    match max {
        None => {
            let message =
                format!("nothing bounds `{name}`, and its records change in one transaction");
            section
                .report(Code::UnboundedEach, span, message)
                .help(format!(
                    "write a bound, such as `{name} = \"list of string ..{EACH_MAX}\"`"
                ));
        }
        Some(max) if *max > EACH_MAX => {
            let message = format!(
                "replacing {max} elements takes {} actions, and a transaction has {ACTIONS_MAX}",
                2 * max + 1
            );
            section
                .report(Code::TransactionSize, span, message)
                .help(format!("write `..{EACH_MAX}` at most"));
        }
        Some(_) => {}
    }
}

/// The attribute of the source that an `each` goes through.
pub(super) fn list_of(each: &Each) -> String {
    match &each.over {
        EachOver::List { reading, .. } if reading.hops.is_empty() => reading.attribute.clone(),
        EachOver::List { .. } | EachOver::Pattern { .. } => String::new(),
    }
}

/// The names of a source, and the element in front of them.
pub(crate) fn with_element<'w>(names: Names<'w>, element: Option<&Element>) -> Names<'w> {
    match element {
        None => names,
        Some(element) => {
            let origin = Origin::Element(element.name.clone());
            let meaning = Meaning::value(element.kind.clone(), origin);
            names.with(&element.name, meaning)
        }
    }
}
