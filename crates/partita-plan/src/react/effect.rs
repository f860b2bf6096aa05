//! What triggers and actions cause: operations on further items of the same write.

use partita_core::Map;
use partita_core::expression::{Found, Scope as _};
use partita_design::design::{Action, Effect, EffectId, EffectKind, EffectTarget, Record, Ref};
use partita_design::kernel::{Does, Occasion, Reaction, Times, When};

use super::each::{DistinctElements, Element};
use super::holds;
use crate::draft::EntryId;
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::{ItemScope, Named, Resolved};
use crate::place::Address;
use crate::planner::assignments::{Values, assigned};
use crate::planner::{By, Names, Planner, item};
use crate::request::input::Changes;

/// An effect, and what it is caused by: an item of the draft, and the parameters of an action.
#[derive(Clone, Copy)]
pub(crate) struct EffectCause<'s, 'a> {
    pub(crate) at: EntryId,
    pub(crate) reaction: &'a Reaction,
    pub(crate) effect: EffectId,
    pub(crate) names: &'s [(String, Named<'s, 'a>)],
    pub(crate) refs: &'a [Ref],
}

/// What is left out of what a cascade does to an item: it was refused, and the cascade is acknowledged
/// and comes to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LeftOut {
    #[default]
    None,
    /// An effect.
    One(EffectId),
    /// That refs to what is removed are cleared.
    Clearing,
    /// Both, and every effect.
    All,
}

impl LeftOut {
    fn has(self, effect: EffectId) -> bool {
        match self {
            LeftOut::None | LeftOut::Clearing => false,
            LeftOut::One(one) => one == effect,
            LeftOut::All => true,
        }
    }
}

impl<'a> Planner<'a> {
    /// Fires a trigger, once for one write of an item.
    pub(super) fn trigger(
        &mut self,
        at: EntryId,
        reaction: &'a Reaction,
        effect: EffectId,
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let is_left_out = entry.is_released && self.left_out.has(effect);
        if is_left_out || entry.reacted.fired.contains(&effect) {
            return Ok(());
        }
        if let When::Turns(turns, _) = &reaction.when
            && !self.turns(at, turns)?
        {
            return Ok(());
        }
        self.entry_mut(at).reacted.fired.push(effect);
        self.effect(EffectCause {
            at,
            reaction,
            effect,
            names: &[],
            refs: &[],
        })
    }

    /// Carries the effects of an action on an item out.
    pub(crate) fn effects_of(
        &mut self,
        action: &'a Action,
        at: EntryId,
        names: &[(String, Named<'_, 'a>)],
    ) -> Result<(), PlanError> {
        let reactions = &self.context.blueprint.design.reactions;
        let called = Occasion::Action(action.id);
        for reaction in reactions.of(self.entry(at).record.id) {
            if let (Does::Operate(effect), true) = (&reaction.does, reaction.on == called) {
                self.effect(EffectCause {
                    at,
                    reaction,
                    effect: *effect,
                    names,
                    refs: &action.refs,
                })?;
            }
        }
        Ok(())
    }

    /// Carries an effect out, once or for each element.
    fn effect(&mut self, cause: EffectCause<'_, 'a>) -> Result<(), PlanError> {
        let mut distinct = DistinctElements::default();
        let Times::Each(each) = &cause.reaction.each else {
            return self.effect_on(cause, None, &mut distinct);
        };
        let design = &self.context.blueprint.design;
        let elements = self.elements(cause, &each.over).map_err(|error| {
            cannot_wait(
                &design[cause.effect],
                design.effect_name(cause.effect),
                error,
            )
        })?;
        for element in elements {
            self.effect_for(cause, &element, &mut distinct)?;
        }
        Ok(())
    }

    /// Carries an effect out for one element.
    pub(crate) fn effect_for(
        &mut self,
        cause: EffectCause<'_, 'a>,
        element: &Element<'a>,
        distinct: &mut DistinctElements,
    ) -> Result<(), PlanError> {
        let (named, target) = match element {
            Element::Value(value) => (Named::Value(Some(value.clone())), None),
            Element::Item(listed) => (
                listed.named(),
                Some((listed.record, listed.address.clone())),
            ),
        };
        let mut names: Names<'_, 'a> = Vec::new();
        if let Times::Each(each) = &cause.reaction.each {
            names.push((each.name.clone(), named));
        }
        names.extend(cause.names.iter().cloned());
        let cause = EffectCause {
            names: &names,
            ..cause
        };
        self.effect_on(cause, target, distinct)
    }

    fn effect_on(
        &mut self,
        cause: EffectCause<'_, 'a>,
        element: Option<(&'a Record, Address)>,
        distinct: &mut DistinctElements,
    ) -> Result<(), PlanError> {
        let design = &self.context.blueprint.design;
        let (effect, name) = (&design[cause.effect], design.effect_name(cause.effect));
        if effect.kind.is_outgoing() {
            return self.send_out(cause, element.as_ref(), distinct);
        }
        let require = effect.require.as_ref();
        let made = self.evaluate_cause(cause, |scope| {
            let is_wanted = holds(cause.reaction, &scope)
                && distinct.insert_element(effect, element.as_ref(), &scope);
            is_wanted.then(|| {
                let refused = require.filter(|require| !require.holds(&scope));
                let aim = aim(&scope, &effect.target, element);
                let values = assigned(&scope, &effect.changes, effect.each.as_ref());
                (refused, aim, values)
            })
        })?;
        let Some((refused, target, values)) = made.flatten() else {
            return Ok(());
        };
        if let Some(require) = refused.filter(|_| self.context.reads.is_complete()) {
            return Err(PlanError::Requires {
                name: name.to_owned(),
                rule: require.text.clone(),
            });
        }
        let outer = self.origin.replace(name);
        let is_released = self.entry(cause.at).is_released;
        let done = self.operate(effect, target?, values, is_released);
        self.origin = outer;
        if let (Some(at), true) = (done?, is_released) {
            self.entry_mut(at).is_released = true;
        }
        Ok(())
    }

    /// Evaluates something about the item that an effect is caused by: as the write leaves it, or as
    /// it was if the write removes it.
    pub(super) fn evaluate_cause<T>(
        &mut self,
        cause: EffectCause<'_, 'a>,
        look: impl FnOnce(ItemScope<'_, 'a>) -> T,
    ) -> Result<Option<T>, PlanError> {
        let entry = self.entry(cause.at);
        let old = entry.old().cloned();
        let Some(item) = entry.after.clone().or_else(|| old.clone()) else {
            return Ok(None);
        };
        let made = self.evaluate(cause.at, &item, |scope| {
            let scope = scope.was(old.as_deref()).naming(cause.names);
            look(scope.with_refs(cause.refs))
        })?;
        Ok(Some(made))
    }

    /// Does what an effect says to its target. Answers which item that is, if something is done.
    ///
    /// What the same write removes stays removed. And what follows from a cascade cannot refuse it:
    /// the rest of the cascade may be done already, by a job. So an effect is left out there if its
    /// target is gone, or what a new item would refer to. A target that a live ref hides is not there.
    fn operate(
        &mut self,
        effect: &'a Effect,
        target: Aim<'a>,
        values: Values,
        is_released: bool,
    ) -> Result<Option<EntryId>, PlanError> {
        let (record, address) = match target {
            Aim::New(entity) => {
                let changes = self.changes(entity, &effect.changes, values, true);
                return self.operate_new(effect, entity, &changes, is_released);
            }
            Aim::At(record, address) => (record, address),
            Aim::Unknown => return Ok(None),
            Aim::Nowhere if is_released => return Ok(None),
            Aim::Nowhere => {
                let message = "leads nowhere, and something is to be done there";
                self.faults.push(Fault {
                    rule: FaultRule::Reference,
                    ..Fault::new("target", message)
                });
                return self.refuse().map(|()| None);
            }
        };
        let at = self.look_up(record, address)?;
        let changes = self.changes(record, &effect.changes, values, false);
        let is_hidden = match self.entry(at).old().cloned() {
            Some(old) => self.is_hidden(record, &old)?,
            None => false,
        };
        let entry = self.entry_mut(at);
        let is_there = entry.after.is_some() && !is_hidden;
        match effect.kind {
            _ if entry.is_removed() => return Ok(None),
            EffectKind::Delete if is_there => self.delete(at, By::Effect)?,
            _ if is_there => self.change_caused(at, &changes)?,
            kind if is_released || kind == EffectKind::Delete => {
                if !is_hidden {
                    entry.guards.expect_absent();
                }
                return Ok(None);
            }
            _ => {
                let (name, rule) = (&record.name, FaultRule::Reference);
                let fault = Fault::of(name, "target", rule, "is not there");
                self.faults.push(fault);
                self.refuse()?;
            }
        }
        Ok(Some(at))
    }

    /// Creates the item of an effect, or changes the one that is there.
    fn operate_new(
        &mut self,
        effect: &Effect,
        entity: &'a Record,
        changes: &Changes<'a>,
        is_released: bool,
    ) -> Result<Option<EntryId>, PlanError> {
        if is_released && !self.has_place(entity, changes)? {
            return Ok(None);
        }
        if effect.kind == EffectKind::Create || entity.repeat != Default::default() {
            return self.create(entity, changes, By::Effect).map(Some);
        }
        self.upsert(entity, changes)
    }

    /// Whether an item can be created that follows from a cascade: the write does not remove the
    /// one that is there, and its refs lead to items that stay.
    fn has_place(&mut self, entity: &'a Record, changes: &Changes<'a>) -> Result<bool, PlanError> {
        let new = self.without_ids(|planner| planner.compose(entity, changes));
        let place = self.context.blueprint.address(entity, &new.item);
        let is_removed = place.is_ok_and(|place| self.draft.is_removed(&place));
        Ok(!is_removed && self.has_targets(entity, &new.item)?)
    }

    /// Creates an item, or changes the one that is there.
    fn upsert(
        &mut self,
        entity: &'a Record,
        changes: &Changes<'a>,
    ) -> Result<Option<EntryId>, PlanError> {
        let mut given = Map::new();
        for (slot, value) in &changes.set {
            item::put(&mut given, slot, value.clone());
        }
        let address = self.context.blueprint.address(entity, &given)?;
        let at = self.look_up(entity, address)?;
        if self.entry(at).is_removed() {
            return Ok(None);
        }
        if self.entry(at).after.is_none() {
            return self.create(entity, changes, By::Effect).map(Some);
        }
        self.change_caused(at, &changes.without_identity(entity))?;
        Ok(Some(at))
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
        EffectTarget::Mail(_) | EffectTarget::Receiver { .. } => Aim::Unknown,
        EffectTarget::Element(_) => match element {
            Some((record, address)) => Aim::At(record, address),
            None => Aim::Nowhere,
        },
        EffectTarget::Ref { name, .. } => {
            let mut refs = scope.refs.iter().chain(&scope.record.refs);
            let reference = refs.find(|one| one.name == *name);
            match reference.map_or(Resolved::Nowhere, |one| scope.resolve(one)) {
                Resolved::Unknown => Aim::Unknown,
                Resolved::Nowhere | Resolved::Constants(_) => Aim::Nowhere,
                Resolved::To(targets) => match targets.into_iter().next() {
                    Some(target) => Aim::At(target.record, target.address),
                    None => Aim::Nowhere,
                },
            }
        }
        EffectTarget::Identity { record, parts } => {
            let record = &blueprint.design[*record];
            let mut identity = Map::new();
            for (part, (_, reading)) in record.identity.iter().zip(parts) {
                match scope.find(&reading.path) {
                    Found::Value(value) => {
                        identity.insert(part.attribute.as_str(), value.into_owned())
                    }
                    Found::Missing => return Ok(Aim::Nowhere),
                    Found::Unknown => return Ok(Aim::Unknown),
                };
            }
            Aim::At(record, blueprint.address(record, &identity)?)
        }
    })
}
