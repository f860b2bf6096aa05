//! The ids of the other design, as the union has them.

use std::collections::BTreeSet;

use super::moved::order_arguments;
use crate::design::{
    Aggregate, ConstantsId, Design, EachOver, Finder, IndexId, KeyValue, OnDelete, Record,
    RecordId, RecordIndex, Ref, RefId, RefTo, Source, TableId, Timing, View,
};
use crate::expression::{Formula, Predicate, Reading};

/// What each id of the other design is in the union.
pub(super) struct Renumber<'d> {
    other: &'d Design,
    tables: Vec<TableId>,
    /// For each table of the other design, its indexes.
    indexes: Vec<Vec<IndexId>>,
    /// None for the histories that only the other design has: these begin when it is served.
    records: Vec<Option<RecordId>>,
    /// For each record of the other design, its refs.
    refs: Vec<Vec<RefId>>,
    constants: Vec<Option<ConstantsId>>,
}

impl<'d> Renumber<'d> {
    /// Views that have moved are two, one of each design.
    pub(super) fn of(served: &Design, other: &'d Design, moved: &BTreeSet<String>) -> Renumber<'d> {
        let mut next = served.tables.len();
        let mut indexes = Vec::new();
        let mut tables = Vec::new();
        for table in &other.tables {
            let known = served.tables.iter().position(|one| one.id == table.id);
            let at = known.unwrap_or_else(|| count(&mut next));
            tables.push(TableId::new(at));
            let known = known.map(|at| &served.tables[at].indexes);
            let names = known.map(|known| known.iter().map(|one| &one.name).collect::<Vec<_>>());
            let names = names.unwrap_or_default();
            let mut next = names.len();
            let of_table = table.indexes.iter().map(|index| {
                let known = names.iter().position(|name| **name == index.name);
                IndexId::new(known.unwrap_or_else(|| count(&mut next)))
            });
            indexes.push(of_table.collect());
        }
        let mut next = served.records.len();
        let found = |record: &Record| {
            let known = served.find_record(&record.name);
            let is_moved = !record.is_entity() && moved.contains(&record.name);
            known.filter(|one| one.is_entity() == record.is_entity() && !is_moved)
        };
        let records = other.records.iter().map(|record| match found(record) {
            Some(known) => Some(known.id),
            None if record.view.as_ref().is_some_and(|view| view.history) => None,
            None => Some(RecordId::new(count(&mut next))),
        });
        let records = records.collect();
        let refs = other.records.iter().map(|record| {
            let known = found(record).map(|known| known.refs.as_slice());
            let known = known.unwrap_or_default();
            let mut next = known.len();
            let of_record = record.refs.iter().map(|reference| {
                let known = known.iter().position(|one| one.name == reference.name);
                RefId::new(known.unwrap_or_else(|| count(&mut next)))
            });
            of_record.collect()
        });
        let constants = other.constants.iter().map(|rows| {
            let mut known = served.constants.iter();
            let known = known.position(|one| one.name == rows.name && one.rows == rows.rows);
            known.map(ConstantsId::new)
        });
        Renumber {
            other,
            tables,
            indexes,
            records,
            refs: refs.collect(),
            constants: constants.collect(),
        }
    }

    pub(super) fn record(&self, id: RecordId) -> Option<RecordId> {
        self.records[id.index()]
    }

    pub(super) fn index(&self, table: TableId, index: IndexId) -> IndexId {
        self.indexes[table.index()][index.index()]
    }

    fn reference(&self, (record, reference): (RecordId, RefId)) -> Option<(RecordId, RefId)> {
        let made = self.refs[record.index()][reference.index()];
        Some((self.record(record)?, made))
    }

    /// All of a record that only the other design has, without its refs.
    pub(super) fn in_record(&self, record: &mut Record) {
        let table = record.table;
        record.table = self.tables[table.index()];
        for keys in &mut record.indexes {
            keys.index = self.index(table, keys.index);
            self.in_keys(keys);
        }
        for attribute in &mut record.attributes {
            self.in_source(&mut attribute.source);
        }
        self.in_condition(record.require.as_mut());
        if let Some(view) = &mut record.view {
            self.in_view(view);
        }
    }

    fn in_view(&self, view: &mut View) {
        if let Some(of) = self.record(view.of) {
            view.of = of;
        }
        self.in_condition(view.when.as_mut());
        if let Some(distinct) = &mut view.distinct {
            self.in_formula(distinct);
        }
        if let Some(each) = &mut view.each
            && let EachOver::List { reading, .. } = &mut each.over
        {
            self.in_reading(reading);
        }
    }

    pub(super) fn in_keys(&self, keys: &mut RecordIndex) {
        self.in_readings(&mut keys.reads);
        for value in std::iter::once(&mut keys.partition).chain(&mut keys.sort) {
            self.in_key(value);
        }
    }

    fn in_key(&self, value: &mut KeyValue) {
        if let KeyValue::Cases(cases) = value {
            for case in cases {
                self.in_condition(case.when.as_mut());
            }
        }
    }

    pub(super) fn in_source(&self, source: &mut Source) {
        match source {
            Source::Given { default: None } | Source::Generated => {}
            Source::Given {
                default: Some(value),
            }
            | Source::Derived(value) => self.in_formula(value),
            Source::Computed(computed) => {
                self.in_formula(&mut computed.value);
                if let Timing::Once(when) = &mut computed.timing {
                    self.in_readings(&mut when.reads);
                }
            }
            Source::Aggregate(aggregate) => self.in_aggregate(aggregate),
            Source::Copy(reading) => self.in_reading(reading),
        }
    }

    fn in_aggregate(&self, aggregate: &mut Aggregate) {
        if let Some((of, by)) = self.reference((aggregate.of, aggregate.by)) {
            (aggregate.of, aggregate.by) = (of, by);
        }
        self.in_condition(aggregate.only.as_mut());
    }

    pub(super) fn in_formula(&self, formula: &mut Formula) {
        self.in_readings(&mut formula.reads);
        for case in &mut formula.cases {
            self.in_condition(case.when.as_mut());
        }
    }

    pub(super) fn in_condition(&self, condition: Option<&mut Predicate>) {
        if let Some(condition) = condition {
            self.in_readings(&mut condition.reads);
        }
    }

    fn in_readings(&self, reads: &mut [Reading]) {
        reads.iter_mut().for_each(|one| self.in_reading(one));
    }

    fn in_reading(&self, reading: &mut Reading) {
        for hop in &mut reading.hops {
            hop.reference = hop.reference.and_then(|one| self.reference(one));
        }
    }

    /// A ref of the other design. Nothing is done to its item when a target is deleted: that is for
    /// the served design to say.
    pub(super) fn in_ref(&self, union: &Design, reference: &mut Ref) -> Result<(), String> {
        for target in &mut reference.targets {
            target.on_delete = OnDelete::Keep;
            target.to = match target.to {
                RefTo::Record(record) => match self.record(record) {
                    Some(record) => RefTo::Record(record),
                    None => return Err("leads to a history that is new".to_owned()),
                },
                RefTo::Constants(rows) => match self.constants[rows.index()] {
                    Some(rows) => RefTo::Constants(rows),
                    None => return Err("leads to constants that are new or changed".to_owned()),
                },
            };
            order_arguments(union, target);
            if let Some(pattern) = target.via {
                let name = &self.other[pattern].name;
                let Some(known) = union.find_pattern(name) else {
                    return Err(format!("goes by the pattern `{name}`, which is new"));
                };
                target.via = Some(known.id);
            }
            if let Some(finder) = &mut target.finder {
                self.in_finder(finder)?;
            }
        }
        Ok(())
    }

    fn in_finder(&self, finder: &mut Finder) -> Result<(), String> {
        let Some(record) = self.record(finder.record) else {
            return Err("is found by a history that is new".to_owned());
        };
        let table = self.other[finder.record].table;
        finder.index = finder.index.map(|index| self.index(table, index));
        finder.record = record;
        self.in_key(&mut finder.partition);
        Ok(())
    }
}

fn count(next: &mut usize) -> usize {
    *next += 1;
    *next - 1
}
