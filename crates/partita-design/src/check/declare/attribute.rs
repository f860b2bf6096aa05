//! `[entity.X.attributes]`: which attributes there are, and what their lines say.

use partita_core::expression::Span;

use crate::check::declare::sections::check_name;
use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord};
use crate::check::declare::table;
use crate::codes::Code;
use crate::document::{Content, Name, Node, Section};
use crate::syntax::attribute::{self, Head, Line};
use crate::types::{AttributeType, Shape};

/// Maps inside one another. Far beyond any real design.
const DEPTH_MAX: usize = 16;

/// Reads the attributes of a section. Names of the table are refused.
pub(crate) fn declare(
    section: Option<Section<'_>>,
    table: &table::Draft,
    shapes: &[Shape],
) -> Vec<DeclaredAttribute> {
    let mut declared = Vec::new();
    let entries = section.map_or(&[][..], |mut section| section.all());
    for (name, node) in entries {
        if table.reserved().any(|reserved| reserved == name.text) {
            let message = format!("`{}` belongs to the table", name.text);
            name.report(Code::DuplicateName, message)
                .help("give the attribute another name");
        } else {
            check_name(&name.text, name.span, &name.report);
        }
        entry(name.text.clone(), name, node, 0, shapes, &mut declared);
    }
    declared
}

fn entry(
    whole: String,
    name: &Name,
    node: &Node,
    depth: usize,
    shapes: &[Shape],
    declared: &mut Vec<DeclaredAttribute>,
) {
    let line = match &node.content {
        Content::Text(text) => attribute::parse(text, &[], shapes),
        Content::List(list) => with_cases(node, list, shapes),
        // INVARIANT: recursion ends here, so hostile input cannot exhaust the stack.
        Content::Table(_) if depth == DEPTH_MAX => {
            let message = format!("maps nest at most {DEPTH_MAX} deep");
            name.report(Code::AttributeSyntax, message);
            Line::default()
        }
        Content::Table(entries) => {
            for (inner, node) in entries {
                check_name(&inner.text, inner.span, &inner.report);
                let whole = format!("{whole}.{}", inner.text);
                entry(whole, inner, node, depth + 1, shapes, declared);
            }
            return;
        }
        _ => {
            node.refuse(&name.text, "a string");
            Line::default()
        }
    };
    declared.push(DeclaredAttribute::new(whole, name.span, line));
}

/// A line, and behind it the cases of its value.
fn with_cases(node: &Node, list: &[Node], shapes: &[Shape]) -> Line {
    if let [line, cases @ ..] = list
        && let Content::Text(text) = &line.content
        && !cases.is_empty()
    {
        return attribute::parse(text, cases, shapes);
    }
    let message = "an attribute with cases is a list: its line, then the cases";
    node.report(Code::AttributeSyntax, node.span, message)
        .help("write `[\"enum image | video default\", { when = \"…\", is = \"image\" }, { is = \"video\" }]`");
    Line::default()
}

impl DeclaredAttribute {
    /// A declaration from its line.
    pub(crate) fn new(name: String, span: Span, line: Line) -> DeclaredAttribute {
        let kind = match &line.head {
            Some(Head::Typed(kind)) => Some(kind.clone()),
            Some(Head::Aggregate(raw)) if raw.sum.is_none() => Some(AttributeType::Counter),
            Some(Head::Aggregate(_)) => Some(AttributeType::Number(Default::default())),
            Some(Head::Untyped | Head::Copy(_)) | None => None,
        };
        DeclaredAttribute {
            name,
            spelled: None,
            span,
            optional: line.optional,
            key_only: line.key_only.is_some(),
            is_virtual: line.is_virtual.is_some(),
            secret: line.secret.is_some() || kind == Some(AttributeType::Password),
            kind,
            is_own: true,
            is_implied: false,
            alias: line.alias.clone(),
            line,
        }
    }
}

/// One name means one thing: an attribute, an alias or a reference.
pub(crate) fn unique_names(attributes: &[DeclaredAttribute], section: &Section<'_>) {
    for (index, one) in attributes.iter().enumerate() {
        let Some((alias, span)) = &one.alias else {
            continue;
        };
        check_name(alias, *span, &section.report);
        let named = attributes.iter().find(|other| other.name == *alias);
        let mut earlier = attributes[..index]
            .iter()
            .filter_map(|other| other.alias.as_ref());
        let earlier = earlier.find(|(other, _)| other == alias);
        let taken = named
            .map(|other| other.span)
            .or(earlier.map(|(_, span)| *span));
        if let Some(taken) = taken {
            let message = format!("`{alias}` is the name of two attributes");
            section
                .report(Code::DuplicateName, *span, message)
                .related(taken, "the other one");
        }
    }
}

/// A key-only attribute is stored in the primary key or nowhere.
pub(crate) fn lost(record: &DeclaredRecord) {
    if record.keys.both().is_none() {
        return;
    }
    for declared in &record.attributes {
        let Some(span) = declared.line.key_only else {
            continue;
        };
        if !record.is_identity(&declared.name) {
            let name = &declared.name;
            let message = format!("`{name}` stands in no key, so its value would be lost");
            record
                .report(Code::LostAttribute, span, message)
                .help(format!(
                    "write `{{{name}}}` into a key, or leave `key-only` out"
                ));
        }
    }
}
