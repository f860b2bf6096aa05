//! Each section to its compiled form, every name resolved.
//!
//! | module | what it compiles |
//! |---|---|
//! | [`pattern`], [`parameter`] | `[pattern.X]` |
//! | [`trigger`], [`action`], [`effect`], [`steps`] | `[trigger.X]`, `[action.X]` |
//! | [`entity`], [`attribute`], [`aggregate`], [`rules`] | `[entity.X]` |
//! | [`mod@reference`], [`finder`] | refs, and the way back over them |
//! | [`view`] | `[view.X]` |
//! | [`schedule`] | `[schedule.X]` |
//! | [`limits`], [`bucket`], [`url`] | `[limit.X]`, `[bucket.X]`, `path` |
//! | [`accounts`] | `[accounts]` |
//! | [`earlier`], [`rows`] | `was` and `fill`; `[rows.X]` |
//!
//! Patterns come first, since refs and effects are found by them; then triggers and actions, since
//! what they write decides which attributes last; then entities, and views over their entities.

pub(crate) mod accounts;
pub(crate) mod action;
pub(crate) mod aggregate;
pub(crate) mod attribute;
pub(crate) mod bucket;
pub(crate) mod earlier;
pub(crate) mod effect;
pub(crate) mod entity;
pub(crate) mod finder;
pub(crate) mod limits;
pub(crate) mod parameter;
pub(crate) mod pattern;
pub(crate) mod reference;
pub(crate) mod rows;
pub(crate) mod rules;
pub(crate) mod schedule;
pub(crate) mod steps;
pub(crate) mod trigger;
pub(crate) mod url;
pub(crate) mod view;

use crate::check::all;
use crate::check::declare::sections::named;
use crate::check::declare::symbols::Symbols;
use crate::check::declare::variables::Variables;
use crate::check::declare::{Named, Sections, index};
use crate::design::{Action, Callers, Design, Pattern, Record, RecordId, Trigger};
use crate::document::Section;
use crate::kernel::{self, Reactions};
use crate::origin::Origin;

/// What is compiled before the records are.
pub(crate) struct Compiled<'c> {
    pub(crate) patterns: &'c [Option<Pattern>],
    pub(crate) actions: &'c [Option<Action>],
    pub(crate) assigned: &'c attribute::Assigned,
}

/// Compiles the sections of a design; `None` after a report.
pub(crate) fn compile<'d>(
    root: &mut Section<'d>,
    sections: Sections<'d>,
    symbols: &Symbols,
    variables: &Variables<'_>,
) -> Option<Design> {
    let patterns = each(sections.patterns, |(name, section)| {
        pattern::check(name, section, symbols)
    });
    let triggers = each(sections.triggers, |(name, section)| {
        trigger::check(name, section, symbols, &patterns)
    });
    let actions = each(sections.actions, |(name, section)| {
        action::check(name, section, symbols, &patterns)
    });
    let compiled = Compiled {
        patterns: &patterns,
        actions: &actions,
        assigned: &assigned(symbols, &triggers, &actions),
    };
    let records = compile_records(sections.records, symbols, &compiled);
    let limits = each(named(root, "limit"), |(name, section)| {
        limits::check(name, section, symbols)
    });
    let schedules = each(named(root, "schedule"), |(name, section)| {
        schedule::check(name, section, symbols, &patterns, &actions)
    });
    let rows = each(named(root, "rows"), |(name, section)| {
        rows::check(name, section, symbols, &patterns)
    });
    let accounts = accounts::check(root, symbols);
    if let Some(accounts) = &accounts {
        reference::needless_active(accounts.as_ref(), symbols);
    }
    let limit_record = limits::record(root, !limits.is_empty(), symbols);
    let buckets = each(sections.buckets, |(name, section)| {
        bucket::check(name, section, symbols, variables)
    });
    let tables = symbols.tables.iter().enumerate();
    let tables = all(tables.map(|(at, table)| table.compile(index::compile(at, symbols))));
    let administrators = rules::administrators(sections.caller, symbols);
    let records = all(records)?;
    let mut schedules = all(schedules)?;
    schedules.extend(schedule::purges(&records));
    let design = Design {
        name: sections.name?,
        about: sections.about,
        tables: tables?,
        callers: Callers {
            administrators: administrators.unwrap_or_default(),
            ..symbols.callers.clone()
        },
        constants: symbols.constants.clone(),
        records,
        actions: all(actions)?,
        triggers: all(triggers)?,
        schedules,
        patterns: all(patterns)?,
        limits: all(limits)?,
        limit_record,
        accounts: accounts?,
        buckets: all(buckets)?,
        rows: all(rows)?,
        reactions: Reactions::default(),
        origin: Origin::default(),
    };
    Some(Design {
        reactions: kernel::lower(&design),
        ..design
    })
}

fn each<'d, T>(
    sections: Vec<Named<'d>>,
    compile: impl FnMut(Named<'d>) -> Option<T>,
) -> Vec<Option<T>> {
    sections.into_iter().map(compile).collect()
}

/// Compiles entities, and then the views of them.
fn compile_records(
    sections: Vec<(RecordId, Section<'_>)>,
    symbols: &Symbols,
    compiled: &Compiled<'_>,
) -> Vec<Option<Record>> {
    let mut records: Vec<Option<Record>> = Vec::new();
    for (id, section) in sections {
        let declared = &symbols[id];
        records.push(match &declared.view {
            None => entity::compile(id, section, symbols, compiled),
            Some(view) => {
                let source = view
                    .source
                    .and_then(|source| records[source.index()].as_ref());
                view::compile(declared, section, symbols, compiled, source)
            }
        });
    }
    records
}

/// The attributes that actions and effects write. What is done to a view's record is done to its
/// entity.
fn assigned(
    symbols: &Symbols,
    triggers: &[Option<Trigger>],
    actions: &[Option<Action>],
) -> attribute::Assigned {
    let effects = triggers.iter().flatten().map(|one| &one.effect);
    let actions = actions.iter().flatten();
    let effects = effects.chain(actions.clone().flat_map(|one| &one.then));
    let effects = effects.map(|one| (one.target.records(), &one.changes));
    let actions = actions.map(|one| (one.on.all_records(), &one.changes));
    let mut assigned = attribute::Assigned::new();
    for (records, changes) in effects.chain(actions) {
        for record in records {
            let view = symbols[*record].view.as_ref();
            let entity = view.and_then(|view| view.source).unwrap_or(*record);
            let names = changes.names();
            assigned.extend(names.map(|name| (entity, name.to_owned())));
        }
    }
    assigned
}
