//! `[rows.X]`: rows of an older layout, and what becomes of each.

use crate::check::compile::action;
use crate::check::compile::effect::predicate;
use crate::check::declare::sections::about;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::declare::{attribute, index, key};
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::design::{Effect, Pattern, Rows, TableId};
use crate::document::{Field, Name, Section};
use crate::types::AttributeType;

/// Reads rows of an older layout; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    symbols: &Symbols,
    patterns: &[Option<Pattern>],
) -> Option<Rows> {
    let about = about(&mut section);
    let table = section.text("table").given();
    let table = table.and_then(|text| index::find_table(text, &symbols.tables));
    let table = table.unwrap_or(0);
    let inner = section.section("attributes");
    let draft = &symbols.tables[table];
    let mut record = DeclaredRecord {
        table,
        attributes: attribute::declare(inner, draft, &symbols.shapes),
        ..DeclaredRecord::new(symbols.records.len(), name, &section)
    };
    let keys = key::check(&mut section, draft, Some(&Names::own(symbols, &record)));
    record.keys = keys;
    let names = Names {
        with_caller: false,
        with_old: false,
        ..Names::of(symbols, &record)
    };
    let when = predicate(&mut section, "when", &names);
    let given = match &when {
        Field::Given(when) => names.clone().given([when]),
        _ => names.clone(),
    };
    let then = action::then(&mut section, &given, patterns);
    let delete = section.bool("delete").given().unwrap_or(false);
    section.finish();
    let then = then.filter(|then| stays_inside(then, name))?;
    if then.is_empty() && !delete {
        let message = "nothing becomes of these rows";
        name.report(Code::MissingKey, message)
            .help("write `[[rows.X.then]]` with `create` or `update`, or `delete = true`");
        return None;
    }
    collides(&record, when.is_absent(), symbols)?;
    let attributes = record.attributes.iter().map(|one| {
        let kind = one.kind.clone().unwrap_or(AttributeType::Any);
        (one.name.clone(), kind, one.optional)
    });
    Some(Rows {
        name: name.text.clone(),
        about,
        table: TableId::new(table),
        key: record.keys.compile()?,
        attributes: attributes.collect(),
        when: when.optional()?,
        then,
        delete,
    })
}

/// Whether nothing leaves the system: old rows are no event.
fn stays_inside(then: &[Effect], name: &Name) -> bool {
    let is_inside = then.iter().all(|effect| !effect.kind.is_outgoing());
    if !is_inside {
        let message = "rows of an older layout send nothing";
        name.report(Code::EffectTarget, message)
            .help("leave `mail` and `send` out");
    }
    is_inside
}

/// Reports rows that only their keys tell from the items of a record, and these do not.
fn collides(rows: &DeclaredRecord, is_unconditional: bool, symbols: &Symbols) -> Option<()> {
    let (partition, sort) = rows.keys.both()?;
    let mut records = symbols.records.iter().filter(|one| one.table == rows.table);
    let other = records.find(|record| {
        let both = record.keys.both();
        both.is_some_and(|(other_partition, other_sort)| {
            other_partition.shape.may_equal(&partition.shape)
                && other_sort.shape.may_equal(&sort.shape)
        })
    });
    let Some(other) = other.filter(|_| is_unconditional) else {
        return Some(());
    };
    let message = format!("items of `{}` have such keys, too", other.title());
    rows.report(Code::CollidingKeys, rows.span, message)
        .help("say with `when` which rows are meant, such as `attribute_not_exists(x)`")
        .related(other.span, "declared here");
    None
}
