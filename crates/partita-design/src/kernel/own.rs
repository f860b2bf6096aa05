//! What an item computes from itself whenever it is written.

use std::collections::{BTreeMap, BTreeSet};

use super::reads::reference_inputs;
use crate::design::{Attribute, Computed, Record, Source, Timing};

/// The attributes that an item computes from its others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// Those that a write may have to compute, as positions in the record: each behind those that
    /// it is computed from.
    computed: Vec<usize>,
    /// The attributes that they are computed from, without what is inside.
    basis: BTreeSet<String>,
    /// The attributes that keys and computed attributes are made of.
    feeding: BTreeSet<String>,
}

impl Own {
    pub(super) fn of(record: &Record) -> Own {
        Own {
            computed: in_order(record),
            basis: basis(record),
            feeding: feeding(record),
        }
    }

    /// The attributes that a write may have to compute.
    pub fn computed<'d>(&'d self, record: &'d Record) -> impl Iterator<Item = &'d Attribute> {
        self.computed.iter().map(|at| &record.attributes[*at])
    }

    /// Whether something of the same item may be computed from an attribute.
    pub fn is_basis(&self, attribute: &str) -> bool {
        self.basis.contains(outermost(attribute))
    }

    /// Whether keys or other attributes of the item are made of an attribute, so that who adds to
    /// it must know the item.
    pub fn is_feeding(&self, attribute: &str) -> bool {
        self.feeding.contains(attribute)
    }
}

/// The computed attributes, each behind those that it reads, and otherwise in the order of the file.
fn in_order(record: &Record) -> Vec<usize> {
    let attributes = record.attributes.iter().enumerate();
    let computed = attributes.filter(|(_, attribute)| is_computed(attribute));
    let computed: Vec<usize> = computed.map(|(at, _)| at).collect();
    let name = |at: usize| record.attributes[at].name.as_str();
    let places: BTreeMap<&str, usize> = computed.iter().map(|at| (name(*at), *at)).collect();
    let mut readers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut waits: BTreeMap<usize, usize> = computed.iter().map(|at| (*at, 0)).collect();
    for (reader, count) in &mut waits {
        let attribute = &record.attributes[*reader];
        let mut reads = own_reads(attribute);
        if let Source::Copy(reading) = &attribute.source {
            let hops = reading.hops.iter().take(1);
            hops.for_each(|hop| ref_reads(record, &hop.name, &mut reads));
        }
        let reads = reads.into_iter();
        let reads: BTreeSet<usize> = reads.filter_map(|one| places.get(one).copied()).collect();
        for read in reads {
            readers.entry(read).or_default().push(*reader);
            *count += 1;
        }
    }
    let is_free = |(at, count): (&usize, &usize)| (*count == 0).then_some(*at);
    let mut free: BTreeSet<usize> = waits.iter().filter_map(is_free).collect();
    let mut order = Vec::with_capacity(computed.len());
    while let Some(at) = free.pop_first() {
        waits.remove(&at);
        order.push(at);
        for reader in readers.get(&at).into_iter().flatten() {
            if let Some(count) = waits.get_mut(reader) {
                *count -= 1;
                if *count == 0 {
                    free.insert(*reader);
                }
            }
        }
    }
    // A design in which values follow from themselves is refused.
    order.extend(waits.into_keys());
    order
}

/// What the value of an attribute reads of its own item.
fn own_reads(attribute: &Attribute) -> Vec<&str> {
    match &attribute.source {
        Source::Given {
            default: Some(value),
        } => value.own_attributes().collect(),
        Source::Computed(computed) => {
            let mut reads: Vec<&str> = computed.value.own_attributes().collect();
            if let Timing::Once(condition) = &computed.timing {
                reads.extend(condition.own_attributes());
            }
            reads
        }
        _ => Vec::new(),
    }
}

/// What decides where a ref leads: attributes of the item, also through its other refs.
fn ref_reads<'d>(record: &'d Record, name: &str, reads: &mut Vec<&'d str>) {
    let reference = record.refs.iter().find(|one| one.name == name);
    for path in reference.into_iter().flat_map(reference_inputs) {
        match path.split_once('.') {
            // INVARIANT: no ref leads through itself, so this ends.
            Some((root, _)) if record.refs.iter().any(|one| one.name == root) => {
                ref_reads(record, root, reads);
            }
            _ => reads.push(path),
        }
    }
}

/// Whether an attribute is stored, and has a value that need not be given.
fn is_computed(attribute: &Attribute) -> bool {
    match &attribute.source {
        Source::Given { default } => default.is_some(),
        Source::Copy(_) | Source::Computed(_) => !attribute.is_virtual,
        _ => false,
    }
}

/// What values read, also such as are not stored, and what decides where refs lead.
fn basis(record: &Record) -> BTreeSet<String> {
    let mut names: Vec<&str> = Vec::new();
    for attribute in &record.attributes {
        names.extend(own_reads(attribute));
        names.extend(attribute.per.iter().map(|(_, time)| time.as_str()));
    }
    names.extend(record.refs.iter().flat_map(reference_inputs));
    let names = names.into_iter();
    names.map(|name| outermost(name).to_owned()).collect()
}

fn feeding(record: &Record) -> BTreeSet<String> {
    let indexes = record.indexes.iter().flat_map(|index| &index.reads);
    let mut names: BTreeSet<String> = indexes.map(|reading| reading.attribute.clone()).collect();
    // Values that are not stored may be made of each other, in any order.
    loop {
        let count = names.len();
        for attribute in &record.attributes {
            if let Source::Computed(computed) = &attribute.source
                && (!attribute.is_virtual || names.contains(&attribute.name))
            {
                names.extend(followed(computed).map(str::to_owned));
            }
        }
        if names.len() == count {
            return names;
        }
    }
}

/// What a value is computed again for when it changes.
fn followed(computed: &Computed) -> impl Iterator<Item = &str> {
    let value = (computed.timing == Timing::Always).then(|| computed.value.own_attributes());
    let once = match &computed.timing {
        Timing::Once(condition) => Some(condition.own_attributes()),
        _ => None,
    };
    value
        .into_iter()
        .flatten()
        .chain(once.into_iter().flatten())
}

/// The attribute of the item that a name with dots is inside of.
fn outermost(name: &str) -> &str {
    name.split_once('.').map_or(name, |(outer, _)| outer)
}
