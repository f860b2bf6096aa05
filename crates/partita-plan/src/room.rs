//! Bytes of memory that items may take.

use partita_core::Item;
use partita_core::size::item_memory;
use partita_store::FoundItem;

use crate::error::PlanError;
use crate::load;

/// Bytes of memory that the items which a plan rests on take at most. As many as a transaction
/// writes, each of 400 KB of text, have room.
pub(crate) const READS_MEMORY_MAX: usize = 64 * 1_048_576;

/// Bytes of memory beyond which it is counted what an item takes, and not estimated.
const COUNTED_MEMORY_MIN: usize = 256 * 1024;

/// Room for items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    most: usize,
    left: usize,
}

impl Default for Room {
    /// Room for anything.
    fn default() -> Self {
        Room::new(usize::MAX)
    }
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Room {
        Room {
            most: bytes,
            left: bytes,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Takes an item apart, if there is room for it.
    pub(crate) async fn take(&mut self, found: FoundItem) -> Result<Item, PlanError> {
        let (item, memory) = taken_apart(found).await?;
        self.spend(memory)?;
        Ok(item)
    }

    /// Takes an item apart. If there is no room for it, it is the last.
    pub(crate) async fn take_last(&mut self, found: FoundItem) -> Result<Item, PlanError> {
        let (item, memory) = taken_apart(found).await?;
        self.left = self.left.saturating_sub(memory);
        Ok(item)
    }

    /// Counts bytes, if there is room for them. Otherwise none is left.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), PlanError> {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.map(drop).ok_or(PlanError::TooMuchMemory {
            megabytes: self.most >> 20,
        })
    }
}

/// An item in its parts, and how many bytes of memory it takes.
async fn taken_apart(found: FoundItem) -> Result<(Item, usize), PlanError> {
    let estimate = found.memory();
    load::take(estimate).await;
    let item = found.into_item()?;
    let memory = if estimate > COUNTED_MEMORY_MIN {
        item_memory(&item)
    } else {
        estimate
    };
    Ok((item, memory))
}
