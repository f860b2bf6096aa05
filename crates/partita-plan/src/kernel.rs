//! What a write to a record can cause, found once when a design is opened.
//!
//! Counts, sums, copies, views, triggers and cascades are declared where they are seen: at the
//! number, the copy, the ref. Planning starts from the other end, at the item that changes. This
//! is the table from there to everything that may have to follow.

use std::collections::{HashMap, HashSet};

use partita_design::Design;
use partita_design::design::{
    Aggregate, Attribute, Entity, OnDelete, RecordName, Ref, RefTarget, Source, TargetName, Timing,
    Trigger, View,
};

/// What writes to each record can cause.
pub(crate) struct Kernel {
    records: HashMap<String, Consequences>,
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
    fixed: HashSet<String>,
    feeding: HashSet<String>,
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
            records: HashMap::new(),
            nothing: Consequences::default(),
        };
        for (entity_at, entity) in design.entities.iter().enumerate() {
            kernel.of(&entity.name).fixed = fixed(design, entity);
            kernel.of(&entity.name).feeding = feeding(entity);
            for (at, attribute) in entity.attributes.iter().enumerate() {
                match &attribute.source {
                    Source::Aggregate(aggregate) => {
                        let inputs = inputs(design, aggregate);
                        kernel.of(aggregate.of.as_str()).counted.push(Counted {
                            entity: entity_at,
                            attribute: at,
                            inputs,
                        });
                    }
                    Source::Copy(reading) => {
                        let reference = reading.hops.first().map(|hop| hop.reference.as_str());
                        let reference = reference.and_then(|name| entity.reference(name));
                        for target in reference.into_iter().flat_map(|one| &one.targets) {
                            if let TargetName::Record(record) = &target.to {
                                let followed = &mut kernel.of(record.as_str()).followed;
                                followed.push((entity_at, at));
                            }
                        }
                    }
                    _ => {}
                }
            }
            for (ref_at, reference) in entity.refs.iter().enumerate() {
                for (at, target) in reference.targets.iter().enumerate() {
                    if let (TargetName::Record(record), true) =
                        (&target.to, target.on_delete != OnDelete::Keep)
                    {
                        let referrers = &mut kernel.of(record.as_str()).referrers;
                        referrers.push((entity_at, ref_at, at));
                    }
                }
            }
        }
        for (at, view) in design.views.iter().enumerate() {
            kernel.of(&view.of).views.push(at);
        }
        for (at, trigger) in design.triggers.iter().enumerate() {
            kernel.of(trigger.on.of.as_str()).triggers.push(at);
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

    /// Whether an attribute never changes once its item is there, so that nobody has to guard it.
    pub(crate) fn is_fixed(&self, record: &str, attribute: &str) -> bool {
        self.get(record).fixed.contains(attribute)
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
            inputs.extend(reference_inputs(reference));
        }
        let soft_delete = entity.soft_delete.as_ref();
        inputs.extend(soft_delete.map(|one| one.attribute().to_owned()));
    }
    inputs
}

/// The attributes that decide where a ref leads.
pub(crate) fn reference_inputs(reference: &Ref) -> impl Iterator<Item = String> {
    let targets = reference.targets.iter();
    let arguments = targets.flat_map(|target| &target.arguments);
    let paths = arguments.map(|argument| argument.path.clone());
    reference.by.clone().into_iter().chain(paths)
}

/// The attributes of an entity that its keys and its computed attributes are made of.
fn feeding(entity: &Entity) -> HashSet<String> {
    let indexes = entity.indexes.iter().flat_map(|index| &index.reads);
    let mut names: HashSet<String> = indexes.map(|reading| reading.attribute.clone()).collect();
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

/// The attributes of an entity that nothing ever changes.
fn fixed(design: &Design, entity: &Entity) -> HashSet<String> {
    let is_identity = |attribute: &Attribute| {
        let mut identity = entity.identity.iter();
        identity.any(|part| part.attribute == attribute.name) && !attribute.movable
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
