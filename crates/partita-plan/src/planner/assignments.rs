//! Assignments of actions and effects: their values, and the changes that these make of an item.

use partita_core::Value;
use partita_design::design::{Assignments, Each, Record};
use partita_design::expression::Formula;
use partita_design::files::{Standing, lenders};

use super::Planner;
use crate::evaluate::ItemScope;
use crate::request::input::{Changes, Slot};

/// The values of assignments, in their order.
pub(crate) struct Values {
    set: Vec<Option<Value>>,
    add: Vec<Option<Value>>,
    /// Which of those that are set come from attributes that name files.
    lent: Vec<usize>,
}

/// The values that assignments give.
pub(crate) fn assigned(
    scope: &ItemScope<'_, '_>,
    assignments: &Assignments,
    each: Option<&Each>,
) -> Values {
    let of =
        |pairs: &[(String, Formula)]| pairs.iter().map(|(_, value)| value.value(scope)).collect();
    let has_files = !scope.context.blueprint.design.buckets.is_empty();
    let set = assignments.set.iter().enumerate();
    let lent = set.filter(|(_, (_, value))| has_files && lends(scope, value, each));
    let lent = lent.map(|(at, _)| at).collect();
    Values {
        set: of(&assignments.set),
        add: of(&assignments.add),
        lent,
    }
}

/// Whether a value is made of attributes that name files, and of nothing that a caller gives.
pub(crate) fn lends(scope: &ItemScope<'_, '_>, value: &Formula, each: Option<&Each>) -> bool {
    let standing = Standing {
        record: scope.record.id,
        refs: scope.refs,
        each,
    };
    let design = &scope.context.blueprint.design;
    !lenders(design, standing, value).is_empty()
}

impl<'a> Planner<'a> {
    /// The changes that an effect's values make of an item of this record.
    pub(crate) fn changes(
        &mut self,
        record: &'a Record,
        assignments: &'a Assignments,
        values: Values,
        is_new: bool,
    ) -> Changes<'a> {
        let mut changes = Changes {
            set: Vec::with_capacity(values.set.len()),
            ..Changes::default()
        };
        let lent = values.lent.iter().filter_map(|at| assignments.set.get(*at));
        changes.lent = lent.map(|(name, _)| name.as_str()).collect();
        for ((name, _), value) in assignments.set.iter().zip(values.set) {
            let Some(attribute) = record.stored(name) else {
                continue;
            };
            match value {
                Some(value) => {
                    let value = attribute.kind.adopt(value);
                    changes.set.push((Slot::Declared(attribute), value));
                }
                None if is_new => {}
                None => changes.remove.push(Slot::Declared(attribute)),
            }
        }
        for ((name, _), value) in assignments.add.iter().zip(values.add) {
            if let (Some(attribute), Some(Value::N(amount))) = (record.stored(name), value) {
                changes.add.push((attribute, amount));
            }
        }
        let removed = assignments.remove.iter();
        let removed = removed.filter_map(|name| record.stored(name));
        changes.remove.extend(removed.map(Slot::Declared));
        changes
    }
}
