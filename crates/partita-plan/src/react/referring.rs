//! From an item back to those that refer to it.

use partita_core::{Item, Map, Value};
use partita_design::design::{Finder, KeyValue, Record};
use partita_design::nested;

use crate::blueprint::Blueprint;
use crate::draft::EntryId;
use crate::error::PlanError;
use crate::evaluate::{Listing, Resolved, keys};
use crate::job::Referrers;
use crate::place::Address;
use crate::planner::Planner;

impl<'a> Planner<'a> {
    /// The items that refer to one by a ref, all of them read.
    pub(crate) fn referring(
        &mut self,
        at: EntryId,
        who: Referrers<'a>,
    ) -> Result<Vec<EntryId>, PlanError> {
        let blueprint = self.context.blueprint;
        let (Some(finder), Some(item)) = (&who.target.finder, self.entry(at).named().cloned())
        else {
            return Ok(Vec::new());
        };
        let address = self.entry(at).address.clone();
        let mut found: Vec<Address> = Vec::new();
        for listing in who.listings(blueprint, &item)? {
            let Some(listed) = self.draft.list(&self.context, &listing) else {
                continue;
            };
            if listed.has_more {
                let (entity, reference) = (&who.entity.name, &who.reference.name);
                let what = format!("every `{entity}` whose `{reference}` leads there must follow");
                return Err(PlanError::TooMuch { what });
            }
            for place in places(blueprint, finder, &listed.rows) {
                if !found.contains(&place) {
                    found.push(place);
                }
            }
        }
        self.those_referring(who, &address, found)
    }

    /// Those of some items that refer to one, all of them read.
    pub(crate) fn those_referring(
        &mut self,
        who: Referrers<'a>,
        address: &Address,
        found: Vec<Address>,
    ) -> Result<Vec<EntryId>, PlanError> {
        let mut items = Vec::new();
        for place in found {
            let item = self.look_up(who.entity, place)?;
            let Some(now) = self.entry(item).after.clone() else {
                continue;
            };
            // An index may be behind: only what the item itself says counts.
            let resolved = self.evaluate(item, &now, |scope| scope.resolve(who.reference))?;
            let refers = match resolved {
                Resolved::To(targets) => targets.iter().any(|target| target.address == *address),
                _ => false,
            };
            if refers {
                items.push(item);
            }
        }
        Ok(items)
    }
}

impl<'a> Referrers<'a> {
    /// The attribute of the source that an argument of the ref means. A pattern asks for
    /// attributes by their names, in any order; an identity has its own.
    pub(crate) fn argument_source(&self, number: usize) -> Option<&'a str> {
        match &self.target.via {
            Some(_) => {
                let argument = self.target.arguments.get(number)?;
                let attribute = self.source.attribute(&argument.part)?;
                Some(&attribute.name)
            }
            None => Some(&self.source.identity.get(number)?.attribute),
        }
    }

    /// The queries that find the items that refer to one.
    pub(crate) fn listings(
        &self,
        blueprint: &Blueprint,
        item: &Map,
    ) -> Result<Vec<Listing>, PlanError> {
        let Some(finder) = &self.target.finder else {
            return Ok(Vec::new());
        };
        let record = &blueprint.design[finder.record];
        let (table, table_name) = blueprint.table_of(record);
        let index = finder.index.map(|index| &table.indexes[index.index()]);
        let (partition, sort) = match index {
            Some(index) => {
                let sort = index.sort.as_ref().map(|sort| &sort.name);
                (&index.partition.name, sort)
            }
            None => (&table.partition, Some(&table.sort)),
        };
        let mut listings = Vec::new();
        for known in self.known_of_referrers(finder, record, item) {
            let value = match &finder.partition {
                KeyValue::Native(name) => nested::get(&known, name).cloned(),
                KeyValue::Cases(cases) => match cases.first() {
                    Some(case) => case.is.key(&known)?.map(Value::S),
                    None => None,
                },
            };
            let prefix = match &finder.prefix {
                Some(prefix) => prefix.key(&known)?,
                None => None,
            };
            listings.extend(value.map(|value| Listing {
                table: table_name.clone(),
                index: index.map(|index| index.name.clone()),
                keys: keys(vec![(partition.clone(), value)], sort.cloned().zip(prefix)),
                last_only: false,
                rows_max: None,
            }));
        }
        Ok(listings)
    }

    /// What the keys of referring items are made of: what follows from the one that they refer to,
    /// with each combination of the values that have to be tried.
    fn known_of_referrers(&self, finder: &Finder, record: &Record, item: &Map) -> Vec<Map> {
        let mut known = Map::new();
        for (number, argument) in self.target.arguments.iter().enumerate() {
            let name = self.argument_source(number);
            if let Some(value) = name.and_then(|name| nested::get(item, name)) {
                nested::set(&mut known, &argument.path, value.clone());
            }
        }
        if let (Some(by), Some(when)) = (&self.reference.by, &self.target.when) {
            nested::set(&mut known, by, Value::from(when.as_str()));
        }
        finder.enumerate.iter().fold(vec![known], |all, name| {
            let words = record.stored(name).and_then(|one| one.kind.words());
            let with = |known: &Map, word: &String| {
                let mut known = known.clone();
                nested::set(&mut known, name, Value::from(word.as_str()));
                known
            };
            let words = words.unwrap_or_default();
            let all = all.iter();
            all.flat_map(|known| words.iter().map(move |word| with(known, word)))
                .collect()
        })
    }
}

/// Where the items are that the rows of a finder belong to, each once.
pub(crate) fn places(blueprint: &Blueprint, finder: &Finder, rows: &[Item]) -> Vec<Address> {
    let mut found: Vec<Address> = Vec::new();
    for row in rows {
        let names = std::slice::from_ref(&finder.record);
        let Some((record, item)) = blueprint.recognise(names, row) else {
            continue;
        };
        let place = match &record.view {
            None => Some(blueprint.keys.place(blueprint.table_of(record).1, row)),
            Some(view) => {
                let source = &blueprint.design[view.of];
                let identity = source.identity_of(&item);
                identity.and_then(|identity| blueprint.address(source, &identity).ok())
            }
        };
        found.extend(place.filter(|place| !found.contains(place)));
    }
    found
}
