//! Renames: what the new design says was called otherwise, as far as the old one calls it so.
//!
//! Names stand in keys, conditions and values all over a design. So the new text is compiled once
//! more with the old names in the place of its own, and that is compared with the old design. What
//! differs then is more than a name.

use std::collections::BTreeMap;

use super::{
    AttributeAspect, Change, ChangeKind, Class, Derived, Missing, RecordName, Subject, Touches,
    Work,
};
use crate::check::{Renames, check_renamed};
use crate::design::{Design, Record};
use crate::origin::Place;

/// The renames from an old design to a new one.
#[derive(Debug, Default)]
pub(crate) struct Renamed {
    /// By the new name of the record, its old one.
    pub(crate) records: BTreeMap<String, String>,
    /// By the new names of a record and of its attribute, the old name of that.
    pub(crate) attributes: Renames,
}

impl Renamed {
    pub(crate) fn between(old: &Design, new: &Design) -> Renamed {
        let mut renamed = Renamed::default();
        for record in &new.records {
            let mut was = record.was.iter().filter_map(|one| one.name.as_ref());
            let before = match find(old, &record.name, record.is_entity()) {
                Some(before) => before,
                None => {
                    let found = was.find_map(|was| find(old, was, record.is_entity()));
                    let Some(before) = found else { continue };
                    let names = (record.name.clone(), before.name.clone());
                    renamed.records.insert(names.0, names.1);
                    before
                }
            };
            // A view has those of its source besides, which are renamed there.
            let own = record.attributes.iter().filter(|one| one.is_declared());
            for attribute in own.filter(|one| before.stored(&one.name).is_none()) {
                let mut was = attribute.was.iter();
                if let Some(was) = was.find(|was| before.stored(was).is_some()) {
                    let place = (record.name.clone(), attribute.name.clone());
                    renamed.attributes.insert(place, was.clone());
                }
            }
        }
        renamed
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.attributes.is_empty()
    }

    /// The new design in the names of the old one.
    pub(super) fn undone(&self, new: &Design) -> Option<Design> {
        let origin = &new.origin;
        let variables = |name: &str| origin.variables.get(name).cloned();
        let mut design = check_renamed(&origin.text, &variables, &self.attributes)?;
        for record in &mut design.records {
            if let Some(old) = self.records.get(&record.name) {
                record.name.clone_from(old);
            }
        }
        Some(design)
    }

    /// A subject in the names of the new design.
    pub(super) fn redone(&self, subject: &Subject) -> Subject {
        let name = |old: &String| {
            let mut records = self.records.iter();
            let found = records.find(|(_, was)| *was == old);
            found.map_or_else(|| old.clone(), |(new, _)| new.clone())
        };
        let record = |one: &RecordName| RecordName {
            name: name(&one.name),
            is_view: one.is_view,
        };
        match subject {
            Subject::Entity(one) => Subject::Entity(name(one)),
            Subject::View(one) => Subject::View(name(one)),
            Subject::PrimaryKey(one, key) => Subject::PrimaryKey(record(one), key.clone()),
            Subject::IndexKey(one, key) => Subject::IndexKey(record(one), key.clone()),
            Subject::Discriminator(one, key) => Subject::Discriminator(record(one), key.clone()),
            Subject::Open(one) => Subject::Open(name(one)),
            Subject::SoftDelete(one) => Subject::SoftDelete(name(one)),
            Subject::Require(one) => Subject::Require(name(one)),
            Subject::Attribute(one, attribute, aspect) => {
                let one = record(one);
                let mut attributes = self.attributes.iter();
                let found = attributes
                    .find(|((of, _), was)| *of == one.name && *was == attribute)
                    .map(|((_, new), _)| new.clone());
                Subject::Attribute(one, found.unwrap_or_else(|| attribute.clone()), *aspect)
            }
            Subject::Ref(one, reference, aspect) => {
                Subject::Ref(name(one), reference.clone(), *aspect)
            }
            Subject::Guard(one, guard) => Subject::Guard(name(one), guard.clone()),
            Subject::When(one) => Subject::When(name(one)),
            Subject::Each(one) => Subject::Each(name(one)),
            Subject::Distinct(one) => Subject::Distinct(name(one)),
            Subject::Keep(one) => Subject::Keep(name(one)),
            Subject::Table(..)
            | Subject::Index(_)
            | Subject::Shape(_)
            | Subject::Constants(_)
            | Subject::Login
            | Subject::Bucket(_)
            | Subject::Prefix(..)
            | Subject::Rows(_)
            | Subject::Unstored(..) => subject.clone(),
        }
    }

    /// The renames themselves.
    pub(super) fn changes(&self, old: &Design, new: &Design, is_undone: bool) -> Vec<Change> {
        let missing = (!is_undone).then(|| {
            let advice = "rename it in a step of its own: together with what else changes, the two \
                          designs cannot be compared";
            Missing::Impossible(advice.to_owned())
        });
        let change =
            |subject: Subject, was: &String, old: Option<Place>, says: &str, touches| Change {
                new: new.origin.place(&subject.path()).cloned(),
                subject,
                kind: ChangeKind::Renamed { was: was.clone() },
                class: Class::Stated,
                work: Work::Rename,
                says: says.to_owned(),
                touches,
                is_reversible: true,
                missing: missing.clone(),
                old,
            };
        let mut changes = Vec::new();
        for (name, was) in &self.records {
            let Some(record) = new.find_record(name) else {
                continue;
            };
            let (subject, path) = match record.is_entity() {
                true => (Subject::Entity(name.clone()), format!("entity.{was}")),
                false => (Subject::View(name.clone()), format!("view.{was}")),
            };
            let place = old.origin.place(&path).cloned();
            let says = "stored items are the same, under another name";
            changes.push(change(subject, was, place, says, Touches::default()));
        }
        for ((name, attribute), was) in &self.attributes {
            let Some(record) = new.find_record(name) else {
                continue;
            };
            let before = self.records.get(name).unwrap_or(name);
            let section = if record.is_entity() { "entity" } else { "view" };
            let path = format!("{section}.{before}.attributes.{was}");
            let place = old.origin.place(&path).cloned();
            let aspect = AttributeAspect::Name;
            let subject = Subject::Attribute(RecordName::of(record), attribute.clone(), aspect);
            let says = "it is stored under its new name";
            let touches = touched(new, record, attribute);
            changes.push(change(subject, was, place, says, touches));
        }
        changes
    }
}

fn find<'d>(design: &'d Design, name: &str, is_entity: bool) -> Option<&'d Record> {
    let found = design.find_record(name);
    found.filter(|record| record.is_entity() == is_entity)
}

/// The items that have an attribute, with the records of views that repeat it.
fn touched(new: &Design, record: &Record, attribute: &str) -> Touches {
    let mut touches = Touches {
        reads: vec![RecordName::of(record)],
        writes: vec![RecordName::of(record)],
        ..Touches::default()
    };
    for (view, _) in new.views_of(record.id) {
        if view.kept().any(|one| one.name == attribute) {
            touches.writes.push(RecordName::of(view));
            let kept = Derived::Kept(view.name.clone(), vec![attribute.to_owned()]);
            touches.adds.push(kept);
        }
    }
    touches
}
