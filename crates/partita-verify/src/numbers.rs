//! Counts and sums that look wrong: counted once more before anything is said of them.
//!
//! A scan is not a moment: an item may have been counted before a write, and the number been read
//! after it. So those that differ are read, all their parts are counted in another scan, and they
//! are read again. If a number stood still all that time, what was counted is what it should be.

use std::collections::HashMap;

use partita_core::expression::{Condition, Path};
use partita_core::{Item, Number, Value, plain};
use partita_design::template::dotted;
use partita_store::request::{ItemAddress, TransactAction, UpdateItem};
use partita_store::{StoreResult, table::TableName};

use crate::check::drift;
use crate::check::shares::number;
use crate::derivation::{attribute_place, kept_place};
use crate::grouping::{Grouping, Place};
use crate::kept::{GONE_MAX, kept_number};
use crate::layout::Stored;
use crate::pass::{Mode, Pass};
use crate::reader::Written;
use crate::report::{Drift, DriftKind, Outcome, VerifyError, Watch};
use crate::suspects::Suspect;
use partita_design::nested;

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
        let (mut suspects, mut gone) = (Vec::new(), Vec::new());
        while let Some((place, group)) = merge.next()? {
            match group.stored {
                Some(stored) if number(stored.as_ref()) != Some(group.sum) => suspects.push(place),
                Some(_) => {}
                // What counts for an item that is not there is kept for it, or counts nowhere.
                None if self.is_kept(&place) => gone.push((place, group.sum)),
                None => {}
            }
            if gone.len() == GONE_MAX {
                suspects.extend(self.forgotten(std::mem::take(&mut gone)).await?);
            }
            if suspects.len() >= SUSPECTS_MAX {
                self.confirm(std::mem::take(&mut suspects), watch).await?;
            }
        }
        suspects.extend(self.forgotten(gone).await?);
        if suspects.is_empty() {
            Ok(())
        } else {
            self.confirm(suspects, watch).await
        }
    }

    /// Whether a number is kept while its item is gone, and is looked at.
    fn is_kept(&self, place: &Place) -> bool {
        let entity = self.outliving(place);
        entity.is_some_and(|entity| self.looked_at.has(entity))
    }

    async fn confirm(
        &mut self,
        mut suspects: Vec<Place>,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        // The numbers of one item come one after the other.
        suspects.sort_unstable();
        let before = self.stored(&suspects).await?;
        let sums = suspects.iter().cloned();
        let mut sums: HashMap<Place, Number> =
            sums.map(|place| (place, Number::default())).collect();
        let add = |place: Place, amount: Number| {
            if let Some(sum) = sums.get_mut(&place) {
                *sum = sum.checked_add(amount).unwrap_or(*sum);
            }
        };
        self.count_again(add, watch).await?;
        let after = self.stored(&suspects).await?;
        for ((place, before), after) in suspects.into_iter().zip(before).zip(after) {
            let Some((drift, sum)) = self.judged(&place, &after, &sums) else {
                continue;
            };
            let derived_by = match &after {
                Home::Kept(_) => kept_place(&drift.says),
                Home::Item(_) | Home::None => drift.says.clone(),
            };
            let is_still = before.is_there() == after.is_there()
                && before.value(&place) == after.value(&place);
            let outcome = match (is_still, self.mode) {
                (false, _) => Outcome::Moving,
                (true, Mode::Verify) => Outcome::Found,
                (true, Mode::Survey) => Outcome::Mendable,
                (true, Mode::Repair(_)) if self.is_later(&derived_by) => Outcome::Found,
                (true, Mode::Repair(_)) => match self.write(&place, &after, sum).await? {
                    Written::Done => Outcome::Mended,
                    Written::Stale => Outcome::Moving,
                },
            };
            let suspect = Suspect {
                drift,
                outcome,
                derived_by: Some(derived_by),
            };
            self.suspect(watch, suspect);
            watch.between_steps().await?;
        }
        Ok(())
    }

    /// Where some numbers are now: in their items, or kept for them.
    async fn stored(&self, places: &[Place]) -> StoreResult<Vec<Home>> {
        // The numbers of one item come one after the other.
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
        let mut homes = Vec::new();
        for (place, at) in places.iter().zip(which) {
            homes.push(match (&items[at], self.outliving(place)) {
                (Some(item), _) => Home::Item(item.clone()),
                (None, Some(_)) => {
                    let kept = self.kept_records(&[self.kept_at(place)?]).await?;
                    Home::Kept(kept.into_iter().next().flatten())
                }
                (None, None) => Home::None,
            });
        }
        Ok(homes)
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
        home: &Home,
        sums: &HashMap<Place, Number>,
    ) -> Option<(Drift, Number)> {
        let sum = *sums.get(place)?;
        let address = self.address(place).ok()?;
        let entity = match home {
            Home::Item(item) => match self.layout.recognise(&address.table, item) {
                Stored::Record(record, _) => record,
                _ => return None,
            },
            Home::Kept(_) => self.outliving(place)?,
            Home::None => return None,
        };
        let stored = home.value(place);
        if number(stored) == Some(sum) {
            return None;
        }
        let counted = self.numbers.find(entity, &place.attribute)?;
        let kind = if counted.is_tally(self.layout.design) {
            DriftKind::Tally
        } else {
            DriftKind::Aggregate
        };
        let says = attribute_place(entity, counted.attribute);
        let name = Some(place.attribute.as_str());
        let mut drift = drift(kind, &entity.name, &address, name, says);
        drift.stored = stored.cloned();
        drift.expected = Some(Value::N(sum));
        if let Home::Kept(_) = home {
            let kept = match stored {
                Some(stored) => format!("is kept as {}", plain::to_json(stored)),
                None => "is not kept".to_owned(),
            };
            drift.note = Some(format!("{kept} while the item is gone, should be {sum}"));
        }
        Some((drift, sum))
    }

    /// Writes the right number, if the wrong one is still there.
    async fn write(&self, place: &Place, home: &Home, sum: Number) -> StoreResult<Written> {
        let address = self.address(place)?;
        let item = match (home, self.outliving(place)) {
            (Home::Item(item), _) => item,
            (Home::Kept(record), Some(entity)) => {
                let record = record.as_ref();
                return self.keep(place, entity, &address, record, sum).await;
            }
            _ => return Ok(Written::Stale),
        };
        let path = dotted(&place.attribute);
        let stored = path.find(item);
        let mut update = partita_core::expression::Update::default();
        let condition = match (stored, item.get(&path.root)) {
            (Some(stored), _) => {
                update = update.setting(path.clone(), Value::N(sum));
                Condition::equals(path, stored.clone())
            }
            (None, Some(_)) => {
                update = update.setting(path.clone(), Value::N(sum));
                Condition::NotExists(path)
            }
            // The map around it is missing too.
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

/// The place of a number.
enum Home {
    /// In the item that it is of.
    Item(Item),
    /// In the record that keeps it while the item is gone, if there is one.
    Kept(Option<Item>),
    /// Nowhere: the item is gone, and the number with it.
    None,
}

impl Home {
    fn is_there(&self) -> bool {
        matches!(self, Home::Item(_))
    }

    fn value(&self, place: &Place) -> Option<&Value> {
        match self {
            Home::Item(item) => nested::get(item, &place.attribute),
            Home::Kept(record) => kept_number(record.as_ref(), place),
            Home::None => None,
        }
    }
}
