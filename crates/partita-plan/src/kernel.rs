//! What a write to a record can cause, found once when a design is opened.
//!
//! Counts, sums, copies, views, triggers and cascades are declared where they are seen: at the
//! number, the copy, the ref. Planning starts from the other end, at the item that changes. What
//! causes what is decided by the design's own kernel, as [reactions](partita_design::kernel); this
//! is an index of them by the record that is written. It holds positions instead of reactions,
//! because it lives beside the design that they would borrow from.

use partita_design::Design;
use partita_design::design::{
    Aggregate, Attribute, Entity, RecordName, Ref, RefTarget, Source, TargetName, Timing, Trigger,
    View,
};
use partita_design::kernel::{Cause, Does, Reaction, reactions};
use rustc_hash::{FxHashMap, FxHashSet};

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
    views: Vec<usize>,
    followed: Vec<(usize, usize)>,
    referrers: Vec<(usize, usize, usize)>,
    fixed: FxHashSet<String>,
    feeding: FxHashSet<String>,
    /// The attributes that a write may have to compute, as positions in the entity.
    computed: Vec<usize>,
    /// The attributes of the item that those are computed from, without what stands inside.
    basis: FxHashSet<String>,
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
    /// The attributes of the counted item that decide anything.
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
            consequences.fixed = fixed(design, entity);
            consequences.feeding = feeding(entity);
            consequences.computed = computed(entity);
            consequences.basis = basis(entity);
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
        self.get(record).views.iter().map(|at| &design.views[*at])
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

    /// Whether something of the same item may be computed from an attribute.
    pub(crate) fn is_basis(&self, record: &str, attribute: &str) -> bool {
        self.get(record).basis.contains(root(attribute))
    }

    /// Whether an attribute never changes once its item is there, so that nobody has to guard it.
    pub(crate) fn is_fixed(&self, record: &str, attribute: &str) -> bool {
        self.get(record).fixed.contains(attribute)
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
                self.views.extend(views.position(|one| one.name == *name));
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

/// The attributes of a counted item that decide whether it counts, where, and how much.
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
    }
    inputs
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

/// The attributes of an entity that nothing ever changes. An identity is among them, also where it
/// is movable: whatever stands at its address has it.
fn fixed(design: &Design, entity: &Entity) -> FxHashSet<String> {
    let is_identity = |attribute: &Attribute| {
        let mut identity = entity.identity.iter();
        identity.any(|part| part.attribute == attribute.name)
    };
    let is_stamped_once = |attribute: &Attribute| {
        let on_create = matches!(
            &attribute.source,
            Source::Computed(computed) if computed.timing == Timing::Create
        );
        on_create && !is_assigned(design, &attribute.name)
    };
    let attributes = entity.attributes.iter();
    attributes
        .filter(|one| one.fixed || is_identity(one) || is_stamped_once(one))
        .map(|one| one.name.clone())
        .collect()
}

/// Whether an action or an effect writes an attribute of this name, whichever record it is in.
fn is_assigned(design: &Design, name: &str) -> bool {
    let actions = design.actions.iter();
    let actions = actions.flat_map(|one| {
        one.changes
            .names()
            .chain(one.then.iter().flat_map(|effect| effect.changes.names()))
    });
    let triggers = design.triggers.iter();
    let triggers = triggers.flat_map(|one| one.effect.changes.names());
    actions.chain(triggers).any(|assigned| assigned == name)
}
