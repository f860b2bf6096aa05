//! Which derived values are derived from which others.
//!
//! What is derived from a wrong value looks wrong where it is right, and would be mended to
//! something wrong. So a pass first learns which declarations of the design have wrong values. Of
//! these only the roots are reported and mended: those that are derived from no other one. The rest
//! waits until the roots are right.
//!
//! A declaration is named by its place in the design, as a drift names it. What an item computes
//! from itself is judged over what it should be, so that values of one item do not wait for each
//! other.

use std::collections::{BTreeMap, BTreeSet};

use partita_design::Design;
use partita_design::design::{
    Aggregate, Attribute, EachOver, Record, RecordId, Ref, RefTo, Source, View,
};
use partita_design::expression::{Origin, Reading};
use partita_design::kernel::reference_inputs;

/// What the derived values of a design are derived from, as far as that is derived itself.
pub(crate) struct Derivation {
    declarations: BTreeMap<String, Declaration>,
}

struct Declaration {
    /// The entity that it belongs to; a view's is its source.
    entity: RecordId,
    reads: BTreeSet<Basis>,
}

/// A declaration that another one reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Basis {
    place: String,
    /// Whether it is a value of the same item that is judged together with what reads it.
    is_own: bool,
}

impl Derivation {
    pub(crate) fn of(design: &Design) -> Derivation {
        let mut declarations = BTreeMap::new();
        for record in &design.records {
            for (place, reads) in declared(design, record) {
                let entity = design.source(record).id;
                declarations.insert(place, Declaration { entity, reads });
            }
        }
        Derivation { declarations }
    }

    /// Those of some declarations that are derived from no other of them. Declarations that are
    /// derived from each other do not wait for each other: nothing would ever be mended.
    pub(crate) fn roots(&self, wrong: &BTreeSet<String>) -> BTreeSet<String> {
        let awaited = wrong.iter();
        let awaited = awaited.map(|place| (place.as_str(), self.awaited(place)));
        let awaited: BTreeMap<&str, BTreeSet<&str>> = awaited.collect();
        let is_root = |place: &str| {
            let mut before = awaited[place].iter();
            !before.any(|other| awaited.get(other).is_some_and(|its| !its.contains(place)))
        };
        let roots = wrong.iter().filter(|place| is_root(place));
        roots.cloned().collect()
    }

    /// The declarations that must be right before this one can be judged.
    fn awaited<'d>(&'d self, place: &'d str) -> BTreeSet<&'d str> {
        let mut seen: BTreeSet<(&str, bool)> = BTreeSet::new();
        let mut open = vec![(place, true)];
        while let Some((place, is_own)) = open.pop() {
            let declaration = self.declarations.get(place);
            for basis in declaration.iter().flat_map(|one| &one.reads) {
                let next = (basis.place.as_str(), is_own && basis.is_own);
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        let others = seen.into_iter().filter(|(_, is_own)| !is_own);
        others.map(|(place, _)| place).collect()
    }

    /// Some entities, and those whose values theirs are derived from.
    pub(crate) fn with_sources(&self, entities: &BTreeSet<RecordId>) -> BTreeSet<RecordId> {
        let mut all = entities.clone();
        for (place, declaration) in &self.declarations {
            if entities.contains(&declaration.entity) {
                let awaited = self.awaited(place).into_iter();
                all.extend(awaited.filter_map(|one| Some(self.declarations.get(one)?.entity)));
            }
        }
        all
    }
}

/// The declarations of a record that derive something, each with what it reads.
fn declared(design: &Design, record: &Record) -> Vec<(String, BTreeSet<Basis>)> {
    if let Some(view) = &record.view {
        return vec![(view_place(record), of_view(design, record, view))];
    }
    let mut all = Vec::new();
    let attributes = record.attributes.iter();
    for attribute in attributes.filter(|one| !one.is_virtual) {
        let mut collector = Collector::new(design);
        match &attribute.source {
            Source::Computed(computed) => collector.all(record, &computed.value.reads, true),
            Source::Copy(reading) => collector.reading(record, reading, true),
            Source::Aggregate(aggregate) => collector.aggregate(aggregate),
            Source::Given { .. } | Source::Generated | Source::Derived(_) => continue,
        }
        let place = attribute_place(record, attribute);
        if let Source::Aggregate(_) = &attribute.source {
            all.push((kept_place(&place), collector.found.clone()));
        }
        all.push((place, collector.found));
    }
    for unique in &record.unique {
        let mut collector = Collector::new(design);
        for name in &unique.attributes {
            collector.attribute(record, name, true);
        }
        let place = format!("entity.{}.unique.{}", record.name, unique.name);
        all.push((place, collector.found));
    }
    for reference in &record.refs {
        let mut collector = Collector::new(design);
        collector.reference(record, reference, true);
        all.push((ref_place(record, reference), collector.found));
    }
    let mut collector = Collector::new(design);
    for index in &record.indexes {
        collector.all(record, &index.reads, true);
    }
    let keys = design[record.table].made_keys();
    all.extend(keys.map(|key| (key_place(record, key), collector.found.clone())));
    all
}

/// What the records of a view are made of.
fn of_view(design: &Design, record: &Record, view: &View) -> BTreeSet<Basis> {
    let source = &design[view.of];
    let mut collector = Collector::new(design);
    if let Some(when) = &view.when {
        collector.all(source, &when.reads, true);
    }
    if let Some(EachOver::List { reading, .. }) = view.each.as_ref().map(|each| &each.over) {
        collector.reading(source, reading, true);
    }
    let values = record.derived().map(|(_, value)| value);
    for value in values.chain(&view.distinct) {
        collector.all(source, &value.reads, true);
    }
    for index in &record.indexes {
        collector.all(source, &index.reads, true);
    }
    let kept = record.kept().map(|one| one.name.clone());
    for name in kept.chain(record.key.names()) {
        collector.attribute(source, &name, true);
    }
    collector.found
}

/// Collects the declarations that one reads.
struct Collector<'d> {
    design: &'d Design,
    found: BTreeSet<Basis>,
    /// Attributes and refs that were looked at: others may read one of them many times.
    seen: BTreeSet<(RecordId, String, bool)>,
}

impl<'d> Collector<'d> {
    fn new(design: &'d Design) -> Collector<'d> {
        Collector {
            design,
            found: BTreeSet::new(),
            seen: BTreeSet::new(),
        }
    }

    fn add(&mut self, place: String, is_own: bool) {
        self.found.insert(Basis { place, is_own });
    }

    fn all(&mut self, record: &'d Record, reads: &'d [Reading], is_own: bool) {
        for reading in reads {
            self.reading(record, reading, is_own);
        }
    }

    fn reading(&mut self, record: &'d Record, reading: &'d Reading, is_own: bool) {
        let design = self.design;
        for hop in &reading.hops {
            if let Some((from, reference)) = hop.reference {
                let is_own = is_own && from == record.id;
                self.reference(&design[from], &design[(from, reference)], is_own);
            }
        }
        match reading.hops.last().map(|hop| design.reference(hop)) {
            Some(Some(reference)) => {
                for target in reference.records() {
                    self.attribute(&design[target], &reading.attribute, false);
                }
            }
            None if reading.origin == Origin::Item => {
                self.attribute(record, &reading.attribute, is_own);
            }
            _ => {}
        }
    }

    fn aggregate(&mut self, aggregate: &'d Aggregate) {
        let counted = &self.design[aggregate.of];
        let deleted = counted.soft_delete.as_ref().map(|one| one.attribute());
        for name in aggregate.sum.as_deref().into_iter().chain(deleted) {
            self.attribute(counted, name, false);
        }
        if let Some(only) = &aggregate.only {
            self.all(counted, &only.reads, false);
        }
        self.reference(counted, &counted.refs[aggregate.by.index()], false);
        self.existence(counted);
    }

    /// What decides where a ref leads.
    fn reference(&mut self, record: &'d Record, reference: &'d Ref, is_own: bool) {
        // No attribute has such a name.
        let name = format!("&{}", reference.name);
        if !self.seen.insert((record.id, name, is_own)) {
            return;
        }
        for path in reference_inputs(reference) {
            self.argument(record, path, is_own);
        }
        for target in &reference.targets {
            if let RefTo::Record(target) = target.to {
                self.existence(&self.design[target]);
            }
            let Some(pattern) = target.via.map(|pattern| &self.design[pattern]) else {
                continue;
            };
            for found in pattern.returns.iter().map(|one| &self.design[*one]) {
                self.existence(found);
                if let Some(filter) = &pattern.filter {
                    self.all(found, &filter.reads, false);
                }
                let keys = self.design[found.table].made_keys();
                for key in keys.filter(|_| pattern.read.index().is_some()) {
                    self.add(key_place(found, key), false);
                }
            }
        }
    }

    /// A view's record is there because of its source.
    fn existence(&mut self, record: &Record) {
        if record.view.is_some() {
            self.add(view_place(record), false);
        }
    }

    /// An attribute, or something behind another ref.
    fn argument(&mut self, record: &'d Record, path: &str, is_own: bool) {
        let through = path.split_once('.').and_then(|(root, rest)| {
            let reference = record.refs.iter().find(|one| one.name == root)?;
            Some((reference, rest))
        });
        let Some((reference, rest)) = through else {
            return self.attribute(record, path, is_own);
        };
        self.reference(record, reference, is_own);
        for target in reference.records() {
            self.argument(&self.design[target], rest, false);
        }
    }

    fn attribute(&mut self, record: &'d Record, name: &str, is_own: bool) {
        if !self.seen.insert((record.id, name.to_owned(), is_own)) {
            return;
        }
        let meant = record.attributes.iter().filter(|one| {
            is_at(name, &one.name) || one.alias.as_deref().is_some_and(|alias| is_at(name, alias))
        });
        for attribute in meant {
            match &attribute.source {
                Source::Computed(computed) if attribute.is_virtual => {
                    self.all(record, &computed.value.reads, is_own);
                }
                _ if record.view.is_some() => self.existence(record),
                Source::Computed(_) | Source::Copy(_) => {
                    self.add(attribute_place(record, attribute), is_own);
                }
                // Its parts are items of their own, so that it is not judged with its item.
                Source::Aggregate(_) => self.add(attribute_place(record, attribute), false),
                // An item that lacks it is read as having the default.
                Source::Given {
                    default: Some(default),
                } => self.all(record, &default.reads, is_own),
                Source::Given { default: None } | Source::Generated | Source::Derived(_) => {}
            }
        }
    }
}

/// Whether a path reads an attribute: the attribute itself, a part of it, or a map around it.
fn is_at(path: &str, attribute: &str) -> bool {
    let is_within = |outer: &str, inner: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    is_within(path, attribute) || is_within(attribute, path)
}

/// Where the design declares an attribute.
pub(crate) fn attribute_place(entity: &Record, attribute: &Attribute) -> String {
    format!("entity.{}.attributes.{}", entity.name, attribute.name)
}

/// The declaration of a number as far as it is kept while its item is gone. Nothing reads it then.
pub(crate) fn kept_place(place: &str) -> String {
    format!("{place} of what is gone")
}

/// Where the design declares a key of an index.
pub(crate) fn key_place(entity: &Record, key: &str) -> String {
    format!("entity.{}.{key}", entity.name)
}

/// Where the design declares a ref.
pub(crate) fn ref_place(entity: &Record, reference: &Ref) -> String {
    format!("entity.{}.refs.{}", entity.name, reference.name)
}

/// Where the design declares a view.
pub(crate) fn view_place(view: &Record) -> String {
    format!("view.{}", view.name)
}
