//! What a caller asks for: resolved, allowed by the rules, and done to the draft.
//!
//! | module | what it has |
//! |---|---|
//! | `token` | what needs a token, decided before a request is read |
//! | `rules` | what the rules say: of an item, and of what is known before it is read |
//! | `afterwards` | the same rules on an item as a change leaves it |
//! | `input` | the attributes that a caller gives: named, checked, all faults at once |
//! | `create` | a new item, also of an effect; and an item that is created or changed |
//! | `change` | an item that the caller names: found, allowed, changed, deleted, restored, purged, read |
//! | `action` | what a design has a name for, done to one item or to all of a pattern |
//! | `limits` | how often a caller may do something |

pub(crate) mod action;
pub(crate) mod afterwards;
mod change;
mod create;
pub(crate) mod input;
pub(crate) mod limits;
pub(crate) mod rules;
pub(crate) mod token;

use partita_core::Map;
use partita_design::design::{Access, Action, Record};

use crate::account::errand::{Errand, steps_aside};
use crate::commit::WritePlan;
use crate::draft::EntryId;
use crate::error::PlanError;
use crate::operation::{Answer, Operation};
use crate::partita::Partita;
use crate::planner::Planner;
use action::{FoundBy, is_for, is_tally};
use input::Input;
use rules::{Asked, Verdict};

pub(crate) use change::not_found;

/// What a caller asks for, with every name resolved.
#[derive(Clone, Debug)]
pub(crate) enum Request<'a> {
    /// An item is created.
    Create { entity: &'a Record, given: Map },
    /// An item is created, or changed if it is there.
    Upsert { on: NamedItem<'a>, given: Map },
    /// Something is done to an item that is there.
    Change {
        on: NamedItem<'a>,
        asked: Asked<'a>,
        given: Map,
    },
    /// What `/auth/` does, past the rules.
    Errands(Vec<Errand<'a>>),
    /// An action finds its item, or its items, by a pattern.
    Found {
        action: &'a Action,
        by: FoundBy<'a>,
        given: Map,
    },
}

/// The item that a caller names.
#[derive(Clone, Debug)]
pub(crate) struct NamedItem<'a> {
    pub(crate) record: &'a Record,
    pub(crate) identity: Map,
    /// Whether a soft-deleted item is found too.
    pub(crate) with_deleted: bool,
    /// The version that the caller saw.
    pub(crate) version: Option<i64>,
}

impl<'a> NamedItem<'a> {
    /// An item that is not deleted, in whatever version.
    pub(crate) fn new(record: &'a Record, identity: Map) -> Self {
        NamedItem {
            record,
            identity,
            with_deleted: false,
            version: None,
        }
    }
}

impl Partita {
    /// The write that an operation asks for; a read asks for none.
    pub(crate) fn request(&self, operation: Operation) -> Result<Option<Request<'_>>, PlanError> {
        let change = |entity: &str, identity: &[String], access, version| {
            Ok(Request::Change {
                on: NamedItem {
                    with_deleted: matches!(access, Access::Restore | Access::Purge),
                    version,
                    ..self.named_item(entity, identity)?
                },
                asked: Asked::Access(access),
                given: Map::new(),
            })
        };
        let request = match operation {
            Operation::Get { .. } | Operation::Query { .. } => return Ok(None),
            Operation::Create { entity, attributes } => Ok(Request::Create {
                entity: self.blueprint.entity(&entity)?,
                given: attributes,
            }),
            Operation::Update {
                entity,
                identity,
                changes,
                with_deleted,
                version,
            } => Ok(Request::Change {
                on: NamedItem {
                    with_deleted,
                    version,
                    ..self.named_beside(&entity, &identity, &changes)?
                },
                asked: Asked::Access(Access::Update),
                given: changes,
            }),
            Operation::Upsert {
                entity,
                identity,
                attributes,
                version,
            } => Ok(Request::Upsert {
                on: NamedItem {
                    version,
                    ..self.named_beside(&entity, &identity, &attributes)?
                },
                given: attributes,
            }),
            Operation::Delete {
                entity,
                identity,
                version,
            } => change(&entity, &identity, Access::Delete, version),
            Operation::Restore {
                entity,
                identity,
                version,
            } => change(&entity, &identity, Access::Restore, version),
            Operation::Purge {
                entity,
                identity,
                version,
            } => change(&entity, &identity, Access::Purge, version),
            Operation::Act {
                action,
                entity,
                identity,
                given,
                version,
            } => self.action_on(&action, entity.as_deref(), &identity, given, version),
        };
        request.map(Some)
    }

    /// The item of an entity that the parts of an identity name.
    pub(crate) fn named_item(
        &self,
        entity: &str,
        identity: &[String],
    ) -> Result<NamedItem<'_>, PlanError> {
        let record = self.blueprint.entity(entity)?;
        let identity = input::identity(record, identity)?;
        Ok(NamedItem::new(record, identity))
    }

    /// As [`Partita::named_item`]. The faults of the identity are reported with those of the
    /// attributes beside it.
    fn named_beside(
        &self,
        entity: &str,
        identity: &[String],
        given: &Map,
    ) -> Result<NamedItem<'_>, PlanError> {
        self.named_item(entity, identity).map_err(|refusal| {
            match (refusal, self.blueprint.entity(entity)) {
                (PlanError::Invalid { mut faults }, Ok(entity)) => {
                    let blueprint = &self.blueprint;
                    let input = Input { blueprint, entity };
                    input.update(given, &Map::new(), &mut faults);
                    PlanError::Invalid { faults }
                }
                (refusal, _) => refusal,
            }
        })
    }

    fn action_on(
        &self,
        name: &str,
        record: Option<&str>,
        identity: &[String],
        given: Map,
        version: Option<i64>,
    ) -> Result<Request<'_>, PlanError> {
        let action = self.blueprint.action(name)?;
        let unknown = || PlanError::UnknownAction {
            name: name.to_owned(),
        };
        let Some(record) = record else {
            let by = FoundBy::of(&self.blueprint.design, action).ok_or_else(unknown)?;
            return Ok(Request::Found { action, by, given });
        };
        let record = self.blueprint.named_record(record)?;
        if !is_for(action, record.id) {
            return Err(unknown());
        }
        Ok(Request::Change {
            on: NamedItem {
                version,
                ..NamedItem::new(record, input::identity(record, identity)?)
            },
            asked: Asked::Action(action),
            given,
        })
    }
}

impl<'a> Planner<'a> {
    /// Plans a write, as far as what was read allows.
    pub(crate) fn plan(mut self, request: &Request<'a>) -> Result<WritePlan, PlanError> {
        self.deferred.is_attended = true;
        self.files.takes_uploads = self.context.blueprint.keeps_files;
        let is_tally = match request {
            Request::Change {
                on,
                asked: Asked::Action(action),
                ..
            } => is_tally(action, on.record),
            _ => false,
        };
        let written = self.apply(request)?;
        self.react()?;
        if let Request::Errands(errands) = request {
            self.demand_unreferred(errands)?;
        }
        // A mark is exact, so what is counted with it must be.
        let is_marked = !self.marks.is_empty();
        let shown = written.filter(|_| !is_tally && self.context.reads.is_complete());
        let answer = shown.map_or(Answer::Done, |at| self.answer(at, request));
        let mut steps = self.emit()?;
        if let Request::Errands(errands) = request {
            steps.extend(steps_aside(errands));
        }
        let (placements, released) = self.files.into_parts();
        Ok(WritePlan {
            steps,
            answers: vec![answer],
            is_tally: is_tally && !self.is_limited && !is_marked,
            left: self.deferred.job.into_iter().collect(),
            placements,
            released,
        })
    }

    /// Does what is asked to the draft. Gives the item that was written, where it is one.
    fn apply(&mut self, request: &Request<'a>) -> Result<Option<EntryId>, PlanError> {
        match request {
            Request::Create { entity, given } => self.create_for_caller(entity, given),
            Request::Upsert { on, given } => self.upsert_for_caller(on, given).map(Some),
            Request::Change { on, asked, given } => {
                self.change_for_caller(on, *asked, given).map(Some)
            }
            Request::Found { action, by, given } => self.act_on_found(action, *by, given),
            Request::Errands(errands) => self.run_errands(errands).map(|()| None),
        }
    }

    /// What a caller is shown of the item that was written: nothing without the right to read it.
    fn answer(&self, at: EntryId, request: &Request<'a>) -> Answer {
        let entry = self.entry(at);
        let Some(item) = &entry.after else {
            return Answer::Done;
        };
        if let Request::Change {
            asked: Asked::Access(Access::Delete),
            ..
        } = request
        {
            return Answer::Done;
        }
        let scope = self.unguarded(entry.record, item).after(&self.draft);
        if scope.verdict(Asked::Access(Access::Read)) != Verdict::Allowed {
            return Answer::Done;
        }
        let record = self.context.blueprint.record(entry.record, scope.shown());
        match request {
            Request::Create { .. } | Request::Upsert { .. } if entry.is_new() => {
                Answer::Created(record)
            }
            _ => Answer::Record(record),
        }
    }

    /// Reads what a caller gives for an entity.
    pub(crate) fn input(&self, entity: &'a Record) -> Input<'a> {
        Input {
            blueprint: self.context.blueprint,
            entity,
        }
    }
}
