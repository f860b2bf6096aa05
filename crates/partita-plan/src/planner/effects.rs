//! What triggers and actions cause: operations on further items of the same write.

use partita_core::expression::{Found, Scope as _};
use partita_core::{Item, Map, Value};
use partita_design::design::{
    Assignments, Each, EachOver, Effect, EffectKind, EffectTarget, Pattern, PatternId, Record, Ref,
};
use partita_design::expression::{Formula, Reading};
use partita_design::files::{Standing, lenders};

use super::every::Seen;
use super::{By, Names, Planner};
use crate::draft::{Presence, Refusal};
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::{ItemScope, Named, Resolved};
use crate::pattern::passes;
use crate::place::Address;
use crate::request::input::{Changes, Slot};

/// One element of an `each`.
pub(super) enum Element<'a> {
    Value(Value),
    Item {
        shape: &'a Record,
        item: Map,
        address: Address,
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
        for trigger in blueprint.kernel.triggers(&blueprint.design, shape.id) {
            let entry = self.entry(at);
            if !trigger.on.kind.includes(operation) || entry.fired.contains(&trigger.id) {
                continue;
            }
            if let Some(turns) = &trigger.turns {
                let (old, new) = (entry.old().cloned(), entry.after.clone());
                let is_so = match &new {
                    Some(new) => {
                        self.evaluate(at, new, |scope| turns.holds(&scope.was(old.as_deref())))?
                    }
                    None => false,
                };
                let was_so = match old.filter(|_| is_so) {
                    Some(old) => {
                        self.evaluate(at, &old, |scope| turns.holds(&scope.before().of_old()))?
                    }
                    None => false,
                };
                if !is_so || was_so {
                    continue;
                }
            }
            self.entry_mut(at).fired.push(trigger.id);
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
        let mut seen = Seen::default();
        let Some(each) = &effect.each else {
            return self.effect_on(cause, effect, name, None, &mut seen);
        };
        let elements = match &each.over {
            EachOver::List { reading, .. } => self.members_of(cause, reading)?,
            EachOver::Pattern {
                pattern,
                parameters,
            } => {
                let parameters = self.parameters(cause, parameters)?;
                if self.is_effect_left(cause, effect, parameters.clone()) {
                    return Ok(());
                }
                self.found(*pattern, &parameters)
                    .map_err(|error| cannot_wait(effect, name, error))?
            }
        };
        for element in elements {
            self.effect_for(cause, (effect, each), name, &element, &mut seen)?;
        }
        Ok(())
    }

    /// Carries an effect out for one element.
    pub(super) fn effect_for(
        &mut self,
        cause: Cause<'_, 'a>,
        (effect, each): (&'a Effect, &'a Each),
        name: &'a str,
        element: &Element<'a>,
        seen: &mut Seen,
    ) -> Result<(), PlanError> {
        let (named, target) = match element {
            Element::Value(value) => (Named::Value(Some(value.clone())), None),
            Element::Item {
                shape,
                item,
                address,
            } => {
                let named = Named::Item {
                    shape,
                    item,
                    address: address.clone(),
                };
                (named, Some((*shape, address.clone())))
            }
        };
        let mut names: Names<'_, 'a> = vec![(each.name.clone(), named)];
        names.extend(cause.names.iter().cloned());
        let cause = Cause {
            names: &names,
            ..cause
        };
        self.effect_on(cause, effect, name, target, seen)
    }

    fn effect_on(
        &mut self,
        cause: Cause<'_, 'a>,
        effect: &'a Effect,
        name: &'a str,
        element: Option<(&'a Record, Address)>,
        seen: &mut Seen,
    ) -> Result<(), PlanError> {
        let entry = self.entry(cause.at);
        let old = entry.old().cloned();
        let Some(item) = entry.after.clone().or_else(|| old.clone()) else {
            return Ok(());
        };
        let require = effect.require.as_ref();
        let (is_refused, made) = self.evaluate(cause.at, &item, |scope| {
            let scope = scope.was(old.as_deref()).naming(cause.names);
            let scope = scope.with_refs(cause.refs);
            let is_wanted = effect.when.as_ref().is_none_or(|when| when.holds(&scope))
                && seen.insert_element(effect, element.as_ref(), &scope);
            let is_refused = is_wanted && require.is_some_and(|require| !require.holds(&scope));
            let made = is_wanted.then(|| {
                let aim = aim(&scope, &effect.target, element);
                let values = assigned(&scope, &effect.changes, effect.each.as_ref());
                (aim, values)
            });
            (is_refused, made)
        })?;
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
                let changes = self.changes(entity, &effect.changes, values, true);
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
                self.faults.push(Fault {
                    rule: FaultRule::Reference,
                    ..Fault::new("target", message)
                });
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
            (_, true) => self.change_caused(at, &changes),
            (_, false) => {
                let (record, rule) = (&shape.name, FaultRule::Reference);
                let fault = Fault::of(record, "target", rule, "is not there");
                self.faults.push(fault);
                self.refuse()
            }
        }
    }

    /// Creates an item, or changes the one that is there.
    fn upsert(&mut self, entity: &'a Record, changes: &Changes<'a>) -> Result<(), PlanError> {
        let shape = entity;
        let mut item = Map::new();
        for (slot, value) in &changes.set {
            super::item::put(&mut item, slot, value.clone());
        }
        let address = self.context.blueprint.address(shape, &item)?;
        let at = self.look_up(shape, address)?;
        if self.entry(at).after.is_none() {
            self.create(entity, changes, By::Effect)?;
            return Ok(());
        }
        self.change_caused(at, &changes.without_identity(entity))
    }

    /// The members of a list that the cause has or leads to.
    fn members_of(
        &mut self,
        cause: Cause<'_, 'a>,
        reading: &'a Reading,
    ) -> Result<Vec<Element<'a>>, PlanError> {
        let list = self.values_for(cause, [("", reading)])?;
        let elements = list.values().flat_map(members);
        Ok(elements.map(Element::Value).collect())
    }

    /// The parameters that the cause gives a pattern.
    fn parameters(
        &mut self,
        cause: Cause<'_, 'a>,
        parameters: &'a [(String, Reading)],
    ) -> Result<Map, PlanError> {
        let readings = parameters.iter();
        let readings = readings.map(|(name, reading)| (name.as_str(), reading));
        self.values_for(cause, readings)
    }

    /// What stands where the cause of an effect leads, each under a name.
    fn values_for(
        &mut self,
        cause: Cause<'_, 'a>,
        readings: impl IntoIterator<Item = (&'a str, &'a Reading)>,
    ) -> Result<Map, PlanError> {
        let entry = self.entry(cause.at);
        let old = entry.old().cloned();
        let Some(item) = entry.after.clone().or_else(|| old.clone()) else {
            return Ok(Map::new());
        };
        self.evaluate(cause.at, &item, |scope| {
            let scope = scope.was(old.as_deref()).naming(cause.names);
            let scope = scope.with_refs(cause.refs);
            let mut values = Map::new();
            for (name, reading) in readings {
                if let Found::Value(value) = scope.find(&reading.path) {
                    values.insert(name, value.into_owned());
                }
            }
            values
        })
    }

    /// The items of a pattern, if a plan can go through them.
    fn found(&self, pattern: PatternId, parameters: &Map) -> Result<Vec<Element<'a>>, PlanError> {
        let blueprint = self.context.blueprint;
        let pattern = &blueprint.design[pattern];
        let Some(listing) = blueprint.listing(pattern, parameters)? else {
            return Ok(Vec::new());
        };
        let Some(listed) = self.draft.list(&self.context, &listing) else {
            return Ok(Vec::new());
        };
        match listed.has_more {
            false => Ok(self.meant(pattern, parameters, &listed.rows)),
            true => Err(PlanError::TooMuch {
                what: format!("every item of `{}` is meant", pattern.name),
            }),
        }
    }

    /// The elements among the rows of a pattern.
    pub(super) fn meant(
        &self,
        pattern: &'a Pattern,
        parameters: &Map,
        rows: &[Item],
    ) -> Vec<Element<'a>> {
        let blueprint = self.context.blueprint;
        let (_, table) = blueprint.table(pattern.table);
        let rows = rows.iter().filter_map(|row| {
            let (shape, item) = blueprint.recognise(&pattern.returns, row)?;
            let seen = self.unguarded(shape, &item);
            let is_over = self.context.reads.is_expired(table, row);
            let is_shown = !is_over && (pattern.with_deleted || !shape.is_deleted(&item));
            let address = blueprint.keys.place(table, row);
            // Nothing is left to be done to what this write removes.
            let is_left = is_shown && !self.draft.is_removed(&address);
            let is_meant = is_left && passes(pattern, parameters, &seen, row);
            is_meant.then_some(Element::Item {
                shape,
                item,
                address,
            })
        });
        rows.collect()
    }

    /// The changes that an effect's values make of an item of this shape.
    pub(crate) fn changes(
        &mut self,
        shape: &'a Record,
        assignments: &'a Assignments,
        values: Values,
        is_new: bool,
    ) -> Changes<'a> {
        let mut changes = Changes {
            set: Vec::with_capacity(values.set.len()),
            ..Changes::default()
        };
        let lent = values.lent.iter().filter_map(|at| assignments.set.get(*at));
        changes.lent = lent.map(|(name, _)| name.as_str()).collect();
        for ((name, _), value) in assignments.set.iter().zip(values.set) {
            let Some(attribute) = shape.stored(name) else {
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
            if let (Some(attribute), Some(Value::N(amount))) = (shape.stored(name), value) {
                changes.add.push((attribute, amount));
            }
        }
        let removed = assignments.remove.iter();
        let removed = removed.filter_map(|name| shape.stored(name));
        changes.remove.extend(removed.map(Slot::Declared));
        changes
    }
}

/// Why an effect that is larger than a transaction is not left to a job: by then it could not
/// refuse the write any more.
fn cannot_wait(effect: &Effect, name: &str, error: PlanError) -> PlanError {
    match (error, &effect.require) {
        (PlanError::TooMuch { what }, Some(require)) => {
            let rule = &require.text;
            let why =
                format!("`{name}` requires `{rule}` of each, so that none can wait for a job");
            PlanError::TooMuch {
                what: format!("{what}, and {why}"),
            }
        }
        (error, _) => error,
    }
}

/// The item that is meant.
enum Aim<'a> {
    New(&'a Record),
    At(&'a Record, Address),
    Nowhere,
    Unknown,
}

/// Which item an effect is done to.
fn aim<'a>(
    scope: &ItemScope<'_, 'a>,
    target: &'a EffectTarget,
    element: Option<(&'a Record, Address)>,
) -> Result<Aim<'a>, PlanError> {
    let blueprint = scope.context.blueprint;
    Ok(match target {
        EffectTarget::Entity(record) => Aim::New(&blueprint.design[*record]),
        EffectTarget::Element(_) => match element {
            Some((shape, address)) => Aim::At(shape, address),
            None => Aim::Nowhere,
        },
        EffectTarget::Ref { name, .. } => {
            let mut refs = scope.refs.iter().chain(&scope.record.refs);
            let reference = refs.find(|one| one.name == *name);
            match reference.map_or(Resolved::Nowhere, |one| scope.resolve(one)) {
                Resolved::Unknown => Aim::Unknown,
                Resolved::Nowhere | Resolved::Constants(_) => Aim::Nowhere,
                Resolved::To(targets) => match targets.into_iter().next() {
                    Some(target) => Aim::At(target.shape, target.address),
                    None => Aim::Nowhere,
                },
            }
        }
        EffectTarget::Identity { record, parts } => {
            let shape = &blueprint.design[*record];
            let mut identity = Map::new();
            for (part, (_, reading)) in shape.identity.iter().zip(parts) {
                match scope.find(&reading.path) {
                    Found::Value(value) => {
                        identity.insert(part.attribute.as_str(), value.into_owned())
                    }
                    Found::Missing => return Ok(Aim::Nowhere),
                    Found::Unknown => return Ok(Aim::Unknown),
                };
            }
            Aim::At(shape, blueprint.address(shape, &identity)?)
        }
    })
}

/// The values of assignments, in their order.
pub(crate) struct Values {
    set: Vec<Option<Value>>,
    add: Vec<Option<Value>>,
    /// Which of those that are set come from attributes that name files.
    lent: Vec<usize>,
}

/// The values that assignments give.
pub(crate) fn assigned(
    scope: &ItemScope<'_, '_>,
    assignments: &Assignments,
    each: Option<&Each>,
) -> Values {
    let of =
        |pairs: &[(String, Formula)]| pairs.iter().map(|(_, value)| value.value(scope)).collect();
    let has_files = !scope.context.blueprint.design.buckets.is_empty();
    let set = assignments.set.iter().enumerate();
    let lent = set.filter(|(_, (_, value))| has_files && lends(scope, value, each));
    let lent = lent.map(|(at, _)| at).collect();
    Values {
        set: of(&assignments.set),
        add: of(&assignments.add),
        lent,
    }
}

/// Whether a value is made of attributes that name files, and of nothing that a caller gives.
pub(super) fn lends(scope: &ItemScope<'_, '_>, value: &Formula, each: Option<&Each>) -> bool {
    let standing = Standing {
        record: scope.record.id,
        refs: scope.refs,
        each,
    };
    let design = &scope.context.blueprint.design;
    !lenders(design, standing, value).is_empty()
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
