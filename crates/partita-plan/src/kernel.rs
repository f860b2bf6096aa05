//! What a write to a record can cause, found once when a design is opened.
//!
//! Counts, sums, copies, views, triggers and cascades are declared where they are seen: at the
//! number, the copy, the ref. Planning starts from the other end, at the item that changes. What
//! causes what is decided by the design's own kernel, as [reactions](partita_design::kernel); this
//! is an index of them by the record that is written. It holds positions instead of reactions,
//! because it lives beside the design that they would borrow from.

use partita_design::Design;
use partita_design::design::{
    Aggregate, Attribute, EachOver, Record, RecordId, Ref, RefTarget, Source, Timing, Trigger,
    TriggerId, View,
};
use partita_design::kernel::{Cause, Does, Reaction, reactions};
use rustc_hash::FxHashSet;

use crate::draft::Refusal;
use crate::error::{Fault, PlanError};

/// What writes to each record can cause.
pub(crate) struct Kernel {
    /// In the order of the design's records.
    records: Vec<Consequences>,
}

/// What a write to one record can cause. Numbers are positions in the design.
#[derive(Default)]
pub(crate) struct Consequences {
    counted: Vec<Counted>,
    triggers: Vec<TriggerId>,
    views: Vec<Derived>,
    followed: Vec<(RecordId, usize)>,
    referrers: Vec<(RecordId, usize, usize)>,
    feeding: FxHashSet<String>,
    /// The attributes that a write may have to compute, as positions in the entity.
    computed: Vec<usize>,
    /// The attributes of the item that those are computed from, without what stands inside.
    basis: FxHashSet<String>,
    /// What is said when a ref that a write sets has no target. Every such write carries it, and
    /// hardly any shows it.
    refusals: Vec<WithoutTarget>,
}

struct WithoutTarget {
    reference: String,
    target: RecordId,
    refusal: Refusal,
}

struct Derived {
    view: RecordId,
    inputs: Vec<String>,
}

struct Counted {
    entity: RecordId,
    attribute: usize,
    inputs: Vec<String>,
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
    pub(crate) fn new(design: &Design) -> Kernel {
        let records = design.records.iter().map(|record| Consequences {
            feeding: feeding(record),
            computed: computed(record),
            basis: basis(record),
            refusals: refusals(design, record),
            ..Consequences::default()
        });
        let mut kernel = Kernel {
            records: records.collect(),
        };
        for reaction in reactions(design) {
            kernel.records[reaction.on.of.index()].add(design, &reaction);
        }
        kernel
    }

    fn get(&self, record: RecordId) -> &Consequences {
        &self.records[record.index()]
    }

    /// The numbers over the items of a record.
    pub(crate) fn counts<'d>(
        &'d self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = Count<'d>> {
        self.get(record).counted.iter().filter_map(|counted| {
            let entity = &design[counted.entity];
            let attribute = &entity.attributes[counted.attribute];
            let Source::Aggregate(aggregate) = &attribute.source else {
                return None;
            };
            Some(Count {
                entity,
                attribute,
                aggregate,
                inputs: &counted.inputs,
            })
        })
    }

    /// The attributes that follow those of a record.
    pub(crate) fn followers<'d>(
        &'d self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = Follower<'d>> {
        self.get(record)
            .followed
            .iter()
            .filter_map(move |(entity, at)| {
                let entity = &design[*entity];
                let attribute = &entity.attributes[*at];
                let Source::Copy(reading) = &attribute.source else {
                    return None;
                };
                let reference = design.reference(reading.hops.first()?)?;
                let mut targets = reference.targets.iter();
                let target = targets.find(|target| target.record() == Some(record))?;
                Some(Follower {
                    entity,
                    attribute,
                    reference,
                    target,
                    followed: &reading.attribute,
                })
            })
    }

    /// The refs to a record that care whether it is deleted.
    pub(crate) fn referrers<'d>(
        &'d self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = Referrer<'d>> {
        let referrers = self.get(record).referrers.iter();
        referrers.map(|(entity, reference, target)| {
            let entity = &design[*entity];
            let reference = &entity.refs[*reference];
            Referrer {
                entity,
                reference,
                target: &reference.targets[*target],
            }
        })
    }

    /// The views of an entity.
    pub(crate) fn views<'d>(
        &'d self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = (&'d Record, &'d View)> {
        let views = self.derived(design, record);
        views.map(|(record, view, _)| (record, view))
    }

    /// The views of an entity, each with the attributes that it is made of, as far as they can
    /// change.
    pub(crate) fn derived<'d>(
        &'d self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = (&'d Record, &'d View, &'d [String])> {
        let views = self.get(record).views.iter();
        views.filter_map(|derived| {
            let record = &design[derived.view];
            Some((record, record.view.as_ref()?, derived.inputs.as_slice()))
        })
    }

    /// What writes to a record trigger.
    pub(crate) fn triggers<'d>(
        &'d self,
        design: &'d Design,
        record: RecordId,
    ) -> impl Iterator<Item = &'d Trigger> {
        let triggers = self.get(record).triggers.iter();
        triggers.map(|trigger| &design[*trigger])
    }

    /// Whether keys or other attributes of the item are made of an attribute, so that whoever adds
    /// to it must know the item.
    pub(crate) fn is_feeding(&self, record: RecordId, attribute: &str) -> bool {
        self.get(record).feeding.contains(attribute)
    }

    /// The attributes of an entity that a write may have to compute.
    pub(crate) fn computed<'d>(
        &'d self,
        entity: &'d Record,
    ) -> impl Iterator<Item = &'d Attribute> {
        let computed = self.get(entity.id).computed.iter();
        computed.map(|at| &entity.attributes[*at])
    }

    /// What is said when a ref of a record has no target.
    pub(crate) fn without_target(
        &self,
        record: RecordId,
        reference: &str,
        target: RecordId,
    ) -> Option<&Refusal> {
        let mut refusals = self.get(record).refusals.iter();
        let found = refusals.find(|one| one.reference == reference && one.target == target);
        found.map(|one| &one.refusal)
    }

    /// Whether something of the same item may be computed from an attribute.
    pub(crate) fn is_basis(&self, record: RecordId, attribute: &str) -> bool {
        self.get(record).basis.contains(root(attribute))
    }
}

impl Consequences {
    /// Notes down where in the design a reaction stands. Guards belong to the item itself, and
    /// the effects of an action to its call.
    fn add(&mut self, design: &Design, reaction: &Reaction<'_>) {
        match (&reaction.cause, &reaction.does) {
            (Cause::Aggregate(entity, attribute), Does::Add { aggregate, .. }) => {
                self.counted.push(Counted {
                    entity: entity.id,
                    attribute: position(&entity.attributes, attribute),
                    inputs: inputs(design, aggregate),
                });
            }
            (Cause::Copy(entity, attribute), _) => {
                let at = position(&entity.attributes, attribute);
                self.followed.push((entity.id, at));
            }
            (
                Cause::View(record) | Cause::History(record),
                Does::Keep(_, view) | Does::Archive(_, view),
            ) => {
                self.views.push(Derived {
                    view: record.id,
                    inputs: made_of(design, record, view),
                });
            }
            (Cause::Trigger(trigger), _) => {
                self.triggers.push(trigger.id);
            }
            (Cause::OnDelete(entity, reference), Does::Release(on_delete)) => {
                let at = position(&entity.refs, reference);
                // One ref may release its targets in different ways.
                let mut targets = reference.targets.iter();
                let target = targets.position(|one| std::ptr::eq(&one.on_delete, *on_delete));
                self.referrers
                    .extend(target.map(|target| (entity.id, at, target)));
            }
            _ => {}
        }
    }
}

/// Where something stands in the list that it is in.
fn position<T>(list: &[T], one: &T) -> usize {
    let mut list = list.iter();
    list.position(|other| std::ptr::eq(other, one))
        .unwrap_or_default()
}

/// The attributes of a counted item that decide whether it counts, where, and how much, as far as
/// they can change.
fn inputs(design: &Design, aggregate: &Aggregate) -> Vec<String> {
    let mut inputs: Vec<String> = Vec::new();
    inputs.extend(aggregate.sum.clone());
    if let Some(only) = &aggregate.only {
        inputs.extend(only.own_attributes().map(str::to_owned));
    }
    let counted = &design[aggregate.of];
    // A view's record comes and goes with its source.
    if counted.is_entity() {
        let reference = &counted.refs[aggregate.by.index()];
        inputs.extend(reference_inputs(reference).map(str::to_owned));
        let soft_delete = counted.soft_delete.as_ref();
        inputs.extend(soft_delete.map(|one| one.attribute().to_owned()));
        inputs.retain(|name| can_change(counted, name));
    }
    inputs
}

/// Whether an attribute of an item can be another one later. So can what is movable: the item is
/// elsewhere then.
fn can_change(entity: &Record, name: &str) -> bool {
    let attribute = entity.stored(name);
    attribute.is_none_or(|attribute| !attribute.lasting || attribute.movable)
}

/// The attributes of the source that a view is made of, as far as they can change.
fn made_of(design: &Design, record: &Record, view: &View) -> Vec<String> {
    let when = view.when.iter().flat_map(|when| when.own_attributes());
    let derived = record
        .derived()
        .flat_map(|(_, value)| value.own_attributes());
    let keys = record.identity.iter().map(|part| part.attribute.as_str());
    let indexes = record.indexes.iter().flat_map(|index| &index.reads);
    let indexes = indexes.map(|reading| reading.attribute.as_str());
    let each = view.each.iter().filter_map(|each| match &each.over {
        EachOver::List { reading, .. } => Some(reading.attribute.as_str()),
        EachOver::Pattern { .. } => None,
    });
    let keep = record.kept().map(|one| one.name.as_str());
    let names = keep.chain(when).chain(derived).chain(keys);
    let names = names.chain(indexes).chain(each);
    let source = &design[view.of];
    let names = names.filter(|name| can_change(source, name));
    names.map(str::to_owned).collect()
}

/// The attributes that decide where a ref leads.
pub(crate) fn reference_inputs(reference: &Ref) -> impl Iterator<Item = &str> {
    let targets = reference.targets.iter();
    let arguments = targets.flat_map(|target| &target.arguments);
    let paths = arguments.map(|argument| argument.path.as_str());
    reference.by.as_deref().into_iter().chain(paths)
}

/// The attributes of an entity that its keys and its computed attributes are made of.
fn feeding(entity: &Record) -> FxHashSet<String> {
    let indexes = entity.indexes.iter().flat_map(|index| &index.reads);
    let mut names: FxHashSet<String> = indexes.map(|reading| reading.attribute.clone()).collect();
    for attribute in &entity.attributes {
        if let Source::Computed(computed) = &attribute.source
            && computed.timing == Timing::Always
            && (!attribute.is_virtual || names.contains(&attribute.name))
        {
            names.extend(computed.value.own_attributes().map(str::to_owned));
        }
    }
    names
}

/// The attributes of an entity that are stored and that nobody has to give.
fn computed(entity: &Record) -> Vec<usize> {
    let is_computed = |attribute: &Attribute| match &attribute.source {
        Source::Given { default } => default.is_some(),
        Source::Copy(_) | Source::Computed(_) => !attribute.is_virtual,
        _ => false,
    };
    let attributes = entity.attributes.iter().enumerate();
    attributes
        .filter(|(_, attribute)| is_computed(attribute))
        .map(|(at, _)| at)
        .collect()
}

/// What is said of every target of an entity's refs that is not there.
fn refusals(design: &Design, entity: &Record) -> Vec<WithoutTarget> {
    let targets = entity.refs.iter().flat_map(|reference| {
        let targets = reference.targets.iter();
        targets.map(move |target| (reference, target))
    });
    let refusals = targets.filter_map(|(reference, target)| {
        let target = target.record()?;
        let name = &design[target].name;
        let fault = Fault::of_target(&entity.name, &reference.name, name);
        Some(WithoutTarget {
            reference: reference.name.clone(),
            target,
            refusal: Refusal::last(PlanError::Invalid {
                faults: vec![fault],
            }),
        })
    });
    refusals.collect()
}

/// What the attributes of an entity are computed from: those that values read, also such as are
/// not stored, and those that decide where refs lead.
fn basis(entity: &Record) -> FxHashSet<String> {
    let mut names: Vec<&str> = Vec::new();
    for attribute in &entity.attributes {
        match &attribute.source {
            Source::Given {
                default: Some(value),
            } => names.extend(value.own_attributes()),
            Source::Computed(computed) => {
                names.extend(computed.value.own_attributes());
                if let Timing::Once(condition) = &computed.timing {
                    names.extend(condition.own_attributes());
                }
            }
            _ => {}
        }
        names.extend(attribute.per.iter().map(|(_, time)| time.as_str()));
    }
    names.extend(entity.refs.iter().flat_map(reference_inputs));
    names
        .into_iter()
        .map(|name| root(name).to_owned())
        .collect()
}

/// The attribute of the item that a name with dots stands in.
fn root(name: &str) -> &str {
    name.split_once('.').map_or(name, |(root, _)| root)
}
