//! Counts and sums that look wrong: counted once more before anything is said of them.
//!
//! A scan is not a moment: an item may have been counted before a write, and the number been read
//! after it. So those that differ are read, all their parts are counted in another scan, and they
//! are read again. If a number stood still all that time, what was counted is what it should be.

use std::collections::HashMap;

use partita_core::expression::{Condition, Path};
use partita_core::{Item, Number, Value};
use partita_design::template::dotted;
use partita_store::request::{ItemAddress, TransactAction, UpdateItem};
use partita_store::{StoreResult, table::TableName};

use crate::check::drift;
use crate::check::shares::number;
use crate::grouping::{Grouping, Place};
use crate::layout::{Record, Stored};
use crate::nested;
use crate::pass::{Mode, Pass};
use crate::reader::Written;
use crate::report::{Drift, DriftKind, Outcome, VerifyError, Watch};

/// How many numbers are counted again at once.
const SUSPECTS_MAX: usize = 50_000;

impl Pass<'_> {
    /// Compares all numbers with what counts for them.
    pub(crate) async fn settle_numbers(
        &mut self,
        grouping: Grouping,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        let mut merge = grouping.merge()?;
        let mut suspects = Vec::new();
        while let Some((place, group)) = merge.next()? {
            // What counts for an item that is not there counts nowhere.
            let Some(stored) = group.stored else {
                continue;
            };
            if number(stored.as_ref()) != Some(group.sum) {
                suspects.push(place);
            }
            if suspects.len() == SUSPECTS_MAX {
                self.confirm(std::mem::take(&mut suspects), watch).await?;
            }
        }
        match suspects.is_empty() {
            true => Ok(()),
            false => self.confirm(suspects, watch).await,
        }
    }

    async fn confirm(
        &mut self,
        suspects: Vec<Place>,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        let before = self.stored(&suspects).await?;
        let sums = suspects.iter().cloned();
        let mut sums: HashMap<Place, Number> =
            sums.map(|place| (place, Number::default())).collect();
        let add = |place: Place, amount: Number| {
            if let Some(sum) = sums.get_mut(&place) {
                *sum = sum.checked_add(amount).unwrap_or(*sum);
            }
        };
        self.count_again(add).await?;
        let after = self.stored(&suspects).await?;
        for ((place, before), after) in suspects.into_iter().zip(before).zip(after) {
            let Some((drift, sum)) = self.judged(&place, after.as_ref(), &sums) else {
                continue;
            };
            let value = |item: &Option<Item>| {
                let value = item
                    .as_ref()
                    .and_then(|item| nested::get(item, &place.attribute));
                value.cloned()
            };
            let outcome = match (value(&before) == value(&after), self.mode) {
                (false, _) => Outcome::Moving,
                (true, Mode::Verify) => Outcome::Found,
                (true, Mode::Survey) => Outcome::Mendable,
                (true, Mode::Repair(_)) => match self.write(&place, after.as_ref(), sum).await? {
                    Written::Done => Outcome::Mended,
                    Written::Stale => Outcome::Moving,
                },
            };
            self.tell(watch, &drift, &outcome);
        }
        Ok(())
    }

    /// The items that keep some numbers, as they are now.
    async fn stored(&self, places: &[Place]) -> StoreResult<Vec<Option<Item>>> {
        // Several numbers of one item stand one after the other.
        let mut addresses: Vec<ItemAddress> = Vec::new();
        let mut which = Vec::new();
        for place in places {
            let address = self.address(place)?;
            if addresses.last() != Some(&address) {
                addresses.push(address);
            }
            which.push(addresses.len() - 1);
        }
        let items = self.reader.items(&addresses).await?;
        Ok(which.into_iter().map(|at| items[at].clone()).collect())
    }

    fn address(&self, place: &Place) -> StoreResult<ItemAddress> {
        let table: TableName = place.table.parse()?;
        let layout = self.layout.table(&table);
        let names = layout.map(|layout| [&layout.partition, &layout.sort]);
        let values = [&place.partition, &place.sort];
        let key = names.into_iter().flatten().zip(values);
        let key = key.map(|(name, text)| (name.clone(), Value::S(text.clone())));
        let key = key.collect();
        Ok(ItemAddress { table, key })
    }

    /// The drift of a number that is not what was counted.
    fn judged(
        &self,
        place: &Place,
        item: Option<&Item>,
        sums: &HashMap<Place, Number>,
    ) -> Option<(Drift, Number)> {
        let (item, sum) = (item?, *sums.get(place)?);
        let address = self.address(place).ok()?;
        let Stored::Record(Record::Entity(entity), _) = self.layout.recognise(&address.table, item)
        else {
            return None;
        };
        let stored = nested::get(item, &place.attribute);
        if number(stored) == Some(sum) {
            return None;
        }
        let counted = self.numbers.find(&entity.name, &place.attribute)?;
        let kind = match counted.is_tally(self.layout.design) {
            true => DriftKind::Tally,
            false => DriftKind::Aggregate,
        };
        let says = format!("entity.{}.attributes.{}", entity.name, place.attribute);
        let name = Some(place.attribute.as_str());
        let mut drift = drift(kind, &entity.name, &address, name, says);
        drift.stored = stored.cloned();
        drift.expected = Some(Value::N(sum));
        Some((drift, sum))
    }

    /// Writes the right number, if the wrong one still stands there.
    async fn write(&self, place: &Place, item: Option<&Item>, sum: Number) -> StoreResult<Written> {
        let address = self.address(place)?;
        let path = dotted(&place.attribute);
        let stored = item.and_then(|item| path.find(item));
        let mut update = partita_core::expression::Update::default();
        let condition = match (stored, item.and_then(|item| item.get(&path.root))) {
            (Some(stored), _) => {
                update = update.setting(path.clone(), Value::N(sum));
                Condition::equals(path, stored.clone())
            }
            (None, Some(_)) => {
                update = update.setting(path.clone(), Value::N(sum));
                Condition::NotExists(path)
            }
            // The map that it stands in is missing too.
            (None, None) => {
                let mut whole = Item::new();
                nested::set(&mut whole, &place.attribute, Value::N(sum));
                let root = Path::attribute(path.root.clone());
                if let Some(value) = whole.remove(&path.root) {
                    update = update.setting(root.clone(), value);
                }
                Condition::NotExists(root)
            }
        };
        let partition = self
            .layout
            .table(&address.table)
            .map(|table| &table.partition);
        let is_there = partition.map(|name| Condition::Exists(Path::attribute(name)));
        let action = TransactAction::Update(UpdateItem {
            table: address.table,
            key: address.key,
            update,
            condition: is_there
                .into_iter()
                .chain([condition])
                .reduce(Condition::and),
            return_item_on_failure: false,
        });
        self.reader.write(vec![action]).await
    }
}
