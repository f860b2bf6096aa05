//! Operations, made up from a design and from what there is.
//!
//! Most of them should be accepted, or a history would be about refusals: refs lead to what exists,
//! callers are those whom the rules let, steps of states are legal. What is proposed is held
//! against rules and requirements as the world is now, and another is made up if it would be
//! refused; a few are sent without a look. What others do meanwhile is not foreseen: that is the
//! point of it.

mod items;
mod writes;

use std::collections::BTreeMap;
use std::fmt;

use partita_core::{Map, Value};
use partita_design::design::{Access, Record, Rule};
use partita_plan::{Caller, Operation};

use super::cast::{Cast, Notes};
use super::scene::Scene;
use super::values::Values;
use super::world::{Shape, World};

/// A kind of operation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Create(String),
    Update(String),
    Upsert(String),
    Delete(String),
    Restore(String),
    Purge(String),
    /// An action and the record that it is done to.
    Act(String, String),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Create(entity) => write!(f, "create {entity}"),
            Kind::Update(entity) => write!(f, "update {entity}"),
            Kind::Upsert(entity) => write!(f, "upsert {entity}"),
            Kind::Delete(entity) => write!(f, "delete {entity}"),
            Kind::Restore(entity) => write!(f, "restore {entity}"),
            Kind::Purge(entity) => write!(f, "purge {entity}"),
            Kind::Act(action, record) => write!(f, "{action} {record}"),
        }
    }
}

/// How the operations of one kind ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Score {
    pub(crate) tried: u64,
    pub(crate) accepted: u64,
    /// How often operations were refused, by the name of the problem.
    pub(crate) refusals: BTreeMap<String, u64>,
}

impl Score {
    pub(crate) fn add(&mut self, more: Score) {
        self.tried += more.tried;
        self.accepted += more.accepted;
        for (refusal, count) in more.refusals {
            *self.refusals.entry(refusal).or_default() += count;
        }
    }
}

/// How operations ended, by their kind.
pub(crate) type Scores = BTreeMap<Kind, Score>;

/// An operation, and who asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) kind: Kind,
    pub(crate) caller: Caller,
    pub(crate) operation: Operation,
}

/// How often another proposal is made up before one is sent that may be refused.
const TRIES: usize = 40;
/// The same for one kind, before another is tried.
const TRIES_OF_A_KIND: usize = 4;

/// Makes operations up.
pub(crate) struct Generator<'a> {
    pub(crate) world: &'a World,
    pub(crate) cast: &'a Cast,
    pub(crate) notes: Notes,
    pub(crate) random: &'a mut fastrand::Rng,
    pub(crate) now_millis: i64,
    /// What refs lead to wherever they can.
    pub(crate) favourite: Option<(&'a str, &'a [String])>,
    /// Whether this one is sent without a look at rules and requirements.
    pub(crate) is_careless: bool,
}

/// All kinds of operations that somebody may do.
pub(crate) fn kinds(world: &World) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for entity in world.design.entities() {
        let may = |access: Access| *entity.rules.get(access) != Rule::Never;
        let name = || entity.name.clone();
        kinds.extend(may(Access::Create).then(|| Kind::Create(name())));
        let is_changed = entity
            .attributes
            .iter()
            .any(|one| items::may_change(entity, one));
        let may_change = may(Access::Update) && is_changed;
        kinds.extend(may_change.then(|| Kind::Update(name())));
        kinds.extend((may(Access::Create) || may_change).then(|| Kind::Upsert(name())));
        kinds.extend(may(Access::Delete).then(|| Kind::Delete(name())));
        let is_soft = entity.soft_delete.is_some();
        kinds.extend((may(Access::Restore) && is_soft).then(|| Kind::Restore(name())));
        kinds.extend(may(Access::Purge).then(|| Kind::Purge(name())));
    }
    for action in &world.design.actions {
        let records = action.on.all_records().iter();
        let names = records.map(|record| world.design[*record].name.clone());
        kinds.extend(names.map(|record| Kind::Act(action.name.clone(), record)));
    }
    kinds
}

impl<'a> Generator<'a> {
    /// The next operation. Kinds that were refused again and again are seldom tried.
    pub(crate) fn next(&mut self, scores: &Scores, focus: &[&str]) -> Option<Proposal> {
        let kinds = kinds(self.world);
        let weights: Vec<f64> = kinds
            .iter()
            .map(|kind| self.weight(kind, scores, focus))
            .collect();
        self.is_careless = self.random.u8(0..100) < 4;
        for _ in 0..TRIES {
            let mut at = self.random.f64() * weights.iter().sum::<f64>();
            let chosen = kinds.iter().zip(&weights).find(|(_, weight)| {
                at -= **weight;
                at <= 0.0
            });
            let (kind, _) = chosen?;
            let proposal = (0..TRIES_OF_A_KIND).find_map(|_| self.propose(kind));
            if proposal.is_some() {
                return proposal;
            }
        }
        None
    }

    fn weight(&self, kind: &Kind, scores: &Scores, focus: &[&str]) -> f64 {
        let callers = self.callers();
        let base = match kind {
            Kind::Create(_) => 4.0,
            Kind::Update(_) | Kind::Act(..) => 3.0,
            // With its owner most of what there is would go.
            Kind::Delete(entity) if callers == Some(entity) => 0.15,
            Kind::Upsert(_) | Kind::Delete(_) | Kind::Restore(_) | Kind::Purge(_) => 1.0,
        };
        let luck = scores.get(kind).map_or(1.0, |score| {
            (score.accepted as f64 + 2.0) / (score.tried as f64 + 2.0)
        });
        let wanted = if focus.contains(&kind.to_string().as_str()) {
            12.0
        } else {
            1.0
        };
        base * luck.max(0.05) * wanted
    }

    /// An operation of a kind, if the world has what it takes.
    pub(crate) fn propose(&mut self, kind: &Kind) -> Option<Proposal> {
        let (caller, operation) = match kind {
            Kind::Create(entity) => self.create(self.world.design.find_entity(entity)?)?,
            Kind::Update(entity) => self.update(self.world.design.find_entity(entity)?)?,
            Kind::Upsert(entity) => self.upsert(self.world.design.find_entity(entity)?)?,
            Kind::Delete(entity) => self.delete(self.world.design.find_entity(entity)?)?,
            Kind::Restore(entity) => self.restore(self.world.design.find_entity(entity)?)?,
            Kind::Purge(entity) => self.purge(self.world.design.find_entity(entity)?)?,
            Kind::Act(action, record) => self.act(
                self.world.design.find_action(action)?,
                self.world.shape(record)?,
            )?,
        };
        Some(Proposal {
            kind: kind.clone(),
            caller,
            operation,
        })
    }

    pub(crate) fn values(&mut self) -> Values<'_> {
        Values {
            random: self.random,
            design: &self.world.design,
            now_millis: self.now_millis,
        }
    }

    fn scene<'s>(&self, shape: Shape<'s>, item: &'s Map, caller: &'s Caller) -> Scene<'s>
    where
        'a: 's,
    {
        Scene {
            world: self.world,
            shape,
            item,
            old: None,
            caller,
            now_millis: self.now_millis,
            names: &[],
            refs: &[],
        }
    }

    /// A caller whom a rule lets do something to an item; any caller, if there is no rule.
    fn caller_for(
        &mut self,
        rule: &Rule,
        shape: Shape<'_>,
        item: &Map,
        names: &[(String, Value)],
    ) -> Option<Caller> {
        let cast = self.cast;
        let mut all: Vec<&Caller> = cast.people.iter().chain(&cast.staff).collect();
        self.random.shuffle(&mut all);
        let may = |caller: &&&Caller| {
            let scene = Scene {
                world: self.world,
                shape,
                item,
                old: None,
                caller,
                now_millis: self.now_millis,
                names,
                refs: &[],
            };
            self.is_careless || scene.allows(rule)
        };
        all.iter().find(may).map(|caller| (**caller).clone())
    }

    /// Whether an item of the callers' entity is one that no history changes.
    fn is_staff(&self, entity: &str, identity: &[String]) -> bool {
        self.callers() == Some(entity) && identity.iter().any(|part| self.cast.is_staff(part))
    }

    /// One of the records that fit, the first of them more often: histories should meet.
    fn pick<'r>(
        &mut self,
        record: &str,
        fits: impl Fn(&Map) -> bool,
    ) -> Option<(&'r [String], &'r Map)>
    where
        'a: 'r,
    {
        let world: &'r World = self.world;
        let all = world.all(record);
        let all = all.filter(|(identity, item)| !self.is_staff(record, identity) && fits(item));
        let all: Vec<_> = all.collect();
        if let Some((name, favourite)) = self.favourite
            && name == record
            && let Some((identity, item)) = all.iter().find(|(one, _)| one.as_slice() == favourite)
        {
            return Some((identity.as_slice(), item));
        }
        let at = self.random.f64() * self.random.f64().max(0.3) * all.len() as f64;
        let (identity, item) = all.get(at as usize)?;
        Some((identity.as_slice(), item))
    }

    fn is_callers(&self, entity: &Record) -> bool {
        self.world.design.callers.entity == Some(entity.id)
    }

    /// The name of the entity that callers are.
    fn callers(&self) -> Option<&'a str> {
        let design = &self.world.design;
        Some(&design[design.callers.entity?].name)
    }
}
