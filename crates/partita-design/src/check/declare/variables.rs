//! Variables in the names of tables and buckets, and in lifetimes: `{TABLE_NAME | stories}`.

use std::cell::RefCell;
use std::ops::Range;

use crate::codes::Code;
use crate::document::Text;
use crate::origin::Origin;
use crate::syntax::template::{self, Chunk, is_name};

/// Where the values of variables come from, and which of them were taken.
pub(crate) struct Variables<'v> {
    given: &'v dyn Fn(&str) -> Option<String>,
    used: RefCell<Origin>,
}

impl<'v> Variables<'v> {
    pub(crate) fn new(given: &'v dyn Fn(&str) -> Option<String>) -> Variables<'v> {
        Variables {
            given,
            used: RefCell::default(),
        }
    }

    /// The text with its variables replaced; `None` after a report.
    pub(crate) fn replace(&self, text: &Text) -> Option<String> {
        let missing = |name: &str, range: Range<usize>| {
            let message = format!("the variable `{name}` has no value and no default");
            text.report(Code::MissingVariable, text.at(range), message)
                .help(format!("set `{name}`, or write `{{{name} | default}}`"));
        };
        self.replaced(text, missing)
    }

    /// As [`Variables::replace`], but a variable without a value is no mistake: what needs it says
    /// so.
    pub(crate) fn replace_if_set(&self, text: &Text) -> Option<String> {
        self.replaced(text, |_, _| {})
    }

    fn replaced(&self, text: &Text, missing: impl Fn(&str, Range<usize>)) -> Option<String> {
        let mut replaced = String::new();
        for chunk in template::chunks(text)? {
            match chunk {
                Chunk::Text(range) => replaced.push_str(&text.as_str()[range]),
                Chunk::Braced(range) => {
                    let (name, value) = self.variable(text, range.clone())?;
                    if value.is_none() {
                        missing(name, range);
                    }
                    replaced.push_str(&value?);
                }
            }
        }
        Some(replaced)
    }

    /// The name and the value of `NAME` or `NAME | default`.
    fn variable<'t>(
        &self,
        text: &'t Text,
        range: Range<usize>,
    ) -> Option<(&'t str, Option<String>)> {
        let written = &text.as_str()[range.clone()];
        let (name, default) = match written.split_once('|') {
            Some((name, default)) => (name.trim(), Some(default.trim())),
            None => (written.trim(), None),
        };
        if !is_name(name) {
            let message = format!("`{name}` is not the name of a variable");
            text.report(Code::TemplateSyntax, text.at(range), message)
                .help("write `{NAME | default}`");
            return None;
        }
        let given = (self.given)(name);
        let mut used = self.used.borrow_mut();
        if let Some(value) = &given {
            used.given.insert(name.to_owned(), value.clone());
        }
        let value = given.or_else(|| default.map(str::to_owned));
        if let Some(value) = &value {
            used.variables.insert(name.to_owned(), value.clone());
        }
        Some((name, value))
    }

    /// An origin with the variables that were taken.
    pub(crate) fn note(self, origin: Origin) -> Origin {
        let Origin {
            variables, given, ..
        } = self.used.into_inner();
        Origin {
            variables,
            given,
            ..origin
        }
    }
}
