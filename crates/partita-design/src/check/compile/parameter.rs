//! `params` of actions and patterns.

use crate::check::declare::sections::check_name;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Parameter, ParameterKind};
use crate::document::Section;
use crate::syntax::kind;
use crate::syntax::lexer::Cursor;

/// Reads the parameters of a section; those with a mistake are left out.
pub(crate) fn check(section: &mut Section<'_>, symbols: &Symbols) -> Vec<Parameter> {
    let Some(mut params) = section.section("params") else {
        return Vec::new();
    };
    let mut parameters = Vec::new();
    for (name, node) in params.all() {
        check_name(&name.text, name.span, &name.report);
        let Some(text) = node.text(&name.text) else {
            continue;
        };
        let mut cursor = Cursor::new(text, Code::AttributeSyntax);
        let is_prefix = text.as_str().trim_start().starts_with("prefix of");
        if is_prefix {
            cursor.take_word("prefix");
            cursor.take_word("of");
            // The type is that of an attribute, which is known by its name.
            let attribute = cursor.word().map(|(word, span)| (word.to_owned(), span));
            let Some((attribute, span)) = attribute.filter(|_| cursor.is_at_end()) else {
                cursor.expected("an attribute");
                continue;
            };
            let found = symbols
                .entities()
                .find_map(|record| record.find(&attribute));
            match found {
                Some(declared) => parameters.extend(declared.kind.clone().map(|kind| Parameter {
                    name: name.text.clone(),
                    kind: ParameterKind::PrefixOf(kind),
                    optional: false,
                })),
                None => {
                    let message = format!("no entity has an attribute `{attribute}`");
                    section.report(Code::UnknownAttribute, span, message);
                }
            }
            continue;
        }
        let Some(found) = kind::parse(&mut cursor, &symbols.shapes) else {
            continue;
        };
        // `secret` keeps a value out of logs.
        if cursor.take(",") && !cursor.take_word("secret") || !cursor.is_at_end() {
            cursor.expected("`, secret` or the end");
            continue;
        }
        parameters.push(Parameter {
            name: name.text.clone(),
            kind: ParameterKind::Value(found.kind),
            optional: found.optional,
        });
    }
    parameters
}
