//! The changes from one compiled design to another: what each concerns, what it does to stored
//! data, and what has to be said before it can be carried out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`Subject`] and its parts | what a change is about |
//! | `judge` | the class of each change: tables, keys, guards |
//! | `attribute`, `view`, `reference` | the same for attributes, views and refs |
//! | `judgement` | a class, and what goes with it |
//! | `wider` | types that accept everything that others accept |
//! | `estimate` | how much work changes are |
//! | `print` | changes for people and for programs |
//! | `renamed` | what is called otherwise |
//! | `statements` | rows of an older layout, and what a design no longer has to state |
//! | `unstored` | changes of what no stored data follow |
//!
//! Declarations that stored data follow are those that have a [`fingerprint`](crate::fingerprint);
//! everything else in two files is compared as it is written, so that nothing is left out.

mod attribute;
mod estimate;
mod judge;
mod judgement;
mod print;
mod reference;
mod renamed;
mod statements;
mod subject;
mod unstored;
mod view;
mod wider;

use std::collections::BTreeSet;
use std::fmt;

use crate::design::{Design, Record};
use crate::fingerprint::{Part, Prints, parts};
use crate::origin::Place;
pub use estimate::{Estimate, Items, estimate};
use judge::Judge;
pub use print::{File, to_json, to_text};
pub(crate) use renamed::Renamed;
pub use statements::needless;
pub use subject::{AttributeAspect, RecordName, RefAspect, Subject, TableAspect, Unstored, nouns};

/// One difference between two designs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub subject: Subject,
    /// What became of that.
    pub kind: ChangeKind,
    /// What stored data have to do with it.
    pub class: Class,
    /// What is done to stored data.
    pub work: Work,
    /// The same in words.
    pub says: String,
    /// Whose items it concerns.
    pub touches: Touches,
    /// Whether the old design's data can be had back after the switch, as long as all values fit
    /// the old design.
    pub is_reversible: bool,
    /// What is lacking before it can be carried out.
    pub missing: Option<Missing>,
    /// Its place in the old file.
    pub old: Option<Place>,
    /// Its place in the new file.
    pub new: Option<Place>,
}

/// What became of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The new design has it, the old one does not.
    Added,
    /// The old design has it, the new one does not.
    Removed,
    /// Both have it, and it says something else.
    Changed,
    /// Both have it, under different names.
    Renamed {
        /// The old name.
        was: String,
    },
}

/// What stored data have to do with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// They are right as they are.
    Free,
    /// Partita computes what is to be added, and removes what is not derived any more.
    Derived,
    /// The design has to say what becomes of them.
    Stated,
    /// They are right if all of them fit.
    Narrowing,
    /// Something that callers gave goes.
    Dropping,
}

impl Class {
    /// All classes, in the order in which they are shown.
    pub const ALL: [Class; 5] = [
        Class::Free,
        Class::Derived,
        Class::Stated,
        Class::Narrowing,
        Class::Dropping,
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Class::Free => "free",
            Class::Derived => "derived",
            Class::Stated => "stated",
            Class::Narrowing => "narrowing",
            Class::Dropping => "dropping",
        }
    }
}

/// What is done to stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Nothing.
    Nothing,
    /// An index, the TTL or the stream of a table is set up; items are as they were.
    Table,
    /// Derived data are computed, removed, or both: [`Touches::adds`] and [`Touches::removes`].
    Derive,
    /// Items that lack an attribute get its new default.
    Default,
    /// Items that lack an attribute get the old default, as which they were read.
    KeepDefault,
    /// Items get the value that the design's `fill` computes, where they lack the attribute or have
    /// a value that does not fit.
    Fill,
    /// All items get the value that the design's `fill` computes.
    FillAll,
    /// An attribute is stored under another name.
    Rename,
    /// Items move to another primary key.
    Move,
    /// Rows of an older layout become what the design says.
    Convert,
    /// All items are looked at, and none may be wrong.
    Look,
    /// What callers gave is removed.
    Drop,
}

/// Whose items a change concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// The entities and views whose items are read, in the old design's names where it has them.
    pub reads: Vec<RecordName>,
    /// The entities and views whose items are written; a guard is written with its entity.
    pub writes: Vec<RecordName>,
    /// What is derived from now on.
    pub adds: Vec<Derived>,
    /// What is no longer derived.
    pub removes: Vec<Derived>,
}

/// Data that Partita computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Derived {
    /// An index of the table.
    Index(String),
    /// A key of an index, in the items of a record.
    IndexKey(RecordName, String),
    /// The attribute that says which record an item is.
    Discriminator(RecordName, String),
    /// The records of a view.
    Records(String),
    /// What a view repeats of its source.
    Kept(String, Vec<String>),
    /// A count or a sum.
    Number(RecordName, String),
    /// An attribute that follows one of another item.
    Copy(RecordName, String),
    /// A value that is computed from its own item, or through a ref.
    Value(RecordName, String),
    /// A value that items get which lack it.
    Default(RecordName, String),
    /// The guards of a unique value.
    Guards(String, String),
}

/// What is lacking before a change can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The value for items that are stored: `[entity.E.fill]`.
    Fill {
        /// The record.
        record: RecordName,
        /// The attribute.
        attribute: String,
    },
    /// The old template of a primary key: `was = { SK = "…" }`.
    OldKey {
        /// The record.
        record: RecordName,
        /// The key.
        key: String,
        /// The template in the old file.
        template: String,
    },
    /// There is no way.
    Impossible(String),
}

impl Missing {
    /// What to write into the design, or do instead.
    pub fn advice(&self) -> String {
        match self {
            Missing::Fill { record, attribute } => {
                let attribute = match attribute.contains('.') {
                    true => format!("\"{attribute}\""),
                    false => attribute.clone(),
                };
                format!(
                    "say what stored items get: `{attribute} = \"…\"` in `[{record}.fill]`, a value \
                     or a template over the stored item"
                )
            }
            Missing::OldKey {
                record,
                key,
                template,
            } => format!(
                "say that the items are meant which have the old key: `was = {{ {key} = \
                 \"{template}\" }}` in `[{record}]`"
            ),
            Missing::Impossible(advice) => advice.clone(),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.word(), self.name())?;
        let line = |place: &Option<Place>| place.as_ref().map(|place| place.line);
        match (line(&self.new), line(&self.old)) {
            (Some(new), Some(old)) => write!(f, " (line {new}; line {old} of the recorded design)"),
            (Some(new), None) => write!(f, " (line {new})"),
            (None, Some(old)) => write!(f, " (line {old} of the recorded design)"),
            (None, None) => Ok(()),
        }
    }
}

impl ChangeKind {
    /// Its word.
    pub fn word(&self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
            ChangeKind::Renamed { .. } => "renamed",
        }
    }
}

impl Change {
    /// The path of the declaration: `entity.Story.attributes.title`.
    pub fn name(&self) -> String {
        self.subject.path()
    }

    /// Whether data that are stored under the old design are right under the new one as they are.
    pub fn is_free(&self) -> bool {
        self.class == Class::Free
    }

    /// Whether it can be begun as far as the design says what is needed. What drops something must
    /// also be named by whoever begins.
    pub fn is_complete(&self) -> bool {
        self.missing.is_none()
    }

    /// The entity or view that is new as a whole.
    pub fn new_record(&self) -> Option<&str> {
        match &self.subject {
            Subject::Entity(name) | Subject::View(name) if self.kind == ChangeKind::Added => {
                Some(name)
            }
            _ => None,
        }
    }
}

/// The declarations whose prints differ, where the old design cannot be compiled to what was
/// recorded: another version of the program made it. None of the changes is known to be free, and
/// none can be carried out.
pub fn between_prints(old: &Prints, new: &Design) -> Vec<Change> {
    let after = parts(new);
    let prints = crate::fingerprint::prints(new);
    let names: BTreeSet<&String> = old.keys().chain(prints.keys()).collect();
    let changes = names.into_iter().filter_map(|name| {
        let kind = match (old.get(name), prints.get(name)) {
            (Some(old), Some(new)) if old == new => return None,
            (Some(_), Some(_)) => ChangeKind::Changed,
            (Some(_), None) => ChangeKind::Removed,
            (None, _) => ChangeKind::Added,
        };
        let part = after.get(name);
        let subject = part.map(|part| part.subject.clone());
        let advice = "this version of Partita compiles the recorded text to something else: use the \
                      version that recorded it";
        Some(Change {
            subject: subject.unwrap_or(Subject::Unstored(Unstored::Clause, name.clone())),
            kind,
            class: Class::Stated,
            work: Work::Nothing,
            says: "what was recorded is not what this version makes of the text".to_owned(),
            touches: Touches::default(),
            is_reversible: false,
            missing: Some(Missing::Impossible(advice.to_owned())),
            old: None,
            new: part.and_then(|_| new.origin.place(name)).cloned(),
        })
    });
    whole_records(changes.collect())
}

/// The changes from one design to another that stored data follow, or could follow.
pub fn between(old: &Design, new: &Design) -> Vec<Change> {
    let renamed = Renamed::between(old, new);
    let undone = match renamed.is_empty() {
        true => None,
        false => renamed.undone(new),
    };
    let is_undone = undone.is_some() || renamed.is_empty();
    let compared = undone.as_ref().unwrap_or(new);
    let (before, after) = (parts(old), parts(compared));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let judge = Judge { old, new: compared };
    let mut changes = renamed.changes(old, new, is_undone);
    changes.extend(statements::rows(old, new));
    for name in names {
        let (kind, judgements) = match (before.get(name), after.get(name)) {
            (Some(one), Some(two)) if one.form() == two.form() => continue,
            (Some(one), Some(two)) => (ChangeKind::Changed, judge.changed(one, two)),
            (Some(one), None) => (ChangeKind::Removed, judge.removed(one)),
            (None, Some(two)) => (ChangeKind::Added, judge.added(two)),
            (None, None) => continue,
        };
        let place = |part: Option<&Part<'_>>, design: &Design, key: &str| {
            part.and_then(|_| design.origin.place(key)).cloned()
        };
        changes.extend(judgements.into_iter().map(|judgement| {
            let subject = renamed.redone(&judgement.subject);
            Change {
                old: place(before.get(name), old, &judgement.subject.key_path()),
                new: place(after.get(name), new, &subject.key_path()),
                subject,
                kind: kind.clone(),
                class: judgement.class,
                work: judgement.work,
                says: judgement.says,
                touches: judgement.touches,
                is_reversible: judgement.is_reversible,
                missing: judgement.missing,
            }
        }));
    }
    whole_records(changes)
}

/// All changes from one design to another, also those that no stored data follow.
pub fn all_between(old: &Design, new: &Design) -> Vec<Change> {
    let mut changes = between(old, new);
    changes.extend(unstored::between(old, new, &changes));
    changes
}

/// Leaves out what belongs to an entity or a view that is added or removed as a whole.
fn whole_records(changes: Vec<Change>) -> Vec<Change> {
    let whole = changes.iter().filter(|one| {
        let is_record = matches!(one.subject, Subject::Entity(_) | Subject::View(_));
        is_record && matches!(one.kind, ChangeKind::Added | ChangeKind::Removed)
    });
    let whole: BTreeSet<String> = whole.map(|one| format!("{}.", one.name())).collect();
    let is_part = |name: &str| whole.iter().any(|record| name.starts_with(record.as_str()));
    let mut changes = changes;
    changes.retain(|one| !is_part(&one.name()));
    changes
}

impl RecordName {
    /// The name of a record.
    pub fn of(record: &Record) -> RecordName {
        RecordName {
            name: record.name.clone(),
            is_view: !record.is_entity(),
        }
    }
}
