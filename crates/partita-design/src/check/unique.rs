//! `[entity.X.unique]`: the keys of guard items.

use super::names::Names;
use super::value::Values;
use crate::codes::Code;
use crate::design::Unique;
use crate::diagnostic::Report;
use crate::document::{Content, Section, section};
use crate::syntax::template;

/// Reads the guards of an entity; `None` after a report.
pub(crate) fn check(
    section: &mut Section<'_>,
    names: &Names<'_>,
    report: &mut Report,
) -> Option<Vec<Unique>> {
    let Some(mut guards) = section.section("unique", report) else {
        return section.key_span("unique").is_none().then(Vec::new);
    };
    let mut found = Vec::new();
    let mut is_good = true;
    for (name, node) in guards.all() {
        super::check_name(&name.text, name.span, report);
        let Content::Text(text) = &node.content else {
            section::report_type(report, node.span, &name.text, "a string", &node.content);
            is_good = false;
            continue;
        };
        let pieces =
            template::parse(text, report).filter(|pieces| template::is_separated(pieces, report));
        let mut values = Values::new(names);
        let template = pieces.and_then(|pieces| values.template(&pieces, report));
        let Some((partition, holes)) = template else {
            is_good = false;
            continue;
        };
        if holes.is_empty() {
            let message = "this guard has no value in it, so there could be only one item";
            report
                .add(Code::GuardWithoutValue, text.span(), message)
                .help(format!("write `{}#{{{}}}`", text.as_str(), name.text));
            is_good = false;
        }
        found.push(Unique {
            name: name.text.clone(),
            partition,
            attributes: values
                .reads
                .into_iter()
                .map(|reading| reading.attribute)
                .collect(),
        });
    }
    is_good.then_some(found)
}
