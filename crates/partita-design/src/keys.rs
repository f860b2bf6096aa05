//! The keys of an item: of its own record, of its views and of its guards.

mod view;

use partita_core::expression::Scope;
use partita_core::{Map, Value};

use crate::design::entity::UNIQUE_SORT;
use crate::design::{
    Computed, Design, EachOver, Entity, KeyTemplates, KeyValue, RecordIndex, RecordName, Source,
    Table, Timing, View,
};
use crate::expression::With;
use crate::spelling;
use crate::stored::Stored;
use crate::template::{PartError, Template, dotted};

pub use view::of_view;

/// The keys of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordKeys {
    /// The entity, or one of its views.
    pub record: RecordName,
    /// The key attributes with their values: those of the table, the partition key first, then
    /// those of the indexes that the record is in.
    pub keys: Vec<(String, Value)>,
}

/// Why the keys of an item cannot be told.
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
        /// Its name.
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
    /// The value cannot stand in a key.
    #[error(transparent)]
    Part(#[from] PartError),
}

/// The keys of the item of `entity` that has these attributes, under their names or aliases,
/// key-only ones too: first those of its own record, then those of each view that exists, then
/// those of its guards.
///
/// Defaults are filled in, and values that follow from other attributes are computed. A view
/// exists when its `when` holds and no part of its key is missing; a key of an index is left out
/// while a part of it is missing. All faults are reported at once.
pub fn keys(
    design: &Design,
    entity: &str,
    attributes: &Map,
) -> Result<Vec<RecordKeys>, Vec<KeyFault>> {
    let Some(entity) = design.entity(entity) else {
        let names = design.entities.iter().map(|entity| entity.name.as_str());
        return Err(vec![KeyFault::UnknownEntity {
            name: entity.to_owned(),
            nearest: spelling::nearest(entity, names).map(str::to_owned),
        }]);
    };
    let (given, mut faults) = given(entity, attributes);
    for part in &entity.identity {
        if dotted(&part.attribute).find(&given).is_none() {
            let name = part.name.clone();
            faults.push(KeyFault::Missing { name });
        }
    }
    let mut maker = Maker {
        table: design.table_of(entity),
        item: completed(entity, given),
        faults,
    };
    let mut records = Vec::new();
    let own = RecordName::Entity(entity.name.clone());
    records.extend(maker.record(own, &entity.key, &entity.indexes, None));
    for view in design.views_of(&entity.name).filter(|view| !view.history) {
        maker.view(view, &Map::new(), &mut records);
    }
    for guard in &entity.unique {
        records.extend(maker.guard(&guard.name, &guard.partition));
    }
    match maker.faults.is_empty() {
        true => Ok(records),
        false => Err(maker.faults),
    }
}

/// The keys of a record, entity's or view's, as far as they follow from these attributes. Those
/// of which a part is missing are left out.
pub fn of_record(design: &Design, record: &str, attributes: &Map) -> Vec<(String, Value)> {
    let (of, name, key, indexes) = match (design.entity(record), design.view(record)) {
        (Some(entity), _) => {
            let name = RecordName::Entity(record.to_owned());
            (Some(entity), name, &entity.key, &entity.indexes)
        }
        (None, Some(view)) => {
            let name = RecordName::View(record.to_owned());
            (design.entity(&view.of), name, &view.key, &view.indexes)
        }
        (None, None) => return Vec::new(),
    };
    let mut maker = Maker {
        table: of.map_or(&design.table, |entity| design.table_of(entity)),
        item: attributes.clone(),
        faults: Vec::new(),
    };
    let keys = maker.record(name, key, indexes, None);
    keys.map_or_else(Vec::new, |record| record.keys)
}

/// The attributes under their stored names, with defaults.
fn given(entity: &Entity, attributes: &Map) -> (Map, Vec<KeyFault>) {
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
fn completed(entity: &Entity, given: Map) -> Map {
    let stored = Stored {
        item: &given,
        declared: |name: &str| entity.attributes.iter().find(|one| one.name == name),
    };
    let mut item = given.clone();
    for attribute in &entity.attributes {
        if let Some(value) = stored.read(&attribute.name) {
            insert(&mut item, &attribute.name, value.into_owned());
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
                insert(&mut item, &attribute.name, attribute.kind.adopt(value));
                is_done = false;
            }
        }
        if is_done {
            break;
        }
    }
    item
}

/// Puts a value under a name with dots.
fn insert(item: &mut Map, name: &str, value: Value) {
    match name.split_once('.') {
        None => {
            item.insert(name, value);
        }
        Some((outer, inner)) => {
            let around = item.get_or_insert_with(outer, || Value::M(Map::new()));
            if let Value::M(map) = around {
                insert(map, inner, value);
            }
        }
    }
}

fn unknown_attribute(entity: &Entity, name: &str) -> KeyFault {
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
    fn record(
        &mut self,
        record: RecordName,
        key: &KeyTemplates,
        indexes: &[RecordIndex],
        own: Option<&Map>,
    ) -> Option<RecordKeys> {
        let item = own.unwrap_or(&self.item).clone();
        let partition = self.render(&key.partition, &item);
        let sort = self.render(&key.sort, &item);
        let mut keys = vec![
            (self.table.partition.clone(), Value::S(partition?)),
            (self.table.sort.clone(), Value::S(sort?)),
        ];
        for index in indexes {
            for (name, value) in self.index(index, &item).unwrap_or_default() {
                if keys.iter().all(|(known, _)| *known != name) {
                    keys.push((name, value));
                }
            }
        }
        Some(RecordKeys { record, keys })
    }

    /// The keys of an index; `None` while a part of them is missing.
    fn index(&mut self, keys: &RecordIndex, item: &Map) -> Option<Vec<(String, Value)>> {
        let indexes = &self.table.indexes;
        let index = indexes.iter().find(|index| index.name == keys.index)?;
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
    fn view(&mut self, view: &View, own: &Map, records: &mut Vec<RecordKeys>) {
        let name = RecordName::View(view.name.clone());
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
                    let mut inner = derived(view, &outer, &scope);
                    inner.get_or_insert_with(&each.name, || value.clone());
                    inner
                }
                _ => derived(view, &outer, &outer),
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
            records.extend(self.record(name.clone(), &view.key, &view.indexes, Some(&inner)));
        }
    }

    fn guard(&mut self, name: &str, partition: &Template) -> Option<RecordKeys> {
        let item = self.item.clone();
        let partition = self.render(partition, &item)?;
        Some(RecordKeys {
            record: RecordName::View(format!("unique {name}")),
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
                // The same value stands in the keys of several records, and is at fault once.
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
fn derived(view: &View, source: &Map, scope: &impl Scope) -> Map {
    let mut inner = source.clone();
    for (name, formula) in view.derived() {
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
