//! What follows from a write: the reactions of every item that changes, and of what these change.
//!
//! The design has a table of [reactions](partita_design::kernel), by the record that is written.
//! For each changed item of the draft the loop here runs those of its record that the change sets
//! off. They write their targets into the draft, and targets that change are next.
//!
//! | module | what is done |
//! |---|---|
//! | `number` | counts and sums of other items are added to |
//! | `kept` | so are those of items that are not there |
//! | `mark` | each item counts once for a number that is being filled |
//! | `copy` | attributes that follow others are set |
//! | `cascade` | items that refer to a removed one do what their ref says |
//! | `effect` | triggers and actions create, change and delete other items |
//! | `outgoing` | effects that are mails and events are recorded |
//! | `view` | the records of views are put, changed, moved and deleted |
//! | `history` | states that are replaced are put |
//! | `unique` | the guards of unique values are taken and given back |
//! | `each` | none of these: the elements and items that something is done for |
//! | `referring` | nor these: the items that refer to another |

mod cascade;
mod copy;
pub(crate) mod each;
pub(crate) mod effect;
mod history;
pub(crate) mod kept;
pub(crate) mod mark;
mod number;
pub(crate) mod outgoing;
pub(crate) mod referring;
pub(crate) mod unique;
mod view;

use std::cell::OnceCell;
use std::rc::Rc;

use partita_core::Map;
use partita_core::expression::Scope;
use partita_core::wording::one;
use partita_design::design::EffectId;
use partita_design::expression::Predicate;
use partita_design::kernel::{Does, Occasion, Reaction, When};
use partita_design::nested::Difference;

use crate::draft::{Entry, EntryId};
use crate::error::PlanError;
use crate::planner::{By, Planner};

/// How many changed items are looked at in one write. The checker excludes cycles; this keeps a
/// mistake of ours from running on.
const ITEMS_MAX: usize = 10_000;

/// Which reactions to an item of the draft have run.
pub(crate) struct Reacted {
    /// The state that was reacted to last.
    to: Option<Rc<Map>>,
    /// Whether the items that refer to it, which is removed, are released or about to be.
    pub(crate) has_released: bool,
    /// The effects of triggers that were set off, each once for one write of the item.
    fired: Vec<EffectId>,
    /// The records that are kept of the item, by their places in the draft.
    records: Vec<EntryId>,
}

impl Reacted {
    /// Nothing follows from the state that was read.
    pub(crate) fn to(state: Option<Rc<Map>>) -> Self {
        Reacted {
            to: state,
            has_released: false,
            fired: Vec::new(),
            records: Vec::new(),
        }
    }
}

/// An item before and after a change.
struct Transition<'m> {
    from: Option<&'m Map>,
    to: Option<&'m Map>,
    difference: OnceCell<Difference<'m>>,
}

impl<'m> Transition<'m> {
    fn between(from: Option<&'m Map>, to: Option<&'m Map>) -> Self {
        Transition {
            from,
            to,
            difference: OnceCell::new(),
        }
    }

    /// Whether the item comes, goes, or changes in what a reaction reads.
    fn concerns(&self, reaction: &Reaction) -> bool {
        let (Some(from), Some(to)) = (self.from, self.to) else {
            return self.from.is_some() != self.to.is_some();
        };
        let difference = || Difference::between(from, to);
        reaction.reads_any(|name| self.difference.get_or_init(difference).has(name))
    }

    /// Whether it sets a reaction off, as far as the reaction follows the state of the item.
    fn sets_off(&self, reaction: &Reaction, entry: &Entry<'_>) -> bool {
        let is_occasion = match reaction.on {
            Occasion::Write => true,
            // Nothing that is stored follows a new item, but the rest of this write may.
            Occasion::Change => self.to.is_some() && (self.from.is_some() || reaction.is_copy()),
            Occasion::Removal => self.from.is_some() && entry.is_removed(),
            Occasion::Operation(kind) => entry.operation.is_some_and(|done| kind.includes(done)),
            // The call of the action runs it.
            Occasion::Action(_) => false,
        };
        is_occasion && (!matches!(reaction.when, When::While(_)) || self.concerns(reaction))
    }
}

impl<'a> Planner<'a> {
    /// Runs the reactions to everything in the draft, until nothing more changes.
    pub(crate) fn react(&mut self) -> Result<(), PlanError> {
        let mut items = 0;
        loop {
            // Effects must know of everything that a cascade removes.
            if let Some(at) = self.draft.next_removed() {
                self.count_item(at, &mut items)?;
                self.release_referring(at)?;
                continue;
            }
            let Some(at) = self.draft.next() else {
                break;
            };
            self.count_item(at, &mut items)?;
            self.refresh(at)?;
            if self.entry(at).is_unread() {
                self.read_what_is_added_to(at);
            } else {
                self.react_to(at)?;
            }
        }
        self.guard_restated();
        self.check_demands()?;
        self.check_deletions()?;
        self.refuse()
    }

    /// Counts an item that is looked at; refuses a write that looks at too many.
    fn count_item(&self, at: EntryId, items: &mut usize) -> Result<(), PlanError> {
        *items += 1;
        if *items <= ITEMS_MAX {
            return Ok(());
        }
        let name = &self.entry(at).record.name;
        Err(PlanError::TooMuch {
            what: format!(
                "it changes more than {ITEMS_MAX} items, the last {}",
                one(name)
            ),
        })
    }

    /// Computes again what is made of what followed other items: numbers that were added to, and
    /// copies. For that the item must be known.
    fn refresh(&mut self, at: EntryId) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let entity = entry.record;
        let own = self.context.blueprint.design.reactions.own(entity.id);
        if !entity.is_entity() {
            return Ok(());
        }
        if entry.is_unread() {
            if entry.adds().keys().any(|name| own.is_feeding(name)) {
                self.context.reads.need(entry.address.clone());
            }
            return Ok(());
        }
        let followed = self.entry_mut(at).take_followed();
        if followed.iter().any(|name| own.is_basis(name)) {
            self.recompute(at, entity, By::Effect)?;
        }
        Ok(())
    }

    /// Guards values that were computed and came out as they were, where something follows them:
    /// another writer may have changed them, and what follows with them.
    fn guard_restated(&mut self) {
        for at in self.draft.ids() {
            let entry = self.entry(at);
            let computed = entry.computed().iter().copied();
            let restated = computed.filter(|name| !entry.replaces(name));
            let restated: Vec<&'a str> = restated.collect();
            let reactions = &self.context.blueprint.design.reactions;
            let own = reactions.own(entry.record.id);
            let reactions = reactions.of(entry.record.id);
            for name in restated {
                let is_followed = own.is_basis(name)
                    || own.is_feeding(name)
                    || reactions
                        .iter()
                        .any(|one| one.reads_any(|read| read == name));
                if is_followed {
                    self.entry_mut(at).guard(name);
                }
            }
        }
    }

    /// Has an item read of which only numbers were added to, if a reaction reads one of them.
    fn read_what_is_added_to(&self, at: EntryId) {
        let entry = self.entry(at);
        let mut reactions = self
            .context
            .blueprint
            .design
            .reactions
            .of(entry.record.id)
            .iter();
        let is_added = |name: &str| entry.adds().contains_key(name);
        let follows = |one: &Reaction| matches!(one.on, Occasion::Write | Occasion::Change);
        if reactions.any(|one| follows(one) && one.reads_any(is_added)) {
            self.context.reads.need(entry.address.clone());
        }
    }

    /// Runs the reactions to a change of one item.
    ///
    /// An item may change again in the same write. What was done to others is then done for the
    /// difference to the state that was reacted to; the records that are kept of the item are
    /// made again from the state that was read.
    fn react_to(&mut self, at: EntryId) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let reactions = self.context.blueprint.design.reactions.of(entry.record.id);
        // INVARIANT: the design has these last, because they see what the others leave.
        let records = reactions.partition_point(|one| !one.does.keeps_records());
        let (others, records) = reactions.split_at(records);
        let (from, to) = (entry.reacted.to.clone(), entry.after.clone());
        let change = Transition::between(from.as_deref(), to.as_deref());
        self.run(at, others, &change)?;
        self.entry_mut(at).reacted.to = to;
        self.retract_records(at);
        self.retract_unique(at);
        let entry = self.entry(at);
        let (from, to) = (entry.old().cloned(), entry.after.clone());
        let change = Transition::between(from.as_deref(), to.as_deref());
        self.run(at, records, &change)
    }

    /// Runs those of some reactions that a change sets off.
    fn run(
        &mut self,
        at: EntryId,
        reactions: &'a [Reaction],
        change: &Transition<'_>,
    ) -> Result<(), PlanError> {
        for reaction in reactions {
            if !change.sets_off(reaction, self.entry(at)) && !self.is_refilled(at, reaction) {
                continue;
            }
            match &reaction.does {
                Does::Add { .. } => self.move_number(at, reaction, change)?,
                Does::Copy { from, to } => self.copy(at, reaction, (from, *to), change)?,
                // Done already, before any reaction to the removal.
                Does::Release => {}
                Does::Operate(effect) => self.trigger(at, reaction, *effect)?,
                Does::Keep(view) => self.keep_view(at, reaction, *view)?,
                Does::Archive(view) => self.archive(at, reaction, *view)?,
                Does::Guard(unique) => self.guard_unique(at, reaction, *unique)?,
            }
        }
        Ok(())
    }

    /// Whether the condition of a reaction turns with a write: it holds now, and did not before.
    fn turns(&mut self, at: EntryId, turns: &'a Predicate) -> Result<bool, PlanError> {
        let entry = self.entry(at);
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let is_so = match &new {
            Some(new) => self.evaluate(at, new, |scope| turns.holds(&scope.was(old.as_deref())))?,
            None => false,
        };
        let was_so = match old.filter(|_| is_so) {
            Some(old) => self.evaluate(at, &old, |scope| turns.holds(&scope.before().of_old()))?,
            None => false,
        };
        Ok(is_so && !was_so)
    }
}

/// Whether the condition of a reaction holds of one state.
fn holds(reaction: &Reaction, scope: &impl Scope) -> bool {
    let (When::While(condition) | When::If(condition) | When::Turns(_, condition)) = &reaction.when;
    let mut condition = condition.iter();
    condition.all(|condition| condition.holds(scope))
}
