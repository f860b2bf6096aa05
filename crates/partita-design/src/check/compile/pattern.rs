//! `[pattern.X]`: named reads, each served by the keys of some record.
//!
//! | module | question |
//! |---|---|
//! | [`asked`] | what does the pattern ask of which keys? |
//! | [`found`] | which records can that find, and do they agree with `returns`? |
//! | [`filter`] | which of those does the filter leave? |
//! | [`one`] | do the keys of a pattern of one lead to one item? |
//! | [`paging`] | how is the result ordered and cut into pages? |

mod asked;
mod filter;
mod found;
pub(crate) mod one;
mod paging;

use crate::check::compile::{parameter, rules, url};
use crate::check::declare::reference::{DeclaredRef, DeclaredTarget};
use crate::check::declare::sections::about;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::declare::table;
use crate::codes::Code;
use crate::design::{Follow, Parameter, Pattern, Read, RefTo, TableId};
use crate::document::{Field, Name, Section, Text};

/// Reads a pattern; `None` after a report.
pub(crate) fn check(name: &Name, mut section: Section<'_>, symbols: &Symbols) -> Option<Pattern> {
    let about = about(&mut section);
    section.touch(&["path"]);
    let params = parameter::check(&mut section, symbols);
    let returns = section.texts("returns", true);
    let home = home(&returns, symbols);
    let asked = asked::read(&mut section, symbols, &params, home);
    let filter_text = section.text("filter");
    let paging = paging::read(&mut section);
    let one = section.bool("one").given().unwrap_or(false);
    let with_deleted = include(&mut section, "deleted");
    let with_expired = include(&mut section, "expired");
    let fresh = section.bool("fresh").given().unwrap_or(false);
    if let Some(asked) = asked.as_ref().filter(|_| fresh) {
        check_fresh(&section, &asked.read);
    }
    let is_filter_broken = matches!(filter_text, Field::Broken);
    let filter_text = filter_text.given();
    let parsed = match (&asked, filter_text) {
        (Some(asked), filter_text) => filter::parse(asked, filter_text),
        (None, _) => None,
    };
    let found = match (&asked, &parsed) {
        (Some(asked), Some(parsed)) if !is_filter_broken => {
            found::find(asked, parsed, &returns, &params, symbols)
        }
        _ => None,
    };
    let compiled = match (&parsed, &found) {
        (Some(parsed), Some(found)) => {
            let place = format!("pattern.{}", name.text);
            filter::check(&place, parsed, found, &params, symbols)
        }
        _ => None,
    };
    let sort = match (section.texts("sort", false), &found) {
        (Field::Given(names), Some(found)) => {
            let target = &found.records;
            paging::sort(&names, target)
        }
        (Field::Given(_) | Field::Broken, _) => None,
        (Field::Absent, _) => Some(Vec::new()),
    };
    let allow = section.text("allow");
    let allow = match &found {
        Some(found) => allow.and_then(|text| rules::of_pattern(text, &found.records, symbols)),
        None => allow.and_then(|_| None),
    };
    let follow = section.text("follow");
    let follow = match &found {
        Some(found) => follow.and_then(|text| follow_ref(text, &found.records)),
        None => follow.and_then(|_| None),
    };
    section.finish();
    let (found, paging, compiled) = (found?, paging?, compiled?);
    let asked = asked?;
    let sort: Vec<_> = sort?;
    let mut parameters = found.parameters;
    for parameter in compiled.parameters {
        if parameters.iter().all(|known| known.name != parameter.name) {
            parameters.push(parameter);
        }
    }
    check_parameters(&parameters, &params, asked.span, symbols);
    let pattern = Pattern {
        id: symbols.pattern(&name.text)?,
        name: name.text.clone(),
        about,
        path: url::of_pattern(&name.text, &parameters, symbols),
        returns: found.records.iter().map(|record| record.id).collect(),
        parameters,
        text: asked.text.clone(),
        filter: compiled.predicate,
        texts: compiled.texts,
        follow: follow.optional()?,
        one,
        table: TableId::new(asked.table),
        read: asked.read,
        sort,
        whole: paging.whole,
        descending: paging.descending,
        limit: paging.limit,
        with_deleted,
        with_expired,
        allow: allow.optional()?,
        fresh,
    };
    if one {
        one::check(symbols, &pattern, name.span);
    }
    Some(pattern)
}

/// The table of what a pattern says that it returns, as a position in the symbols's list.
fn home(returns: &Field<Vec<&Text>>, symbols: &Symbols) -> Option<usize> {
    let Field::Given(names) = returns else {
        return None;
    };
    Some(symbols.find(names.first()?.as_str())?.table)
}

/// The API has parameters of its own beside those of a pattern; and every declared one is
/// used.
fn check_parameters(
    parameters: &[Parameter],
    declared: &[Parameter],
    span: partita_core::expression::Span,
    symbols: &Symbols,
) {
    for parameter in parameters {
        let name = &parameter.name;
        if ["limit", "cursor", "keys"].contains(&name.as_str()) {
            let message = format!("`{name}` is a parameter of every pattern");
            symbols
                .report(Code::InvalidName, span, message)
                .help("call the placeholder by another name");
        }
    }
    for parameter in declared {
        let name = &parameter.name;
        if parameters.iter().all(|used| used.name != *name) {
            let message = format!("the parameter `{name}` is used nowhere");
            symbols
                .report(Code::NeedlessKey, span, message)
                .help(format!("write `{{{name}}}`, or leave it out of `params`"));
        }
    }
}

/// Only an index is ever behind.
fn check_fresh(section: &Section<'_>, read: &Read) {
    let span = section.key_span("fresh").filter(|_| read.index().is_none());
    if let Some(span) = span {
        let message = "`fresh` has no effect, because a table is always read as it is now";
        section
            .report(Code::NeedlessKey, span, message)
            .help("leave `fresh` out");
    }
}

/// `deleted = "include"`.
fn include(section: &mut Section<'_>, key: &str) -> bool {
    let text = section.text(key).given();
    text.and_then(|text| table::word(text, &["include"], key))
        .is_some()
}

/// The ref by which each row is replaced.
fn follow_ref(text: &Text, records: &[&DeclaredRecord]) -> Option<Follow> {
    let name = text.as_str();
    let mut refs = Vec::new();
    for record in records {
        let is_item = |target: &DeclaredTarget| matches!(target.to, RefTo::Record(_));
        let leads_to_items = |one: &DeclaredRef| !one.is_broken() && one.known().all(is_item);
        let found = record.reference(name);
        let Some((id, _)) = found.filter(|(_, one)| leads_to_items(one)) else {
            let message = format!("`{}` has no ref `{name}`", record.title());
            let known = record.refs.iter().map(|one| one.name.0.as_str());
            text.report_here(Code::UnknownRef, message)
                .suggest(name, known);
            return None;
        };
        refs.push(id);
    }
    Some(Follow {
        name: name.to_owned(),
        refs,
    })
}
