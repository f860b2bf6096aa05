//! A caller's attributes: checked, completed, all faults at once.

use std::collections::BTreeSet;

use partita_core::{Map, Value};
use partita_design::design::{Attribute, Computed, Entity, SoftDelete, Source, Table, Timing};
use partita_design::template::part_text;
use partita_design::time;
use partita_design::types::AttributeType;

use crate::error::{Fault, PlanError};

/// What an update changes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) set: Map,
    pub(crate) remove: BTreeSet<String>,
}

impl Changes {
    /// Whether nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }

    /// The names of everything that is written.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let set = self.set.keys().chain(&self.remove);
        set.map(String::as_str).collect()
    }

    /// The attributes after the change.
    pub(crate) fn applied_to(&self, old: &Map) -> Map {
        let mut new = old.clone();
        new.extend(self.set.clone());
        new.retain(|name, _| !self.remove.contains(name));
        new
    }
}

/// Reads what callers give for one entity of a table.
pub(crate) struct Input<'a> {
    pub(crate) entity: &'a Entity,
    pub(crate) table: &'a Table,
    pub(crate) now_millis: i64,
}

impl Input<'_> {
    /// The attributes of a new item.
    pub(crate) fn create(
        &self,
        given: Map,
        mut new_id: impl FnMut() -> String,
    ) -> Result<Map, PlanError> {
        let mut faults = Vec::new();
        let mut item = self.named(given, &mut faults);
        for attribute in &self.entity.attributes {
            self.check(attribute, item.get(&attribute.name), &mut faults);
            if is_left_out(attribute, item.get(&attribute.name)) {
                item.remove(&attribute.name);
            }
            if item.contains_key(&attribute.name) {
                continue;
            }
            match self.initial(attribute, &mut new_id) {
                Some(value) => {
                    item.insert(attribute.name.clone(), value);
                }
                None if attribute.optional => {}
                None => faults.push(Fault::new(&attribute.name, "is required")),
            }
        }
        refuse(faults)?;
        Ok(item)
    }

    /// The changes of an update. Identity parts may be repeated, but not changed.
    pub(crate) fn update(&self, given: Map, identity: &Map) -> Result<Changes, PlanError> {
        let mut faults = Vec::new();
        let mut changes = Changes::default();
        for (name, value) in self.named(given, &mut faults) {
            let attribute = self.entity.attribute(&name);
            if let Some(same) = identity.get(&name) {
                if *same != value {
                    faults.push(Fault::new(
                        &name,
                        "is part of the identity and never changes",
                    ));
                }
                continue;
            }
            let Some(attribute) = attribute else {
                match value {
                    Value::Null => changes.remove.insert(name),
                    value => changes.set.insert(name, value).is_some(),
                };
                continue;
            };
            if let Some(fault) = self.not_given(attribute) {
                faults.push(fault);
                continue;
            }
            match value {
                Value::Null if attribute.optional => {
                    changes.remove.insert(name);
                }
                Value::Null => faults.push(Fault::new(&name, "is required and cannot be removed")),
                value => {
                    self.check(attribute, Some(&value), &mut faults);
                    changes.set.insert(name, value);
                }
            }
        }
        refuse(faults)?;
        changes.set.extend(self.written());
        Ok(changes)
    }

    /// The attributes that every write of the caller's sets.
    pub(crate) fn written(&self) -> Map {
        let attributes = self.entity.attributes.iter();
        attributes
            .filter(|attribute| is_stamped_by_writes(attribute))
            .map(|attribute| (attribute.name.clone(), self.now()))
            .collect()
    }

    /// The identity that the parts of a path spell.
    pub(crate) fn identity(&self, parts: &[String]) -> Result<Map, PlanError> {
        let expected = &self.entity.identity;
        if parts.len() != expected.len() {
            let names: Vec<_> = expected.iter().map(|part| part.name.as_str()).collect();
            return Err(PlanError::Invalid {
                faults: vec![Fault::new(
                    names.join("/"),
                    format!(
                        "is the identity of `{}`; {} parts were given",
                        self.entity.name,
                        parts.len()
                    ),
                )],
            });
        }
        let mut identity = Map::new();
        let mut faults = Vec::new();
        for (part, text) in expected.iter().zip(parts) {
            let Some(attribute) = self.entity.attribute(&part.attribute) else {
                continue;
            };
            match key_part(&part.name, &attribute.kind, text) {
                Ok(value) => {
                    identity.insert(part.attribute.clone(), value);
                }
                Err(fault) => faults.push(fault),
            }
        }
        refuse(faults)?;
        Ok(identity)
    }

    /// Replaces aliases by names, and refuses what the entity does not know.
    fn named(&self, given: Map, faults: &mut Vec<Fault>) -> Map {
        let mut named = Map::new();
        for (name, value) in given {
            if name.is_empty() {
                faults.push(Fault::new(name, "is empty, and an attribute needs a name"));
                continue;
            }
            let known = self.entity.attribute(&name);
            let stored = known.map_or(&name, |attribute| &attribute.name).clone();
            if known.is_none() && self.is_reserved(&name) {
                faults.push(Fault::new(name, "is kept by Partita and cannot be given"));
            } else if known.is_none() && !self.entity.open {
                let message = format!("is not an attribute of `{}`", self.entity.name);
                faults.push(Fault::new(name, message));
            } else if named.insert(stored.clone(), value).is_some() {
                faults.push(Fault::new(
                    name,
                    format!("is given twice, also as `{stored}`"),
                ));
            }
        }
        named
    }

    fn is_identity(&self, name: &str) -> bool {
        let mut identity = self.entity.identity.iter();
        identity.any(|part| part.attribute == name)
    }

    fn is_reserved(&self, name: &str) -> bool {
        let table = self.table;
        name == table.partition
            || name == table.sort
            || table.discriminator.as_deref() == Some(name)
    }

    fn check(&self, attribute: &Attribute, value: Option<&Value>, faults: &mut Vec<Fault>) {
        let Some(value) = value else { return };
        let name = &attribute.name;
        if let Some(fault) = self.not_given(attribute) {
            faults.push(fault);
        } else if *value != Value::Null || !attribute.optional {
            if let Err(expected) = attribute.kind.check(value) {
                faults.push(Fault::new(name, format!("must be {expected}")));
            } else if self.is_identity(name)
                && let Err(error) = part_text(name, value)
            {
                faults.push(error.into());
            }
        }
    }

    /// Why callers cannot give an attribute at all.
    fn not_given(&self, attribute: &Attribute) -> Option<Fault> {
        let name = &attribute.name;
        let flag = self.entity.soft_delete.as_ref().map(SoftDelete::attribute);
        let message = match attribute.source {
            Source::Computed(_) | Source::Aggregate(_) | Source::Copy(_) => {
                "is computed and cannot be given"
            }
            _ if flag == Some(name) => "is set by delete and restore and cannot be given",
            _ => return None,
        };
        Some(Fault::new(name, message))
    }

    fn initial(&self, attribute: &Attribute, new_id: &mut impl FnMut() -> String) -> Option<Value> {
        match &attribute.source {
            Source::Given { default } => default.as_ref()?.literal().cloned(),
            Source::Generated => Some(Value::S(new_id())),
            Source::Computed(_) => Some(self.now()),
            // Designs with such attributes are not opened.
            Source::Aggregate(_) | Source::Copy(_) => None,
        }
    }

    fn now(&self) -> Value {
        Value::S(time::format_millis(self.now_millis))
    }
}

/// Whether every write of a caller's sets the attribute. Other computed values do not come here:
/// designs with them are not opened.
fn is_stamped_by_writes(attribute: &Attribute) -> bool {
    matches!(
        attribute.source,
        Source::Computed(Computed {
            timing: Timing::Write,
            ..
        })
    )
}

/// A null stands for a missing value, unless it is one that the type accepts.
fn is_left_out(attribute: &Attribute, value: Option<&Value>) -> bool {
    value == Some(&Value::Null) && attribute.kind.check(&Value::Null).is_err()
}

/// A part of a key that a path or a query spells.
pub(crate) fn key_part(name: &str, kind: &AttributeType, text: &str) -> Result<Value, Fault> {
    let value = kind
        .from_text(text)
        .map_err(|expected| Fault::new(name, format!("must be {expected}")))?;
    part_text(name, &value)?;
    Ok(value)
}

fn refuse(faults: Vec<Fault>) -> Result<(), PlanError> {
    match faults.is_empty() {
        true => Ok(()),
        false => Err(PlanError::Invalid { faults }),
    }
}
