//! Names that sections define which this version does not know.
//!
//! Such a section gets one diagnostic. What follows from it, such as `GSI1PK = "…"` in an entity
//! when `[index]` is there, gets none.

use crate::document::{Content, Node, Table};

/// The names.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    /// The key attributes of `[index]`.
    pub(crate) index_keys: Vec<String>,
    /// The operations of `[action.X]`.
    pub(crate) actions: Vec<String>,
    /// The tables of `[constants.X]`.
    pub(crate) constants: Vec<String>,
    /// Whether `[every]` gives all entities attributes.
    pub(crate) has_every: bool,
}

impl Elsewhere {
    pub(crate) fn read(file: &Table) -> Elsewhere {
        let section = |wanted: &str| {
            let found = file.iter().find(|(name, _)| name.text == wanted);
            found.map(|(_, node)| node)
        };
        let mut index_keys = Vec::new();
        if let Some(index) = section("index") {
            collect_texts(index, &mut index_keys);
        }
        Elsewhere {
            index_keys,
            actions: section("action").map_or_else(Vec::new, names),
            constants: section("constants").map_or_else(Vec::new, names),
            has_every: section("every").is_some(),
        }
    }
}

/// The names of the sections inside a section.
fn names(node: &Node) -> Vec<String> {
    match &node.content {
        Content::Table(table) => table.iter().map(|(name, _)| name.text.clone()).collect(),
        _ => Vec::new(),
    }
}

fn collect_texts(node: &Node, texts: &mut Vec<String>) {
    match &node.content {
        Content::Text(text) => texts.push(text.as_str().to_owned()),
        Content::List(list) => list.iter().for_each(|node| collect_texts(node, texts)),
        Content::Table(table) => {
            table
                .iter()
                .for_each(|(_, node)| collect_texts(node, texts));
        }
        _ => {}
    }
}
