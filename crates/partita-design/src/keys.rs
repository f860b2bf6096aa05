//! The keys of an item: of its own record, of its views and of its guards.

mod view;

use partita_core::expression::Scope;
use partita_core::{Map, Value};

use crate::design::record::UNIQUE_SORT;
use crate::design::{
    Computed, Design, EachOver, KeyValue, Record, RecordIndex, Source, Table, Timing, View,
};
use crate::expression::With;
use crate::nested;
use crate::spelling;
use crate::template::{PartError, Template, dotted};

/// The keys of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordKeys {
    /// The name of the entity, of one of its views, or of a guard.
    pub record: String,
    /// The key attributes with their values: those of the table, the partition key first, then
    /// those of the indexes that the record is in.
    pub keys: Vec<(String, Value)>,
}

/// Why the keys of an item cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// The design has no such entity.
    #[error("there is no entity `{name}`{}", did_you_mean(.nearest))]
    UnknownEntity {
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// The entity has no such attribute.
    #[error("there is no attribute `{name}`{}", did_you_mean(.nearest))]
    UnknownAttribute {
        /// The name that was given.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// One attribute was given under its name and under its alias.
    #[error("`{name}` is given twice, once as `{alias}`")]
    GivenTwice {
        /// The attribute as it is stored.
        name: String,
        /// Its other name.
        alias: String,
    },
    /// The value is not of the attribute's type.
    #[error("`{name}` must be {expected}")]
    Type {
        /// The attribute.
        name: String,
        /// What it must be.
        expected: String,
    },
    /// A part of the primary key is not given.
    #[error("`{name}` is part of the key and is missing")]
    Missing {
        /// The attribute, as templates call it.
        name: String,
    },
    /// The value cannot be part of a key.
    #[error(transparent)]
    Part(#[from] PartError),
}

/// The keys of the item of an entity that has these attributes, under their names or aliases,
/// key-only ones too: first those of its own record, then those of each view that exists, then
/// those of its guards.
///
/// Defaults are filled in, and values that follow from other attributes are computed. A view
/// exists when its `when` holds and no part of its key is missing; a key of an index is left out
/// while a part of it is missing. All faults are reported at once.
pub fn keys(
    design: &Design,
    record: &str,
    attributes: &Map,
) -> Result<Vec<RecordKeys>, Vec<KeyFault>> {
    let Some(entity) = design.find_record(record) else {
        let names = design.entities().map(|entity| entity.name.as_str());
        return Err(vec![KeyFault::UnknownEntity {
            name: record.to_owned(),
            nearest: spelling::nearest(record, names).map(str::to_owned),
        }]);
    };
    if let Some(view) = &entity.view {
        return view::keys(design, (entity, view), attributes);
    }
    let (given, mut faults) = given(entity, attributes);
    for part in &entity.identity {
        if dotted(&part.attribute).find(&given).is_none() {
            let name = part.name.clone();
            faults.push(KeyFault::Missing { name });
        }
    }
    let mut maker = Maker {
        table: &design[entity.table],
        item: completed(entity, given),
        faults,
    };
    let mut records = Vec::new();
    records.extend(maker.record(entity, None));
    for (record, view) in design.views_of(entity.id).filter(|(_, view)| !view.history) {
        maker.view(record, view, &Map::new(), &mut records);
    }
    for guard in &entity.unique {
        records.extend(maker.guard(&guard.name, &guard.partition));
    }
    if maker.faults.is_empty() {
        Ok(records)
    } else {
        Err(maker.faults)
    }
}

/// The keys of a record, entity's or view's, as far as they follow from these attributes. Those
/// of which a part is missing are left out.
pub fn of_record(design: &Design, record: &str, attributes: &Map) -> Vec<(String, Value)> {
    let Some(record) = design.find_record(record) else {
        return Vec::new();
    };
    let mut maker = Maker {
        table: &design[record.table],
        item: attributes.clone(),
        faults: Vec::new(),
    };
    let keys = maker.record(record, None);
    keys.map_or_else(Vec::new, |record| record.keys)
}

/// The attributes under their stored names, with defaults.
fn given(entity: &Record, attributes: &Map) -> (Map, Vec<KeyFault>) {
    let mut item = Map::new();
    let mut faults = Vec::new();
    for (name, value) in attributes {
        let Some(attribute) = entity.attribute(name) else {
            let is_container = entity.attributes.iter().any(|one| {
                let rest = one.name.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.starts_with('.'))
            });
            if !entity.open && !is_container {
                faults.push(unknown_attribute(entity, name));
            }
            item.insert(name.clone(), value.clone());
            continue;
        };
        if let Err(expected) = attribute.kind.check(value) {
            let name = name.to_string();
            faults.push(KeyFault::Type { name, expected });
        }
        if item
            .insert(attribute.name.as_str(), value.clone())
            .is_some()
        {
            faults.push(KeyFault::GivenTwice {
                name: attribute.name.clone(),
                alias: attribute.alias.clone().unwrap_or_default(),
            });
        }
    }
    (item, faults)
}

/// The item with what follows from its attributes, and with what it reads as having.
fn completed(entity: &Record, given: Map) -> Map {
    let mut item = given.clone();
    for attribute in &entity.attributes {
        if let Some(value) = entity.read(&given, &attribute.name) {
            nested::set(&mut item, &attribute.name, value.into_owned());
        }
    }
    // One round for each value that rests on another.
    for _ in 0..entity.attributes.len() {
        let mut is_done = true;
        for attribute in &entity.attributes {
            let Source::Computed(Computed {
                value,
                timing: Timing::Always | Timing::Create,
            }) = &attribute.source
            else {
                continue;
            };
            if attribute.path().find(&item).is_none()
                && let Some(value) = value.value(&item)
            {
                nested::set(&mut item, &attribute.name, attribute.kind.adopt(value));
                is_done = false;
            }
        }
        if is_done {
            break;
        }
    }
    item
}

fn unknown_attribute(entity: &Record, name: &str) -> KeyFault {
    let names = entity.attributes.iter().flat_map(|attribute| {
        let alias = attribute.alias.as_deref();
        std::iter::once(attribute.name.as_str()).chain(alias)
    });
    KeyFault::UnknownAttribute {
        name: name.to_owned(),
        nearest: spelling::nearest(name, names).map(str::to_owned),
    }
}

/// Makes keys of one item.
struct Maker<'d> {
    table: &'d Table,
    item: Map,
    faults: Vec<KeyFault>,
}

impl Maker<'_> {
    /// The keys of a record, of which some attributes are other than the item's; `None` when a
    /// part of the primary key is missing or faulty.
    fn record(&mut self, record: &Record, own: Option<&Map>) -> Option<RecordKeys> {
        let item = own.unwrap_or(&self.item).clone();
        let partition = self.render(&record.key.partition, &item);
        let sort = self.render(&record.key.sort, &item);
        let mut keys = vec![
            (self.table.partition.clone(), Value::S(partition?)),
            (self.table.sort.clone(), Value::S(sort?)),
        ];
        for index in &record.indexes {
            for (name, value) in self.index(index, &item).unwrap_or_default() {
                if keys.iter().all(|(known, _)| *known != name) {
                    keys.push((name, value));
                }
            }
        }
        let record = record.name.clone();
        Some(RecordKeys { record, keys })
    }

    /// The keys of an index; `None` while a part of them is missing.
    fn index(&mut self, keys: &RecordIndex, item: &Map) -> Option<Vec<(String, Value)>> {
        let index = &self.table.indexes[keys.index.index()];
        let names = std::iter::once(&index.partition).chain(&index.sort);
        let names: Vec<String> = names.map(|key| key.name.clone()).collect();
        let values = std::iter::once(&keys.partition).chain(&keys.sort);
        let values: Vec<Option<Value>> = values.map(|value| self.key_value(value, item)).collect();
        let values: Option<Vec<Value>> = values.into_iter().collect();
        Some(names.into_iter().zip(values?).collect())
    }

    fn key_value(&mut self, value: &KeyValue, item: &Map) -> Option<Value> {
        match value {
            KeyValue::Native(name) => item.get(name).cloned(),
            KeyValue::Cases(cases) => {
                let case = cases.iter().find(|case| {
                    let when = case.when.as_ref();
                    when.is_none_or(|when| when.holds(item))
                });
                self.render(&case?.is, item).map(Value::S)
            }
        }
    }

    /// The keys of a view: of its record, or of one record for every element. What is given of
    /// the view itself goes before what follows from its source.
    fn view(&mut self, record: &Record, view: &View, own: &Map, records: &mut Vec<RecordKeys>) {
        let elements = match &view.each {
            None => vec![None],
            Some(each) => match &each.over {
                EachOver::List { reading, .. } => match reading.path.find(&self.item) {
                    Some(Value::L(list)) => list.iter().cloned().map(Some).collect(),
                    _ => Vec::new(),
                },
                EachOver::Pattern { .. } => Vec::new(),
            },
        };
        let mut seen: Vec<Value> = Vec::new();
        for element in elements {
            let outer = self.item.clone();
            let mut inner = match (&view.each, &element) {
                (Some(each), Some(value)) => {
                    let scope = With {
                        name: &each.name,
                        value,
                        rest: &outer,
                    };
                    let mut inner = derived(record, &outer, &scope);
                    inner.get_or_insert_with(&each.name, || value.clone());
                    inner
                }
                _ => derived(record, &outer, &outer),
            };
            view::overlay(&mut inner, own);
            if view.when.as_ref().is_some_and(|when| !when.holds(&outer)) {
                continue;
            }
            if let Some(value) = view.distinct.as_ref().and_then(|one| one.value(&inner)) {
                if seen.contains(&value) {
                    continue;
                }
                seen.push(value);
            }
            records.extend(self.record(record, Some(&inner)));
        }
    }

    fn guard(&mut self, name: &str, partition: &Template) -> Option<RecordKeys> {
        let item = self.item.clone();
        let partition = self.render(partition, &item)?;
        Some(RecordKeys {
            record: format!("unique {name}"),
            keys: vec![
                (self.table.partition.clone(), Value::S(partition)),
                (self.table.sort.clone(), Value::from(UNIQUE_SORT)),
            ],
        })
    }

    fn render(&mut self, template: &Template, item: &impl Scope) -> Option<String> {
        match template.key(item) {
            Ok(key) => key,
            Err(error) => {
                // The same value is in the keys of several records, and is reported once.
                let fault = KeyFault::Part(error);
                if !self.faults.contains(&fault) {
                    self.faults.push(fault);
                }
                None
            }
        }
    }
}

/// The attributes of a view's record, in front of those of its source.
fn derived(record: &Record, source: &Map, scope: &impl Scope) -> Map {
    let mut inner = source.clone();
    for (attribute, formula) in record.derived() {
        let name = attribute.name.as_str();
        match formula.value(scope) {
            Some(value) => inner.insert(name, value),
            None => inner.remove(name),
        };
    }
    inner
}

fn did_you_mean(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}
