//! Names and places: which tables, records, attributes, refs and keys there are.
//!
//! | module | what it reads |
//! |---|---|
//! | [`symbols`] | nothing: the symbol table that the others fill |
//! | [`sections`] | the sections of the file and their names |
//! | [`table`], [`index`], [`variables`] | `[table]`, `[index]` |
//! | [`shapes`], [`constants`], [`caller`] | the sections of those names |
//! | [`entity`], [`view`] | `[entity.X]`, `[every]`, `[view.X]` |
//! | [`attribute`], [`mod@reference`], [`unique`], [`path`] | parts of these |
//! | [`key`], [`key_shape`] | key templates, and which keys they can give |
//! | [`collisions`], [`guard_collisions`] | nothing more: keys against each other, guards against keys and each other |
//! | [`keyspace`], [`collections`] | nothing more: keys that are legal and not good, lists without a bound |

pub(crate) mod attribute;
pub(crate) mod caller;
pub(crate) mod collections;
pub(crate) mod collisions;
pub(crate) mod constants;
pub(crate) mod entity;
pub(crate) mod guard_collisions;
pub(crate) mod index;
pub(crate) mod key;
pub(crate) mod key_shape;
pub(crate) mod keyspace;
pub(crate) mod path;
pub(crate) mod reference;
pub(crate) mod sections;
pub(crate) mod shapes;
pub(crate) mod symbols;
pub(crate) mod table;
pub(crate) mod unique;
pub(crate) mod variables;
pub(crate) mod view;

use crate::check::Renames;
use crate::design::RecordId;
use crate::document::{Lines, Name, Section};
use sections::{about, design_name, named, words};
use symbols::Symbols;
use variables::Variables;

/// A section with a name: `[pattern.X]`.
pub(crate) type Named<'d> = (&'d Name, Section<'d>);

/// What is left to be compiled.
pub(crate) struct Sections<'d> {
    pub(crate) name: Option<String>,
    pub(crate) about: Option<String>,
    pub(crate) records: Vec<(RecordId, Section<'d>)>,
    pub(crate) patterns: Vec<Named<'d>>,
    pub(crate) triggers: Vec<Named<'d>>,
    pub(crate) actions: Vec<Named<'d>>,
    pub(crate) buckets: Vec<Named<'d>>,
    pub(crate) caller: Option<Section<'d>>,
}

/// Reads all declarations, and gives the sections whose names are still to be resolved.
pub(crate) fn declare<'d>(
    root: &mut Section<'d>,
    lines: Lines,
    variables: &Variables<'_>,
    renames: &Renames,
) -> (Symbols, Sections<'d>) {
    let name = design_name(root);
    let about = about(root);
    let mut tables = table::check(root, variables);
    index::check(root, &mut tables);
    let buckets = named(root, "bucket");
    let actions = named(root, "action");
    let triggers = named(root, "trigger");
    let mut patterns = named(root, "pattern");
    let paths = patterns.iter_mut();
    let paths = paths.map(|(_, section)| path::read(section)).collect();
    let constants = named(root, "constants").into_iter();
    let mut symbols = Symbols {
        report: root.report.clone(),
        lines,
        tables,
        constants: constants
            .map(|(name, section)| constants::check(name, section))
            .collect(),
        shapes: shapes::check(named(root, "shape")),
        actions: words(&actions),
        patterns: words(&patterns),
        paths,
        triggers: words(&triggers),
        prefixes: prefix_names(&buckets),
        renames: renames.clone(),
        ..Symbols::default()
    };
    let records = declare_records(root, &mut symbols);
    let mut caller = root.section("caller");
    symbols.callers = caller::declare(caller.as_mut(), &symbols);
    collisions::check(&symbols);
    guard_collisions::check(&symbols);
    collections::check(&symbols);
    keyspace::check(&symbols);
    let sections = Sections {
        name,
        about,
        records,
        patterns,
        triggers,
        actions,
        buckets,
        caller,
    };
    (symbols, sections)
}

/// The names of the prefixes of all buckets.
fn prefix_names(buckets: &[Named<'_>]) -> Vec<String> {
    let names = buckets
        .iter()
        .flat_map(|(_, section)| section.peek_names("prefix"));
    names.map(str::to_owned).collect()
}

/// Declares all records: attributes, then refs, then keys.
fn declare_records<'d>(
    root: &mut Section<'d>,
    symbols: &mut Symbols,
) -> Vec<(RecordId, Section<'d>)> {
    let every = entity::every(root, &symbols.tables[0], &symbols.shapes);
    symbols.is_broken = every.is_broken;
    let mut entities = Vec::new();
    for (name, mut section) in named(root, "entity") {
        let record = entity::declare(name, &mut section, &every, symbols);
        entities.push((record.id, section));
        symbols.records.push(record);
    }
    let mut views = Vec::new();
    for (name, mut section) in named(root, "view") {
        let record = view::declare(name, &mut section, symbols);
        views.push((record.id, section));
        symbols.records.push(record);
    }
    for (id, section) in &mut entities {
        symbols[*id].refs = reference::declare(section.section("refs"), symbols);
    }
    entity::type_copies(symbols);
    for (id, section) in &mut entities {
        entity::keys(*id, section, &every, symbols);
    }
    entity::loosen_copies(symbols);
    for (id, section) in &mut views {
        view::keys(*id, section, symbols);
    }
    for record in &symbols.records {
        if let Some([_, sort]) = &symbols.table(record).keys {
            key::warn_of_numbers(record, sort);
        }
    }
    entities.extend(views);
    entities
}
