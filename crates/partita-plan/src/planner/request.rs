//! What callers ask for, as operations on the draft: rules first, then the item, then everything
//! that follows.

use partita_core::{Map, Number, Value};
use partita_design::design::rules::LimitOf;
use partita_design::design::{
    Access, Action, ActionOn, Application, Entity, Parameter, ParameterKind, RecordName, Source,
};
use partita_design::types::AttributeType;

use super::effects::{Cause, assigned};
use super::refs::Given;
use super::{By, Names, Planner, WritePlan};
use crate::access::{Asked, Verdict};
use crate::draft::Before;
use crate::error::{Fault, PlanError};
use crate::input::{Changes, Input, refuse};
use crate::nested;
use crate::operation::Answer;
use crate::pattern::passes;
use crate::reads::Known;
use crate::scene::{Lead, Named, Scene, Trace, number_at};
use crate::shape::Shape;

/// A write that a caller asks for.
#[derive(Clone, Debug)]
pub(crate) enum Request<'a> {
    Create {
        entity: &'a Entity,
        given: Map,
    },
    /// Something is done to an item that is there.
    Change {
        on: On<'a>,
        change: Change<'a>,
    },
    /// An action that finds its item, or its items, by a pattern.
    Found {
        action: &'a Action,
        given: Map,
    },
}

/// The item that a caller names.
#[derive(Clone, Debug)]
pub(crate) struct On<'a> {
    pub(crate) shape: Shape<'a>,
    pub(crate) identity: Map,
    /// Whether a soft-deleted item is found too.
    pub(crate) with_deleted: bool,
    /// The version that the caller saw.
    pub(crate) version: Option<i64>,
}

/// What is to become of it.
#[derive(Clone, Debug)]
pub(crate) enum Change<'a> {
    Update(Map),
    Delete,
    Restore,
    Act { action: &'a Action, given: Map },
}

impl<'a> Change<'a> {
    fn asked(&self) -> Asked<'a> {
        match self {
            Change::Update(_) => Asked::Access(Access::Update),
            Change::Delete => Asked::Access(Access::Delete),
            Change::Restore => Asked::Access(Access::Restore),
            Change::Act { action, .. } => Asked::Action(&action.name),
        }
    }
}

impl<'a> Planner<'a> {
    /// Plans a write, as far as what was read allows.
    pub(crate) fn plan(mut self, request: &Request<'a>) -> Result<WritePlan, PlanError> {
        let (shown, is_tally) = match request {
            Request::Create { entity, given } => (self.create_for(entity, given)?, false),
            Request::Change { on, change } => {
                let at = self.change_for(on, change)?;
                match change {
                    Change::Delete => (None, false),
                    Change::Act { action, .. } => {
                        let is_tally = self.is_tally(action, self.entry(at).shape);
                        (Some(at).filter(|_| !is_tally), is_tally)
                    }
                    Change::Update(_) | Change::Restore => (Some(at), false),
                }
            }
            Request::Found { action, given } => (self.act_on_found(action, given)?, false),
        };
        self.follow_through()?;
        let answer = match shown {
            Some(at) => self.answer(at),
            None => Answer::Done,
        };
        let steps = self.emit()?;
        Ok(WritePlan {
            steps,
            answer,
            is_tally,
        })
    }

    /// Whoever may write an item but not read it is not shown what became of it.
    fn answer(&self, at: usize) -> Answer {
        let entry = self.entry(at);
        let Some(item) = &entry.after else {
            return Answer::Done;
        };
        let trace = Trace::default();
        let scene = self.scene(entry.shape, item, None, &trace);
        match scene.verdict(Asked::Access(Access::Read)) {
            Verdict::Allowed => {
                let blueprint = self.context.blueprint;
                Answer::Record(blueprint.record(entry.shape, scene.shown()))
            }
            Verdict::Denied | Verdict::Open => Answer::Done,
        }
    }

    fn create_for(&mut self, entity: &'a Entity, given: &Map) -> Result<Option<usize>, PlanError> {
        let input = Input {
            blueprint: self.context.blueprint,
            entity,
        };
        let changes = input.create(given.clone(), &mut self.faults);
        let at = self.create(entity, &changes, By::Caller)?;
        let entry = self.entry(at);
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let trace = Trace::default();
        if let Some(new) = &new {
            let scene = self.scene(entry.shape, new, old.as_deref(), &trace);
            scene.demand(Asked::Access(Access::Create))?;
            scene.demand_attributes(changes.set.iter().map(|(slot, _)| slot.name()))?;
        }
        if let Some(old) = &old {
            let scene = self.scene(entry.shape, old, None, &trace);
            scene.demand(Asked::Access(Access::Update))?;
        }
        self.remember(Some(at), trace.into_seen())?;
        self.count_towards(&LimitOf::Access(Access::Create, entity.name.clone()))?;
        Ok(new.map(|_| at))
    }

    fn change_for(&mut self, on: &On<'a>, change: &Change<'a>) -> Result<usize, PlanError> {
        if let (Change::Restore, Shape::Entity(entity)) = (change, on.shape)
            && entity.soft_delete.is_none()
        {
            return Err(PlanError::NotRestorable {
                entity: entity.name.clone(),
            });
        }
        let at = self.find(on, change.asked())?;
        let not_deleted = |deleted: bool| match deleted {
            true => Ok(()),
            false => Err(PlanError::NotDeleted {
                entity: on.shape.name().to_owned(),
            }),
        };
        let is_deleted = match self.entry(at).old() {
            Some(old) => on.shape.is_deleted(old),
            None => return Ok(at),
        };
        match change {
            Change::Restore => not_deleted(is_deleted)?,
            _ if is_deleted && !on.with_deleted => return Err(not_found(on.shape, true)),
            _ => {}
        }
        if let Shape::Entity(entity) = on.shape {
            if let Some(soft_delete) = &entity.soft_delete {
                self.entry_mut(at).guard(soft_delete.attribute());
            }
            self.check_version(at, entity, on.version)?;
        }
        self.count_towards(&match change.asked() {
            Asked::Access(access) => LimitOf::Access(access, on.shape.name().to_owned()),
            Asked::Action(name) => LimitOf::Action(name.to_owned()),
        })?;
        match change {
            Change::Update(given) => self.update_for(at, on, given)?,
            Change::Delete => self.delete(at, By::Caller)?,
            Change::Restore => self.restore(at, By::Caller)?,
            Change::Act { action, given } => self.act(at, action, given)?,
        }
        Ok(at)
    }

    fn update_for(&mut self, at: usize, on: &On<'a>, given: &Map) -> Result<(), PlanError> {
        let Shape::Entity(entity) = on.shape else {
            return Ok(());
        };
        let input = Input {
            blueprint: self.context.blueprint,
            entity,
        };
        let changes = input.update(given.clone(), &on.identity, &mut self.faults);
        self.refuse()?;
        self.demand_written(at, &changes)?;
        self.change(at, &changes, By::Caller)
    }

    /// Rules for single attributes look at the item as it is.
    fn demand_written(&mut self, at: usize, changes: &Changes<'a>) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let Some(old) = entry.old().cloned() else {
            return Ok(());
        };
        let trace = Trace::default();
        let scene = self.scene(entry.shape, &old, None, &trace);
        let set = changes.set.iter().map(|(slot, _)| slot.name());
        scene.demand_attributes(set.chain(changes.remove.iter().map(|slot| slot.name())))?;
        self.remember(Some(at), trace.into_seen())
    }

    /// The item that a caller names, if there is one and the rule allows what is asked.
    fn find(&mut self, on: &On<'a>, asked: Asked<'a>) -> Result<usize, PlanError> {
        let shape = on.shape;
        let early = Trace::default();
        let known = Scene {
            complete: false,
            ..self.scene(shape, &on.identity, None, &early)
        };
        known.demand_early(asked)?;
        let is_decided = known.verdict(asked) == Verdict::Allowed;
        for reference in shape.refs().iter().filter(|one| one.live) {
            if let Lead::To(targets) = known.lead(reference) {
                for target in targets {
                    self.context.reads.need(target.address);
                }
            }
        }
        let address = self.context.blueprint.address(shape, &on.identity)?;
        let at = self.look_up(shape, address)?;
        let Before::Found(old) = self.entry(at).before.clone() else {
            return Err(not_found(shape, false));
        };
        let trace = Trace::default();
        let scene = self.scene(shape, &old, None, &trace);
        if let Err(refusal) = scene.demand(asked) {
            // Where the item decides, a refusal would tell that it is there.
            let may_read = scene.verdict(Asked::Access(Access::Read)) == Verdict::Allowed;
            return Err(match is_decided || may_read {
                true => refusal,
                false => not_found(shape, false),
            });
        }
        self.remember(Some(at), trace.into_seen())?;
        self.demand_live(at, &old)?;
        Ok(at)
    }

    /// Refuses an item that a live reference hides.
    fn demand_live(&mut self, at: usize, item: &Map) -> Result<(), PlanError> {
        let shape = self.entry(at).shape;
        for reference in shape.refs().iter().filter(|one| one.live) {
            let trace = Trace::default();
            let lead = self.scene(shape, item, None, &trace).lead(reference);
            self.remember(Some(at), trace.into_seen())?;
            let Lead::To(targets) = lead else { continue };
            for target in targets {
                let is_hidden = match self.context.reads.item(&target.address) {
                    Known::Found(item) => target.shape.is_deleted(item),
                    Known::Missing => true,
                    Known::Unread => false,
                };
                if is_hidden {
                    return Err(not_found(shape, false));
                }
                self.expect(reference, target, Given::Before)?;
            }
        }
        Ok(())
    }

    fn check_version(
        &mut self,
        at: usize,
        entity: &'a Entity,
        expected: Option<i64>,
    ) -> Result<(), PlanError> {
        let Some(expected) = expected else {
            return Ok(());
        };
        let entry = self.entry_mut(at);
        let found = entity.version().and_then(|version| {
            entry.guard(&version.name);
            let old = entry.old()?;
            number_at(Shape::Entity(entity), old, &version.name)
        });
        match found == Some(Number::from(expected)) {
            true => Ok(()),
            false => Err(PlanError::StaleVersion {
                entity: entity.name.clone(),
            }),
        }
    }

    /// Does what an action says to an item.
    fn act(&mut self, at: usize, action: &'a Action, given: &Map) -> Result<(), PlanError> {
        let shape = self.entry(at).shape;
        let Some(old) = self.entry(at).after.clone() else {
            return Ok(());
        };
        let (attributes, parameters) = self.split(action, given);
        let mut changes = Changes::default();
        if let Shape::Entity(entity) = shape {
            let input = Input {
                blueprint: self.context.blueprint,
                entity,
            };
            changes = input.update(attributes, &Map::new(), &mut self.faults);
        }
        self.refuse()?;
        let names: Names<'_, 'a> = parameters;
        let trace = Trace::default();
        let scene = Scene {
            names: &names,
            refs: &action.refs,
            ..self.scene(shape, &old, Some(&old), &trace)
        };
        let require = action.require.as_ref();
        let is_refused = require.filter(|require| !require.holds(&scene));
        let values = assigned(&scene, &action.changes);
        let leads: Vec<_> = action
            .refs
            .iter()
            .map(|one| (one, scene.lead(one)))
            .collect();
        self.remember(Some(at), trace.into_seen())?;
        if let (Some(require), true) = (is_refused, self.context.reads.is_complete()) {
            return Err(PlanError::Requires {
                name: action.name.clone(),
                rule: require.text.clone(),
            });
        }
        for (reference, lead) in leads {
            if let (Lead::To(targets), false) = (lead, reference.unchecked) {
                for target in targets {
                    self.expect(reference, target, Given::Now)?;
                }
            }
        }
        let said = self.changes(shape, &action.changes, values, false);
        changes.set.extend(said.set);
        changes.add.extend(said.add);
        changes.remove.extend(said.remove);
        if action.delete {
            self.delete(at, By::Caller)?;
        } else {
            let by = match self.is_tally(action, shape) {
                true => By::Effect,
                false => By::Caller,
            };
            self.change(at, &changes, by)?;
        }
        let cause = Cause {
            at,
            names: &names,
            refs: &action.refs,
        };
        for effect in &action.then {
            self.effect(cause, effect, &action.name)?;
        }
        Ok(())
    }

    /// What a caller gives for an action: attributes of the item, and parameters.
    fn split(&mut self, action: &'a Action, given: &Map) -> (Map, Names<'static, 'a>) {
        let mut attributes = Map::new();
        let mut parameters: Names<'static, 'a> = Vec::new();
        for name in &action.input {
            match nested::get(given, name) {
                Some(value) => nested::set(&mut attributes, name, value.clone()),
                None => self.faults.push(Fault::new(name, "is required")),
            }
        }
        for parameter in &action.parameters {
            let value = given
                .get(&parameter.name)
                .filter(|value| **value != Value::Null);
            if let Some(fault) = check_parameter(parameter, value) {
                self.faults.push(fault);
            }
            let named = Named::Value(value.cloned());
            parameters.push((parameter.name.clone(), named));
        }
        for name in given.keys() {
            let is_input = |known: &String| crate::shape::is_inside(known, name);
            let is_known = action.input.iter().any(is_input)
                || action.parameters.iter().any(|one| one.name == *name);
            if !is_known {
                let message = format!("is nothing that `{}` takes", action.name);
                self.faults.push(Fault::new(name, message));
            }
        }
        (attributes, parameters)
    }

    /// An action on the item, or on every item, that a pattern finds.
    fn act_on_found(
        &mut self,
        action: &'a Action,
        given: &Map,
    ) -> Result<Option<usize>, PlanError> {
        match &action.on {
            ActionOn::Items(_) => Err(PlanError::UnknownAction {
                name: action.name.clone(),
            }),
            ActionOn::Found { pattern, record } => {
                let (asked, rest) = self.asked(pattern, given)?;
                let found = self.rows(pattern, &asked)?;
                let Some((shape, item)) = found.into_iter().next() else {
                    return Err(PlanError::NotFound {
                        entity: record.as_str().to_owned(),
                        deleted: false,
                    });
                };
                let on = on_row(shape, &item);
                let change = Change::Act {
                    action,
                    given: rest,
                };
                self.change_for(&on, &change).map(Some)
            }
            ActionOn::Every(application) => {
                self.act_on_every(action, application, given)?;
                Ok(None)
            }
        }
    }

    fn act_on_every(
        &mut self,
        action: &'a Action,
        application: &'a Application,
        given: &Map,
    ) -> Result<(), PlanError> {
        use partita_design::design::EachOver;
        let blueprint = self.context.blueprint;
        let EachOver::Pattern { pattern, .. } = &application.each.over else {
            return Err(PlanError::UnknownAction {
                name: action.name.clone(),
            });
        };
        let applied = blueprint.action(&application.apply)?;
        let (asked, rest) = self.asked(pattern, given)?;
        for (shape, item) in self.rows(pattern, &asked)? {
            let address = blueprint.address(shape, &item)?;
            let named = Named::Item {
                shape,
                item: &item,
                address,
            };
            let names = [(application.each.name.clone(), named)];
            let trace = Trace::default();
            let scene = Scene {
                names: &names,
                ..self.scene(shape, &item, None, &trace)
            };
            scene.demand(Asked::Action(&action.name))?;
            let when = application.when.as_ref();
            if when.is_none_or(|when| when.holds(&scene)) {
                let on = on_row(shape, &item);
                let change = Change::Act {
                    action: applied,
                    given: rest.clone(),
                };
                self.change_for(&on, &change)?;
            }
        }
        Ok(())
    }

    /// The parameters of a pattern among what was given, and the rest.
    fn asked(&mut self, pattern: &str, given: &Map) -> Result<(Map, Map), PlanError> {
        let pattern = self.context.blueprint.pattern(pattern)?;
        let mut asked = Map::new();
        let mut rest = given.clone();
        for parameter in &pattern.parameters {
            let value = rest.remove(&parameter.name);
            match check_parameter(parameter, value.as_ref()) {
                Some(fault) => self.faults.push(fault),
                None => asked.extend(value.map(|value| (parameter.name.clone(), value))),
            }
        }
        refuse(std::mem::take(&mut self.faults))?;
        Ok((asked, rest))
    }

    /// The rows of a pattern, as far as they were read.
    fn rows(&mut self, pattern: &str, asked: &Map) -> Result<Vec<(Shape<'a>, Map)>, PlanError> {
        let blueprint = self.context.blueprint;
        let pattern = blueprint.pattern(pattern)?;
        let Some(listing) = blueprint.listing(pattern, asked)? else {
            return Ok(Vec::new());
        };
        let Some(listed) = self.context.reads.list(&listing) else {
            return Ok(Vec::new());
        };
        if listed.has_more {
            return Err(PlanError::TooMuch {
                what: format!("every item of `{}` is meant", pattern.name),
            });
        }
        let rows = listed.rows.iter().filter_map(|row| {
            let (shape, item) = blueprint.recognise(&pattern.returns, row)?;
            let unwatched = Trace::default();
            let seen = self.scene(shape, &item, None, &unwatched);
            let is_shown = pattern.with_deleted || !shape.is_deleted(&item);
            (is_shown && passes(pattern, asked, &seen, row)).then_some((shape, item))
        });
        Ok(rows.collect())
    }

    /// Whether an action only counts: then it is no write of the item, and needs no transaction.
    fn is_tally(&self, action: &Action, shape: Shape<'a>) -> bool {
        let changes = &action.changes;
        let only_adds = changes.set.is_empty()
            && changes.remove.is_empty()
            && !changes.add.is_empty()
            && action.input.is_empty()
            && action.then.is_empty()
            && action.require.is_none()
            && !action.delete;
        only_adds && changes.add.iter().all(|(name, _)| is_tally(shape, name))
    }
}

/// Whether a number is a plain counter on which nothing rests but sums.
fn is_tally(shape: Shape<'_>, name: &str) -> bool {
    let is_counter = shape.attribute(name).is_some_and(|attribute| {
        attribute.kind == AttributeType::Counter && attribute.per.is_none()
    });
    let indexes = shape.indexes().iter().flat_map(|index| &index.reads);
    let in_index = indexes.into_iter().any(|reading| reading.attribute == name);
    let attributes = shape.source().attributes.iter();
    let is_read = attributes
        .filter_map(|attribute| match &attribute.source {
            Source::Computed(computed) => Some(&computed.value),
            _ => None,
        })
        .any(|value| value.own_attributes().any(|own| own == name));
    is_counter && !in_index && !is_read
}

fn check_parameter(parameter: &Parameter, value: Option<&Value>) -> Option<Fault> {
    let name = &parameter.name;
    match (value, &parameter.kind) {
        (None, _) if parameter.optional => None,
        (None, _) => Some(Fault::new(name, "is required")),
        (Some(value), ParameterKind::Value(kind)) => kind
            .check(value)
            .err()
            .map(|expected| Fault::new(name, format!("must be {expected}"))),
        (Some(Value::S(_)), ParameterKind::PrefixOf(_)) => None,
        (Some(_), ParameterKind::PrefixOf(_)) => Some(Fault::new(name, "must be a string")),
    }
}

/// The item that a row of a pattern is.
fn on_row<'a>(shape: Shape<'a>, item: &Map) -> On<'a> {
    On {
        shape,
        identity: crate::shape::identity_of(shape, item).unwrap_or_default(),
        with_deleted: false,
        version: None,
    }
}

fn not_found(shape: Shape<'_>, deleted: bool) -> PlanError {
    PlanError::NotFound {
        entity: shape.name().to_owned(),
        deleted,
    }
}

/// Whether an action can be done to items of this record.
pub(crate) fn is_for(action: &Action, record: &RecordName) -> bool {
    match &action.on {
        ActionOn::Items(records) => records.contains(record),
        ActionOn::Found { .. } | ActionOn::Every(_) => false,
    }
}
