//! `count of`, `sum of` and `copy`: numbers and values that follow other items.

use partita_core::expression::{Path, Step};

use super::condition;
use super::names::Names;
use super::reference::DeclaredRef;
use super::world::{Record, World};
use crate::codes::Code;
use crate::design::{Aggregate, RefId};
use crate::diagnostic::Report;
use crate::expression::Reading;
use crate::spelling;
use crate::syntax::attribute::RawAggregate;
use crate::syntax::value::RawPath;

/// Reads `copy author.displayName`; `None` after a report.
pub(crate) fn copy(path: &RawPath, names: &Names<'_>, report: &mut Report) -> Option<Reading> {
    let written = Path {
        root: path.names.first()?.into(),
        steps: path.names[1..]
            .iter()
            .map(|name| Step::Field(name.into()))
            .collect(),
        span: path.span,
    };
    let reading = names.resolve(&written, path.span, report)?;
    // One hop: each copy is checked against its neighbour only.
    if reading.hops.len() == 1 {
        return Some(reading);
    }
    let (message, help) = match reading.hops.is_empty() {
        true => (
            "a copy follows another item",
            "write `copy ref.attribute`, or `string = attribute` for an own attribute",
        ),
        false => (
            "a copy follows one ref",
            "let the item in between keep a copy too, and copy that",
        ),
    };
    report.add(Code::CopyPath, path.span, message).help(help);
    None
}

/// Reads an aggregate over the items that refer to a record; `None` after a report.
pub(crate) fn check(
    raw: &RawAggregate,
    record: &Record,
    world: &World,
    report: &mut Report,
) -> Option<Aggregate> {
    let of = world.resolve(&raw.of, report)?;
    let names = Names::own(world, of);
    let sum = match &raw.sum {
        Some(path) => Some(summed(path, &names, report)?),
        None => None,
    };
    let only = match &raw.only {
        Some(text) => Some(condition::check(text, &names, report)?),
        None => None,
    };
    let by = by(raw, of, record, report)?;
    Some(Aggregate {
        sum,
        of: of.id,
        by,
        only,
    })
}

fn summed(path: &RawPath, names: &Names<'_>, report: &mut Report) -> Option<String> {
    let name = path.names.join(".");
    let written = crate::template::dotted(&name);
    let reading = names.resolve(&written, path.span, report)?;
    if reading.kind.is_numeric() {
        return Some(reading.attribute);
    }
    let message = format!(
        "`{name}` is {}, which cannot be summed",
        reading.kind.noun()
    );
    report.add(Code::ValueType, path.span, message);
    None
}

/// The ref by which the counted items lead here.
fn by(raw: &RawAggregate, of: &Record, record: &Record, report: &mut Report) -> Option<RefId> {
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
        report
            .add(Code::UnknownRef, *span, message)
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
    report.add(Code::UnknownRef, raw.span, message).help(help);
    None
}
