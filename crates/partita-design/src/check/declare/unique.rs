//! `[entity.X.unique]`: the keys of guard items.

use crate::check::declare::sections::check_name;
use crate::check::resolve::names::Names;
use crate::check::resolve::value::Values;
use crate::codes::Code;
use crate::design::Unique;
use crate::document::Section;
use crate::syntax::template;

/// Reads the guards of an entity; `None` after a report.
pub(crate) fn check(section: &mut Section<'_>, names: &Names<'_>) -> Option<Vec<Unique>> {
    let Some(mut guards) = section.section("unique") else {
        return section.key_span("unique").is_none().then(Vec::new);
    };
    let mut found = Vec::new();
    let mut is_good = true;
    for (name, node) in guards.all() {
        check_name(&name.text, name.span, &name.report);
        let Some(text) = node.text(&name.text) else {
            is_good = false;
            continue;
        };
        let pieces = template::parse(text).filter(|pieces| template::is_separated(pieces, text));
        let mut values = Values::new(names);
        let template = pieces.and_then(|pieces| values.template(&pieces));
        let Some((partition, holes)) = template else {
            is_good = false;
            continue;
        };
        if holes.is_empty() {
            let message = "this guard has no value in it, so there could be only one item";
            section
                .report(Code::GuardWithoutValue, text.span(), message)
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
