//! `path` of entities and patterns: where they are in URLs.

use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::design::path::RESERVED_SEGMENTS;
use crate::design::{Parameter, PathTemplate};
use crate::spelling;
use crate::syntax::path::WrittenPath;

/// The path of an entity's items, if it can be one.
pub(crate) fn of_entity(entity: &DeclaredRecord, symbols: &Symbols) -> Option<PathTemplate> {
    let path = entity.path.as_ref()?;
    let is_good = is_free(path, symbols) & is_identity(path, entity)?;
    is_good.then(|| path.template.clone())
}

/// The path of a pattern, if it can be one.
pub(crate) fn of_pattern(
    pattern: &str,
    parameters: &[Parameter],
    symbols: &Symbols,
) -> Option<PathTemplate> {
    let path = symbols
        .paths
        .get(symbols.pattern(pattern)?.index())?
        .as_ref()?;
    let is_good = is_free(path, symbols) & has_parameters(path, (pattern, parameters), symbols);
    is_good.then(|| path.template.clone())
}

/// Whether the first word of a path has no other meaning.
fn is_free(path: &WrittenPath, symbols: &Symbols) -> bool {
    let (word, span) = &path.first;
    let message = if RESERVED_SEGMENTS.contains(&word.as_str()) {
        format!("paths that begin with `{word}` have a meaning in every design")
    } else if let Some(record) = symbols.find(word) {
        let kind = match record.view {
            None => "entity",
            Some(_) => "view",
        };
        format!("paths that begin with `{word}` belong to the {kind} of that name")
    } else {
        return true;
    };
    symbols
        .report(Code::ReservedPath, *span, message)
        .help("begin with another word, such as `stories`");
    false
}

/// Whether the placeholders of a path are the parts of an entity's identity.
fn is_identity(path: &WrittenPath, entity: &DeclaredRecord) -> Option<bool> {
    let identity = entity.identity()?;
    let parts = || identity.iter().map(|part| part.name.as_str());
    let mut is_good = true;
    for (name, span) in &path.placeholders {
        if !parts().any(|part| part == name) {
            let title = entity.title();
            let message = format!("`{{{name}}}` is no part of the identity of `{title}`");
            entity
                .report(Code::UnknownPlaceholder, *span, message)
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
        entity
            .report(Code::MissingPlaceholder, path.span, message)
            .help(format!("write `{whole}`"));
        is_good = false;
    }
    Some(is_good)
}

/// Whether the placeholders of a path are parameters of a pattern.
fn has_parameters(
    path: &WrittenPath,
    (pattern, parameters): (&str, &[Parameter]),
    symbols: &Symbols,
) -> bool {
    let known = || parameters.iter().map(|one| one.name.as_str());
    let mut is_good = true;
    for (name, span) in &path.placeholders {
        if !known().any(|parameter| parameter == name) {
            let message = format!("`{{{name}}}` is no parameter of `{pattern}`");
            symbols
                .report(Code::UnknownPlaceholder, *span, message)
                .suggest(name, known());
            is_good = false;
        }
    }
    is_good
}
