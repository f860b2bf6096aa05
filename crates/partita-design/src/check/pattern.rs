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

use super::parameter;
use super::reference::DeclaredTarget;
use super::world::{Record, World};
use super::{about, table, url};
use crate::codes::Code;
use crate::design::{Parameter, Pattern, TableId};
use crate::diagnostic::Report;
use crate::document::section::Excuse;
use crate::document::{Field, Name, Section, Text};

/// Reads a pattern; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    world: &World,
    report: &mut Report,
) -> Option<Pattern> {
    let about = about(&mut section, report);
    section.touch(&["path"]);
    let params = parameter::check(&mut section, world, report);
    let returns = section.texts("returns", true, report);
    let home = home(&returns, world);
    let asked = asked::read(&mut section, world, &params, home, report);
    let filter_text = section.text("filter", report);
    let paging = paging::read(&mut section, report);
    let one = section.bool("one", report).given().unwrap_or(false);
    let with_deleted = include(&mut section, "deleted", report);
    let with_expired = include(&mut section, "expired", report);
    let is_filter_broken = matches!(filter_text, Field::Broken);
    let filter_text = filter_text.given();
    let parsed = match (&asked, filter_text) {
        (Some(asked), filter_text) => filter::parse(asked, filter_text, report),
        (None, _) => None,
    };
    let found = match (&asked, &parsed) {
        (Some(asked), Some(parsed)) if !is_filter_broken => {
            found::find(asked, parsed, &returns, &params, world, report)
        }
        _ => None,
    };
    let compiled = match (&parsed, &found) {
        (Some(parsed), Some(found)) => {
            let place = format!("pattern.{}", name.text);
            filter::check(&place, parsed, found, &params, world, report)
        }
        _ => None,
    };
    let sort = match (section.texts("sort", false, report), &found) {
        (Field::Given(names), Some(found)) => {
            let target = &found.records;
            paging::sort(&names, target, report)
        }
        (Field::Given(_) | Field::Broken, _) => None,
        (Field::Absent, _) => Some(Vec::new()),
    };
    let follow = section.text("follow", report);
    let follow = match &found {
        Some(found) => follow.and_then(|text| follow_ref(text, &found.records, report)),
        None => follow.and_then(|_| None),
    };
    section.finish(|_| Excuse::None, report);
    let (found, paging, compiled) = (found?, paging?, compiled?);
    let asked = asked?;
    let sort: Vec<_> = sort?;
    let mut parameters = found.parameters;
    for parameter in compiled.parameters {
        if parameters.iter().all(|known| known.name != parameter.name) {
            parameters.push(parameter);
        }
    }
    check_parameters(&parameters, &params, asked.span, report);
    let pattern = Pattern {
        id: world.pattern(&name.text)?,
        name: name.text.clone(),
        about,
        path: url::of_pattern(&name.text, &parameters, world, report),
        returns: found.records.iter().map(|record| record.id).collect(),
        parameters,
        text: asked.text.clone(),
        filter: compiled.predicate,
        texts: compiled.texts,
        follow: match follow {
            Field::Absent => None,
            Field::Broken => return None,
            Field::Given(name) => Some(name),
        },
        one,
        table: TableId::new(asked.table),
        read: asked.read,
        sort,
        whole: paging.whole,
        descending: paging.descending,
        limit: paging.limit,
        with_deleted,
        with_expired,
    };
    if one {
        one::check(world, &pattern, name.span, report);
    }
    Some(pattern)
}

/// The table of what a pattern says that it returns, as a position in the world's list.
fn home(returns: &Field<Vec<&Text>>, world: &World) -> Option<usize> {
    let Field::Given(names) = returns else {
        return None;
    };
    Some(world.find(names.first()?.as_str())?.table)
}

/// The API has parameters of its own beside those of a pattern; and every declared one is
/// used.
fn check_parameters(
    parameters: &[Parameter],
    declared: &[Parameter],
    span: partita_core::expression::Span,
    report: &mut Report,
) {
    for parameter in parameters {
        let name = &parameter.name;
        if ["limit", "cursor", "keys"].contains(&name.as_str()) {
            let message = format!("`{name}` is a parameter of every pattern");
            report
                .add(Code::InvalidName, span, message)
                .help("call the placeholder by another name");
        }
    }
    for parameter in declared {
        let name = &parameter.name;
        if parameters.iter().all(|used| used.name != *name) {
            let message = format!("the parameter `{name}` is used nowhere");
            report
                .add(Code::NeedlessKey, span, message)
                .help(format!("write `{{{name}}}`, or leave it out of `params`"));
        }
    }
}

/// `deleted = "include"`.
fn include(section: &mut Section<'_>, key: &str, report: &mut Report) -> bool {
    let text = section.text(key, report).given();
    text.and_then(|text| table::word(text, &["include"], key, report))
        .is_some()
}

/// The ref by which each row is replaced.
fn follow_ref(text: &Text, records: &[&Record], report: &mut Report) -> Option<String> {
    for record in records {
        let found = record.refs.iter().find(|one| one.name.0 == text.as_str());
        let leads_to_items = found.is_some_and(|one| {
            let is_item = |target: &DeclaredTarget| matches!(target, DeclaredTarget::Record { .. });
            one.targets.iter().all(is_item)
        });
        if !leads_to_items {
            let message = format!("`{}` has no ref `{}`", record.title(), text.as_str());
            report.add(Code::UnknownRef, text.span(), message).suggest(
                text.as_str(),
                record.refs.iter().map(|one| one.name.0.as_str()),
            );
            return None;
        }
    }
    Some(text.as_str().to_owned())
}
