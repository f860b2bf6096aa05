//! The keys of an item: of its own record and of its views.

use std::borrow::Cow;

use partita_core::expression::Condition;
use partita_core::{Map, Value};

use crate::design::{Design, Entity, KeyTemplates, RecordName, Source};
use crate::spelling;
use crate::template::{PartError, Template};

/// The keys of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordKeys {
    /// The entity, or one of its views.
    pub record: RecordName,
    /// The table's key attributes with their values, the partition key first.
    pub keys: Vec<(String, String)>,
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
/// key-only ones too: first those of its own record, then those of each view that exists.
///
/// Defaults are filled in. A view exists when its `when` holds and no part of its key is missing.
/// All faults are reported at once.
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
    let (item, mut faults) = item(entity, attributes);
    let mut records = Vec::new();
    let own = RecordName::Entity(entity.name.clone());
    for part in &entity.identity {
        if !item.contains_key(&part.attribute) {
            let name = part.name.clone();
            faults.push(KeyFault::Missing { name });
        }
    }
    records.extend(record(design, own, &entity.key, &item, &mut faults));
    let exists = |when: &Option<Condition>| when.as_ref().is_none_or(|when| when.holds(&item));
    for view in design.views_of(&entity.name) {
        if exists(&view.when) {
            let name = RecordName::View(view.name.clone());
            records.extend(record(design, name, &view.key, &item, &mut faults));
        }
    }
    if faults.is_empty() {
        return Ok(records);
    }
    Err(faults)
}

/// The attributes under their stored names, with defaults.
fn item(entity: &Entity, attributes: &Map) -> (Map, Vec<KeyFault>) {
    let mut item = Map::new();
    let mut faults = Vec::new();
    for (name, value) in attributes {
        let Some(attribute) = entity.attribute(name) else {
            if !entity.open {
                faults.push(unknown_attribute(entity, name));
            }
            item.insert(name.clone(), value.clone());
            continue;
        };
        if let Err(expected) = attribute.kind.check(value) {
            let name = name.clone();
            faults.push(KeyFault::Type { name, expected });
        }
        if item.insert(attribute.name.clone(), value.clone()).is_some() {
            faults.push(KeyFault::GivenTwice {
                name: attribute.name.clone(),
                alias: attribute.alias.clone().unwrap_or_default(),
            });
        }
    }
    for attribute in &entity.attributes {
        if let Source::Given {
            default: Some(value),
        } = &attribute.source
        {
            item.entry(attribute.name.clone())
                .or_insert_with(|| value.clone());
        }
    }
    (item, faults)
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

/// The keys of a record; `None` when a part is missing or faulty.
fn record(
    design: &Design,
    record: RecordName,
    key: &KeyTemplates,
    item: &Map,
    faults: &mut Vec<KeyFault>,
) -> Option<RecordKeys> {
    let table = &design.table;
    let partition = render(&key.partition, item, faults);
    let sort = render(&key.sort, item, faults);
    Some(RecordKeys {
        record,
        keys: vec![
            (table.partition.clone(), partition?),
            (table.sort.clone(), sort?),
        ],
    })
}

fn render(template: &Template, item: &Map, faults: &mut Vec<KeyFault>) -> Option<String> {
    let value_of = |name: &str| -> Option<Cow<'_, Value>> { item.get(name).map(Cow::Borrowed) };
    match template.render(value_of) {
        Ok(key) => key,
        Err(error) => {
            // The same value stands in the keys of several records, and is at fault once.
            let fault = KeyFault::Part(error);
            if !faults.contains(&fault) {
                faults.push(fault);
            }
            None
        }
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}
