//! What a primary key belongs to: a key read back to the record whose templates spell it.

use crate::design::record::UNIQUE_SORT;
use crate::design::{Design, IdentityPart, Record};

/// What a design keeps at a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Occupant<'d> {
    /// An item of an entity, or a record of a view.
    Record {
        /// The entity or view.
        record: &'d Record,
        /// The parts of its identity, in order.
        identity: Vec<String>,
    },
    /// The guard of a value that no two items share.
    Guard {
        /// The entity that the value belongs to.
        entity: &'d Record,
    },
}

impl Occupant<'_> {
    /// The name of the entity or view; of a guard, that of its entity.
    pub fn name(&self) -> &str {
        match self {
            Occupant::Record { record, .. } => &record.name,
            Occupant::Guard { entity } => &entity.name,
        }
    }
}

/// What the design keeps at this key of the table of this name; none if it speaks of nothing there.
///
/// Only the key is looked at. Where the templates of two records spell the same key, which a
/// discriminator would have to tell apart, the entity goes before the view.
pub fn occupant<'d>(
    design: &'d Design,
    table: &str,
    partition: &str,
    sort: &str,
) -> Option<Occupant<'d>> {
    let records = || {
        let records = design.records.iter();
        records.filter(|record| design[record.table].name == table)
    };
    if sort == UNIQUE_SORT {
        let is_guarded = |record: &&Record| {
            let mut guards = record.unique.iter();
            guards.any(|unique| unique.partition.read(partition).is_some())
        };
        if let Some(entity) = records().find(is_guarded) {
            return Some(Occupant::Guard { entity });
        }
    }
    records().find_map(|record| {
        let identity = read(record, (partition, sort))?;
        Some(Occupant::Record { record, identity })
    })
}

/// Whether this is a key of a record, or of a guard of one of its values. Only the key is looked at.
pub fn is_key_of(record: &Record, partition: &str, sort: &str) -> bool {
    let mut guards = record.unique.iter();
    let is_guard = sort == UNIQUE_SORT && guards.any(|one| one.partition.read(partition).is_some());
    is_guard || read(record, (partition, sort)).is_some()
}

/// The identity in a key; none if the templates do not spell it, or not with values of their types.
fn read(record: &Record, (partition, sort): (&str, &str)) -> Option<Vec<String>> {
    let mut parts = record.key.partition.read(partition)?;
    parts.extend(record.key.sort.read(sort)?);
    let fits = |(name, text): &(String, &str)| {
        let attribute = record.attribute(name);
        attribute.is_none_or(|one| one.kind.from_text(text).is_ok())
    };
    if !parts.iter().all(fits) {
        return None;
    }
    let part = |wanted: &IdentityPart| {
        let mut parts = parts.iter();
        let found = parts.find(|(name, _)| *name == wanted.attribute || *name == wanted.name);
        found.map(|(_, text)| (*text).to_owned())
    };
    record.identity.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;

    fn found(design: &str, partition: &str, sort: &str) -> String {
        let source = shipped::find(design).unwrap().source;
        let design = crate::check(source, &|_| None).0.unwrap();
        let table = design.tables[0].name.clone();
        match occupant(&design, &table, partition, sort) {
            Some(Occupant::Record { record, identity }) => {
                let kind = if record.is_entity() { "" } else { "view " };
                format!("{kind}{} {}", record.name, identity.join(" "))
            }
            Some(Occupant::Guard { entity }) => format!("guard {}", entity.name),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_key_tells_what_stands_there() {
        let id = "01JGFJJZ00000000000000DVNE";
        let check = |design, partition: &str, sort: &str, expected: &str| {
            assert_eq!(found(design, partition, sort), expected);
        };
        let story = format!("STORY#{id}");
        check("storyhub", &story, "METADATA", &format!("Story {id}"));
        let chapter = format!("CHAPTER#{id}");
        check(
            "storyhub",
            &story,
            &chapter,
            &format!("ChapterNode {id} {id}"),
        );
        check("storyhub", "USER#ann", "PROFILE#ann", "User ann");
        let reference = format!("view AuthorStoryRef ann {id}");
        check("storyhub", "USER#ann", &story, &reference);
        check("storyhub", "USER#ann", "SOMETHING", "nothing");
        check("storyhub", "STORY#none", "METADATA", "nothing");
        // Stored under another name than templates call it.
        let own = format!("USER#ann#STORY#{id}");
        check("stories", &own, "METADATA", &format!("Story ann {id}"));
        check(
            "stories",
            "USER#ann",
            &story,
            &format!("view StoryIndex ann {id}"),
        );
        check(
            "figureforge",
            "UNIQUE#EMAIL#a@b.org",
            "UNIQUE",
            "guard User",
        );
        let time = "2026-01-02T03:04:05.678Z";
        let comment = format!("{time}#{id}");
        let expected = format!("Comment letter-1 {time} {id}");
        check("holdthatthought", "COMMENT#letter-1", &comment, &expected);
        let reaction = format!("REACTION#{id}#bob");
        let expected = format!("Reaction letter-1 {id} bob");
        check("holdthatthought", "COMMENT#letter-1", &reaction, &expected);
    }
}
