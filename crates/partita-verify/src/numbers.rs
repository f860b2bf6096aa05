//! Counts and sums, compared with what counts for them.
//!
//! Where a store has reads of one moment, the numbers and their parts are read at the same, and what
//! was counted is what they should be. Elsewhere a scan is not a moment, and those that differ are
//! counted again, as `recount` says.
//!
//! Every write that changes a part changes the number by as much. So a number that is still what it
//! was seen as is wrong by as much as it was then, whatever was written meanwhile. One that is not is
//! left: another repair may have mended it.

use partita_core::expression::{Condition, Path};
use partita_core::{Item, Number, Value, plain};
use partita_design::design::Record;
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
use crate::reader::{Reader, Written, pause};
use crate::report::{Drift, DriftKind, Outcome, VerifyError, Watch};
use crate::suspects::Suspect;
use partita_design::nested;

/// How many numbers are looked at again at once.
const SUSPECTS_MAX: usize = 10_000;
/// Groups between two steps. They come from the disk, where there are many.
const STEP_GROUPS: usize = 1_000;
/// Items that are read at once; only their numbers are kept.
const READ_ITEMS: usize = 100;
/// How often a number is written that others write to.
const WRITES_MAX: u32 = 8;

impl<'a> Pass<'a> {
    /// Compares all numbers with what counts for them.
    pub(crate) async fn settle_numbers(
        &mut self,
        grouping: Grouping,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        let mut merge = grouping.merge()?;
        let (mut suspects, mut gone) = (Vec::new(), Vec::new());
        let mut groups = 0;
        while let Some((place, group)) = merge.next()? {
            match group.stored {
                Some(stored) if number(stored.as_ref()) != Some(group.sum) => {
                    suspects.push((place, group.sum));
                }
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
            groups += 1;
            if groups % STEP_GROUPS == 0 {
                watch.between_steps().await?;
            }
        }
        suspects.extend(self.forgotten(gone).await?);
        self.confirm(suspects, watch).await
    }

    /// Whether a number is kept while its item is gone, and is looked at.
    fn is_kept(&self, place: &Place) -> bool {
        let entity = self.outliving(place);
        entity.is_some_and(|entity| self.looked_at.has(entity))
    }

    /// Looks again at numbers that differ from what counts for them, and reports or mends them.
    async fn confirm(
        &mut self,
        mut suspects: Vec<(Place, Number)>,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        if suspects.is_empty() {
            return Ok(());
        }
        // The numbers of one item come one after the other.
        suspects.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let counted = if self.reader.is_of_one_moment() {
            let places: Vec<&Place> = suspects.iter().map(|(place, _)| place).collect();
            let seen = self.stored(&places, self.reader).await?;
            let sums = suspects.iter().map(|(_, sum)| Some(*sum));
            seen.into_iter().zip(sums).collect()
        } else {
            self.recount(&suspects, watch).await?
        };
        for ((place, sum), (seen, counted)) in suspects.into_iter().zip(counted) {
            let Some(drift) = self.judged(&place, &seen, counted.unwrap_or(sum)) else {
                continue;
            };
            let derived_by = match seen.home {
                Home::Kept => kept_place(&drift.says),
                Home::Item | Home::None => drift.says.clone(),
            };
            let outcome = match (counted, self.mode) {
                (None, _) => Outcome::Moving,
                (Some(_), Mode::Verify) => Outcome::Found,
                (Some(_), Mode::Survey) => Outcome::Mendable,
                (Some(_), Mode::Repair(_)) if self.is_later(&derived_by) => Outcome::Found,
                (Some(sum), Mode::Repair(_)) => match self.correct(&place, &seen, sum).await? {
                    Written::Done => Outcome::Mended,
                    Written::Stale => Outcome::Moving,
                    Written::Refused => Outcome::Left { removable: false },
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

    /// Some numbers, in their items or kept for them.
    pub(crate) async fn stored(
        &self,
        places: &[&Place],
        reader: Reader<'_>,
    ) -> StoreResult<Vec<Seen<'a>>> {
        let mut all = Vec::with_capacity(places.len());
        for places in places.chunks(READ_ITEMS) {
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
            let items = reader.items(&addresses).await?;
            for (place, at) in places.iter().zip(which) {
                let item = items[at].as_ref();
                all.push(self.seen(place, &addresses[at], item, reader).await?);
            }
        }
        Ok(all)
    }

    async fn seen(
        &self,
        place: &Place,
        address: &ItemAddress,
        item: Option<&Item>,
        reader: Reader<'_>,
    ) -> StoreResult<Seen<'a>> {
        if let Some(item) = item {
            let entity = match self.layout.recognise(&address.table, item) {
                Stored::Record(record, _) => Some(record),
                Stored::Guard(..) | Stored::Stranger => None,
            };
            return Ok(Seen {
                home: Home::Item,
                entity,
                value: nested::get(item, &place.attribute).cloned(),
            });
        }
        let Some(entity) = self.outliving(place) else {
            return Ok(Seen {
                home: Home::None,
                entity: None,
                value: None,
            });
        };
        let kept = self.kept_records(&[self.kept_at(place)?], reader).await?;
        let kept = kept.into_iter().next().flatten();
        Ok(Seen {
            home: Home::Kept,
            entity: Some(entity),
            value: kept_number(kept.as_ref(), place).cloned(),
        })
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
    fn judged(&self, place: &Place, seen: &Seen<'a>, sum: Number) -> Option<Drift> {
        let address = self.address(place).ok()?;
        let entity = seen.entity?;
        if number(seen.value.as_ref()) == Some(sum) {
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
        drift.stored = seen.value.clone();
        drift.expected = Some(Value::N(sum));
        if seen.home == Home::Kept {
            let kept = match &seen.value {
                Some(stored) => format!("is kept as {}", plain::to_json(stored)),
                None => "is not kept".to_owned(),
            };
            drift.note = Some(format!("{kept} while the item is gone, should be {sum}"));
        }
        Some(drift)
    }

    /// Writes the right number, if the wrong one is still there.
    async fn correct(&self, place: &Place, seen: &Seen<'a>, sum: Number) -> StoreResult<Written> {
        let reader = self.reader.now();
        for attempt in 0..WRITES_MAX {
            let now = self.stored(&[place], reader).await?;
            let Some(now) = now.into_iter().next() else {
                break;
            };
            if now != *seen {
                break;
            }
            match self.write(place, &now, sum).await? {
                Written::Stale => pause(attempt).await,
                written => return Ok(written),
            }
        }
        Ok(Written::Stale)
    }

    /// Writes a number, if the one that was seen is still there.
    async fn write(&self, place: &Place, now: &Seen<'a>, right: Number) -> StoreResult<Written> {
        let address = self.address(place)?;
        let reader = self.reader.now();
        let Some(entity) = now.entity else {
            return Ok(Written::Stale);
        };
        if now.home == Home::Kept {
            let kept = self.kept_records(&[self.kept_at(place)?], reader).await?;
            let kept = kept.into_iter().next().flatten();
            return self
                .keep(place, entity, &address, kept.as_ref(), right)
                .await;
        }
        let items = reader.items(std::slice::from_ref(&address)).await?;
        let Some(item) = items.into_iter().next().flatten() else {
            return Ok(Written::Stale);
        };
        let path = dotted(&place.attribute);
        let condition = match &now.value {
            Some(stored) => Condition::equals(path.clone(), stored.clone()),
            None => Condition::NotExists(path.clone()),
        };
        let mut whole = item.clone();
        nested::set(&mut whole, &place.attribute, Value::N(right));
        // Something else is in the place of the map around it, and that is not ours to replace.
        if nested::get(&whole, &place.attribute) != Some(&Value::N(right))
            || !has_maps_around(&item, &path)
        {
            return Ok(Written::Refused);
        }
        let (target, value) = match item.get(&path.root) {
            Some(_) => (path, Value::N(right)),
            None => {
                let root = path.root.clone();
                let value = whole.remove(&root).unwrap_or(Value::N(right));
                (Path::attribute(root), value)
            }
        };
        let partition = self.layout.table(&address.table);
        let partition = partition.map(|table| table.partition.clone());
        let is_there = partition.map(|name| Condition::Exists(Path::attribute(name)));
        let action = TransactAction::Update(UpdateItem {
            table: address.table,
            key: address.key,
            update: partita_core::expression::Update::default().setting(target, value),
            condition: is_there
                .into_iter()
                .chain([condition])
                .reduce(Condition::and),
            return_item_on_failure: false,
        });
        reader.write(vec![action]).await
    }
}

/// A number as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen<'d> {
    home: Home,
    /// The entity that has it; none if there is no item, or one of another kind.
    entity: Option<&'d Record>,
    value: Option<Value>,
}

/// The place of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// In the item that it is of.
    Item,
    /// In the record that keeps it while the item is gone.
    Kept,
    /// Nowhere: the item is gone, and the number with it.
    None,
}

/// Whether a path leads through maps, as far as there is something.
fn has_maps_around(item: &Item, path: &Path) -> bool {
    let mut around = Path::attribute(path.root.clone());
    for step in &path.steps {
        match around.find(item) {
            Some(Value::M(_)) => around.steps.push(step.clone()),
            Some(_) => return false,
            None => return true,
        }
    }
    true
}
