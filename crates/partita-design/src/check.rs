//! From a file to a [`Design`], or to everything that is wrong with it.
//!
//! Declarations first, in [`world`]; then whatever reads names, in this order:
//!
//! | module | what it checks |
//! |---|---|
//! | [`sections`] | the sections of the file and their names |
//! | [`table`], [`index`], [`variables`] | `[table]`, `[index]` |
//! | [`shapes`], [`constants`], [`caller`], [`bucket`], [`limits`] | the sections of those names |
//! | [`entity`], [`attribute`], [`unique`] | `[entity.X]` and `[every]` |
//! | [`view`], [`each`], [`readable`] | `[view.X]` |
//! | [`key`], [`shape`] | key templates, and which keys they can give |
//! | [`mod@reference`], [`finder`] | refs, and the way back over them |
//! | [`aggregate`] | `count`, `sum` and `copy` |
//! | [`rules`] | `[entity.X.allow]` |
//! | [`pattern`], [`parameter`] | `[pattern.X]` |
//! | [`trigger`], [`action`], [`effect`] | `[trigger.X]`, `[action.X]` |
//! | [`names`], [`condition`], [`value`] | what names mean, in conditions and values |
//! | [`outcome`] | conditions that do not say what they seem to |
//! | [`collisions`] | keys and discriminators of all records against each other |
//! | [`keyspace`], [`usage`] | keys and indexes that are legal, but not good |
//! | [`followers`] | what follows other items: whether it can, and whether it ends |
//! | [`clashes`], [`steps`], [`positions`] | effects against each other, against the steps of states, and positions against deletes |
//! | [`periods`], [`requirements`] | counters of periods against what adds to them, and what entities require |
//! | [`collections`], [`secrets`], [`unseen`] | lists without a bound, secrets that are shown elsewhere, rows that nobody sees |
//! | [`sizes`] | writes that take more actions than a transaction has |
//! | [`beyond`] | effects on items that the caller of their cause need not be allowed to see |
//! | [`files`] | names of files, and who keeps the files |
//! | [`url`] | `path` of entities and patterns: where they are in URLs |
//! | [`accept`] | `[[accept]]` |
//!
//! Every step works on what the steps before it could read. What was broken there is known to be
//! broken here, so that one mistake has one diagnostic.

mod accept;
mod action;
mod aggregate;
mod attribute;
mod beyond;
mod bucket;
mod caller;
mod clashes;
mod collections;
mod collisions;
mod condition;
mod constants;
mod each;
mod effect;
mod entity;
mod files;
mod finder;
mod followers;
mod index;
mod key;
mod keyspace;
mod limits;
mod names;
mod outcome;
mod parameter;
mod pattern;
mod periods;
mod positions;
mod readable;
mod reference;
mod requirements;
mod rules;
mod secrets;
mod sections;
mod shape;
mod shapes;
mod sizes;
mod steps;
mod table;
mod trigger;
mod unique;
mod unseen;
mod url;
mod usage;
mod value;
mod variables;
mod view;
mod world;

use std::cell::RefCell;

use partita_core::expression::Span;

use crate::codes::Code;
use crate::design::{Action, Assignments, Design, Pattern, Record, RecordId, Trigger};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{self, Damage, Lines, Section, Table};
use crate::kernel::{self, Reactions};
use crate::origin::Origin;
use sections::{about, check_name, design_name, named, spot, unknown_sections, words};
use variables::{Used, Variables};
use world::World;

/// Reads, checks and compiles a design.
///
/// `variables` gives the values of variables such as `TABLE_NAME` in `{TABLE_NAME | stories}`.
/// All mistakes are reported at once; with an error there is no design. Warnings that an
/// `[[accept]]` of the file covers are left out.
pub fn check(
    source: &str,
    variables: &dyn Fn(&str) -> Option<String>,
) -> (Option<Design>, Vec<Diagnostic>) {
    let mut report = Report::default();
    let file = document::read(source, &mut report);
    let not_toml = report.findings().len();
    let used = RefCell::new(Used::default());
    let variables = Variables {
        given: variables,
        used: &used,
    };
    let lines = Lines::new(source);
    let places = document::places(&file, &lines);
    let design = compile(&file, lines, variables, &mut report);
    forget_illusions(source, not_toml, &mut report);
    let design = match report.has_errors() {
        true => None,
        false => design,
    };
    let used = used.into_inner();
    let design = design.map(|design| Design {
        origin: Origin {
            text: source.to_owned(),
            variables: used.all,
            given: used.given,
            is_shipped: false,
            lines: places,
        },
        ..design
    });
    (design, report.into_diagnostics())
}

/// What was compiled before the records are.
pub(crate) struct Compiled<'c> {
    pub(crate) patterns: &'c [Option<Pattern>],
    pub(crate) actions: &'c [Option<Action>],
    pub(crate) assigned: &'c attribute::Assigned,
}

fn compile(
    file: &Table,
    lines: Lines,
    variables: Variables<'_>,
    report: &mut Report,
) -> Option<Design> {
    let mut root = Section::new("", Span::new(0, 0), file);
    let name = design_name(&mut root, report);
    let about = about(&mut root, report);
    let mut tables = table::check(&mut root, variables, report);
    index::check(&mut root, &mut tables, report);

    let buckets = named(&mut root, "bucket", report);
    let actions = named(&mut root, "action", report);
    let triggers = named(&mut root, "trigger", report);
    let mut patterns = named(&mut root, "pattern", report);
    let paths = patterns.iter_mut();
    let paths = paths
        .map(|(_, section)| url::read(section, report))
        .collect();
    let constants = named(&mut root, "constants", report);
    let mut world = World {
        lines,
        tables,
        shapes: shapes::check(named(&mut root, "shape", report), report),
        constants: constants
            .into_iter()
            .map(|(name, section)| constants::check(name, section, report))
            .collect(),
        callers: caller::read(&mut root, report),
        actions: words(&actions),
        patterns: words(&patterns),
        paths,
        triggers: words(&triggers),
        prefixes: bucket::prefix_names(&buckets),
        ..World::default()
    };
    let declared = declare(&mut root, &mut world, report);
    world.callers.entity = caller::entity(&mut root, &world, report);
    world.callers.administrators = caller::check(&mut root, &world, report);
    collisions::check(&world, report);
    collections::check(&world, report);
    keyspace::check(&world, report);

    let patterns: Vec<_> = patterns
        .into_iter()
        .map(|(name, section)| pattern::check(name, section, &world, report))
        .collect();
    let triggers: Vec<_> = triggers
        .into_iter()
        .map(|(name, section)| trigger::check(name, section, &world, &patterns, report))
        .collect();
    let actions: Vec<_> = actions
        .into_iter()
        .map(|(name, section)| action::check(name, section, &world, &patterns, report))
        .collect();
    let assigned = assigned(&triggers, &actions);
    let compiled = Compiled {
        patterns: &patterns,
        actions: &actions,
        assigned: &assigned,
    };
    let records = compile_records(declared, &world, &compiled, report);
    let limits: Vec<_> = named(&mut root, "limit", report)
        .into_iter()
        .map(|(name, section)| limits::check(name, section, &world, report))
        .collect();
    let limit_record = limits::record(&mut root, !limits.is_empty(), &world, report);
    let buckets: Vec<_> = buckets
        .into_iter()
        .map(|(name, section)| bucket::check(name, section, &world, variables, report))
        .collect();
    let tables = world.tables.iter().enumerate();
    let tables = tables.map(|(at, table)| table.compile(index::compile(at, &world, report)));
    let tables: Vec<_> = tables.collect();
    let accepts = root.entry("accept");
    unknown_sections(&mut root, report);

    let design = all(tables).and_then(|tables| {
        Some(Design {
            name: name?,
            about,
            tables,
            callers: world.callers.clone(),
            constants: world.constants.clone(),
            records: all(records)?,
            actions: all(actions)?,
            triggers: all(triggers)?,
            patterns: all(patterns)?,
            limits: all(limits)?,
            limit_record,
            buckets: all(buckets)?,
            reactions: Reactions::default(),
            origin: Origin::default(),
        })
    });
    let design = design.map(|design| Design {
        reactions: kernel::lower(&design),
        ..design
    });
    // A mistake may be the reason for what a lint would report.
    if let Some(design) = design.as_ref().filter(|_| !report.has_errors()) {
        lint(&world, design, report);
    }
    accept::check(accepts, report);
    design
}

/// Looks at a finished design for what is legal, and is not good or does not do what it seems to.
fn lint(world: &World, design: &Design, report: &mut Report) {
    readable::check(world, design, report);
    unseen::check(world, design, report);
    usage::check(world, design, report);
    followers::check(world, design, report);
    clashes::check(world, design, report);
    url::check(world, design, report);
    secrets::check(world, design, report);
    positions::check(world, design, report);
    periods::check(world, design, report);
    requirements::check(world, design, report);
    sizes::check(world, design, report);
    beyond::check(world, design, report);
    files::check(world, design, report);
}

/// The attributes that actions and effects write.
fn assigned(triggers: &[Option<Trigger>], actions: &[Option<Action>]) -> attribute::Assigned {
    let effects = triggers.iter().flatten().map(|one| &one.effect.changes);
    let actions = actions.iter().flatten();
    let actions = actions.flat_map(|one| {
        let effects = one.then.iter().map(|effect| &effect.changes);
        std::iter::once(&one.changes).chain(effects)
    });
    let names = effects.chain(actions).flat_map(Assignments::names);
    names.map(str::to_owned).collect()
}

/// All of some pieces; `None` if one is missing after a report.
fn all<T>(pieces: Vec<Option<T>>) -> Option<Vec<T>> {
    pieces.into_iter().collect()
}

/// The sections of the records, while they are being read.
struct Declared<'d> {
    entities: Vec<(RecordId, entity::Pending<'d>)>,
    views: Vec<(RecordId, view::Pending<'d>)>,
}

/// Declares all records: attributes, then refs, then keys.
fn declare<'d>(root: &mut Section<'d>, world: &mut World, report: &mut Report) -> Declared<'d> {
    let shape_names: Vec<String> = world
        .shapes
        .iter()
        .map(|shape| shape.name.clone())
        .collect();
    let every = entity::every(root, &world.tables[0], &shape_names, report);
    world.is_broken = every.is_broken;
    let mut entities = Vec::new();
    for (name, section) in named(root, "entity", report) {
        let (record, pending) = entity::declare(name, section, &every, world, report);
        entities.push((record.id, pending));
        world.records.push(record);
    }
    let mut views = Vec::new();
    for (name, section) in named(root, "view", report) {
        let (record, pending) = view::declare(name, section, world, report);
        views.push((record.id, pending));
        world.records.push(record);
    }
    let known = world.shapes.clone();
    let attributes = world
        .records
        .iter_mut()
        .flat_map(|record| &mut record.attributes);
    for kind in attributes.filter_map(|declared| declared.kind.as_mut()) {
        shapes::fill(kind, &known);
    }
    for (id, pending) in &mut entities {
        let section = pending.section.section("refs", report);
        world[*id].refs = reference::declare(section, world, report);
    }
    entity::type_copies(world);
    for (id, pending) in &mut entities {
        pending.keys(*id, world, report);
    }
    for (id, pending) in &mut views {
        pending.keys(*id, world, report);
    }
    for record in &world.records {
        if let Some([_, sort]) = &world.table(record).keys {
            key::warn_of_numbers(record, sort, report);
        }
    }
    Declared { entities, views }
}

/// Compiles entities, and then the views of them.
fn compile_records(
    declared: Declared<'_>,
    world: &World,
    compiled: &Compiled<'_>,
    report: &mut Report,
) -> Vec<Option<Record>> {
    let mut records: Vec<Option<Record>> = Vec::new();
    for (id, pending) in declared.entities {
        records.push(pending.compile(id, world, compiled, report));
    }
    for (id, pending) in declared.views {
        let source = world[id].view.as_ref().and_then(|view| view.source);
        let source = source.and_then(|source| records[source.index()].as_ref());
        let view = pending.compile(id, world, (source, compiled.actions), report);
        records.push(view);
    }
    records
}

/// Where lines are not TOML, only such mistakes count as are visible in a line of their own.
/// `not_toml` is how many findings there were before the lines were looked at.
fn forget_illusions(source: &str, not_toml: usize, report: &mut Report) {
    let mut damage = Damage::default();
    for finding in &report.findings()[..not_toml] {
        // Newer TOML is understood, only not allowed.
        if finding.diagnostic.code != Code::TomlVersion {
            damage.add(source, finding.diagnostic.span);
        }
    }
    if damage.is_empty() {
        return;
    }
    let mut index = 0;
    report.retain(|finding| {
        index += 1;
        let Diagnostic { code, span, .. } = &finding.diagnostic;
        index <= not_toml || (code.is_local() && !damage.covers(source, *span))
    });
}
