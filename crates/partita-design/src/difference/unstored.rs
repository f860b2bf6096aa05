//! Changes of what no stored data follow: everything else that two files say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::{Change, ChangeKind, Class, Subject, TableAspect, Touches, Unstored, Work};
use crate::design::Design;
use crate::document::contents;
use crate::origin::{Origin, Place};

/// What differs in two files beside what `known` has.
pub(super) fn between(old: &Design, new: &Design, known: &[Change]) -> Vec<Change> {
    let (before, after) = (contents(&old.origin.text), contents(&new.origin.text));
    let mut names: BTreeSet<String> = BTreeSet::new();
    for name in before.keys().chain(after.keys()) {
        let (one, two) = (before.get(name), after.get(name));
        if one == two || is_known(name, known) {
            continue;
        }
        // A section that only one of them has is one change.
        let other = if one.is_none() { &before } else { &after };
        let whole = match (one, two) {
            (Some(_), Some(_)) => None,
            _ => sections(name).find(|section| !has_section(other, section)),
        };
        names.insert(whole.map_or_else(|| declaration(name), str::to_owned));
    }
    let mut changes: Vec<Change> = names
        .into_iter()
        .map(|name| change(name, &old.origin, &new.origin))
        .collect();
    changes.extend(variables(&old.origin, &new.origin));
    changes
}

/// Whether a key belongs to the declaration that a change is about.
fn is_known(name: &str, known: &[Change]) -> bool {
    let is_below = |path: &str| {
        let rest = name.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    known.iter().any(|change| {
        if matches!(change.subject, Subject::Table(_, aspect) if aspect != TableAspect::Whole) {
            let last = name.rsplit('.').next().unwrap_or_default();
            return is_below(&change.name())
                && matches!(last, "name" | "key" | "discriminator" | "ttl" | "stream");
        }
        // What an entity has from `[every]` is declared there.
        let mut places = [&change.old, &change.new].into_iter().flatten();
        let is_renamed = matches!(change.kind, ChangeKind::Renamed { .. });
        is_below(&change.name())
            || places.any(|place| {
                (is_renamed || place.path.starts_with("every.")) && is_below(&place.path)
            })
    })
}

/// The sections that a key is in, from the outermost. Those that only have named sections are none.
fn sections(name: &str) -> impl Iterator<Item = &str> {
    let first = name.split('.').next().unwrap_or_default();
    let has_own = matches!(first, "table" | "caller" | "accounts" | "limits" | "every");
    let sections = name.match_indices('.').map(|(at, _)| &name[..at]);
    sections.skip(usize::from(!has_own))
}

fn has_section(contents: &BTreeMap<String, Json>, section: &str) -> bool {
    let prefix = format!("{section}.");
    let mut below = contents.range(prefix.clone()..);
    below
        .next()
        .is_some_and(|(name, _)| name.starts_with(&prefix))
}

/// The declaration that a key belongs to. A pattern, an action and the like are one declaration; of
/// an entity or a view each key is, and each line of its attributes, refs and rules.
fn declaration(name: &str) -> String {
    let mut steps = name.split('.');
    let length = match steps.next() {
        Some("entity" | "view" | "every") => return name.to_owned(),
        Some("table" | "caller" | "accounts" | "limits" | "bucket") => return name.to_owned(),
        Some("design" | "about" | "accept") => 1,
        _ => 2,
    };
    let steps: Vec<&str> = name.split('.').take(length).collect();
    steps.join(".")
}

fn change(name: String, old: &Origin, new: &Origin) -> Change {
    let place = |origin: &Origin| origin.places.get(&name).cloned();
    let (old, new) = (place(old), place(new));
    let what = Unstored::at(&name).unwrap_or(Unstored::Clause);
    free(Subject::Unstored(what, name), old, new)
}

fn free(subject: Subject, old: Option<Place>, new: Option<Place>) -> Change {
    Change {
        kind: match (&old, &new) {
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        },
        subject,
        class: Class::Free,
        work: Work::Nothing,
        says: "it holds from now on".to_owned(),
        touches: Touches::default(),
        is_reversible: true,
        missing: None,
        old,
        new,
    }
}

/// Variables with other values. What stored data follow of them are changes of their own.
fn variables(old: &Origin, new: &Origin) -> Vec<Change> {
    let names: BTreeSet<&String> = old.variables.keys().chain(new.variables.keys()).collect();
    let names = names.into_iter();
    let changed = names.filter(|name| {
        let values = (old.variables.get(*name), new.variables.get(*name));
        values.0.is_some() && values.1.is_some() && values.0 != values.1
    });
    changed
        .map(|name| {
            free(
                Subject::Unstored(Unstored::Variable, name.clone()),
                None,
                None,
            )
        })
        .collect()
}
