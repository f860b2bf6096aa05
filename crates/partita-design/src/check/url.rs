//! `path` of entities and patterns: where they are in URLs.
//!
//! Beside the path that follows from its name, an entity or a pattern may have one of its own.
//! No two of them may mean the same request, whatever values stand in it.

use partita_core::expression::Span;

use super::world::{Record, World};
use crate::codes::Code;
use crate::design::path::RESERVED_SEGMENTS;
use crate::design::{self, Action, ActionOn, Design, Parameter, PathTemplate};
use crate::diagnostic::Report;
use crate::document::Section;
use crate::spelling;
use crate::syntax::path::{self, WrittenPath};

/// Reads the `path` of a section, if it has one that can be read.
pub(crate) fn read(section: &mut Section<'_>, report: &mut Report) -> Option<WrittenPath> {
    let text = section.text("path", report).given()?;
    path::parse(text, report)
}

/// The path of an entity's items, if it can be one.
pub(crate) fn of_entity(
    entity: &Record,
    world: &World,
    report: &mut Report,
) -> Option<PathTemplate> {
    let path = entity.path.as_ref()?;
    let is_good = is_free(path, world, report) & is_identity(path, entity, report)?;
    is_good.then(|| path.template.clone())
}

/// The path of a pattern, if it can be one.
pub(crate) fn of_pattern(
    pattern: &str,
    parameters: &[Parameter],
    world: &World,
    report: &mut Report,
) -> Option<PathTemplate> {
    let path = world.paths.get(world.pattern(pattern)?.index())?.as_ref()?;
    let is_good =
        is_free(path, world, report) & has_parameters(path, (pattern, parameters), report);
    is_good.then(|| path.template.clone())
}

/// Compares the paths of entities and patterns with each other.
pub(crate) fn check(world: &World, design: &Design, report: &mut Report) {
    let mut requests = Vec::new();
    for entity in design.entities() {
        if let Some(path) = &entity.path {
            let span = world[entity.id]
                .path
                .as_ref()
                .map_or_else(Span::default, |one| one.span);
            of_item((path, span), entity, design, &mut requests);
        }
    }
    for (pattern, written) in design.patterns.iter().zip(&world.paths) {
        if let (Some(path), Some(written)) = (&pattern.path, written) {
            requests.push(Request {
                methods: &["GET"],
                path: path.clone(),
                means: format!("the pattern `{}`", pattern.name),
                span: written.span,
            });
        }
    }
    compare(&requests, report);
}

/// Whether the first word of a path has no other meaning.
fn is_free(path: &WrittenPath, world: &World, report: &mut Report) -> bool {
    let (word, span) = &path.first;
    let message = if RESERVED_SEGMENTS.contains(&word.as_str()) {
        format!("paths that begin with `{word}` have a meaning in every design")
    } else if let Some(record) = world.find(word) {
        let kind = match record.view {
            None => "entity",
            Some(_) => "view",
        };
        format!("paths that begin with `{word}` belong to the {kind} of that name")
    } else {
        return true;
    };
    report
        .add(Code::ReservedPath, *span, message)
        .help("begin with another word, such as `stories`");
    false
}

/// Whether the placeholders of a path are the parts of an entity's identity.
fn is_identity(path: &WrittenPath, entity: &Record, report: &mut Report) -> Option<bool> {
    let identity = entity.identity()?;
    let parts = || identity.iter().map(|part| part.name.as_str());
    let mut is_good = true;
    for (name, span) in &path.placeholders {
        if !parts().any(|part| part == name) {
            let entity = entity.title();
            let message = format!("`{{{name}}}` is no part of the identity of `{entity}`");
            report
                .add(Code::UnknownPlaceholder, *span, message)
                .suggest(name, parts());
            is_good = false;
        }
    }
    let is_missing = |part: &&str| path.placeholders.iter().all(|(name, _)| name != part);
    let missing: Vec<_> = parts().filter(is_missing).collect();
    if is_good && !missing.is_empty() {
        let message = format!(
            "this path leaves out {} of the identity of `{}`",
            spelling::list(&missing),
            entity.title()
        );
        let whole = missing
            .iter()
            .fold(path.template.clone(), |path, part| path.with(part));
        report
            .add(Code::MissingPlaceholder, path.span, message)
            .help(format!("write `{whole}`"));
        is_good = false;
    }
    Some(is_good)
}

/// Whether the placeholders of a path are parameters of a pattern.
fn has_parameters(
    path: &WrittenPath,
    (pattern, parameters): (&str, &[Parameter]),
    report: &mut Report,
) -> bool {
    let known = || parameters.iter().map(|one| one.name.as_str());
    let mut is_good = true;
    for (name, span) in &path.placeholders {
        if !known().any(|parameter| parameter == name) {
            let message = format!("`{{{name}}}` is no parameter of `{pattern}`");
            report
                .add(Code::UnknownPlaceholder, *span, message)
                .suggest(name, known());
            is_good = false;
        }
    }
    is_good
}

/// Requests that a path answers.
struct Request {
    methods: &'static [&'static str],
    path: PathTemplate,
    /// What they mean, in words.
    means: String,
    /// Where their path is declared.
    span: Span,
}

/// The requests that the path of an entity answers.
fn of_item(
    (item, span): (&PathTemplate, Span),
    entity: &design::Record,
    design: &Design,
    requests: &mut Vec<Request>,
) {
    let mut add = |methods, path_of, means| {
        requests.push(Request {
            methods,
            path: path_of,
            means,
            span,
        });
    };
    let of_entity = || format!("the entity `{}`", entity.name);
    add(
        &["GET", "PATCH", "PUT", "DELETE"],
        item.clone(),
        of_entity(),
    );
    add(&["POST"], item.collection(), of_entity());
    if entity.soft_delete.is_some() {
        add(&["POST"], item.below("restore"), of_entity());
    }
    let is_here = |action: &&Action| matches!(&action.on, ActionOn::Items(records) if records.contains(&entity.id));
    for action in design.actions.iter().filter(is_here) {
        let means = format!("the action `{}`", action.name);
        add(&["POST"], item.below(&action.name), means);
    }
}

/// Reports every two paths of which one request could mean either.
fn compare(requests: &[Request], report: &mut Report) {
    // Spans are all equal to each other; where they begin is not.
    let mut told: Vec<(usize, usize)> = Vec::new();
    for (at, later) in requests.iter().enumerate() {
        for earlier in &requests[..at] {
            let method = later
                .methods
                .iter()
                .find(|one| earlier.methods.contains(one));
            let pair = (earlier.span.start, later.span.start);
            let Some(method) = method.filter(|_| !told.contains(&pair)) else {
                continue;
            };
            if pair.0 == pair.1 || !earlier.path.overlaps(&later.path) {
                continue;
            }
            told.push(pair);
            let message = format!(
                "`{method} {}` could mean {} or {}",
                later.path, earlier.means, later.means
            );
            report
                .add(Code::SamePath, later.span, message)
                .help("let them differ in a word, at a place where both have one")
                .related(earlier.span, "the other path");
        }
    }
}
