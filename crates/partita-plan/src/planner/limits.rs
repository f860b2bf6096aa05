//! How often a caller has done something: a window of time and a count, in a record of the design.
//!
//! The window is counted in the transaction of what it limits: what is refused does not count, and
//! nobody slips through between a look and a write.

use std::rc::Rc;

use partita_core::expression::{Comparator, Condition, Operand};
use partita_core::{Map, Number, Value};
use partita_design::design::rules::LimitOf;
use partita_design::design::{Limit, LimitRecord};
use partita_design::template::dotted;
use partita_design::time::TimeForm;

use super::Planner;
use crate::draft::{Presence, Refusal};
use crate::error::PlanError;
use crate::nested;
use crate::scene::number_at;
use crate::shape::Shape;

impl<'a> Planner<'a> {
    /// Counts what the caller does, and refuses it when it was done too often.
    pub(super) fn count_towards(&mut self, done: &LimitOf) -> Result<(), PlanError> {
        let design = &self.context.blueprint.design;
        let Some(record) = &design.limit_record else {
            return Ok(());
        };
        for limit in design.limits.iter().filter(|limit| limit.of == *done) {
            self.count_one(limit, record)?;
        }
        Ok(())
    }

    fn count_one(&mut self, limit: &'a Limit, record: &'a LimitRecord) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let (Some(caller), Some(shape)) =
            (&self.context.caller.id, blueprint.shape(&record.entity))
        else {
            return Ok(());
        };
        let mut window = Map::new();
        nested::set(&mut window, &record.caller, Value::from(caller.as_str()));
        nested::set(&mut window, &record.limit, Value::from(limit.name.as_str()));
        let address = blueprint.address(shape, &window)?;
        let at = self.look_up(shape, address)?;
        let now = self.moment.now_millis;
        let length = i64::try_from(limit.window_seconds).unwrap_or(i64::MAX / 1000) * 1000;
        let start = self.entry(at).after.as_ref().and_then(|window| {
            let form = shape.kind(&record.start)?.time_form()?;
            form.read(nested::get(window, &record.start)?)
        });
        let open = start.filter(|start| now < start.saturating_add(length));
        let Some(start) = open else {
            self.open_window(at, shape, record, window, now.saturating_add(length));
            return Ok(());
        };
        let entry = self.entry_mut(at);
        let used = entry
            .old()
            .and_then(|old| number_at(shape, old, &record.count));
        let allowed = Number::from(limit.count);
        if used.is_some_and(|used| used >= allowed) {
            let wait_millis = start.saturating_add(length) - now;
            return Err(PlanError::LimitReached {
                limit: limit.name.clone(),
                count: limit.count,
                window_seconds: limit.window_seconds,
                wait_seconds: u64::try_from(wait_millis).unwrap_or(0).div_ceil(1000),
            });
        }
        entry.add(&record.count, Number::from(1_i64))?;
        entry.guard(&record.start);
        entry.conditions.push(Condition::Compare(
            Operand::Path(dotted(&record.count)),
            Comparator::Less,
            Operand::value(allowed),
        ));
        Ok(())
    }

    /// Begins a window with the first that is counted.
    fn open_window(
        &mut self,
        at: usize,
        shape: Shape<'a>,
        record: &'a LimitRecord,
        mut window: Map,
        end_millis: i64,
    ) {
        let time = |name: &str, millis: i64| {
            let form = shape.kind(name).and_then(|kind| kind.time_form());
            form.unwrap_or(TimeForm::EpochMillis).write(millis)
        };
        let now = self.moment.now_millis;
        nested::set(&mut window, &record.count, Value::N(Number::from(1_i64)));
        nested::set(&mut window, &record.start, time(&record.start, now));
        nested::set(&mut window, &record.end, time(&record.end, end_millis));
        let entry = self.entry_mut(at);
        match entry.old() {
            Some(_) => entry.guard(&record.start),
            None => entry.presence = Presence::Absent(Refusal::Stale),
        }
        entry.after = Some(Rc::new(window));
    }
}
