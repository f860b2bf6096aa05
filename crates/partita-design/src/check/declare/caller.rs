//! `[caller]`: who callers are.

use crate::check::declare::sections::spot;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::design::{CallerSource, Callers, Rule};
use crate::document::{Field, Section, Text};
use crate::types::AttributeType;

/// Reads who callers are. Who administrates is left to be compiled.
pub(crate) fn declare(section: Option<&mut Section<'_>>, symbols: &Symbols) -> Callers {
    let Some(section) = section else {
        return Callers::default();
    };
    section.touch(&["type", "administrators"]);
    let roles = section.texts("roles", false).given().unwrap_or_default();
    let entity = section.text("type").given();
    let record = entity.and_then(|text| symbols.resolve(&spot(text)));
    let mut source = |key: &str| match section.text(key) {
        Field::Given(text) => {
            match record {
                Some(record) => check_attribute(key, text, record),
                None if entity.is_none() => {
                    let message = format!("`{key}` is an attribute, but of which entity?");
                    text.report_here(Code::MissingKey, message)
                        .help("write `type = \"User\"`: the entity that callers are");
                }
                None => {}
            }
            CallerSource::Attribute(spot(text).0)
        }
        _ => CallerSource::Token,
    };
    let callers = Callers {
        entity: record.map(|record| record.id),
        roles: roles.iter().map(|text| spot(text).0).collect(),
        role: source("role"),
        groups: source("groups"),
        administrators: Rule::default(),
    };
    section.finish();
    callers
}

fn check_attribute(key: &str, text: &Text, record: &DeclaredRecord) {
    let Some(attribute) = record.resolve_used(text.as_str(), text.span()) else {
        return;
    };
    let Some(kind) = &attribute.kind else { return };
    let (fits, expected) = if key == "groups" {
        let is_list = matches!(kind, AttributeType::List { .. } | AttributeType::Set(_));
        (is_list, "a list of strings")
    } else {
        let is_text = kind.stored_as() == Some(partita_core::Type::S);
        (is_text, "a string")
    };
    if !fits {
        let message = format!("`{}` is {}, not {expected}", text.as_str(), kind.noun());
        text.report_here(Code::ValueType, message)
            .related(attribute.span, "declared here");
    }
}
