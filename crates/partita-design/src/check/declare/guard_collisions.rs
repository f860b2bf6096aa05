//! Guards against all records of their table, and against each other.
//!
//! A record at the key of a guard could take, read and delete the values of others. Two guards of
//! one key would each take the other for one that was left behind.

use crate::check::declare::key_shape::KeyShape;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::declare::unique::DeclaredUnique;
use crate::codes::Code;
use crate::design::record::UNIQUE_SORT;

/// A guard, and the entity whose values it keeps.
#[derive(Clone, Copy)]
struct Guard<'s> {
    entity: &'s DeclaredRecord,
    declared: &'s DeclaredUnique,
}

pub(crate) fn check(symbols: &Symbols) {
    let records = symbols.records.iter();
    let guards: Vec<Guard<'_>> = records.flat_map(guards_of).collect();
    let sort = KeyShape::of_text(UNIQUE_SORT);
    for (index, guard) in guards.iter().enumerate() {
        for record in &symbols.records {
            against_record(*guard, record, &sort);
        }
        for earlier in &guards[..index] {
            against_guard(*guard, *earlier);
        }
    }
}

fn guards_of(entity: &DeclaredRecord) -> impl Iterator<Item = Guard<'_>> {
    let guards = entity.unique.iter().flatten();
    guards.map(move |declared| Guard { entity, declared })
}

fn against_record(guard: Guard<'_>, record: &DeclaredRecord, guard_sort: &KeyShape) {
    let (Some((partition, sort)), Some(written)) = (record.keys.both(), &record.keys.sort) else {
        return;
    };
    let is_apart = record.table != guard.entity.table
        || !partition.shape.may_equal(&guard.declared.shape)
        || !sort.shape.may_equal(guard_sort);
    if is_apart {
        return;
    }
    let message = format!(
        "the guard `{}` and `{}` can have the same key: the sort key of a guard is `{UNIQUE_SORT}`",
        guard.place(),
        record.place
    );
    let report = &guard.entity.report;
    report
        .add(Code::CollidingGuards, guard.declared.span, message)
        .help(format!(
            "begin the guard with a text of its own: `{}`",
            guard.suggested()
        ))
        .related(written.span, format!("the key of `{}`", record.place));
}

fn against_guard(guard: Guard<'_>, earlier: Guard<'_>) {
    let is_apart = guard.entity.table != earlier.entity.table
        || !guard.declared.shape.may_equal(&earlier.declared.shape);
    if is_apart {
        return;
    }
    let message = format!(
        "the guards `{}` and `{}` can have the same key, and a guard belongs to one of them",
        guard.place(),
        earlier.place()
    );
    let report = &guard.entity.report;
    report
        .add(Code::CollidingGuards, guard.declared.span, message)
        .help(format!(
            "begin it with a text of its own: `{}`; for values that both share, write an entity with the value as its identity, and create its item with the others",
            guard.suggested()
        ))
        .related(earlier.declared.span, format!("the key of `{}`", earlier.place()));
}

impl Guard<'_> {
    /// Its name in messages.
    fn place(&self) -> String {
        format!("{}.unique.{}", self.entity.place, self.declared.unique.name)
    }

    /// A template that is unlikely to meet others.
    fn suggested(&self) -> String {
        let unique = &self.declared.unique;
        let words = [self.entity.title(), &unique.name].map(str::to_uppercase);
        let values = unique.partition.holes().map(|hole| format!("{{{hole}}}"));
        let values: Vec<String> = values.collect();
        format!("UNIQUE#{}#{}", words.join("#"), values.join("#"))
    }
}
