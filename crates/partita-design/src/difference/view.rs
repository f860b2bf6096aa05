//! The class of each change of a view.

use std::collections::BTreeSet;

use super::judge::{Judge, view};
use super::judgement::Judgement;
use super::{Derived, RecordName, Subject};
use crate::design::{Design, View};

impl Judge<'_> {
    /// Whether the records of a view hold what cannot be computed again: states that were replaced,
    /// or attributes of their own.
    pub(super) fn has_own_data(&self, name: &str) -> bool {
        let designs = [self.old, self.new].into_iter();
        let mut records = designs.filter_map(|design| design.find_record(name));
        records.any(|record| {
            let is_history = record.view.as_ref().is_some_and(|view| view.history);
            is_history || record.own().any(|one| !one.is_virtual)
        })
    }

    pub(super) fn is_history(&self, name: &str) -> bool {
        let record = self.new.find_record(name);
        let record = record.or_else(|| self.old.find_record(name));
        let view = record.and_then(|record| record.view.as_ref());
        view.is_some_and(|view| view.history)
    }

    /// The entity that a view is of.
    pub(super) fn source_of(&self, name: &str) -> Option<RecordName> {
        let find = |design: &Design| {
            let view = design.find_record(name)?.view.as_ref()?;
            Some(RecordName::of(&design[view.of]))
        };
        find(self.new).or_else(|| find(self.old))
    }

    pub(super) fn new_view(
        &self,
        subject: &Subject,
        name: &str,
        design: &Design,
        of: &View,
    ) -> Judgement {
        let source = &design[of.of];
        if of.history {
            return Judgement::free(subject, "it keeps what is replaced from now on");
        }
        if self.old.find_entity(&source.name).is_none() {
            return Judgement::free(subject, "its entity is new, too");
        }
        Judgement::derived(
            subject,
            "its records are made from the items that there are",
        )
        .reads([RecordName::of(source)])
        .writes([view(name)])
        .adds([Derived::Records(name.to_owned())])
    }

    pub(super) fn old_view(
        &self,
        subject: &Subject,
        name: &str,
        design: &Design,
        of: &View,
    ) -> Judgement {
        let record = design.find_record(name);
        let has_own = record.is_some_and(|record| record.own().any(|one| !one.is_virtual));
        let records = [Derived::Records(name.to_owned())];
        let judgement = if of.history {
            Judgement::dropping(subject, "the states that it keeps go")
        } else if has_own {
            Judgement::dropping(subject, "its records go, with the attributes of their own")
        } else {
            Judgement::derived(subject, "its records are removed").removes(records)
        };
        judgement.reads([view(name)]).writes([view(name)])
    }

    /// The condition, the elements or what else decides on the records of a view.
    pub(super) fn view_part(&self, subject: &Subject, name: &str) -> Judgement {
        if self.is_history(name) {
            return Judgement::free(subject, "it holds for what is replaced from now on");
        }
        let records = || [Derived::Records(name.to_owned())];
        Judgement::derived(subject, "its records are made anew where they differ")
            .reads(self.source_of(name))
            .writes([view(name)])
            .adds(records())
            .removes(records())
    }

    pub(super) fn keep(
        &self,
        subject: &Subject,
        name: &str,
        old: &BTreeSet<&String>,
        new: &BTreeSet<&String>,
    ) -> Judgement {
        let only = |one: &BTreeSet<&String>, other: &BTreeSet<&String>| -> Vec<String> {
            one.difference(other).map(|name| (*name).clone()).collect()
        };
        let (comes, goes) = (only(new, old), only(old, new));
        if self.is_history(name) {
            if goes.is_empty() {
                return Judgement::free(subject, "it holds for what is replaced from now on");
            }
            return Judgement::dropping(subject, "what it kept of the earlier states goes")
                .reads([view(name)])
                .writes([view(name)]);
        }
        let kept =
            |names: Vec<String>| (!names.is_empty()).then(|| Derived::Kept(name.to_owned(), names));
        Judgement::derived(
            subject,
            "its records get what they keep, and lose what they do not",
        )
        .reads(self.source_of(name))
        .writes([view(name)])
        .adds(kept(comes))
        .removes(kept(goes))
    }
}
