//! What the new design of a migration demands of items, until it is served.
//!
//! The old design decides what is allowed. But all items must fit the new one when it is switched
//! to, so that nothing is written any more that does not.

use partita_design::design::{Attribute, Record};
use partita_design::nested;
use partita_design::union::Demand;

use super::Planner;
use super::values::lacking;
use crate::draft::EntryId;
use crate::error::{Fault, FaultRule, PlanError};
use crate::request::input::fault_of_value;

impl<'a> Planner<'a> {
    /// Finds everything that was written and does not fit the new design.
    pub(crate) fn check_demands(&mut self) -> Result<(), PlanError> {
        let Some(beside) = &self.context.blueprint.beside else {
            return Ok(());
        };
        for at in self.draft.ids() {
            let record = self.entry(at).record;
            for (of, name) in &beside.settled {
                if *of == record.id {
                    self.settle_default(at, record, name);
                }
            }
            let demand = beside.demands.iter().find(|one| one.record == record.id);
            if let Some(demand) = demand {
                self.check_demand(at, record, demand)?;
            }
        }
        Ok(())
    }

    fn check_demand(
        &mut self,
        at: EntryId,
        record: &'a Record,
        demand: &'a Demand,
    ) -> Result<(), PlanError> {
        for attribute in &demand.attributes {
            self.check_range(at, attribute);
        }
        let entry = self.entry(at);
        let (old, Some(new)) = (entry.old().cloned(), entry.after.clone()) else {
            return Ok(());
        };
        let is_all = entry.is_refilled || old.is_none();
        for attribute in demand.attributes.iter().filter(|one| is_stored(one)) {
            let name = &attribute.name;
            let was = old.as_ref().and_then(|old| nested::get(old, name));
            let is = nested::get(&new, name);
            if (!is_all && was == is) || self.is_faulty(name) {
                continue;
            }
            let fault = match is {
                Some(is) => fault_of_value(record, attribute, is),
                None if attribute.optional || attribute.when_missing(&*new).is_some() => None,
                None => {
                    let rule = FaultRule::Required;
                    let message = lacking(attribute);
                    Some(Fault::of(&record.name, name, rule, message))
                }
            };
            self.faults.extend(fault.map(|mut fault| {
                let demanded = self.context.blueprint.demanded();
                fault.message.insert_str(0, &demanded);
                fault
            }));
        }
        let Some(require) = &demand.require else {
            return Ok(());
        };
        let holds = self.evaluate(at, &new, |scope| require.holds(&scope.was(old.as_deref())))?;
        if !holds && self.faults.is_empty() {
            let name = require.own_attributes().next().unwrap_or(&record.name);
            let demanded = self.context.blueprint.demanded();
            let message = format!("{demanded}breaks the rule `{}`", require.text);
            self.fault(record, name, FaultRule::Requirement, message);
        }
        Ok(())
    }

    /// Whether a fault is in something that the served design does not have. That it has not got it
    /// is no demand of the other one.
    pub(super) fn is_demanded(&self, fault: &Fault) -> bool {
        if fault.rule == FaultRule::Unknown {
            return false;
        }
        let blueprint = self.context.blueprint;
        let record = fault.entity.as_deref();
        let record = record.and_then(|name| blueprint.design.find_entity(name));
        record.is_some_and(|record| blueprint.is_aside_attribute(record, &fault.attribute))
    }

    /// Stores the defaults of attributes that indexes hold by themselves, in an item that lacks them
    /// and is changed: it is read as having them, but it is in an index by what is stored.
    pub(super) fn complete_keys(&mut self, at: EntryId, record: &Record) {
        let blueprint = self.context.blueprint;
        let indexes = blueprint.design[record.table].indexes.iter();
        let keys = indexes.flat_map(|index| [Some(&index.partition), index.sort.as_ref()]);
        let native = keys.flatten().filter(|key| key.native);
        for name in native.map(|key| key.name.as_str()) {
            self.settle_default(at, record, name);
        }
    }

    /// Gives an item the default that it is read as having, before the design has another one.
    fn settle_default(&mut self, at: EntryId, record: &Record, name: &str) {
        let entry = self.entry_mut(at);
        let is_written = entry.is_refilled || entry.is_rewritten();
        let Some(after) = entry.after.as_ref().filter(|_| is_written) else {
            return;
        };
        let value = match nested::get(after, name) {
            Some(_) => None,
            None => record.when_missing(after, name),
        };
        if let (Some(value), Some(after)) = (value, entry.edit()) {
            nested::set(after, name, value);
        }
    }
}

fn is_stored(attribute: &Attribute) -> bool {
    !attribute.is_virtual && !attribute.key_only
}
