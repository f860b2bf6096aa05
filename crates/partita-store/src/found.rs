//! Items as reads answer them: in parts, or still in the text that they are stored as.
//!
//! A store that keeps items as DynamoDB JSON hands this text out as it is, and an endpoint that
//! answers in DynamoDB JSON copies it. It is read only where an attribute is needed.

use std::fmt;

use bytes::Bytes;
use partita_core::Item;
use partita_core::size::{item_bytes, item_memory};

use crate::error::{StoreError, StoreResult};

/// How much more memory parts take than their text: as much as lists of empty texts do.
const MEMORY_OF_JSON: usize = 4;

/// An item that a read has found.
///
/// Two are equal if their items are, whatever form each is in.
#[derive(Clone)]
pub struct FoundItem(Form);

#[derive(Clone)]
enum Form {
    Parts(Item),
    Json {
        /// INVARIANT: one item in DynamoDB JSON. Who made it has written it, and the storage
        /// has held it against a checksum since.
        json: Bytes,
        /// As DynamoDB counts, which the text does not show without being read.
        size: usize,
    },
}

impl FoundItem {
    /// An item in DynamoDB JSON, of so many bytes as DynamoDB counts them. It must have been
    /// written from an item: it is not read before it is sent.
    pub fn from_json(json: Bytes, size: usize) -> Self {
        FoundItem(Form::Json { json, size })
    }

    /// Its bytes, as DynamoDB counts them.
    pub fn size(&self) -> usize {
        match &self.0 {
            Form::Parts(item) => item_bytes(item),
            Form::Json { size, .. } => *size,
        }
    }

    /// About how many bytes of memory its parts take.
    pub fn memory(&self) -> usize {
        match &self.0 {
            Form::Parts(item) => item_memory(item),
            Form::Json { json, .. } => json.len().saturating_mul(MEMORY_OF_JSON),
        }
    }

    /// The item in its parts.
    pub fn into_item(self) -> StoreResult<Item> {
        match self.0 {
            Form::Parts(item) => Ok(item),
            Form::Json { json, .. } => {
                serde_json::from_slice(&json).map_err(|error| StoreError::Corrupt {
                    message: format!("an item is not DynamoDB JSON: {error}"),
                })
            }
        }
    }

    /// Appends the item in DynamoDB JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Form::Parts(item) => serde_json::to_writer(out, item)
                .expect("values under strings always make JSON, and a vector takes it"),
            Form::Json { json, .. } => out.extend_from_slice(json),
        }
    }
}

impl From<Item> for FoundItem {
    fn from(item: Item) -> Self {
        FoundItem(Form::Parts(item))
    }
}

impl PartialEq for FoundItem {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Parts(one), Form::Parts(other)) => one == other,
            // Damage is not equal to anything.
            _ => match (self.clone().into_item(), other.clone().into_item()) {
                (Ok(one), Ok(other)) => one == other,
                _ => false,
            },
        }
    }
}

impl fmt::Debug for FoundItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.clone().into_item() {
            Ok(item) => item.fmt(f),
            Err(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
