//! Actions: something that a design has a name for, done to an item, to the one that a pattern
//! finds, or to every one of them.

use std::borrow::Cow;

use partita_core::{Map, Value};
use partita_design::Design;
use partita_design::design::rules::LimitOf;
use partita_design::design::{
    Access, Action, ActionOn, Application, EachOver, Parameter, ParameterKind, Pattern, Record,
    RecordId, Source,
};
use partita_design::nested;
use partita_design::stored::is_inside;
use partita_design::types::AttributeType;

use super::input::{Changes, Slot, refuse};
use super::rules::{Asked, Verdict};
use super::{NamedItem, not_found};
use crate::draft::EntryId;
use crate::error::{Fault, FaultRule, PlanError, note};
use crate::evaluate::{ItemScope, Listed, ListedItem, Named, Resolved};
use crate::pattern::{ReadBound, known_attributes, rows_max, too_large};
use crate::planner::assignments::{Values, assigned};
use crate::planner::refs::Given;
use crate::planner::{By, Names, Planner};

/// How an action finds its items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundBy<'a> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) record: &'a Record,
    /// What is done to every item; otherwise the pattern finds one.
    pub(crate) application: Option<&'a Application>,
}

impl<'a> FoundBy<'a> {
    /// How an action finds its items; none where the caller names the item.
    pub(crate) fn of(design: &'a Design, action: &'a Action) -> Option<Self> {
        let (pattern, record, application) = match &action.on {
            ActionOn::Items(_) => return None,
            ActionOn::Found { pattern, record } => (pattern, record, None),
            ActionOn::Every(application) => match &application.each.over {
                EachOver::Pattern { pattern, .. } => {
                    (pattern, &application.record, Some(application))
                }
                EachOver::List { .. } => return None,
            },
        };
        Some(FoundBy {
            pattern: &design[*pattern],
            record: &design[*record],
            application: application.map(|application| &**application),
        })
    }
}

impl<'a> Planner<'a> {
    /// Does what an action says to an item.
    pub(crate) fn act(
        &mut self,
        at: EntryId,
        action: &'a Action,
        given: &Map,
    ) -> Result<(), PlanError> {
        let record = self.entry(at).record;
        let Some(old) = self.entry(at).after.clone() else {
            return Ok(());
        };
        let (mut changes, names) = self.split(action, record, given);
        self.refuse()?;
        self.demand_afterwards(at, Asked::Action(action), &changes)?;
        let values = self.demand_action(at, action, &names)?;
        let said = self.changes(record, &action.changes, values, false);
        self.check_steps(record, action, &said, &old);
        changes.extend(said);
        if action.delete {
            self.delete(at, By::Caller)?;
        } else {
            self.demand_crossing(at, &changes)?;
            let by = if is_tally(action, record) {
                By::Effect
            } else {
                By::Caller
            };
            self.change(at, &changes, by)?;
        }
        self.effects_of(action, at, &names)
    }

    /// What an action sets, if what it requires holds and its refs lead somewhere.
    fn demand_action(
        &mut self,
        at: EntryId,
        action: &'a Action,
        names: &[(String, Named<'_, 'a>)],
    ) -> Result<Values, PlanError> {
        let entry = self.entry(at);
        let (record, old) = (entry.record, entry.after.clone().unwrap_or_default());
        let (refused, values, resolved) = self.evaluate(at, &old, |scope| {
            let scope = scope.was(Some(&old)).naming(names).with_refs(&action.refs);
            let require = action.require.as_ref();
            let refused = require.filter(|require| !require.holds(&scope));
            let values = assigned(&scope, &action.changes, None);
            let refs = action.refs.iter();
            let resolved: Vec<_> = refs.map(|one| (one, scope.resolve(one))).collect();
            (refused, values, resolved)
        })?;
        if let (Some(require), true) = (refused, self.context.reads.is_complete()) {
            return Err(PlanError::Requires {
                name: action.name.clone(),
                rule: require.text.clone(),
            });
        }
        for (reference, resolved) in resolved {
            if let (Resolved::To(targets), false) = (resolved, reference.unchecked) {
                for target in targets {
                    self.expect(record, reference, target, Given::Now)?;
                }
            }
        }
        // What is made of something that is not there is wrong only because of that.
        self.refuse()?;
        Ok(values)
    }

    /// An action that sets a state is a step. One that was taken already is not taken again, or
    /// whatever comes with it would happen twice.
    fn check_steps(
        &mut self,
        record: &'a Record,
        action: &'a Action,
        said: &Changes<'a>,
        old: &Map,
    ) {
        for (slot, value) in &said.set {
            let Slot::Declared(attribute) = slot else {
                continue;
            };
            if matches!(attribute.kind, AttributeType::State(_))
                && record.read(old, &attribute.name).as_deref() == Some(value)
                && let Some(now) = value.as_str()
            {
                let message = format!("is `{now}` already, and `{}` makes it so", action.name);
                self.fault(record, &attribute.name, FaultRule::State, message);
            }
        }
    }

    /// What a caller gives for an action on an item of a record: changes of its attributes, and
    /// parameters.
    pub(crate) fn split(
        &mut self,
        action: &'a Action,
        record: &'a Record,
        given: &Map,
    ) -> (Changes<'a>, Names<'static, 'a>) {
        let mut attributes = Map::new();
        let mut parameters: Names<'static, 'a> = Vec::new();
        for name in &action.input {
            match nested::get(given, name) {
                Some(value) => nested::set(&mut attributes, name, value.clone()),
                // What may be missing may be left out, and stays as it is.
                None if record.attribute(name).is_some_and(|one| one.optional) => {}
                None => self.faults.push(required(name)),
            }
        }
        for parameter in &action.parameters {
            let value = given
                .get(&parameter.name)
                .filter(|value| **value != Value::Null);
            let value = value.cloned().map(|value| match &parameter.kind {
                ParameterKind::Value(kind) => kind.from_plain(value),
                ParameterKind::PrefixOf(_) => value,
            });
            if let Some(fault) = check_parameter(parameter, value.as_ref()) {
                self.faults.push(fault);
            }
            let named = Named::Value(value);
            parameters.push((parameter.name.clone(), named));
        }
        for name in given.keys() {
            let is_input = |known: &String| is_inside(known, name);
            let is_known = action.input.iter().any(is_input)
                || action.parameters.iter().any(|one| one.name == *name);
            if !is_known {
                let message = format!("is nothing that `{}` takes", action.name);
                note(&mut self.faults, || Fault::new(name.as_str(), message));
            }
        }
        let changes = if record.is_entity() {
            let input = self.input(record);
            input.update(&attributes, &Map::new(), &mut self.faults)
        } else {
            Changes::default()
        };
        (changes, parameters)
    }

    /// An action on the item, or on every item, that a pattern finds.
    pub(crate) fn act_on_found(
        &mut self,
        action: &'a Action,
        by: FoundBy<'a>,
        given: &Map,
    ) -> Result<Option<EntryId>, PlanError> {
        let (asked, rest) = self.demand_to_find(action, by, given)?;
        if let Some(application) = by.application {
            self.act_on_every(action, (by.pattern, application), asked, rest)?;
            return Ok(None);
        }
        let listed = self.rows(by.pattern, &asked)?;
        let found = self.first_meant(by.pattern, &asked, &listed.rows)?;
        let Some(ListedItem { record, item, .. }) = found else {
            return Err(none_found(by, listed.has_more));
        };
        // The caller has not named the item, so that even its identity is not known to them.
        let scope = self.unguarded(record, &item);
        if !scope.is_found_by(by.pattern) || !is_allowed_or_refused(&scope, action)? {
            return Err(none_found(by, false));
        }
        let on = on_row(record, &item);
        self.change_for_caller(&on, Asked::Action(action), &rest)
            .map(Some)
    }

    /// The parameters of the pattern that finds an action's items, and the rest of what is given.
    /// Refuses what no item could change that the pattern finds; otherwise nothing found would be
    /// nothing refused.
    fn demand_to_find(
        &mut self,
        action: &'a Action,
        by: FoundBy<'a>,
        given: &Map,
    ) -> Result<(Map, Map), PlanError> {
        self.demand_known(by.record, &Map::new(), Asked::Action(action))?;
        let (asked, rest) = self.asked(by.pattern, given)?;
        let known = known_attributes(by.pattern, &asked, by.record);
        self.demand_known(by.record, &known, Asked::Action(action))?;
        Ok((asked, rest))
    }

    fn act_on_every(
        &mut self,
        action: &'a Action,
        (pattern, application): (&'a Pattern, &'a Application),
        asked: Map,
        rest: Map,
    ) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let applied = &blueprint.design[application.apply];
        self.count_towards(&LimitOf::Action(action.id))?;
        // What counts towards a limit must be counted now.
        if self.plans_job() && !self.has_limit(applied.id) {
            let rows = &self.rows(pattern, &asked)?.rows;
            let items = self.meant_among(pattern, &asked, rows)?;
            return self.defer_application(action, application, (asked, rest), &items);
        }
        let listed = self.rows(pattern, &asked)?;
        if listed.has_more {
            let what = format!("every item of `{}` is meant", pattern.name);
            return Err(PlanError::TooMuch { what });
        }
        let mut items = self.meant_among(pattern, &asked, &listed.rows)?;
        let is_found =
            |one: &ListedItem<'a>| self.unguarded(one.record, &one.item).is_found_by(pattern);
        items.retain(is_found);
        // All of them are read at once, and not one after the other.
        for listed in &items {
            self.look_up(listed.record, listed.address.clone())?;
        }
        for listed in items {
            if self.is_meant_by(action, application, &listed)? {
                let on = on_row(listed.record, &listed.item);
                self.change_for_caller(&on, Asked::Action(applied), &rest)?;
            }
        }
        Ok(())
    }

    /// Whether an action is applied to an item that it finds.
    fn is_meant_by(
        &mut self,
        action: &'a Action,
        application: &'a Application,
        listed: &ListedItem<'a>,
    ) -> Result<bool, PlanError> {
        let at = self.look_up(listed.record, listed.address.clone())?;
        let names = [(application.each.name.clone(), listed.named())];
        self.evaluate(at, &listed.item, |scope| {
            let scope = scope.naming(&names);
            let is_allowed = is_allowed_or_refused(&scope, action)?;
            let when = application.when.as_ref();
            Ok(is_allowed && when.is_none_or(|when| when.holds(&scope)))
        })?
    }

    /// The parameters of a pattern among what was given, and the rest.
    pub(crate) fn asked(
        &mut self,
        pattern: &Pattern,
        given: &Map,
    ) -> Result<(Map, Map), PlanError> {
        let mut asked = Map::new();
        let mut rest = given.clone();
        for parameter in &pattern.parameters {
            let value = rest.remove(&parameter.name);
            match check_parameter(parameter, value.as_ref()) {
                Some(fault) => self.faults.push(fault),
                None => asked.extend(value.map(|value| (parameter.name.clone(), value))),
            }
        }
        refuse(std::mem::take(&mut self.faults))?;
        Ok((asked, rest))
    }

    /// The rows that a pattern lists; none before they are read.
    pub(crate) fn rows(
        &self,
        pattern: &Pattern,
        asked: &Map,
    ) -> Result<Cow<'a, Listed>, PlanError> {
        let listing = self.context.blueprint.listing(pattern, asked)?;
        let listed = listing.and_then(|listing| self.context.list(&listing));
        Ok(listed.unwrap_or_default())
    }
}

/// Whether an action only counts: then it is no write of the item, and needs no transaction.
pub(super) fn is_tally(action: &Action, record: &Record) -> bool {
    let changes = &action.changes;
    let only_adds = changes.set.is_empty()
        && changes.remove.is_empty()
        && !changes.add.is_empty()
        && action.input.is_empty()
        && action.then.is_empty()
        && action.require.is_none()
        && !action.delete;
    let mut added = changes.add.iter();
    only_adds && added.all(|(name, _)| is_plain_counter(record, name))
}

/// Whether an action may be done to one of the items that it finds. One that the caller may not
/// read is passed over, as if it were not there.
pub(crate) fn is_allowed_or_refused(
    row: &ItemScope<'_, '_>,
    action: &Action,
) -> Result<bool, PlanError> {
    let Err(refusal) = row.demand(Asked::Action(action)) else {
        return Ok(true);
    };
    if row.verdict(Asked::Access(Access::Read)) == Verdict::Allowed {
        return Err(refusal);
    }
    Ok(false)
}

/// The refusal where a pattern of one finds nothing, or nothing among what it may read.
pub(crate) fn none_found(by: FoundBy<'_>, has_more: bool) -> PlanError {
    if has_more {
        return too_large(by.pattern, ReadBound::Items(rows_max(by.pattern)));
    }
    not_found(by.record, false)
}

/// Whether a number is a plain counter on which nothing depends but sums.
fn is_plain_counter(record: &Record, name: &str) -> bool {
    let is_counter = record.stored(name).is_some_and(|attribute| {
        attribute.kind == AttributeType::Counter && attribute.per.is_none()
    });
    let indexes = record.indexes.iter().flat_map(|index| &index.reads);
    let in_index = indexes.into_iter().any(|reading| reading.attribute == name);
    let attributes = record.attributes.iter();
    let is_read = attributes
        .filter_map(|attribute| match &attribute.source {
            Source::Computed(computed) => Some(&computed.value),
            _ => None,
        })
        .any(|value| value.own_attributes().any(|own| own == name));
    is_counter && !in_index && !is_read
}

fn check_parameter(parameter: &Parameter, value: Option<&Value>) -> Option<Fault> {
    let name = &parameter.name;
    match (value, &parameter.kind) {
        (None, _) if parameter.optional => None,
        (None, _) => Some(required(name)),
        (Some(value), ParameterKind::Value(kind)) => {
            let expected = kind.check(value).err()?;
            // A parameter is no attribute of any record.
            Some(Fault {
                entity: None,
                ..Fault::of_value("", name, kind, value, &expected)
            })
        }
        (Some(Value::S(_)), ParameterKind::PrefixOf(_)) => None,
        (Some(_), ParameterKind::PrefixOf(_)) => Some(Fault {
            rule: FaultRule::Type,
            ..Fault::new(name, "must be a string")
        }),
    }
}

/// That something that an action takes was not given.
fn required(name: &str) -> Fault {
    Fault {
        rule: FaultRule::Required,
        ..Fault::new(name, "is required")
    }
}

/// The item that a row of a pattern is.
pub(crate) fn on_row<'a>(record: &'a Record, item: &Map) -> NamedItem<'a> {
    let identity = record.identity_of(item).unwrap_or_default();
    NamedItem::new(record, identity)
}

/// Whether an action can be done to items of this record.
pub(crate) fn is_for(action: &Action, record: RecordId) -> bool {
    match &action.on {
        ActionOn::Items(records) => records.contains(&record),
        ActionOn::Found { .. } | ActionOn::Every(_) => false,
    }
}
