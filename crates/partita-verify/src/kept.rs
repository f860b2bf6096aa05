//! Numbers of items that are gone, over items that stay: the sidecar has them until the identity
//! comes back.
//!
//! `partita_design::sidecar` says where the record of an item is.

use partita_core::expression::{Condition, Path, Step, Update};
use partita_core::{Item, Map, Number, Value};
use partita_design::design::Record;
use partita_design::sidecar::{self, KEPT, KEPT_ENTITY, KEPT_NUMBERS, PARTITION, SORT};
use partita_store::request::{ConditionCheck, ItemAddress, PutItem, TransactAction, UpdateItem};
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::check::shares::number;
use crate::grouping::{Grouping, Place};
use crate::pass::Pass;
use crate::reader::{Reader, Written, distinct};
use crate::report::{VerifyError, Watch};

/// How many numbers of missing items are looked up at once.
pub(crate) const GONE_MAX: usize = 1_000;

impl<'a> Pass<'a> {
    /// Makes a group of every number that is kept, also where nothing counts for it any more.
    pub(crate) async fn group_kept(
        &self,
        grouping: &mut Grouping,
        watch: &mut dyn Watch,
    ) -> Result<(), VerifyError> {
        let mut pages = self.reader.pages(self.sidecar()?, self.extent);
        loop {
            let items = match pages.next().await {
                // Nothing was ever kept beside the table.
                Ok(None) | Err(StoreError::TableNotFound { .. }) => return Ok(()),
                items => items?.unwrap_or_default(),
            };
            for place in items.iter().flat_map(|item| self.places(item)) {
                grouping.add(place, Number::default())?;
            }
            self.step(watch).await?;
        }
    }

    /// The numbers that a record of the sidecar keeps, if it keeps some.
    fn places(&self, item: &Item) -> Vec<Place> {
        let text = |name: &str| item.get(name).and_then(Value::as_str);
        let (Some(key), Some(sort)) = (
            text(PARTITION).and_then(|key| key.strip_prefix(KEPT)),
            text(SORT),
        ) else {
            return Vec::new();
        };
        let owner = self.layout.names().find_map(|table| {
            let partition = key.strip_prefix(table.as_str())?.strip_prefix('#')?;
            Some((table.to_string(), partition.to_owned()))
        });
        let Some((table, partition)) = owner else {
            return Vec::new();
        };
        let names = numbers(Some(item)).into_iter().flat_map(Map::keys);
        let place = |name: &partita_core::Name| Place {
            table: table.clone(),
            partition: partition.clone(),
            sort: sort.to_owned(),
            attribute: name.to_string(),
        };
        names.map(place).collect()
    }

    /// Those of some numbers of missing items that are not kept as they are counted.
    pub(crate) async fn forgotten(
        &self,
        gone: Vec<(Place, Number)>,
    ) -> StoreResult<Vec<(Place, Number)>> {
        // The numbers of one item come one after the other.
        let (addresses, which) = distinct(gone.iter().map(|(place, _)| self.kept_at(place)))?;
        let kept = self.kept_records(&addresses, self.reader).await?;
        let differing = gone.into_iter().zip(which).filter(|((place, sum), at)| {
            number(kept_number(kept[*at].as_ref(), place)) != Some(*sum)
        });
        Ok(differing.map(|(counted, _)| counted).collect())
    }

    /// Records of the sidecar, each found or missing.
    pub(crate) async fn kept_records(
        &self,
        addresses: &[ItemAddress],
        reader: Reader<'_>,
    ) -> StoreResult<Vec<Option<Item>>> {
        match reader.items(addresses).await {
            Err(StoreError::TableNotFound { .. }) => Ok(vec![None; addresses.len()]),
            items => items,
        }
    }

    /// The entity whose number this is, if it outlives the entity's items.
    pub(crate) fn outliving(&self, place: &Place) -> Option<&'a Record> {
        let design = self.layout.design;
        design.entities().find(|entity| {
            let is_key = design[entity.table].name == place.table
                && entity.key.partition.read(&place.partition).is_some()
                && entity.key.sort.read(&place.sort).is_some();
            let mut numbers = design.kept_numbers(entity);
            // What cannot be counted again is left as it is.
            let is_countable = self.numbers.find(entity, &place.attribute).is_some();
            is_key && is_countable && numbers.any(|one| one.name == place.attribute)
        })
    }

    /// Where a number is kept.
    pub(crate) fn kept_at(&self, place: &Place) -> StoreResult<ItemAddress> {
        let partition = sidecar::kept_partition(&place.table, &place.partition);
        Ok(ItemAddress {
            table: self.sidecar()?,
            key: Item::from([
                (PARTITION, Value::S(partition)),
                (SORT, Value::S(place.sort.clone())),
            ]),
        })
    }

    fn sidecar(&self) -> StoreResult<TableName> {
        sidecar::name(self.layout.design).parse()
    }

    /// Keeps the right number, if the wrong one is still kept and the item is still gone. Where none
    /// is kept, nothing is taken from it for a part that goes meanwhile: the next round sees that.
    pub(crate) async fn keep(
        &self,
        place: &Place,
        entity: &Record,
        owner: &ItemAddress,
        record: Option<&Item>,
        sum: Number,
    ) -> Result<Written, VerifyError> {
        let ItemAddress { table, key } = self.kept_at(place)?;
        let path = kept_path(place);
        let action = match (record, kept_number(record, place)) {
            (None, _) => {
                let mut item = key;
                item.insert(KEPT_ENTITY, Value::from(entity.name.as_str()));
                let numbers = Map::from([(place.attribute.as_str(), Value::N(sum))]);
                item.insert(KEPT_NUMBERS, Value::M(numbers));
                TransactAction::Put(PutItem {
                    condition: Some(Condition::NotExists(Path::attribute(PARTITION))),
                    ..PutItem::new(table, item)
                })
            }
            (Some(_), stored) => TransactAction::Update(UpdateItem {
                table,
                key,
                update: Update::default().setting(path.clone(), Value::N(sum)),
                condition: Some(match stored {
                    Some(stored) => Condition::equals(path, stored.clone()),
                    None => Condition::Exists(Path::attribute(KEPT_NUMBERS))
                        .and(Condition::NotExists(path)),
                }),
                return_item_on_failure: false,
            }),
        };
        let partition = &self.layout.design[entity.table].partition;
        let is_gone = TransactAction::Check(ConditionCheck {
            table: owner.table.clone(),
            key: owner.key.clone(),
            condition: Condition::NotExists(Path::attribute(partition)),
            return_item_on_failure: false,
        });
        self.write_number(vec![action, is_gone]).await
    }
}

fn numbers(record: Option<&Item>) -> Option<&Map> {
    match record?.get(KEPT_NUMBERS)? {
        Value::M(numbers) => Some(numbers),
        _ => None,
    }
}

/// Where a number is in the record that keeps it.
pub(crate) fn kept_path(place: &Place) -> Path {
    let mut path = Path::attribute(KEPT_NUMBERS);
    let name = place.attribute.as_str();
    path.steps.push(Step::Field(name.into()));
    path
}

/// A number in the record that keeps it.
pub(crate) fn kept_number<'r>(record: Option<&'r Item>, place: &Place) -> Option<&'r Value> {
    numbers(record)?.get(&place.attribute)
}
