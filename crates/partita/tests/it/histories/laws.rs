//! What must be so of every committed write, and of what a history leaves behind.
//!
//! The laws follow from the meaning of the language and are written once more here, over items
//! before and after; nothing of the planner is in them. What a design adds in its own terms, such
//! as whose coins come from where, is in [`super::accounts`].

mod triggers;

use std::collections::{BTreeMap, BTreeSet};

use partita_core::{Map, Value};
use partita_design::design::rules::LimitOf;
use partita_design::design::{Access, Record, SoftDelete, Source, Timing};
use partita_design::expression::{Origin, Reading};
use partita_design::types::AttributeType;
use partita_plan::{Caller, Operation};

use super::accounts;
use super::scene::Scene;
use super::witness::{Commit, Transition};
use super::world::{Shape, World, nested};

/// What was found out about a commit.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) faults: Vec<String>,
    /// What of the design took part.
    pub(crate) covered: BTreeSet<String>,
}

/// Judges a commit.
pub(crate) fn judge(commit: &Commit<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    for transition in commit.transitions {
        let Some(shape) = commit.world.shape(&transition.record) else {
            continue;
        };
        verdict.cover(shape);
        if shape.is_entity() {
            let entity = shape;
            keeps_its_steps(entity, transition, &mut verdict.faults);
            keeps_what_is_fixed(commit, entity, transition, &mut verdict.faults);
            keeps_its_history(commit, entity, transition, &mut verdict.faults);
            rises_by_one(entity, transition, &mut verdict.faults);
        }
    }
    saw_the_version(commit, &mut verdict.faults);
    triggers::fire_once(commit, &mut verdict);
    accounts::balance(commit, &mut verdict.faults);
    verdict
}

impl Verdict {
    fn cover(&mut self, shape: Shape<'_>) {
        let kind = if shape.is_entity() { "entity" } else { "view" };
        self.covered.insert(format!("{kind}.{}", shape.name));
    }
}

impl Transition {
    /// The item before and after, where it was there both times.
    fn both(&self) -> Option<(&Map, &Map)> {
        Some((self.old.as_ref()?, self.new.as_ref()?))
    }

    fn told(&self, what: &str) -> String {
        format!("{} {}: {what}", self.record, self.identity.join(" "))
    }
}

/// Whether what somebody is shown of an item is a state of it, in everything that was given.
pub(crate) fn shows(shape: Shape<'_>, state: &Map, shown: &Map) -> bool {
    let mut given = shape.attributes.iter().filter(|one| {
        // A counter of a day is shown as it is today.
        let is_counter = one.kind == AttributeType::Counter;
        !is_counter && matches!(one.source, Source::Given { .. } | Source::Generated)
    });
    given.all(
        |one| match (nested(state, &one.name), nested(shown, &one.name)) {
            (Some(state), Some(shown)) => state == shown,
            // It has a default, or it is not for everybody.
            _ => true,
        },
    )
}

/// A state goes only where its steps lead.
fn keeps_its_steps(entity: &Record, transition: &Transition, faults: &mut Vec<String>) {
    let Some((old, new)) = transition.both() else {
        return;
    };
    for attribute in &entity.attributes {
        let AttributeType::State(states) = &attribute.kind else {
            continue;
        };
        let state = |item| nested(item, &attribute.name).and_then(Value::as_str);
        if let (Some(from), Some(to)) = (state(old), state(new))
            && !states.allows(from, to)
        {
            let name = &attribute.name;
            faults.push(transition.told(&format!("{name} went from {from} to {to}")));
        }
    }
}

/// What is fixed, or was computed once, does not change, unless an action or an effect sets it.
fn keeps_what_is_fixed(
    commit: &Commit<'_>,
    entity: &Record,
    transition: &Transition,
    faults: &mut Vec<String>,
) {
    let Some((old, new)) = transition.both() else {
        return;
    };
    for attribute in &entity.attributes {
        let name = &attribute.name;
        let is_once = match &attribute.source {
            Source::Computed(computed) => {
                matches!(computed.timing, Timing::Once(_) | Timing::Create)
            }
            _ => false,
        };
        let (was, is) = (nested(old, name), nested(new, name));
        let is_kept = attribute.fixed || (is_once && was.is_some());
        if is_kept && was != is && !is_assigned(commit.world, entity, name) {
            faults.push(transition.told(&format!("{name} changed from {was:?} to {is:?}")));
        }
    }
}

/// Whether an action or an effect assigns an attribute.
fn is_assigned(world: &World, entity: &Record, name: &str) -> bool {
    let design = &world.design;
    let actions = design.actions.iter();
    let mut actions = actions.filter(|action| action.on.records().contains(&entity.id));
    let then = design.actions.iter().flat_map(|action| &action.then);
    let effects = then.chain(design.triggers.iter().map(|trigger| &trigger.effect));
    let mut effects = effects.filter(|effect| effect.target.records().contains(&entity.id));
    actions.any(|action| action.changes.names().any(|one| one == name))
        || effects.any(|effect| effect.changes.names().any(|one| one == name))
}

/// A version stays or rises by one.
fn rises_by_one(entity: &Record, transition: &Transition, faults: &mut Vec<String>) {
    let (Some(version), Some((old, new))) = (entity.version(), transition.both()) else {
        return;
    };
    let number = |item| nested(item, &version.name)?.as_number()?.to_i64();
    let (was, is) = (number(old).unwrap_or(0), number(new).unwrap_or(0));
    if is != was && is != was + 1 {
        faults.push(transition.told(&format!("the version went from {was} to {is}")));
    }
}

/// Who names the version that he saw writes to that version.
fn saw_the_version(commit: &Commit<'_>, faults: &mut Vec<String>) {
    let Some(intent) = commit.intent else {
        return;
    };
    let (entity, identity, version) = match &intent.operation {
        Operation::Update {
            entity,
            identity,
            version: Some(version),
            ..
        }
        | Operation::Upsert {
            entity,
            identity,
            version: Some(version),
            ..
        }
        | Operation::Delete {
            entity,
            identity,
            version: Some(version),
        } => (entity, identity, *version),
        _ => return,
    };
    let name = commit
        .world
        .design
        .find_entity(entity)
        .and_then(Record::version);
    let item = commit.world.get(entity, identity);
    let number = name
        .zip(item)
        .and_then(|(name, item)| nested(item, &name.name)?.as_number());
    let was = number.and_then(|number| number.to_i64());
    if was != Some(version) {
        let identity = identity.join(" ");
        faults.push(format!(
            "{entity} {identity}: {version} was seen, and {was:?} was changed"
        ));
    }
}

/// Where a history is kept, the replaced state is written with the change.
fn keeps_its_history(
    commit: &Commit<'_>,
    entity: &Record,
    transition: &Transition,
    faults: &mut Vec<String>,
) {
    let Some((old, new)) = transition.both() else {
        return;
    };
    let histories = commit.world.design.views_of(entity.id);
    for (record, view) in histories.filter(|(_, view)| view.history) {
        let caller = Caller::default();
        let scene = Scene {
            old: Some(old),
            ..commit.scene(entity, new, &caller)
        };
        let is_due = match &view.when {
            Some(when) => when.holds(&scene),
            None => !triggers::is_derived_only(entity, transition),
        };
        if is_due
            && !commit
                .transitions
                .iter()
                .any(|one| is_state(record, one, old))
        {
            faults.push(transition.told(&format!("no {} has its replaced state", record.name)));
        }
    }
}

fn is_state(view: &Record, transition: &Transition, old: &Map) -> bool {
    let Some(new) = &transition.new else {
        return false;
    };
    let mut kept = view.kept().map(|one| &one.name);
    transition.record == view.name
        && transition.old.is_none()
        && kept.all(|name| nested(new, name) == nested(old, name))
}

impl Commit<'_> {
    pub(crate) fn scene<'s>(
        &'s self,
        shape: Shape<'s>,
        item: &'s Map,
        caller: &'s Caller,
    ) -> Scene<'s> {
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

    /// The records that came into being.
    pub(crate) fn created<'s>(&'s self, record: &'s str) -> impl Iterator<Item = &'s Map> {
        let new = self
            .transitions
            .iter()
            .filter(move |one| one.record == record);
        new.filter(|one| one.old.is_none())
            .filter_map(|one| one.new.as_ref())
    }

    /// The records of which something became true.
    pub(crate) fn turned<'s>(
        &'s self,
        record: &'s str,
        is: impl Fn(&Map) -> bool + 's,
    ) -> impl Iterator<Item = &'s Map> {
        let ours = self
            .transitions
            .iter()
            .filter(move |one| one.record == record);
        ours.filter_map(Transition::both)
            .filter(move |(old, new)| !is(old) && is(new))
            .map(|(_, new)| new)
    }
}

/// No caller does something more often than a limit allows. Whose window it is, and when it began,
/// is in the record of the limits.
pub(crate) fn count_windows(
    commit: &Commit<'_>,
    windows: &mut BTreeMap<(String, String, String), u64>,
    faults: &mut Vec<String>,
) {
    let design = &commit.world.design;
    let Some(record) = &design.limit_record else {
        return;
    };
    for limit in &design.limits {
        let LimitOf::Access(Access::Create, entity) = &limit.of else {
            continue;
        };
        let entity = &design[*entity];
        for item in commit.created(&entity.name) {
            let Some(caller) = creator(entity, item) else {
                continue;
            };
            let identity = [caller.clone(), limit.name.clone()];
            let mut written = commit.transitions.iter();
            let written = written.find(|one| one.identity == identity);
            let stored = commit.world.get(&design[record.entity].name, &identity);
            let window = written.map_or(stored, |one| one.new.as_ref());
            let start = window
                .and_then(|window| nested(window, &design[(record.entity, record.start)].name));
            let key = (limit.name.clone(), caller, format!("{start:?}"));
            let count = windows.entry(key.clone()).or_default();
            *count += 1;
            if *count > limit.count {
                faults.push(format!("{key:?} was done {count} times"));
            }
        }
    }
}

/// Who created an item, where an attribute says so.
fn creator(entity: &Record, item: &Map) -> Option<String> {
    let mut attributes = entity.attributes.iter();
    let named = attributes.find(|attribute| match &attribute.source {
        Source::Computed(computed) => {
            let is_caller = |reading: &Reading| {
                reading.origin == Origin::Caller && reading.attribute.is_empty()
            };
            computed.timing == Timing::Create && computed.value.reads.iter().any(is_caller)
        }
        _ => false,
    })?;
    nested(item, &named.name)?.as_str().map(str::to_owned)
}

/// What must be so of a world that is left alone: every unique value has one owner and one guard,
/// and every number is in its range.
pub(crate) fn left(world: &World, now_millis: i64) -> Vec<String> {
    let mut faults = Vec::new();
    let mut owned: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entity in world.design.entities() {
        let all = world.all(&entity.name);
        for (identity, item) in all.filter(|(_, item)| !world.is_over(item, now_millis)) {
            for unique in &entity.unique {
                if let Ok(Some(value)) = unique.partition.key(item) {
                    let owner = format!("{} {}", entity.name, identity.join(" "));
                    owned.entry(value).or_default().push(owner);
                }
            }
            for attribute in &entity.attributes {
                let value = nested(item, &attribute.name);
                let wrong = value.and_then(|value| match &attribute.kind {
                    AttributeType::Counter => {
                        let number = value.as_number()?;
                        (*number < 0_i64.into()).then(|| "is negative".to_owned())
                    }
                    kind => kind.check(value).err(),
                });
                let is_flag = entity.soft_delete.as_ref().map(SoftDelete::attribute)
                    == Some(attribute.name.as_str());
                if let (Some(wrong), false) = (wrong, is_flag) {
                    let (entity, name) = (&entity.name, &attribute.name);
                    let identity = identity.join(" ");
                    faults.push(format!("{entity} {identity}: {name} is {value:?}: {wrong}"));
                }
            }
        }
    }
    for (value, owners) in &owned {
        if owners.len() > 1 {
            faults.push(format!("{value} is of several: {}", owners.join(", ")));
        }
        let guard = world.guards.get(value);
        if guard.is_none_or(|guard| world.is_over(guard, now_millis)) {
            faults.push(format!("{value} of {} has no guard", owners.join(", ")));
        }
    }
    let guards = world.guards.iter();
    let guards = guards.filter(|(_, guard)| !world.is_over(guard, now_millis));
    let unowned = guards.filter(|(value, _)| !owned.contains_key(*value));
    faults.extend(unowned.map(|(value, _)| format!("{value} guards nothing")));
    faults
}
