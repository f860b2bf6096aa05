//! What triggers and actions cause: operations on further items of the same write.

use partita_core::expression::{Found, Scope as _};
use partita_core::{Map, Value};
use partita_design::design::{
    Assignments, Each, EachOver, Effect, EffectKind, EffectTarget, Entity, Ref,
};
use partita_store::request::ItemAddress;

use super::{By, Names, Planner};
use crate::draft::{Presence, Refusal};
use crate::error::{Fault, PlanError};
use crate::input::{Changes, Slot};
use crate::pattern::passes;
use crate::scene::{Lead, Named, Scene, Trace};
use crate::shape::Shape;

/// One element of an `each`.
enum Element<'a> {
    Value(Value),
    Item {
        shape: Shape<'a>,
        item: Map,
        address: ItemAddress,
    },
}

/// What an effect is caused by: an item of the draft, and the parameters of an action.
#[derive(Clone, Copy)]
pub(crate) struct Cause<'s, 'a> {
    pub(crate) at: usize,
    pub(crate) names: &'s [(String, Named<'s, 'a>)],
    pub(crate) refs: &'a [Ref],
}

impl<'a> Planner<'a> {
    /// Sets off the triggers of an item that something was done to.
    pub(super) fn trigger(&mut self, at: usize) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        let Some(operation) = entry.operation else {
            return Ok(());
        };
        let shape = entry.shape;
        for (number, trigger) in blueprint.kernel.triggers(&blueprint.design, shape.name()) {
            let entry = self.entry(at);
            let is_meant = shape.is(&trigger.on.of) && trigger.on.kind.includes(operation);
            if !is_meant || entry.fired.contains(&number) {
                continue;
            }
            if let Some(turns) = &trigger.turns {
                let (old, new) = (entry.old().cloned(), entry.after.clone());
                let trace = Trace::default();
                let holds = |item: Option<&Map>, old: Option<&Map>, trace: &Trace<'a>| {
                    item.is_some_and(|item| turns.holds(&self.scene(shape, item, old, trace)))
                };
                let is_so = holds(new.as_deref(), old.as_deref(), &trace);
                let earlier = Trace::default();
                let was_so = is_so && holds(old.as_deref(), None, &earlier);
                self.remember(Some(at), trace.into_seen())?;
                let mut earlier = earlier.into_seen();
                earlier.old.append(&mut earlier.own);
                self.remember(Some(at), earlier)?;
                if !is_so || was_so {
                    continue;
                }
            }
            self.entry_mut(at).fired.push(number);
            let cause = Cause {
                at,
                names: &[],
                refs: &[],
            };
            self.effect(cause, &trigger.effect, &trigger.name)?;
        }
        Ok(())
    }

    /// Carries an effect out, once or for each element.
    pub(crate) fn effect(
        &mut self,
        cause: Cause<'_, 'a>,
        effect: &'a Effect,
        name: &'a str,
    ) -> Result<(), PlanError> {
        let Some(each) = &effect.each else {
            return self.effect_on(cause, effect, name, None, &mut Vec::new());
        };
        let mut seen = Vec::new();
        for element in self.elements(cause, each)? {
            let named = match &element {
                Element::Value(value) => Named::Value(Some(value.clone())),
                Element::Item {
                    shape,
                    item,
                    address,
                } => Named::Item {
                    shape: *shape,
                    item,
                    address: address.clone(),
                },
            };
            let mut names: Names<'_, 'a> = vec![(each.name.clone(), named)];
            names.extend(cause.names.iter().cloned());
            let target = match &element {
                Element::Item { shape, address, .. } => Some((*shape, address.clone())),
                Element::Value(_) => None,
            };
            let cause = Cause {
                names: &names,
                ..cause
            };
            self.effect_on(cause, effect, name, target, &mut seen)?;
        }
        Ok(())
    }

    fn effect_on(
        &mut self,
        cause: Cause<'_, 'a>,
        effect: &'a Effect,
        name: &'a str,
        element: Option<(Shape<'a>, ItemAddress)>,
        seen: &mut Vec<Option<Value>>,
    ) -> Result<(), PlanError> {
        let entry = self.entry(cause.at);
        let shape = entry.shape;
        let old = entry.old().cloned();
        let Some(item) = entry.after.clone().or_else(|| old.clone()) else {
            return Ok(());
        };
        let trace = Trace::default();
        let scene = Scene {
            names: cause.names,
            refs: cause.refs,
            ..self.scene(shape, &item, old.as_deref(), &trace)
        };
        let mut is_wanted = effect.when.as_ref().is_none_or(|when| when.holds(&scene));
        if let (true, Some(distinct)) = (is_wanted, &effect.distinct) {
            let value = distinct.value(&scene);
            is_wanted = !seen.contains(&value);
            seen.push(value);
        }
        let require = effect.require.as_ref();
        let is_refused = is_wanted && require.is_some_and(|require| !require.holds(&scene));
        let made = is_wanted.then(|| {
            let target = self.target(&scene, &effect.target, element);
            (target, assigned(&scene, &effect.changes))
        });
        self.remember(Some(cause.at), trace.into_seen())?;
        if let (true, Some(require), true) = (is_refused, require, self.context.reads.is_complete())
        {
            return Err(PlanError::Requires {
                name: name.to_owned(),
                rule: require.text.clone(),
            });
        }
        let Some((target, values)) = made else {
            return Ok(());
        };
        let outer = self.origin.replace(name);
        let done = self.operate(effect, target?, values);
        self.origin = outer;
        done
    }

    fn operate(
        &mut self,
        effect: &'a Effect,
        target: Aim<'a>,
        values: Values,
    ) -> Result<(), PlanError> {
        let (shape, address) = match target {
            Aim::New(entity) => {
                let changes = self.changes(Shape::Entity(entity), &effect.changes, values, true);
                if effect.kind == EffectKind::Create || entity.repeat != Default::default() {
                    self.create(entity, &changes, By::Effect)?;
                    return Ok(());
                }
                return self.upsert(entity, &changes);
            }
            Aim::At(shape, address) => (shape, address),
            Aim::Unknown => return Ok(()),
            Aim::Nowhere => {
                let message = "leads nowhere, and something is to be done there";
                self.faults.push(Fault::new("target", message));
                return self.refuse();
            }
        };
        let at = self.look_up(shape, address)?;
        let changes = self.changes(shape, &effect.changes, values, false);
        match (effect.kind, self.entry(at).after.is_some()) {
            (EffectKind::Delete, true) => self.delete(at, By::Effect),
            (EffectKind::Delete, false) => {
                let entry = self.entry_mut(at);
                if matches!(entry.presence, Presence::Any) {
                    entry.presence = Presence::Absent(Refusal::Stale);
                }
                Ok(())
            }
            (_, true) => self.change(at, &changes, By::Effect),
            (_, false) => {
                let message = format!("is a `{}` that is not there", shape.name());
                self.faults.push(Fault::new("target", message));
                self.refuse()
            }
        }
    }

    /// Creates an item, or changes the one that is there.
    fn upsert(&mut self, entity: &'a Entity, changes: &Changes<'a>) -> Result<(), PlanError> {
        let shape = Shape::Entity(entity);
        let mut item = Map::new();
        for (slot, value) in &changes.set {
            super::put(&mut item, slot, value.clone());
        }
        let address = self.context.blueprint.address(shape, &item)?;
        let at = self.look_up(shape, address)?;
        if self.entry(at).after.is_none() {
            self.create(entity, changes, By::Effect)?;
            return Ok(());
        }
        let mut changes = changes.clone();
        let parts = &entity.identity;
        let is_part = |slot: &Slot<'_>| parts.iter().any(|part| part.attribute == slot.name());
        changes.set.retain(|(slot, _)| !is_part(slot));
        self.change(at, &changes, By::Effect)
    }

    /// Which item an effect is done to.
    fn target(
        &self,
        scene: &Scene<'_, 'a>,
        target: &'a EffectTarget,
        element: Option<(Shape<'a>, ItemAddress)>,
    ) -> Result<Aim<'a>, PlanError> {
        let blueprint = self.context.blueprint;
        Ok(match target {
            EffectTarget::Entity(name) => Aim::New(blueprint.entity(name)?),
            EffectTarget::Element(_) => match element {
                Some((shape, address)) => Aim::At(shape, address),
                None => Aim::Nowhere,
            },
            EffectTarget::Ref { name, .. } => {
                let mut refs = scene.refs.iter().chain(scene.shape.refs());
                let lead = match refs.find(|one| one.name == *name) {
                    Some(reference) => scene.lead(reference),
                    None => scene.source(),
                };
                match lead {
                    Lead::Unknown => Aim::Unknown,
                    Lead::Nowhere | Lead::Constants(_) => Aim::Nowhere,
                    Lead::To(targets) => match targets.into_iter().next() {
                        Some(target) => Aim::At(target.shape, target.address),
                        None => Aim::Nowhere,
                    },
                }
            }
            EffectTarget::Identity { record, parts } => {
                let Some(shape) = blueprint.shape(record) else {
                    return Ok(Aim::Nowhere);
                };
                let mut identity = Map::new();
                for (part, (_, reading)) in shape.identity().iter().zip(parts) {
                    match scene.find(&reading.path) {
                        Found::Value(value) => {
                            identity.insert(part.attribute.clone(), value.into_owned())
                        }
                        Found::Missing => return Ok(Aim::Nowhere),
                        Found::Unknown => return Ok(Aim::Unknown),
                    };
                }
                Aim::At(shape, blueprint.address(shape, &identity)?)
            }
        })
    }

    /// The elements that an `each` goes through.
    fn elements(
        &mut self,
        cause: Cause<'_, 'a>,
        each: &'a Each,
    ) -> Result<Vec<Element<'a>>, PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(cause.at);
        let shape = entry.shape;
        let old = entry.old().cloned();
        let Some(item) = entry.after.clone().or_else(|| old.clone()) else {
            return Ok(Vec::new());
        };
        let trace = Trace::default();
        let scene = Scene {
            names: cause.names,
            refs: cause.refs,
            ..self.scene(shape, &item, old.as_deref(), &trace)
        };
        let mut has_more = false;
        let elements = match &each.over {
            EachOver::List { reading, .. } => match scene.find(&reading.path) {
                Found::Value(value) => members(&value).map(Element::Value).collect(),
                Found::Missing | Found::Unknown => Vec::new(),
            },
            EachOver::Pattern {
                pattern,
                parameters,
            } => {
                let mut values = Map::new();
                for (name, reading) in parameters {
                    if let Found::Value(value) = scene.find(&reading.path) {
                        values.insert(name.clone(), value.into_owned());
                    }
                }
                let pattern = blueprint.pattern(pattern)?;
                match blueprint.listing(pattern, &values)? {
                    None => Vec::new(),
                    Some(listing) => {
                        let listed = self.context.reads.list(&listing);
                        has_more = listed.is_some_and(|listed| listed.has_more);
                        let rows = listed.into_iter().flat_map(|listed| &listed.rows);
                        let rows = rows.filter_map(|row| {
                            let (shape, item) = blueprint.recognise(&pattern.returns, row)?;
                            let address = blueprint.address_of(row);
                            let unwatched = Trace::default();
                            let seen = self.scene(shape, &item, None, &unwatched);
                            let is_shown = pattern.with_deleted || !shape.is_deleted(&item);
                            let is_meant = is_shown && passes(pattern, &values, &seen, row);
                            is_meant.then_some(Element::Item {
                                shape,
                                item,
                                address,
                            })
                        });
                        rows.collect()
                    }
                }
            }
        };
        self.remember(Some(cause.at), trace.into_seen())?;
        match (has_more, &each.over) {
            (true, EachOver::Pattern { pattern, .. }) => Err(PlanError::TooMuch {
                what: format!("every item of `{pattern}` is meant"),
            }),
            _ => Ok(elements),
        }
    }

    /// The changes that an effect's values make of an item of this shape.
    pub(crate) fn changes(
        &mut self,
        shape: Shape<'a>,
        assignments: &'a Assignments,
        values: Values,
        is_new: bool,
    ) -> Changes<'a> {
        let mut changes = Changes::default();
        for ((name, _), value) in assignments.set.iter().zip(values.set) {
            let Some(attribute) = shape.attribute(name) else {
                continue;
            };
            match value {
                Some(value) => {
                    let value = attribute.kind.adopt(value);
                    changes.set.push((Slot::Declared(attribute), value));
                }
                None if is_new => {}
                None => changes.remove.push(Slot::Declared(attribute)),
            }
        }
        for ((name, _), value) in assignments.add.iter().zip(values.add) {
            if let (Some(attribute), Some(Value::N(amount))) = (shape.attribute(name), value) {
                changes.add.push((attribute, amount));
            }
        }
        let removed = assignments.remove.iter();
        let removed = removed.filter_map(|name| shape.attribute(name));
        changes.remove.extend(removed.map(Slot::Declared));
        changes
    }
}

/// The item that is meant.
enum Aim<'a> {
    New(&'a Entity),
    At(Shape<'a>, ItemAddress),
    Nowhere,
    Unknown,
}

/// The values of assignments, in their order.
pub(crate) struct Values {
    set: Vec<Option<Value>>,
    add: Vec<Option<Value>>,
}

/// The values that assignments give.
pub(crate) fn assigned(scene: &Scene<'_, '_>, assignments: &Assignments) -> Values {
    let of = |pairs: &[(String, partita_design::expression::Formula)]| {
        pairs.iter().map(|(_, value)| value.value(scene)).collect()
    };
    Values {
        set: of(&assignments.set),
        add: of(&assignments.add),
    }
}

/// The members of a list or a set.
pub(super) fn members(value: &Value) -> impl Iterator<Item = Value> + use<> {
    let members: Vec<Value> = match value {
        Value::L(list) => list.clone(),
        Value::Ss(set) => set.iter().map(|text| Value::S(text.clone())).collect(),
        Value::Ns(set) => set.iter().map(|number| Value::N(*number)).collect(),
        _ => Vec::new(),
    };
    members.into_iter()
}
