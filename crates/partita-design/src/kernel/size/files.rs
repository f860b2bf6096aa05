//! What is written beside an item for the files that it names.
//!
//! A file that an item takes over takes two records, those of the upload and of the file, or those
//! of the file and of one more owner. One that it lets go takes one, or two where several items may
//! name it. What is released in a write is one more, and what an item names that expires
//! another.

use super::change::Change;
use crate::design::{Access, Attribute, Design, Record};
use crate::files::{is_shared, names_files};
use crate::types::AttributeType;

/// Records of one file that comes.
const COMES: usize = 2;

/// What a change writes for the files of an attribute.
pub(super) struct Files {
    /// How many records there are at most.
    pub(super) records: usize,
    /// Whether some of the files may be released.
    pub(super) is_released: bool,
}

/// The attributes that name files, and what a change writes for them. What has no bound is refused
/// by the planner when it is too much.
pub(super) fn of<'d>(
    design: &Design,
    entity: &'d Record,
    change: &Change,
) -> Vec<(&'d str, Files)> {
    let mut found = Vec::new();
    for attribute in entity.attributes.iter().filter(|one| names_files(one)) {
        let name = attribute.name.as_str();
        if !change.touches([name]) {
            continue;
        }
        let goes = if is_shared(design, entity, attribute) {
            2
        } else {
            1
        };
        let is_taken = !change.access.removes() && !change.emptied.contains(name);
        let is_released = change.access != Access::Create;
        let each = COMES * usize::from(is_taken) + goes * usize::from(is_released);
        let files = Files {
            records: files(attribute).saturating_mul(each),
            is_released,
        };
        found.push((name, files));
    }
    found
}

/// Whether a change notes down the files of an item that expires, in one row.
pub(super) fn is_noted(entity: &Record, change: &Change) -> bool {
    let files = entity.attributes.iter().filter(|one| names_files(one));
    let mut names = files.map(|one| one.name.as_str()).peekable();
    let expiry = entity.expiry().map(|one| one.name.as_str());
    !change.access.removes()
        && names.peek().is_some()
        && expiry.is_some()
        && change.touches(names.chain(expiry))
}

fn files(attribute: &Attribute) -> usize {
    let names_files = attribute.file_in.is_some() || attribute.file_at.is_some();
    in_value(&attribute.kind, names_files)
}

fn in_value(kind: &AttributeType, names_files: bool) -> usize {
    match kind {
        AttributeType::List { element, count } => {
            in_value(element, names_files).saturating_mul(count.max.unwrap_or(1))
        }
        AttributeType::Shape(shape) => {
            let fields = shape.fields.iter();
            fields
                .map(|field| in_value(&field.kind, field.file_in.is_some()))
                .sum()
        }
        _ => usize::from(names_files),
    }
}
