//! Attribute values, keys and items.

use fastrand::Rng;
use serde_json::{Map, Value as Json, json};

use super::tables::{INDEXED, Key, Keys, Table};

/// The attributes that items have besides their keys. One is a reserved word, one needs `#`.
pub(super) const NAMES: [&str; 12] = [
    "a", "b", "c", "g", "l", "m", "n", "s", "ss", "ns", "status", "x y",
];

const TEXTS: [&str; 8] = ["", "a", "ab", "abc", "b", "B", "é", "a much longer text"];
/// As DynamoDB prints them, and so do sums of them: DynamoDB Local keeps `1E2` in a list, and
/// adds 1.5 and 1.5 to 3.0. The corpus has such cases (`numbers.txt`).
const NUMBERS: [&str; 7] = ["0", "1", "2", "-1", "10", "42", "0.001"];
const BYTES: [&str; 5] = ["AA==", "AAE=", "/w==", "YWI=", "YWJj"];

pub(super) fn pick<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

/// A value of one type.
pub(super) fn of_type(random: &mut Rng, kind: &str) -> Json {
    match kind {
        "S" => json!({"S": pick(random, &TEXTS)}),
        "N" => json!({"N": pick(random, &NUMBERS)}),
        "B" => json!({"B": pick(random, &BYTES)}),
        "SS" => json!({"SS": some(random, &TEXTS[1..])}),
        "NS" => json!({"NS": some(random, &NUMBERS)}),
        "BS" => json!({"BS": some(random, &BYTES)}),
        "BOOL" => json!({"BOOL": random.bool()}),
        "NULL" => json!({"NULL": true}),
        "L" => json!({"L": (0..random.usize(..4)).map(|_| simple(random)).collect::<Json>()}),
        _ => {
            let names = ["a", "b", "x y"].into_iter().filter(|_| random.bool());
            let names: Vec<_> = names.collect();
            let entries = names
                .iter()
                .map(|name| ((*name).to_owned(), simple(random)));
            json!({"M": entries.collect::<Map<_, _>>()})
        }
    }
}

/// One to three different elements.
fn some<'a>(random: &mut Rng, of: &[&'a str]) -> Vec<&'a str> {
    let count = random.usize(1..=3);
    let start = random.usize(..of.len());
    (0..count).map(|at| of[(start + at) % of.len()]).collect()
}

pub(super) const TYPES: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"];

/// A value of any type.
pub(super) fn any(random: &mut Rng) -> Json {
    let kind = pick(random, &TYPES);
    of_type(random, kind)
}

/// A value without others in it, but for one time in ten.
fn simple(random: &mut Rng) -> Json {
    match random.u8(..10) {
        0 => of_type(random, "L"),
        1 => of_type(random, "M"),
        _ => {
            let kind = pick(random, &TYPES[..8]);
            of_type(random, kind)
        }
    }
}

/// A value that suits the attribute's name.
pub(super) fn named(random: &mut Rng, name: &str) -> Json {
    if let Some((_, kind)) = INDEXED.iter().find(|(known, _)| *known == name) {
        return key_value(random, kind);
    }
    match name {
        "l" => of_type(random, "L"),
        "m" => of_type(random, "M"),
        "ss" => of_type(random, "SS"),
        "ns" => of_type(random, "NS"),
        _ => any(random),
    }
}

/// A value for a key: few, so that requests meet the same items; never empty.
pub(super) fn key_value(random: &mut Rng, kind: &str) -> Json {
    match kind {
        "S" => json!({"S": pick(random, &["a", "ab", "b"])}),
        "N" => json!({"N": pick(random, &["0", "1", "2", "10", "-1", "1.5"])}),
        _ => json!({"B": pick(random, &["AA==", "AAE=", "/w=="])}),
    }
}

/// The key of an item, there or not.
pub(super) fn key(random: &mut Rng, keys: Keys) -> Map<String, Json> {
    let value = |(name, kind): Key| (name.to_owned(), key_value(random, kind));
    keys.all().map(value).collect()
}

/// A whole item.
pub(super) fn item(random: &mut Rng, table: &Table) -> Map<String, Json> {
    let mut item = key(random, table.keys);
    for name in NAMES {
        if random.u8(..5) < 2 {
            item.insert(name.to_owned(), named(random, name));
        }
    }
    item
}
