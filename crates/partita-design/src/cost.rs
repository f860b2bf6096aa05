//! What a design costs on Amazon DynamoDB: the units, items and bytes of each write and pattern,
//! and the partition that has no room first.
//!
//! The transactions are the largest that the kernel allows ([`kernel::sizes`]). How large items are
//! is not in a design: [`bytes`] estimates it from the types of attributes, and whoever has measured
//! it says so in [`Assumptions`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`bytes`] | how large the items of a record are |
//! | [`month`] | rates and prices: what a month costs, and what is full first |
//! | `print` | the same for people and for programs |

pub mod bytes;
pub mod month;
mod print;

use std::collections::BTreeMap;

use crate::Design;
use crate::design::{KeyValue, Pattern, Read, Record};
use crate::kernel::{self, Size, Touched, Write};
use crate::template::{Part, Template};

pub use month::{Month, Prices, Rate};

/// Write units that one partition takes in a second.
pub const PARTITION_WRITES: f64 = 1_000.0;
/// Read units that one partition gives in a second.
pub const PARTITION_READS: f64 = 3_000.0;
/// Bytes of what is kept beside items: guards, jobs, kept numbers.
const ASIDE_BYTES: usize = 150;

/// What is known beyond the design.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assumptions {
    /// Bytes of the items of an entity or view, where they were measured.
    pub bytes: BTreeMap<String, usize>,
    /// Write units of a write, where they were measured, with `partita plan` say.
    pub write_units: BTreeMap<String, f64>,
    /// Read units of a pattern, where they were measured.
    pub read_units: BTreeMap<String, f64>,
}

/// What a design costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The name of the design.
    pub design: String,
    /// Each write of each entity, and each action.
    pub writes: Vec<WriteCost>,
    /// One page of each pattern.
    pub patterns: Vec<PatternCost>,
}

/// What one write takes at most.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteCost {
    /// `create Vote`, or the name of an action.
    pub name: String,
    /// The actions of its transaction.
    pub items: usize,
    /// The bytes of the items that these are on.
    pub bytes: usize,
    /// Write units, those of indexes included.
    pub units: f64,
    /// Whether a job does what no transaction could.
    pub has_jobs: bool,
    /// What it takes of each partition, the most first.
    pub loads: Vec<Load>,
}

/// What one page of a pattern takes.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternCost {
    /// The pattern.
    pub name: String,
    /// Rows of the table or the index.
    pub rows: usize,
    /// Items that are then read one by one.
    pub items: usize,
    /// The bytes of all of them.
    pub bytes: usize,
    /// Read units.
    pub units: f64,
    /// What it takes of the partition that it reads; none for a scan.
    pub load: Option<Load>,
}

/// What an operation takes of one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The entity or view.
    pub record: String,
    /// The index; none is the table.
    pub index: Option<String>,
    /// The partition key as the design spells it.
    pub key: String,
    /// Which values are in it. Loads of one operation with different ones are different partitions.
    pub(crate) place: String,
    /// Whether all items are in one partition.
    pub is_shared: bool,
    /// Units of one operation.
    pub units: f64,
    /// How many of them in a second the partition has room for.
    pub most_per_second: f64,
}

/// What a design costs, as far as it can be said.
pub fn cost(design: &Design, assumed: &Assumptions) -> Cost {
    let estimate = Estimate { design, assumed };
    let sizes = kernel::sizes(design);
    Cost {
        design: design.name.clone(),
        writes: sizes.iter().map(|size| estimate.write(size)).collect(),
        patterns: design
            .patterns
            .iter()
            .map(|one| estimate.pattern(one))
            .collect(),
    }
}

struct Estimate<'d> {
    design: &'d Design,
    assumed: &'d Assumptions,
}

/// Blocks of so many bytes, of which the smallest item takes one.
fn blocks(bytes: usize, block: usize) -> f64 {
    bytes.div_ceil(block).max(1) as f64
}

impl Estimate<'_> {
    fn bytes(&self, record: &Record) -> usize {
        let known = self.assumed.bytes.get(&record.name).copied();
        known.unwrap_or_else(|| bytes::of(self.design, record))
    }

    fn write(&self, size: &Size) -> WriteCost {
        let mut bytes = 0;
        let mut units = 0.0;
        let mut loads: Vec<Load> = Vec::new();
        let items = self.distinct(&size.items);
        for touched in &items {
            let Some(record) = touched.record.map(|record| &self.design[record]) else {
                bytes += ASIDE_BYTES * touched.actions;
                units += 2.0 * touched.actions as f64;
                continue;
            };
            bytes += self.bytes(record) * touched.actions;
            for (load, partitions) in self.loads(record, touched) {
                units += load.units * partitions as f64;
                let is_same = |one: &&mut Load| one.index == load.index && one.place == load.place;
                match loads.iter_mut().find(is_same) {
                    Some(known) => known.units += load.units,
                    None => loads.push(load),
                }
            }
        }
        for load in &mut loads {
            load.most_per_second = PARTITION_WRITES / load.units;
        }
        loads.sort_by(|one, two| two.units.total_cmp(&one.units));
        let name = self.name(&size.write);
        WriteCost {
            units: self
                .assumed
                .write_units
                .get(&name)
                .copied()
                .unwrap_or(units),
            name,
            items: items.iter().map(|touched| touched.actions).sum(),
            bytes,
            has_jobs: size.has_jobs,
            loads,
        }
    }

    /// The items of a write, each once: the kernel counts an item for every way that leads to it,
    /// and the values of its key show that two ways lead to one.
    fn distinct(&self, items: &[Touched]) -> Vec<Touched> {
        let mut distinct: Vec<(Option<String>, Touched)> = Vec::new();
        for touched in items {
            let place = self.place(touched);
            let is_same = |(known, one): &&mut (Option<String>, Touched)| {
                place.is_some() && *known == place && one.record == touched.record
            };
            match distinct.iter_mut().find(is_same) {
                Some((_, known)) => {
                    known.actions = known.actions.max(touched.actions);
                    known.is_written |= touched.is_written;
                }
                None => distinct.push((place, touched.clone())),
            }
        }
        distinct.into_iter().map(|(_, touched)| touched).collect()
    }

    /// The primary key with what has its values, where all of them are known.
    fn place(&self, touched: &Touched) -> Option<String> {
        let record = &self.design[touched.record?];
        let names = record.identity.iter().map(|part| &part.attribute);
        let mut origins = names.map(|name| touched.origins.get(name));
        // Of several that differ nothing says which.
        let is_known = touched.actions == 1 && origins.all(|origin| origin.is_some());
        is_known.then(|| {
            let keys = [&record.key.partition, &record.key.sort];
            let keys = keys.map(|key| spelled(record, touched, key));
            keys.join(" ")
        })
    }

    fn name(&self, write: &Write) -> String {
        match write {
            Write::Access(access, entity) => {
                format!("{} {}", access.word(), self.design[*entity].name)
            }
            Write::Action(action) => self.design[*action].name.clone(),
        }
    }

    /// What some actions on items of a record take of each of its partitions, and how many
    /// partitions that is. A transaction costs its tables twice, and indexes once.
    fn loads(&self, record: &Record, touched: &Touched) -> Vec<(Load, usize)> {
        let written = blocks(self.bytes(record), 1_024);
        let names = &self.design[record.table];
        let load = |index: Option<&str>, key: &str, template: Option<&Template>, units: f64| {
            let is_shared = template.is_some_and(|template| template.constant().is_some());
            // Several items of one write differ in what they are for: a tag, a member.
            let (in_one, partitions) = if is_shared {
                (touched.actions, 1)
            } else {
                (1, touched.actions)
            };
            let load = Load {
                record: record.name.clone(),
                index: index.map(str::to_owned),
                key: template.map_or_else(|| format!("{{{key}}}"), Template::to_string),
                place: template.map_or_else(
                    || origin(record, touched, key),
                    |template| spelled(record, touched, template),
                ),
                is_shared,
                units: units * in_one as f64,
                most_per_second: 0.0,
            };
            (load, partitions)
        };
        let own = Some(&record.key.partition);
        let mut loads = vec![load(None, &names.partition, own, 2.0 * written)];
        for keys in record.indexes.iter().filter(|_| touched.is_written) {
            let index = &names.indexes[keys.index.index()];
            let template = match &keys.partition {
                KeyValue::Native(_) => None,
                KeyValue::Cases(cases) => cases.first().map(|case| &case.is),
            };
            let name = Some(index.name.as_str());
            loads.push(load(name, &index.partition.name, template, written));
        }
        loads
    }

    fn pattern(&self, pattern: &Pattern) -> PatternCost {
        let reads = pattern.page_reads();
        let returned = pattern.returns.iter().map(|record| &self.design[*record]);
        let row = returned.clone().map(|record| self.bytes(record)).max();
        let row = row.unwrap_or(0);
        let index = pattern.read.index();
        let rate = if index.is_some() { 0.5 } else { 1.0 };
        let listed = blocks(reads.rows * row, 4_096) * rate;
        let single = reads.items as f64 * blocks(row, 4_096);
        let units = listed + single;
        let name = pattern.name.clone();
        let names = &self.design[pattern.table].indexes;
        let template = match &pattern.read {
            Read::Get(keys) => Some(&keys.partition),
            Read::Query(query) => Some(&query.partition.value),
            Read::Scan { .. } => None,
        };
        let load = template.map(|template| Load {
            record: returned
                .clone()
                .next()
                .map_or(String::new(), |record| record.name.clone()),
            index: index.map(|index| names[index.index()].name.clone()),
            key: template.to_string(),
            place: template.to_string(),
            is_shared: template.constant().is_some(),
            units: listed,
            most_per_second: PARTITION_READS / listed,
        });
        PatternCost {
            units: self.assumed.read_units.get(&name).copied().unwrap_or(units),
            name,
            rows: reads.rows,
            items: reads.items,
            bytes: (reads.rows + reads.items) * row,
            load,
        }
    }
}

/// A key with what has its values in their places.
fn spelled(record: &Record, touched: &Touched, template: &Template) -> String {
    let parts = template.parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Value(hole) => {
            let name = hole.name().unwrap_or_default();
            format!("{{{}}}", origin(record, touched, &name))
        }
    });
    parts.collect()
}

/// What has the value of an attribute; one that is not known is of the item alone.
fn origin(record: &Record, touched: &Touched, name: &str) -> String {
    let stored = record.attribute(name).map_or(name, |one| one.name.as_str());
    let known = touched.origins.get(stored).or(touched.origins.get(name));
    let own = || format!("{} of {}", name, record.name);
    known.cloned().unwrap_or_else(own)
}

#[cfg(test)]
mod tests;
