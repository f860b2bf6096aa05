//! Counts and sums, mended.
//!
//! Every write that changes a part changes the number by as much. So a number is wrong by as much as
//! it was seen to be, whatever was written meanwhile, if no other repair has mended it and its item
//! was not removed and created again. The `lock` sees to the first. A store with reads of one moment
//! tells the second; elsewhere the time at which the item was created does. The difference is added.
//! Where nothing tells, a number is written only if it is what it was seen as.

use partita_core::expression::{Condition, Path, SetOperand, SetValue, Update};
use partita_core::{Item, Number, Type, Value};
use partita_design::nested;
use partita_design::template::dotted;
use partita_store::request::{ItemAddress, TransactAction, UpdateItem};

use crate::check::shares::number;
use crate::grouping::Place;
use crate::kept::kept_path;
use crate::numbers::{Home, Seen};
use crate::pass::Pass;
use crate::reader::{Written, pause};
use crate::report::VerifyError;

/// How often a number is written that others write to.
const WRITES_MAX: u32 = 8;

impl<'a> Pass<'a> {
    /// Mends a number: by the difference that it had, or if it still is what it was.
    pub(crate) async fn correct(
        &self,
        place: &Place,
        seen: &Seen<'a>,
        sum: Number,
    ) -> Result<Written, VerifyError> {
        let reader = self.reader.now();
        let address = self.address(place)?;
        for attempt in 0..WRITES_MAX {
            let item = reader.items(std::slice::from_ref(&address)).await?;
            let item = item.into_iter().next().flatten();
            let (now, kept) = self.seen(place, item.as_ref(), reader).await?;
            let written = match (now.home, now.entity, &item) {
                (_, Some(_), _) if self.may_add(seen, &now) => {
                    self.add(place, &address, seen, sum).await?
                }
                _ if now != *seen => break,
                (Home::Item, Some(_), Some(item)) => self.write(place, &address, item, sum).await?,
                (Home::Kept, Some(entity), _) => {
                    let kept = kept.as_ref();
                    self.keep(place, entity, &address, kept, sum).await?
                }
                _ => break,
            };
            match written {
                Written::Stale => pause(attempt).await,
                Written::Replaced => break,
                written => return Ok(written),
            }
        }
        self.settle_writes().await?;
        Ok(Written::Stale)
    }

    /// Whether a number is wrong by as much as it was seen to be, whatever it is now: nobody else has
    /// mended it, and whether its item was removed and created again is told when it is written.
    fn may_add(&self, seen: &Seen<'a>, now: &Seen<'a>) -> bool {
        let is_told = self.reader.is_of_one_moment() || seen.has_birth_of(now);
        self.has_lock()
            && is_told
            && seen.home == now.home
            && number(seen.value.as_ref()).is_some()
            && matches!(now.value, Some(Value::N(_)))
    }

    /// Adds what a number lacked when it was seen.
    async fn add(
        &self,
        place: &Place,
        owner: &ItemAddress,
        seen: &Seen<'a>,
        sum: Number,
    ) -> Result<Written, VerifyError> {
        let lacked = number(seen.value.as_ref()).and_then(|was| sum.checked_sub(was).ok());
        let Some(lacked) = lacked else {
            return Ok(Written::Refused);
        };
        let (ItemAddress { table, key }, path) = match seen.home {
            Home::Kept => (self.kept_at(place)?, kept_path(place)),
            Home::Item | Home::None => (owner.clone(), dotted(&place.attribute)),
        };
        let now = SetOperand::Path(path.clone());
        let more = SetOperand::Value(Value::N(lacked));
        let mut update = Update::default();
        update.set.push((path.clone(), SetValue::Plus(now, more)));
        let birth = seen.birth.as_ref();
        let birth = birth.map(|(name, born)| Condition::equals(dotted(name), born.clone()));
        let is_number = Condition::HasType(path, Type::N);
        let action = TransactAction::Update(UpdateItem {
            table,
            key,
            update,
            condition: Some(birth.into_iter().fold(is_number, Condition::and)),
            return_item_on_failure: false,
        });
        self.write_number(vec![action]).await
    }

    /// Writes a number of an item, if the one that was read is still there.
    async fn write(
        &self,
        place: &Place,
        address: &ItemAddress,
        item: &Item,
        right: Number,
    ) -> Result<Written, VerifyError> {
        let path = dotted(&place.attribute);
        let condition = match nested::get(item, &place.attribute) {
            Some(stored) => Condition::equals(path.clone(), stored.clone()),
            None => Condition::NotExists(path.clone()),
        };
        let mut whole = item.clone();
        nested::set(&mut whole, &place.attribute, Value::N(right));
        // Something else is in the place of the map around it, and that is not ours to replace.
        if nested::get(&whole, &place.attribute) != Some(&Value::N(right))
            || !has_maps_around(item, &path)
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
            table: address.table.clone(),
            key: address.key.clone(),
            update: Update::default().setting(target, value),
            condition: is_there
                .into_iter()
                .chain([condition])
                .reduce(Condition::and),
            return_item_on_failure: false,
        });
        self.write_number(vec![action]).await
    }
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
