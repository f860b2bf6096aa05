//! A design as it is stored in the sidecar: an item for each that was live, the last one is.

use std::collections::BTreeMap;

use partita_core::expression::KeyCondition;
use partita_core::size::item_bytes;
use partita_core::{Item, Map, Value};
use partita_design::fingerprint::{self, Prints};
use partita_design::{Design, Diagnostic, time};
use partita_store::StoreError;
use partita_store::request::{PutItem, Query};
use partita_store::table::TableName;

use super::VERSION;
use crate::commit::run::Runner;
use crate::error::PlanError;
use crate::sidecar;

/// The partition of designs.
pub(crate) const DESIGNS: &str = "DESIGN";

/// A design that is or was live.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Which one, from 1.
    pub number: u64,
    /// The name of the design.
    pub design: String,
    /// When it was adopted, as a timestamp.
    pub adopted: String,
    /// The version of Partita that adopted it.
    pub by: String,
    /// The file.
    pub text: String,
    /// The variables that it was compiled with.
    pub variables: BTreeMap<String, String>,
    /// The version of the forms that the prints are of.
    pub(super) forms: u32,
    /// The print of each declaration that stored data follow.
    pub(super) prints: Prints,
}

impl Recorded {
    /// A design that this version adopts.
    pub(crate) fn new(design: &Design, number: u64, now_millis: i64) -> Self {
        Recorded {
            number,
            design: design.name.clone(),
            adopted: time::format_millis(now_millis),
            by: VERSION.to_owned(),
            text: design.origin.text.clone(),
            variables: design.origin.variables.clone(),
            forms: fingerprint::VERSION,
            prints: fingerprint::prints(design),
        }
    }

    /// Records it, unless there is one of its number.
    pub(crate) fn put(&self, sidecar: &TableName) -> PutItem {
        PutItem {
            condition: Some(sidecar::is_missing()),
            ..PutItem::new(sidecar.clone(), self.to_item())
        }
    }

    /// The size of the item that it is stored in.
    pub(super) fn bytes(&self) -> usize {
        item_bytes(&self.to_item())
    }

    /// Whether it was recorded of the same text and variables.
    pub(crate) fn is_of(&self, design: &Design) -> bool {
        self.text == design.origin.text && self.variables == design.origin.variables
    }

    /// Whether stored data that follow it follow a design with these prints.
    pub(super) fn has_prints(&self, prints: &Prints) -> bool {
        self.forms == fingerprint::VERSION && self.prints == *prints
    }

    /// Whether stored data that follow it follow the other one, too.
    pub(crate) fn is_like(&self, other: &Recorded) -> bool {
        let is_same = self.text == other.text && self.variables == other.variables;
        is_same || (self.forms == other.forms && self.prints == other.prints)
    }

    /// The design, compiled by this version with some values of variables, or else the recorded
    /// ones.
    pub(super) fn compile(
        &self,
        variables: &BTreeMap<String, String>,
    ) -> (Option<Design>, Vec<Diagnostic>) {
        partita_design::check(&self.text, &|name| {
            let given = variables.get(name).or_else(|| self.variables.get(name));
            given.cloned()
        })
    }

    fn to_item(&self) -> Item {
        let variables = self.variables.iter();
        let variables: Map = variables
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        let prints = self.prints.iter();
        let prints: String = prints
            .map(|(name, print)| format!("{print} {name}\n"))
            .collect();
        let mut item = sidecar::key(DESIGNS, &sort_key(self.number));
        item.insert("design", self.design.as_str().into());
        item.insert("adopted", self.adopted.as_str().into());
        item.insert("by", self.by.as_str().into());
        item.insert("text", self.text.as_str().into());
        item.insert("variables", Value::M(variables));
        item.insert("forms", Value::N(i64::from(self.forms).into()));
        item.insert("prints", prints.into());
        item
    }

    pub(crate) fn from_item(item: &Item) -> Option<Recorded> {
        let text = |name: &str| item.get(name).and_then(Value::as_str);
        let forms = match item.get("forms")? {
            Value::N(number) => u32::try_from(number.to_i64()?).ok()?,
            _ => return None,
        };
        let variables = match item.get("variables")? {
            Value::M(map) => map.iter().map(|(name, value)| {
                let value = value.as_str()?;
                Some((name.to_string(), value.to_owned()))
            }),
            _ => return None,
        };
        let prints = text("prints")?.lines().map(|line| {
            let (print, name) = line.split_once(' ')?;
            Some((name.to_owned(), print.to_owned()))
        });
        Some(Recorded {
            number: text(sidecar::SORT)?.parse().ok()?,
            design: text("design")?.to_owned(),
            adopted: text("adopted")?.to_owned(),
            by: text("by")?.to_owned(),
            text: text("text")?.to_owned(),
            variables: variables.collect::<Option<_>>()?,
            forms,
            prints: prints.collect::<Option<_>>()?,
        })
    }
}

/// The designs that were live, in their order; the last one is.
pub(super) async fn read(sidecar: &TableName, runner: &Runner) -> Result<Vec<Recorded>, PlanError> {
    let keys = KeyCondition::partition(sidecar::PARTITION, DESIGNS);
    let mut query = Query::new(sidecar.clone(), keys);
    query.consistent = true;
    let mut records = Vec::new();
    loop {
        let page = match runner.query(&query).await {
            Err(PlanError::Store(StoreError::TableNotFound { .. })) => return Ok(records),
            page => page?,
        };
        for item in &page.items {
            records.push(parsed(item, sidecar)?);
        }
        match page.last_key {
            None => return Ok(records),
            last => query.start_after = last,
        }
    }
}

/// The live design, if its number is greater than this. It costs little where there is none.
pub(super) async fn read_after(
    number: u64,
    sidecar: &TableName,
    runner: &Runner,
) -> Result<Option<Recorded>, PlanError> {
    let mut live = None;
    for number in number + 1.. {
        let address = sidecar::address(sidecar, DESIGNS, &sort_key(number));
        let found = runner.read_items(&[address]).await?;
        match found.into_iter().next().flatten() {
            Some(item) => live = Some(parsed(&item, sidecar)?),
            None => break,
        }
    }
    Ok(live)
}

fn parsed(item: &Item, sidecar: &TableName) -> Result<Recorded, PlanError> {
    Recorded::from_item(item).ok_or_else(|| {
        let message = format!("a design that is recorded in `{sidecar}` cannot be read");
        PlanError::Store(StoreError::Corrupt { message })
    })
}

fn sort_key(number: u64) -> String {
    format!("{number:010}")
}

/// Whether a design was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It was.
    Done,
    /// Another one has its number.
    Taken,
    /// The store does not say.
    Unsure,
}

/// Records a design, unless there is one of its number.
pub(super) async fn write(
    recorded: &Recorded,
    sidecar: &TableName,
    runner: &Runner,
) -> Result<Written, PlanError> {
    match runner.put(&recorded.put(sidecar)).await {
        Ok(()) => Ok(Written::Done),
        Err(PlanError::Store(StoreError::ConditionFailed { .. })) => Ok(Written::Taken),
        Err(PlanError::OutcomeUnknown | PlanError::Conflict) => Ok(Written::Unsure),
        Err(error) => Err(error),
    }
}
