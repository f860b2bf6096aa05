//! `[view.X]`: records that are kept for the items of an entity.

mod existence;
mod identity;

use crate::check::compile::{Compiled, attribute, earlier, rules};
use crate::check::declare::key::IndexKeys;
use crate::check::declare::sections::about;
use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord, Symbols, ViewOf};
use crate::check::declare::view::{inner_names, with_element};
use crate::check::resolve::names::Names;
use crate::check::resolve::{condition, each};
use crate::design::record::SOURCE;
use crate::design::{
    Argument, Attribute, IdentityPart, OnDelete, Record, Ref, RefTarget, RefTo, Repeat, Source,
    TableId, View,
};
use crate::document::Section;
use existence::{hidden_by, while_live};
use identity::{Check, check_states};

/// Compiles a view whose attributes and keys are declared, over its compiled source; `None` after
/// a report.
pub(crate) fn compile(
    record: &DeclaredRecord,
    mut section: Section<'_>,
    symbols: &Symbols,
    compiled: &Compiled<'_>,
    source: Option<&Record>,
) -> Option<Record> {
    let excuse = symbols.table(record).excuse();
    let about = about(&mut section);
    let view = record.view.as_ref()?;
    let Some(declared) = view.source.map(|source| &symbols[source]) else {
        section.finish_unless(excuse);
        return None;
    };
    let names = with_element(Names::of_source(symbols, declared), view.element.as_ref());
    let when = section.text("when");
    // A record exists while its condition holds, and a write to another item does not look at it. A
    // state is kept once, when it is replaced.
    let alone = Names {
        with_refs: view.history,
        ..names.clone()
    };
    let when = when.and_then(|when| condition::check(when, &alone));
    let distinct = section.text("distinct");
    let own: Vec<DeclaredAttribute> = record.own().cloned().collect();
    let inner = inner_names(&own, names.clone());
    let distinct = distinct.and_then(|text| each::distinct(text, &inner));
    let rules = rules::of_view(&mut section, record, symbols, compiled.actions);
    let was = earlier::was(&mut section, record, symbols);
    let fill = earlier::fill(&mut section, record, symbols);
    section.finish_unless(excuse);
    let check = Check {
        record,
        source: declared,
        derived: &view.derived,
        symbols,
    };
    check.all(&when);
    let hidden_by = hidden_by(&when, declared, view.history);
    let own = own_attributes(record, view, &names);
    let (source, rules, own) = (source?, rules?, own?);
    if view.history {
        check_states(record, view, source, &when, symbols);
    }
    let identity = record.identity()?;
    let attributes = with_source(own, record, view, source, &identity)?;
    Some(Record {
        id: record.id,
        name: record.name.clone(),
        about,
        path: None,
        table: TableId::new(record.table),
        key: record.keys.compile()?,
        indexes: record.indexes.iter().map(IndexKeys::compile).collect(),
        discriminator: record
            .discriminator
            .as_ref()
            .map(|(value, _)| value.clone()),
        also_marked: None,
        identity,
        refs: refs(source, &attributes),
        attributes,
        open: false,
        soft_delete: None,
        purge_after_days: None,
        require: None,
        repeat: Repeat::Refuse,
        unique: Vec::new(),
        was: was?,
        fill: fill?,
        view: Some(View {
            of: source.id,
            history: view.history,
            when: while_live(when, hidden_by.as_ref(), declared)?,
            each: view.each.clone().optional()?,
            distinct: distinct.optional()?,
            has_rules: rules.is_some(),
            hidden_by,
        }),
        rules: rules.unwrap_or_else(|| source.rules.clone()),
    })
}

/// The attributes that the view declares.
fn own_attributes(
    record: &DeclaredRecord,
    view: &ViewOf,
    names: &Names<'_>,
) -> Option<Vec<Attribute>> {
    // Own values are computed from the source, but belong to the record.
    let names = Names {
        record: Some(record),
        ..names.clone()
    };
    crate::check::all(record.own().map(|declared| {
        let mut derived = view.derived.iter();
        match derived.find(|(name, _)| *name == declared.name) {
            Some((name, value)) => Some(Attribute {
                kind: declared.kind.clone()?,
                optional: declared.optional,
                secret: declared.secret,
                ..Attribute::new(name, Source::Derived(value.clone()))
            }),
            None => attribute::one(declared, record, &names, &attribute::Assigned::new()),
        }
    }))
}

/// Own attributes, and what a record has beyond them: what it keeps, what its key holds, and what
/// is computed from these as in the source.
fn with_source(
    own: Vec<Attribute>,
    record: &DeclaredRecord,
    view: &ViewOf,
    source: &Record,
    identity: &[IdentityPart],
) -> Option<Vec<Attribute>> {
    let keep = view.keep.as_ref()?;
    let others = record.attributes.iter().filter(|one| !one.is_own);
    let others = others.map(|declared| {
        let is_kept = keep.contains(&declared.name);
        let found = source.stored(&declared.name).cloned();
        let element = || Attribute::element(&declared.name, declared.kind.clone());
        let found = found.unwrap_or_else(element);
        Attribute {
            inherited: true,
            implied: declared.is_implied,
            kept: is_kept,
            key_only: !is_kept,
            secret: found.secret || declared.secret,
            ..found
        }
    });
    let stored: Vec<Attribute> = own.into_iter().chain(others).collect();
    let is_new = |one: &&Attribute| stored.iter().all(|known| known.name != one.name);
    let computed = source.attributes.iter().filter(|one| one.is_virtual);
    let computed = computed.filter(is_new).map(|one| Attribute {
        inherited: true,
        ..one.clone()
    });
    let all = stored.iter().cloned().chain(computed);
    // A record has the values of its key.
    let is_part = |name: &str| identity.iter().any(|part| part.attribute == name);
    let all = all.map(|attribute| Attribute {
        lasting: is_part(&attribute.name),
        ..attribute
    });
    Some(all.collect())
}

/// The refs of a view's records: the one to the source, and those of the source.
fn refs(source: &Record, attributes: &[Attribute]) -> Vec<Ref> {
    let arguments = source.identity.iter().map(|part| {
        let name = part.attribute.as_str();
        let renamed = attributes.iter().find(|one| one.renames() == Some(name));
        let same = attributes
            .iter()
            .find(|one| one.name == name && one.inherited);
        Some(Argument {
            part: name.to_owned(),
            path: renamed.or(same)?.name.clone(),
            many: false,
        })
    });
    // A record without a part of the identity leads nowhere.
    let arguments: Option<Vec<Argument>> = arguments.collect();
    let to_source = arguments.map(|arguments| RefTarget {
        when: None,
        to: RefTo::Record(source.id),
        arguments,
        via: None,
        on_delete: OnDelete::Keep,
        finder: None,
    });
    let to_source = Ref {
        name: SOURCE.to_owned(),
        by: None,
        targets: to_source.into_iter().collect(),
        live: false,
        active: false,
        unchecked: true,
        optional: false,
    };
    std::iter::once(to_source)
        .chain(source.refs.iter().cloned())
        .collect()
}
