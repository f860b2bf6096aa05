//! The ids that answers carry.

use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use partita_store::Entropy;

/// Unique ids: from a random beginning, one after the other, and scrambled so
/// that they look as the service's do.
///
/// They distinguish answers and are no secret, so that not each of them is worth a call to the
/// operating system, which is one of the four that a GetItem takes.
pub(crate) struct RequestIds {
    beginning: u64,
    given: AtomicU64,
}

/// 52 letters and digits, as the service's ids have.
const LENGTH: usize = 52;
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
/// Letters that one scrambled number gives, at five bits each.
const LETTERS_OF_NUMBER: usize = 12;

impl RequestIds {
    pub(crate) fn new(entropy: &dyn Entropy) -> Self {
        let mut beginning = [0; 8];
        entropy.fill(&mut beginning);
        RequestIds {
            beginning: u64::from_le_bytes(beginning),
            given: AtomicU64::new(0),
        }
    }

    pub(crate) fn next(&self) -> HeaderValue {
        let given = self.given.fetch_add(1, Ordering::Relaxed);
        let mut id = [0; LENGTH];
        for (part, letters) in id.chunks_mut(LETTERS_OF_NUMBER).enumerate() {
            let number = self.beginning.wrapping_add(given);
            let mut bits = scrambled(number ^ (part as u64) << 60);
            for letter in letters {
                *letter = LETTERS[(bits % 32) as usize];
                bits /= 32;
            }
        }
        HeaderValue::from_bytes(&id).expect("letters and digits make a header")
    }
}

/// The finalizer of SplitMix64: every bit depends on every bit, and no two numbers become one.
fn scrambled(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use partita_store::surroundings::SeededEntropy;

    use super::*;

    #[test]
    fn ids_are_52_letters_and_digits_and_never_the_same() {
        let ids = RequestIds::new(&SeededEntropy::new(1));
        let ids: HashSet<_> = (0..1_000).map(|_| ids.next()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in ids {
            assert_eq!(id.len(), LENGTH);
            assert!(id.as_bytes().iter().all(|byte| LETTERS.contains(byte)));
        }
    }

    #[test]
    fn two_servers_give_different_ones() {
        let next = |seed| RequestIds::new(&SeededEntropy::new(seed)).next();
        assert_ne!(next(1), next(2));
    }
}
