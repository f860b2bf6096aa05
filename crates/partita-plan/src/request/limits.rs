//! How often a caller has done something: a window of time and a count, in a record of the design,
//! or in the sidecar table where the design has none.
//!
//! The window is counted in the transaction of what it limits: what is refused does not count, and
//! concurrent writes cannot exceed the limit.

use std::rc::Rc;

use partita_core::expression::{
    Comparator, Condition, Operand, Path, SetOperand, SetValue, Update,
};
use partita_core::{Item, Map, Number, Value};
use partita_design::design::rules::LimitOf;
use partita_design::design::{ActionId, Attribute, AttributeId, Limit, LimitRecord};
use partita_design::nested;
use partita_design::time;
use partita_store::request::{PutItem, TransactAction, UpdateItem};

use crate::commit::Step;
use crate::draft::{EntryId, Refusal};
use crate::error::PlanError;
use crate::evaluate::Known;
use crate::place::Address;
use crate::planner::Planner;
use crate::sidecar;

/// How often something was done in a window that the sidecar keeps.
const COUNT: &str = "count";
/// When the window began, in milliseconds since 1970.
const START: &str = "start";

/// A window that the sidecar keeps, and what this write adds to it.
pub(crate) struct Window<'a> {
    limit: &'a Limit,
    address: Address,
    /// When the stored one began, and what it has counted.
    stored: Option<(i64, u64)>,
    added: u64,
}

impl<'a> Planner<'a> {
    /// Counts what the caller does, and refuses it when it was done too often.
    pub(crate) fn count_towards(&mut self, done: &LimitOf) -> Result<(), PlanError> {
        let design = &self.context.blueprint.design;
        for limit in design.limits.iter().filter(|limit| limit.of == *done) {
            self.is_limited = true;
            match design.limit_record {
                Some(kept_in) => self.count_one(limit, kept_in)?,
                None => self.count_aside(limit)?,
            }
        }
        Ok(())
    }

    /// Whether there is a limit for an action.
    pub(crate) fn has_limit(&self, action: ActionId) -> bool {
        let mut limits = self.context.blueprint.design.limits.iter();
        limits.any(|limit| limit.of == LimitOf::Action(action))
    }

    fn count_one(&mut self, limit: &'a Limit, kept_in: LimitRecord) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let Some(caller) = &self.context.caller.id else {
            return Ok(());
        };
        let record = &blueprint.design[kept_in.entity];
        let attribute = |id: AttributeId| &record.attributes[id.index()];
        let (count, start) = (attribute(kept_in.count), attribute(kept_in.start));
        let mut window = Map::new();
        for (id, text) in [(kept_in.caller, caller), (kept_in.limit, &limit.name)] {
            nested::set(&mut window, &attribute(id).name, Value::from(text.as_str()));
        }
        let address = blueprint.address(record, &window)?;
        let at = self.look_up(record, address)?;
        let now = self.moment.now_millis;
        let started = |window: &Map| {
            let form = start.kind.time_form()?;
            form.read(nested::get(window, &start.name)?)
        };
        let since = self.entry(at).after.as_deref().and_then(started);
        let Some(since) = since.filter(|since| now < end_of(limit, *since)) else {
            let end = end_of(limit, now);
            nested::set(&mut window, &count.name, Value::N(Number::from(1_i64)));
            self.open_window(at, window, (start, now), (attribute(kept_in.end), end));
            return Ok(());
        };
        let entry = self.entry_mut(at);
        let one = Number::from(1_i64);
        let counted = entry.after.as_deref();
        let counted = counted.and_then(|window| record.number(window, &count.name));
        let used = counted.unwrap_or(Number::ZERO);
        let allowed = Number::from(limit.count);
        if used >= allowed {
            return Err(reached(limit, since, now));
        }
        let is_opened = entry.old().is_none_or(|old| started(old) != Some(since));
        if let (true, Some(after)) = (is_opened, &mut entry.after) {
            let used = used.checked_add(one).unwrap_or(used);
            nested::set(Rc::make_mut(after), &count.name, Value::N(used));
            return Ok(());
        }
        // One write may do the same several times.
        let bound = allowed.checked_sub(entry.added(&count.name));
        entry.add(&count.name, one)?;
        entry.guard(&start.name);
        entry.guards.require(Condition::Compare(
            Operand::Path(count.path()),
            Comparator::Less,
            Operand::value(bound.unwrap_or(allowed)),
        ));
        Ok(())
    }

    /// Begins a window with the first that is counted.
    fn open_window(
        &mut self,
        at: EntryId,
        mut window: Map,
        start: (&'a Attribute, i64),
        end: (&'a Attribute, i64),
    ) {
        for (attribute, millis) in [start, end] {
            let time = Value::S(time::format_millis(millis));
            nested::set(&mut window, &attribute.name, attribute.kind.adopt(time));
        }
        let entry = self.entry_mut(at);
        match entry.old() {
            Some(_) => entry.guard(&start.0.name),
            None => entry.guards.require_absent(Refusal::Stale),
        }
        entry.after = Some(Rc::new(window));
    }

    fn count_aside(&mut self, limit: &'a Limit) -> Result<(), PlanError> {
        let Some(caller) = &self.context.caller.id else {
            return Ok(());
        };
        let partition = format!("LIMIT#{caller}");
        let address = sidecar::address(&self.context.blueprint.sidecar, &partition, &limit.name);
        let now = self.moment.now_millis;
        let mut windows = self.windows.iter_mut();
        if let Some(window) = windows.find(|window| window.address == address) {
            return window.count(now);
        }
        let stored = match self.context.item(&address) {
            Known::Found(item) => stored(item),
            Known::Missing | Known::Unread => None,
        };
        let mut window = Window {
            limit,
            address,
            stored,
            added: 0,
        };
        window.count(now)?;
        self.windows.push(window);
        Ok(())
    }

    /// The actions that count what the sidecar keeps the windows of.
    pub(crate) fn window_steps(&self) -> impl Iterator<Item = Step> {
        let windows = self.windows.iter();
        windows.map(|window| Step::or_stale(window.action(self.moment.now_millis)))
    }
}

impl Window<'_> {
    /// The stored window, while it lasts.
    fn open(&self, now_millis: i64) -> Option<(i64, u64)> {
        let is_open = |(start, _): &(i64, u64)| now_millis < end_of(self.limit, *start);
        self.stored.filter(is_open)
    }

    fn count(&mut self, now_millis: i64) -> Result<(), PlanError> {
        let (start, used) = self.open(now_millis).unwrap_or((now_millis, 0));
        if used.saturating_add(self.added) >= self.limit.count {
            return Err(reached(self.limit, start, now_millis));
        }
        self.added += 1;
        Ok(())
    }

    fn action(&self, now_millis: i64) -> TransactAction {
        let table = self.address.table.clone();
        let key = sidecar::key_at(&self.address);
        let began = |start: i64| Condition::equals(Path::attribute(START), Number::from(start));
        let Some((start, _)) = self.open(now_millis) else {
            let end = end_of(self.limit, now_millis);
            let mut item = key;
            item.extend([
                (COUNT.to_owned(), Value::N(Number::from(self.added))),
                (START.to_owned(), Value::N(Number::from(now_millis))),
                // It is only swept when it is over.
                (
                    sidecar::EXPIRES.to_owned(),
                    Value::N(Number::from(end.saturating_add(999) / 1000)),
                ),
            ]);
            let is_as_read = match self.stored {
                Some((start, _)) => began(start),
                None => sidecar::is_missing(),
            };
            return TransactAction::Put(PutItem {
                condition: Some(is_as_read),
                ..PutItem::new(table, item)
            });
        };
        let count = Path::attribute(COUNT);
        let has_room = Condition::Compare(
            Operand::Path(count.clone()),
            Comparator::LessOrEqual,
            Operand::value(Number::from(self.limit.count.saturating_sub(self.added))),
        );
        let mut update = Update::default();
        let sum = SetValue::Plus(
            SetOperand::Path(count.clone()),
            SetOperand::Value(Value::N(Number::from(self.added))),
        );
        update.set.push((count, sum));
        TransactAction::Update(UpdateItem {
            table,
            key,
            update,
            condition: Some(began(start).and(has_room)),
            return_item_on_failure: false,
        })
    }
}

/// When a window began and what it has counted, as the sidecar has it.
fn stored(item: &Item) -> Option<(i64, u64)> {
    let number = |name: &str| item.get(name)?.as_number()?.to_i64();
    Some((number(START)?, u64::try_from(number(COUNT)?).ok()?))
}

/// When a window that begins then ends.
fn end_of(limit: &Limit, start_millis: i64) -> i64 {
    let length = i64::try_from(limit.window_seconds).unwrap_or(i64::MAX / 1000);
    start_millis.saturating_add(length.saturating_mul(1000))
}

fn reached(limit: &Limit, start_millis: i64, now_millis: i64) -> PlanError {
    let wait_millis = end_of(limit, start_millis) - now_millis;
    PlanError::LimitReached {
        limit: limit.name.clone(),
        count: limit.count,
        window_seconds: limit.window_seconds,
        wait_seconds: u64::try_from(wait_millis).unwrap_or(0).div_ceil(1000),
    }
}
