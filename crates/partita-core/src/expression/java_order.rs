//! The order in which Java's hash maps give their keys.
//!
//! The service is written in Java, and some of its messages name the keys of a hash map in the
//! map's own order. It is fixed by the keys, so we can answer with the very same text.

use std::collections::HashSet;

/// Names as the service lists them: each once, in the order of a `java.util.HashSet` that
/// received them one by one.
pub fn listed(names: Vec<&str>) -> Vec<&str> {
    let mut seen = HashSet::new();
    let distinct = names.into_iter().filter(|name| seen.insert(*name));
    order_of_growth(distinct.collect())
}

/// The keys in the order of a `java.util.HashSet` that was copied from a collection.
pub(super) fn order_of_copy<K: JavaHash>(keys: Vec<K>) -> Vec<K> {
    // Java makes room for `length / 0.75 + 1` keys, and at least for 16.
    let buckets = (keys.len() * 4 / 3 + 1).next_power_of_two().max(16);
    ordered(keys, buckets)
}

/// The keys in the order of a `java.util.HashMap` that received them one by one.
pub(super) fn order_of_growth<K: JavaHash>(keys: Vec<K>) -> Vec<K> {
    let mut buckets = 16;
    while keys.len() * 4 > buckets * 3 {
        buckets *= 2;
    }
    ordered(keys, buckets)
}

fn ordered<K: JavaHash>(mut keys: Vec<K>, buckets: usize) -> Vec<K> {
    // Within a bucket the order of arrival stays, so the sort must be stable.
    keys.sort_by_key(|key| {
        let hash = key.java_hash();
        (hash ^ (hash >> 16)) as usize & (buckets - 1)
    });
    keys
}

/// What Java's `hashCode` gives, its bits taken as unsigned.
pub(super) trait JavaHash {
    fn java_hash(&self) -> u32;
}

impl JavaHash for &str {
    fn java_hash(&self) -> u32 {
        self.encode_utf16().fold(0, |hash: u32, unit| {
            hash.wrapping_mul(31).wrapping_add(u32::from(unit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_listed_once() {
        let names = vec!["status", "b", "x y", "b"];
        assert_eq!(listed(names), ["x y", "b", "status"]);
    }

    #[test]
    fn orders_that_dynamodb_local_gave() {
        let check = |keys: &[&'static str], expected: &[&str]| {
            assert_eq!(order_of_copy(keys.to_vec()), expected);
        };
        check(&["#a", "#c", "#b"], &["#c", "#a", "#b"]);
        check(
            &[":1yng", ":byBa", ":Crogub"],
            &[":1yng", ":Crogub", ":byBa"],
        );
        check(
            &[":b", ":aynBb_", ":C2", ":owoo0", ":bAg"],
            &[":owoo0", ":bAg", ":b", ":aynBb_", ":C2"],
        );
    }
}
