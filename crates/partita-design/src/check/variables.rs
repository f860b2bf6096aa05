//! Variables in the names of tables and buckets: `{TABLE_NAME | stories}`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use partita_core::expression::Span;

use crate::codes::Code;
use crate::diagnostic::Report;
use crate::document::Text;
use crate::syntax::template::{self, Chunk, is_name};

/// Where the values of variables come from.
#[derive(Clone, Copy)]
pub(crate) struct Variables<'v> {
    pub(crate) given: &'v dyn Fn(&str) -> Option<String>,
    pub(crate) used: &'v RefCell<Used>,
}

/// The values that were taken.
#[derive(Default)]
pub(crate) struct Used {
    /// All of them, defaults too.
    pub(crate) all: BTreeMap<String, String>,
    pub(crate) given: BTreeMap<String, String>,
}

/// The text with its variables replaced; `None` after a report.
pub(crate) fn replace(
    text: &Text,
    variables: Variables<'_>,
    report: &mut Report,
) -> Option<String> {
    let mut replaced = String::new();
    for chunk in template::chunks(text, report)? {
        match chunk {
            Chunk::Text(range) => replaced.push_str(&text.as_str()[range]),
            Chunk::Braced(range) => {
                let span = text.at(range.clone());
                let (name, value) = variable(&text.as_str()[range], span, variables, report)?;
                let Some(value) = value else {
                    let message = format!("the variable `{name}` has no value and no default");
                    report
                        .add(Code::MissingVariable, span, message)
                        .help(format!("set `{name}`, or write `{{{name} | default}}`"));
                    return None;
                };
                replaced.push_str(&value);
            }
        }
    }
    Some(replaced)
}

/// As [`replace`], but a variable without a value is no mistake: what needs it says so.
pub(crate) fn replace_if_set(
    text: &Text,
    variables: Variables<'_>,
    report: &mut Report,
) -> Option<String> {
    let mut replaced = String::new();
    for chunk in template::chunks(text, report)? {
        match chunk {
            Chunk::Text(range) => replaced.push_str(&text.as_str()[range]),
            Chunk::Braced(range) => {
                let span = text.at(range.clone());
                let (_, value) = variable(&text.as_str()[range], span, variables, report)?;
                replaced.push_str(&value?);
            }
        }
    }
    Some(replaced)
}

/// The name and the value of `NAME` or `NAME | default`.
fn variable(
    written: &str,
    span: Span,
    variables: Variables<'_>,
    report: &mut Report,
) -> Option<(String, Option<String>)> {
    let (name, default) = match written.split_once('|') {
        Some((name, default)) => (name.trim(), Some(default.trim())),
        None => (written.trim(), None),
    };
    if !is_name(name) {
        let message = format!("`{name}` is not the name of a variable");
        report
            .add(Code::TemplateSyntax, span, message)
            .help("write `{NAME | default}`");
        return None;
    }
    let given = (variables.given)(name);
    let mut used = variables.used.borrow_mut();
    if let Some(value) = &given {
        used.given.insert(name.to_owned(), value.clone());
    }
    let value = given.or_else(|| default.map(str::to_owned));
    if let Some(value) = &value {
        used.all.insert(name.to_owned(), value.clone());
    }
    Some((name.to_owned(), value))
}
