//! The class of each change of what stored data follow.

use super::attribute;
use super::judgement::{Judgement, unknown};
use super::wider::is_wider_shape;
use super::{Derived, Missing, RecordName, Subject, TableAspect, Work};
use crate::design::{Aggregate, Design, Source, Table};
use crate::fingerprint::{Body, Part};
use crate::types::{AttributeType, Shape};

pub(super) fn entity(name: &str) -> RecordName {
    RecordName {
        name: name.to_owned(),
        is_view: false,
    }
}

pub(super) fn view(name: &str) -> RecordName {
    RecordName {
        name: name.to_owned(),
        is_view: true,
    }
}

/// Judges the changes from one design to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judge<'d> {
    pub(super) old: &'d Design,
    pub(super) new: &'d Design,
}

impl Judge<'_> {
    /// A declaration that the old design does not have.
    pub(super) fn added(&self, part: &Part<'_>) -> Vec<Judgement> {
        let subject = &part.subject;
        let one = match (subject, &part.body) {
            (Subject::Attribute(..), Body::Attribute(_, record, attribute)) => {
                return attribute::added(self, subject, record, attribute);
            }
            (Subject::Table(..), _) => Judgement::free(subject, "the table is new, and empty"),
            (Subject::Index(name), Body::Index(table, _)) => self.index(subject, name, table, true),
            // The check of a design finds keys that two records could have, so that no item of a
            // known record has a key of a new entity. Whoever adopts the design looks whether
            // others have.
            (Subject::Entity(_), _) => Judgement::free(
                subject,
                "no stored item is one of it, which is looked at first",
            ),
            (Subject::View(name), Body::View(design, view)) => {
                self.new_view(subject, name, design, view)
            }
            (Subject::PrimaryKey(..), _) => Judgement::impossible(
                subject,
                "the table has other keys",
                "name another table, with these keys",
            ),
            (Subject::IndexKey(record, key), _) => {
                self.index_key(subject, record, key, true, false)
            }
            (Subject::Discriminator(record, name), _) => {
                Judgement::derived(subject, "every item gets the mark of what it is")
                    .reads([record.clone()])
                    .writes([record.clone()])
                    .adds([Derived::Discriminator(record.clone(), name.clone())])
            }
            (Subject::Open(_), _) => Judgement::free(subject, "more may be stored from now on"),
            (Subject::SoftDelete(name), _) => self.soft_delete(subject, name),
            (Subject::Require(name), _) => {
                Judgement::narrowing(subject, "it must hold of all stored items")
                    .reads([entity(name)])
            }
            (Subject::Ref(..), Body::Ref(_, _, reference)) => self.new_ref(subject, reference),
            (Subject::Guard(..), _) => self.guard(subject, true, false),
            (Subject::When(name), _)
            | (Subject::Each(name), _)
            | (Subject::Distinct(name), _)
            | (Subject::Keep(name), _) => self.view_part(subject, name),
            (Subject::Shape(_), _) => Judgement::free(subject, "the attributes that have it say"),
            (Subject::Constants(_), _) => Judgement::free(subject, "the values that read it say"),
            (Subject::Login, _) => self.login(subject),
            (Subject::Bucket(_) | Subject::Prefix(..), _) => {
                Judgement::free(subject, "files may be kept there from now on")
            }
            (
                Subject::Index(_)
                | Subject::View(_)
                | Subject::Attribute(..)
                | Subject::Ref(..)
                | Subject::Rows(_)
                | Subject::Unstored(..),
                _,
            ) => unknown(subject),
        };
        vec![one]
    }

    /// A declaration that the new design does not have.
    pub(super) fn removed(&self, part: &Part<'_>) -> Vec<Judgement> {
        let subject = &part.subject;
        let one = match (subject, &part.body) {
            (Subject::Attribute(..), Body::Attribute(_, record, attribute)) => {
                return vec![attribute::removed(self, subject, record, attribute)];
            }
            (Subject::Table(..), _) => {
                Judgement::dropping(subject, "the table goes, with everything in it")
            }
            (Subject::Index(name), Body::Index(table, _)) => {
                self.index(subject, name, table, false)
            }
            (Subject::Entity(name), _) => Judgement::dropping(
                subject,
                "its items go, with their views, guards and history",
            )
            .reads([entity(name)])
            .writes([entity(name)]),
            (Subject::View(name), Body::View(design, of)) => {
                self.old_view(subject, name, design, of)
            }
            (Subject::PrimaryKey(..), _) => Judgement::impossible(
                subject,
                "the table has other keys",
                "name another table, with these keys",
            ),
            (Subject::IndexKey(record, key), _) => {
                self.index_key(subject, record, key, false, true)
            }
            (Subject::Discriminator(record, name), _) => {
                Judgement::derived(subject, "the mark of what an item is goes")
                    .reads([record.clone()])
                    .writes([record.clone()])
                    .removes([Derived::Discriminator(record.clone(), name.clone())])
            }
            (Subject::Open(name), _) => {
                Judgement::dropping(subject, "attributes that are stored and not listed go")
                    .reads([entity(name)])
                    .writes([entity(name)])
            }
            (Subject::SoftDelete(name), _) => self.soft_delete(subject, name),
            (Subject::Require(_), _) => Judgement::free(subject, "more may be stored from now on"),
            (Subject::Ref(..), _) => {
                Judgement::free(subject, "what was read through it says what becomes of it")
            }
            (Subject::Guard(..), _) => self.guard(subject, false, true),
            (Subject::When(name), _)
            | (Subject::Each(name), _)
            | (Subject::Distinct(name), _)
            | (Subject::Keep(name), _) => self.view_part(subject, name),
            (Subject::Shape(_), _) => Judgement::free(subject, "the attributes that had it say"),
            (Subject::Constants(_), _) => Judgement::free(subject, "the values that read it say"),
            (Subject::Login, _) => Judgement::free(subject, "more may be stored from now on"),
            (Subject::Bucket(_) | Subject::Prefix(..), _) => Judgement::dropping(
                subject,
                "no item keeps the files that are there, and nothing removes them",
            ),
            (
                Subject::Index(_)
                | Subject::View(_)
                | Subject::Attribute(..)
                | Subject::Rows(_)
                | Subject::Unstored(..),
                _,
            ) => unknown(subject),
        };
        vec![one]
    }

    /// A declaration that says something else.
    pub(super) fn changed(&self, old: &Part<'_>, new: &Part<'_>) -> Vec<Judgement> {
        let subject = &new.subject;
        let one = match (subject, &old.body, &new.body) {
            (
                Subject::Attribute(..),
                Body::Attribute(_, _, old),
                Body::Attribute(_, record, new),
            ) => {
                return attribute::changed(self, subject, record, old, new);
            }
            (Subject::Table(id, _), Body::Table(old), Body::Table(new)) => {
                return self.table(id, old, new);
            }
            (Subject::Ref(..), Body::Ref(_, _, old), Body::Ref(_, _, new)) => {
                return self.changed_ref(subject, old, new);
            }
            (Subject::Index(name), _, Body::Index(table, _)) => {
                let index = Derived::Index(name.clone());
                self.index(subject, name, table, true).removes([index])
            }
            (Subject::Entity(_), _, _) => Judgement::impossible(
                subject,
                "its items would move to another table",
                "keep the entity in its table, and give the other table an entity of its own",
            ),
            (Subject::View(name), Body::View(before, old), Body::View(after, new)) => {
                let judgements = [
                    self.old_view(subject, name, before, old),
                    self.new_view(subject, name, after, new),
                ];
                return judgements.into();
            }
            (Subject::PrimaryKey(record, key), _, _) => self.primary_key(subject, record, key),
            (Subject::IndexKey(record, key), _, _) => {
                self.index_key(subject, record, key, true, true)
            }
            (Subject::Discriminator(record, name), _, _) => {
                let mark = || [Derived::Discriminator(record.clone(), name.clone())];
                Judgement::derived(subject, "every item gets the new mark of what it is")
                    .reads([record.clone()])
                    .writes([record.clone()])
                    .adds(mark())
                    .removes(mark())
            }
            (Subject::Open(_), _, _) => Judgement::free(subject, ""),
            (Subject::SoftDelete(name), _, _) => self.soft_delete(subject, name),
            (Subject::Require(name), _, _) => {
                Judgement::narrowing(subject, "it must hold of all stored items")
                    .reads([entity(name)])
            }
            (Subject::Guard(..), _, _) => self.guard(subject, true, true),
            (Subject::Keep(name), Body::Keep(old), Body::Keep(new)) => {
                self.keep(subject, name, old, new)
            }
            (Subject::When(name), _, _)
            | (Subject::Each(name), _, _)
            | (Subject::Distinct(name), _, _)
            | (Subject::Keep(name), _, _) => self.view_part(subject, name),
            (Subject::Shape(_), Body::Shape(old), Body::Shape(new)) => {
                self.shape(subject, old, new)
            }
            (Subject::Constants(name), _, _) => self.constants(subject, name),
            (Subject::Login, _, _) => self.login(subject),
            (Subject::Bucket(_) | Subject::Prefix(..), _, _) => Judgement::impossible(
                subject,
                "stored items name files that are elsewhere",
                "copy the files, and change the items that name them; Partita does not move files",
            ),
            (
                Subject::Attribute(..)
                | Subject::Table(..)
                | Subject::Ref(..)
                | Subject::Index(_)
                | Subject::View(_)
                | Subject::Shape(_)
                | Subject::Rows(_)
                | Subject::Unstored(..),
                _,
                _,
            ) => unknown(subject),
        };
        vec![one]
    }

    fn table(&self, id: &str, old: &Table, new: &Table) -> Vec<Judgement> {
        let subject = |aspect| Subject::Table(id.to_owned(), aspect);
        let mut found = Vec::new();
        if old.name != new.name {
            found.push(Judgement::impossible(
                &subject(TableAspect::Name),
                "its items would move to another table",
                "keep the name, or the variable that it is made of",
            ));
        }
        if (&old.partition, &old.sort) != (&new.partition, &new.sort) {
            found.push(Judgement::impossible(
                &subject(TableAspect::Keys),
                "a table keeps its keys",
                "name another table, with these keys",
            ));
        }
        if old.discriminator != new.discriminator {
            // The marks of the records are changes of their own.
            let says = "the marks of the records say";
            found.push(Judgement::free(&subject(TableAspect::Discriminator), says));
        }
        if old.ttl != new.ttl {
            let records = self.new.records.iter();
            let records = records.filter(|one| self.new[one.table].id == id);
            let expiring = records.filter(|one| one.expiry().is_some());
            let expiring: Vec<RecordName> = expiring.map(RecordName::of).collect();
            let says = "views and guards get the time at which their items expire";
            let judgement = Judgement::derived(&subject(TableAspect::Ttl), says);
            found.push(judgement.reads(expiring.clone()).writes(expiring));
        }
        if old.settings.stream != new.settings.stream {
            let says = "the store is told; no item changes";
            let judgement = Judgement::derived(&subject(TableAspect::Stream), says);
            found.push(judgement.with_work(Work::Table));
        }
        found
    }

    fn index(&self, subject: &Subject, name: &str, table: &Table, is_added: bool) -> Judgement {
        if is_added && self.old.tables.iter().all(|known| known.id != table.id) {
            return Judgement::free(subject, "the table is new, and empty");
        }
        let index = [Derived::Index(name.to_owned())];
        let judgement = if is_added {
            Judgement::derived(
                subject,
                "the store builds it from the items that have its keys",
            )
            .adds(index)
        } else {
            Judgement::derived(subject, "the store drops it").removes(index)
        };
        judgement.with_work(Work::Table)
    }

    fn index_key(
        &self,
        subject: &Subject,
        record: &RecordName,
        key: &str,
        comes: bool,
        goes: bool,
    ) -> Judgement {
        let derived = || Derived::IndexKey(record.clone(), key.to_owned());
        let says = if comes {
            "every item gets the key that its attributes make"
        } else {
            "the key is removed from every item"
        };
        Judgement::derived(subject, says)
            .reads([record.clone()])
            .writes([record.clone()])
            .adds(comes.then(derived))
            .removes(goes.then(derived))
    }

    fn primary_key(&self, subject: &Subject, record: &RecordName, key: &str) -> Judgement {
        let is_recomputed = record.is_view && !self.has_own_data(&record.name);
        if is_recomputed {
            let records = || [Derived::Records(record.name.clone())];
            return Judgement::derived(subject, "its records are put under their new keys")
                .reads(self.source_of(&record.name))
                .writes([record.clone()])
                .adds(records())
                .removes(records());
        }
        let missing = self.lacks_old_key(record, key);
        let says = "every item moves to its new key, with what belongs to it";
        let judgement = Judgement::stated(subject, Work::Move, says);
        Judgement {
            is_reversible: true,
            ..judgement
        }
        .reads([record.clone()])
        .writes([record.clone()])
        .lacks(missing)
    }

    /// What the new design does not say of the old key of its items.
    fn lacks_old_key(&self, record: &RecordName, key: &str) -> Option<Missing> {
        let (old, new) = (
            self.old.find_record(&record.name)?,
            self.new.find_record(&record.name)?,
        );
        let is_partition = self.old[old.table].partition == key;
        let is_stated = new.was.iter().any(|earlier| match is_partition {
            true => earlier.partition.as_ref() == Some(&old.key.partition),
            false => earlier.sort.as_ref() == Some(&old.key.sort),
        });
        if is_stated {
            return None;
        }
        let place = self.old.origin.place(&format!("{record}.{key}"))?;
        let contents = crate::document::contents(&self.old.origin.text);
        let template = contents.get(&place.path)?.as_str()?.to_owned();
        Some(Missing::OldKey {
            record: record.clone(),
            key: key.to_owned(),
            template,
        })
    }

    /// Counts, sums and views leave soft-deleted items out.
    fn soft_delete(&self, subject: &Subject, name: &str) -> Judgement {
        let entity_name = entity(name);
        let mut judgement = Judgement::derived(
            subject,
            "numbers and views are computed anew, because soft-deleted items are in none",
        )
        .reads([entity_name]);
        let records = || self.new.records.iter();
        for record in records() {
            for attribute in &record.attributes {
                let Source::Aggregate(Aggregate { of, .. }) = &attribute.source else {
                    continue;
                };
                if self.new.source(&self.new[*of]).name == name {
                    let number = Derived::Number(RecordName::of(record), attribute.name.clone());
                    judgement = judgement.writes([RecordName::of(record)]).adds([number]);
                }
            }
        }
        let source = self.new.find_entity(name);
        for (record, of) in source.iter().flat_map(|one| self.new.views_of(one.id)) {
            if !of.history {
                let records = Derived::Records(record.name.clone());
                judgement = judgement.writes([RecordName::of(record)]).adds([records]);
            }
        }
        judgement
    }

    fn guard(&self, subject: &Subject, comes: bool, goes: bool) -> Judgement {
        let Subject::Guard(name, guard) = subject else {
            return unknown(subject);
        };
        let derived = || Derived::Guards(name.clone(), guard.clone());
        let says = if comes {
            "every value is taken; values that two items have are listed"
        } else {
            "the guards are removed"
        };
        Judgement::derived(subject, says)
            .reads([entity(name)])
            .writes([entity(name)])
            .adds(comes.then(derived))
            .removes(goes.then(derived))
    }

    fn login(&self, subject: &Subject) -> Judgement {
        let accounts = self.new.accounts.as_ref();
        let users = accounts.map(|accounts| RecordName::of(accounts.users(self.new)));
        Judgement::narrowing(
            subject,
            "all stored logins must be trimmed and in lower case",
        )
        .reads(users)
    }

    fn shape(&self, subject: &Subject, old: &Shape, new: &Shape) -> Judgement {
        if is_wider_shape(old, new) {
            return Judgement::free(subject, "all stored maps of this shape fit");
        }
        let records = self.new.entities().filter(|one| {
            let mut attributes = one.attributes.iter();
            attributes.any(|attribute| has_shape(&attribute.kind, &new.name))
        });
        let records: Vec<RecordName> = records.map(RecordName::of).collect();
        let goes = |field: &crate::types::Field| new.field(&field.name).is_none();
        if !new.open && old.fields.iter().any(goes) {
            return Judgement::dropping(subject, "fields that it no longer names go")
                .reads(records.clone())
                .writes(records);
        }
        Judgement::narrowing(subject, "all stored maps of this shape must fit").reads(records)
    }
}

fn has_shape(kind: &AttributeType, name: &str) -> bool {
    match kind {
        AttributeType::Shape(shape) => {
            let mut fields = shape.fields.iter();
            shape.name == name || fields.any(|field| has_shape(&field.kind, name))
        }
        AttributeType::List { element, .. } => has_shape(element, name),
        _ => false,
    }
}
