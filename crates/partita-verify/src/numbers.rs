//! Counts and sums, compared with what counts for them.
//!
//! Where a store has reads of one moment, the numbers and their parts are read at the same, and what
//! was counted is what they should be. Elsewhere a scan is not a moment, and those that differ are
//! counted again, as `recount` says.
//!
//! `correct` says how a wrong one is mended.

use partita_core::{Item, Number, Value, plain};

use partita_design::design::{Record, Source, Timing};
use partita_design::expression::Origin;
use partita_design::time::TimeForm;
use partita_design::types::AttributeType;
use partita_store::request::ItemAddress;
use partita_store::{StoreResult, table::TableName};

use crate::check::drift;
use crate::check::shares::number;
use crate::derivation::{attribute_place, kept_place};
use crate::grouping::{Grouping, Place};
use crate::kept::{GONE_MAX, kept_number};
use crate::layout::Stored;
use crate::pass::{Mode, Pass};
use crate::reader::{Reader, Written, distinct};
use crate::report::{Drift, DriftKind, Outcome, VerifyError, Watch};
use crate::suspects::Suspect;
use partita_design::nested;

/// How many numbers are looked at again at once where that takes scans.
const SUSPECTS_MAX: usize = 10_000;
/// Groups between two steps. They come from the disk, where there are many.
const STEP_GROUPS: usize = 1_000;
/// Items that are read at once; only their numbers are kept.
const READ_ITEMS: usize = 100;

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
        // Without a scan there is nothing to share, and many would be read in one step.
        let suspects_max = if self.reader.is_of_one_moment() {
            READ_ITEMS
        } else {
            SUSPECTS_MAX
        };
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
            if suspects.len() >= suspects_max {
                self.confirm(std::mem::take(&mut suspects), watch).await?;
            }
            groups += 1;
            if groups % STEP_GROUPS == 0 {
                self.step(watch).await?;
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
                // An item that the design does not recognise may be one that counts.
                (Some(_), _) if self.rights.is_held() => Outcome::Held,
                (Some(_), Mode::Survey) => Outcome::Mendable,
                (Some(_), Mode::Repair(_)) if self.is_later(&derived_by) => Outcome::Found,
                (Some(sum), Mode::Repair(_)) => match self.correct(&place, &seen, sum).await? {
                    Written::Done => Outcome::Mended,
                    Written::Stale | Written::Replaced => Outcome::Moving,
                    Written::Refused => Outcome::Left { removable: false },
                },
            };
            let suspect = Suspect {
                drift,
                outcome,
                derived_by: Some(derived_by),
            };
            self.suspect(watch, suspect);
            self.step(watch).await?;
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
            let (addresses, which) = distinct(places.iter().map(|place| self.address(place)))?;
            let items = reader.items(&addresses).await?;
            for (place, at) in places.iter().zip(which) {
                let item = items[at].as_ref();
                all.push(self.seen(place, item, reader).await?.0);
            }
        }
        Ok(all)
    }

    /// The number at a place. If its item is gone: the one that the sidecar keeps, with its row.
    pub(crate) async fn seen(
        &self,
        place: &Place,
        item: Option<&Item>,
        reader: Reader<'_>,
    ) -> StoreResult<(Seen<'a>, Option<Item>)> {
        if let Some(item) = item {
            let table: TableName = place.table.parse()?;
            let entity = match self.layout.recognise(&table, item) {
                Stored::Record(record, _) => Some(record),
                Stored::Guard(..) | Stored::Stranger | Stored::Foreign => None,
            };
            let value = nested::get(item, &place.attribute).cloned();
            let seen = Seen {
                birth: entity.and_then(|entity| birth(entity, item)),
                ..Seen::new(Home::Item, entity, value)
            };
            return Ok((seen, None));
        }
        let Some(entity) = self.outliving(place) else {
            return Ok((Seen::new(Home::None, None, None), None));
        };
        let kept = self.kept_records(&[self.kept_at(place)?], reader).await?;
        let kept = kept.into_iter().next().flatten();
        let value = kept_number(kept.as_ref(), place).cloned();
        Ok((Seen::new(Home::Kept, Some(entity), value), kept))
    }

    pub(crate) fn address(&self, place: &Place) -> StoreResult<ItemAddress> {
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
}

/// A number as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen<'d> {
    pub(crate) home: Home,
    /// The entity that has it; none if there is no item, or one of another kind.
    pub(crate) entity: Option<&'d Record>,
    pub(crate) value: Option<Value>,
    /// The attribute that says when the item was created, and what it says.
    pub(crate) birth: Option<(String, Value)>,
}

impl<'d> Seen<'d> {
    fn new(home: Home, entity: Option<&'d Record>, value: Option<Value>) -> Seen<'d> {
        Seen {
            home,
            entity,
            value,
            birth: None,
        }
    }

    /// Whether this is the number of an item that was created at the same time, where that is known.
    pub(crate) fn has_birth_of(&self, other: &Seen<'_>) -> bool {
        self.birth.is_some() && self.birth == other.birth
    }
}

/// The attribute of an item that has the time of its creation.
fn birth(entity: &Record, item: &Item) -> Option<(String, Value)> {
    let birth = entity.attributes.iter().find(|attribute| {
        let Source::Computed(computed) = &attribute.source else {
            return false;
        };
        let mut reads = computed.value.reads.iter();
        attribute.kind == AttributeType::Time(TimeForm::Timestamp)
            && computed.timing == Timing::Create
            && reads.all(|one| one.origin == Origin::Now)
    })?;
    Some((birth.name.clone(), nested::get(item, &birth.name)?.clone()))
}

/// The place of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the item that it is of.
    Item,
    /// In the record that keeps it while the item is gone.
    Kept,
    /// Nowhere: the item is gone, and the number with it.
    None,
}
