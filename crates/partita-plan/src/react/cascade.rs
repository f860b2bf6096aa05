//! What becomes of items when the one that they refer to is removed.

use partita_core::Number;
use partita_core::wording::one;
use partita_design::design::{Access, AttributeId, OnDelete, Record, Ref};
use partita_design::kernel::{Does, Occasion, Reaction, Times};

use super::number::Total;
use crate::draft::EntryId;
use crate::error::{FaultRule, PlanError};
use crate::job::{Referrers, TaskKind};
use crate::planner::{By, Planner};
use crate::react::effect::LeftOut;
use crate::request::input::{Changes, Slot};

/// How many items are looked at to find out whether one of them is kept by others. Each may need a
/// check in the transaction.
const LOOKED_AT_MAX: usize = 40;

impl<'a> Planner<'a> {
    /// Does to the items that refer to a removed one what their refs say `on delete`.
    pub(super) fn release_referring(&mut self, at: EntryId) -> Result<(), PlanError> {
        let reactions = &self.context.blueprint.design.reactions;
        let reactions = reactions.of(self.entry(at).record.id).iter();
        for reaction in reactions.filter(|one| one.does == Does::Release) {
            self.release(at, reaction)?;
        }
        Ok(())
    }

    /// Does to the items that refer to a removed one what one ref says `on delete`.
    fn release(&mut self, at: EntryId, reaction: &'a Reaction) -> Result<(), PlanError> {
        let Times::Referring(referrer) = reaction.each else {
            return Ok(());
        };
        let source = self.entry(at).record;
        let who = Referrers::of(&self.context.blueprint.design, source, referrer);
        if self.plans_job() && who.target.on_delete == OnDelete::Cascade {
            self.refuse_undecided(at, who)?;
        }
        // What refuses the removal is looked at when everything else is known.
        if matches!(who.target.on_delete, OnDelete::Refuse { .. })
            || self.defer_referring(TaskKind::Release, at, who)
        {
            return Ok(());
        }
        for item in self.all_referring(at, who)? {
            self.release_one(item, who)?;
        }
        Ok(())
    }

    /// Refuses to leave a cascade to a job whose items may themselves be kept by others: the item
    /// would be gone before the first of them refuses.
    fn refuse_undecided(&mut self, at: EntryId, who: Referrers<'a>) -> Result<(), PlanError> {
        let Err(refusal) = self.check_refusals(who.entity) else {
            return Ok(());
        };
        if self.nothing_refuses(at, who)? {
            Ok(())
        } else {
            Err(refusal)
        }
    }

    /// Whether the items that go with one are few, and none of them is kept by others. That is
    /// guarded.
    fn nothing_refuses(&mut self, at: EntryId, who: Referrers<'a>) -> Result<bool, PlanError> {
        let mut going = vec![(at, who)];
        let mut looked_at = 0;
        while let Some((source, who)) = going.pop() {
            let items = match self.referring(source, who) {
                Err(PlanError::TooMuch { .. }) => return Ok(false),
                items => items?,
            };
            for item in items {
                looked_at += 1;
                let record = self.entry(item).record;
                if looked_at > LOOKED_AT_MAX || self.check_requirements(record).is_err() {
                    return Ok(false);
                }
                for who in self.released_by(record) {
                    match &who.target.on_delete {
                        OnDelete::Refuse { .. } if who.entity.id == record.id => {}
                        OnDelete::Refuse { count } => {
                            let count = &record.attributes[count.index()].name;
                            let entry = self.entry_mut(item);
                            entry.guard(count);
                            if entry.number_left(count) > Number::ZERO {
                                return Ok(false);
                            }
                        }
                        OnDelete::Cascade => going.push((item, who)),
                        OnDelete::Keep | OnDelete::Clear(_) => {}
                    }
                }
            }
        }
        Ok(true)
    }

    /// Finds out whether items of an entity, or what goes with them, may be kept by others.
    fn check_refusals(&self, entity: &'a Record) -> Result<(), PlanError> {
        let mut going = vec![entity];
        let mut at = 0;
        while let Some(entity) = going.get(at).copied() {
            at += 1;
            self.check_requirements(entity)?;
            for who in self.released_by(entity) {
                match &who.target.on_delete {
                    // Items of one kind go in the order in which they let each other go, and what
                    // one that stays refuses is tried again.
                    OnDelete::Refuse { .. } if who.entity.id == entity.id => {}
                    OnDelete::Refuse { .. } => {
                        let (entity, by) = (&entity.name, &who.entity.name);
                        let what = format!(
                            "every `{entity}` goes with it, and {} may refuse that: delete \
                             the `{entity}` items first",
                            one(by)
                        );
                        return Err(PlanError::TooMuch { what });
                    }
                    OnDelete::Cascade if !going.iter().any(|one| one.id == who.entity.id) => {
                        going.push(who.entity);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Finds out whether a trigger may refuse the removal of items.
    fn check_requirements(&self, entity: &'a Record) -> Result<(), PlanError> {
        let design = &self.context.blueprint.design;
        for reaction in design.reactions.of(entity.id) {
            if let (Does::Operate(effect), Occasion::Operation(kind)) =
                (&reaction.does, reaction.on)
                && let Some(require) = &design[*effect].require
                && kind.includes(Access::Delete)
            {
                let (entity, rule) = (&entity.name, &require.text);
                let trigger = design.effect_name(*effect);
                let what = format!(
                    "every `{entity}` goes with it, and `{trigger}` requires `{rule}` of each: \
                     delete the `{entity}` items first"
                );
                return Err(PlanError::TooMuch { what });
            }
        }
        Ok(())
    }

    /// The refs that say what becomes of items when one of a record is removed.
    fn released_by(&self, source: &'a Record) -> impl Iterator<Item = Referrers<'a>> + use<'a> {
        let design = &self.context.blueprint.design;
        let reactions = design.reactions.of(source.id).iter();
        reactions.filter_map(move |one| match (&one.does, &one.each) {
            (Does::Release, Times::Referring(id)) => Some(Referrers::of(design, source, *id)),
            _ => None,
        })
    }

    /// Does to one item what its ref says `on delete`. Says whether there was something to do.
    pub(crate) fn release_one(
        &mut self,
        item: EntryId,
        who: Referrers<'a>,
    ) -> Result<bool, PlanError> {
        match &who.target.on_delete {
            OnDelete::Keep | OnDelete::Refuse { .. } => Ok(false),
            OnDelete::Cascade => self.cascade(item, who.reference),
            OnDelete::Clear(_) if matches!(self.left_out, LeftOut::Clearing | LeftOut::All) => {
                Ok(false)
            }
            OnDelete::Clear(attributes) => {
                self.entry_mut(item).is_released = true;
                self.change(item, &clearing(who.entity, attributes), By::Effect)?;
                Ok(true)
            }
        }
    }

    /// Removes an item for good because the one that it refers to is removed: also where a delete
    /// would be soft, and where it was deleted softly before. Says whether it was there.
    fn cascade(&mut self, at: EntryId, by: &Ref) -> Result<bool, PlanError> {
        let entry = self.entry_mut(at);
        let record = entry.record;
        if entry.is_new() {
            let message = "leads to an item that the same write removes";
            self.fault(record, &by.name, FaultRule::Reference, message);
            return self.refuse().map(|()| false);
        }
        if !self.remove_for_good(at) {
            return Ok(false);
        }
        self.entry_mut(at).is_released = true;
        Ok(true)
    }

    /// The items that refer to one that is removed. None may be left behind: an index can lack one
    /// that was just written, and one can be written while this is planned. Where they are
    /// counted, the count decides at the end; otherwise a job looks again.
    fn all_referring(
        &mut self,
        at: EntryId,
        who: Referrers<'a>,
    ) -> Result<Vec<EntryId>, PlanError> {
        let items = self.referring(at, who)?;
        match self.count_of(who) {
            Some(total) => self.entry_mut(at).guard(&total.attribute.name),
            None => self.look_again(TaskKind::Release, at, who),
        }
        Ok(items)
    }

    /// The number of an item that counts every item that refers to it by a ref.
    pub(crate) fn count_of(&self, who: Referrers<'a>) -> Option<Total<'a>> {
        let design = &self.context.blueprint.design;
        let reactions = design.reactions.of(who.entity.id).iter();
        let mut totals = reactions.filter_map(|one| Total::of(design, one));
        totals.find(|total| {
            total.sum.is_none()
                && total.reaction.is_unconditional()
                && total.by.name == who.reference.name
                && total.entity.id == who.source.id
        })
    }

    /// Refuses to delete what others still refer to, those left aside that go with it. The numbers
    /// are final only here: an item may be released by one ref and removed by another.
    pub(super) fn check_deletions(&mut self) -> Result<(), PlanError> {
        for at in self.draft.ids() {
            let entry = self.entry(at);
            if entry.is_removed() && !entry.is_read_only() {
                for who in self.released_by(entry.record) {
                    self.check_deletion(at, who)?;
                }
            }
        }
        Ok(())
    }

    fn check_deletion(&mut self, at: EntryId, who: Referrers<'a>) -> Result<(), PlanError> {
        let count = match &who.target.on_delete {
            OnDelete::Keep => None,
            OnDelete::Refuse { count } => Some(&who.source.attributes[count.index()].name),
            OnDelete::Cascade | OnDelete::Clear(_) if self.plans_job() => None,
            OnDelete::Cascade | OnDelete::Clear(_) => {
                self.count_of(who).map(|total| &total.attribute.name)
            }
        };
        let Some(count) = count else {
            return Ok(());
        };
        let entry = self.entry_mut(at);
        entry.guard(count);
        let left = entry.number_left(count);
        if left == Number::ZERO || !self.context.reads.is_complete() {
            return Ok(());
        }
        match &who.target.on_delete {
            OnDelete::Refuse { .. } if left > Number::ZERO => Err(PlanError::InUse {
                entity: who.source.name.clone(),
                by: who.entity.name.clone(),
                count: left.to_string(),
            }),
            OnDelete::Refuse { .. } => Ok(()),
            // The index lacks some of those that are counted, or the number is wrong.
            _ => {
                let by = &who.entity.name;
                let what = if left > Number::ZERO {
                    format!("counts {left} `{by}` that are not found")
                } else {
                    format!("counts less `{by}` than there are")
                };
                Err(PlanError::drift(who.source, count, what))
            }
        }
    }
}

/// The changes that clear these attributes.
fn clearing<'a>(entity: &'a Record, attributes: &[AttributeId]) -> Changes<'a> {
    let cleared = attributes.iter().map(|id| &entity.attributes[id.index()]);
    Changes {
        remove: cleared.map(Slot::Declared).collect(),
        ..Changes::default()
    }
}
