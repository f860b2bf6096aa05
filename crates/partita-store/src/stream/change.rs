//! The change that a record describes.

use partita_core::Item;
use partita_core::size::item_bytes;

use super::{SequenceNumber, StreamEvent, StreamRecord, StreamView};
use crate::table::KeySchema;

/// An item before and after a write.
#[derive(Clone, Copy, Debug)]
pub struct ItemChange<'a> {
    /// The item as it was, if it was there.
    pub old: Option<&'a Item>,
    /// The item as it is, if it is there.
    pub new: Option<&'a Item>,
    /// Whether the item was deleted because it had expired.
    pub is_expiry: bool,
}

impl<'a> ItemChange<'a> {
    /// What happened; nothing if the write left everything as it was.
    pub fn event(&self) -> Option<StreamEvent> {
        match (self.old, self.new) {
            (None, None) => None,
            (None, Some(_)) => Some(StreamEvent::Insert),
            (Some(_), None) => Some(StreamEvent::Remove),
            (Some(old), Some(new)) => (old != new).then_some(StreamEvent::Modify),
        }
    }

    /// The record of it in a stream; none if the write left everything as it was.
    pub fn record(
        &self,
        schema: &KeySchema,
        view: StreamView,
        number: SequenceNumber,
        created_seconds: i64,
    ) -> Option<StreamRecord> {
        let event = self.event()?;
        let key = key_of(schema, self.old.or(self.new)?);
        let old = self.old.filter(|_| view.has_old()).cloned();
        let new = self.new.filter(|_| view.has_new()).cloned();
        let images = old.iter().chain(&new);
        let size_bytes = item_bytes(&key) + images.map(item_bytes).sum::<usize>();
        Some(StreamRecord {
            number,
            created_seconds,
            event,
            key,
            old,
            new,
            view,
            size_bytes,
            is_expiry: self.is_expiry,
        })
    }
}

fn key_of(schema: &KeySchema, item: &Item) -> Item {
    let value = |name: &str| Some((name.to_owned(), item.get(name)?.clone()));
    let attributes = schema.attributes();
    attributes.filter_map(|key| value(&key.name)).collect()
}

impl StreamView {
    /// Whether records carry the item as it was.
    pub fn has_old(self) -> bool {
        matches!(self, StreamView::OldImage | StreamView::NewAndOldImages)
    }

    /// Whether records carry the item as it is.
    pub fn has_new(self) -> bool {
        matches!(self, StreamView::NewImage | StreamView::NewAndOldImages)
    }
}

#[cfg(test)]
mod tests;
