//! Where too much is asked at once: which key it is, the design's line for it, and what was counted
//! there.
//!
//! A partition key of DynamoDB takes so many units a second, and an item one transaction at a time.
//! A request that keeps meeting others there is refused with the key as the design spells it, never
//! with its value: that may be of an item that the caller does not see.
//!
//! Requests are counted by the texts that keys begin with. A design has a few of these, whatever
//! callers send.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use partita_design::Design;
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{KeyValue, Record};
use partita_design::template::{Part, Template};
use partita_store::exposition::Exposition;
use partita_store::table::TableName;

/// Where too much is asked at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotSpot {
    /// What is too much there.
    pub cause: HotCause,
    /// The entity or view.
    pub record: String,
    /// Its partition key as the design spells it: `STORY#{storyId}`.
    pub key: String,
    /// Where the design declares it: `entity.Story.PK`.
    pub declared: String,
    /// The line of that, from 1.
    pub line: Option<usize>,
    /// The index, where the key is that of an index.
    pub index: Option<String>,
    /// The pattern that reads there, where one was asked.
    pub pattern: Option<String>,
}

/// What is too much for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HotCause {
    /// Others write to the same item at the same time.
    Conflict,
    /// More is written than a partition takes.
    Writes,
    /// More is read than a partition gives.
    Reads,
}

impl HotCause {
    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            HotCause::Conflict => "conflict",
            HotCause::Writes => "writes",
            HotCause::Reads => "reads",
        }
    }
}

impl fmt::Display for HotSpot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HotSpot { record, key, .. } = self;
        match self.cause {
            HotCause::Conflict => write!(f, "others keep writing to one `{record}`, `{key}`")?,
            HotCause::Writes => write!(f, "more `{record}` are written than one `{key}` takes")?,
            HotCause::Reads => write!(f, "more `{record}` are read than one `{key}` gives")?,
        }
        if let Some(index) = &self.index {
            write!(f, " of `{index}`")?;
        }
        write!(f, " (`{}`", self.declared)?;
        if let Some(line) = self.line {
            write!(f, ", line {line} of the design")?;
        }
        f.write_str("); try again in a moment")
    }
}

/// What happened at a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happened {
    Written,
    Read,
    Conflict,
    Throttled,
}

const OUTCOMES: [&str; 4] = ["written", "read", "conflict", "throttled"];

/// The keys of a design, and what was counted at those that begin alike.
pub(crate) struct Spots {
    spots: Vec<Spot>,
    counters: Vec<Counter>,
}

/// One partition key of a record.
struct Spot {
    table: TableName,
    index: Option<String>,
    record: String,
    /// None where the key is an attribute of its own.
    partition: Option<Template>,
    /// None where any sort key will do.
    sort: Option<Template>,
    key: String,
    declared: String,
    line: Option<usize>,
}

/// What was counted at the keys that begin alike.
struct Counter {
    table: TableName,
    index: Option<String>,
    prefix: String,
    counts: [AtomicU64; OUTCOMES.len()],
}

impl Spots {
    /// The keys of a design whose tables have these names.
    pub(crate) fn of(design: &Design, tables: &[TableName]) -> Arc<Spots> {
        let mut spots = Vec::new();
        for record in &design.records {
            spots.extend(spots_of(design, record, &tables[record.table.index()]));
        }
        let mut counters: Vec<Counter> = Vec::new();
        for spot in &spots {
            let prefix = spot.partition.as_ref().map(prefix).unwrap_or_default();
            let is_known = |one: &Counter| {
                one.table == spot.table && one.index == spot.index && one.prefix == prefix
            };
            if !counters.iter().any(is_known) {
                counters.push(Counter {
                    table: spot.table.clone(),
                    index: spot.index.clone(),
                    prefix,
                    counts: [const { AtomicU64::new(0) }; OUTCOMES.len()],
                });
            }
        }
        // The longest that fits is the one that is meant.
        counters.sort_by_key(|one| std::cmp::Reverse(one.prefix.len()));
        Arc::new(Spots { spots, counters })
    }

    /// Counts something that happened at a key. What is not the design's is not counted.
    pub(crate) fn count(
        &self,
        table: &TableName,
        index: Option<&str>,
        partition: &str,
        happened: Happened,
    ) {
        let is_meant = |one: &&Counter| {
            one.index.as_deref() == index
                && one.table == *table
                && partition.starts_with(&one.prefix)
        };
        if let Some(counter) = self.counters.iter().find(is_meant) {
            counter.counts[happened as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The spot of an item; where it is an index of it that has no capacity left, that.
    pub(crate) fn of_item(
        &self,
        table: &TableName,
        (partition, sort): (&str, &str),
        index: Option<IndexMeant<'_>>,
        cause: HotCause,
    ) -> Option<Box<HotSpot>> {
        let own = self.spots.iter().find(|spot| {
            let has_partition = spot.spells(partition);
            let sort_fits = |one: &Template| one.read(sort).is_some();
            let is_own = spot.index.is_none() && spot.table == *table;
            is_own && has_partition && spot.sort.as_ref().is_none_or(sort_fits)
        })?;
        let in_index = index.and_then(|index| {
            let mut spots = self.spots.iter();
            spots.find(|spot| spot.record == own.record && index.is(spot.index.as_deref()))
        });
        Some(in_index.unwrap_or(own).hot(cause))
    }

    /// The spot of a partition that is read.
    pub(crate) fn of_partition(
        &self,
        table: &TableName,
        index: Option<&str>,
        partition: &str,
    ) -> Option<Box<HotSpot>> {
        let found = self.spots.iter().find(|spot| {
            spot.table == *table && spot.index.as_deref() == index && spot.spells(partition)
        });
        found.map(|spot| spot.hot(HotCause::Reads))
    }

    /// Writes what was counted, of keys where something happened.
    pub(crate) fn expose<'s>(
        all: impl IntoIterator<Item = (&'s str, &'s Spots)>,
        text: &mut Exposition,
    ) {
        let name = "partita_keys_total";
        text.family(
            name,
            "counter",
            "Requests by the text that their partition key begins with: items written and read, conflicts, throttled requests.",
        );
        let mut sums: BTreeMap<[&str; 4], [u64; OUTCOMES.len()]> = BTreeMap::new();
        for (design, spots) in all {
            for one in &spots.counters {
                let index = one.index.as_deref().unwrap_or_default();
                let sum = sums.entry([design, one.table.as_str(), index, &one.prefix]);
                let sum = sum.or_default();
                for (sum, count) in sum.iter_mut().zip(&one.counts) {
                    *sum += count.load(Ordering::Relaxed);
                }
            }
        }
        for ([design, table, index, prefix], counts) in sums {
            // The author of a design may have written anything into a key.
            let prefix = prefix.replace('\\', "\\\\").replace('"', "\\\"");
            let prefix = prefix.replace('\n', "\\n");
            for (outcome, count) in OUTCOMES.into_iter().zip(counts) {
                if count > 0 {
                    let labels = [
                        ("design", design),
                        ("table", table),
                        ("index", index),
                        ("prefix", &prefix),
                        ("outcome", outcome),
                    ];
                    text.sample(name, &labels, count);
                }
            }
        }
    }
}

/// Which index has no capacity left.
#[derive(Clone, Copy)]
pub(crate) enum IndexMeant<'a> {
    Named(&'a str),
    /// The store does not say which.
    Some,
}

impl IndexMeant<'_> {
    fn is(self, index: Option<&str>) -> bool {
        match (self, index) {
            (IndexMeant::Named(name), Some(index)) => name == index,
            (IndexMeant::Some, index) => index.is_some(),
            (IndexMeant::Named(_), None) => false,
        }
    }
}

impl Spot {
    fn spells(&self, partition: &str) -> bool {
        let template = self.partition.as_ref();
        template.is_none_or(|template| template.read(partition).is_some())
    }

    fn hot(&self, cause: HotCause) -> Box<HotSpot> {
        Box::new(HotSpot {
            cause,
            record: self.record.clone(),
            key: self.key.clone(),
            declared: self.declared.clone(),
            line: self.line,
            index: self.index.clone(),
            pattern: None,
        })
    }
}

/// The partition keys of a record: its own, those of its guards, and those in indexes.
fn spots_of(design: &Design, record: &Record, table: &TableName) -> Vec<Spot> {
    let kind = if record.is_entity() { "entity" } else { "view" };
    let names = &design[record.table];
    let spot = |index: Option<&str>, partition: Option<&Template>, key: &str| {
        let declared = format!("{kind}.{}.{key}", record.name);
        Spot {
            table: table.clone(),
            index: index.map(str::to_owned),
            record: record.name.clone(),
            partition: partition.cloned(),
            sort: None,
            key: partition.map_or_else(|| format!("{{{key}}}"), Template::to_string),
            line: design.origin.line(&declared),
            declared,
        }
    };
    let mut spots = Vec::new();
    for guard in &record.unique {
        let key = format!("unique.{}", guard.name);
        spots.push(Spot {
            sort: Some(Template {
                parts: vec![Part::Text(UNIQUE_SORT.to_owned())],
            }),
            ..spot(None, Some(&guard.partition), &key)
        });
    }
    spots.push(Spot {
        sort: Some(record.key.sort.clone()),
        ..spot(None, Some(&record.key.partition), &names.partition)
    });
    for keys in &record.indexes {
        let index = &names.indexes[keys.index.index()];
        let name = Some(index.name.as_str());
        let key = &index.partition.name;
        match &keys.partition {
            KeyValue::Native(_) => spots.push(spot(name, None, key)),
            KeyValue::Cases(cases) => {
                spots.extend(cases.iter().map(|case| spot(name, Some(&case.is), key)));
            }
        }
    }
    spots
}

/// The text that all keys of a template begin with.
fn prefix(template: &Template) -> String {
    match template.parts.first() {
        Some(Part::Text(text)) => text.clone(),
        Some(Part::Value(_)) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_design::shipped;

    fn spots() -> (TableName, Arc<Spots>) {
        let source = shipped::find("storyhub").unwrap().source;
        let design = partita_design::check(source, &|_| None).0.unwrap();
        let table: TableName = design.tables[0].name.parse().unwrap();
        let spots = Spots::of(&design, std::slice::from_ref(&table));
        (table, spots)
    }

    #[test]
    fn a_key_leads_to_the_line_that_declares_it() {
        let (table, spots) = spots();
        let key = ("STORY#01JGFJJZ00000000000000DVNE", "METADATA");
        let hot = spots
            .of_item(&table, key, None, HotCause::Conflict)
            .unwrap();
        let source = shipped::find("storyhub").unwrap().source;
        let declared = source
            .lines()
            .position(|line| line.contains("= \"STORY#{storyId}\""));
        assert_eq!(hot.line, declared.map(|at| at + 1));
        assert_eq!(
            hot.to_string(),
            format!(
                "others keep writing to one `Story`, `STORY#{{storyId}}` (`entity.Story.PK`, line {} of the design); try again in a moment",
                hot.line.unwrap()
            )
        );
        let index = Some(IndexMeant::Named("GSI1"));
        let hot = spots.of_item(&table, key, index, HotCause::Writes).unwrap();
        assert_eq!(
            (hot.key.as_str(), hot.index.as_deref()),
            ("STORY_LIST", Some("GSI1"))
        );
        let hot = spots.of_item(&table, key, Some(IndexMeant::Some), HotCause::Writes);
        assert_eq!(hot.unwrap().declared, "entity.Story.GSI1PK");
        let hot = spots
            .of_partition(&table, Some("GSI1"), "USER#ann")
            .unwrap();
        assert_eq!(hot.key, "USER#{authorId}");
        assert!(
            spots
                .of_item(&table, ("JOB#1", "x"), None, HotCause::Reads)
                .is_none()
        );
    }

    #[test]
    fn requests_are_counted_by_the_beginning_of_their_key() {
        let (table, spots) = spots();
        for user in ["ann", "bob", "cem"] {
            let key = format!("USER#{user}");
            spots.count(&table, None, &key, Happened::Written);
        }
        spots.count(&table, Some("GSI1"), "STORY_LIST", Happened::Throttled);
        spots.count(&table, None, "nothing of this design", Happened::Read);
        let mut text = Exposition::default();
        Spots::expose([("storyhub", &*spots)], &mut text);
        let text = text.into_text();
        let table = table.as_str();
        let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let expected = [
            format!(
                r#"partita_keys_total{{design="storyhub",table="{table}",index="",prefix="USER#",outcome="written"}} 3"#
            ),
            format!(
                r#"partita_keys_total{{design="storyhub",table="{table}",index="GSI1",prefix="STORY_LIST",outcome="throttled"}} 1"#
            ),
        ];
        assert_eq!(samples, expected);
    }
}
