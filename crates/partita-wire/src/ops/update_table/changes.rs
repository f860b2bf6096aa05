//! What a request changes, given how the table is.
//!
//! Stores check all of this themselves; here are the sentences of the service, and what it
//! refuses although a store need not.

use std::collections::BTreeMap;

use partita_store::index::{IndexKind, IndexSchema};
use partita_store::request::{TableChange, TableDescription, UpdateTable};
use partita_store::settings::{Billing, Throughput};

use super::TableUpdate;
use super::indexes::IndexAction;
use crate::messages;
use crate::ops::schema::billing::BillingMode;
use crate::ops::schema::indexes::Whole;
use crate::refusal::{Fault, Refusal};

impl TableUpdate<'_> {
    /// The request to the store.
    pub(super) fn request(&self, now: &TableDescription) -> Result<UpdateTable, Refusal> {
        self.check_combination()?;
        for action in &self.indexes {
            check_index(action, now)?;
        }
        let mut changes = Vec::new();
        changes.extend(self.protection.map(TableChange::Protection));
        changes.extend(self.stream.map(TableChange::Stream));
        for action in &self.indexes {
            match action {
                IndexAction::Create(whole) => {
                    let schema = self.index_schema(whole, now)?;
                    changes.push(TableChange::CreateIndex(schema));
                }
                IndexAction::Delete(name) => {
                    changes.push(TableChange::DeleteIndex((*name).to_owned()));
                }
                IndexAction::Update(..) => {}
            }
        }
        let billing = self.billing(now)?;
        if billing != self.remaining(&now.settings.billing) {
            changes.push(TableChange::Billing(billing));
        }
        let table = self.table.clone();
        Ok(UpdateTable { table, changes })
    }

    /// What is provisioned without the indexes that go, with which a store forgets it.
    fn remaining(&self, billing: &Billing) -> Billing {
        let mut billing = billing.clone();
        if let Billing::Provisioned { indexes, .. } = &mut billing {
            for action in &self.indexes {
                if let IndexAction::Delete(name) = action {
                    indexes.remove(*name);
                }
            }
        }
        billing
    }

    /// The service changes one thing at a time.
    fn check_combination(&self) -> Result<(), Refusal> {
        let is_online = |action: &&IndexAction<'_>| !matches!(action, IndexAction::Update(..));
        let online = self.indexes.iter().filter(is_online).count();
        let is_provisioned =
            self.throughput.is_some() || self.mode == Some(BillingMode::Provisioned);
        let message = match (self.stream.is_some(), is_provisioned) {
            (true, true) => messages::STREAM_BESIDE_THROUGHPUT,
            (_, true) if online > 0 => messages::INDEX_BESIDE_THROUGHPUT,
            (true, _) if online > 0 => messages::INDEX_BESIDE_STREAM,
            _ if online > 1 => {
                let fault = Fault::LimitExceeded;
                return Err(Refusal::new(fault, messages::ONE_INDEX_AT_A_TIME));
            }
            _ => return Ok(()),
        };
        Err(Refusal::validation(message))
    }

    fn index_schema(
        &self,
        whole: &Whole<'_>,
        now: &TableDescription,
    ) -> Result<IndexSchema, Refusal> {
        let Some(given) = &self.definitions else {
            let message = messages::no_definitions(whole.name());
            return Err(Refusal::validation(message));
        };
        // What is defined and is no key of the index is not looked at.
        let index = whole.schema(IndexKind::Global, given)?;
        let keys = || now.schema.key.attributes();
        let of_indexes = || now.schema.indexes.iter().flat_map(IndexSchema::attributes);
        for attribute in index.attributes() {
            let mut known = keys().chain(of_indexes());
            if let Some(known) = known.find(|it| it.name == attribute.name && *it != attribute) {
                let message = messages::redefined(known, attribute);
                return Err(Refusal::validation(message));
            }
        }
        Ok(index)
    }

    /// How Amazon charges for the table from now on.
    fn billing(&self, now: &TableDescription) -> Result<Billing, Refusal> {
        let (current, provisioned) = match &now.settings.billing {
            Billing::OnDemand => (None, BTreeMap::new()),
            Billing::Provisioned { table, indexes } => (Some(*table), indexes.clone()),
        };
        let table = match (self.mode, self.throughput, current) {
            (Some(BillingMode::PayPerRequest), Some(_), _) => {
                return Err(Refusal::validation(messages::UNEXPECTED_THROUGHPUT));
            }
            (None, Some(_), None) => {
                return Err(Refusal::validation(messages::NEITHER_UNIT));
            }
            (Some(BillingMode::Provisioned), None, _) => {
                return Err(Refusal::validation(messages::NO_THROUGHPUT));
            }
            (Some(BillingMode::PayPerRequest), None, _) | (None, None, None) => {
                return self.check_on_demand();
            }
            (_, Some(table), _) => table,
            (None, None, Some(current)) => current,
        };
        let indexes = self.index_throughputs(now, provisioned)?;
        let unchanged = current.filter(|current| *current == table);
        if let (Some(current), true, true) = (
            unchanged,
            self.throughput.is_some(),
            self.indexes.is_empty(),
        ) {
            return Err(Refusal::validation(messages::same_throughput(current)));
        }
        Ok(Billing::Provisioned { table, indexes })
    }

    /// On demand, nothing is provisioned for indexes either.
    fn check_on_demand(&self) -> Result<Billing, Refusal> {
        for action in &self.indexes {
            let message = match action {
                IndexAction::Create(whole) if whole.throughput().is_some() => {
                    messages::no_index_units(whole.name())
                }
                IndexAction::Update(name, Some(_)) => messages::index_is_on_demand(name),
                _ => continue,
            };
            return Err(Refusal::validation(message));
        }
        Ok(Billing::OnDemand)
    }

    /// What is provisioned for each global index that there will be.
    fn index_throughputs(
        &self,
        now: &TableDescription,
        mut throughputs: BTreeMap<String, Throughput>,
    ) -> Result<BTreeMap<String, Throughput>, Refusal> {
        for action in &self.indexes {
            let name = action.index();
            let throughput = match action {
                IndexAction::Delete(_) => {
                    throughputs.remove(name);
                    continue;
                }
                IndexAction::Create(whole) => whole.throughput(),
                IndexAction::Update(_, throughput) => *throughput,
            };
            let Some(throughput) = throughput else {
                return Err(Refusal::validation(match action {
                    IndexAction::Create(_) => messages::index_throughput_missing(name),
                    _ => messages::index_units_missing(name),
                }));
            };
            let before = throughputs.insert(name.to_owned(), throughput);
            if before == Some(throughput) && self.throughput.is_none() {
                let message = messages::same_index_throughput(name, throughput);
                return Err(Refusal::validation(message));
            }
        }
        let deleted = |name: &str| {
            let mut actions = self.indexes.iter();
            actions.any(|action| matches!(action, IndexAction::Delete(it) if *it == name))
        };
        let mut globals = globals(now).filter(|index| !deleted(&index.name));
        match globals.find(|index| !throughputs.contains_key(&index.name)) {
            Some(index) => {
                let message = messages::index_throughput_missing(&index.name);
                Err(Refusal::validation(message))
            }
            None => Ok(throughputs),
        }
    }
}

fn globals(now: &TableDescription) -> impl Iterator<Item = &IndexSchema> {
    let indexes = now.schema.indexes.iter();
    indexes.filter(|index| index.kind == IndexKind::Global)
}

/// Whether there is an index to act on.
fn check_index(action: &IndexAction<'_>, now: &TableDescription) -> Result<(), Refusal> {
    let name = action.index();
    let mut indexes = now.schema.indexes.iter();
    let found = indexes.find(|index| index.name == name);
    let verb = match (action, found.map(|index| index.kind)) {
        (IndexAction::Create(_), Some(_)) => {
            return Err(Refusal::validation(messages::INDEX_EXISTS));
        }
        (IndexAction::Create(_), None) | (_, Some(IndexKind::Global)) => return Ok(()),
        (_, None) => {
            let fault = Fault::ResourceNotFound;
            return Err(Refusal::new(fault, messages::RESOURCE_NOT_FOUND));
        }
        (IndexAction::Delete(_), Some(IndexKind::Local)) => "delete",
        (IndexAction::Update(..), Some(IndexKind::Local)) => "update",
    };
    Err(Refusal::validation(messages::not_global(verb, name)))
}
