//! Items that have another primary key in the other design.
//!
//! An item has one primary key, and reads, refs and conditions ask for it there. So the item of the
//! served design stays where it is, and under the key that the other design gives it the whole item
//! is kept once more, as the records of a view are: every write changes both, a backfill makes what
//! is missing, and what goes with the other design is removed. When the other design is served, the
//! two have changed places. Reads know a key of the other layout by its form, and skip it.

use std::collections::BTreeSet;

use super::{Merge, may_collide, place_of};
use crate::design::record::SOURCE;
use crate::design::{
    Argument, Attribute, Design, OnDelete, Record, RecordId, Ref, RefTarget, RefTo, Repeat, Rules,
    View,
};
use crate::template::{Format, Hole};

/// What the record of such items has behind the name of their entity. No name of a design has it.
const SUFFIX: &str = "~";

impl Merge<'_> {
    /// Keeps the items of entities that have other keys in the other design under these, too.
    pub(super) fn moved(&mut self) {
        for other in self.other.records.iter().filter(|one| one.is_entity()) {
            let id = self.numbers.record(other.id);
            let Some(id) = id.filter(|id| !self.aside.has_record(*id)) else {
                continue;
            };
            let known = &self.design[id];
            if known.key == other.key {
                continue;
            }
            let place = self.place_of_key(known, other);
            if let Some(why) = self.unmoved(known, other) {
                self.disagree(place, why);
                continue;
            }
            let beside = copy(known, other, RecordId::new(self.design.records.len()));
            let records = self.design.records.iter();
            let mut records = records.filter(|one| one.table == beside.table);
            if let Some(other) = records.find(|one| may_collide(&one.key, &beside.key)) {
                let message = format!("can spell a key of `{}`, as it is now", place_of(other));
                self.disagree(place, message);
                continue;
            }
            self.aside.moved.insert(id, beside.id);
            self.find_by(id, beside.id);
            self.design.records.push(beside);
        }
    }

    /// Has refs that only the other design can follow back do so over its keys.
    fn find_by(&mut self, entity: RecordId, beside: RecordId) {
        for (record, reference, target) in &self.others_finders {
            let reference = &mut self.design.records[record.index()].refs[*reference];
            let finder = &mut reference.targets[*target].finder;
            if let Some(finder) = finder.as_mut().filter(|one| one.record == entity) {
                finder.record = beside;
            }
        }
    }

    fn place_of_key(&self, known: &Record, other: &Record) -> String {
        let table = &self.design[known.table];
        let key = if known.key.partition == other.key.partition {
            &table.sort
        } else {
            &table.partition
        };
        format!("{}.{key}", place_of(known))
    }

    /// Why items cannot be kept under two keys.
    fn unmoved(&self, known: &Record, other: &Record) -> Option<&'static str> {
        let identity = |record: &Record| -> BTreeSet<String> {
            let parts = record.identity.iter();
            parts.map(|part| part.attribute.clone()).collect()
        };
        let [ours, theirs] = [known, other].map(spelt);
        let has_files = |record: &Record| {
            let mut attributes = record.attributes.iter();
            attributes.any(|one| one.file_in.is_some() || one.file_at.is_some())
        };
        if identity(known) != identity(other) || ours != theirs || ours != identity(known) {
            Some(
                "does not spell the same attributes in full, so that items would have another \
                 identity: create them anew as another entity",
            )
        } else if known.open || other.open {
            Some("is of an `open` entity, whose attributes are not all known")
        } else if has_files(known) || has_files(other) {
            Some("is of an entity that names files, which belong to the key of their item")
        } else if self.design.kept_numbers(known).next().is_some() {
            Some(
                "is of an entity with numbers over items that may outlive its own, which are kept \
                 under its key",
            )
        } else {
            None
        }
    }
}

/// The attributes whose values a primary key spells as they are.
fn spelt(record: &Record) -> BTreeSet<String> {
    let templates = [&record.key.partition, &record.key.sort];
    let holes = templates.into_iter().flat_map(|one| one.holes());
    let whole = holes.filter(|hole| !matches!(hole.format, Format::Time { .. }));
    let names = whole.filter_map(Hole::name);
    let found = names.filter_map(|name| Some(record.attribute(&name)?.name.clone()));
    found.collect()
}

/// The items of an entity under the key of the other design, as records of a view that keeps
/// everything.
fn copy(known: &Record, other: &Record, id: RecordId) -> Record {
    let is_part = |name: &str| known.is_identified_by(name);
    let attributes = known.attributes.iter().map(|one| {
        let layout = other.stored(&one.name).unwrap_or(one);
        let key_only = layout.key_only && !one.is_virtual;
        Attribute {
            key_only,
            kept: !key_only && !one.is_virtual,
            inherited: true,
            lasting: is_part(&one.name),
            secret: true,
            ..one.clone()
        }
    });
    let arguments = known.identity.iter().map(|part| Argument {
        part: part.attribute.clone(),
        path: part.attribute.clone(),
        many: false,
    });
    let source = RefTarget {
        when: None,
        to: RefTo::Record(known.id),
        arguments: arguments.collect(),
        via: None,
        on_delete: OnDelete::Keep,
        finder: None,
    };
    Record {
        id,
        name: format!("{}{SUFFIX}", known.name),
        about: None,
        path: None,
        table: known.table,
        key: other.key.clone(),
        indexes: known.indexes.clone(),
        discriminator: known.discriminator.clone(),
        also_marked: known.also_marked.clone(),
        identity: other.identity.clone(),
        attributes: attributes.collect(),
        refs: vec![Ref {
            name: SOURCE.to_owned(),
            by: None,
            targets: vec![source],
            live: false,
            active: false,
            unchecked: true,
            optional: false,
        }],
        rules: Rules::default(),
        open: false,
        soft_delete: None,
        purge_after_days: None,
        require: None,
        repeat: Repeat::Refuse,
        unique: Vec::new(),
        was: Vec::new(),
        fill: Vec::new(),
        view: Some(View {
            of: known.id,
            history: false,
            when: None,
            each: None,
            distinct: None,
            has_rules: false,
            hidden_by: None,
        }),
    }
}

/// The arguments of a ref in the order in which its target is identified. The other design may have
/// the parts of the key in another one.
pub(super) fn order_arguments(union: &Design, target: &mut RefTarget) {
    let (Some(to), None) = (target.record(), target.via) else {
        return;
    };
    let Some(to) = union.records.get(to.index()) else {
        return;
    };
    target.arguments.sort_by_key(|argument| {
        let mut parts = to.identity.iter();
        parts.position(|part| part.name == argument.part || part.attribute == argument.part)
    });
}
