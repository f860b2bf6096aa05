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
mod lasting;
mod limits;
mod names;
mod outcome;
mod parameter;
mod pattern;
mod positions;
mod readable;
mod reference;
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
use crate::design::{Design, Entity, Pattern};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{self, Damage, Lines, Section, Table};
use crate::origin::Origin;
use names::Names;
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
        triggers: words(&triggers),
        prefixes: bucket::prefix_names(&buckets),
        ..World::default()
    };
    let mut records = declare(&mut root, &mut world, report);
    let sections = records.entities.iter_mut().map(|one| &mut one.section);
    let entity_paths: Vec<_> = sections.map(|one| url::read(one, report)).collect();
    let sections = patterns.iter_mut().map(|(_, section)| section);
    let pattern_paths: Vec<_> = sections.map(|one| url::read(one, report)).collect();
    world.callers.administrators = caller::check(&mut root, &world, report);
    collisions::check(&world, report);
    collections::check(&world, report);

    let (mut entities, mut refs) = compile_entities(records.entities, &world, report);
    keyspace::check(&world, &entities, report);
    let views: Vec<_> = records
        .views
        .into_iter()
        .map(|(index, pending)| pending.compile(index, &world, report))
        .collect();
    let mut patterns: Vec<Option<Pattern>> = patterns
        .into_iter()
        .map(|(name, section)| pattern::check(name, section, &world, report))
        .collect();
    readable::check(&world, &entities, &views, &patterns, report);
    unseen::check(&world, &entities, &refs, &views, &patterns, report);
    for (record, refs) in world.records.iter().zip(&mut refs) {
        let names = Names::of(&world, record);
        reference::bind_patterns(record, refs, &names, &patterns, report);
    }
    let triggers: Vec<_> = triggers
        .into_iter()
        .map(|(name, section)| trigger::check(name, section, &world, &patterns, report))
        .collect();
    let actions: Vec<_> = actions
        .into_iter()
        .map(|(name, section)| action::check(name, section, &world, &patterns, report))
        .collect();
    usage::check(&world, &entities, &refs, &patterns, report);
    followers::check(&world, &entities, &refs, &triggers, report);
    followers::action_rules(&world, &mut entities, &actions, report);
    clashes::check(&world, &entities, &refs, &triggers, &actions, report);
    steps::check(&world, &actions, report);
    url::check(
        &world,
        (entity_paths, &mut entities),
        (pattern_paths, &mut patterns),
        &actions,
        report,
    );
    let compiled = secrets::Compiled {
        entities: &entities,
        views: &views,
        patterns: &patterns,
        triggers: &triggers,
        actions: &actions,
    };
    secrets::check(&world, &compiled, report);
    positions::check(&world, &entities, &triggers, &actions, report);
    let limits: Vec<_> = named(&mut root, "limit", report)
        .into_iter()
        .map(|(name, section)| limits::check(name, section, &world, report))
        .collect();
    let limit_record = limits::record(&mut root, !limits.is_empty(), &world, report);
    let buckets: Vec<_> = buckets
        .into_iter()
        .map(|(name, section)| bucket::check(name, section, &world, variables, report))
        .collect();
    let mut tables = Vec::new();
    for (position, table) in world.tables.iter().enumerate() {
        let indexes = index::compile(position, &world, report);
        tables.push(table.compile(indexes));
    }

    let mut tables = tables.into_iter();
    let design = assemble(Pieces {
        name,
        about,
        table: tables.next().flatten(),
        other_tables: tables.collect(),
        entities: with_refs(entities, refs),
        views,
        actions,
        triggers,
        patterns,
        limits,
        buckets,
    });
    let design = design.map(|design| Design {
        callers: world.callers.clone(),
        constants: world.constants.clone(),
        limit_record,
        entities: lasting::marked(&design),
        ..design
    });
    let accepts = root.entry("accept");
    unknown_sections(&mut root, report);
    // A mistake elsewhere may be what makes a write so large.
    if let Some(design) = design.as_ref().filter(|_| !report.has_errors()) {
        sizes::check(&world, design, report);
        beyond::check(&world, design, report);
        files::check(&world, design, report);
    }
    accept::check(accepts, report);
    design
}

/// The sections of the records, while they are being read.
struct Records<'d> {
    entities: Vec<entity::Pending<'d>>,
    views: Vec<(usize, view::Pending<'d>)>,
}

/// Declares all records: attributes, then refs, then keys.
fn declare<'d>(root: &mut Section<'d>, world: &mut World, report: &mut Report) -> Records<'d> {
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
        world.records.push(record);
        entities.push(pending);
    }
    let mut views = Vec::new();
    for (name, section) in named(root, "view", report) {
        let (record, pending) = view::declare(name, section, world, report);
        world.records.push(record);
        views.push((world.records.len() - 1, pending));
    }
    let known = world.shapes.clone();
    let attributes = world
        .records
        .iter_mut()
        .flat_map(|record| &mut record.attributes);
    for kind in attributes.filter_map(|declared| declared.kind.as_mut()) {
        shapes::fill(kind, &known);
    }
    for (index, pending) in entities.iter_mut().enumerate() {
        let section = pending.section.section("refs", report);
        world.records[index].refs = reference::declare(section, world, report);
    }
    entity::type_copies(world);
    for (index, pending) in entities.iter_mut().enumerate() {
        pending.keys(index, world, report);
    }
    for (index, pending) in &mut views {
        pending.keys(*index, world, report);
    }
    for record in &world.records {
        if let Some([_, sort]) = &world.table(record).keys {
            key::warn_of_numbers(record, sort, report);
        }
    }
    Records { entities, views }
}

type Refs = Vec<crate::design::Ref>;

fn compile_entities(
    pending: Vec<entity::Pending<'_>>,
    world: &World,
    report: &mut Report,
) -> (Vec<Option<Entity>>, Vec<Refs>) {
    let compiled = pending.into_iter().enumerate().map(|(index, pending)| {
        match pending.compile(index, world, report) {
            Some((entity, refs)) => (Some(entity), refs),
            None => (None, Vec::new()),
        }
    });
    compiled.unzip()
}

fn with_refs(entities: Vec<Option<Entity>>, refs: Vec<Refs>) -> Vec<Option<Entity>> {
    let joined = entities.into_iter().zip(refs).map(|(entity, refs)| {
        let entity = entity?;
        Some(Entity { refs, ..entity })
    });
    joined.collect()
}

/// What a design is made of; each is `None` after a report.
struct Pieces {
    name: Option<String>,
    about: Option<String>,
    table: Option<crate::design::Table>,
    other_tables: Vec<Option<crate::design::Table>>,
    entities: Vec<Option<Entity>>,
    views: Vec<Option<crate::design::View>>,
    actions: Vec<Option<crate::design::Action>>,
    triggers: Vec<Option<crate::design::Trigger>>,
    patterns: Vec<Option<Pattern>>,
    limits: Vec<Option<crate::design::Limit>>,
    buckets: Vec<Option<crate::design::Bucket>>,
}

fn assemble(pieces: Pieces) -> Option<Design> {
    fn all<T>(list: Vec<Option<T>>) -> Option<Vec<T>> {
        list.into_iter().collect()
    }
    Some(Design {
        name: pieces.name?,
        about: pieces.about,
        table: pieces.table?,
        other_tables: all(pieces.other_tables)?,
        callers: Default::default(),
        constants: Vec::new(),
        entities: all(pieces.entities)?,
        views: all(pieces.views)?,
        actions: all(pieces.actions)?,
        triggers: all(pieces.triggers)?,
        patterns: all(pieces.patterns)?,
        limits: all(pieces.limits)?,
        limit_record: None,
        buckets: all(pieces.buckets)?,
        origin: Origin::default(),
    })
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
