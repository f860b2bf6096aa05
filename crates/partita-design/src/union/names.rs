//! The other design in the names of the served one.
//!
//! What both designs have and call otherwise is one thing. So the text of the other design is
//! compiled once more with the names that the served one has, and every expression of it reads what
//! the served design stores. What it stores under a name of its own is a [`Mirror`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Disagreement, Merge, Served, interim, place_of};
use crate::check::{Renames, check_renamed};
use crate::design::{Attribute, Computed, Design, Projection, Record, RecordId, Source, Timing};
use crate::difference::Renamed;
use crate::expression::{Expr, Formula, Origin, Reading};
use crate::template::dotted;

/// An attribute that both designs have under different names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mirror {
    /// Whose, as the served design calls it.
    record: String,
    /// What the served design calls it.
    of: String,
    /// What the other one calls it.
    name: String,
}

/// The other design in the names of the served one, and what it calls otherwise.
pub(super) fn in_served_names<'d>(
    old: &'d Design,
    new: &'d Design,
    served: Served,
) -> Result<(Cow<'d, Design>, Vec<Mirror>), Vec<Disagreement>> {
    let renamed = Renamed::between(old, new);
    let other = match served {
        Served::Old => new,
        Served::New => old,
    };
    if renamed.is_empty() {
        return Ok((Cow::Borrowed(other), Vec::new()));
    }
    let mut records: BTreeMap<String, String> = BTreeMap::new();
    let mut names = Renames::new();
    let mut mirrors = Vec::new();
    for (new, was) in &renamed.records {
        let (from, to) = match served {
            Served::Old => (new, was),
            Served::New => (was, new),
        };
        records.insert(from.clone(), to.clone());
    }
    for ((record, attribute), was) in &renamed.attributes {
        let before = renamed.records.get(record).unwrap_or(record);
        let (theirs, ours, name, of) = match served {
            Served::Old => (record, before, attribute, was),
            Served::New => (before, record, was, attribute),
        };
        names.insert((theirs.clone(), name.clone()), of.clone());
        mirrors.push(Mirror {
            record: ours.clone(),
            of: of.clone(),
            name: name.clone(),
        });
    }
    names.extend(interim::names_of(other));
    let variables = |name: &str| other.origin.variables.get(name).cloned();
    let Some(mut design) = check_renamed(&other.origin.text, &variables, &names) else {
        let wrong = mirrors.iter().map(|mirror| Disagreement {
            place: format!("entity.{}.attributes.{}", mirror.record, mirror.name),
            message: "has another name, which nothing else may change together with".to_owned(),
        });
        return Err(wrong.collect());
    };
    interim::rename_indexes(&mut design, other);
    for record in &mut design.records {
        if let Some(name) = records.get(&record.name) {
            record.name.clone_from(name);
        }
    }
    Ok((Cow::Owned(design), mirrors))
}

impl Merge<'_> {
    /// Keeps what the other design stores under names of its own.
    pub(super) fn mirrors(&mut self, mirrors: &[Mirror]) {
        for mirror in mirrors {
            let Some(record) = self.design.find_record(&mirror.record) else {
                continue;
            };
            let id = record.id;
            if let Some(why) = self.unmirrored(record, mirror) {
                let place = format!("{}.attributes.{}", place_of(record), mirror.name);
                self.disagree(place, why);
                continue;
            }
            let formula = repeats(&mirror.of);
            let source = match record.stored(&mirror.of) {
                // Nothing is stored beside the key.
                Some(one) if one.is_virtual || one.key_only => continue,
                Some(Attribute {
                    source: Source::Derived(value),
                    ..
                }) => Source::Derived(value.clone()),
                _ => Source::Computed(Computed {
                    value: formula.clone(),
                    timing: Timing::Always,
                }),
            };
            let made = mirrored(&mirror.name, source);
            self.design.records[id.index()].attributes.push(made);
            self.mirror_in_views(id, mirror, &formula);
        }
    }

    /// Views that keep such an attribute have it under its other name, too. A view that only the
    /// other design has knows no other name.
    fn mirror_in_views(&mut self, of: RecordId, mirror: &Mirror, formula: &Formula) {
        for view in &mut self.design.records {
            let is_of = view.view.as_ref().is_some_and(|view| view.of == of);
            let at = view.attributes.iter();
            let at = at
                .clone()
                .position(|one| one.kept && one.name == mirror.of)
                .filter(|_| is_of);
            let Some(at) = at else { continue };
            let made = mirrored(&mirror.name, Source::Derived(formula.clone()));
            if self.aside.has_record(view.id) {
                view.attributes[at] = made;
            } else {
                view.attributes.push(made);
            }
        }
    }

    /// Why an attribute cannot be stored under two names.
    fn unmirrored(&self, record: &Record, mirror: &Mirror) -> Option<&'static str> {
        let table = &self.design[record.table];
        let is_held = table.indexes.iter().any(|index| {
            let names = index.keys().map(|key| &key.name);
            let mut names: Vec<&String> = names.collect();
            if let Projection::Include(included) = &index.projection {
                names.extend(included);
            }
            names
                .iter()
                .any(|name| [&mirror.of, &mirror.name].contains(name))
        });
        let is_archived = self.design.views_of(record.id).any(|(view, of)| {
            let mut kept = view.kept();
            of.history && kept.any(|one| one.name == mirror.of)
        });
        let attribute = record.stored(&mirror.of);
        let is_filed = attribute.is_some_and(|one| one.file_in.is_some() || one.file_at.is_some());
        let is_own = !record.is_entity() && attribute.is_some_and(|one| one.derived().is_none());
        let is_ttl = |name: &String| table.ttl.as_ref() == Some(name);
        if is_held {
            Some("is held by an index under its name")
        } else if is_archived {
            Some("is kept in a history under its name")
        } else if is_own {
            Some("is a view's own, and cannot be computed again")
        } else if is_filed {
            Some("names a file, which belongs to one attribute")
        } else if is_ttl(&mirror.of) || is_ttl(&mirror.name) {
            Some("says when items expire, which a table has one name for")
        } else if record.attribute(&mirror.name).is_some() {
            Some("is the name of something else in the other design")
        } else if record.open {
            Some("may be in items already, because the entity is `open`")
        } else {
            None
        }
    }
}

/// An attribute that follows another one of its item, and that nobody is shown.
fn mirrored(name: &str, source: Source) -> Attribute {
    Attribute {
        optional: true,
        secret: true,
        ..Attribute::new(name, source)
    }
}

/// The value of an attribute of the item.
fn repeats(name: &str) -> Formula {
    let path = dotted(name);
    let reading = Reading {
        path: path.clone(),
        origin: Origin::Item,
        hops: Vec::new(),
        attribute: name.to_owned(),
        kind: crate::types::AttributeType::Any,
        optional: true,
        by_key: false,
        secret: true,
    };
    Formula::plain(Expr::Path(path), vec![reading])
}
