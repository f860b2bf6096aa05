//! What a migration can carry out, and what it cannot.

use partita_design::Design;
use partita_design::design::{Attribute, Record, RecordId, Source, Timing};
use partita_design::difference::{
    AttributeAspect, Change, ChangeKind, Class, RecordName, Subject, Work, between,
};
use partita_design::types::AttributeType;
use partita_design::union::{Disagreement, Served, interim, union};

/// A change that stored data follow, and whether it can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedChange {
    /// What differs, with its lines in both files.
    pub change: Change,
    /// Why it cannot be carried out; none if it can.
    pub obstacle: Option<String>,
}

/// The changes between two designs that stored data follow. What goes though callers gave it must
/// be named.
pub fn changes(old: &Design, new: &Design, drops: &[String]) -> Vec<PlannedChange> {
    let all = between(old, new);
    let changes = all.iter().filter(|one| !one.is_free());
    let mut changes: Vec<PlannedChange> = changes
        .map(|change| PlannedChange {
            obstacle: helped(change, &all, obstacle(old, new, change, drops)),
            change: change.clone(),
        })
        .collect();
    refuse_more_than_names(&mut changes);
    if changes.iter().all(|one| one.obstacle.is_none()) {
        note_disagreements(old, new, &mut changes);
    }
    changes
}

/// An entity or a view that has another name is the same as before but for its mark. What else
/// changes about it is found by its name in both designs.
fn refuse_more_than_names(changes: &mut [PlannedChange]) {
    let is_name = |one: &Change| {
        let is_record = matches!(one.subject, Subject::Entity(_) | Subject::View(_));
        is_record && matches!(one.kind, ChangeKind::Renamed { .. })
    };
    let others = changes.iter().map(|one| &one.change);
    let others = others.filter(|one| !is_name(one));
    let others = others.filter(|one| !matches!(one.subject, Subject::Discriminator(..)));
    let others: Vec<(RecordName, String)> = others
        .filter_map(|one| Some((one.subject.record()?, one.name())))
        .collect();
    for change in changes.iter_mut().filter(|one| is_name(&one.change)) {
        let record = change.change.subject.record();
        let found = others.iter().find(|(of, _)| Some(of) == record.as_ref());
        if let Some((_, name)) = found {
            let why = format!("rename it in a step of its own: `{name}` changes, too");
            change.obstacle.get_or_insert(why);
        }
    }
}

/// Says of changes that both designs cannot be kept at once for.
fn note_disagreements(old: &Design, new: &Design, changes: &mut [PlannedChange]) {
    let both = [Served::Old, Served::New].into_iter();
    let wrong: Vec<Disagreement> = match interim(old, new) {
        Err(wrong) => wrong,
        Ok(None) => both
            .filter_map(|served| union(old, new, served).err())
            .flatten()
            .collect(),
        Ok(Some(interim)) => {
            let beside_old = both.map(|served| union(old, &interim, served));
            let beside_new = [union(&interim, new, Served::Old)];
            let unions = beside_old.chain(beside_new);
            unions.filter_map(Result::err).flatten().collect()
        }
    };
    for wrong in wrong {
        let is_of = |one: &PlannedChange| wrong.place.starts_with(&one.change.name());
        let at = changes.iter().position(is_of).unwrap_or(0);
        if let Some(change) = changes.get_mut(at) {
            change.obstacle = Some(format!("`{}` {}", wrong.place, wrong.message));
        }
    }
}

/// What is in the way of a change, after what it may be instead: whoever does what an obstacle asks
/// for loses what was stored under another name.
fn helped(change: &Change, all: &[Change], obstacle: Option<String>) -> Option<String> {
    let obstacle = obstacle?;
    Some(match change.advice(all) {
        Some(advice) => format!("{advice}; otherwise {obstacle}"),
        None => obstacle,
    })
}

/// Why a change cannot be carried out.
fn obstacle(old: &Design, new: &Design, change: &Change, drops: &[String]) -> Option<String> {
    if let Some(missing) = &change.missing {
        return Some(missing.advice());
    }
    match change.class {
        Class::Dropping => drop_obstacle(old, change, drops),
        Class::Narrowing => narrowing_obstacle(old, new, change),
        Class::Stated => stated_obstacle(new, change),
        Class::Derived if is_moved_view(change) => moved_obstacle(old, new, change),
        Class::Derived if change.kind == ChangeKind::Changed => changed_obstacle(new, change),
        Class::Derived => derived_obstacle(old, new, change),
        Class::Free => None,
    }
}

/// Something that Partita computes comes or goes.
fn derived_obstacle(old: &Design, new: &Design, change: &Change) -> Option<String> {
    let is_new = change.kind == ChangeKind::Added;
    match &change.subject {
        Subject::Index(_)
        | Subject::View(_)
        | Subject::Guard(..)
        | Subject::Ref(..)
        | Subject::IndexKey(..) => None,
        Subject::Attribute(record, ..) if record.is_view => None,
        Subject::Attribute(record, name, _) => {
            let design = if is_new { new } else { old };
            let attribute = design
                .find_entity(&record.name)
                .and_then(|one| one.stored(name));
            attribute.and_then(|one| filling_obstacle(one, is_new))
        }
        _ => Some("stored items would have to be changed".to_owned()),
    }
}

/// Whether the records of a view come under other keys, or for others.
fn is_moved_view(change: &Change) -> bool {
    match &change.subject {
        Subject::PrimaryKey(record, _) => record.is_view,
        Subject::When(_) | Subject::Each(_) | Subject::Distinct(_) => true,
        _ => false,
    }
}

/// A view that is another one is kept beside the first, as long as nothing is counted over it.
fn moved_obstacle(old: &Design, new: &Design, change: &Change) -> Option<String> {
    let (Subject::PrimaryKey(RecordName { name, .. }, _)
    | Subject::When(name)
    | Subject::Each(name)
    | Subject::Distinct(name)) = &change.subject
    else {
        return None;
    };
    let is_counted = |design: &Design| {
        let attributes = design.entities().flat_map(|one| &one.attributes);
        attributes.into_iter().any(|one| match &one.source {
            Source::Aggregate(aggregate) => design[aggregate.of].name == *name,
            _ => false,
        })
    };
    let has_own = |design: &Design| {
        let record = design.find_record(name);
        record.is_some_and(|record| record.own().any(|one| !one.is_virtual))
    };
    if is_counted(old) || is_counted(new) {
        Some("its records are counted, and would be counted twice".to_owned())
    } else if has_own(old) || has_own(new) {
        Some("its records have attributes of their own, which would be lost".to_owned())
    } else {
        None
    }
}

/// Something that Partita computes says something else.
fn changed_obstacle(new: &Design, change: &Change) -> Option<String> {
    match (&change.subject, change.work) {
        // Items may have either mark until the migration is over.
        (Subject::Keep(_) | Subject::Guard(..) | Subject::Discriminator(..), _)
        | (_, Work::KeepDefault) => None,
        // They have interim names until the migration is over.
        (Subject::Attribute(_, _, AttributeAspect::Value), Work::Derive)
        | (Subject::Index(_) | Subject::IndexKey(..), _) => None,
        (Subject::Attribute(record, name, _), Work::Default) => {
            let record = new.find_entity(&record.name)?;
            let why = "something is derived from it, and would be computed anew: add another \
                       attribute, and remove this one later";
            is_read(new, record, name).then(|| why.to_owned())
        }
        _ => {
            let why = "it cannot be both at once: add another one, and remove this one later";
            Some(why.to_owned())
        }
    }
}

/// What the design states is done.
fn stated_obstacle(new: &Design, change: &Change) -> Option<String> {
    let is_filled = change.work == Work::Fill && change.kind == ChangeKind::Added;
    let is_renamed = matches!(change.kind, ChangeKind::Renamed { .. });
    match &change.subject {
        Subject::Attribute(..) if is_filled || is_renamed => None,
        // The items are kept under both keys.
        Subject::PrimaryKey(record, _) if !record.is_view => None,
        Subject::Entity(name) if is_renamed => {
            let why = "its items name files, which belong to the name of their entity";
            let entity = new.find_entity(name);
            entity.is_some_and(has_files).then(|| why.to_owned())
        }
        Subject::View(_) if is_renamed => None,
        _ => match change.work {
            Work::Move => Some(
                "this version does not move records of views that have attributes of their own or \
                 keep what was replaced"
                    .to_owned(),
            ),
            Work::Convert => Some("this version does not convert rows".to_owned()),
            _ => Some(
                "this version fills in attributes that are new: add another one with this `fill`, \
                 and remove the first later"
                    .to_owned(),
            ),
        },
    }
}

/// All items are looked at, and every write until the switch.
fn narrowing_obstacle(old: &Design, new: &Design, change: &Change) -> Option<String> {
    match &change.subject {
        // It was followed by nothing that is stored, and now it is. Where it leads to what is gone,
        // numbers are kept beside the tables.
        Subject::Ref(entity, name, _)
            if change.kind == ChangeKind::Added && has_ref(old, entity, name) =>
        {
            None
        }
        Subject::Attribute(record, _, AttributeAspect::Values)
            if change.kind == ChangeKind::Changed && !record.is_view =>
        {
            None
        }
        Subject::Shape(_) => None,
        Subject::Require(entity) => {
            let require = new.find_entity(entity)?.require.as_ref()?;
            let is_own = require.reads.iter().all(|one| one.hops.is_empty());
            let why = "this version looks at conditions over an item itself, and not over others";
            (!is_own).then(|| why.to_owned())
        }
        _ => Some("this version does not look at stored items for it".to_owned()),
    }
}

/// What callers gave goes only if it is named.
fn drop_obstacle(old: &Design, change: &Change, drops: &[String]) -> Option<String> {
    let name = change.name();
    match &change.subject {
        Subject::Attribute(record, attribute, AttributeAspect::Whole) if !record.is_view => {
            let attribute = old.find_entity(&record.name)?.stored(attribute)?;
            if attribute.file_in.is_some() || attribute.file_at.is_some() {
                return Some("it names files, which nothing would remove".to_owned());
            }
        }
        Subject::Entity(entity) => {
            if old.find_entity(entity).is_some_and(has_files) {
                return Some("its items name files, which nothing would remove".to_owned());
            }
        }
        _ => return Some("this version drops entities and attributes only".to_owned()),
    }
    let is_named = drops.contains(&name);
    (!is_named).then(|| format!("it would drop what callers gave: say so with `--drop {name}`"))
}

fn has_files(record: &Record) -> bool {
    let mut attributes = record.attributes.iter();
    attributes.any(|one| one.file_in.is_some() || one.file_at.is_some())
}

/// Why old items cannot be given a new attribute, or why it cannot be taken from them.
fn filling_obstacle(attribute: &Attribute, is_new: bool) -> Option<String> {
    let can_be = match &attribute.source {
        Source::Given { default } => {
            let can_begin = default.is_some() || attribute.kind == AttributeType::Counter;
            is_new && (can_begin || attribute.optional)
        }
        Source::Computed(computed) => {
            !is_new || matches!(computed.timing, Timing::Always | Timing::Ref)
        }
        Source::Aggregate(_) | Source::Copy(_) => true,
        Source::Generated | Source::Derived(_) => false,
    };
    if can_be {
        None
    } else if is_new {
        Some("nothing says what old items have there; give it a default".to_owned())
    } else {
        Some("it would drop what callers gave".to_owned())
    }
}

/// Whether something that is stored is derived from an attribute.
fn is_read(design: &Design, record: &Record, name: &str) -> bool {
    let own = design.reactions.own(record.id);
    let mut reactions = design.reactions.of(record.id).iter();
    let attributes = design.records.iter().flat_map(|one| &one.attributes);
    let mut through = attributes.flat_map(|one| one.reads());
    own.is_basis(name)
        || own.is_feeding(name)
        || reactions.any(|one| one.reads_any(|read| read == name))
        || through.any(|one| !one.hops.is_empty() && one.attribute == name)
}

fn has_ref(design: &Design, entity: &str, name: &str) -> bool {
    let entity = design.find_entity(entity);
    entity.is_some_and(|one| one.refs.iter().any(|one| one.name == name))
}

/// The attributes of the old design whose defaults items are given, because the new design has
/// others: whoever lacks one was read as having the old default.
pub(super) fn settled_defaults(old: &Design, new: &Design) -> Vec<(RecordId, String)> {
    let changes = between(old, new).into_iter();
    let settled = changes.filter(|one| one.work == Work::KeepDefault);
    let settled = settled.filter_map(|one| match one.subject {
        Subject::Attribute(record, name, _) => {
            let record = old.find_entity(&record.name)?;
            Some((record.id, name))
        }
        _ => None,
    });
    settled.collect()
}

/// The attributes of the new design whose defaults items get that lack them, because they could
/// before. Until then they are read as having it.
pub(super) fn given_defaults(old: &Design, new: &Design) -> Vec<(RecordId, String)> {
    let changes = between(old, new).into_iter();
    let given = changes.filter(|one| one.work == Work::Default && one.kind == ChangeKind::Changed);
    let given = given.filter_map(|one| match one.subject {
        Subject::Attribute(record, name, _) => {
            let record = new.find_entity(&record.name)?;
            Some((record.id, name))
        }
        _ => None,
    });
    given.collect()
}
