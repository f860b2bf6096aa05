//! Attributes that follow those of other items.

use partita_design::design::{AttributeId, RecordId};
use partita_design::kernel::{Does, Occasion, Reaction, Times};
use partita_design::nested;

use super::Transition;
use crate::draft::EntryId;
use crate::error::PlanError;
use crate::job::{Referrers, TaskKind};
use crate::planner::Planner;

impl<'a> Planner<'a> {
    /// Sets an attribute of the items that refer to one that changed, or to a new one where items
    /// may refer to it already.
    pub(super) fn copy(
        &mut self,
        at: EntryId,
        reaction: &'a Reaction,
        (from, to): (&'a str, (RecordId, AttributeId)),
        change: &Transition<'_>,
    ) -> Result<(), PlanError> {
        let design = &self.context.blueprint.design;
        let entry = self.entry(at);
        let source = entry.record;
        let (Times::Referring(referrer), Some(new)) = (&reaction.each, change.to) else {
            return Ok(());
        };
        let value = source.read(new, from);
        let is_same = change
            .from
            .is_some_and(|old| source.read(old, from) == value);
        // Who refers to an item by its key does not follow it where it moves.
        if is_same || entry.destination().is_some() {
            return Ok(());
        }
        // What only adds to a number knows what it comes to while nobody else does.
        for name in &reaction.reads {
            self.entry_mut(at).guard_unless_replaced(name);
        }
        let who = Referrers::of(design, source, *referrer);
        for item in self.followers(at, who, reaction.on, change)? {
            self.entry_mut(item)
                .follow(&design[to].name, value.as_deref());
            self.draft.enqueue(item);
        }
        Ok(())
    }

    /// The items that follow one in this write.
    fn followers(
        &mut self,
        at: EntryId,
        who: Referrers<'a>,
        on: Occasion,
        change: &Transition<'_>,
    ) -> Result<Vec<EntryId>, PlanError> {
        if on == Occasion::Change && self.entry(at).is_new() {
            return self.referring_in_draft(at, who);
        }
        if self.defer_referring(TaskKind::Follow, at, who) {
            return Ok(Vec::new());
        }
        let items = self.referring(at, who)?;
        // No item begins to refer to a new one between the listing and the commit.
        if change.from.is_some() || !items.is_empty() {
            self.look_again(TaskKind::Follow, at, who);
        }
        Ok(items)
    }

    /// The items that refer to one that this write creates, which are all in the draft.
    fn referring_in_draft(
        &mut self,
        at: EntryId,
        who: Referrers<'a>,
    ) -> Result<Vec<EntryId>, PlanError> {
        let entries = self.draft.entries.iter();
        let known = entries.filter(|one| one.record.id == who.entity.id && one.after.is_some());
        let places = known.map(|one| one.address.clone()).collect();
        let address = self.entry(at).address.clone();
        self.those_referring(who, &address, places)
    }

    /// Sets everything that some items copy from one to what it is now, which may be newer than
    /// the change that caused the job: so the last of several jobs leaves the last value, whichever
    /// comes last. Answers how many items differ.
    pub(crate) fn catch_up(
        &mut self,
        source: EntryId,
        who: Referrers<'a>,
        items: Vec<EntryId>,
    ) -> u64 {
        let design = &self.context.blueprint.design;
        let Some(now) = self.entry(source).old().cloned() else {
            return 0;
        };
        let reactions = design.reactions.of(who.source.id).iter();
        let copies = reactions.filter_map(|one| match (&one.does, &one.each) {
            (Does::Copy { from, to }, Times::Referring(referrer)) => {
                let is_same = referrer.reference == who.id.reference && to.0 == who.entity.id;
                is_same.then_some((from.as_str(), design[*to].name.as_str()))
            }
            _ => None,
        });
        let copies: Vec<(&'a str, &'a str)> = copies.collect();
        for (from, _) in &copies {
            self.entry_mut(source).guard(from);
        }
        let mut done = 0;
        for item in items {
            let entry = self.entry_mut(item);
            for (from, to) in &copies {
                let value = who.source.read(&now, from);
                let is = entry
                    .after
                    .as_deref()
                    .and_then(|item| nested::get(item, to));
                if is != value.as_deref() {
                    entry.follow(to, value.as_deref());
                }
            }
            if entry.after.as_ref() != entry.old() {
                done += 1;
                self.draft.enqueue(item);
            }
        }
        done
    }
}
