//! What the key of a view must be, held against its source.

use crate::check::declare::symbols::{DeclaredRecord, Symbols, ViewOf};
use crate::check::resolve::condition;
use crate::codes::Code;
use crate::design::{Record, Source};
use crate::document::Field;
use crate::expression::{Expr, Formula, Origin, Predicate, Reading};
use crate::spelling;

/// What a view must be, held against its source.
pub(super) struct Check<'c> {
    pub(super) record: &'c DeclaredRecord,
    pub(super) source: &'c DeclaredRecord,
    pub(super) derived: &'c [(String, Formula)],
    pub(super) symbols: &'c Symbols,
}

/// Each state of an item needs a record of its own: one that is to be kept where another is would
/// refuse the write that replaces it.
pub(super) fn check_states(
    record: &DeclaredRecord,
    view: &ViewOf,
    source: &Record,
    when: &Field<Predicate>,
    symbols: &Symbols,
) {
    let (Some(sort), Field::Given(_) | Field::Absent) =
        (record.keys.both().and(record.keys.sort.as_ref()), when)
    else {
        return;
    };
    let holes = record.keys.holes();
    let names: Vec<&str> = holes.filter_map(|hole| hole.attribute.as_deref()).collect();
    let is_derived = |name: &str| view.derived.iter().any(|(derived, _)| derived == name);
    let is_own = |name: &str| record.own().any(|one| one.name == name) && !is_derived(name);
    if names.iter().any(|name| is_own(name)) {
        return;
    }
    let stays = |name: &&str| {
        let found = source.stored(name);
        found.is_some_and(|one| one.lasting || one.movable)
    };
    let asked = match when {
        Field::Given(when) => when.own_attributes().collect(),
        _ => Vec::new(),
    };
    let why = match asked.iter().find(|name| follows_others(source, name)) {
        _ if names.iter().all(stays) => "its key is the same for all of them".to_owned(),
        Some(name) => format!("`{name}` changes without a write of the item, and the key stays"),
        None => return,
    };
    let (title, place) = (&source.name, &record.place);
    let message = format!("two states of one `{title}` would share one record of `{place}`: {why}");
    let help = format!(
        "declare `at = \"timestamp = now, rising\"` in `[{place}.attributes]`, and end the sort key \
         with `#{{at}}`"
    );
    symbols
        .report(Code::IncompleteViewKey, sort.span, message)
        .help(help);
}

/// Whether an attribute changes with other items, or beside the version of its own: a count, a sum,
/// a copy, a counter, or what is computed of one.
fn follows_others(source: &Record, name: &str) -> bool {
    let mut names = vec![name];
    let mut at = 0;
    while let Some(name) = names.get(at).copied() {
        at += 1;
        let Some(attribute) = source.stored(name) else {
            continue;
        };
        if attribute.changes_beside_version() {
            return true;
        }
        if let Source::Computed(computed) = &attribute.source {
            for read in computed.value.own_attributes() {
                if !names.contains(&read) {
                    names.push(read);
                }
            }
        }
    }
    false
}

impl Check<'_> {
    pub(super) fn all(self, when: &Field<Predicate>) {
        if self.computed() {
            return;
        }
        self.parts(when);
        self.identity();
    }

    /// What tells the records apart must be stored in them, as in an entity. Says whether a part of
    /// the key is not, after a report.
    fn computed(&self) -> bool {
        let mut is_computed = false;
        let holes = self.record.keys.holes();
        for hole in holes.filter(|hole| hole.attribute.is_none()) {
            is_computed = true;
            let (written, place) = (&hole.written, &self.record.place);
            let message = format!("`{{{written}}}` is computed, and an identity is what it is");
            let help = format!(
                "compute it in `[{place}.attributes]`, as in `word = \"= {written}\"`, and write `{{word}}`"
            );
            self.symbols
                .report(Code::ComputedIdentity, hole.span, message)
                .help(help);
        }
        is_computed
    }

    /// A view exists with all parts of its key or not at all; which of the two must be clear
    /// from `when`.
    fn parts(&self, when: &Field<Predicate>) {
        if matches!(when, Field::Broken) {
            return;
        }
        for hole in self.record.keys.holes().filter(|hole| hole.optional) {
            let name = &hole.written;
            let stored = hole.attribute.as_deref().unwrap_or(name);
            let stored = self
                .source_attribute(stored)
                .unwrap_or_else(|| stored.to_owned());
            let is_guarded = match when {
                Field::Given(when) => condition::implies_existence(&when.tree, &stored),
                _ => false,
            };
            if !is_guarded {
                let message = format!("`{name}` may be missing, but it is part of the view's key");
                let finding = self
                    .symbols
                    .report(Code::OptionalKeyPart, hole.span, message);
                let finding =
                    finding.help(format!("write `when = \"attribute_exists({stored})\"`"));
                if let Some(declared) = self.source.find(&stored) {
                    finding.related(declared.span, "declared here");
                }
            }
        }
    }

    /// The attribute of the source that a name of the view means.
    fn source_attribute(&self, name: &str) -> Option<String> {
        match self.derived.iter().find(|(derived, _)| derived == name) {
            Some((_, formula)) => match formula.cases.as_slice() {
                [case] => match (&case.is, formula.reads.as_slice()) {
                    (Expr::Path(_), [reading]) if reading.origin == Origin::Item => {
                        Some(reading.attribute.clone())
                    }
                    _ => None,
                },
                _ => None,
            },
            None => Some(name.to_owned()),
        }
    }

    /// Whether a part of the key comes from the element of the view's `each`.
    fn has_element(&self, element: &str) -> bool {
        self.record.keys.holes().any(|hole| {
            let name = hole.attribute.as_deref().unwrap_or_default();
            let is_element =
                |reading: &Reading| reading.origin == Origin::Element(element.to_owned());
            let derived = self.derived.iter().find(|(derived, _)| derived == name);
            match derived {
                Some((_, formula)) => formula.reads.iter().any(is_element),
                None => name == element || hole.written.contains(element),
            }
        })
    }

    fn identity(&self) {
        let (Some((_, sort)), Some(identity)) = (
            self.record
                .keys
                .both()
                .and(self.record.keys.sort.as_ref())
                .map(|sort| ((), sort)),
            self.source.identity(),
        ) else {
            return;
        };
        let held: Vec<String> = self
            .record
            .keys
            .holes()
            .filter_map(|hole| self.source_attribute(hole.attribute.as_deref()?))
            .collect();
        // A generated part alone identifies an item.
        let is_enough = identity.iter().any(|part| {
            let declared = self.source.find(&part.attribute);
            let is_generated = declared.is_some_and(|one| one.line.generated.is_some());
            is_generated && held.contains(&part.attribute)
        });
        let mut missing: Vec<&str> = identity
            .iter()
            .filter(|part| !is_enough && !held.contains(&part.attribute))
            .map(|part| part.name.as_str())
            .collect();
        let view = self.record.view.as_ref();
        let element = view.and_then(|view| view.element.as_ref());
        if let Some(element) = element
            && !self.has_element(&element.name)
        {
            missing.push(&element.name);
        }
        if missing.is_empty() {
            return;
        }
        let lacking = spelling::list(&missing);
        let message = format!(
            "two items of `{}` would share one record of `{}`: its key lacks {lacking}",
            self.source.title(),
            self.record.place
        );
        self.symbols
            .report(Code::IncompleteViewKey, sort.span, message)
            .help(format!(
                "end the sort key with `#{{{}}}`",
                missing.join("}#{")
            ));
    }
}
