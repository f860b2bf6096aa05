//! `count of`, `sum of` and `copy`: numbers and values that follow other items.

use crate::check::declare::reference::DeclaredRef;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::resolve::condition;
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::design::{Aggregate, RefId};
use crate::expression::Reading;
use crate::spelling;
use crate::syntax::attribute::RawAggregate;
use crate::syntax::value::RawPath;

/// Reads `copy author.displayName`; `None` after a report.
pub(crate) fn copy(path: &RawPath, names: &Names<'_>) -> Option<Reading> {
    let reading = names.resolve(&path.path(), path.span)?;
    // One hop: each copy is checked against its neighbour only.
    if reading.hops.len() == 1 {
        return Some(reading);
    }
    let (message, help) = if reading.hops.is_empty() {
        (
            "a copy follows another item",
            "write `copy ref.attribute`, or `string = attribute` for an own attribute",
        )
    } else {
        (
            "a copy follows one ref",
            "let the item in between keep a copy too, and copy that",
        )
    };
    names.report(Code::CopyPath, path.span, message).help(help);
    None
}

/// Reads an aggregate over the items that refer to a record; `None` after a report.
pub(crate) fn check(
    raw: &RawAggregate,
    record: &DeclaredRecord,
    symbols: &Symbols,
) -> Option<Aggregate> {
    let of = symbols.resolve(&raw.of)?;
    let names = Names::own(symbols, of);
    let sum = match &raw.sum {
        Some(path) => Some(summed(path, &names)?),
        None => None,
    };
    let only = match &raw.only {
        Some(text) => Some(condition::check(text, &names)?),
        None => None,
    };
    let by = by(raw, of, record)?;
    Some(Aggregate {
        sum,
        of: of.id,
        by,
        only,
    })
}

fn summed(path: &RawPath, names: &Names<'_>) -> Option<String> {
    let name = path.names.join(".");
    let reading = names.resolve(&path.path(), path.span)?;
    if reading.kind.is_numeric() {
        return Some(reading.attribute);
    }
    let message = format!(
        "`{name}` is {}, which cannot be summed",
        reading.kind.noun()
    );
    names.report(Code::ValueType, path.span, message);
    None
}

/// The ref by which the counted items lead here.
fn by(raw: &RawAggregate, of: &DeclaredRecord, record: &DeclaredRecord) -> Option<RefId> {
    let leads_here = |reference: &&DeclaredRef| reference.leads_to(record.id);
    let candidates: Vec<&DeclaredRef> = of.refs.iter().filter(leads_here).collect();
    let titles: Vec<&str> = candidates.iter().map(|one| one.name.0.as_str()).collect();
    if let Some((name, span)) = &raw.by {
        if titles.contains(&name.as_str()) {
            return of.reference(name).map(|(id, _)| id);
        }
        let message = format!(
            "`{}` has no ref `{name}` to `{}`",
            of.title(),
            record.title()
        );
        of.report(Code::UnknownRef, *span, message)
            .suggest(name, titles);
        return None;
    }
    if of.refs.iter().any(|reference| reference.is_broken()) {
        return None;
    }
    let (message, help) = match titles.as_slice() {
        [one] => return of.reference(one).map(|(id, _)| id),
        [] => (
            format!("nothing in `{}` refers to `{}`", of.title(), record.title()),
            format!("write a ref in `[{}.refs]`", of.place),
        ),
        many => (
            format!(
                "`{}` refers to `{}` in several ways",
                of.title(),
                record.title()
            ),
            format!("write `by` and one of {}", spelling::list(many)),
        ),
    };
    of.report(Code::UnknownRef, raw.span, message).help(help);
    None
}
