//! Numbers counted while others write, in a store that has no reads of one moment.
//!
//! A scan may meet a part before it is removed, and another after it was added, while the number is
//! the same before and after. So the parts are counted twice, with a fingerprint of which they are,
//! and the number is read again and again meanwhile. It is judged only if it never changed, and both
//! scans met the same parts.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use partita_core::{Number, Value};
use partita_store::request::{ItemAddress, Scan};

use crate::grouping::Place;
use crate::numbers::Seen;
use crate::pass::{Pass, page};
use crate::report::{VerifyError, Watch};

/// Numbers that are read for each page of a scan, so that reading them costs no more than the scan.
const SAMPLE: usize = 100;

/// What counts for a number, as one scan met it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Parts {
    sum: Number,
    /// Which they are, in any order.
    fingerprint: u64,
}

impl<'a> Pass<'a> {
    /// Each number with what it should be; none where it changes.
    pub(crate) async fn recount(
        &self,
        suspects: &[(Place, Number)],
        watch: &mut dyn Watch,
    ) -> Result<Vec<(Seen<'a>, Option<Number>)>, VerifyError> {
        let places: Vec<&Place> = suspects.iter().map(|(place, _)| place).collect();
        let before = self.stored(&places, self.reader).await?;
        let mut is_still = vec![true; places.len()];
        let mut counts = Vec::new();
        for _ in 0..2 {
            let mut parts: HashMap<&Place, Parts> = HashMap::new();
            parts.extend(places.iter().map(|place| (*place, Parts::default())));
            let mut pages = 0;
            for table in self.layout.names() {
                let mut request = page(table.clone(), self.extent);
                loop {
                    let last_key = self.count_page(&request, &mut parts).await?;
                    pages += 1;
                    if pages % places.len().div_ceil(SAMPLE) == 0 {
                        let now = self.stored(&places, self.reader).await?;
                        let changed = before.iter().zip(&now).map(|(before, now)| before == now);
                        is_still
                            .iter_mut()
                            .zip(changed)
                            .for_each(|(all, one)| *all &= one);
                    }
                    watch.between_steps().await?;
                    match last_key {
                        None => break,
                        last_key => request.start_after = last_key,
                    }
                }
            }
            counts.push(places.iter().map(|place| parts[place]).collect::<Vec<_>>());
        }
        let after = self.stored(&places, self.reader).await?;
        let judged = before
            .into_iter()
            .zip(after)
            .enumerate()
            .map(|(at, (before, after))| {
                let is_still = is_still[at] && before == after && counts[0][at] == counts[1][at];
                (after, is_still.then_some(counts[1][at].sum))
            });
        Ok(judged.collect())
    }

    /// Adds what the items of a page count; answers with where the next one begins.
    async fn count_page(
        &self,
        request: &Scan,
        parts: &mut HashMap<&Place, Parts>,
    ) -> Result<Option<partita_core::Item>, VerifyError> {
        let found = self.reader.scan(request).await?;
        for judged in self.judge_page(request, &found.items).await? {
            for (place, amount) in &judged.shares {
                if let Some(parts) = parts.get_mut(place) {
                    parts.sum = parts.sum.checked_add(*amount).unwrap_or(parts.sum);
                    let print = fingerprint(&judged.address, *amount);
                    parts.fingerprint = parts.fingerprint.wrapping_add(print);
                }
            }
        }
        Ok(found.last_key)
    }
}

fn fingerprint(address: &ItemAddress, amount: Number) -> u64 {
    let mut hasher = DefaultHasher::new();
    address.table.as_str().hash(&mut hasher);
    for value in address.key.values() {
        value.as_str().hash(&mut hasher);
    }
    Value::N(amount).hash(&mut hasher);
    hasher.finish()
}
