//! `path` of entities and patterns: where they are in URLs.
//!
//! Beside the path that follows from its name, an entity or a pattern may have one of its own.
//! No two of them may mean the same request, whatever values stand in it.

use partita_core::expression::Span;

use super::world::World;
use crate::codes::Code;
use crate::design::path::RESERVED_SEGMENTS;
use crate::design::{Action, ActionOn, Entity, PathTemplate, Pattern, RecordName};
use crate::diagnostic::Report;
use crate::document::Section;
use crate::spelling;
use crate::syntax::path::{self, WrittenPath};

/// Reads the `path` of a section, if it has one that can be read.
pub(crate) fn read(section: &mut Section<'_>, report: &mut Report) -> Option<WrittenPath> {
    let text = section.text("path", report).given()?;
    path::parse(text, report)
}

/// Gives entities and patterns their paths, and compares all of them.
pub(crate) fn check(
    world: &World,
    (of_entities, entities): (Vec<Option<WrittenPath>>, &mut [Option<Entity>]),
    (of_patterns, patterns): (Vec<Option<WrittenPath>>, &mut [Option<Pattern>]),
    actions: &[Option<Action>],
    report: &mut Report,
) {
    let mut requests = Vec::new();
    for (path, entity) in of_entities.into_iter().zip(entities) {
        let (Some(path), Some(entity)) = (path, entity) else {
            continue;
        };
        if is_free(&path, world, report) & is_identity(&path, entity, report) {
            of_item(&path, entity, actions, &mut requests);
            entity.path = Some(path.template);
        }
    }
    for (path, pattern) in of_patterns.into_iter().zip(patterns) {
        let (Some(path), Some(pattern)) = (path, pattern) else {
            continue;
        };
        if is_free(&path, world, report) & has_parameters(&path, pattern, report) {
            requests.push(Request {
                methods: &["GET"],
                path: path.template.clone(),
                means: format!("the pattern `{}`", pattern.name),
                span: path.span,
            });
            pattern.path = Some(path.template);
        }
    }
    compare(&requests, report);
}

/// Whether the first word of a path has no other meaning.
fn is_free(path: &WrittenPath, world: &World, report: &mut Report) -> bool {
    let (word, span) = &path.first;
    let message = if RESERVED_SEGMENTS.contains(&word.as_str()) {
        format!("paths that begin with `{word}` have a meaning in every design")
    } else if let Some((_, record)) = world.find(word) {
        let kind = match record.name {
            RecordName::Entity(_) => "entity",
            RecordName::View(_) => "view",
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
fn is_identity(path: &WrittenPath, entity: &Entity, report: &mut Report) -> bool {
    let parts = || entity.identity.iter().map(|part| part.name.as_str());
    let mut is_good = true;
    for (name, span) in &path.placeholders {
        if !parts().any(|part| part == name) {
            let entity = &entity.name;
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
            entity.name
        );
        let whole = missing
            .iter()
            .fold(path.template.clone(), |path, part| path.with(part));
        report
            .add(Code::MissingPlaceholder, path.span, message)
            .help(format!("write `{whole}`"));
        is_good = false;
    }
    is_good
}

/// Whether the placeholders of a path are parameters of a pattern.
fn has_parameters(path: &WrittenPath, pattern: &Pattern, report: &mut Report) -> bool {
    let known = || pattern.parameters.iter().map(|one| one.name.as_str());
    let mut is_good = true;
    for (name, span) in &path.placeholders {
        if !known().any(|parameter| parameter == name) {
            let message = format!("`{{{name}}}` is no parameter of `{}`", pattern.name);
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
    path: &WrittenPath,
    entity: &Entity,
    actions: &[Option<Action>],
    requests: &mut Vec<Request>,
) {
    let item = &path.template;
    let name = RecordName::Entity(entity.name.clone());
    let mut add = |methods, path_of, means| {
        requests.push(Request {
            methods,
            path: path_of,
            means,
            span: path.span,
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
    let is_here = |action: &&Action| matches!(&action.on, ActionOn::Items(records) if records.contains(&name));
    for action in actions.iter().flatten().filter(is_here) {
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
