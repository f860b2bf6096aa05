//! What a write to a record can cause, found once when a design is opened.
//!
//! Counts, sums, copies, views, triggers and cascades are declared where they are seen: at the
//! number, the copy, the ref. Planning starts from the other end, at the item that changes. What
//! causes what is decided by the design's own kernel, as [reactions](partita_design::kernel); this
//! is an index of them by the record that is written. It holds positions instead of reactions,
//! because it lives beside the design that they would borrow from.

use partita_design::Design;
use partita_design::design::{
    Aggregate, Attribute, EachOver, Entity, RecordName, Ref, RefTarget, Source, TargetName, Timing,
    Trigger, View,
};
use partita_design::kernel::{Cause, Does, Reaction, reactions};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::draft::Refusal;
use crate::error::{Fault, PlanError};

/// What writes to each record can cause.
pub(crate) struct Kernel {
    records: FxHashMap<String, Consequences>,
    nothing: Consequences,
}

/// What a write to one record can cause. Numbers are positions in the design.
#[derive(Default)]
pub(crate) struct Consequences {
    counted: Vec<Counted>,
    triggers: Vec<usize>,
    views: Vec<Derived>,
    followed: Vec<(usize, usize)>,
    referrers: Vec<(usize, usize, usize)>,
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
    target: String,
    refusal: Refusal,
}

struct Derived {
    view: usize,
    inputs: Vec<String>,
}

struct Counted {
    entity: usize,
    attribute: usize,
    inputs: Vec<String>,
}

/// A number over the items of a record.
#[derive(Clone, Copy)]
pub(crate) struct Count<'d> {
    /// Whose number it is.
    pub(crate) entity: &'d Entity,
    pub(crate) attribute: &'d Attribute,
    pub(crate) aggregate: &'d Aggregate,
    /// The attributes of the counted item that decide anything, as far as they can change.
    pub(crate) inputs: &'d [String],
}

/// An attribute that follows one of another item.
#[derive(Clone, Copy)]
pub(crate) struct Follower<'d> {
    /// Whose attribute it is.
    pub(crate) entity: &'d Entity,
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
    pub(crate) entity: &'d Entity,
    pub(crate) reference: &'d Ref,
    pub(crate) target: &'d RefTarget,
}

impl Kernel {
    pub(crate) fn new(design: &Design) -> Kernel {
        let mut kernel = Kernel {
            records: FxHashMap::default(),
            nothing: Consequences::default(),
        };
        for entity in &design.entities {
            let consequences = kernel.of(&entity.name);
            consequences.feeding = feeding(entity);
            consequences.computed = computed(entity);
            consequences.basis = basis(entity);
            consequences.refusals = refusals(entity);
        }
        for reaction in reactions(design) {
            let record = reaction.on.of.as_str();
            kernel.of(record).add(design, &reaction);
        }
        kernel
    }

    fn of(&mut self, record: &str) -> &mut Consequences {
        self.records.entry(record.to_owned()).or_default()
    }

    fn get(&self, record: &str) -> &Consequences {
        self.records.get(record).unwrap_or(&self.nothing)
    }

    /// The numbers over the items of a record.
    pub(crate) fn counts<'d>(
        &'d self,
        design: &'d Design,
        record: &str,
    ) -> impl Iterator<Item = Count<'d>> {
        self.get(record).counted.iter().filter_map(|counted| {
            let entity = &design.entities[counted.entity];
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
        record: &'d str,
    ) -> impl Iterator<Item = Follower<'d>> {
        self.get(record).followed.iter().filter_map(|(entity, at)| {
            let entity = &design.entities[*entity];
            let attribute = &entity.attributes[*at];
            let Source::Copy(reading) = &attribute.source else {
                return None;
            };
            let reference = entity.reference(&reading.hops.first()?.reference)?;
            let mut targets = reference.targets.iter();
            let target = targets.find(|target| leads_to(target, record))?;
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
        record: &str,
    ) -> impl Iterator<Item = Referrer<'d>> {
        let referrers = self.get(record).referrers.iter();
        referrers.map(|(entity, reference, target)| {
            let entity = &design.entities[*entity];
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
        record: &str,
    ) -> impl Iterator<Item = &'d View> {
        let views = self.derived(design, record);
        views.map(|(view, _)| view)
    }

    /// The views of an entity, each with the attributes that it is made of, as far as they can
    /// change.
    pub(crate) fn derived<'d>(
        &'d self,
        design: &'d Design,
        record: &str,
    ) -> impl Iterator<Item = (&'d View, &'d [String])> {
        let views = self.get(record).views.iter();
        views.map(|derived| (&design.views[derived.view], derived.inputs.as_slice()))
    }

    /// What writes to a record trigger, with the number of each trigger.
    pub(crate) fn triggers<'d>(
        &'d self,
        design: &'d Design,
        record: &str,
    ) -> impl Iterator<Item = (usize, &'d Trigger)> {
        let triggers = self.get(record).triggers.iter();
        triggers.map(|at| (*at, &design.triggers[*at]))
    }

    /// Whether keys or other attributes of the item are made of an attribute, so that whoever adds
    /// to it must know the item.
    pub(crate) fn is_feeding(&self, record: &str, attribute: &str) -> bool {
        self.get(record).feeding.contains(attribute)
    }

    /// The attributes of an entity that a write may have to compute.
    pub(crate) fn computed<'d>(
        &'d self,
        entity: &'d Entity,
    ) -> impl Iterator<Item = &'d Attribute> {
        let computed = self.get(&entity.name).computed.iter();
        computed.map(|at| &entity.attributes[*at])
    }

    /// What is said when a ref of a record has no target.
    pub(crate) fn without_target(
        &self,
        record: &str,
        reference: &str,
        target: &str,
    ) -> Option<&Refusal> {
        let mut refusals = self.get(record).refusals.iter();
        let found = refusals.find(|one| one.reference == reference && one.target == target);
        found.map(|one| &one.refusal)
    }

    /// Whether something of the same item may be computed from an attribute.
    pub(crate) fn is_basis(&self, record: &str, attribute: &str) -> bool {
        self.get(record).basis.contains(root(attribute))
    }
}

impl Consequences {
    /// Notes down where in the design a reaction stands. Guards belong to the item itself, and
    /// the effects of an action to its call.
    fn add(&mut self, design: &Design, reaction: &Reaction<'_>) {
        let entity_at = |name: &str| design.entities.iter().position(|one| one.name == name);
        let attribute_at = |entity: &str, name: &str| {
            let at = entity_at(entity)?;
            let mut attributes = design.entities[at].attributes.iter();
            Some((at, attributes.position(|one| one.name == name)?))
        };
        match (&reaction.cause, &reaction.does) {
            (Cause::Aggregate(entity, name), Does::Add { aggregate, .. }) => {
                let counted = attribute_at(entity, name);
                self.counted
                    .extend(counted.map(|(entity, attribute)| Counted {
                        entity,
                        attribute,
                        inputs: inputs(design, aggregate),
                    }));
            }
            (Cause::Copy(entity, name), _) => self.followed.extend(attribute_at(entity, name)),
            (Cause::View(name) | Cause::History(name), _) => {
                let mut views = design.views.iter();
                let view = views.position(|one| one.name == *name);
                self.views.extend(view.map(|view| Derived {
                    view,
                    inputs: made_of(design, &design.views[view]),
                }));
            }
            (Cause::Trigger(name), _) => {
                let mut triggers = design.triggers.iter();
                self.triggers
                    .extend(triggers.position(|one| one.name == *name));
            }
            (Cause::OnDelete(entity, name), Does::Release(on_delete)) => {
                let found = entity_at(entity).and_then(|entity| {
                    let refs = &design.entities[entity].refs;
                    let reference = refs.iter().position(|one| one.name == *name)?;
                    let mut targets = refs[reference].targets.iter();
                    // One ref may release its targets in different ways.
                    let target =
                        targets.position(|one| std::ptr::eq(&one.on_delete, *on_delete))?;
                    Some((entity, reference, target))
                });
                self.referrers.extend(found);
            }
            _ => {}
        }
    }
}

fn leads_to(target: &RefTarget, record: &str) -> bool {
    matches!(&target.to, TargetName::Record(name) if name.as_str() == record)
}

/// The attributes of a counted item that decide whether it counts, where, and how much, as far as
/// they can change.
fn inputs(design: &Design, aggregate: &Aggregate) -> Vec<String> {
    let mut inputs: Vec<String> = Vec::new();
    inputs.extend(aggregate.sum.clone());
    if let Some(only) = &aggregate.only {
        inputs.extend(only.own_attributes().map(str::to_owned));
    }
    if let RecordName::Entity(name) = &aggregate.of
        && let Some(entity) = design.entity(name)
    {
        if let Some(reference) = entity.reference(&aggregate.by) {
            inputs.extend(reference_inputs(reference).map(str::to_owned));
        }
        let soft_delete = entity.soft_delete.as_ref();
        inputs.extend(soft_delete.map(|one| one.attribute().to_owned()));
        inputs.retain(|name| can_change(entity, name));
    }
    inputs
}

/// Whether an attribute of an item can be another one later. So can what is movable: the item is
/// elsewhere then.
fn can_change(entity: &Entity, name: &str) -> bool {
    let attribute = entity.attributes.iter().find(|one| one.name == name);
    attribute.is_none_or(|attribute| !attribute.lasting || attribute.movable)
}

/// The attributes of the source that a view is made of, as far as they can change.
fn made_of(design: &Design, view: &View) -> Vec<String> {
    let when = view.when.iter().flat_map(|when| when.own_attributes());
    let derived = view.derived().flat_map(|(_, value)| value.own_attributes());
    let keys = view.identity.iter().map(|part| part.attribute.as_str());
    let indexes = view.indexes.iter().flat_map(|index| &index.reads);
    let indexes = indexes.map(|reading| reading.attribute.as_str());
    let each = view.each.iter().filter_map(|each| match &each.over {
        EachOver::List { reading, .. } => Some(reading.attribute.as_str()),
        EachOver::Pattern { .. } => None,
    });
    let keep = view.keep.iter().map(String::as_str);
    let names = keep.chain(when).chain(derived).chain(keys);
    let names = names.chain(indexes).chain(each);
    let source = design.entity(&view.of);
    let names = names.filter(|name| source.is_none_or(|source| can_change(source, name)));
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
fn feeding(entity: &Entity) -> FxHashSet<String> {
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
fn computed(entity: &Entity) -> Vec<usize> {
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
fn refusals(entity: &Entity) -> Vec<WithoutTarget> {
    let targets = entity.refs.iter().flat_map(|reference| {
        let targets = reference.targets.iter();
        targets.map(move |target| (reference, target))
    });
    let refusals = targets.filter_map(|(reference, target)| match &target.to {
        TargetName::Constants(_) => None,
        TargetName::Record(target) => {
            let fault = Fault::of_target(&entity.name, &reference.name, target.as_str());
            Some(WithoutTarget {
                reference: reference.name.clone(),
                target: target.as_str().to_owned(),
                refusal: Refusal::last(PlanError::Invalid {
                    faults: vec![fault],
                }),
            })
        }
    });
    refusals.collect()
}

/// What the attributes of an entity are computed from: those that values read, also such as are
/// not stored, and those that decide where refs lead.
fn basis(entity: &Entity) -> FxHashSet<String> {
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
