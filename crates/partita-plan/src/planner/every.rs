//! What is done for every item of a pattern, where those are more than one transaction can hold:
//! the effects of triggers and actions, and actions that are applied to all of them.
//!
//! A job does it, page by page. It remembers every element that it has done something for, in the
//! transaction in which it does so: an element may change its place under the eyes of who goes
//! through them, and what was refused is tried again in another pass, but nothing is done twice.

use std::rc::Rc;

use partita_core::{Item, Map};
use partita_design::design::{Action, Application, Effect, Record};
use sha2::{Digest as _, Sha256};

use super::effects::Cause;
use super::later::Extent;
use super::{Names, Planner};
use crate::draft::Before;
use crate::error::PlanError;
use crate::evaluate::{Context, ItemScope, Known, Named};
use crate::job::{Applied, ApplyWork, EachWork, Effected, Task, Work};
use crate::place::Address;
use crate::request::action::{is_allowed_or_refused, on_row};
use crate::request::rules::{Asked, Verdict};
use crate::sidecar;

/// The elements that something was done for so far, where of those that agree only the first
/// counts.
#[derive(Default)]
pub(super) struct Seen {
    texts: Vec<String>,
    /// Where a job remembers those of the chunks before.
    partition: Option<String>,
    /// Those that are new to the job.
    marks: Vec<Address>,
}

impl Seen {
    fn of_job(job: &str, task: usize) -> Seen {
        Seen {
            partition: Some(format!("DONE#{job}#{task}")),
            ..Seen::default()
        }
    }

    /// Adds the element that an effect is evaluated for. Says whether it is the first of those that
    /// agree.
    pub(super) fn insert_element(
        &mut self,
        effect: &Effect,
        element: Option<&(&Record, Address)>,
        scope: &ItemScope<'_, '_>,
    ) -> bool {
        let text = match (&effect.distinct, element) {
            (Some(distinct), _) => {
                serde_json::to_string(&distinct.value(scope)).unwrap_or_default()
            }
            (None, Some((_, address))) if self.partition.is_some() => spelled_key(address),
            _ => return true,
        };
        self.insert(text, &scope.context)
    }

    /// Adds a text that elements agree in. Says whether it is new.
    fn insert(&mut self, text: String, context: &Context<'_>) -> bool {
        if self.texts.contains(&text) {
            return false;
        }
        let mark = self.partition.as_ref().map(|partition| {
            let digest = Sha256::digest(text.as_bytes());
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            sidecar::address(&context.blueprint.sidecar, partition, &digest)
        });
        self.texts.push(text);
        let Some(mark) = mark else {
            return true;
        };
        let is_new = !matches!(context.item(&mark), Known::Found(_));
        self.marks.extend(is_new.then_some(mark));
        is_new
    }
}

/// What an item is told from others by.
fn spelled_key(address: &Address) -> String {
    format!("{}\n{}", address.partition, address.sort)
}

impl<'a> Planner<'a> {
    /// Leaves an effect for every item of a pattern to a job, if that is wanted. An effect that
    /// may refuse the whole write cannot wait.
    pub(super) fn is_effect_left(
        &mut self,
        cause: Cause<'_, 'a>,
        effect: &'a Effect,
        parameters: Map,
    ) -> bool {
        if self.later.extent == Extent::Whole || effect.require.is_some() {
            return false;
        }
        let entry = self.entry(cause.at);
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let item = new.as_ref().or(old.as_ref());
        let identity = item.and_then(|item| entry.shape.identity_of(item));
        let (Some(identity), Some((name, then))) = (identity, self.place_in_design(effect)) else {
            return false;
        };
        let given = cause.names.iter().filter_map(|(name, named)| match named {
            Named::Value(value) => Some((name.clone(), value.clone()?)),
            Named::Item { .. } => None,
        });
        let task = Task {
            source: self.entry(cause.at).shape.name.to_owned(),
            identity,
            work: Work::Each(EachWork {
                name: name.to_owned(),
                then,
                old: old.map(Rc::unwrap_or_clone),
                new: new.map(Rc::unwrap_or_clone),
                given: given.collect(),
                parameters,
            }),
        };
        self.leave_task(task);
        true
    }

    /// The trigger of an effect, or the action and which of its effects it is.
    fn place_in_design(&self, effect: &Effect) -> Option<(&'a str, Option<usize>)> {
        let design = &self.context.blueprint.design;
        let mut triggers = design.triggers.iter();
        if let Some(trigger) = triggers.find(|one| std::ptr::eq(&one.effect, effect)) {
            return Some((&trigger.name, None));
        }
        design.actions.iter().find_map(|action| {
            let mut then = action.then.iter();
            let at = then.position(|one| std::ptr::eq(one, effect))?;
            Some((action.name.as_str(), Some(at)))
        })
    }

    /// Leaves an action on every item of a pattern to a job. What is wrong with what was given, or
    /// not allowed as far as can be seen, is refused now.
    pub(crate) fn leave_application(
        &mut self,
        action: &'a Action,
        application: &'a Application,
        (asked, given): (Map, Map),
        rows: &[(&'a Record, Map)],
    ) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let applied = &blueprint.design[application.apply];
        self.split(applied, &blueprint.design[application.record], &given);
        self.refuse()?;
        for (shape, item) in rows {
            is_allowed_or_refused(&self.unguarded(shape, item), action)?;
        }
        self.leave_task(Task {
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
    pub(super) fn each_chunk(
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
        let cause = Cause {
            at: self.witness(within.source, work),
            names: &names,
            refs: match within.action {
                Some(action) => &action.refs,
                None => &[],
            },
        };
        let mut seen = Seen::of_job(job, number);
        for element in self.meant(within.pattern, &work.parameters, rows) {
            let effect = (within.effect, within.each);
            self.effect_for(cause, effect, within.name, &element, &mut seen)?;
        }
        let done = seen.marks.len() as u64;
        self.mark(seen.marks);
        Ok(done)
    }

    /// The item that an effect is caused by, as it was when the job was left.
    fn witness(&mut self, shape: &'a Record, work: &EachWork) -> usize {
        // It has no place of its own in the draft: the effect may be one on the item itself.
        let address = sidecar::address(&self.context.blueprint.sidecar, "WITNESS", &work.name);
        let before = match &work.old {
            Some(old) => Before::Found(Rc::new(old.clone())),
            None => Before::Missing,
        };
        let at = self.draft.insert(shape, address, before);
        let entry = self.entry_mut(at);
        entry.after = work.new.clone().map(Rc::new);
        entry.is_witness = true;
        at
    }

    /// Applies an action to the items among some rows. What is gone by now, or what the rules do
    /// not allow, stays as it is.
    pub(super) fn apply_chunk(
        &mut self,
        (job, number): (&str, usize),
        work: &ApplyWork,
        within: Applied<'a>,
        rows: &[Item],
    ) -> Result<u64, PlanError> {
        let mut seen = Seen::of_job(job, number);
        let mut done = 0;
        for element in self.meant(within.pattern, &work.parameters, rows) {
            let super::effects::Element::Item { shape, address, .. } = element else {
                continue;
            };
            let at = self.look_up(shape, address.clone())?;
            // An index may be behind: only what the item itself says counts.
            let Some(item) = self.entry(at).after.clone() else {
                continue;
            };
            if !self.is_applied_to(within, at, &item, &address)?
                || !seen.insert(spelled_key(&address), &self.context)
            {
                continue;
            }
            let applied = Asked::Action(within.applied);
            match self.change_for(&on_row(shape, &item), applied, &work.given) {
                Ok(_) => done += 1,
                Err(
                    PlanError::Forbidden { .. }
                    | PlanError::Unauthenticated { .. }
                    | PlanError::NotFound { .. },
                ) => {}
                Err(error) => return Err(error),
            }
        }
        self.mark(seen.marks);
        Ok(done)
    }

    /// Whether the caller may, and the condition of the application holds.
    fn is_applied_to(
        &mut self,
        within: Applied<'a>,
        at: usize,
        item: &Map,
        address: &Address,
    ) -> Result<bool, PlanError> {
        let shape = self.entry(at).shape;
        let named = Named::Item {
            shape,
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
