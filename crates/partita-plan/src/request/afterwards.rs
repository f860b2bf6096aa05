//! Rules once more, on an item as a caller's change leaves it.
//!
//! Who the caller is to an item must hold before and after a change; otherwise a change could carry
//! the item where its caller may not create it: into another's organisation, under another's name.
//! What state the item is in must hold only before, or nobody could publish what only drafts allow.
//!
//! So a rule is asked again with its comparisons kept as they were, but for those that ask for the
//! caller, follow a ref, or look at what a ref of the rule is made of, by an attribute that the
//! caller changes. Where there is none, nothing is
//! asked and nothing is read. Other items are seen as they were before the write.

use partita_core::Map;
use partita_core::expression::{Condition, Truth};
use partita_design::design::reference::CALLER;
use partita_design::design::{Access, Attribute, Design, Record, Ref, RefTarget, Rule, Source};
use partita_design::expression::{Origin, Predicate, Reading};
use partita_design::kernel::reference_inputs;
use partita_design::nested;
use partita_design::stored::is_inside;

use super::input::{Changes, Slot};
use super::rules::{Asked, Verdict, attribute_rules};
use crate::draft::EntryId;
use crate::error::PlanError;
use crate::evaluate::{ItemScope, OtherItem, Resolved};
use crate::place::Address;
use crate::planner::item::applied;
use crate::planner::values::compute;
use crate::planner::{By, Planner};
use crate::ruling::Ruling;

/// An item as it was, and as a caller's change leaves it.
pub(crate) struct Afterwards<'s, 'a> {
    before: ItemScope<'s, 'a>,
    touched: Touched<'a>,
    /// The item as it will be; none where no rule can come out otherwise.
    item: Option<Map>,
}

/// What a caller changes of an item: the attributes that are given, and those made of them.
struct Touched<'a> {
    design: &'a Design,
    record: &'a Record,
    names: Vec<String>,
}

impl<'s, 'a> Afterwards<'s, 'a> {
    /// What a caller's change makes of the item of a scope.
    pub(crate) fn of(before: ItemScope<'s, 'a>, given: &Changes<'a>) -> Self {
        let old = before.item;
        let before = before.as_rules_see();
        let mut touched = Touched {
            design: &before.context.blueprint.design,
            record: before.record,
            names: changed(before.record, old, given),
        };
        touched.add_made();
        let rules = &before.record.rules;
        let is_asked = rules.all().any(|rule| match rule {
            Rule::When(rule) => touched.is_asked_in(rule, &rule.tree),
            Rule::Public | Rule::SignedIn | Rule::Never => false,
        });
        let item = is_asked.then(|| {
            let mut item = applied(old, given);
            drop(compute(before.was(Some(old)), &mut item, By::Caller, &[]));
            item
        });
        Afterwards {
            before,
            touched,
            item,
        }
    }

    /// What a rule that allows the change says of the item as it will be.
    pub(crate) fn decide(&self, rule: &Rule) -> Verdict {
        let (Rule::When(rule), Some(item)) = (rule, &self.item) else {
            return Verdict::Allowed;
        };
        if !self.touched.is_asked_in(rule, &rule.tree) {
            return Verdict::Allowed;
        }
        let after = self.before.over(item);
        match self.truth(rule, &rule.tree, &after) {
            Some(true) => Verdict::Allowed,
            Some(false) | None => Verdict::Denied,
        }
    }

    /// As [`Condition::decide`], with what is not asked again as it was.
    fn truth(&self, rule: &Predicate, tree: &Condition, after: &ItemScope<'_, 'a>) -> Truth {
        let join = |parts: &[Condition], stop: bool| {
            let mut truth = Some(!stop);
            for part in parts {
                match self.truth(rule, part, after) {
                    Some(decided) if decided == stop => return Some(stop),
                    Some(_) => {}
                    None => truth = None,
                }
            }
            truth
        };
        match tree {
            Condition::All(parts) => join(parts, false),
            Condition::Any(parts) => join(parts, true),
            Condition::Not(inner) => self.truth(rule, inner, after).map(|truth| !truth),
            alone if self.touched.is_asked_in(rule, alone) => alone.decide(after),
            alone => alone.decide(&self.before),
        }
    }

    /// Refuses a change that these rules do not allow.
    fn demand(&self, asked: &[Asked<'a>], written: &[&str]) -> Result<(), PlanError> {
        let rules = &self.before.record.rules;
        for one in asked {
            let rule = one.rule(rules);
            if self.decide(rule) == Verdict::Denied {
                return Err(self.refused(rule, one.word().to_owned()));
            }
        }
        for name in written {
            for rule in attribute_rules(self.before.record, true, name) {
                if self.decide(&rule.rule) == Verdict::Denied {
                    return Err(self.refused(&rule.rule, format!("write {name}")));
                }
            }
        }
        Ok(())
    }

    fn refused(&self, rule: &Rule, access: String) -> PlanError {
        match self.before.refused(rule, access) {
            PlanError::Forbidden {
                access,
                entity,
                rule,
                ..
            } => PlanError::Forbidden {
                access,
                entity,
                rule,
                afterwards: true,
            },
            other => other,
        }
    }

    /// What the record's rule says of this, before and after the change.
    pub(crate) fn ruling(&self, asked: Asked<'_>) -> Ruling {
        let ruling = self.before.ruling(asked);
        self.narrowed(ruling, asked.rule(&self.before.record.rules))
    }

    /// What the rules for writing some attributes say, before and after the change.
    pub(crate) fn write_rulings<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<Ruling> {
        let names: Vec<&str> = names.collect();
        let record = self.before.record;
        let rules = names.iter();
        let rules = rules.flat_map(|name| attribute_rules(record, true, name));
        let rulings = self.before.write_rulings(names.iter().copied());
        let both = rulings.zip(rules);
        both.map(|(ruling, rule)| self.narrowed(ruling, &rule.rule))
            .collect()
    }

    fn narrowed(&self, ruling: Ruling, rule: &Rule) -> Ruling {
        match ruling.verdict {
            Verdict::Allowed => Ruling {
                verdict: self.decide(rule),
                ..ruling
            },
            Verdict::Denied | Verdict::Open => ruling,
        }
    }
}

impl<'a> Touched<'a> {
    /// Adds what is computed from what is changed, and what is copied over a ref that is.
    fn add_made(&mut self) {
        while !self.names.is_empty() {
            let made = self.record.attributes.iter().filter(|one| {
                let is_made = matches!(
                    one.source,
                    Source::Copy(_) | Source::Computed(_) | Source::Derived(_)
                );
                is_made && !self.has(&one.name) && one.reads().iter().any(|read| self.reads(read))
            });
            let made: Vec<String> = made.map(|one| one.name.clone()).collect();
            if made.is_empty() {
                return;
            }
            self.names.extend(made);
        }
    }

    /// Whether an attribute is changed, or something in it or around it.
    fn has(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|one| is_inside(one, name) || is_inside(name, one))
    }

    /// Whether something in a condition is asked again.
    fn is_asked_in(&self, rule: &Predicate, condition: &Condition) -> bool {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().any(|part| self.is_asked_in(rule, part))
            }
            Condition::Not(inner) => self.is_asked_in(rule, inner),
            alone => self.is_asked(rule, alone),
        }
    }

    /// Whether a comparison asks for the caller by something that is changed, or goes where a
    /// changed ref leads.
    fn is_asked(&self, rule: &Predicate, alone: &Condition) -> bool {
        let (mut is_of_caller, mut is_touched, mut is_led) = (false, false, false);
        let mut is_place = false;
        alone.visit_paths(&mut |path| {
            is_of_caller |= path.root == CALLER;
            for reading in rule.reads.iter().filter(|one| one.path == *path) {
                is_of_caller |= self.is_of_caller(self.record, reading, 0);
                is_touched |= self.reads(reading);
                is_led |= self.leads(reading);
                is_place |= self.is_place(rule, reading);
            }
        });
        is_led || is_place || (is_of_caller && is_touched)
    }

    /// Whether a reading is of a changed attribute that a ref of the rule is made of. Where the item
    /// belongs is no state of it.
    fn is_place(&self, rule: &Predicate, reading: &Reading) -> bool {
        let is_own = reading.origin == Origin::Item && reading.hops.is_empty();
        let name = &reading.attribute;
        let makes = |reference: &Ref| {
            reference_inputs(reference)
                .any(|input| is_inside(input, name) || is_inside(name, input))
        };
        let mut refs = rule.reads.iter().filter_map(|one| one.hops.first());
        is_own && self.has(name) && refs.any(|hop| self.design.reference(hop).is_some_and(makes))
    }

    /// Whether a reading depends on something that is changed.
    fn reads(&self, reading: &Reading) -> bool {
        match reading.origin {
            Origin::Item if reading.hops.is_empty() => self.has(&reading.attribute),
            _ => self.leads(reading),
        }
    }

    /// Whether a reading follows a ref that is changed.
    fn leads(&self, reading: &Reading) -> bool {
        let first = reading.hops.first();
        let first = first.filter(|_| reading.origin == Origin::Item);
        let reference = first.and_then(|hop| self.design.reference(hop));
        reference.is_some_and(|reference| self.is_led_elsewhere(reference, 0))
    }

    /// Whether a ref is made of something that is changed, perhaps over other refs.
    fn is_led_elsewhere(&self, reference: &Ref, depth: usize) -> bool {
        let refs = &self.record.refs;
        reference_inputs(reference).any(|input| {
            let root = input.split('.').next().unwrap_or(input);
            let behind = refs.iter().find(|one| one.name == root);
            let behind = behind.filter(|_| depth <= refs.len());
            self.has(input) || behind.is_some_and(|one| self.is_led_elsewhere(one, depth + 1))
        })
    }

    /// Whether a reading is of the caller, of a record that is found by who calls, or of what is
    /// computed from either.
    fn is_of_caller(&self, record: &Record, reading: &Reading, depth: usize) -> bool {
        let is_own = |target: &RefTarget| target.is_callers();
        let mut refs = reading.hops.iter();
        let through = refs.any(|hop| {
            let reference = self.design.reference(hop);
            reference.is_some_and(|one| one.targets.iter().any(is_own))
        });
        let is_virtual = |one: &&Attribute| one.is_virtual;
        let made = record.attribute(&reading.attribute).filter(is_virtual);
        let made = made.filter(|_| reading.hops.is_empty() && depth <= record.attributes.len());
        let mut reads = made.into_iter().flat_map(Attribute::reads);
        reading.origin == Origin::Caller
            || through
            || reads.any(|one| self.is_of_caller(record, one, depth + 1))
    }
}

/// The attributes that a change gives another value. Those that never change are refused as such.
fn changed(record: &Record, old: &Map, given: &Changes<'_>) -> Vec<String> {
    let is_there = |slot: &Slot<'_>| match slot {
        Slot::Open(name) => old.get(name),
        Slot::Declared(_) | Slot::Inside(_) => nested::get(old, slot.name()),
    };
    let can_change = |slot: &&Slot<'_>| match slot {
        Slot::Declared(one) => !one.fixed && (one.movable || !record.is_identified_by(&one.name)),
        Slot::Open(_) | Slot::Inside(_) => true,
    };
    let set = given.set.iter();
    let set = set.filter(|(slot, value)| is_there(slot) != Some(value));
    let removed = given.remove.iter().filter(|slot| is_there(slot).is_some());
    let slots = set.map(|(slot, _)| slot).chain(removed).filter(can_change);
    slots.map(|slot| slot.name().to_owned()).collect()
}

impl<'a> Planner<'a> {
    /// Refuses a change of what a caller gives unless the rules that allowed it allow the item as
    /// it will be. It comes before anything is said of what the item would refer to.
    pub(super) fn demand_afterwards(
        &mut self,
        at: EntryId,
        asked: Asked<'a>,
        given: &Changes<'a>,
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let (record, Some(old)) = (entry.record, entry.old().cloned()) else {
            return Ok(());
        };
        // Of what is wrong by itself nothing is decided.
        let mut good = given.clone();
        good.set.retain(|(slot, _)| !self.is_faulty(slot.name()));
        good.remove.retain(|slot| !self.is_faulty(slot.name()));
        let crossing = good.crossing(record, &old).map(Asked::Access);
        let all: Vec<Asked<'a>> = std::iter::once(asked).chain(crossing).collect();
        let is_update = asked == Asked::Access(Access::Update);
        let written: Vec<&str> = good.names().filter(|_| is_update).collect();
        let demand = |scope: ItemScope<'_, 'a>| Afterwards::of(scope, &good).demand(&all, &written);
        let Err(refusal) = demand(self.unguarded(record, &old)) else {
            return self.evaluate(at, &old, demand)?;
        };
        if !self.context.reads.is_complete() {
            return Err(refusal);
        }
        let scope = self.unguarded(record, &old);
        let (_, around) = scope.with_others_read(demand);
        let hidden = self.hidden_afterwards(scope, &good, around);
        if hidden.is_empty() {
            return Err(refusal);
        }
        // Where the refusal rests on items that the caller may not read, the answer is the one that
        // would be given if there were none.
        self.context.reads.hide(hidden);
        demand(self.unguarded(record, &old))?;
        let outcome = self.change(at, &good, By::Caller);
        Err(outcome.err().unwrap_or(refusal))
    }

    /// The items that a refusal rests on and the caller may not read, with those that the item
    /// would refer to, for they would tell of them.
    fn hidden_afterwards(
        &self,
        before: ItemScope<'_, 'a>,
        given: &Changes<'a>,
        around: Vec<OtherItem<'a>>,
    ) -> Vec<Address> {
        if !around.iter().any(|one| self.is_unreadable(one)) {
            return Vec::new();
        }
        let item = applied(before.item, given);
        let after = before.over(&item);
        let refs = before.record.refs.iter();
        let targets = refs.flat_map(|reference| match after.resolve(reference) {
            Resolved::To(targets) => targets,
            _ => Vec::new(),
        });
        let targets = targets.map(|target| (target.address, target.record));
        let all = around.into_iter().chain(targets);
        let hidden = all.filter(|one| self.is_unreadable(one));
        hidden.map(|(address, _)| address).collect()
    }
}
