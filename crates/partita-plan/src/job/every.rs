//! What is done for every item of a pattern, where those are more than one transaction can hold:
//! the effects of triggers and actions, and actions that are applied to all of them.
//!
//! A job does it, page by page. It remembers every element that it has done something for, in the
//! transaction in which it does so: an element may change its place under the eyes of who goes
//! through them, and what was refused is tried again in another pass, but nothing is done twice.

use std::rc::Rc;

use partita_core::{Item, Map};
use partita_design::design::{Action, Application, EffectId, Record};

use super::{Applied, ApplyWork, EachWork, Effected, Task, Work};
use crate::draft::{Before, EntryId};
use crate::error::PlanError;
use crate::evaluate::{ListedItem, Named};
use crate::place::Address;
use crate::planner::{Names, Planner};
use crate::react::each::{DistinctElements, Element, spelled_key};
use crate::react::effect::EffectCause;
use crate::request::action::{is_allowed_or_refused, on_row};
use crate::request::rules::{Asked, Verdict};
use crate::sidecar;

impl<'a> Planner<'a> {
    /// Defers an effect for every item of a pattern, if the write is planned with a job. Says
    /// whether it is. An effect that may refuse the whole write cannot wait.
    pub(crate) fn defer_effect(&mut self, cause: EffectCause<'_, 'a>, parameters: &Map) -> bool {
        let design = &self.context.blueprint.design;
        if !self.plans_job() || design[cause.effect].require.is_some() {
            return false;
        }
        let entry = self.entry(cause.at);
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let item = new.as_ref().or(old.as_ref());
        let Some(identity) = item.and_then(|item| entry.record.identity_of(item)) else {
            return false;
        };
        let given = cause.names.iter().filter_map(|(name, named)| match named {
            Named::Value(value) => Some((name.clone(), value.clone()?)),
            Named::Item { .. } => None,
        });
        let task = Task {
            source: entry.record.name.clone(),
            identity,
            work: Work::Each(EachWork {
                name: design.effect_name(cause.effect).to_owned(),
                then: match cause.effect {
                    EffectId::Trigger(_) => None,
                    EffectId::Action(_, at) => Some(at),
                },
                is_released: entry.is_released,
                old: old.map(Rc::unwrap_or_clone),
                new: new.map(Rc::unwrap_or_clone),
                given: given.collect(),
                parameters: parameters.clone(),
            }),
        };
        self.add_task(task);
        true
    }

    /// Defers an action on every item of a pattern. What is wrong with what was given, or not
    /// allowed as far as can be seen, is refused now.
    pub(crate) fn defer_application(
        &mut self,
        action: &'a Action,
        application: &'a Application,
        (asked, given): (Map, Map),
        items: &[ListedItem<'a>],
    ) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let applied = &blueprint.design[application.apply];
        self.split(applied, &blueprint.design[application.record], &given);
        self.refuse()?;
        for listed in items {
            is_allowed_or_refused(&self.unguarded(listed.record, &listed.item), action)?;
        }
        self.add_task(Task {
            source: action.name.clone(),
            identity: asked.clone(),
            work: Work::Apply(ApplyWork {
                action: action.name.clone(),
                parameters: asked,
                given,
            }),
        });
        Ok(())
    }

    /// Carries an effect out for the elements among some rows.
    pub(crate) fn each_chunk(
        &mut self,
        (job, number): (&str, usize),
        work: &EachWork,
        within: Effected<'a>,
        rows: &[Item],
    ) -> Result<u64, PlanError> {
        let names: Names<'_, 'a> = match within.action {
            Some(action) => {
                let parameters = action.parameters.iter();
                let named = |name: &str| Named::Value(work.given.get(name).cloned());
                parameters
                    .map(|one| (one.name.clone(), named(&one.name)))
                    .collect()
            }
            None => Vec::new(),
        };
        let cause = EffectCause {
            at: self.insert_cause(within.source, work),
            reaction: within.reaction,
            effect: within.effect,
            names: &names,
            refs: match within.action {
                Some(action) => &action.refs,
                None => &[],
            },
        };
        self.shown_by_cause = self.shown_by(within.source, work)?;
        let mut distinct = DistinctElements::of_job(job, number);
        for item in self.meant_among(within.pattern, &work.parameters, rows)? {
            self.effect_for(cause, &Element::Item(item), &mut distinct)?;
        }
        let done = distinct.marks.len() as u64;
        self.mark(distinct.marks);
        Ok(done)
    }

    /// The place of the item that an effect is caused by, if it was there before the write or is
    /// after it: then it hides nothing from the effect.
    fn shown_by(&self, record: &'a Record, work: &EachWork) -> Result<Option<Address>, PlanError> {
        let mut images = work.old.iter().chain(&work.new);
        let live = images.find(|image| !record.is_deleted(image));
        let address = live.map(|image| self.context.blueprint.address(record, image));
        address.transpose()
    }

    /// Puts the item that an effect is caused by into the draft, as it was when the job was left.
    fn insert_cause(&mut self, record: &'a Record, work: &EachWork) -> EntryId {
        // Not under its own address: the effect may be one on the item itself.
        let address = sidecar::address(&self.context.blueprint.sidecar, "CAUSE", &work.name);
        let before = match &work.old {
            Some(old) => Before::Found(Rc::new(old.clone())),
            None => Before::Missing,
        };
        let at = self.draft.insert(record, address, before);
        let entry = self.entry_mut(at);
        entry.after = work.new.clone().map(Rc::new);
        entry.is_released = work.is_released;
        entry.set_read_only();
        at
    }

    /// Applies an action to the items among some rows. What is gone by now, or what the rules do
    /// not allow, stays as it is.
    pub(crate) fn apply_chunk(
        &mut self,
        (job, number): (&str, usize),
        work: &ApplyWork,
        within: Applied<'a>,
        rows: &[Item],
    ) -> Result<u64, PlanError> {
        let mut distinct = DistinctElements::of_job(job, number);
        let mut done = 0;
        for listed in self.meant_among(within.pattern, &work.parameters, rows)? {
            let (record, address) = (listed.record, listed.address);
            let at = self.look_up(record, address.clone())?;
            let Some(item) = self.entry(at).after.clone() else {
                continue;
            };
            if !self.is_applied_to(within, at, &item, &address)?
                || !distinct.insert(spelled_key(&address), &self.context)
            {
                continue;
            }
            let applied = Asked::Action(within.applied);
            match self.change_for_caller(&on_row(record, &item), applied, &work.given) {
                Ok(_) => done += 1,
                Err(
                    PlanError::Forbidden { .. }
                    | PlanError::Unauthenticated { .. }
                    | PlanError::NotFound { .. },
                ) => {}
                Err(error) => return Err(error),
            }
        }
        self.mark(distinct.marks);
        Ok(done)
    }

    /// Whether the caller may, and the condition of the application holds.
    fn is_applied_to(
        &mut self,
        within: Applied<'a>,
        at: EntryId,
        item: &Map,
        address: &Address,
    ) -> Result<bool, PlanError> {
        let record = self.entry(at).record;
        let named = Named::Item {
            record,
            item,
            address: address.clone(),
        };
        let names = [(within.application.each.name.clone(), named)];
        self.evaluate(at, item, |scope| {
            let scope = scope.naming(&names);
            let is_allowed = scope.verdict(Asked::Action(within.action)) == Verdict::Allowed;
            let when = within.application.when.as_ref();
            is_allowed && when.is_none_or(|when| when.holds(&scope))
        })
    }
}
