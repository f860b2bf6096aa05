//! `was` and `fill`: what a record was in an earlier design, and what stored items get.

use crate::check::compile::effect::flatten;
use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord, Symbols};
use crate::check::resolve::names::{Meaning, Names};
use crate::check::resolve::value::{self, Values};
use crate::codes::Code;
use crate::design::{Earlier, Fill};
use crate::document::{Content, Node, Section, Text};
use crate::expression::Origin;
use crate::syntax::attribute::{Head, LineValue, RawTiming};
use crate::syntax::template;
use crate::template::Template;
use crate::types::AttributeType;

/// Reads `was = "Name"`, `was = { SK = "…" }` or a list of them; `None` after a report.
pub(crate) fn was(
    section: &mut Section<'_>,
    record: &DeclaredRecord,
    symbols: &Symbols,
) -> Option<Vec<Earlier>> {
    let is_good = attributes(record);
    let Some((_, node)) = section.entry("was") else {
        return is_good.then(Vec::new);
    };
    let nodes = match &node.content {
        Content::List(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let earlier = nodes.iter().map(|node| one(node, record, symbols));
    let earlier: Vec<Option<Earlier>> = earlier.collect();
    let earlier: Option<Vec<Earlier>> = earlier.into_iter().collect();
    earlier.filter(|_| is_good)
}

fn one(node: &Node, record: &DeclaredRecord, symbols: &Symbols) -> Option<Earlier> {
    match &node.content {
        Content::Text(text) => Some(Earlier {
            name: Some(name(text, symbols)?),
            ..Earlier::default()
        }),
        Content::Table(_) => {
            let mut section = node.section(format!("{}.was", record.place), node.span)?;
            let old = section.text("name").and_then(|text| name(text, symbols));
            let names = Names::own(symbols, record);
            let keys = symbols.table(record).keys.clone()?;
            let [partition, sort] = keys.map(|key| {
                let text = section.text(&key);
                text.and_then(|text| key_template(text, &names))
            });
            section.finish();
            Some(Earlier {
                name: old.optional()?,
                partition: partition.optional()?,
                sort: sort.optional()?,
            })
        }
        _ => {
            node.refuse("was", "a name, or a table with the keys of then");
            None
        }
    }
}

/// An earlier name; one that a record has today is reported.
fn name(text: &Text, symbols: &Symbols) -> Option<String> {
    if let Some(taken) = symbols.find(text.as_str()) {
        let message = format!("`{}` is still a record of this design", text.as_str());
        text.report_here(Code::EarlierName, message)
            .help("leave `was` out, or remove the other one first")
            .related(taken.span, "declared here");
        return None;
    }
    Some(text.as_str().to_owned())
}

fn key_template(text: &Text, names: &Names<'_>) -> Option<Template> {
    let pieces = template::parse(text).filter(|pieces| template::is_separated(pieces, text))?;
    let (template, _) = Values::new(names).template(&pieces)?;
    Some(template)
}

/// Whether no attribute has the earlier name of another one.
fn attributes(record: &DeclaredRecord) -> bool {
    let mut is_good = true;
    for declared in record.own() {
        for (was, span) in &declared.line.was {
            let taken = record.attributes.iter().find(|one| one.name == *was);
            // What is compared with an earlier design has the names of that one.
            if let Some(taken) = taken.filter(|taken| taken.name != declared.name) {
                let message = format!("`{}` still has an attribute `{was}`", record.title());
                record
                    .report(Code::EarlierName, *span, message)
                    .help("leave `was` out, or remove the other one first")
                    .related(taken.span, "declared here");
                is_good = false;
            }
        }
    }
    is_good
}

/// Reads `[entity.X.fill]`; `None` after a report.
pub(crate) fn fill(
    section: &mut Section<'_>,
    record: &DeclaredRecord,
    symbols: &Symbols,
) -> Option<Vec<Fill>> {
    let Some(mut values) = section.section("fill") else {
        return section.key_span("fill").is_none().then(Vec::new);
    };
    let old = Meaning::Value {
        kind: AttributeType::Map,
        optional: true,
        origin: Origin::Old,
        stored: None,
    };
    let names = Names::own(symbols, record).with("old", old);
    let mut leaves = Vec::new();
    flatten(String::new(), values.all(), &mut leaves);
    let mut filled = Vec::new();
    let mut is_good = true;
    for (name, span, node) in leaves {
        let attribute = record.resolve(&name, span);
        let attribute = attribute.filter(|one| is_filled(one, record, span));
        match attribute.and_then(|one| Some((one, filled_with(&name, node, one, &names)?))) {
            Some((attribute, value)) => filled.push(Fill {
                attribute: attribute.name.clone(),
                value,
            }),
            None => is_good = false,
        }
    }
    is_good.then_some(filled)
}

fn filled_with(
    name: &str,
    node: &Node,
    attribute: &DeclaredAttribute,
    names: &Names<'_>,
) -> Option<crate::expression::Formula> {
    let (formula, optional) = value::formula(name, node, attribute.kind.as_ref(), names)?;
    if optional && !attribute.optional {
        let message = format!("`{name}` is required, but this may be missing");
        names
            .report(Code::MissingValue, node.span, message)
            .help("write what to take then, such as `{old.name | ''}`");
        return None;
    }
    Some(formula)
}

/// Whether an attribute is one that stored items can lack; what Partita computes is not.
fn is_filled(
    attribute: &DeclaredAttribute,
    record: &DeclaredRecord,
    span: partita_core::expression::Span,
) -> bool {
    let is_computed = match (&attribute.line.head, &attribute.line.value) {
        (Some(Head::Aggregate(_) | Head::Copy(_) | Head::Untyped), _) => true,
        (_, Some((LineValue::Computed(_, RawTiming::Unsaid), _))) => true,
        (_, Some((LineValue::CasesComputed(_), _))) => true,
        _ => attribute.is_virtual,
    };
    let is_key = record.is_identity(&attribute.name);
    if is_computed || is_key {
        let name = &attribute.name;
        let message = match is_key {
            true => format!("`{name}` is in the key of every item"),
            false => format!("`{name}` is computed for stored items too"),
        };
        record
            .report(Code::NeedlessKey, span, message)
            .help("leave it out of `fill`")
            .related(attribute.span, "declared here");
    }
    !is_computed && !is_key
}
