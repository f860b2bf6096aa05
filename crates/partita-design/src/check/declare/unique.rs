//! `[entity.X.unique]`: the keys of guard items.

use partita_core::expression::Span;

use crate::check::declare::key_shape::KeyShape;
use crate::check::declare::sections::check_name;
use crate::check::resolve::names::Names;
use crate::check::resolve::value::{Typed, Values};
use crate::codes::Code;
use crate::design::Unique;
use crate::document::Section;
use crate::syntax::template;
use crate::template::Template;

/// A guard, and which partition keys it can have.
#[derive(Debug)]
pub(crate) struct DeclaredUnique {
    pub(crate) unique: Unique,
    pub(crate) shape: KeyShape,
    /// The place of its template.
    pub(crate) span: Span,
}

/// Reads the guards of an entity; `None` after a report.
pub(crate) fn check(section: &mut Section<'_>, names: &Names<'_>) -> Option<Vec<DeclaredUnique>> {
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
        let attributes = values.reads.into_iter().map(|reading| reading.attribute);
        found.push(DeclaredUnique {
            shape: shape(&partition, &holes),
            unique: Unique {
                name: name.text.clone(),
                partition,
                attributes: attributes.collect(),
            },
            span: text.span(),
        });
    }
    is_good.then_some(found)
}

/// Which keys a guard can have. What a function or a fallback gives is taken for any text.
fn shape(partition: &Template, holes: &[Typed]) -> KeyShape {
    let holes = holes.iter().zip(partition.holes());
    let mut kinds = holes.map(|(typed, hole)| {
        let kind = typed.sort.kind().filter(|_| hole.name().is_some());
        kind.cloned()
    });
    KeyShape::new(partition, |_| kinds.next().flatten())
}
