//! Triggers: each does what it says as often as its event happens, in the same commit.

use std::collections::BTreeMap;

use partita_core::Value;
use partita_design::design::{
    Access, Each, EachOver, EffectKind, EffectTarget, Record, RecordId, Rule, Source, Trigger,
};
use partita_design::expression::{Expr, Origin, Predicate};
use partita_plan::Caller;

use super::Verdict;
use crate::histories::scene::{Lead, Scene};
use crate::histories::witness::{Commit, Transition};
use crate::histories::world::{Shape, nested};

/// A trigger does what it says exactly as often as its event happens.
pub(super) fn fire_once(commit: &Commit<'_>, verdict: &mut Verdict) {
    let mut expected: BTreeMap<RecordId, usize> = BTreeMap::new();
    let mut is_open = commit.is_chunk || commit.has_job;
    for trigger in &commit.world.design.triggers {
        for transition in commit.transitions {
            let fired = fired(commit, trigger, transition);
            is_open |= is_undecided(commit, trigger, transition);
            if fired.is_empty() {
                continue;
            }
            verdict.covered.insert(format!("trigger.{}", trigger.name));
            let each = trigger.effect.each.as_ref();
            is_open |= each.is_some_and(|each| matches!(each.over, EachOver::Pattern { .. }));
            match (&trigger.effect.target, trigger.effect.kind) {
                (EffectTarget::Entity(created), EffectKind::Create) => {
                    *expected.entry(*created).or_default() += fired.len();
                }
                (EffectTarget::Ref { .. }, EffectKind::Update) => {
                    sets_its_target(commit, trigger, transition, &mut verdict.faults);
                }
                _ => {}
            }
        }
    }
    if is_open {
        return;
    }
    for entity in commit
        .world
        .design
        .entities()
        .filter(|one| is_only_caused(commit, one))
    {
        let expected = expected.get(&entity.id).copied().unwrap_or(0);
        let found = commit.created(&entity.name).count();
        if found != expected {
            let name = &entity.name;
            let fault = format!("{found} {name} were created where triggers say {expected}");
            verdict.faults.push(fault);
        }
    }
}

/// Whether only triggers create items of an entity.
fn is_only_caused(commit: &Commit<'_>, entity: &Record) -> bool {
    let design = &commit.world.design;
    let creates = |target: &EffectTarget| matches!(target, EffectTarget::Entity(created) if *created == entity.id);
    let mut caused = design.triggers.iter();
    let mut then = design.actions.iter().flat_map(|action| &action.then);
    *entity.rules.get(Access::Create) == Rule::Never
        && caused.any(|trigger| creates(&trigger.effect.target))
        && !then.any(|effect| creates(&effect.target))
}

/// The elements for which a trigger fires; one without a name, where it has no `each`.
fn fired(commit: &Commit<'_>, trigger: &Trigger, transition: &Transition) -> Vec<Option<Value>> {
    let shape = commit.world.shape(&transition.record);
    let (Some(shape), Some(new)) = (shape, transition.new.as_ref().or(transition.old.as_ref()))
    else {
        return Vec::new();
    };
    let access = access_of(shape, transition);
    let is_meant = access.is_some_and(|access| trigger.on.kind.includes(access));
    if trigger.on.of != shape.id || !is_meant {
        return Vec::new();
    }
    if is_derived_only(shape, transition) {
        return Vec::new();
    }
    let caller = Caller::default();
    let before = transition
        .old
        .as_ref()
        .map(|old| commit.scene(shape, old, &caller));
    let scene = Scene {
        old: transition.old.as_ref(),
        ..commit.scene(shape, new, &caller)
    };
    if let Some(turns) = &trigger.turns {
        let was = before.is_some_and(|before| turns.holds(&before));
        if was || !turns.holds(&scene) {
            return Vec::new();
        }
    }
    let when = trigger.effect.when.as_ref();
    match &trigger.effect.each {
        None => holds(when, &scene).then_some(None).into_iter().collect(),
        Some(each) => elements(commit, each, &scene)
            .into_iter()
            .filter(|element| {
                let names = [(each.name.clone(), element.clone())];
                holds(when, &scene.with(&names))
            })
            .map(Some)
            .collect(),
    }
}

/// Whether a change is one of derived values alone. It is no write of the item, and fires nothing.
pub(super) fn is_derived_only(shape: Shape<'_>, transition: &Transition) -> bool {
    let (Some(old), Some(new)) = (&transition.old, &transition.new) else {
        return false;
    };
    let is_source = |source: &Source| matches!(source, Source::Given { .. } | Source::Generated);
    let mut sources = shape.attributes.iter().filter(|one| is_source(&one.source));
    sources.all(|one| nested(old, &one.name) == nested(new, &one.name))
}

/// Whether a trigger looks at an item that is gone by now. It may have been there when the write
/// was decided: what is fixed needs no guard.
fn is_undecided(commit: &Commit<'_>, trigger: &Trigger, transition: &Transition) -> bool {
    let shape = commit.world.shape(&transition.record);
    let (Some(shape), Some(new)) = (shape, &transition.new) else {
        return false;
    };
    let caller = Caller::default();
    let scene = commit.scene(shape, new, &caller);
    let conditions = trigger.turns.iter().chain(&trigger.effect.when);
    let mut reads = conditions.flat_map(|condition| &condition.reads);
    trigger.on.of == shape.id
        && reads.any(|reading| {
            let value = Expr::Path(reading.path.clone()).value(&scene);
            let is_of_another = reading.origin == Origin::Item && !reading.hops.is_empty();
            is_of_another && !reading.optional && value.is_none()
        })
}

fn holds(condition: Option<&Predicate>, scene: &Scene<'_>) -> bool {
    condition.is_none_or(|condition| condition.holds(scene))
}

fn elements(commit: &Commit<'_>, each: &Each, scene: &Scene<'_>) -> Vec<Value> {
    match &each.over {
        EachOver::List { reading, .. } => {
            let list = Expr::Path(reading.path.clone());
            match list.value(scene) {
                Some(Value::L(list)) => list,
                _ => Vec::new(),
            }
        }
        EachOver::Pattern {
            pattern,
            parameters,
        } => {
            let design = &commit.world.design;
            let pattern = &design[*pattern];
            let asked = parameters.iter().filter_map(|(name, reading)| {
                let path = Expr::Path(reading.path.clone());
                Some((name.as_str(), path.value(scene)?))
            });
            let asked: Vec<_> = asked.collect();
            let rows = pattern
                .returns
                .iter()
                .flat_map(|one| commit.world.all(&design[*one].name));
            let rows = rows.filter(|(_, row)| {
                let mut asked = asked.iter();
                asked.all(|(name, value)| nested(row, name) == Some(value))
            });
            rows.map(|(_, row)| Value::M(row.clone())).collect()
        }
    }
}

/// What kind of write a transition is. A soft delete is a delete, and taking it back a change.
/// What was done to an item; nothing to one that was deleted softly before and is removed now.
fn access_of(shape: Shape<'_>, transition: &Transition) -> Option<Access> {
    let (Some(old), new) = (&transition.old, &transition.new) else {
        return Some(Access::Create);
    };
    let was_deleted = shape.is_deleted(old);
    match new {
        None => (!was_deleted).then_some(Access::Delete),
        Some(new) if !was_deleted && shape.is_deleted(new) => Some(Access::Delete),
        Some(_) => Some(Access::Update),
    }
}

/// The target of a trigger has the values that the trigger sets.
fn sets_its_target(
    commit: &Commit<'_>,
    trigger: &Trigger,
    transition: &Transition,
    faults: &mut Vec<String>,
) {
    let EffectTarget::Ref { name, .. } = &trigger.effect.target else {
        return;
    };
    let (Some(shape), Some(new)) = (commit.world.shape(&transition.record), &transition.new) else {
        return;
    };
    let caller = Caller::default();
    let scene = commit.scene(shape, new, &caller);
    let reference = shape.refs.iter().find(|reference| reference.name == *name);
    let Some(Lead::Record(target, identity)) = reference.map(|one| scene.lead(one)) else {
        return;
    };
    let mut transitions = commit.transitions.iter();
    let written = transitions.find(|one| one.record == target.name && one.identity == identity);
    let stored = commit.world.get(&target.name, &identity);
    // A cascade leaves out an effect whose target is gone; any other write is refused.
    let Some(after) = written.map_or(stored, |one| one.new.as_ref()) else {
        return;
    };
    for (attribute, formula) in &trigger.effect.changes.set {
        let is_timed = formula
            .reads
            .iter()
            .any(|reading| reading.origin == Origin::Now);
        let value = formula.value(&scene);
        let found = nested(after, attribute);
        if !is_timed && found != value.as_ref() {
            let trigger = &trigger.name;
            let fault = format!("{trigger} left {attribute} at {found:?}, and not at {value:?}");
            faults.push(transition.told(&fault));
        }
    }
}
