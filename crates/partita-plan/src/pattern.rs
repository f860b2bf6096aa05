//! Access patterns: full pages, sorted results.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use partita_core::expression::{KeyCondition, KeyRange};
use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_core::{Item, Map, Value};
use partita_design::design::{
    Access, Entity, KeyTemplates, LIMIT_MAX, Pattern, QueryRead, Read, RecordName, Ref, SortRange,
};
use partita_design::template::{Part, Template};
use partita_store::request::{ItemAddress, Page, Query};

use crate::access::{Subject, Verdict};
use crate::cursor::{Position, Question};
use crate::error::{Fault, PlanError};
use crate::input::key_part;
use crate::operation::{Answer, Caller, Record};
use crate::partita::Partita;
use crate::record::Blueprint;
use crate::view::is_deleted;

/// How many rows one page may look at before it is answered short. A caller who may see almost
/// nothing of a large partition gets many short pages, not one that never ends.
const ROWS_EXAMINED_MAX: usize = 1000;

/// Rows that are read at once when the first read did not fill the page.
const ROWS_READ_AGAIN: usize = 100;

/// One pattern, asked by one caller.
struct Asked<'a> {
    partita: &'a Partita,
    caller: &'a Caller,
    pattern: &'a Pattern,
    values: Map,
    limit: usize,
    question: Question<'a>,
}

impl Partita {
    pub(crate) async fn query(
        &self,
        caller: &Caller,
        name: &str,
        parameters: &BTreeMap<String, String>,
        limit: Option<usize>,
        cursor: Option<&str>,
    ) -> Result<Answer, PlanError> {
        let pattern = self.blueprint.design.pattern(name);
        let pattern = pattern.ok_or_else(|| PlanError::UnknownPattern {
            name: name.to_owned(),
        })?;
        let asked = Asked {
            partita: self,
            caller,
            pattern,
            values: typed(pattern, parameters, limit)?,
            limit: limit.unwrap_or(pattern.limit),
            question: Question {
                design: &self.blueprint.design.name,
                caller,
                pattern: &pattern.name,
                parameters,
            },
        };
        asked.demand()?;
        match &pattern.read {
            Read::Get(_) if cursor.is_some() => Err(PlanError::BadCursor),
            Read::Get(templates) => asked.get(templates).await,
            // Designs with a scan are not opened.
            Read::Query(_) | Read::Scan { .. } => {
                let position = asked.open(cursor)?;
                match pattern.whole {
                    Some(whole) if !pattern.sort.is_empty() => asked.sorted(whole, position).await,
                    _ => asked.page(position).await,
                }
            }
        }
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
        match key_part(name, parameter.kind.attribute_type(), text) {
            Ok(value) => {
                values.insert(name.clone(), value);
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
    match faults.is_empty() {
        true => Ok(values),
        false => Err(PlanError::Invalid { faults }),
    }
}

impl Asked<'_> {
    /// Refuses at once what the parameters alone show to be refused for every row.
    fn demand(&self) -> Result<(), PlanError> {
        let mut refused = None;
        for name in &self.pattern.returns {
            let Some((source, templates)) = self.blueprint().shape_of(name) else {
                continue;
            };
            let attributes = self.known_attributes(templates);
            let subject = Subject {
                caller: self.caller,
                attributes: &attributes,
                complete: false,
            };
            match subject.demand(source, Access::Read) {
                Ok(()) => return Ok(()),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// The attributes of a record that the parameters fix.
    fn known_attributes(&self, record: &KeyTemplates) -> Map {
        let mut pairs: Vec<(&Template, &Template)> = Vec::new();
        match &self.pattern.read {
            Read::Get(asked) => {
                pairs.push((&asked.partition, &record.partition));
                pairs.push((&asked.sort, &record.sort));
            }
            Read::Query(QueryRead {
                partition, sort, ..
            }) => {
                pairs.push((&partition.value, &record.partition));
                if let SortRange::BeginsWith(prefix) = sort {
                    pairs.push((&prefix.value, &record.sort));
                }
            }
            Read::Scan { .. } => {}
        }
        let parts = pairs
            .into_iter()
            .flat_map(|(asked, record)| asked.parts.iter().zip(&record.parts));
        parts
            .filter_map(|parts| match parts {
                (Part::Value(parameter), Part::Value(attribute)) => {
                    let value = self.values.get(&parameter.name()?)?;
                    Some((attribute.name()?, value.clone()))
                }
                _ => None,
            })
            .collect()
    }

    async fn get(&self, templates: &KeyTemplates) -> Result<Answer, PlanError> {
        let address = self.blueprint().address(templates, &self.values)?;
        let items = self.partita.runner.read_items(vec![address]).await?;
        let rows: Vec<Item> = items.into_iter().flatten().collect();
        let record = self.visible(&rows).await?.into_iter().flatten().next();
        record
            .map(Answer::Record)
            .ok_or_else(|| PlanError::NotFound {
                entity: match self.pattern.returns.first() {
                    Some(RecordName::Entity(name) | RecordName::View(name)) => name.clone(),
                    None => self.pattern.name.clone(),
                },
                deleted: false,
            })
    }

    /// One page in the order of the keys, filled past what the caller may not see.
    async fn page(&self, position: Option<Position>) -> Result<Answer, PlanError> {
        let mut behind = match position {
            None => None,
            Some(Position::Key(key)) => Some(key),
            Some(Position::Sorted(_)) => return Err(PlanError::BadCursor),
        };
        let mut records = Vec::new();
        let mut examined = 0;
        loop {
            // One row more than fits says whether there is another page. Where rows are hidden,
            // more are read at once, or a small page would take many reads.
            let wanted = self.limit - records.len() + 1;
            let wanted = if examined == 0 {
                wanted
            } else {
                wanted.max(ROWS_READ_AGAIN)
            };
            let page = self.read(behind.clone(), wanted).await?;
            let visible = self.visible(&page.items).await?;
            for (row, record) in page.items.iter().zip(visible) {
                if records.len() == self.limit || examined == ROWS_EXAMINED_MAX {
                    return Ok(self.answer(records, behind.map(Position::Key)));
                }
                behind = Some(self.key_of(row));
                records.extend(record);
                examined += 1;
            }
            match page.last_key {
                None => return Ok(self.answer(records, None)),
                last_key => behind = last_key,
            }
        }
    }

    /// One page of a result that is ordered after it was read as a whole.
    async fn sorted(&self, whole: usize, position: Option<Position>) -> Result<Answer, PlanError> {
        let after = match position {
            None => None,
            Some(Position::Sorted(values)) => Some(values),
            Some(Position::Key(_)) => return Err(PlanError::BadCursor),
        };
        let rows = self.read_whole(whole).await?;
        let visible = self.visible(&rows).await?;
        let mut ordered: Vec<(Vec<Option<Value>>, Record)> = rows
            .iter()
            .zip(visible)
            .filter_map(|(row, record)| record.map(|record| (self.rank(row), record)))
            .collect();
        let order = |one: &[Option<Value>], two: &[Option<Value>]| match self.pattern.descending {
            true => compare_ranks(two, one),
            false => compare_ranks(one, two),
        };
        ordered.sort_by(|(one, _), (two, _)| order(one, two));
        if let Some(after) = after {
            ordered.retain(|(rank, _)| order(rank, &after).is_gt());
        }
        let has_more = ordered.len() > self.limit;
        ordered.truncate(self.limit);
        let last = ordered.last().filter(|_| has_more);
        let position = last.map(|(rank, _)| Position::Sorted(rank.clone()));
        let records = ordered.into_iter().map(|(_, record)| record).collect();
        Ok(self.answer(records, position))
    }

    async fn read_whole(&self, whole: usize) -> Result<Vec<Item>, PlanError> {
        let mut rows = Vec::new();
        let mut start_after = None;
        loop {
            let page = self.read(start_after, whole - rows.len() + 1).await?;
            rows.extend(page.items);
            if rows.len() > whole {
                return Err(PlanError::TooLarge {
                    pattern: self.pattern.name.clone(),
                    whole,
                });
            }
            match page.last_key {
                None => return Ok(rows),
                last_key => start_after = last_key,
            }
        }
    }

    async fn read(&self, start_after: Option<Item>, limit: usize) -> Result<Page<Item>, PlanError> {
        let request = Query {
            descending: self.pattern.descending && self.pattern.sort.is_empty(),
            limit: Some(limit),
            start_after,
            ..Query::new(self.blueprint().table.clone(), self.key_condition()?)
        };
        self.partita.runner.query(&request).await
    }

    fn key_condition(&self) -> Result<KeyCondition, PlanError> {
        let Read::Query(QueryRead {
            partition, sort, ..
        }) = &self.pattern.read
        else {
            unreachable!("only queries are read page by page");
        };
        let table = &self.blueprint().design.table;
        let mut keys = KeyCondition::partition(&table.partition, self.render(&partition.value)?);
        if let SortRange::BeginsWith(prefix) = sort {
            let prefix = KeyRange::BeginsWith(self.render(&prefix.value)?.into());
            keys.range = Some((table.sort.clone(), prefix));
        }
        Ok(keys)
    }

    fn render(&self, template: &Template) -> Result<String, PlanError> {
        let text = template.key(&self.values)?;
        Ok(text.expect("every placeholder of a pattern is a parameter, and all were given"))
    }

    /// For each row, its record if the caller may see it.
    async fn visible(&self, rows: &[Item]) -> Result<Vec<Option<Record>>, PlanError> {
        let recognised: Vec<_> = rows
            .iter()
            .map(|row| self.blueprint().recognise(&self.pattern.returns, row))
            .map(|found| found.filter(|(name, record)| self.may_see(name, record)))
            .collect();
        let mut targets: HashMap<ItemAddress, Option<Item>> = HashMap::new();
        let mut needed = Vec::new();
        for (name, record) in recognised.iter().flatten() {
            let (refs, addresses) = self.live_targets(name, record)?;
            needed.push((refs, addresses.clone()));
            targets.extend(addresses.into_iter().map(|address| (address, None)));
        }
        self.load(&mut targets).await?;
        let mut needed = needed.into_iter();
        Ok(recognised
            .into_iter()
            .map(|found| {
                let (_, record) = found?;
                let (refs, addresses) = needed.next()?;
                let mut pairs = refs.into_iter().zip(addresses);
                let hidden = pairs.any(|(reference, address)| {
                    self.blueprint()
                        .hides(reference, targets[&address].as_ref())
                });
                (!hidden).then_some(record)
            })
            .collect())
    }

    /// Reads the targets of references, as few at a time as a batch allows.
    async fn load(
        &self,
        targets: &mut HashMap<ItemAddress, Option<Item>>,
    ) -> Result<(), PlanError> {
        let addresses: Vec<_> = targets.keys().cloned().collect();
        for chunk in addresses.chunks(BATCH_GET_KEYS_MAX) {
            let items = self.partita.runner.read_items(chunk.to_vec()).await?;
            targets.extend(chunk.iter().cloned().zip(items));
        }
        Ok(())
    }

    fn live_targets(
        &self,
        name: &RecordName,
        record: &Record,
    ) -> Result<(Vec<&Ref>, Vec<ItemAddress>), PlanError> {
        match name {
            RecordName::Entity(name) => {
                let entity = self.blueprint().entity(name)?;
                self.blueprint().live_targets(entity, &record.attributes)
            }
            RecordName::View(_) => Ok((Vec::new(), Vec::new())),
        }
    }

    fn may_see(&self, name: &RecordName, record: &Record) -> bool {
        let Some((source, _)) = self.blueprint().shape_of(name) else {
            return false;
        };
        let subject = Subject {
            caller: self.caller,
            attributes: &record.attributes,
            complete: true,
        };
        // A view's record exists or does not; an entity's is there, but hidden while deleted.
        let is_hidden =
            matches!(name, RecordName::Entity(_)) && is_deleted(source, &record.attributes);
        !is_hidden && subject.verdict(source, Access::Read) == Verdict::Allowed
    }

    /// What a row is ordered by: the pattern's attributes, and the sort key where they are equal.
    fn rank(&self, row: &Item) -> Vec<Option<Value>> {
        let table = &self.blueprint().design.table;
        let sort = self.pattern.sort.iter().map(|order| &order.attribute);
        let names = sort.chain([&table.sort]);
        names.map(|name| row.get(name).cloned()).collect()
    }

    fn key_of(&self, row: &Item) -> Item {
        let table = &self.blueprint().design.table;
        let names = [&table.partition, &table.sort];
        let keys = names.map(|name| Some((name.clone(), row.get(name)?.clone())));
        keys.into_iter().flatten().collect()
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

    fn blueprint(&self) -> &Blueprint {
        &self.partita.blueprint
    }
}

/// Ranks are compared value by value; a missing one stands last.
fn compare_ranks(one: &[Option<Value>], two: &[Option<Value>]) -> Ordering {
    let mut orders = one.iter().zip(two).map(|(one, two)| match (one, two) {
        (Some(one), Some(two)) => compare_values(one, two),
        (one, two) => one.is_none().cmp(&two.is_none()),
    });
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Values of one type by their order, others by their type.
fn compare_values(one: &Value, two: &Value) -> Ordering {
    match (one, two) {
        (Value::S(one), Value::S(two)) => one.cmp(two),
        (Value::N(one), Value::N(two)) => one.cmp(two),
        (Value::B(one), Value::B(two)) => one.cmp(two),
        (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
        _ => one.kind().cmp(&two.kind()),
    }
}

impl Blueprint {
    /// The live references of an item that lead somewhere, and where.
    pub(crate) fn live_targets<'d>(
        &'d self,
        entity: &'d Entity,
        attributes: &Map,
    ) -> Result<(Vec<&'d Ref>, Vec<ItemAddress>), PlanError> {
        let mut refs = Vec::new();
        let mut addresses = Vec::new();
        for reference in entity.refs.iter().filter(|reference| reference.live) {
            if let Some(address) = self.target_address(reference, attributes)? {
                refs.push(reference);
                addresses.push(address);
            }
        }
        Ok((refs, addresses))
    }
}
