//! `params` of actions and patterns.

use super::check_name;
use super::shapes;
use super::world::World;
use crate::codes::Code;
use crate::design::{Parameter, ParameterKind};
use crate::diagnostic::Report;
use crate::document::{Content, Section, section};
use crate::syntax::kind;
use crate::syntax::lexer::Cursor;
use crate::syntax::value;

/// Reads the parameters of a section; those with a mistake are left out.
pub(crate) fn check(
    section: &mut Section<'_>,
    world: &World,
    report: &mut Report,
) -> Vec<Parameter> {
    let Some(mut params) = section.section("params", report) else {
        return Vec::new();
    };
    let names: Vec<String> = world
        .shapes
        .iter()
        .map(|shape| shape.name.clone())
        .collect();
    let mut parameters = Vec::new();
    for (name, node) in params.all() {
        check_name(&name.text, name.span, report);
        let Content::Text(text) = &node.content else {
            section::report_type(report, node.span, &name.text, "a string", &node.content);
            continue;
        };
        let mut cursor = Cursor::new(text);
        let is_prefix = text.as_str().trim_start().starts_with("prefix of");
        if is_prefix {
            cursor.take_word("prefix");
            cursor.take_word("of");
            // The type is that of an attribute, which is known by its name.
            let attribute = cursor.word().map(|(word, span)| (word.to_owned(), span));
            let Some((attribute, span)) = attribute.filter(|_| cursor.is_at_end()) else {
                value::expected(&cursor, Code::AttributeSyntax, "an attribute", report);
                continue;
            };
            let found = world.entities().find_map(|record| record.find(&attribute));
            match found {
                Some(declared) => parameters.extend(declared.kind.clone().map(|kind| Parameter {
                    name: name.text.clone(),
                    kind: ParameterKind::PrefixOf(kind),
                    optional: false,
                })),
                None => {
                    let message = format!("no entity has an attribute `{attribute}`");
                    report.add(Code::UnknownAttribute, span, message);
                }
            }
            continue;
        }
        let Some(mut found) = kind::parse(&mut cursor, &names, report) else {
            continue;
        };
        // `secret` keeps a value out of logs.
        if cursor.take(",") && !cursor.take_word("secret") || !cursor.is_at_end() {
            value::expected(
                &cursor,
                Code::AttributeSyntax,
                "`, secret` or the end",
                report,
            );
            continue;
        }
        shapes::fill(&mut found.kind, &world.shapes);
        parameters.push(Parameter {
            name: name.text.clone(),
            kind: ParameterKind::Value(found.kind),
            optional: found.optional,
        });
    }
    parameters
}
