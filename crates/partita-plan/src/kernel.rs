//! The design's reactions, as the planner asks for them.

use partita_design::Design;
use partita_design::design::{
    Aggregate, Attribute, EffectId, Record, RecordId, Ref, RefTarget, ReferrerId, Source, Trigger,
    View,
};
use partita_design::kernel::{Does, Own, Times};

use crate::draft::Refusal;
use crate::error::{Fault, PlanError};

pub(crate) use partita_design::kernel::reference_inputs;

/// What the planner asks for beside the reactions.
pub(crate) struct Kernel {
    own: Vec<Own>,
    /// What is said when a ref that a write sets has no target, for each record: the ref, what it
    /// should lead to, and the refusal. Every such write carries it, and hardly any shows it.
    refusals: Vec<Vec<(String, RecordId, Refusal)>>,
}

/// A number over the items of a record.
#[derive(Clone, Copy)]
pub(crate) struct Count<'d> {
    /// Whose number it is.
    pub(crate) entity: &'d Record,
    pub(crate) attribute: &'d Attribute,
    pub(crate) aggregate: &'d Aggregate,
    /// The attributes of the counted item that decide anything, as far as they can change.
    pub(crate) inputs: &'d [String],
}

/// An attribute that follows one of another item.
#[derive(Clone, Copy)]
pub(crate) struct Follower<'d> {
    /// Whose attribute it is.
    pub(crate) entity: &'d Record,
    pub(crate) attribute: &'d Attribute,
    /// The ref that leads from there to the item that is followed.
    pub(crate) reference: &'d Ref,
    pub(crate) target: &'d RefTarget,
    /// The attribute that is followed.
    pub(crate) followed: &'d str,
}

/// A ref that cares whether its target is deleted.
#[derive(Clone, Copy)]
pub(crate) struct Referrer<'d> {
    /// Whose ref it is.
    pub(crate) entity: &'d Record,
    pub(crate) reference: &'d Ref,
    pub(crate) target: &'d RefTarget,
}

impl Kernel {
    pub(crate) fn new(design: &Design) -> Self {
        let records = design.records.iter().map(|record| {
            let refs = record.refs.iter();
            let targets = refs.flat_map(|one| one.records().map(move |target| (&one.name, target)));
            let refusals = targets.map(|(name, target)| {
                let fault = Fault::of_target(&record.name, name, &design[target].name);
                let faults = vec![fault];
                let refusal = Refusal::last(PlanError::Invalid { faults });
                (name.clone(), target, refusal)
            });
            refusals.collect()
        });
        let own = design.records.iter();
        let own = own.map(|record| design.reactions.own(record.id).clone());
        Kernel {
            own: own.collect(),
            refusals: records.collect(),
        }
    }

    /// What is said when a ref of a record has no target.
    pub(crate) fn without_target(
        &self,
        record: RecordId,
        reference: &str,
        target: RecordId,
    ) -> Option<&Refusal> {
        let mut refusals = self.refusals[record.index()].iter();
        let found = refusals.find(|(name, to, _)| name == reference && *to == target);
        found.map(|(_, _, refusal)| refusal)
    }

    /// The attributes of an entity that a write may have to compute.
    pub(crate) fn computed<'d>(
        &'d self,
        entity: &'d Record,
    ) -> impl Iterator<Item = &'d Attribute> {
        self.own[entity.id.index()].computed(entity)
    }

    /// Whether something of the same item may be computed from an attribute.
    pub(crate) fn is_basis(&self, record: RecordId, attribute: &str) -> bool {
        self.own[record.index()].is_basis(attribute)
    }

    /// Whether keys or other attributes of the item are made of an attribute.
    pub(crate) fn is_feeding(&self, record: RecordId, attribute: &str) -> bool {
        self.own[record.index()].is_feeding(attribute)
    }

    /// The numbers over the items of a record.
    pub(crate) fn counts<'d>(
        &self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = Count<'d>> {
        let reactions = design.reactions.of(record).iter();
        reactions.filter_map(|reaction| {
            let Does::Add { to, .. } = reaction.does else {
                return None;
            };
            let attribute = &design[to];
            let Source::Aggregate(aggregate) = &attribute.source else {
                return None;
            };
            Some(Count {
                entity: &design[to.0],
                attribute,
                aggregate,
                inputs: &reaction.reads,
            })
        })
    }

    /// The attributes that follow those of a record.
    pub(crate) fn followers<'d>(
        &self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = Follower<'d>> {
        let reactions = design.reactions.of(record).iter();
        reactions.filter_map(|reaction| {
            let (Does::Copy { from, to }, Times::Referring(by)) = (&reaction.does, &reaction.each)
            else {
                return None;
            };
            let Referrer {
                entity,
                reference,
                target,
            } = referrer(design, *by);
            Some(Follower {
                entity,
                attribute: &design[*to],
                reference,
                target,
                followed: from,
            })
        })
    }

    /// The refs to a record that care whether it is deleted.
    pub(crate) fn referrers<'d>(
        &self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = Referrer<'d>> {
        let reactions = design.reactions.of(record).iter();
        reactions.filter_map(|reaction| match (&reaction.does, &reaction.each) {
            (Does::Release, Times::Referring(by)) => Some(referrer(design, *by)),
            _ => None,
        })
    }

    /// The views of an entity.
    pub(crate) fn views<'d>(
        &self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = (&'d Record, &'d View)> {
        let views = self.derived(design, record);
        views.map(|(record, view, _)| (record, view))
    }

    /// The views of an entity, each with the attributes that it is made of, as far as they can
    /// change.
    pub(crate) fn derived<'d>(
        &self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = (&'d Record, &'d View, &'d [String])> {
        let reactions = design.reactions.of(record).iter();
        reactions.filter_map(|reaction| {
            let (Does::Keep(view) | Does::Archive(view)) = reaction.does else {
                return None;
            };
            let record = &design[view];
            Some((record, record.view.as_ref()?, reaction.reads.as_slice()))
        })
    }

    /// What writes to a record trigger.
    pub(crate) fn triggers<'d>(
        &self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = &'d Trigger> {
        let reactions = design.reactions.of(record).iter();
        reactions.filter_map(|reaction| match reaction.does {
            Does::Operate(EffectId::Trigger(trigger)) => Some(&design[trigger]),
            _ => None,
        })
    }
}

fn referrer(design: &Design, by: ReferrerId) -> Referrer<'_> {
    let reference = &design[(by.record, by.reference)];
    Referrer {
        entity: &design[by.record],
        reference,
        target: &reference.targets[by.target],
    }
}
