//! A caller's attributes: named, checked, all faults at once.

use std::borrow::Cow;
use std::collections::HashSet;

use partita_core::limits::{ATTRIBUTE_NAME_BYTES_MAX, ITEM_BYTES_MAX, NESTING_MAX};
use partita_core::size::{item_bytes, value_bytes};
use partita_core::{Map, Number, Value};
use partita_design::design::{Access, Attribute, Record, SoftDelete, Source};
use partita_design::template::check_part;
use partita_design::types::AttributeType;

use crate::account;
use crate::blueprint::Blueprint;
use crate::error::{Fault, FaultRule, PlanError, note};
use partita_design::nested;

/// Where a value goes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Slot<'d> {
    Declared(&'d Attribute),
    /// An attribute that the design does not list, of an entity that keeps such.
    Open(String),
    /// The same inside a map of which the design lists other attributes.
    Inside(String),
}

impl Slot<'_> {
    pub(crate) fn name(&self) -> &str {
        match self {
            Slot::Declared(attribute) => &attribute.name,
            Slot::Open(name) | Slot::Inside(name) => name,
        }
    }
}

/// What becomes of an item's attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changes<'d> {
    pub(crate) set: Vec<(Slot<'d>, Value)>,
    pub(crate) remove: Vec<Slot<'d>>,
    pub(crate) add: Vec<(&'d Attribute, Number)>,
    /// Attributes whose values are those of other items that name files: an item that is given
    /// such a value takes the files over.
    pub(crate) lent: Vec<&'d str>,
}

impl<'d> Changes<'d> {
    /// The attributes that are set or removed.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let set = self.set.iter().map(|(slot, _)| slot);
        set.chain(&self.remove).map(Slot::name)
    }

    /// Adds further changes.
    pub(crate) fn extend(&mut self, more: Changes<'d>) {
        self.set.extend(more.set);
        self.remove.extend(more.remove);
        self.add.extend(more.add);
        self.lent.extend(more.lent);
    }

    /// The same, for an item that has its identity already.
    pub(crate) fn without_identity(&self, record: &Record) -> Self {
        let mut changes = self.clone();
        let is_part = |slot: &Slot<'_>| record.is_identified_by(slot.name());
        changes.set.retain(|(slot, _)| !is_part(slot));
        changes
    }

    /// Whether they make a deleted item of a live one, or the other way round.
    pub(crate) fn crossing(&self, record: &Record, old: &Map) -> Option<Access> {
        let name = record.soft_delete.as_ref()?.attribute();
        let mut set = self.set.iter().rev();
        let set = set.find(|(slot, _)| slot.name() == name);
        let set = set.map(|(_, value)| value.clone());
        let is_removed = self.remove.iter().any(|slot| slot.name() == name);
        let added = self.add.iter().filter(|(one, _)| one.name == name);
        let added: Vec<Number> = added.map(|(_, amount)| *amount).collect();
        if set.is_none() && !is_removed && added.is_empty() {
            return None;
        }
        let value = set.or_else(|| record.read(old, name).map(Cow::into_owned));
        let mut value = value.filter(|_| !is_removed);
        for amount in added {
            let now = value.as_ref().and_then(Value::as_number).copied();
            let sum = now.unwrap_or(Number::ZERO).checked_add(amount);
            // A sum that no number can be is refused with the change.
            value = Some(Value::N(sum.ok()?));
        }
        let mut new = Map::new();
        if let Some(value) = value {
            nested::set(&mut new, name, value);
        }
        record.crossing(Some(old), &new)
    }
}

/// What was given so far.
#[derive(Default)]
struct Collected<'d> {
    values: Vec<(Slot<'d>, Value)>,
    /// As many as the design lists at most.
    declared: Vec<&'d str>,
    /// As many as a caller likes, so that they are not compared one by one.
    inner: HashSet<String>,
}

impl<'d> Collected<'d> {
    /// Whether nothing was given for this attribute so far. Names of a map are all different, so
    /// that only aliases and names inside maps can meet.
    fn is_first(&mut self, slot: &Slot<'d>) -> bool {
        match slot {
            Slot::Declared(attribute) => {
                let name = attribute.name.as_str();
                let is_first = !self.declared.contains(&name);
                if is_first {
                    self.declared.push(name);
                }
                is_first
            }
            Slot::Open(name) | Slot::Inside(name) => {
                !name.contains('.') || self.inner.insert(name.clone())
            }
        }
    }
}

/// Reads what callers give for one entity.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) blueprint: &'a Blueprint,
    pub(crate) entity: &'a Record,
}

impl<'a> Input<'a> {
    /// The attributes of a new item.
    pub(crate) fn create(self, given: &Map, faults: &mut Vec<Fault>) -> Changes<'a> {
        let named = self.named(given, faults);
        self.created(named, faults)
    }

    /// The attributes of a new item whose identity is known.
    pub(crate) fn create_at(
        self,
        identity: &Map,
        given: &Map,
        faults: &mut Vec<Fault>,
    ) -> Changes<'a> {
        let mut named = self.beside(identity, given, false, faults);
        let parts = identity.iter().filter_map(|(name, value)| {
            let attribute = self.entity.attribute(name)?;
            Some((Slot::Declared(attribute), value.clone()))
        });
        named.extend(parts);
        self.created(named, faults)
    }

    fn created(self, named: Vec<(Slot<'a>, Value)>, faults: &mut Vec<Fault>) -> Changes<'a> {
        let mut changes = Changes::default();
        for (slot, value) in named {
            match &slot {
                Slot::Declared(attribute) => {
                    // A null is a missing value, unless the type accepts it. Where nothing need be
                    // given, nothing is.
                    let is_missing =
                        value == Value::Null && attribute.kind.check(&Value::Null).is_err();
                    if !is_missing || !attribute.optional {
                        self.check(attribute, &value, faults);
                    }
                    if is_missing {
                        continue;
                    }
                }
                Slot::Open(_) | Slot::Inside(_) => {}
            }
            changes.set.push((slot, value));
        }
        changes
    }

    /// The changes of an update; a null removes an attribute. Identity parts may be repeated, but
    /// only those that are movable may change.
    pub(crate) fn update(
        self,
        given: &Map,
        identity: &Map,
        faults: &mut Vec<Fault>,
    ) -> Changes<'a> {
        let named = self.beside(identity, given, true, faults);
        self.changed(named, faults)
    }

    /// What is given of an item that is there, where it would otherwise have been created.
    pub(crate) fn replace_at(
        self,
        identity: &Map,
        given: &Map,
        faults: &mut Vec<Fault>,
    ) -> Changes<'a> {
        let named = self.beside(identity, given, false, faults);
        self.changed(named, faults)
    }

    fn changed(self, named: Vec<(Slot<'a>, Value)>, faults: &mut Vec<Fault>) -> Changes<'a> {
        let mut changes = Changes::default();
        for (slot, value) in named {
            match (&slot, value) {
                (Slot::Open(_) | Slot::Inside(_), Value::Null) => changes.remove.push(slot),
                (Slot::Open(_) | Slot::Inside(_), value) => changes.set.push((slot, value)),
                (Slot::Declared(attribute), value) => {
                    if let Some(fault) = self.not_given(attribute) {
                        faults.push(fault);
                    } else if value != Value::Null {
                        self.check(attribute, &value, faults);
                        changes.set.push((slot, value));
                    } else if attribute.optional {
                        changes.remove.push(slot);
                    } else {
                        let message = "is required and cannot be removed";
                        note(faults, || {
                            self.fault(&attribute.name, FaultRule::Required, message)
                        });
                    }
                }
            }
        }
        changes
    }

    /// What is given beside an identity. Its parts may be repeated; another value is a fault, unless
    /// the part is movable and the item may move.
    fn beside(
        self,
        identity: &Map,
        given: &Map,
        may_move: bool,
        faults: &mut Vec<Fault>,
    ) -> Vec<(Slot<'a>, Value)> {
        let message = if may_move {
            "is part of the identity and never changes"
        } else {
            "is part of the identity, and another one there"
        };
        let mut named = self.named(given, faults);
        named.retain(|(slot, value)| {
            let Some(part) = identity.get(slot.name()) else {
                return true;
            };
            let is_movable = matches!(slot, Slot::Declared(attribute) if attribute.movable);
            let is_moved = part != value && is_movable && may_move;
            if part != value && !is_moved {
                note(faults, || {
                    self.fault(slot.name(), FaultRule::Identity, message)
                });
            }
            is_moved
        });
        named
    }

    /// Replaces aliases by names, takes attributes out of the maps that they stand in, and refuses
    /// what the entity does not know.
    fn named(self, given: &Map, faults: &mut Vec<Fault>) -> Vec<(Slot<'a>, Value)> {
        faults.extend(oversize(self.entity, given, 0));
        let mut named = Collected {
            values: Vec::with_capacity(given.len()),
            ..Collected::default()
        };
        for (name, value) in given {
            self.name(name, value, &mut named, faults);
        }
        named.values
    }

    fn name(self, name: &str, value: &Value, named: &mut Collected<'a>, faults: &mut Vec<Fault>) {
        if name.is_empty() {
            let message = "is empty, and an attribute needs a name";
            note(faults, || self.fault(name, FaultRule::Unknown, message));
            return;
        }
        let attribute = self.entity.attribute(name);
        let is_aside = |one: &&Attribute| self.blueprint.is_aside_attribute(self.entity, &one.name);
        let attribute = attribute.filter(|one| !is_aside(one));
        let slot = match attribute {
            Some(attribute) => Slot::Declared(attribute),
            None if self.entity.is_container(name) => {
                match value {
                    Value::M(map) => {
                        for (inner, value) in map {
                            self.name(&format!("{name}.{inner}"), value, named, faults);
                        }
                    }
                    _ => note(faults, || {
                        self.fault(name, FaultRule::Type, "must be a map")
                    }),
                }
                return;
            }
            None if self.blueprint.is_reserved(self.entity, name) => {
                let message = "is kept by Partita and cannot be given";
                note(faults, || self.fault(name, FaultRule::NotGiven, message));
                return;
            }
            None if self.entity.open => match self.container(name) {
                None => Slot::Open(name.to_owned()),
                Some(inside) if !inside.contains('.') => Slot::Inside(name.to_owned()),
                Some(_) => {
                    let message = "has a dot in its name, which would be a map in this map";
                    note(faults, || self.fault(name, FaultRule::Unknown, message));
                    return;
                }
            },
            None => {
                let message = "is not an attribute";
                note(faults, || self.fault(name, FaultRule::Unknown, message));
                return;
            }
        };
        if let Some(message) = unstorable(name, value) {
            note(faults, || self.fault(name, FaultRule::Value, message));
            return;
        }
        if !named.is_first(&slot) {
            let stored = slot.name();
            let message = format!("is given twice, also as `{stored}`");
            note(faults, || self.fault(name, FaultRule::Request, message));
            return;
        }
        let value = match &slot {
            Slot::Declared(attribute) => {
                let value = attribute.kind.from_plain(value.clone());
                self.folded(attribute, value)
            }
            Slot::Open(_) | Slot::Inside(_) => value.clone(),
        };
        named.values.push((slot, value));
    }

    /// A login is trimmed and in lower case, whoever gives it.
    fn folded(self, attribute: &Attribute, value: Value) -> Value {
        let design = &self.blueprint.design;
        let accounts = design.accounts.as_ref();
        let accounts = accounts.filter(|one| one.entity == self.entity.id);
        let login = accounts.and_then(|one| one.login(design));
        let is_login = login.is_some_and(|login| login.name == attribute.name);
        match value {
            Value::S(text) if is_login => Value::S(account::folded(&text)),
            value => value,
        }
    }

    /// What is behind the name of the innermost map of which the design lists attributes.
    fn container(self, name: &str) -> Option<&str> {
        let dots = name.rmatch_indices('.').map(|(at, _)| at);
        let mut parts = dots.map(|at| (&name[..at], &name[at + 1..]));
        let found = parts.find(|(map, _)| self.entity.is_container(map));
        found.map(|(_, inside)| inside)
    }

    fn check(self, attribute: &Attribute, value: &Value, faults: &mut Vec<Fault>) {
        if let Some(fault) = self.not_given(attribute) {
            faults.push(fault);
        } else if *value != Value::Null || !attribute.optional {
            faults.extend(fault_of_value(self.entity, attribute, value));
        }
    }

    /// Why callers cannot give an attribute at all.
    fn not_given(self, attribute: &Attribute) -> Option<Fault> {
        let name = &attribute.name;
        let flag = match &self.entity.soft_delete {
            // A value of a state may be given like any other, the deleted one included or not as
            // its steps say.
            Some(SoftDelete::Value { .. }) | None => None,
            Some(soft_delete) => Some(soft_delete.attribute()),
        };
        let message = match (&attribute.source, &attribute.kind) {
            (Source::Computed(_) | Source::Aggregate(_) | Source::Copy(_), _) => {
                "is computed and cannot be given"
            }
            (_, AttributeType::Version) => "rises with every write and cannot be given",
            (_, AttributeType::Password) => "is set under `auth/` and cannot be given",
            (_, AttributeType::Counter) => "is counted and cannot be given",
            _ if flag == Some(name) => "is set by delete and restore and cannot be given",
            _ => return None,
        };
        Some(self.fault(name, FaultRule::NotGiven, message))
    }

    fn fault(
        self,
        attribute: impl Into<String>,
        rule: FaultRule,
        message: impl Into<String>,
    ) -> Fault {
        Fault::of(&self.entity.name, attribute, rule, message)
    }
}

/// Why no store takes an attribute, whatever its type.
fn unstorable(name: &str, value: &Value) -> Option<String> {
    if !is_name(name) || has_bad_name(value) {
        let most = ATTRIBUTE_NAME_BYTES_MAX;
        return Some(format!(
            "has a name that is empty or longer than {most} bytes"
        ));
    }
    // The item itself is the first level.
    let depth_max = NESTING_MAX.saturating_sub(1 + name.matches('.').count());
    (value.depth() > depth_max).then(|| format!("nests more than {NESTING_MAX} levels deep"))
}

fn is_name(name: &str) -> bool {
    (1..=ATTRIBUTE_NAME_BYTES_MAX).contains(&name.len())
}

/// Whether a map inside a value has a name that no store takes.
fn has_bad_name(value: &Value) -> bool {
    match value {
        Value::M(map) => {
            let mut entries = map.iter();
            entries.any(|(name, value)| !is_name(name) || has_bad_name(value))
        }
        Value::L(list) => list.iter().any(has_bad_name),
        _ => false,
    }
}

/// That an item of these attributes is larger than any store takes, with so many bytes besides.
pub(crate) fn oversize(record: &Record, attributes: &Map, more_bytes: usize) -> Option<Fault> {
    let bytes = item_bytes(attributes).saturating_add(more_bytes);
    if bytes <= ITEM_BYTES_MAX {
        return None;
    }
    let sizes = attributes.iter();
    let largest = sizes.max_by_key(|(_, value)| value_bytes(value));
    let name = largest.map_or(record.name.as_str(), |(name, _)| name.as_str());
    let message =
        format!("makes the item {bytes} bytes large, and an item has at most {ITEM_BYTES_MAX}");
    Some(Fault::of(&record.name, name, FaultRule::Value, message))
}

/// What is wrong with the value of an attribute by itself.
pub(crate) fn fault_of_value(
    entity: &Record,
    attribute: &Attribute,
    value: &Value,
) -> Option<Fault> {
    let name = &attribute.name;
    if let Err(expected) = attribute.kind.check(value) {
        let kind = &attribute.kind;
        return Some(Fault::of_value(&entity.name, name, kind, value, &expected));
    }
    let is_part = entity.is_identified_by(name);
    let error = check_part(name, value).err().filter(|_| is_part);
    let error = error.or_else(|| entity.check_native(name, value).err())?;
    Some(Fault::of_part(&entity.name, error))
}

/// The identity that the parts of a path spell.
pub(crate) fn identity(record: &Record, parts: &[String]) -> Result<Map, PlanError> {
    let expected = &record.identity;
    if parts.len() != expected.len() {
        let names: Vec<_> = expected.iter().map(|part| part.name.as_str()).collect();
        return Err(PlanError::Invalid {
            faults: vec![Fault::of(
                &record.name,
                names.join("/"),
                FaultRule::Identity,
                format!("is the identity; {} parts were given", parts.len()),
            )],
        });
    }
    let mut identity = Map::new();
    let mut faults = Vec::new();
    for (part, text) in expected.iter().zip(parts) {
        let text_type = AttributeType::string();
        let attribute = record.stored(&part.attribute);
        let kind = attribute.map_or(&text_type, |attribute| &attribute.kind);
        match key_part(&part.name, kind, text) {
            Ok(value) => {
                identity.insert(part.attribute.as_str(), value);
            }
            Err(fault) => faults.push(Fault {
                entity: Some(record.name.to_owned()),
                ..fault
            }),
        }
    }
    refuse(faults)?;
    Ok(identity)
}

/// A part of a key that a path or a query spells.
pub(crate) fn key_part(name: &str, kind: &AttributeType, text: &str) -> Result<Value, Fault> {
    let value = kind.from_text(text).map_err(|expected| Fault {
        rule: FaultRule::Type,
        ..Fault::new(name, format!("must be {expected}"))
    })?;
    check_part(name, &value)?;
    Ok(value)
}

pub(crate) fn refuse(faults: Vec<Fault>) -> Result<(), PlanError> {
    if faults.is_empty() {
        Ok(())
    } else {
        Err(PlanError::of_faults(faults))
    }
}
