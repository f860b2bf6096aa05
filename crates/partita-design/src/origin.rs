//! Where a compiled design comes from: its text, its variables, and the lines of its declarations.

use std::collections::BTreeMap;

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
    /// The line of every key of the file, by its path: `entity.Story.attributes.title`.
    pub(crate) lines: BTreeMap<String, usize>,
}

impl Origin {
    /// The line of a declaration, from 1. What an entity has from `[every]` is declared there, and
    /// what is not written in a line of its own belongs to the section around it.
    pub fn line(&self, declaration: &str) -> Option<usize> {
        let mut name = declaration;
        loop {
            if let Some(line) = self.lines.get(name) {
                return Some(*line);
            }
            let inherited = name.strip_prefix("entity.").and_then(|rest| {
                let (_, rest) = rest.split_once('.')?;
                self.lines.get(&format!("every.{rest}"))
            });
            if let Some(line) = inherited {
                return Some(*line);
            }
            name = name.rsplit_once('.')?.0;
        }
    }
}
