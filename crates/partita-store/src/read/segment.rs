//! Parts of a parallel scan.

use partita_core::key::KeyValue;

use crate::error::{StoreError, StoreResult};
use crate::request::Segment;

/// Parts of one scan at most.
const SEGMENTS_MAX: u32 = 1_000_000;

impl Segment {
    /// Refuses a part that is not one of the whole.
    pub(super) fn check(self) -> StoreResult<()> {
        let Segment { number, total } = self;
        if !(1..=SEGMENTS_MAX).contains(&total) {
            return Err(StoreError::validation(format!(
                "a parallel scan has 1 to {SEGMENTS_MAX} segments, not {total}"
            )));
        }
        if number >= total {
            return Err(StoreError::validation(format!(
                "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {number} is not less than TotalSegments: {total}"
            )));
        }
        Ok(())
    }

    /// Whether a row belongs to this part: whole partitions do, spread by a hash.
    pub fn contains(self, partition: &[KeyValue]) -> bool {
        hash(partition) % u64::from(self.total) == u64::from(self.number)
    }
}

/// FNV-1a of the key's bytes. The standard library's hash may change with its releases, and a
/// scan that goes on after an upgrade must find its partitions where they were.
fn hash(partition: &[KeyValue]) -> u64 {
    let mut bytes = Vec::new();
    for value in partition {
        value.write(&mut bytes);
    }
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests;
