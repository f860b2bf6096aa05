//! The class of each change of an attribute.

use super::judge::Judge;
use super::judgement::Judgement;
use super::wider::is_wider;
use super::{AttributeAspect, Derived, Missing, RecordName, Subject, Work};
use crate::design::{Aggregate, Attribute, Computed, Design, Record, Source, Timing};
use crate::expression::{Formula, Origin};
use crate::fingerprint::source_form;
use crate::types::AttributeType;

/// An attribute that the old design does not have.
pub(super) fn added(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    attribute: &Attribute,
) -> Vec<Judgement> {
    let mut found = vec![comes(judge, subject, record, attribute)];
    let before = judge.old.find_record(&record.name);
    let was_open = before.is_some_and(|before| before.open);
    if was_open && is_given(&attribute.source) && !attribute.is_virtual {
        let says = "items may have it already: all values must fit";
        let about = with(subject, AttributeAspect::Values);
        let judgement = Judgement::narrowing(&about, says).reads([RecordName::of(record)]);
        if found[0].class == super::Class::Free {
            found.clear();
        }
        found.push(judgement);
    }
    found
}

/// What stored items get that lack an attribute.
fn comes(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    attribute: &Attribute,
) -> Judgement {
    let name = RecordName::of(record);
    if attribute.is_virtual {
        return Judgement::free(subject, "it is not stored");
    }
    if attribute.key_only {
        return Judgement::free(subject, "its key says");
    }
    match &attribute.source {
        Source::Given {
            default: Some(default),
        } if is_own(default) => Judgement::derived(subject, "stored items get the default")
            .with_work(Work::Default)
            .reads([name.clone()])
            .writes([name.clone()])
            .adds([Derived::Default(name, attribute.name.clone())]),
        Source::Given { .. } | Source::Generated if attribute.optional => {
            Judgement::free(subject, "stored items need not have it")
        }
        Source::Given { .. } | Source::Generated => {
            let says = "stored items get what the design says";
            filled(judge, subject, record, attribute, says)
        }
        Source::Computed(computed) if has_timing(computed) => {
            let says = "it has no value for the time before; stored items get what the design says";
            filled(judge, subject, record, attribute, says)
        }
        Source::Derived(_) if is_history(record) => {
            Judgement::free(subject, "it holds for what is replaced from now on")
        }
        source @ (Source::Computed(_)
        | Source::Aggregate(_)
        | Source::Copy(_)
        | Source::Derived(_)) => {
            let says = match source {
                Source::Aggregate(_) => "it is counted over the items that there are",
                _ => "it is computed for the items that there are",
            };
            Judgement::derived(subject, says)
                .reads(read_by(judge.new, record, attribute))
                .writes([name])
                .adds(derived(record, attribute))
        }
    }
}

/// An attribute that the new design does not have.
pub(super) fn removed(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    attribute: &Attribute,
) -> Judgement {
    let name = RecordName::of(record);
    let after = judge.new.find_record(&record.name);
    if attribute.is_virtual || attribute.key_only {
        return Judgement::free(subject, "it is not stored beside the key");
    }
    let stays = after.is_some_and(|after| after.open) && is_given(&attribute.source);
    let is_hidden = is_hidden(record, attribute);
    if stays && !is_hidden {
        return Judgement::free(subject, "it stays as one that is not listed");
    }
    if is_given(&attribute.source) || is_history(record) {
        let says = if stays {
            "its values go, because nothing would hide them any more"
        } else {
            "its values go"
        };
        return Judgement::dropping(subject, says)
            .reads([name.clone()])
            .writes([name]);
    }
    Judgement::derived(subject, "it is removed from the items")
        .reads([name.clone()])
        .writes([name])
        .removes(derived(record, attribute))
}

/// Whether some of those who may read an item are not shown this attribute.
fn is_hidden(record: &Record, attribute: &Attribute) -> bool {
    let mut rules = record.rules.by_attribute.iter().filter(|one| !one.writes);
    let is_named = |name: &String| name.split('.').next() == Some(attribute.name.as_str());
    attribute.secret || rules.any(|one| one.attributes.iter().any(is_named))
}

/// An attribute that says something else.
pub(super) fn changed(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    old: &Attribute,
    new: &Attribute,
) -> Vec<Judgement> {
    match (old.is_virtual, new.is_virtual) {
        (true, true) => return vec![Judgement::free(subject, "it is not stored")],
        (true, false) => {
            let about = with(subject, AttributeAspect::Storage);
            return vec![comes(judge, &about, record, new)];
        }
        (false, true) => {
            let about = with(subject, AttributeAspect::Storage);
            return vec![removed(judge, &about, record, old)];
        }
        (false, false) => {}
    }
    let mut found = Vec::new();
    found.extend(storage(
        &with(subject, AttributeAspect::Storage),
        record,
        old,
        new,
    ));
    found.extend(values(
        judge,
        &with(subject, AttributeAspect::Values),
        record,
        old,
        new,
    ));
    found.extend(presence(
        judge,
        &with(subject, AttributeAspect::Presence),
        record,
        old,
        new,
    ));
    found.extend(source(judge, subject, record, old, new));
    found.extend(file(
        &with(subject, AttributeAspect::File),
        record,
        old,
        new,
    ));
    if old.per != new.per {
        let says = "it holds for what is added from now on";
        let about = with(subject, AttributeAspect::Period);
        found.push(Judgement::free(&about, says));
    }
    found
}

fn storage(
    subject: &Subject,
    record: &Record,
    old: &Attribute,
    new: &Attribute,
) -> Option<Judgement> {
    let name = RecordName::of(record);
    let value = || [Derived::Value(name.clone(), new.name.clone())];
    let judgement = match (old.key_only, new.key_only) {
        (true, false) => {
            Judgement::derived(subject, "what the key holds is stored beside it").adds(value())
        }
        (false, true) => {
            Judgement::derived(subject, "what the key holds is no longer stored beside it")
                .removes(value())
        }
        _ => return None,
    };
    Some(judgement.reads([name.clone()]).writes([name.clone()]))
}

/// The type, and which values of it there may be.
fn values(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    old: &Attribute,
    new: &Attribute,
) -> Option<Judgement> {
    if old.kind == new.kind {
        return None;
    }
    let name = RecordName::of(record);
    // What is computed has whatever type it is computed in.
    if !is_given(&new.source) {
        return None;
    }
    let expires = |attribute: &Attribute| attribute.kind == AttributeType::Expiry;
    if expires(new) && !expires(old) {
        let says = "items whose time is over count as gone from now on";
        return Some(Judgement::dropping(subject, says).reads([name]));
    }
    if expires(old) && !expires(new) {
        let says = "views and guards lose the time at which their items expire";
        let judgement = Judgement::derived(subject, says);
        return Some(judgement.reads([name.clone()]).writes([name]));
    }
    if is_wider(&old.kind, &new.kind) {
        return Some(Judgement::free(subject, "all stored values fit"));
    }
    let is_stored_alike = old.kind.stored_as() == new.kind.stored_as()
        || new.kind.stored_as().is_none()
        || old.kind.stored_as().is_none();
    let is_alike = is_stored_alike && old.kind.time_form() == new.kind.time_form();
    if is_alike && !has_fill(judge.new, record, new) {
        let says = "all stored values must fit";
        return Some(Judgement::narrowing(subject, says).reads([name]));
    }
    let says = "stored values that do not fit become what the design says";
    Some(filled(judge, subject, record, new, says))
}

/// Whether it may be missing.
fn presence(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    old: &Attribute,
    new: &Attribute,
) -> Option<Judgement> {
    if old.optional == new.optional || !is_given(&new.source) {
        return None;
    }
    if new.optional {
        return Some(Judgement::free(subject, "more may be stored from now on"));
    }
    let name = RecordName::of(record);
    match &new.source {
        Source::Given {
            default: Some(default),
        } if is_own(default) => {
            let judgement = Judgement::derived(subject, "items that lack it get the default")
                .with_work(Work::Default)
                .adds([Derived::Default(name.clone(), new.name.clone())]);
            Some(judgement.reads([name.clone()]).writes([name]))
        }
        _ => {
            let says = "items that lack it get what the design says";
            Some(filled(judge, subject, record, new, says))
        }
    }
}

/// Where its value comes from.
fn source(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    old: &Attribute,
    new: &Attribute,
) -> Option<Judgement> {
    let is_same = source_form(judge.old, &old.source) == source_form(judge.new, &new.source);
    let is_retyped = old.kind != new.kind || old.optional != new.optional;
    if is_same && (is_given(&new.source) || !is_retyped) {
        return None;
    }
    let name = RecordName::of(record);
    let value = with(subject, AttributeAspect::Value);
    match (is_given(&old.source), is_given(&new.source)) {
        (true, true) => given(judge, subject, record, old, new),
        (false, true) => Some(Judgement::free(
            &value,
            "stored values stay, and are callers' now",
        )),
        (true, false) => {
            let says = "what callers gave is replaced by what is computed";
            let judgement = Judgement::dropping(&value, says)
                .reads(read_by(judge.new, record, new))
                .writes([name])
                .adds(derived(record, new));
            Some(judgement)
        }
        (false, false) if is_history(record) => Some(Judgement::free(
            &value,
            "it holds for what is replaced from now on",
        )),
        (false, false) => {
            let judgement = Judgement::derived(&value, "it is computed anew for all items")
                .reads(read_by(judge.new, record, new))
                .writes([name])
                .adds(derived(record, new))
                .removes(derived(record, old));
            Some(judgement)
        }
    }
}

/// Between defaults, and values that are set at a certain time.
fn given(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    old: &Attribute,
    new: &Attribute,
) -> Option<Judgement> {
    let name = RecordName::of(record);
    let timed = |attribute: &Attribute| match &attribute.source {
        Source::Computed(computed) => has_timing(computed),
        _ => false,
    };
    if timed(old) && timed(new) {
        let about = with(subject, AttributeAspect::Value);
        let says = "stored items get what the design says, and new ones the new value";
        let judgement = filled(judge, &about, record, new, says);
        return Some(judgement.with_work(Work::FillAll));
    }
    let about = with(subject, AttributeAspect::Default);
    let default = |attribute: &Attribute| match &attribute.source {
        Source::Given { default } => default.clone(),
        _ => None,
    };
    let (before, after) = (default(old), default(new));
    let judgement = match (before, after) {
        (Some(before), _) if is_own(&before) => {
            let says = "items that lack it get the old default, as which they were read";
            Judgement::derived(&about, says).with_work(Work::KeepDefault)
        }
        // Whether items lack it is a change of its own.
        (None, Some(after)) if is_own(&after) && old.optional && new.optional => {
            let says = "items that lack it get the default";
            Judgement::derived(&about, says).with_work(Work::Default)
        }
        _ => return Some(Judgement::free(&about, "it holds for new items")),
    };
    let judgement = judgement.adds([Derived::Default(name.clone(), new.name.clone())]);
    Some(judgement.reads([name.clone()]).writes([name]))
}

fn file(subject: &Subject, record: &Record, old: &Attribute, new: &Attribute) -> Option<Judgement> {
    let name = RecordName::of(record);
    if (&old.file_in, &old.file_at) == (&new.file_in, &new.file_at) {
        return match (old.elsewhere, new.elsewhere) {
            (true, false) => {
                let says = "no stored value may be an address elsewhere";
                Some(Judgement::narrowing(subject, says).reads([name]))
            }
            (false, true) => Some(Judgement::free(subject, "all stored values fit")),
            _ => None,
        };
    }
    if old.file_in.is_none() && old.file_at.is_none() && new.file_at.is_some() {
        let says = "it takes uploads from now on, and any other address as before";
        return Some(Judgement::free(subject, says));
    }
    if new.file_in.is_none() && new.file_at.is_none() {
        let says = "the items no longer keep the files that they name";
        return Some(Judgement::dropping(subject, says).reads([name]));
    }
    let says = "all stored values must name files of the new prefix";
    Some(Judgement::narrowing(subject, says).reads([name]))
}

fn filled(
    judge: &Judge<'_>,
    subject: &Subject,
    record: &Record,
    attribute: &Attribute,
    says: &str,
) -> Judgement {
    let name = RecordName::of(record);
    let missing = (!has_fill(judge.new, record, attribute)).then(|| Missing::Fill {
        record: name.clone(),
        attribute: attribute.name.clone(),
    });
    Judgement::stated(subject, Work::Fill, says)
        .reads([name.clone()])
        .writes([name])
        .lacks(missing)
}

/// Whether the design says what stored items get.
fn has_fill(design: &Design, record: &Record, attribute: &Attribute) -> bool {
    let record = design.find_record(&record.name);
    let mut fills = record.into_iter().flat_map(|record| &record.fill);
    fills.any(|fill| fill.attribute == attribute.name)
}

/// The subject, narrowed to one aspect of the attribute.
fn with(subject: &Subject, aspect: AttributeAspect) -> Subject {
    match subject {
        Subject::Attribute(record, name, _) => {
            Subject::Attribute(record.clone(), name.clone(), aspect)
        }
        other => other.clone(),
    }
}

/// Whether the values are no one's to compute again: callers gave them, or a moment did.
fn is_given(source: &Source) -> bool {
    match source {
        Source::Given { .. } | Source::Generated => true,
        Source::Computed(computed) => has_timing(computed),
        Source::Aggregate(_) | Source::Copy(_) | Source::Derived(_) => false,
    }
}

fn has_timing(computed: &Computed) -> bool {
    match computed.timing {
        Timing::Always | Timing::Ref => false,
        Timing::Create | Timing::Write | Timing::Once(_) => true,
    }
}

/// Whether a default is made of the item itself, so that it can be known afterwards.
fn is_own(default: &Formula) -> bool {
    let mut reads = default.reads.iter();
    reads.all(|one| one.origin == Origin::Item && one.hops.is_empty())
}

fn is_history(record: &Record) -> bool {
    record.view.as_ref().is_some_and(|view| view.history)
}

/// What is derived in an attribute.
pub(super) fn derived(record: &Record, attribute: &Attribute) -> Option<Derived> {
    let (record, name) = (RecordName::of(record), attribute.name.clone());
    match &attribute.source {
        Source::Aggregate(_) => Some(Derived::Number(record, name)),
        Source::Copy(_) => Some(Derived::Copy(record, name)),
        Source::Computed(_) | Source::Derived(_) => Some(Derived::Value(record, name)),
        Source::Given { .. } | Source::Generated => None,
    }
}

/// The records whose items an attribute is computed from.
fn read_by(design: &Design, record: &Record, attribute: &Attribute) -> Vec<RecordName> {
    let mut names = vec![RecordName::of(design.source(record))];
    if let Source::Aggregate(Aggregate { of, .. }) = &attribute.source {
        names.insert(0, RecordName::of(&design[*of]));
    }
    let hops = attribute.reads().iter().flat_map(|reading| &reading.hops);
    for hop in hops {
        let targets = design.reference(hop).into_iter();
        let targets = targets.flat_map(|reference| reference.records());
        names.extend(targets.map(|target| RecordName::of(&design[target])));
    }
    names
}
