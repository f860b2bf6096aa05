//! Writes that no rule is asked for: what `/auth/` does to users, sessions and links.
//!
//! Everything that a design derives follows from them as from any other write: guards of unique
//! values, counts, views, history, triggers. All errands of a request are one transaction.

use partita_core::{Map, Value};
use partita_design::design::{Attribute, Record};
use partita_design::nested;
use partita_store::request::TransactAction;

use crate::commit::Step;
use crate::draft::{EntryId, Refusal};
use crate::error::PlanError;
use crate::operation::{Caller, Reply};
use crate::outbox::{Content, Mail};
use crate::partita::Partita;
use crate::planner::{By, Planner};
use crate::request::Request;
use crate::request::input::{Changes, Slot};
use crate::write::Write;

/// Attributes and their values; none removes one.
pub(super) type Values<'a> = Vec<(&'a Attribute, Option<Value>)>;

/// One of the writes.
#[derive(Clone, Debug)]
pub(crate) enum Errand<'a> {
    /// A new item.
    Create {
        entity: &'a Record,
        /// What its owner gives: only what the rules for attributes let the caller write.
        given: Map,
        /// What Partita adds.
        values: Vec<(&'a Attribute, Value)>,
    },
    /// A change of an item that is there.
    Change {
        entity: &'a Record,
        identity: Map,
        set: Values<'a>,
        /// What the change was decided on. Where it is not so any more, nothing is written.
        expect: Values<'a>,
    },
    /// The end of an item.
    Delete {
        entity: &'a Record,
        identity: Map,
        /// Whether it must be there: what can be used once.
        is_used: bool,
    },
    /// The end of an item for good, soft delete or not.
    Remove {
        entity: &'a Record,
        identity: Map,
        /// What it was decided on. Where it is not so any more, nothing is written.
        expect: Values<'a>,
    },
    /// The end of an item for good, as when it was purged before.
    Purge { entity: &'a Record, identity: Map },
    /// A mail because of an item.
    Mail {
        entity: &'a Record,
        identity: Map,
        mail: Mail,
    },
    /// Something that is Partita's and not the design's.
    Aside(Box<TransactAction>),
}

impl Partita {
    /// Carries errands out in one transaction. The rules for attributes that an owner gives are
    /// decided for this caller.
    pub(super) async fn run_errands(
        &self,
        caller: &Caller,
        errands: Vec<Errand<'_>>,
    ) -> Result<(), PlanError> {
        let write = Write::One(Request::Errands(errands));
        let Reply { .. } = self.write(caller, &write, None).await?;
        Ok(())
    }
}

impl Partita {
    /// Creates an item that no caller could: what demos and benchmarks begin with. No rule is asked.
    pub async fn create_past_rules(&self, entity: &str, attributes: Map) -> Result<(), PlanError> {
        let entity = self.blueprint.entity(entity)?;
        let values = attributes.into_iter().filter_map(|(name, value)| {
            let attribute = entity.attribute(&name)?;
            Some((attribute, attribute.kind.from_plain(value)))
        });
        let create = Errand::Create {
            entity,
            given: Map::new(),
            values: values.collect(),
        };
        self.run_errands(&Caller::anonymous(), vec![create]).await
    }
}

impl<'a> Planner<'a> {
    /// Does what the errands say to the draft.
    pub(crate) fn run_errands(&mut self, errands: &[Errand<'a>]) -> Result<(), PlanError> {
        for errand in errands {
            match errand {
                Errand::Create {
                    entity,
                    given,
                    values,
                } => self.create_by_errand(entity, given, values)?,
                Errand::Change {
                    entity,
                    identity,
                    set,
                    expect,
                } => {
                    if let Some(at) = self.reach_by_errand(entity, identity, true)? {
                        self.expect_values(at, expect)?;
                        self.change(at, &changes_of(set), By::Effect)?;
                    }
                }
                Errand::Delete {
                    entity,
                    identity,
                    is_used,
                } => {
                    if let Some(at) = self.reach_by_errand(entity, identity, *is_used)? {
                        self.delete(at, By::Caller)?;
                        self.entry_mut(at).guards.require_present(Refusal::Stale);
                    }
                }
                Errand::Remove {
                    entity,
                    identity,
                    expect,
                } => {
                    if let Some(at) = self.reach_by_errand(entity, identity, true)? {
                        self.expect_values(at, expect)?;
                        self.remove(at);
                        self.entry_mut(at).guards.require_present(Refusal::Stale);
                    }
                }
                Errand::Purge { entity, identity } => {
                    if let Some(at) = self.reach_by_errand(entity, identity, false)? {
                        self.purge(at);
                    }
                }
                Errand::Mail {
                    entity,
                    identity,
                    mail,
                } => {
                    let address = self.context.blueprint.address(entity, identity)?;
                    let at = self.touch(entity, address)?;
                    self.post(at, "accounts", Content::Mail(mail.clone()));
                }
                Errand::Aside(_) => {}
            }
        }
        Ok(())
    }

    fn create_by_errand(
        &mut self,
        entity: &'a Record,
        given: &Map,
        values: &[(&'a Attribute, Value)],
    ) -> Result<(), PlanError> {
        let mut changes = self.input(entity).create(given, &mut self.faults);
        let written: Vec<String> = changes.names().map(str::to_owned).collect();
        for (attribute, value) in values {
            changes.set.push((Slot::Declared(attribute), value.clone()));
        }
        let new = self.compose(entity, &changes);
        let names = written.iter().map(String::as_str);
        let demanded = self.scope_of_new(&new).demand_attributes(names);
        if self.context.reads.is_complete() {
            demanded?;
        }
        self.put_composed(&changes, new, By::Caller)?;
        Ok(())
    }

    /// The item, as far as it was read.
    fn reach_by_errand(
        &mut self,
        entity: &'a Record,
        identity: &Map,
        must_exist: bool,
    ) -> Result<Option<EntryId>, PlanError> {
        let address = self.context.blueprint.address(entity, identity)?;
        let at = self.look_up(entity, address)?;
        let is_there = self.entry(at).old().is_some();
        if !is_there && must_exist && self.context.reads.is_complete() {
            return Err(PlanError::Outdated);
        }
        Ok(is_there.then_some(at))
    }

    fn expect_values(&mut self, at: EntryId, expect: &Values<'a>) -> Result<(), PlanError> {
        for (attribute, value) in expect {
            let found = self.entry(at).old();
            let found = found.and_then(|old| nested::get(old, &attribute.name));
            if found != value.as_ref() {
                return Err(PlanError::Outdated);
            }
            self.entry_mut(at).guard(&attribute.name);
        }
        Ok(())
    }
}

/// The steps of errands that concern nothing of the design.
pub(crate) fn steps_aside(errands: &[Errand<'_>]) -> Vec<Step> {
    let aside = errands.iter().filter_map(|errand| match errand {
        Errand::Aside(action) => Some(Step::or_stale((**action).clone())),
        _ => None,
    });
    aside.collect()
}

fn changes_of<'a>(values: &Values<'a>) -> Changes<'a> {
    let mut changes = Changes::default();
    for (attribute, value) in values {
        let slot = Slot::Declared(attribute);
        match value {
            Some(value) => changes.set.push((slot, value.clone())),
            None => changes.remove.push(slot),
        }
    }
    changes
}
