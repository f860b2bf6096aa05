//! Items as they are stored, for whoever looks after them: past the rules, what is deleted or has
//! expired as well, and never a secret.

use std::collections::BTreeMap;

use partita_core::size::item_memory;
use partita_core::{Item, Map, Value};
use partita_design::design::{
    Aggregate, LIMIT_MAX, Record, RecordId, Ref, RefId, ReferrerId, Source,
};
use partita_design::expression::Origin;
use partita_design::stored::is_inside;
use partita_design::{keys as spelled, nested};
use partita_store::request::{Page, Query, Scan};
use partita_store::table::TableName;

use crate::cursor::{Position, Question};
use crate::error::{Fault, PlanError};
use crate::evaluate::{ItemScope, Resolved, keys};
use crate::job::Referrers;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::place::Address;
use crate::preview::{ReadRequest, measured};
use crate::react::referring::places;
use crate::request::input;
use crate::running::Running;

/// Items that one page looks at, at most. A page that finds too few of them is short, and the next
/// goes on behind it.
const EXAMINED_MAX: usize = 1_000;

/// Bytes of memory of what one page shows, but for the last item.
const PAGE_MEMORY_MAX: usize = 4 * 1_048_576;

/// Items that one request of a scan reads.
const SCANNED: usize = 200;

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Browse {
    /// What an entity or a view has, as far as it has these values: a scan of its table.
    Record {
        /// The entity or view.
        name: String,
        /// Values by attribute, spelled as in a URL.
        having: BTreeMap<String, String>,
    },
    /// Everything in one partition, in the order of its keys.
    Partition {
        /// The table; the first of the design if it is not said.
        table: Option<String>,
        /// The partition key.
        value: String,
    },
    /// One item.
    Item(Named),
    /// The items that refer to one.
    Referrers {
        /// What they refer to.
        to: Named,
        /// Whose items.
        of: String,
        /// By which of their refs.
        by: String,
    },
    /// The items that a number of one is counted or summed from.
    Sources {
        /// What the number belongs to.
        of: Named,
        /// The attribute.
        attribute: String,
    },
}

/// One item, or a record of a view, by its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The entity or view.
    pub record: String,
    /// The parts of its identity, spelled as in a URL.
    pub identity: Vec<String>,
}

/// One page of what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Browsed {
    /// The items.
    pub rows: Vec<BrowsedRow>,
    /// Where the next page begins, if there may be one.
    pub cursor: Option<String>,
    /// Whether there is more that no cursor leads to.
    pub has_more: bool,
    /// Items that were looked at.
    pub examined: usize,
    /// Those of them that no record of the design explains.
    pub unrecognised: usize,
    /// What was asked of the store.
    pub requests: Vec<ReadRequest>,
}

/// One item.
#[derive(Clone, Debug, PartialEq)]
pub struct BrowsedRow {
    /// The entity or view.
    pub record: String,
    /// The parts of its identity; none where one of them is a secret.
    pub identity: Option<Vec<String>>,
    /// Its attributes, without secrets.
    pub attributes: Map,
    /// Its keys, as far as they spell no secret.
    pub keys: Map,
    /// Whether it is soft-deleted.
    pub is_deleted: bool,
    /// Whether its time is over.
    pub is_expired: bool,
    /// What it adds to the number that was asked about; none if it is not counted.
    pub adds: Option<Value>,
}

/// How rows are found.
enum Way<'a> {
    Scan(&'a TableName),
    Query(Box<Query>),
}

/// Which rows are shown.
#[derive(Default)]
struct Wanted<'a> {
    records: Vec<RecordId>,
    having: Vec<(String, Value)>,
    /// Those whose ref leads to this place.
    refers: Option<(&'a Ref, Address)>,
    /// The number that they are counted or summed in.
    number: Option<&'a Aggregate>,
}

/// What became of a row.
enum Seen {
    Unrecognised,
    Unwanted,
    Shown(Box<BrowsedRow>),
}

impl Partita {
    /// One page of items as they are stored. No rule is asked; this is for administrators.
    pub fn browse<'a>(
        &'a self,
        what: &'a Browse,
        limit: usize,
        cursor: Option<&'a str>,
    ) -> Running<'a, Browsed> {
        Box::pin(async move {
            let (found, requests) = measured(self.look_around(what, limit, cursor)).await;
            Ok(Browsed { requests, ..found? })
        })
    }

    async fn look_around(
        &self,
        what: &Browse,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Browsed, PlanError> {
        if !(1..=LIMIT_MAX).contains(&limit) {
            let message = format!("must be from 1 to {LIMIT_MAX}");
            return Err(fault("limit", message));
        }
        let blueprint = &self.blueprint;
        match what {
            Browse::Item(named) => {
                let (record, address) = self.place_named(named)?;
                let wanted = Wanted::of(vec![record.id]);
                self.browse_places(&[address], &wanted, 1).await
            }
            Browse::Record { name, having } => {
                let record = blueprint.named_record(name)?;
                let wanted = Wanted {
                    having: typed(record, having)?,
                    ..Wanted::of(vec![record.id])
                };
                let way = Way::Scan(blueprint.table_of(record).1);
                let asked = (format!("items {name}"), having.clone());
                self.browse_page(&way, &wanted, limit, &asked, cursor).await
            }
            Browse::Partition { table, value } => {
                let mut tables = blueprint.tables();
                let found = match table {
                    Some(name) => tables.find(|(table, _)| table.name == *name),
                    None => tables.next(),
                };
                let (table, name) = found.ok_or_else(|| fault("table", "there is none"))?;
                let records = blueprint.design.records.iter();
                let records = records.filter(|one| blueprint.table_of(one).1 == name);
                let wanted = Wanted::of(records.map(|record| record.id).collect());
                let equals = vec![(table.partition.clone(), Value::from(value.as_str()))];
                let query = Query::new(name.clone(), keys(equals, None));
                let asked = (format!("partition {name} {value}"), BTreeMap::new());
                let way = Way::Query(Box::new(query));
                self.browse_page(&way, &wanted, limit, &asked, cursor).await
            }
            Browse::Referrers { to, of, by } => {
                let of = blueprint.named_record(of)?;
                let by = of.find_ref(by);
                let by = by.ok_or_else(|| fault("by", "is no ref of these items"))?;
                if is_made_of_a_secret(of, &of.refs[by.index()]) {
                    return Err(fault("by", "is made of a secret, and is not shown"));
                }
                self.browse_referrers(to, of, by, None, limit, cursor).await
            }
            Browse::Sources { of: to, attribute } => {
                let record = blueprint.named_record(&to.record)?;
                let named = record.attribute(attribute).filter(|one| !one.secret);
                let number = named.map(|one| &one.source);
                let Some(Source::Aggregate(number)) = number else {
                    return Err(fault("attribute", "is no count and no sum"));
                };
                let of = &blueprint.design[number.of];
                if shows_a_secret(of, number) {
                    return Err(fault("attribute", "is made of a secret, and is not shown"));
                }
                self.browse_referrers(to, of, number.by, Some(number), limit, cursor)
                    .await
            }
        }
    }

    /// The items that refer to one: over a key of theirs where they have one, otherwise by a scan.
    async fn browse_referrers<'a>(
        &'a self,
        to: &Named,
        of: &'a Record,
        by: RefId,
        number: Option<&'a Aggregate>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Browsed, PlanError> {
        let blueprint = &self.blueprint;
        let (record, address) = self.place_named(to)?;
        let reference = &of.refs[by.index()];
        let mut targets = reference.targets.iter();
        let target = targets.position(|target| target.record() == Some(record.id));
        let target = target.ok_or_else(|| fault("by", "does not lead to such an item"))?;
        let id = ReferrerId {
            record: of.id,
            reference: by,
            target,
        };
        let who = Referrers::of(&blueprint.design, record, id);
        let wanted = Wanted {
            refers: Some((reference, address.clone())),
            number,
            ..Wanted::of(vec![of.id])
        };
        let Some(finder) = &who.target.finder else {
            let asked = (
                format!("referrers {} {} {}", of.name, reference.name, record.name),
                BTreeMap::from([("to".to_owned(), to.identity.join("#"))]),
            );
            let way = Way::Scan(blueprint.table_of(of).1);
            return self.browse_page(&way, &wanted, limit, &asked, cursor).await;
        };
        // A pattern that finds the target asks for attributes, an identity need not be all of it.
        let items = self
            .runner
            .read_items(std::slice::from_ref(&address))
            .await?;
        let item = items.into_iter().flatten().next();
        let item = match &item {
            Some(item) => blueprint.attributes(record, item)?,
            None => input::identity(record, &to.identity)?,
        };
        let mut found: Vec<Address> = Vec::new();
        let mut has_more = false;
        for listing in who.listings(blueprint, &item)? {
            let query = Query {
                limit: Some(limit + 1),
                ..listing.query(false)
            };
            let page = self.runner.query(&query).await?;
            has_more |= page.last_key.is_some();
            found.extend(places(blueprint, finder, &page.items));
        }
        let mut browsed = self.browse_places(&found, &wanted, limit).await?;
        browsed.has_more |= has_more;
        Ok(browsed)
    }

    /// Where an item is.
    fn place_named(&self, named: &Named) -> Result<(&Record, Address), PlanError> {
        let record = self.blueprint.named_record(&named.record)?;
        let identity = input::identity(record, &named.identity)?;
        Ok((record, self.blueprint.address(record, &identity)?))
    }

    /// The items at some places.
    async fn browse_places(
        &self,
        addresses: &[Address],
        wanted: &Wanted<'_>,
        limit: usize,
    ) -> Result<Browsed, PlanError> {
        let read = &addresses[..addresses.len().min(limit)];
        let items = self.runner.read_items(read).await?;
        let items: Vec<Item> = items.into_iter().flatten().collect();
        let mut browsed = Browsed {
            has_more: addresses.len() > read.len(),
            ..Browsed::default()
        };
        for seen in self.look_at_rows(wanted, &items).await? {
            browsed.take(seen);
        }
        Ok(browsed)
    }

    /// One page, filled past what is not wanted.
    async fn browse_page(
        &self,
        way: &Way<'_>,
        wanted: &Wanted<'_>,
        limit: usize,
        (name, parameters): &(String, BTreeMap<String, String>),
        cursor: Option<&str>,
    ) -> Result<Browsed, PlanError> {
        let nobody = Caller::anonymous();
        // No pattern has a space in its name, so that no cursor of one fits.
        let question = Question {
            design: &self.served_text,
            caller: &nobody,
            pattern: name,
            parameters,
        };
        let mut behind = match cursor {
            None => None,
            Some(cursor) => match self.seal.open(&question, cursor, &*self.clock) {
                Some(Position::Key(key)) => Some(key),
                _ => return Err(PlanError::BadCursor),
            },
        };
        let mut browsed = Browsed::default();
        let mut memory = 0;
        loop {
            let page = self.browse_step(way, behind.clone(), limit).await?;
            let seen = self.look_at_rows(wanted, &page.items).await?;
            for (row, seen) in page.items.iter().zip(seen) {
                let is_full = browsed.rows.len() == limit
                    || browsed.examined >= EXAMINED_MAX
                    || memory >= PAGE_MEMORY_MAX;
                if let Some(key) = behind.as_ref().filter(|_| is_full) {
                    let position = Position::Key(key.clone());
                    let (clock, entropy) = (&*self.clock, &*self.runner.entropy);
                    let cursor = self.seal.seal(&question, position, clock, entropy);
                    browsed.cursor = Some(cursor);
                    return Ok(browsed);
                }
                behind = Some(self.key_in(way, row));
                if let Seen::Shown(row) = &seen {
                    memory += item_memory(&row.attributes);
                }
                browsed.take(seen);
            }
            match page.last_key {
                None => return Ok(browsed),
                last_key => behind = last_key,
            }
        }
    }

    async fn browse_step(
        &self,
        way: &Way<'_>,
        start_after: Option<Item>,
        limit: usize,
    ) -> Result<Page<Item>, PlanError> {
        match way {
            Way::Scan(table) => {
                let request = Scan {
                    limit: Some(SCANNED),
                    start_after,
                    ..Scan::new((*table).clone())
                };
                self.runner.scan(&request).await
            }
            Way::Query(query) => {
                let request = Query {
                    limit: Some(limit + 1),
                    start_after,
                    ..(**query).clone()
                };
                self.runner.query(&request).await
            }
        }
    }

    fn key_in(&self, way: &Way<'_>, row: &Item) -> Item {
        let table = match way {
            Way::Scan(table) => *table,
            Way::Query(query) => &query.table,
        };
        let names = self.blueprint.keys.of(table).into_iter();
        let parts = names.filter_map(|name| Some((name.to_owned(), row.get(name)?.clone())));
        parts.collect()
    }

    /// What is shown of rows. Whatever refs lead to is read for all of them at once.
    async fn look_at_rows(
        &self,
        wanted: &Wanted<'_>,
        rows: &[Item],
    ) -> Result<Vec<Seen>, PlanError> {
        let blueprint = &self.blueprint;
        let recognised = rows.iter();
        let recognised: Vec<_> = recognised
            .map(|row| blueprint.recognise(&wanted.records, row))
            .collect();
        let moment = self.moment();
        let nobody = Caller::anonymous();
        let mut reads = self.reads(&moment);
        let looked = self.runner.settle(&mut reads, |reads| {
            let context = self.context(&nobody, reads, &moment);
            let seen = recognised.iter().zip(rows).map(|(found, row)| {
                let Some((record, item)) = found else {
                    return Seen::Unrecognised;
                };
                let (_, table) = blueprint.table_of(record);
                let scope = ItemScope::unguarded(context, record, item);
                let is_expired = reads.is_expired(table, row);
                match wanted.is_met(&scope) {
                    true => Seen::Shown(Box::new(shown(&scope, is_expired, wanted.number))),
                    false => Seen::Unwanted,
                }
            });
            Ok(seen.collect())
        });
        looked.await
    }
}

impl Browsed {
    fn take(&mut self, seen: Seen) {
        self.examined += 1;
        match seen {
            Seen::Unrecognised => self.unrecognised += 1,
            Seen::Unwanted => {}
            Seen::Shown(row) => self.rows.push(*row),
        }
    }
}

impl<'w> Wanted<'w> {
    fn of(records: Vec<RecordId>) -> Self {
        Wanted {
            records,
            ..Wanted::default()
        }
    }

    fn is_met<'a>(&self, scope: &ItemScope<'_, 'a>) -> bool
    where
        'w: 'a,
    {
        let mut having = self.having.iter();
        let has_values = having.all(|(name, value)| {
            let found = scope.record.read(scope.item, name);
            found.is_some_and(|found| *found == *value)
        });
        let refers = self.refers.as_ref().is_none_or(|(reference, address)| {
            match scope.resolve(reference) {
                Resolved::To(targets) => targets.iter().any(|one| one.address == *address),
                _ => false,
            }
        });
        has_values && refers
    }
}

fn shown(scope: &ItemScope<'_, '_>, is_expired: bool, number: Option<&Aggregate>) -> BrowsedRow {
    let (record, item) = (scope.record, scope.item);
    let attributes = scope.without_secrets();
    let design = &scope.context.blueprint.design;
    let keys = spelled::of_record(design, &record.name, &attributes);
    BrowsedRow {
        identity: identity(record, &attributes),
        keys: keys.into_iter().collect(),
        is_deleted: record.is_deleted(item),
        is_expired,
        adds: number.and_then(|number| added(scope, number)),
        record: record.name.clone(),
        attributes,
    }
}

/// Whether somebody who is shown which items a ref leads from learns a secret of theirs.
fn is_made_of_a_secret(record: &Record, reference: &Ref) -> bool {
    let arguments = reference.targets.iter().flat_map(|one| &one.arguments);
    let paths = arguments.map(|argument| argument.path.as_str());
    let mut paths = paths.chain(reference.by.as_deref());
    paths.any(|path| is_secret(record, path))
}

/// Whether somebody who is shown what items add to a number learns a secret of theirs.
fn shows_a_secret(of: &Record, number: &Aggregate) -> bool {
    let only = number.only.iter().flat_map(|only| &only.reads);
    let mut own = only.filter(|one| one.origin == Origin::Item && one.hops.is_empty());
    let sum = number.sum.as_deref();
    sum.is_some_and(|name| is_secret(of, name))
        || own.any(|one| is_secret(of, &one.attribute))
        || is_made_of_a_secret(of, &of.refs[number.by.index()])
}

/// Whether a path is a secret attribute of a record, or is inside of one.
fn is_secret(record: &Record, path: &str) -> bool {
    let mut secrets = record.attributes.iter().filter(|one| one.secret);
    secrets.any(|one| is_inside(path, &one.name))
}

/// What an item adds to a number.
fn added(scope: &ItemScope<'_, '_>, number: &Aggregate) -> Option<Value> {
    let only = number.only.as_ref();
    if !only.is_none_or(|only| only.holds(scope)) {
        return None;
    }
    match &number.sum {
        None => Some(Value::from(1)),
        Some(name) => scope
            .record
            .read(scope.item, name)
            .map(|one| one.into_owned()),
    }
}

/// The identity as URLs spell it; none where a part of it is not shown.
fn identity(record: &Record, attributes: &Map) -> Option<Vec<String>> {
    let parts =
        record
            .identity
            .iter()
            .map(|part| match nested::get(attributes, &part.attribute)? {
                Value::S(text) => Some(text.clone()),
                Value::N(number) => Some(number.to_string()),
                Value::Bool(flag) => Some(flag.to_string()),
                _ => None,
            });
    parts.collect()
}

/// Values of a record's attributes; everything that is wrong with them at once.
fn typed(
    record: &Record,
    having: &BTreeMap<String, String>,
) -> Result<Vec<(String, Value)>, PlanError> {
    let mut faults = Vec::new();
    let mut values = Vec::new();
    for (name, text) in having {
        match record.attribute(name) {
            Some(one) if !one.secret => match one.kind.from_text(text) {
                Ok(value) => values.push((one.name.clone(), value)),
                Err(expected) => faults.push(Fault::new(name, format!("must be {expected}"))),
            },
            _ => faults.push(Fault::new(name, "is no attribute that can be asked for")),
        }
    }
    if faults.is_empty() {
        Ok(values)
    } else {
        Err(PlanError::Invalid { faults })
    }
}

fn fault(name: &str, message: impl Into<String>) -> PlanError {
    PlanError::Invalid {
        faults: vec![Fault::new(name, message)],
    }
}
