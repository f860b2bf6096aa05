//! Changes for people, with the lines of both files, and for programs.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{
    AttributeAspect, Change, ChangeKind, Class, Derived, Missing, RecordName, Subject, Work,
};
use crate::origin::Place;
use crate::render::{Colours, snippet};
use crate::spelling;

/// A file that is compared.
#[derive(Clone, Copy, Debug)]
pub struct File<'f> {
    /// What it is called.
    pub name: &'f str,
    /// Its text.
    pub text: &'f str,
}

/// All changes by their class, each with its lines in both files, and what would have to be done.
pub fn to_text(old: File<'_>, new: File<'_>, changes: &[Change], colours: Colours) -> String {
    let mut text = String::new();
    for class in Class::ALL {
        let of_class: Vec<&Change> = changes.iter().filter(|one| one.class == class).collect();
        if of_class.is_empty() {
            continue;
        }
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}: {}\n", class.word(), class.about());
        if class == Class::Free {
            for change in of_class {
                let _ = writeln!(text, "  {}", brief(change));
            }
            text.push('\n');
            continue;
        }
        for change in of_class {
            one(&mut text, old, new, change, colours);
            if let Some(help) = change.help(changes) {
                let _ = writeln!(text, "  help: {help}");
            }
            text.push('\n');
        }
    }
    text + &summary(changes)
}

/// A change in one line.
fn brief(change: &Change) -> String {
    let line = |place: &Option<Place>| place.as_ref().map(|place| place.line);
    let lines = match (line(&change.old), line(&change.new)) {
        (Some(old), Some(new)) => format!(" (line {new}, was {old})"),
        (Some(line), None) | (None, Some(line)) => format!(" (line {line})"),
        (None, None) => String::new(),
    };
    let noun = change.subject.noun();
    format!("{} {}: {noun}{lines}", change.kind.word(), change.name())
}

fn one(text: &mut String, old: File<'_>, new: File<'_>, change: &Change, colours: Colours) {
    let Change { kind, says, .. } = change;
    let noun = change.subject.noun();
    let was = match kind {
        ChangeKind::Renamed { was } => format!(", which was `{was}`"),
        _ => String::new(),
    };
    let _ = writeln!(text, "  {} {}{was}: {noun}", kind.word(), change.name());
    let _ = writeln!(text, "  {}", sentence(says, change));
    for (file, place) in [(old, &change.old), (new, &change.new)] {
        if let Some(place) = place {
            text.push_str(&snippet(file.name, file.text, place.span, colours));
        }
    }
}

/// What is done, with whose items that takes.
fn sentence(says: &str, change: &Change) -> String {
    let names = |records: &[RecordName]| {
        let names: Vec<String> = records.iter().map(|one| one.name.clone()).collect();
        spelling::list(&names)
    };
    let mut sentence = says.to_owned();
    let touches = &change.touches;
    if !touches.reads.is_empty() {
        let _ = write!(sentence, "; reads {}", names(&touches.reads));
    }
    if !touches.writes.is_empty() {
        let _ = write!(sentence, "; writes {}", names(&touches.writes));
    }
    sentence
}

/// What would have to be done.
fn summary(changes: &[Change]) -> String {
    let count = |class: Class| changes.iter().filter(|one| one.class == class).count();
    if changes.is_empty() {
        return "The designs are the same.\n".to_owned();
    }
    let counts = Class::ALL.into_iter().filter(|class| count(*class) > 0);
    let counts: Vec<String> = counts
        .map(|class| format!("{} {}", count(class), class.word()))
        .collect();
    let mut text = format!("{}.\n", counts.join(", "));
    if changes.iter().all(Change::is_free) {
        return text + "A server that starts with the new design adopts it.\n";
    }
    let missing = changes.iter().filter(|one| !one.is_complete()).count();
    if missing > 0 {
        let what = if missing == 1 {
            "change needs"
        } else {
            "changes need"
        };
        let _ = writeln!(text, "Not yet: {missing} {what} what the help says.");
        return text;
    }
    if count(Class::Narrowing) > 0 {
        text += "All items are looked at first, and it does not start while one does not fit.\n";
    }
    let dropped = changes.iter().filter(|one| one.class == Class::Dropping);
    for change in dropped {
        let _ = writeln!(text, "What goes must be named: `--drop {}`.", change.name());
    }
    text += "`partita migrate start` begins it, while the old design goes on being served.\n";
    let lasting = changes.iter().filter(|one| !one.is_reversible);
    let mut lasting: Vec<String> = lasting.map(|one| format!("`{}`", one.name())).collect();
    lasting.dedup();
    if lasting.is_empty() {
        text += "It can be taken back until it is complete.\n";
    } else {
        let names = lasting.join(", ");
        let _ = writeln!(
            text,
            "After the switch it cannot be taken back, for {names}."
        );
    }
    text
}

impl Class {
    /// What stored data have to do with such changes.
    pub fn about(self) -> &'static str {
        match self {
            Class::Free => "stored items are right as they are",
            Class::Derived => "Partita computes what comes, and removes what goes",
            Class::Stated => "the design says what becomes of stored items",
            Class::Narrowing => "all stored items must fit",
            Class::Dropping => "something that callers gave goes",
        }
    }
}

/// All changes as JSON.
pub fn to_json(changes: &[Change]) -> Json {
    let change = |one| change_json(one, changes);
    changes.iter().map(change).collect()
}

fn change_json(change: &Change, changes: &[Change]) -> Json {
    let place = |place: &Option<Place>| {
        place
            .as_ref()
            .map(|place| json!({ "path": place.path, "line": place.line }))
    };
    let records = |records: &[RecordName]| -> Json { records.iter().map(record_json).collect() };
    let derived = |derived: &[Derived]| -> Json { derived.iter().map(derived_json).collect() };
    let was = match &change.kind {
        ChangeKind::Renamed { was } => Some(was),
        _ => None,
    };
    let touches = &change.touches;
    json!({
        "name": change.name(),
        "about": change.subject.noun(),
        "kind": change.kind.word(),
        "was": was,
        "class": change.class.word(),
        "work": change.work.word(),
        "says": change.says,
        "reads": records(&touches.reads),
        "writes": records(&touches.writes),
        "adds": derived(&touches.adds),
        "removes": derived(&touches.removes),
        "reversible": change.is_reversible,
        "missing": change.missing.as_ref().and_then(|_| change.help(changes)),
        "old": place(&change.old),
        "new": place(&change.new),
    })
}

fn record_json(record: &RecordName) -> Json {
    json!(record.name)
}

fn derived_json(derived: &Derived) -> Json {
    let (kind, record, name) = match derived {
        Derived::Index(index) => ("index", None, index.clone()),
        Derived::IndexKey(record, key) => ("index-key", Some(&record.name), key.clone()),
        Derived::Discriminator(record, name) => ("discriminator", Some(&record.name), name.clone()),
        Derived::Records(view) => ("records", Some(view), String::new()),
        Derived::Kept(view, names) => ("kept", Some(view), names.join(" ")),
        Derived::Number(record, name) => ("number", Some(&record.name), name.clone()),
        Derived::Copy(record, name) => ("copy", Some(&record.name), name.clone()),
        Derived::Value(record, name) => ("value", Some(&record.name), name.clone()),
        Derived::Default(record, name) => ("default", Some(&record.name), name.clone()),
        Derived::Guards(entity, name) => ("guards", Some(entity), name.clone()),
    };
    json!({ "kind": kind, "record": record, "name": name })
}

impl Work {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Work::Nothing => "nothing",
            Work::Table => "table",
            Work::Derive => "derive",
            Work::Default => "default",
            Work::KeepDefault => "keep-default",
            Work::Fill => "fill",
            Work::FillAll => "fill-all",
            Work::Rename => "rename",
            Work::Move => "move",
            Work::Look => "look",
            Work::Convert => "convert",
            Work::Drop => "drop",
        }
    }
}

impl Change {
    /// What to do about it: what it may be instead, and what is lacking.
    pub fn help(&self, changes: &[Change]) -> Option<String> {
        let missing = self.missing.as_ref().map(Missing::advice);
        match (self.advice(changes), missing) {
            (Some(advice), Some(missing)) => Some(format!("{advice}; otherwise {missing}")),
            (advice, missing) => advice.or(missing),
        }
    }

    /// What it may be instead, where something goes and another thing of its kind comes. Otherwise
    /// whoever gives something another name is led to lose what was stored under the first.
    pub fn advice(&self, changes: &[Change]) -> Option<String> {
        let others = || changes.iter().filter(|one| self.may_be(one));
        match (&self.subject, &self.kind) {
            (Subject::Attribute(_, name, _), ChangeKind::Removed) if self.is_given_up() => {
                let added = others().find_map(Change::own_name)?;
                Some(format!(
                    "if `{added}` is the same under another name, add `was {name}` to its line"
                ))
            }
            (Subject::Attribute(..), ChangeKind::Added) => {
                if !matches!(self.missing, Some(Missing::Fill { .. })) {
                    return None;
                }
                let removed = others().filter(|one| one.is_given_up());
                let removed = removed.filter_map(|one| Some(format!("`was {}`", one.own_name()?)));
                let removed: Vec<String> = removed.collect();
                (!removed.is_empty()).then(|| {
                    let was = removed.join(" or ");
                    format!("if it had another name, add {was} to its line")
                })
            }
            (Subject::Entity(name), ChangeKind::Removed) => {
                let added = others().find_map(Change::own_name)?;
                Some(format!(
                    "if `{added}` is the same under another name, add `was = \"{name}\"` to \
                     `[entity.{added}]`"
                ))
            }
            _ => None,
        }
    }

    /// Whether something that callers gave goes.
    fn is_given_up(&self) -> bool {
        self.kind == ChangeKind::Removed && self.class == Class::Dropping
    }

    /// Whether one of the two goes and the other comes, and both are of one kind in one place.
    fn may_be(&self, other: &Change) -> bool {
        let is_alike = match (&self.subject, &other.subject) {
            (
                Subject::Attribute(record, _, AttributeAspect::Whole),
                Subject::Attribute(of, _, AttributeAspect::Whole),
            ) => record == of,
            (Subject::Entity(_), Subject::Entity(_)) => true,
            _ => false,
        };
        let kinds = (&self.kind, &other.kind);
        is_alike
            && matches!(
                kinds,
                (ChangeKind::Removed, ChangeKind::Added) | (ChangeKind::Added, ChangeKind::Removed)
            )
    }

    /// The last part of its name.
    fn own_name(&self) -> Option<&str> {
        match &self.subject {
            Subject::Attribute(_, name, _) | Subject::Entity(name) => Some(name),
            _ => None,
        }
    }
}
