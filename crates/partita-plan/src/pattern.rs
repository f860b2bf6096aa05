//! Access patterns, asked by callers.
//!
//! | module | what it adds |
//! |---|---|
//! | `pattern::early` | what the parameters alone decide |
//! | `pattern::page` | full pages, sorted results |
//! | `pattern::budget` | how much may be read to order a result, or to find one row |
//! | `pattern::row` | rows as callers see them |
//! | `pattern::fresh` | rows as they are now |
//! | `pattern::listing` | the query that a pattern is |
//! | `pattern::order` | the order that a caller asks for |
//! | `pattern::consistency` | the cheaper read that a caller asks for |
//! | `pattern::watched` | a pattern as a feed looks at it: its range, its rows, and what decides on them |

mod budget;
mod consistency;
mod early;
mod fresh;
mod listing;
mod order;
mod page;
mod row;
mod watched;

use std::collections::{BTreeMap, VecDeque};

use partita_core::{Item, Map};
use partita_design::design::{
    Access, KeyTemplates, LIMIT_MAX, ParameterKind, Pattern, Read, RecordId,
};
use partita_design::types::AttributeType;
use partita_store::request::{Page, Query, Scan};

use crate::blueprint::Blueprint;
use crate::commit::run::Runner;
use crate::cursor::{Position, Question};
use crate::error::{Fault, PlanError};
use crate::operation::{Answer, Caller, Record};
use crate::partita::Partita;
use crate::place::{Address, Place};
use crate::planner::Moment;
use crate::request::input::key_part;
use crate::request::rules::{Asked, Verdict};
use crate::ruling::{Decision, Ruling};
use budget::Budget;
pub use budget::ReadBound;
pub(crate) use budget::{READ_BYTES_MAX, rows_max, too_large};
pub(crate) use early::known_attributes;
use order::Ordered;
pub(crate) use row::passes;
pub(crate) use watched::{Seen, Sight, Watched};

/// One pattern, asked by one caller.
struct PatternRead<'a> {
    partita: &'a Partita,
    /// Reads the store, as it is now or was at one moment.
    runner: &'a Runner,
    /// The time that it is taken to be; that of the clock without.
    millis: Option<i64>,
    caller: &'a Caller,
    pattern: &'a Pattern,
    values: Map,
    limit: usize,
    /// Whether the rows are asked for in the other order than the pattern's.
    is_reversed: bool,
    /// Whether the last writes may be missed.
    is_eventual: bool,
    question: Question<'a>,
    /// The caller's own records that decide on every row, as they were read.
    own: OwnRecords,
    /// The records that are allowed in every row.
    allowed: Vec<RecordId>,
}

/// Items that were read, with where they are.
type OwnRecords = Vec<(Address, Option<Item>)>;

impl Partita {
    pub(crate) async fn query(
        &self,
        caller: &Caller,
        name: &str,
        parameters: &BTreeMap<String, String>,
        limit: Option<usize>,
        cursor: Option<&str>,
    ) -> Result<Answer, PlanError> {
        let pattern = self.blueprint.pattern(name)?;
        let mut parameters = parameters.clone();
        let is_eventual = consistency::take(&self.blueprint.design, pattern, &mut parameters)?;
        let ordered = Ordered::of(pattern, &parameters)?;
        let mut asked = self.ask(caller, name, &ordered.parameters, limit)?;
        asked.is_reversed = ordered.is_reversed;
        asked.is_eventual = is_eventual;
        asked.question.parameters = &ordered.bound;
        let pattern = asked.pattern;
        asked.demand().await?;
        match &pattern.read {
            Read::Get(_) if cursor.is_some() => Err(PlanError::BadCursor),
            Read::Get(templates) => asked.get(templates).await,
            Read::Query(_) | Read::Scan { .. } => {
                if pattern.one {
                    return match cursor {
                        None => asked.one().await,
                        Some(_) => Err(PlanError::BadCursor),
                    };
                }
                let position = asked.open(cursor)?;
                if pattern.sort.is_empty() {
                    asked.page(position).await
                } else {
                    asked.sorted(position).await
                }
            }
        }
    }

    /// What the rules say of a pattern and of the rows on its first page.
    pub(crate) async fn rule_on_rows(
        &self,
        caller: &Caller,
        name: &str,
        parameters: &BTreeMap<String, String>,
        limit: Option<usize>,
    ) -> Result<Decision, PlanError> {
        let mut asked = self.ask(caller, name, parameters, limit)?;
        let read = Asked::Access(Access::Read);
        let pattern = asked.pattern;
        let rulings = asked.early(|scope| {
            let found = scope.ruling_of_pattern(pattern);
            (scope.ruling(read), found)
        });
        let rulings = rulings.await?;
        let is_open = |ruling: &Ruling| ruling.verdict != Verdict::Denied;
        let mut open = rulings
            .iter()
            .map(|(read, found)| is_open(read) && found.as_ref().is_none_or(is_open));
        let is_allowed = rulings.is_empty() || open.any(|is_open| is_open);
        let rulings = rulings.into_iter();
        let rulings = rulings.flat_map(|(read, found)| std::iter::once(read).chain(found));
        let rulings = rulings.collect();
        let rows = match &asked.pattern.read {
            Read::Get(templates) => asked.stored(templates).await?,
            Read::Query(_) | Read::Scan { .. } => {
                let page = asked.read(None, asked.limit).await?;
                let rows = page.into_parts()?.items;
                if asked.pattern.fresh {
                    asked.current(&rows).await?.into_iter().flatten().collect()
                } else {
                    rows
                }
            }
        };
        Ok(Decision {
            is_allowed,
            rulings,
            rows: asked.rule_on(&rows).await?,
        })
    }

    fn ask<'a>(
        &'a self,
        caller: &'a Caller,
        name: &str,
        parameters: &'a BTreeMap<String, String>,
        limit: Option<usize>,
    ) -> Result<PatternRead<'a>, PlanError> {
        let pattern = self.blueprint.pattern(name)?;
        Ok(PatternRead {
            partita: self,
            runner: &self.runner,
            millis: None,
            caller,
            pattern,
            values: typed(pattern, parameters, limit)?,
            limit: limit.unwrap_or(pattern.limit),
            is_reversed: false,
            is_eventual: false,
            question: Question {
                design: &self.served_text,
                caller,
                pattern: &pattern.name,
                parameters,
            },
            own: Vec::new(),
            allowed: Vec::new(),
        })
    }
}

/// The parameters' values; everything that is wrong with them at once.
fn typed(
    pattern: &Pattern,
    parameters: &BTreeMap<String, String>,
    limit: Option<usize>,
) -> Result<Map, PlanError> {
    let mut faults = Vec::new();
    let mut values = Map::new();
    for parameter in &pattern.parameters {
        let name = &parameter.name;
        let Some(text) = parameters.get(name) else {
            faults.push(Fault::new(name, "is required"));
            continue;
        };
        let value = match &parameter.kind {
            ParameterKind::Value(kind) => key_part(name, kind, text),
            ParameterKind::PrefixOf(_) => key_part(name, &AttributeType::string(), text),
        };
        match value {
            Ok(value) => {
                values.insert(name.as_str(), value);
            }
            Err(fault) => faults.push(fault),
        }
    }
    for name in parameters.keys() {
        if !pattern
            .parameters
            .iter()
            .any(|parameter| parameter.name == *name)
        {
            let message = format!("is not a parameter of `{}`", pattern.name);
            faults.push(Fault::new(name, message));
        }
    }
    if limit.is_some_and(|limit| !(1..=LIMIT_MAX).contains(&limit)) {
        faults.push(Fault::new(
            "limit",
            format!("must be from 1 to {LIMIT_MAX}"),
        ));
    }
    if faults.is_empty() {
        Ok(values)
    } else {
        Err(PlanError::Invalid { faults })
    }
}

impl PatternRead<'_> {
    async fn get(&self, templates: &KeyTemplates) -> Result<Answer, PlanError> {
        let rows = self.stored(templates).await?;
        let record = self.first_visible(&rows).await?;
        record.map(Answer::Record).ok_or_else(|| self.not_found())
    }

    /// The item under a key, if there is one.
    async fn stored(&self, templates: &KeyTemplates) -> Result<Vec<Item>, PlanError> {
        // A function has no value where its parameter has not the form that it needs.
        let Some((partition, sort)) = templates.render(&self.values)? else {
            return Ok(Vec::new());
        };
        if self.is_eventual {
            return self.stored_lately(partition, sort).await;
        }
        let (_, table) = self.blueprint().table(self.pattern.table);
        let address = Place::address(table, partition, sort);
        let items = self.runner.read_items(&[address]).await?;
        Ok(items.into_iter().flatten().collect())
    }

    /// The only row of a pattern of one, wherever it is among those that the keys find.
    async fn one(&self) -> Result<Answer, PlanError> {
        let mut budget = Budget::new(self.pattern);
        let mut start_after = None;
        loop {
            let page = self.read(start_after, budget.rows_wanted()).await?;
            let mut found = VecDeque::from(page.items);
            while let Some(rows) = self.look(&mut found).await? {
                for seen in rows {
                    budget.spend(&seen.row)?;
                    if let Some(record) = seen.record {
                        return Ok(Answer::Record(record));
                    }
                }
            }
            match page.last_key {
                None => return Err(self.not_found()),
                last_key => start_after = last_key,
            }
        }
    }

    async fn first_visible(&self, rows: &[Item]) -> Result<Option<Record>, PlanError> {
        Ok(self.visible(rows).await?.into_iter().flatten().next())
    }

    fn not_found(&self) -> PlanError {
        PlanError::NotFound {
            entity: match self.pattern.returns.first() {
                Some(record) => self.blueprint().design[*record].name.clone(),
                None => self.pattern.name.clone(),
            },
            deleted: false,
        }
    }

    async fn read(&self, start_after: Option<Item>, limit: usize) -> Result<Page, PlanError> {
        if let Read::Scan { index } = &self.pattern.read {
            let request = Scan {
                index: self.index_name(),
                limit: Some(limit),
                start_after,
                consistent: index.is_none() && !self.is_eventual,
                ..Scan::new(self.blueprint().table(self.pattern.table).1.clone())
            };
            return self.runner.scan_found(&request).await;
        }
        let listing = self.blueprint().listing(self.pattern, &self.values)?;
        let Some(listing) = listing else {
            return Ok(Page::default());
        };
        let is_descending = self.pattern.descending && self.pattern.sort.is_empty();
        let is_descending = is_descending != self.is_reversed;
        let listed = listing.query(is_descending);
        let request = Query {
            limit: Some(limit),
            start_after,
            consistent: listed.consistent && !self.is_eventual,
            ..listed
        };
        let page = self.runner.query_found(&request).await;
        page.map_err(|refusal| match refusal {
            PlanError::Hot(mut hot) => {
                hot.pattern = Some(self.pattern.name.clone());
                PlanError::Hot(hot)
            }
            refusal => refusal,
        })
    }

    fn open(&self, cursor: Option<&str>) -> Result<Option<Position>, PlanError> {
        let Some(cursor) = cursor else {
            return Ok(None);
        };
        let opened = self
            .partita
            .seal
            .open(&self.question, cursor, &*self.partita.clock);
        opened.map(Some).ok_or(PlanError::BadCursor)
    }

    fn answer(&self, records: Vec<Record>, position: Option<Position>) -> Answer {
        let Partita {
            seal,
            clock,
            runner,
            ..
        } = self.partita;
        let cursor = position
            .map(|position| seal.seal(&self.question, position, &**clock, &*runner.entropy));
        Answer::Page { records, cursor }
    }

    /// The name of the index that is read.
    fn index_name(&self) -> Option<String> {
        let indexes = &self.blueprint().design[self.pattern.table].indexes;
        let index = self.pattern.read.index()?;
        Some(indexes[index.index()].name.clone())
    }

    fn moment(&self) -> Moment {
        match self.millis {
            Some(millis) => self.partita.moment_at(millis),
            None => self.partita.moment(),
        }
    }

    fn blueprint(&self) -> &Blueprint {
        &self.partita.blueprint
    }
}
