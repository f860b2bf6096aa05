//! `path` of entities and patterns: where they are in URLs.

use crate::document::Section;
use crate::syntax::path::{self, WrittenPath};

/// Reads the `path` of a section, if it has one that can be read.
pub(crate) fn read(section: &mut Section<'_>) -> Option<WrittenPath> {
    path::parse(section.text("path").given()?)
}
