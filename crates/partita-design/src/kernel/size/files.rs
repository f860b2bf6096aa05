//! What is written beside an item for the files that it names: two records for each that it takes
//! over, and two for each that it lets go.

use super::change::Change;
use crate::design::{Attribute, Entity};
use crate::types::AttributeType;

/// Records of one file that comes or goes.
const EACH: usize = 2;

/// The attributes that name files, and how many records a change writes for them at most. What has
/// no bound is refused by the planner when it is too much.
pub(super) fn of<'d>(entity: &'d Entity, change: &Change) -> Vec<(&'d str, usize)> {
    let attributes = entity.attributes.iter().filter(|one| !one.is_virtual);
    let counted = attributes.map(|attribute| {
        let name = attribute.name.as_str();
        let changes = match change.is_whole() {
            true => 1,
            false => 2 * usize::from(change.touches([name])),
        };
        (name, files(attribute).saturating_mul(EACH * changes))
    });
    counted.filter(|(_, records)| *records > 0).collect()
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
