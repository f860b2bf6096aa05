//! Where a compiled design comes from: its text, its variables, and the lines of its declarations.

use std::collections::BTreeMap;

use partita_core::expression::Span;

/// The text that a design was compiled from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub text: String,
    /// The variables of the file that have a value, each with the value that was used: a given one
    /// or the default.
    pub variables: BTreeMap<String, String>,
    /// Those of them that were given.
    pub given: BTreeMap<String, String>,
    /// Whether it was asked for by the name of a shipped design, so that another version of the
    /// program may bring another text.
    pub is_shipped: bool,
    /// The place of every key of the file, by its path: `entity.Story.attributes.title`.
    pub(crate) places: BTreeMap<String, Place>,
}

/// Where something is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path of the key that declares it.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The key with its value, as far as they are in that line.
    pub span: Span,
}

impl Origin {
    /// The line of a declaration, from 1. What an entity has from `[every]` is declared there, and
    /// what is not written in a line of its own belongs to the section around it.
    pub fn line(&self, declaration: &str) -> Option<usize> {
        self.place(declaration).map(|place| place.line)
    }

    /// The place of a declaration, as [`Origin::line`] finds it.
    pub fn place(&self, declaration: &str) -> Option<&Place> {
        let mut name = declaration;
        loop {
            if let Some(place) = self.places.get(name) {
                return Some(place);
            }
            let inherited = name.strip_prefix("entity.").and_then(|rest| {
                let (_, rest) = rest.split_once('.')?;
                self.places.get(&format!("every.{rest}"))
            });
            if inherited.is_some() {
                return inherited;
            }
            name = name.rsplit_once('.')?.0;
        }
    }
}
