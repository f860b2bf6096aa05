//! What callers do or find out beyond what the rules let them read.
//!
//! An effect writes past rules: whether the caller may change its target is not asked. That is what
//! effects are for, as long as the caller has to do with the target. Where the rules that let
//! somebody cause the effect do not say that they may read its target, anybody who can name another's
//! item can have it changed.
//!
//! | module | what it holds |
//! |---|---|
//! | [`item`] | items in terms of the one that is written, so that two ways to one item look alike |
//! | [`clause`] | conditions as alternatives of facts, and what follows from facts |
//! | [`guess`] | attributes that a rule hides, and that a pattern lets its readers find out |

mod clause;
mod guess;
mod item;

use partita_core::expression::Span;
use partita_core::wording::one;

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{
    Access, Design, Effect, EffectKind, EffectTarget, Event, EventKind, Record, RecordId, Ref,
    Repeat, Rule, Source, Timing,
};
use crate::expression::{Expr, Formula, Origin, Predicate};
use clause::{Alternatives, Fact};
use item::{CALLER, Item, literal};

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    guess::check(symbols, design);
    for trigger in &design.triggers {
        let effect = Caused {
            design,
            effect: &trigger.effect,
            record: trigger.on.of,
            refs: &[],
            facts: vec![trigger.turns.as_ref()],
            event: Some(trigger.on.kind),
        };
        let causes = causes_of(design, &trigger.on);
        let place = (format!("trigger.{}", trigger.name), symbols[trigger.id].1);
        effect.judge(&trigger.name, place, &causes, symbols);
    }
    for action in &design.actions {
        for record in action.on.records() {
            let rules = &design[*record].rules;
            let causes = [(format!("uses `{}`", action.name), rules.action(action.id))];
            for effect in &action.then {
                let effect = Caused {
                    design,
                    effect,
                    record: *record,
                    refs: &action.refs,
                    facts: vec![action.require.as_ref()],
                    event: None,
                };
                let place = (format!("action.{}", action.name), symbols[action.id].1);
                effect.judge(&action.name, place, &causes, symbols);
            }
        }
    }
}

/// The rules that let callers cause an event, each with what they do.
fn causes_of<'d>(design: &'d Design, event: &Event) -> Vec<(String, &'d Rule)> {
    let rules = &design[event.of].rules;
    let title = &design[event.of].name;
    let mut causes = Vec::new();
    for (access, word) in Access::WORDS {
        if access != Access::Read && event.kind.includes(access) {
            causes.push((format!("may {word} {}", one(title)), rules.get(access)));
        }
    }
    for action in &design.actions {
        let does = if action.delete {
            Access::Delete
        } else {
            Access::Update
        };
        if action.on.records().contains(&event.of) && event.kind.includes(does) {
            causes.push((format!("uses `{}`", action.name), rules.action(action.id)));
        }
    }
    // The caller of an effect that causes this one may read the item.
    if effects(design).any(|effect| is_such(effect, event)) {
        causes.push((format!("may read {}", one(title)), rules.get(Access::Read)));
    }
    causes
}

fn effects(design: &Design) -> impl Iterator<Item = &Effect> {
    let triggers = design.triggers.iter().map(|trigger| &trigger.effect);
    let actions = design.actions.iter().flat_map(|action| &action.then);
    triggers.chain(actions)
}

fn is_such(effect: &Effect, event: &Event) -> bool {
    let kinds: &[Access] = match effect.kind {
        EffectKind::Create => &[Access::Create],
        EffectKind::Upsert => &[Access::Create, Access::Update],
        EffectKind::Update => &[Access::Update],
        EffectKind::Delete => &[Access::Delete],
        EffectKind::Mail | EffectKind::Send => &[],
    };
    effect.target.records().contains(&event.of)
        && kinds.iter().any(|access| event.kind.includes(*access))
}

/// An effect, and what is known when it happens.
struct Caused<'d> {
    design: &'d Design,
    effect: &'d Effect,
    /// What is written.
    record: RecordId,
    /// Refs over the parameters of an action.
    refs: &'d [Ref],
    facts: Vec<Option<&'d Predicate>>,
    /// The event of a trigger.
    event: Option<EventKind>,
}

impl<'d> Caused<'d> {
    fn judge(
        &self,
        name: &str,
        (place, span): (String, Span),
        causes: &[(String, &Rule)],
        symbols: &Symbols,
    ) {
        let source = Item::written(self.design, self.record);
        let facts = self.known(&source);
        let targets = self.targets(&source).into_iter().flat_map(|target| {
            let there = self.there_already(&target);
            let there = there.map(|there| (there, " that may be there already and that"));
            std::iter::once((target, " that")).chain(there)
        });
        for (target, which) in targets {
            let rule = target.record.rules.get(Access::Read);
            let seen = Alternatives::of(rule, &target);
            let unseen = causes.iter().find(|(_, cause)| {
                let cause = Alternatives::of(cause, &source);
                !cause.knowing(&facts).imply(&seen)
            });
            let Some((cause, _)) = unseen else { continue };
            let does = match self.effect.kind {
                EffectKind::Create => "creates",
                EffectKind::Upsert => "writes",
                EffectKind::Update => "changes",
                EffectKind::Delete => "deletes",
                // They write no item.
                EffectKind::Mail | EffectKind::Send => continue,
            };
            let message = format!(
                "`{name}` {does} {}{which} whoever {cause} need not be allowed to read: `{}`",
                one(&target.record.name),
                rule.text()
            );
            symbols
                .report(Code::UnseenTarget, span, message)
                .help("let the rule for the cause, `when` or `require` say what makes the item the caller's")
                .acceptable(vec![vec![place.clone()]]);
            return;
        }
    }

    /// The item that an upsert changes, or a creation that may be repeated, where somebody has
    /// created it before. Only its identity is known of it.
    fn there_already(&self, new: &Item<'d>) -> Option<Item<'d>> {
        let EffectTarget::Entity(record) = self.effect.target else {
            return None;
        };
        let entity = &self.design[record];
        let does_change = match self.effect.kind {
            EffectKind::Upsert => true,
            EffectKind::Create => entity.repeat == Repeat::Update,
            _ => false,
        };
        let mut parts = entity.identity.iter();
        let is_fresh = parts.any(|part| self.is_fresh(entity, &part.attribute));
        if !does_change || is_fresh {
            return None;
        }
        let parts = entity.identity.iter().map(|part| &part.attribute);
        let parts = parts.map(|name| (name.clone(), new.attribute(name)));
        Some(Item::identified(self.design, record, parts.collect()))
    }

    /// Whether a part of a new item's identity is one that no other item has: an id that is
    /// generated, or the time.
    fn is_fresh(&self, entity: &Record, name: &str) -> bool {
        let mut set = self.effect.changes.set.iter();
        let given = set.find(|(set, _)| set == name).map(|(_, value)| value);
        let source = entity.stored(name).map(|one| &one.source);
        let value = match (given, source) {
            (Some(given), _) => given,
            (None, Some(Source::Generated)) => return true,
            (None, Some(Source::Computed(computed))) => &computed.value,
            (None, _) => return false,
        };
        value.reads.iter().any(|one| one.origin == Origin::Now)
    }

    /// What holds whenever the effect happens.
    fn known(&self, source: &Item<'d>) -> Vec<Fact> {
        let effect = [self.effect.when.as_ref(), self.effect.require.as_ref()];
        let entity = source.source.require.as_ref();
        let predicates = self.facts.iter().copied().chain(effect).chain([entity]);
        let mut facts: Vec<Fact> = predicates
            .flatten()
            .flat_map(|predicate| clause::certain(&predicate.tree, predicate, source))
            .collect();
        for attribute in &source.source.attributes {
            if is_caller(&attribute.source, self.event) {
                let name = source.attribute(&attribute.name);
                facts.push(Fact::equal(name, CALLER.to_owned()));
            }
        }
        facts
    }

    /// The items that are written, in terms of the one that causes it.
    fn targets(&self, source: &Item<'d>) -> Vec<Item<'d>> {
        match &self.effect.target {
            EffectTarget::Ref { name, .. } => source.through(name, self.refs),
            EffectTarget::Identity { record, parts } => {
                let parts = parts.iter();
                let parts = parts.map(|(part, reading)| (part.clone(), source.reading(reading)));
                vec![Item::identified(self.design, *record, parts.collect())]
            }
            EffectTarget::Element(record) => {
                let each = self.effect.each.as_ref();
                each.map(|each| source.element(self.design, *record, each))
                    .into_iter()
                    .collect()
            }
            EffectTarget::Mail(_) | EffectTarget::Receiver { .. } => Vec::new(),
            EffectTarget::Entity(record) => {
                let given = self.effect.changes.set.iter();
                let given =
                    given.filter_map(|(name, value)| Some((name.clone(), text_of(value, source)?)));
                let mut known: Vec<(String, String)> = given.collect();
                known.extend(made(&self.design[*record]));
                vec![Item::new(self.design, *record, known)]
            }
        }
    }
}

/// The attributes of a new item that are not given: the caller, and their defaults.
fn made(entity: &Record) -> impl Iterator<Item = (String, String)> + '_ {
    entity.attributes.iter().filter_map(|attribute| {
        let text = match &attribute.source {
            Source::Given {
                default: Some(value),
            } => literal(value.literal()?),
            source if is_caller(source, Some(EventKind::Create)) => CALLER.to_owned(),
            _ => return None,
        };
        Some((attribute.name.clone(), text))
    })
}

/// Whether an attribute is who calls, whenever such an event happens.
fn is_caller(source: &Source, event: Option<EventKind>) -> bool {
    let Source::Computed(computed) = source else {
        return false;
    };
    let is_taken = match computed.timing {
        Timing::Create => event == Some(EventKind::Create),
        Timing::Write => true,
        _ => false,
    };
    let path = match computed.value.cases.as_slice() {
        [case] if case.when.is_none() => case.is.as_path(),
        _ => None,
    };
    is_taken && path.is_some_and(|path| path.to_string() == CALLER)
}

/// A value in terms of the item that is written, if it is plain.
fn text_of(value: &Formula, source: &Item<'_>) -> Option<String> {
    if let Some(value) = value.literal() {
        return Some(literal(value));
    }
    match value.cases.as_slice() {
        [case] if case.when.is_none() => {
            let path = match &case.is {
                Expr::Path(path) => path,
                _ => return None,
            };
            let reading = value.reads.iter().find(|reading| reading.path == *path)?;
            Some(source.reading(reading))
        }
        _ => None,
    }
}
