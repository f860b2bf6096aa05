//! `[constants.X]`: values that are written in the design.

use std::collections::BTreeMap;

use partita_core::{Map, Number, Value};

use crate::codes::Code;
use crate::design::Constants;
use crate::diagnostic::Report;
use crate::document::{Content, Name, Node, Section, section};

/// Reads a table of constants; rows with a mistake are left out.
pub(crate) fn check(name: &Name, mut section: Section<'_>, report: &mut Report) -> Constants {
    let mut rows = BTreeMap::new();
    for (row, node) in section.all() {
        let Content::Table(entries) = &node.content else {
            let expected = "a table such as `{ days = 30 }`";
            section::report_type(report, node.span, &row.text, expected, &node.content);
            continue;
        };
        let values = entries.iter().filter_map(|(field, node)| {
            super::check_name(&field.text, field.span, report);
            Some((field.text.clone(), value(field, node, report)?))
        });
        rows.insert(row.text.clone(), values.collect::<Map>());
    }
    Constants {
        name: name.text.clone(),
        rows,
    }
}

fn value(field: &Name, node: &Node, report: &mut Report) -> Option<Value> {
    match &node.content {
        Content::Text(text) => Some(Value::from(text.as_str())),
        Content::Bool(truth) => Some(Value::Bool(*truth)),
        Content::Integer(Some(number)) => Some(Value::N(Number::from(*number))),
        Content::Float(written) => match written.parse() {
            Ok(number) => Some(Value::N(number)),
            Err(_) => {
                let message = format!("`{written}` is no number that DynamoDB knows");
                report.add(Code::OutOfRange, node.span, message);
                None
            }
        },
        other => {
            let expected = "a string, a number or a boolean";
            section::report_type(report, node.span, &field.text, expected, other);
            None
        }
    }
}
