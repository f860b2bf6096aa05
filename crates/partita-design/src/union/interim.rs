//! What both designs have and declare otherwise: of the new one, stored under interim names.
//!
//! One attribute of an item cannot be two counts at once. So the new design is compiled once more,
//! with other names for what it declares otherwise and for all that is derived from that. In
//! between two designs that have all they derive under names of its own, it is a design like any
//! other: the way from the old design to the new one leads over it, in two parts that are both
//! ordinary. First it comes beside the old design, is filled, served, and alone; then the new
//! design comes beside it and takes its place. Callers know one name throughout.
//!
//! An index whose keys are made otherwise, or that has other keys, is another index with keys of its
//! own for that time.

use std::collections::BTreeSet;

use super::{Disagreement, moved_views, place_of};
use crate::check::{Renames, check_renamed};
use crate::design::pattern::{Read, SortRange};
use crate::design::{
    Attribute, Design, EachOver, Index, KeyValue, Projection, Record, RecordIndex, Source, Table,
    Timing, View,
};
use crate::difference::{AttributeAspect, ChangeKind, Class, Renamed, Subject, between};
use crate::expression::{Predicate, Reading};

/// What an attribute has behind its name while it is stored under an interim one. No name of a
/// design has it.
const SUFFIX: &str = "~";

/// What an index has behind its name, which the store restricts.
const INDEX_SUFFIX: &str = ".interim";

/// What callers call an attribute that is stored under an interim name.
pub fn shown_name(stored: &str) -> Option<&str> {
    stored.strip_suffix(SUFFIX)
}

/// The new one of two designs, with interim names for what both have and declare otherwise; none if
/// there is nothing.
pub fn interim(old: &Design, new: &Design) -> Result<Option<Design>, Vec<Disagreement>> {
    let mut found = Redeclared::between(old, new);
    if found.attributes.is_empty() && found.indexes.is_empty() {
        return Ok(None);
    }
    found.close();
    let wrong = found.obstacles();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let Some(mut design) = found.compiled() else {
        let wrong = found.attributes.iter().map(|(record, name)| Disagreement {
            place: format!("entity.{record}.attributes.{name}"),
            message: "cannot have another name for a while".to_owned(),
        });
        return Err(wrong.collect());
    };
    for (table, index) in &found.indexes {
        let tables = design.tables.iter_mut().filter(|one| one.id == *table);
        let indexes = tables.flat_map(|table| &mut table.indexes);
        for known in indexes.filter(|one| one.name == *index) {
            rename_index(known);
        }
    }
    name_keys_in_patterns(&mut design);
    Ok(Some(design))
}

/// Has the patterns ask for the keys that their indexes have.
fn name_keys_in_patterns(design: &mut Design) {
    for pattern in &mut design.patterns {
        let Read::Query(query) = &mut pattern.read else {
            continue;
        };
        let indexes = &design.tables[pattern.table.index()].indexes;
        let Some(index) = query.index.map(|index| &indexes[index.index()]) else {
            continue;
        };
        query.partition.attribute.clone_from(&index.partition.name);
        let bounds = match &mut query.sort {
            SortRange::All => vec![],
            SortRange::Equals(bound)
            | SortRange::BeginsWith(bound)
            | SortRange::Compared(bound, _) => vec![bound],
            SortRange::Between(low, high) => vec![low, high],
        };
        for (bound, key) in bounds.into_iter().zip(index.sort.iter().cycle()) {
            bound.attribute.clone_from(&key.name);
        }
    }
}

fn rename_index(index: &mut Index) {
    index.name.push_str(INDEX_SUFFIX);
    let keys = std::iter::once(&mut index.partition).chain(&mut index.sort);
    for key in keys.filter(|key| !key.native) {
        key.name.push_str(SUFFIX);
    }
}

/// The interim names of a design, for when its text is compiled once more.
pub(super) fn names_of(design: &Design) -> Renames {
    let records = design.records.iter();
    let attributes = records.flat_map(|record| {
        let declared = record.attributes.iter().filter(|one| one.is_declared());
        declared.map(|one| (&record.name, &one.name))
    });
    let names = attributes.filter_map(|(record, stored)| {
        let name = shown_name(stored)?;
        Some(((record.clone(), name.to_owned()), stored.clone()))
    });
    names.collect()
}

/// Gives the indexes of a design the interim names that another one of the same text has.
pub(super) fn rename_indexes(design: &mut Design, like: &Design) {
    for (table, like) in design.tables.iter_mut().zip(&like.tables) {
        for (index, like) in table.indexes.iter_mut().zip(&like.indexes) {
            if index.name != like.name {
                rename_index(index);
            }
        }
    }
}

/// What the new design declares otherwise than the old one, and all that is derived from it.
struct Redeclared<'d> {
    old: &'d Design,
    new: &'d Design,
    /// By record and attribute.
    attributes: BTreeSet<(String, String)>,
    /// By table and index.
    indexes: BTreeSet<(String, String)>,
}

impl<'d> Redeclared<'d> {
    fn between(old: &'d Design, new: &'d Design) -> Redeclared<'d> {
        let mut found = Redeclared {
            old,
            new,
            attributes: BTreeSet::new(),
            indexes: BTreeSet::new(),
        };
        let changes = between(old, new).into_iter();
        let changes =
            changes.filter(|one| one.kind == ChangeKind::Changed && one.class == Class::Derived);
        for change in changes {
            match change.subject {
                Subject::Attribute(record, name, AttributeAspect::Value) => {
                    found.attributes.insert((record.name, name));
                }
                Subject::IndexKey(record, key) => {
                    let record = new.find_record(&record.name);
                    let table = record.map(|record| &new[record.table]);
                    found.add_indexes(table, |index| index.made_keys().any(|one| one == key));
                }
                Subject::Index(name) => {
                    for table in &new.tables {
                        found.add_indexes(Some(table), |index| index.name == name);
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn add_indexes(&mut self, table: Option<&Table>, is_meant: impl Fn(&Index) -> bool) {
        if let Some(table) = table {
            let indexes = table.indexes.iter().filter(|one| is_meant(one));
            let names = indexes.map(|index| (table.id.clone(), index.name.clone()));
            self.indexes.extend(names);
        }
    }

    /// Adds what is derived from what is found, until nothing is.
    fn close(&mut self) {
        loop {
            let before = (self.attributes.len(), self.indexes.len());
            for record in &self.new.records {
                let is_history = record.view.as_ref().is_some_and(|view| view.history);
                let declared = record.attributes.iter().filter(|one| one.is_declared());
                for attribute in declared.filter(|one| is_followed(one) && !is_history) {
                    if self.is_fed(record, attribute) {
                        let place = (record.name.clone(), attribute.name.clone());
                        self.attributes.insert(place);
                    }
                }
                for keys in &record.indexes {
                    if self.is_read(record, &keys.reads) {
                        let table = &self.new[record.table];
                        let index = &self.new.index_of(record, keys.index).name;
                        self.indexes.insert((table.id.clone(), index.clone()));
                    }
                }
            }
            self.add_sharing();
            if before == (self.attributes.len(), self.indexes.len()) {
                return;
            }
        }
    }

    /// Adds the indexes that have a made key in common with one that is found.
    fn add_sharing(&mut self) {
        for table in &self.new.tables {
            let found = table
                .indexes
                .iter()
                .filter(|one| self.has_index(table, one));
            let keys: BTreeSet<&str> = found.flat_map(Index::made_keys).collect();
            self.add_indexes(Some(table), |index| {
                index.made_keys().any(|key| keys.contains(key))
            });
        }
    }

    fn has_index(&self, table: &Table, index: &Index) -> bool {
        let mut indexes = self.indexes.iter();
        indexes.any(|(of, name)| *of == table.id && *name == index.name)
    }

    /// Whether an attribute is derived from what is found.
    fn is_fed(&self, record: &Record, attribute: &Attribute) -> bool {
        let Source::Aggregate(aggregate) = &attribute.source else {
            return self.is_read(record, attribute.reads());
        };
        let of = &self.new[aggregate.of];
        let is_summed = |sum: &String| self.is_found(of, sum);
        let is_asked = |only: &Predicate| self.is_read(of, &only.reads);
        aggregate.sum.as_ref().is_some_and(is_summed)
            || aggregate.only.as_ref().is_some_and(is_asked)
    }

    /// Whether what is found is read from an item of a record, or through its refs.
    fn is_read(&self, record: &Record, reads: &[Reading]) -> bool {
        reads.iter().any(|reading| {
            if reading.hops.is_empty() {
                self.is_found(record, &reading.attribute)
            } else {
                let mut attributes = self.attributes.iter();
                attributes.any(|(_, name)| *name == reading.attribute)
            }
        })
    }

    /// Whether an attribute of a record is found; a view has those of its source.
    fn is_found(&self, record: &Record, name: &str) -> bool {
        let of = self.new.source(record);
        let mut attributes = self.attributes.iter();
        attributes
            .any(|(whose, found)| (*whose == of.name || *whose == record.name) && found == name)
    }

    /// The new design with the interim names of its attributes.
    fn compiled(&self) -> Option<Design> {
        if self.attributes.is_empty() {
            return Some(self.new.clone());
        }
        let places = self.attributes.iter().cloned();
        let names: Renames = places
            .map(|(record, name)| {
                let interim = format!("{name}{SUFFIX}");
                ((record, name), interim)
            })
            .collect();
        let variables = |name: &str| self.new.origin.variables.get(name).cloned();
        let mut design = check_renamed(&self.new.origin.text, &variables, &names)?;
        design.origin = self.new.origin.clone();
        for attribute in design
            .records
            .iter_mut()
            .flat_map(|one| &mut one.attributes)
        {
            if let Some(name) = attribute.name.strip_suffix(SUFFIX)
                && attribute.alias.is_none()
            {
                attribute.alias = Some(name.to_owned());
            }
        }
        Some(design)
    }

    /// What cannot be stored under interim names, and why.
    fn obstacles(&self) -> Vec<Disagreement> {
        let renamed = Renamed::between(self.old, self.new);
        let mut wrong = Vec::new();
        for place in &self.attributes {
            let Some(record) = self.new.find_record(&place.0) else {
                continue;
            };
            let is_renamed = renamed.attributes.contains_key(place);
            let why = if is_renamed {
                Some("has another name, which nothing else may change together with")
            } else {
                record
                    .stored(&place.1)
                    .and_then(|attribute| self.obstacle(record, attribute))
            };
            wrong.extend(why.map(|why| Disagreement {
                place: format!("{}.attributes.{}", place_of(record), place.1),
                message: why.to_owned(),
            }));
        }
        for pattern in &self.new.patterns {
            let table = &self.new[pattern.table];
            let indexes = table
                .indexes
                .iter()
                .filter(|one| self.has_index(table, one));
            let mut keys = indexes.flat_map(Index::made_keys);
            let text = pattern
                .filter
                .as_ref()
                .map_or("", |filter| filter.text.as_str());
            if keys.any(|key| text.contains(key)) {
                wrong.push(Disagreement {
                    place: format!("pattern.{}.filter", pattern.name),
                    message: "reads a key that is made otherwise".to_owned(),
                });
            }
        }
        wrong
    }

    /// Why an attribute cannot be stored under an interim name.
    fn obstacle(&self, record: &Record, attribute: &Attribute) -> Option<&'static str> {
        let name = &attribute.name;
        let table = &self.new[record.table];
        let is_named = |names: Vec<String>| names.contains(name);
        let is_held = table.indexes.iter().any(|index| match &index.projection {
            Projection::Include(included) => included.contains(name),
            Projection::All | Projection::KeysOnly => false,
        }) || record.indexes.iter().any(|keys| is_native(keys, name));
        let moved = moved_views(self.old, self.new);
        let views = || self.new.views_of(record.id);
        let is_archived =
            views().any(|(view, of)| of.history && view.kept().any(|one| one.name == *name));
        let finds_records =
            views()
                .filter(|(view, _)| !moved.contains(&view.name))
                .any(|(view, of)| {
                    let when = of.when.iter().flat_map(|when| &when.reads);
                    let distinct = of.distinct.iter().flat_map(|one| &one.reads);
                    let mut reads = when.chain(distinct).chain(each_of(of));
                    is_named(view.key.names()) || reads.any(|one| one.attribute == *name)
                });
        let through = format!(".{name}");
        let mut refs = self.new.records.iter().flat_map(|one| &one.refs);
        let leads = refs.any(|reference| {
            let targets = reference.targets.iter();
            let arguments = targets.flat_map(|target| &target.arguments);
            let mut paths = arguments.map(|one| &one.path).chain(&reference.by);
            paths.any(|path| path == name || path.ends_with(&through))
        });
        let mut unique = record.unique.iter();
        let require = record.require.iter().flat_map(|require| &require.reads);
        if is_named(record.key.names()) {
            Some("is in the primary key")
        } else if leads {
            Some("says where a ref leads")
        } else if unique.any(|one| one.attributes.contains(name)) {
            Some("is unique, under guards of its own")
        } else if finds_records {
            Some("decides which records a view has")
        } else if require.clone().any(|one| one.attribute == *name) {
            Some("is in a condition that must hold")
        } else if is_held {
            Some("is held by an index under its name")
        } else if is_archived {
            Some("is kept in a history under its name")
        } else if table.ttl.as_ref() == Some(name) {
            Some("says when items expire, which a table has one name for")
        } else if attribute.file_in.is_some() || attribute.file_at.is_some() {
            Some("names a file, which belongs to one attribute")
        } else if attribute.per.is_some() {
            Some("is counted for a time, under its name")
        } else if record.open {
            Some("may be in items already, because the entity is `open`")
        } else {
            None
        }
    }
}

/// What a view has a record for each element of.
fn each_of(view: &View) -> Option<&Reading> {
    match &view.each.as_ref()?.over {
        EachOver::List { reading, .. } => Some(reading),
        EachOver::Pattern { .. } => None,
    }
}

fn is_native(keys: &RecordIndex, name: &str) -> bool {
    let values = std::iter::once(&keys.partition).chain(&keys.sort);
    let mut values = values.filter_map(|value| match value {
        KeyValue::Native(native) => Some(native),
        KeyValue::Cases(_) => None,
    });
    values.any(|native| native == name)
}

/// Whether a value is computed again whenever what it is derived from changes.
fn is_followed(attribute: &Attribute) -> bool {
    match &attribute.source {
        Source::Computed(computed) => matches!(computed.timing, Timing::Always | Timing::Ref),
        Source::Aggregate(_) | Source::Copy(_) | Source::Derived(_) => true,
        Source::Given { .. } | Source::Generated => false,
    }
}
