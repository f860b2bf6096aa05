//! What differs between two designs of what stored data follow, and what of it they need not
//! follow.

mod wider;

use std::collections::BTreeSet;
use std::fmt;

use crate::design::{Aggregate, Attribute, Design, OnDelete, Record, Source};
use crate::fingerprint::{Part, Prints, besides_type, parts};
use wider::{is_wider, is_wider_shape};

/// A declaration that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path of the declaration: `entity.Story.attributes.title`.
    pub name: String,
    /// What became of it.
    pub kind: DifferenceKind,
    /// Its line in the old file.
    pub old_line: Option<usize>,
    /// Its line in the new file.
    pub new_line: Option<usize>,
    /// Whether data that are stored under the old design are right under the new one as they are.
    pub is_free: bool,
}

/// What became of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The new design has it, the old one does not.
    Added,
    /// The old design has it, the new one does not.
    Removed,
    /// Both have it, and it says something else.
    Changed,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.kind {
            DifferenceKind::Added => "added",
            DifferenceKind::Removed => "removed",
            DifferenceKind::Changed => "changed",
        };
        write!(f, "{word} {}", self.name)?;
        match (self.new_line, self.old_line) {
            (Some(new), Some(old)) => write!(f, " (line {new}; line {old} of the recorded design)"),
            (Some(new), None) => write!(f, " (line {new})"),
            (None, Some(old)) => write!(f, " (line {old} of the recorded design)"),
            (None, None) => Ok(()),
        }
    }
}

/// The declarations whose prints differ; none of them is known to be free.
pub fn between_prints(old: &Prints, new: &Prints) -> Vec<Difference> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differences = names.into_iter().filter_map(|name| {
        let kind = match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) if old == new => return None,
            (Some(_), Some(_)) => DifferenceKind::Changed,
            (Some(_), None) => DifferenceKind::Removed,
            (None, _) => DifferenceKind::Added,
        };
        Some(Difference {
            name: name.clone(),
            kind,
            old_line: None,
            new_line: None,
            is_free: false,
        })
    });
    whole_records(differences.collect())
}

/// Leaves out what belongs to an entity or a view that is added or removed as a whole.
fn whole_records(differences: Vec<Difference>) -> Vec<Difference> {
    let whole = differences
        .iter()
        .filter(|one| one.kind != DifferenceKind::Changed && one.name.matches('.').count() == 1);
    let whole: BTreeSet<String> = whole.map(|one| format!("{}.", one.name)).collect();
    let is_part = |name: &str| whole.iter().any(|record| name.starts_with(record.as_str()));
    let mut differences = differences;
    differences.retain(|one| !is_part(&one.name));
    differences
}

/// What differs between two designs.
pub fn between(old: &Design, new: &Design) -> Vec<Difference> {
    let (before, after) = (parts(old), parts(new));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differences = names.into_iter().filter_map(|name| {
        let (kind, is_free) = match (before.get(name), after.get(name)) {
            (Some(one), Some(two)) if one.form() == two.form() => return None,
            (Some(one), Some(two)) => (DifferenceKind::Changed, may_change(one, two)),
            (Some(one), None) => (DifferenceKind::Removed, may_go(one)),
            (None, Some(two)) => (DifferenceKind::Added, may_come(old, new, name, two)),
            (None, None) => return None,
        };
        Some(Difference {
            old_line: before.get(name).and_then(|_| old.origin.line(name)),
            new_line: after.get(name).and_then(|_| new.origin.line(name)),
            name: name.clone(),
            kind,
            is_free,
        })
    });
    whole_records(differences.collect())
}

/// Whether a declaration that is new says nothing of what is stored.
fn may_come(old: &Design, new: &Design, name: &str, part: &Part<'_>) -> bool {
    // The check of a design finds keys that two records could have, so that no stored key is one
    // of a new entity.
    if let Some(entity) = owner(name, "entity.")
        && old.find_entity(entity).is_none()
    {
        return true;
    }
    if let Some(view) = owner(name, "view.")
        && old.find_record(view).is_none()
    {
        // A history has what happens from now on.
        let of_new = |of: &str| old.find_entity(of).is_none();
        let view = new.find_record(view).and_then(|one| one.view.as_ref());
        return view.is_some_and(|view| view.history || of_new(&new[view.of].name));
    }
    match part {
        Part::Table(_)
        | Part::Open
        | Part::Shape(_)
        | Part::Constants(_)
        | Part::Bucket(_)
        | Part::Prefix(_) => true,
        Part::Index(table, _) => old.tables.iter().all(|known| known.id != table.id),
        Part::Ref(_, _, reference) => {
            let is_counted = owner(name, "entity.")
                .is_some_and(|entity| is_counted(new, entity, &reference.name));
            reference.unchecked && !is_counted
        }
        Part::Attribute(_, entity, attribute) => may_lack(old, entity, attribute),
        _ => false,
    }
}

/// Whether a number is kept over the items of an entity that refer by a ref.
fn is_counted(design: &Design, entity: &str, reference: &str) -> bool {
    let attributes = design.entities().flat_map(|one| &one.attributes);
    attributes.into_iter().any(|attribute| {
        let Source::Aggregate(Aggregate { of, by, .. }) = &attribute.source else {
            return false;
        };
        let counted = &design[*of];
        let by = &counted.refs[by.index()].name;
        by == reference && design.source(counted).name == entity
    })
}

/// Whether stored items of an entity are right without an attribute, and cannot have it already.
fn may_lack(old: &Design, entity: &Record, attribute: &Attribute) -> bool {
    let was_open = old
        .find_entity(&entity.name)
        .is_some_and(|entity| entity.open);
    let is_given = matches!(
        attribute.source,
        Source::Given { default: None } | Source::Generated
    );
    attribute.is_virtual || (is_given && attribute.optional && !was_open)
}

/// Whether a declaration can go without leaving anything behind.
fn may_go(part: &Part<'_>) -> bool {
    match part {
        Part::Require(_) | Part::Shape(_) | Part::Constants(_) => true,
        Part::Attribute(_, _, attribute) => attribute.is_virtual,
        Part::Ref(_, _, reference) => {
            let mut targets = reference.targets.iter();
            targets.all(|target| target.on_delete == OnDelete::Keep)
        }
        _ => false,
    }
}

/// Whether everything that is stored under one declaration is right under the other.
fn may_change(old: &Part<'_>, new: &Part<'_>) -> bool {
    match (old, new) {
        (Part::Shape(old), Part::Shape(new)) => is_wider_shape(old, new),
        (Part::Attribute(old_design, _, old), Part::Attribute(new_design, _, new)) => {
            besides_type(old_design, old) == besides_type(new_design, new)
                && (new.optional || !old.optional)
                && is_wider(&old.kind, &new.kind)
        }
        _ => false,
    }
}

/// The name of the record that a declaration belongs to.
fn owner<'n>(name: &'n str, section: &str) -> Option<&'n str> {
    name.strip_prefix(section)?.split('.').next()
}
