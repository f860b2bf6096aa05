//! From a file to a [`Design`], or to everything that is wrong with it.
//!
//! | module | what it checks |
//! |---|---|
//! | [`table`] | `[table]`: name, variables, keys |
//! | [`entity`] | `[entity.X]`: attributes, keys, soft delete |
//! | [`key`] | the key templates of entities and views |
//! | [`mod@reference`] | `[entity.X.refs]` |
//! | [`rules`] | `[entity.X.allow]` |
//! | [`condition`] | the conditions of rules and views |
//! | [`view`] | `[view.X]` |
//! | [`collisions`] | keys and discriminators of all records against each other |
//! | [`pattern`] | `[pattern.X]` |
//! | [`accept`] | `[[accept]]` |
//! | [`shape`] | which keys a template can give |
//! | [`elsewhere`] | names from sections that this version does not know |
//!
//! Every step works on what the steps before it could read. What was broken there is known to be
//! broken here, so that one mistake has one diagnostic.

mod accept;
mod collisions;
mod condition;
mod elsewhere;
mod entity;
mod key;
mod pattern;
mod reference;
mod rules;
mod shape;
mod table;
mod view;

use elsewhere::Elsewhere;
use partita_core::expression::Span;

use crate::codes::Code;
use crate::design::Design;
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{self, Damage, Name, Node, Section, Table, Text, section};
use crate::syntax::later;
use crate::syntax::template::is_name;
use crate::types::AttributeType;

/// Reads, checks and compiles a design.
///
/// `variables` gives the values of variables such as `TABLE_NAME` in `{TABLE_NAME | stories}`.
/// All mistakes are reported at once; with an error there is no design. Warnings that an
/// `[[accept]]` of the file covers are left out.
pub fn check(
    source: &str,
    variables: &dyn Fn(&str) -> Option<String>,
) -> (Option<Design>, Vec<Diagnostic>) {
    let mut report = Report::default();
    let file = document::read(source, &mut report);
    let not_toml = report.findings().len();
    let design = compile(&file, variables, &mut report);
    forget_illusions(source, not_toml, &mut report);
    let design = match report.has_errors() {
        true => None,
        false => design,
    };
    (design, report.into_diagnostics())
}

fn compile(
    file: &Table,
    variables: &dyn Fn(&str) -> Option<String>,
    report: &mut Report,
) -> Option<Design> {
    let mut root = Section::new("", Span::new(0, 0), file);
    let name = design_name(&mut root, report);
    let about = about(&mut root, report);
    let elsewhere = Elsewhere::read(file);
    let table = table::check(&mut root, elsewhere, variables, report);

    let entities: Vec<_> = named(&mut root, "entity", report)
        .map(|(name, section)| entity::check(name, section, &table, report))
        .collect();
    let refs: Vec<_> = entities
        .iter()
        .map(|entity| reference::check(entity, &entities, &table, report))
        .collect();
    let views: Vec<_> = named(&mut root, "view", report)
        .map(|(name, section)| view::check(name, section, &table, &entities, report))
        .collect();
    let records = key::records(&entities, &views);
    collisions::check(&records, &table, report);
    let patterns: Vec<_> = named(&mut root, "pattern", report)
        .map(|(name, section)| pattern::check(name, section, &table, &records, report))
        .collect();
    let accepts = root.entry("accept");
    unknown_sections(&mut root, report);
    accept::check(accepts, report);

    let entities: Option<Vec<_>> = entities
        .iter()
        .zip(refs)
        .map(|(entity, refs)| entity.compile(refs?))
        .collect();
    Some(Design {
        name: name?,
        about,
        table: table.compile()?,
        entities: entities?,
        views: views
            .iter()
            .map(view::Draft::compile)
            .collect::<Option<_>>()?,
        patterns: patterns.into_iter().collect::<Option<_>>()?,
    })
}

/// Where lines are not TOML, only such mistakes count as are visible in a line of their own.
/// `not_toml` is how many findings there were before the lines were looked at.
fn forget_illusions(source: &str, not_toml: usize, report: &mut Report) {
    let mut damage = Damage::default();
    for finding in &report.findings()[..not_toml] {
        // Newer TOML is understood, only not allowed.
        if finding.diagnostic.code != Code::TomlVersion {
            damage.add(source, finding.diagnostic.span);
        }
    }
    if damage.is_empty() {
        return;
    }
    let mut index = 0;
    report.retain(|finding| {
        index += 1;
        let Diagnostic { code, span, .. } = &finding.diagnostic;
        index <= not_toml || (code.is_local() && !damage.covers(source, *span))
    });
}

fn design_name(root: &mut Section<'_>, report: &mut Report) -> Option<String> {
    let name = root.required_text("design", "\"name\"", report).given()?;
    // The name is the first part of the design's URLs.
    let is_letter =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let text = name.as_str();
    // `/healthz` is the server's own.
    let is_taken = text == "healthz";
    if text.is_empty() || !text.chars().all(is_letter) || text.starts_with('-') || is_taken {
        report
            .add(
                Code::InvalidName,
                name.span(),
                format!("`{text}` cannot be the name of a design, because names stand in URLs"),
            )
            .help(match is_taken {
                true => "choose another name: the server answers there itself",
                false => "use lower-case letters, digits and hyphens",
            });
        return None;
    }
    Some(text.to_owned())
}

fn about(section: &mut Section<'_>, report: &mut Report) -> Option<String> {
    let text = section.text("about", report).given()?;
    Some(text.as_str().to_owned())
}

/// The sections of one kind, such as `[entity.Story]` and `[entity.Node]`.
fn named<'d>(
    root: &mut Section<'d>,
    kind: &str,
    report: &mut Report,
) -> std::vec::IntoIter<(&'d Name, Section<'d>)> {
    let entries: &[(Name, Node)] = match root.entry(kind) {
        None => &[],
        Some((name, node)) => match section::open(kind.to_owned(), name, node, report) {
            Some(mut section) => section.all(),
            None => &[],
        },
    };
    let mut sections = Vec::new();
    for (name, node) in entries {
        check_name(&name.text, name.span, report);
        if kind == "entity" && name.text == "query" {
            let message = "`query` is where patterns stand in URLs";
            report
                .add(Code::InvalidName, name.span, message)
                .help("choose another name");
        }
        let opened = section::open(format!("{kind}.{}", name.text), name, node, report);
        sections.extend(opened.map(|section| (name, section)));
    }
    sections.into_iter()
}

/// Names of entities, attributes and the like are words of the condition language.
fn check_name(name: &str, span: Span, report: &mut Report) -> bool {
    let (problem, help) = match name {
        "caller" => (
            "`caller` means the one who calls, in rules".to_owned(),
            "choose another name",
        ),
        _ if is_name(name) => return true,
        _ => (
            format!("`{name}` is not a name"),
            "use letters, digits and `_`, and no digit first",
        ),
    };
    report.add(Code::InvalidName, span, problem).help(help);
    false
}

fn unknown_sections(root: &mut Section<'_>, report: &mut Report) {
    const KNOWN: [&str; 7] = [
        "design", "about", "table", "entity", "view", "pattern", "accept",
    ];
    for (name, _) in root.all() {
        let text = name.text.as_str();
        if KNOWN.contains(&text) {
            continue;
        }
        if later::SECTIONS.contains(&text) {
            report.not_supported(name.span, &format!("`[{text}]`"));
            continue;
        }
        report
            .add(
                Code::UnknownSection,
                name.span,
                format!("a design has no section or key `{text}`"),
            )
            .suggest(text, KNOWN);
    }
}

/// A type in a few words, with its article.
fn noun(kind: &AttributeType) -> &'static str {
    match kind {
        AttributeType::String { .. } => "a string",
        AttributeType::Ulid => "a ulid",
        AttributeType::Timestamp => "a timestamp",
        AttributeType::Bool => "a boolean",
        AttributeType::Number => "a number",
        AttributeType::List(_) => "a list",
        AttributeType::Any => "a value of any type",
    }
}

/// A text as an owned string with its place.
fn spot(text: &Text) -> (String, Span) {
    (text.as_str().to_owned(), text.span())
}
