//! Access patterns: full pages, sorted results.

mod listing;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use partita_core::{Item, Map, Value};
use partita_design::design::pattern::TEXTS;
use partita_design::design::{
    Access, KeyTemplates, KeyValue, LIMIT_MAX, ParameterKind, Pattern, QueryRead, Read, SortOrder,
    SortRange,
};
use partita_design::template::{Part, Template};
use partita_design::types::AttributeType;
use partita_store::request::{Page, Query, Scan};

use crate::access::{Asked as AskedFor, Verdict};
use crate::blueprint::Blueprint;
use crate::cursor::{Position, Question};
use crate::error::{Fault, PlanError};
use crate::input::key_part;
use crate::nested;
use crate::operation::{Answer, Caller, Record};
use crate::partita::{Partita, is_hidden};
use crate::place::{Address, Place};
use crate::reads::{Known, Listing};
use crate::ruling::{Decision, Row};
use crate::scene::{Context, Lead, Named, Scene, Trace};
use crate::shape::{SOURCE, Shape};

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
        let asked = self.ask(caller, name, parameters, limit)?;
        let pattern = asked.pattern;
        asked.demand()?;
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
                match pattern.whole {
                    Some(whole) if !pattern.sort.is_empty() => asked.sorted(whole, position).await,
                    _ => asked.page(position).await,
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
        let asked = self.ask(caller, name, parameters, limit)?;
        let mut rulings = Vec::new();
        asked.early(&mut |scene| rulings.push(scene.ruling(AskedFor::Access(Access::Read))));
        let mut verdicts = rulings.iter().map(|ruling| ruling.verdict);
        let is_allowed = rulings.is_empty() || verdicts.any(|one| one != Verdict::Denied);
        let rows = match &asked.pattern.read {
            Read::Get(templates) => asked.stored(templates).await?,
            Read::Query(_) | Read::Scan { .. } => asked.read(None, asked.limit).await?.items,
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
    ) -> Result<Asked<'a>, PlanError> {
        let pattern = self.blueprint.pattern(name)?;
        Ok(Asked {
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
        let mut is_open = false;
        self.early(
            &mut |scene| match scene.demand_early(AskedFor::Access(Access::Read)) {
                Ok(()) => is_open = true,
                Err(error) => {
                    refused.get_or_insert(error);
                }
            },
        );
        match refused {
            Some(error) if !is_open => Err(error),
            _ => Ok(()),
        }
    }

    /// Looks at each record that may come back, as far as the parameters tell it.
    fn early(&self, look: &mut dyn FnMut(&Scene<'_, '_>)) {
        let moment = self.partita.moment();
        let nothing = self.partita.reads(&moment);
        let context = self.partita.context(self.caller, &nothing, &moment);
        for name in &self.pattern.returns {
            let Some(shape) = self.blueprint().shape(name) else {
                continue;
            };
            let attributes = self.known_attributes(shape);
            let trace = Trace::default();
            look(&Scene {
                complete: false,
                ..scene(context, shape, &attributes, &trace)
            });
        }
    }

    /// The attributes of a record that the parameters fix.
    fn known_attributes(&self, shape: Shape<'_>) -> Map {
        let mut known = Map::new();
        let mut learn = |asked: &Template, record: Option<&Template>| {
            let parts = record.map_or(&[][..], |record| &record.parts);
            for parts in asked.parts.iter().zip(parts) {
                match parts {
                    (Part::Value(parameter), Part::Value(attribute)) => {
                        let value = parameter.name().and_then(|name| self.whole_value(&name));
                        if let (Some(name), Some(value)) = (attribute.name(), value) {
                            known.insert(name, value.clone());
                        }
                    }
                    (Part::Text(asked), Part::Text(record)) if asked == record => {}
                    // From here on the two are not alike.
                    _ => break,
                }
            }
        };
        match &self.pattern.read {
            Read::Get(asked) => {
                learn(&asked.partition, Some(&shape.key().partition));
                learn(&asked.sort, Some(&shape.key().sort));
            }
            Read::Query(QueryRead {
                index,
                partition,
                sort,
            }) => {
                let (own_partition, own_sort) = match index {
                    None => (Some(&shape.key().partition), Some(&shape.key().sort)),
                    Some(index) => {
                        let keys = shape.indexes().iter().find(|keys| keys.index == *index);
                        let partition = keys.map(|keys| &keys.partition);
                        let sort = keys.and_then(|keys| keys.sort.as_ref());
                        (only_template(partition), only_template(sort))
                    }
                };
                learn(&partition.value, own_partition);
                if let SortRange::BeginsWith(prefix) | SortRange::Equals(prefix) = sort {
                    learn(&prefix.value, own_sort);
                }
            }
            Read::Scan { .. } => {}
        }
        known
    }

    /// The value of a parameter that is not only the beginning of one.
    fn whole_value(&self, name: &str) -> Option<&Value> {
        let mut parameters = self.pattern.parameters.iter();
        let parameter = parameters.find(|parameter| parameter.name == name)?;
        match parameter.kind {
            ParameterKind::Value(_) => self.values.get(name),
            ParameterKind::PrefixOf(_) => None,
        }
    }

    async fn get(&self, templates: &KeyTemplates) -> Result<Answer, PlanError> {
        let rows = self.stored(templates).await?;
        self.only(&rows).await
    }

    /// The item under a key, if there is one.
    async fn stored(&self, templates: &KeyTemplates) -> Result<Vec<Item>, PlanError> {
        let partition = self.render(&templates.partition)?;
        let sort = self.render(&templates.sort)?;
        let table = self.blueprint().table_read(self.pattern).1.clone();
        let address = Address::new(Place {
            sort,
            partition,
            table,
        });
        let items = self.partita.runner.read_items(&[address]).await?;
        Ok(items.into_iter().flatten().collect())
    }

    /// The only row of a pattern of one.
    async fn one(&self) -> Result<Answer, PlanError> {
        let rows = self.read(None, LIMIT_MAX).await?.items;
        self.only(&rows).await
    }

    async fn only(&self, rows: &[Item]) -> Result<Answer, PlanError> {
        let record = self.visible(rows).await?.into_iter().flatten().next();
        record
            .map(Answer::Record)
            .ok_or_else(|| PlanError::NotFound {
                entity: match self.pattern.returns.first() {
                    Some(name) => name.as_str().to_owned(),
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
        let order = |one: &[Option<Value>], two: &[Option<Value>]| {
            let order = compare_ranks(one, two, &self.pattern.sort);
            match self.pattern.descending {
                true => order.reverse(),
                false => order,
            }
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
        if let Read::Scan { index } = &self.pattern.read {
            let request = Scan {
                index: index.clone(),
                limit: Some(limit),
                start_after,
                consistent: index.is_none(),
                ..Scan::new(self.blueprint().table_read(self.pattern).1.clone())
            };
            return self.partita.runner.scan(&request).await;
        }
        let listing = self.blueprint().listing(self.pattern, &self.values)?;
        let Some(Listing {
            table, index, keys, ..
        }) = listing
        else {
            return Ok(Page::default());
        };
        let request = Query {
            descending: self.pattern.descending && self.pattern.sort.is_empty(),
            limit: Some(limit),
            start_after,
            // A global index is never read consistently.
            consistent: index.is_none(),
            index,
            ..Query::new(table, keys)
        };
        self.partita.runner.query(&request).await
    }

    fn render(&self, template: &Template) -> Result<String, PlanError> {
        let text = template.key(&self.values)?;
        Ok(text.expect("every placeholder of a pattern is a parameter, and all were given"))
    }

    /// For each row, its record if the caller may see it. Whatever refs lead to is read for all
    /// rows at once.
    async fn visible(&self, rows: &[Item]) -> Result<Vec<Option<Record>>, PlanError> {
        self.each_row(rows, |context, shape, item, row| {
            self.seen(context, shape, item, row)
        })
        .await
    }

    /// For each row that is there for somebody, what the rules say of it.
    async fn rule_on(&self, rows: &[Item]) -> Result<Vec<Row>, PlanError> {
        let ruled = self.each_row(rows, |context, shape, item, row| {
            let mut rulings = Vec::new();
            let mut is_there = true;
            self.decisive(context, shape, item, row, &mut |scene, _| {
                is_there &= self.is_there(scene);
                rulings.push(scene.ruling(AskedFor::Access(Access::Read)));
                true
            })?;
            let is_there = is_there && !rulings.is_empty();
            Ok(is_there.then(|| Row::new(shape, item, rulings)))
        });
        Ok(ruled.await?.into_iter().flatten().collect())
    }

    /// Looks at every row that is a record of the pattern's and has not expired.
    async fn each_row<T>(
        &self,
        rows: &[Item],
        look: impl Fn(Context<'_>, Shape<'_>, &Map, &Item) -> Result<Option<T>, PlanError>,
    ) -> Result<Vec<Option<T>>, PlanError> {
        let recognised: Vec<Option<(Shape<'_>, Map)>> = rows
            .iter()
            .map(|row| self.blueprint().recognise(&self.pattern.returns, row))
            .collect();
        let moment = self.partita.moment();
        let mut reads = self.partita.reads(&moment);
        let (_, table) = self.blueprint().table_read(self.pattern);
        let looked = self.partita.runner.settle(&mut reads, |reads| {
            let context = self.partita.context(self.caller, reads, &moment);
            let rows = recognised.iter().zip(rows).map(|(found, row)| match found {
                Some(_) if !self.pattern.with_expired && reads.is_expired(table, row) => Ok(None),
                Some((shape, item)) => look(context, *shape, item, row),
                None => Ok(None),
            });
            rows.collect()
        });
        looked.await
    }

    /// A row as the caller sees it, if it passes the filter and the rules.
    fn seen(
        &self,
        context: Context<'_>,
        shape: Shape<'_>,
        item: &Map,
        stored: &Item,
    ) -> Result<Option<Record>, PlanError> {
        let mut seen = None;
        self.decisive(context, shape, item, stored, &mut |scene, is_last| {
            let shown = self.shown(scene);
            let is_shown = shown.is_some();
            seen = shown.filter(|_| is_last);
            is_shown
        })?;
        Ok(seen)
    }

    /// Looks at the items that decide on a row which passes the filter: itself, and what it is
    /// replaced by. `look` is told which is the last, the one that is shown, and says whether to go
    /// on.
    fn decisive(
        &self,
        context: Context<'_>,
        shape: Shape<'_>,
        item: &Map,
        stored: &Item,
        look: &mut dyn FnMut(&Scene<'_, '_>, bool) -> bool,
    ) -> Result<(), PlanError> {
        let trace = Trace::default();
        let row = scene(context, shape, item, &trace);
        if !passes(self.pattern, &self.values, &row, stored) {
            return Ok(());
        }
        let Some(reference) = &self.pattern.follow else {
            look(&row, true);
            return Ok(());
        };
        // A view's record says no more than its source, whose rules then decide; a link is an item
        // of its own.
        if matches!(shape, Shape::Entity(_)) && !look(&row, false) {
            return Ok(());
        }
        let lead = match shape.refs().iter().find(|one| one.name == *reference) {
            Some(reference) => row.lead(reference),
            None if reference == SOURCE => row.source(),
            None => Lead::Nowhere,
        };
        let Lead::To(targets) = lead else {
            return Ok(());
        };
        for target in targets {
            if let Known::Found(found) = context.item(&target.address) {
                let item = self.blueprint().attributes(target.shape, found)?;
                let trace = Trace::default();
                look(&scene(context, target.shape, &item, &trace), true);
                return Ok(());
            }
        }
        Ok(())
    }

    fn shown(&self, row: &Scene<'_, '_>) -> Option<Record> {
        let is_allowed = row.verdict(AskedFor::Access(Access::Read)) == Verdict::Allowed;
        (is_allowed && self.is_there(row)).then(|| Record {
            name: row.shape.name().to_owned(),
            attributes: row.shown(),
        })
    }

    /// Whether an item is neither deleted nor hidden.
    fn is_there(&self, row: &Scene<'_, '_>) -> bool {
        let is_deleted = !self.pattern.with_deleted && row.shape.is_deleted(row.item);
        !is_deleted && !is_hidden(row)
    }

    /// What a row is ordered by: the pattern's attributes, and the sort key where they are equal.
    fn rank(&self, row: &Item) -> Vec<Option<Value>> {
        let (table, _) = self.blueprint().table_read(self.pattern);
        let sort = self.pattern.sort.iter().map(|order| &order.attribute);
        let names = sort.chain([&table.sort]);
        names.map(|name| nested::get(row, name).cloned()).collect()
    }

    /// The key attributes of a row, those of the index that was read included.
    fn key_of(&self, row: &Item) -> Item {
        let (table, _) = self.blueprint().table_read(self.pattern);
        let mut names = vec![&table.partition, &table.sort];
        if let Read::Query(QueryRead {
            index: Some(index), ..
        }) = &self.pattern.read
            && let Some(index) = self.blueprint().index(index)
        {
            names.push(&index.partition.name);
            names.extend(index.sort.as_ref().map(|sort| &sort.name));
        }
        let keys = names.into_iter().filter_map(|name| {
            let value = row.get(name)?.clone();
            Some((name.clone(), value))
        });
        keys.collect()
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

/// Ranks are compared value by value; a missing one stands last, whichever way the others go.
fn compare_ranks(one: &[Option<Value>], two: &[Option<Value>], sort: &[SortOrder]) -> Ordering {
    let mut orders = one.iter().zip(two).enumerate().map(|(at, (one, two))| {
        let is_descending = sort.get(at).is_some_and(|order| order.descending);
        match (one, two) {
            (Some(one), Some(two)) if is_descending => compare_values(two, one),
            (Some(one), Some(two)) => compare_values(one, two),
            (one, two) => one.is_none().cmp(&two.is_none()),
        }
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

/// The template of a key that has no cases.
fn only_template(key: Option<&KeyValue>) -> Option<&Template> {
    match key? {
        KeyValue::Cases(cases) => match cases.as_slice() {
            [case] if case.when.is_none() => Some(&case.is),
            _ => None,
        },
        KeyValue::Native(_) => None,
    }
}

/// Whether a row passes the filter of a pattern. It can speak of keys, which stand only in the item
/// as it is stored, and compares with texts that the parameters stand in.
pub(crate) fn passes(pattern: &Pattern, values: &Map, row: &Scene<'_, '_>, stored: &Item) -> bool {
    let Some(filter) = &pattern.filter else {
        return true;
    };
    let texts = pattern.texts.iter();
    let texts = texts.map(|text| text.value(values).unwrap_or(Value::Null));
    let texts = Named::Value(Some(Value::L(texts.collect())));
    let blueprint = row.context.blueprint;
    let keys = stored
        .iter()
        .filter(|(name, _)| blueprint.is_reserved(row.shape, name));
    let keys = keys.map(|(name, value)| (name.clone(), Named::Value(Some(value.clone()))));
    let names: Vec<_> = std::iter::once((TEXTS.to_owned(), texts))
        .chain(keys)
        .collect();
    filter.holds(&Scene {
        names: &names,
        ..*row
    })
}

/// A row of a list, as rules and filters see it.
pub(crate) fn scene<'s, 'a>(
    context: Context<'a>,
    shape: Shape<'a>,
    item: &'s Map,
    trace: &'s Trace<'a>,
) -> Scene<'s, 'a> {
    Scene {
        context,
        shape,
        item,
        old: None,
        complete: true,
        names: &[],
        refs: &[],
        trace,
    }
}
