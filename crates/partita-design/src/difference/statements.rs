//! Rows of an older layout, and what a design no longer has to state.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{
    AttributeAspect, Change, ChangeKind, Class, RecordName, Subject, Touches, Work, between,
};
use crate::design::Design;
use crate::document::contents;

/// Rows that the new design says something else of. The table may have such at any time, so that
/// nothing of what is stored can tell whether they were converted already; the old design does.
pub(super) fn rows(old: &Design, new: &Design) -> Vec<Change> {
    if new.rows.is_empty() {
        return Vec::new();
    }
    let (before, after) = (contents(&old.origin.text), contents(&new.origin.text));
    let changed = new.rows.iter().filter_map(|rows| {
        let section = format!("rows.{}.", rows.name);
        let kind = match (said(&before, &section), said(&after, &section)) {
            (one, two) if one == two => return None,
            (one, _) if one.is_empty() => ChangeKind::Added,
            _ => ChangeKind::Changed,
        };
        let targets = rows.then.iter().flat_map(|effect| effect.target.records());
        let path = format!("rows.{}", rows.name);
        Some(Change {
            old: old.origin.places.get(&path).cloned(),
            new: new.origin.places.get(&path).cloned(),
            subject: Subject::Rows(rows.name.clone()),
            kind,
            class: Class::Stated,
            work: Work::Convert,
            says: "each such row becomes what the design says".to_owned(),
            touches: Touches {
                writes: targets.map(|one| RecordName::of(&new[*one])).collect(),
                ..Touches::default()
            },
            is_reversible: false,
            missing: None,
        })
    });
    changed.collect()
}

fn said<'c>(contents: &'c BTreeMap<String, Json>, section: &str) -> Vec<(&'c String, &'c Json)> {
    let below = contents.range(section.to_owned()..);
    below
        .take_while(|(name, _)| name.starts_with(section))
        .collect()
}

/// The statements of a design that data which follow another one do not need, by their paths: they
/// are harmless, and can be left out once no other data need them.
pub fn needless(old: &Design, new: &Design) -> Vec<String> {
    let changes = between(old, new);
    let mut found = Vec::new();
    for record in &new.records {
        let name = RecordName::of(record);
        let is_used = |meant: &dyn Fn(&Change) -> bool| changes.iter().any(meant);
        let of_record = |change: &Change| change.subject.record().as_ref() == Some(&name);
        let is_moved = |change: &Change| {
            let is_renamed = matches!(change.subject, Subject::Entity(_) | Subject::View(_))
                && matches!(change.kind, ChangeKind::Renamed { .. });
            of_record(change) && (is_renamed || change.work == Work::Move)
        };
        if !record.was.is_empty() && !is_used(&is_moved) {
            found.push(format!("{name}.was"));
        }
        for attribute in record.attributes.iter().filter(|one| !one.was.is_empty()) {
            let is_renamed = |change: &Change| {
                matches!(&change.subject, Subject::Attribute(of, one, AttributeAspect::Name)
                    if *of == name && *one == attribute.name)
            };
            if attribute.is_declared() && !is_used(&is_renamed) {
                found.push(format!("{name}.attributes.{}", attribute.name));
            }
        }
        for fill in &record.fill {
            let is_filled = |change: &Change| {
                let is_fill = matches!(change.work, Work::Fill | Work::FillAll);
                is_fill
                    && matches!(&change.subject, Subject::Attribute(of, one, _)
                        if *of == name && *one == fill.attribute)
            };
            if !is_used(&is_filled) {
                found.push(format!("{name}.fill.{}", fill.attribute));
            }
        }
    }
    let converted = |rows: &str| {
        let mut changes = changes.iter();
        changes.any(|change| change.subject == Subject::Rows(rows.to_owned()))
    };
    let rows = new.rows.iter().filter(|rows| !converted(&rows.name));
    found.extend(rows.map(|rows| format!("rows.{}", rows.name)));
    found
}
