//! Which attributes name files, and which values come from such attributes.

use crate::Design;
use crate::design::{Assignments, Attribute, Each, EachOver, Record, RecordId, Ref, Source};
use crate::expression::{Formula, Origin, Reading};
use crate::types::AttributeType;

/// Where an expression is evaluated: the record that it is read from, the refs that it may take besides
/// those of the record, and the element that it may name.
#[derive(Clone, Copy)]
pub struct Standing<'d> {
    /// The entity or view.
    pub record: RecordId,
    /// The refs of an action.
    pub refs: &'d [Ref],
    /// The `each` of an effect.
    pub each: Option<&'d Each>,
}

/// Whether the values of an attribute name files.
pub fn names_files(attribute: &Attribute) -> bool {
    let is_named = attribute.file_at.is_some() || attribute.file_in.is_some();
    !attribute.is_virtual && (is_named || has_field(&attribute.kind))
}

fn has_field(kind: &AttributeType) -> bool {
    match kind {
        AttributeType::List { element, .. } => has_field(element),
        AttributeType::Shape(shape) => {
            let mut fields = shape.fields.iter();
            fields.any(|field| field.file_in.is_some() || has_field(&field.kind))
        }
        _ => false,
    }
}

/// The prefixes whose files the values of an attribute name.
pub fn prefixes(attribute: &Attribute) -> Vec<&str> {
    let mut found = Vec::new();
    found.extend(attribute.file_in.as_deref());
    collect(&attribute.kind, &mut found);
    found
}

fn collect<'d>(kind: &'d AttributeType, found: &mut Vec<&'d str>) {
    match kind {
        AttributeType::List { element, .. } => collect(element, found),
        AttributeType::Shape(shape) => {
            for field in &shape.fields {
                found.extend(field.file_in.as_deref());
                collect(&field.kind, found);
            }
        }
        _ => {}
    }
}

/// The attributes that name files and that a value is made of; none if a caller gives a part of
/// it, because then it is unknown whose names those are.
pub fn lenders<'d>(
    design: &'d Design,
    standing: Standing<'d>,
    value: &Formula,
) -> Vec<(&'d Record, &'d Attribute)> {
    let is_given = |reading: &Reading| matches!(reading.origin, Origin::Parameter(_));
    if value.reads.iter().any(is_given) {
        return Vec::new();
    }
    let reads = value.reads.iter();
    let ends = reads.flat_map(|reading| ends(design, standing, reading));
    ends.filter(|(_, attribute)| names_files(attribute))
        .collect()
}

/// The attributes at which a reading can end.
fn ends<'d>(
    design: &'d Design,
    standing: Standing<'d>,
    reading: &Reading,
) -> Vec<(&'d Record, &'d Attribute)> {
    let of = |record: RecordId| {
        let entity = design.source(&design[record]);
        Some((entity, entity.stored(&reading.attribute)?))
    };
    if let Some(hop) = reading.hops.last() {
        let mut given = standing.refs.iter();
        let given = || given.find(|one| one.name == hop.name);
        let reference = design.reference(hop).or_else(given);
        let records = reference.into_iter().flat_map(Ref::records);
        return records.filter_map(of).collect();
    }
    match (&reading.origin, standing.each.map(|each| &each.over)) {
        (Origin::Item | Origin::Old, _) => of(standing.record).into_iter().collect(),
        (Origin::Element(_), Some(EachOver::List { reading, .. })) => {
            let outside = Standing {
                each: None,
                ..standing
            };
            match reading.origin {
                Origin::Parameter(_) => Vec::new(),
                _ => ends(design, outside, reading),
            }
        }
        (Origin::Element(_), Some(EachOver::Pattern { pattern, .. })) => {
            let records = design[*pattern].returns.iter().copied();
            records.filter_map(of).collect()
        }
        _ => Vec::new(),
    }
}

/// Every value that something other than a caller gives an attribute of an entity, with where it
/// stands.
pub fn values_for<'d>(
    design: &'d Design,
    entity: &'d Record,
    attribute: &'d Attribute,
) -> Vec<(Standing<'d>, &'d Formula)> {
    let mut values = Vec::new();
    let standing = |record: RecordId| Standing {
        record,
        refs: &[],
        each: None,
    };
    if let Source::Computed(computed) = &attribute.source {
        values.push((standing(entity.id), &computed.value));
    }
    let assigned = |changes: &'d Assignments| {
        let set = changes.set.iter();
        let set = set.filter(|(name, _)| *name == attribute.name);
        set.map(|(_, value)| value)
    };
    let triggers = design.triggers.iter();
    let mut effects: Vec<_> = triggers
        .map(|trigger| (standing(trigger.on.of), &trigger.effect))
        .collect();
    for action in &design.actions {
        for record in action.on.all_records() {
            let here = Standing {
                refs: &action.refs,
                ..standing(*record)
            };
            effects.extend(action.then.iter().map(|effect| (here, effect)));
            if *record == entity.id {
                values.extend(assigned(&action.changes).map(|value| (here, value)));
            }
        }
    }
    for (here, effect) in effects {
        if effect.target.records().contains(&entity.id) {
            let here = Standing {
                each: effect.each.as_ref(),
                ..here
            };
            values.extend(assigned(&effect.changes).map(|value| (here, value)));
        }
    }
    values
}

/// Whether several items may name one file by an attribute: where it takes names over from another
/// entity's files of the same prefix.
pub fn is_shared(design: &Design, entity: &Record, attribute: &Attribute) -> bool {
    let own = prefixes(attribute);
    let mut values = values_for(design, entity, attribute).into_iter();
    let takes = values.any(|(standing, value)| {
        let mut lenders = lenders(design, standing, value).into_iter();
        lenders.any(|(from, lender)| {
            let is_own = from.id == entity.id && is_past(design, standing, value);
            !is_own && (lender.file_at.is_some() || shares(&own, &prefixes(lender)))
        })
    });
    takes || is_lent(design, entity, attribute)
}

fn shares(some: &[&str], others: &[&str]) -> bool {
    some.iter().any(|prefix| others.contains(prefix))
}

/// Whether a value is read from a state that was kept of the same item, whose files are its own.
fn is_past(design: &Design, standing: Standing<'_>, value: &Formula) -> bool {
    let hops = value.reads.iter().filter_map(|reading| reading.hops.last());
    let mut refs = hops.filter_map(|hop| {
        let mut refs = standing.refs.iter();
        refs.find(|one| one.name == hop.name)
    });
    refs.any(|reference| {
        let mut targets = reference.targets.iter();
        targets.all(|target| {
            let view = target
                .record()
                .and_then(|record| design[record].view.as_ref());
            view.is_some_and(|view| view.history)
        })
    })
}

/// Whether another attribute takes over names of the same prefix from this one.
fn is_lent(design: &Design, entity: &Record, attribute: &Attribute) -> bool {
    let own = prefixes(attribute);
    design.entities().any(|taker| {
        let mut attributes = taker.attributes.iter().filter(|one| names_files(one));
        attributes.any(|one| {
            let mut values = values_for(design, taker, one).into_iter();
            shares(&own, &prefixes(one))
                && values.any(|(standing, value)| {
                    let mut lenders = lenders(design, standing, value).into_iter();
                    let is_own = taker.id == entity.id && is_past(design, standing, value);
                    !is_own
                        && lenders.any(|(from, lender)| {
                            from.id == entity.id && lender.name == attribute.name
                        })
                })
        })
    })
}
