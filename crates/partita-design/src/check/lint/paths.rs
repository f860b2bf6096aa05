//! Paths of URLs against each other.
//!
//! Beside the path that follows from its name, an entity or a pattern may have one of its own.
//! No two of them may mean the same request, whatever its values are.

use partita_core::expression::Span;

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{self, Action, ActionOn, Design, PathTemplate};

/// Compares the paths of entities and patterns with each other.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let mut requests = Vec::new();
    for entity in design.entities() {
        if let Some(path) = &entity.path {
            let span = symbols[entity.id]
                .path
                .as_ref()
                .map_or_else(Span::default, |one| one.span);
            of_item((path, span), entity, design, &mut requests);
        }
    }
    for (pattern, written) in design.patterns.iter().zip(&symbols.paths) {
        if let (Some(path), Some(written)) = (&pattern.path, written) {
            requests.push(Request {
                methods: &["GET"],
                path: path.clone(),
                means: format!("the pattern `{}`", pattern.name),
                span: written.span,
            });
        }
    }
    compare(&requests, symbols);
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
    if entity.has_purge_rule() {
        add(&["POST"], item.below("purge"), of_entity());
    }
    let is_here = |action: &&Action| matches!(&action.on, ActionOn::Items(records) if records.contains(&entity.id));
    for action in design.actions.iter().filter(is_here) {
        let means = format!("the action `{}`", action.name);
        add(&["POST"], item.below(&action.name), means);
    }
}

/// Reports every two paths of which one request could mean either.
fn compare(requests: &[Request], symbols: &Symbols) {
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
            symbols
                .report(Code::SamePath, later.span, message)
                .help("let them differ in a word, at a place where both have one")
                .related(earlier.span, "the other path");
        }
    }
}
