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
use partita_store::StoreResult;
use partita_store::request::ItemAddress;

use crate::grouping::Place;
use crate::numbers::Seen;
use crate::pass::Pass;
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
        let mut stillness = Stillness {
            is_still: vec![true; places.len()],
            before: self.stored(&places, self.reader).await?,
            places,
        };
        let first = self.count_parts(&mut stillness, watch).await?;
        let second = self.count_parts(&mut stillness, watch).await?;
        stillness.look(self).await?;
        let Stillness {
            before, is_still, ..
        } = stillness;
        let counts = first.into_iter().zip(second);
        let judged = before.into_iter().zip(is_still).zip(counts);
        let judged = judged.map(|((seen, is_still), (first, second))| {
            (seen, (is_still && first == second).then_some(second.sum))
        });
        Ok(judged.collect())
    }

    /// What one scan meets that counts for some numbers, while these are watched.
    async fn count_parts(
        &self,
        stillness: &mut Stillness<'_, 'a>,
        watch: &mut dyn Watch,
    ) -> Result<Vec<Parts>, VerifyError> {
        let places = stillness.places.clone();
        let mut parts: HashMap<&Place, Parts> = HashMap::new();
        parts.extend(places.iter().map(|place| (*place, Parts::default())));
        let mut scanned = 0;
        for table in self.layout.names() {
            let mut pages = self.reader.pages(table.clone(), self.extent);
            while let Some(items) = pages.next().await? {
                for judged in self.judge_page(table, &items).await? {
                    for (place, amount) in &judged.shares {
                        if let Some(parts) = parts.get_mut(place) {
                            parts.add(&judged.address, *amount);
                        }
                    }
                }
                scanned += 1;
                if scanned % places.len().div_ceil(SAMPLE) == 0 {
                    stillness.look(self).await?;
                }
                self.step(watch).await?;
            }
        }
        Ok(places.iter().map(|place| parts[place]).collect())
    }
}

/// Some numbers, and whether each is what it was whenever they were looked at.
struct Stillness<'p, 'a> {
    places: Vec<&'p Place>,
    before: Vec<Seen<'a>>,
    is_still: Vec<bool>,
}

impl<'a> Stillness<'_, 'a> {
    async fn look(&mut self, pass: &Pass<'a>) -> StoreResult<()> {
        let now = pass.stored(&self.places, pass.reader).await?;
        let both = self.before.iter().zip(&now);
        for (is_still, (before, now)) in self.is_still.iter_mut().zip(both) {
            *is_still &= before == now;
        }
        Ok(())
    }
}

impl Parts {
    fn add(&mut self, address: &ItemAddress, amount: Number) {
        self.sum = self.sum.checked_add(amount).unwrap_or(self.sum);
        let print = fingerprint(address, amount);
        self.fingerprint = self.fingerprint.wrapping_add(print);
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
