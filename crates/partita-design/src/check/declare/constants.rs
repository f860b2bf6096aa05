//! `[constants.X]`: values that are written in the design.

use std::collections::BTreeMap;

use partita_core::{Map, Value};

use crate::check::declare::sections::check_name;
use crate::design::Constants;
use crate::document::{Content, Name, Node, Section};

/// Reads a table of constants; rows with a mistake are left out.
pub(crate) fn check(name: &Name, mut section: Section<'_>) -> Constants {
    let mut rows = BTreeMap::new();
    for (row, node) in section.all() {
        let Content::Table(entries) = &node.content else {
            let expected = "a table such as `{ days = 30 }`";
            node.refuse(&row.text, expected);
            continue;
        };
        let values = entries.iter().filter_map(|(field, node)| {
            check_name(&field.text, field.span, &field.report);
            Some((field.text.clone(), value(field, node)?))
        });
        rows.insert(row.text.clone(), values.collect::<Map>());
    }
    Constants {
        name: name.text.clone(),
        rows,
    }
}

fn value(field: &Name, node: &Node) -> Option<Value> {
    match &node.content {
        Content::Text(text) => Some(Value::from(text.as_str())),
        _ => node.scalar(&field.text),
    }
}
