//! What holds of the keys of every shipped design, whatever the values are.

use partita_core::{Map, Number, Value};
use partita_design::design::{Design, QueryRead, Read, SortRange};
use partita_design::template::{Part, Template};
use partita_design::types::AttributeType;
use partita_design::{check, keys, shipped};
use proptest::prelude::*;
use std::sync::LazyLock;

static DESIGNS: LazyLock<Vec<Design>> = LazyLock::new(|| {
    let designs = shipped::all().iter();
    designs
        .filter_map(|one| check(one.source, &|_| None).0)
        .collect()
});

/// A value of the type, different for different seeds.
fn value(kind: &AttributeType, seed: u64, text: &str) -> Value {
    match kind {
        AttributeType::Ulid => Value::S(format!("01ARZ3NDEKTSV4RRFF{seed:08}")),
        AttributeType::Uuid => Value::S(format!("4b8c1f2e-9a01-4c5d-8e3f-{seed:012}")),
        AttributeType::Time(form) => form.write(seed as i64 * 86_400_000),
        AttributeType::Expiry => Value::N(Number::from(seed)),
        AttributeType::Bool => Value::Bool(seed.is_multiple_of(2)),
        _ if kind.is_numeric() => Value::N(Number::from(seed)),
        _ => match kind.words() {
            Some(words) => Value::from(words[seed as usize % words.len()].as_str()),
            None => Value::from(text),
        },
    }
}

/// The identity of an item, and the key of its own record; `None` where a value does not fit.
fn item(
    design: &Design,
    entity: usize,
    seeds: &[u64],
    texts: &[String],
) -> Option<(Map, Vec<String>)> {
    let entities: Vec<_> = design.entities().collect();
    let entity = entities[entity % entities.len()];
    let mut identity = Map::new();
    for (index, part) in entity.identity.iter().enumerate() {
        let attribute = entity.attribute(&part.attribute)?;
        let value = value(
            &attribute.kind,
            seeds[index % seeds.len()],
            &texts[index % texts.len()],
        );
        attribute.kind.check(&value).ok()?;
        identity.insert(part.attribute.clone(), value);
    }
    let records = keys(design, &entity.name, &identity).ok()?;
    let texts = records[0].keys.iter().take(2);
    let key = texts.map(|(_, value)| value.as_str().unwrap().to_owned());
    Some((identity, key.collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn different_identities_never_give_the_same_key(
        design in 0_usize..5,
        entities in (0_usize..40, 0_usize..40),
        seeds in prop::collection::vec(1_u64..40, 8),
        texts in prop::collection::vec("[a-c]{1,3}", 8),
    ) {
        let design = &DESIGNS[design % DESIGNS.len()];
        let one = item(design, entities.0, &seeds[..4], &texts[..4]);
        let two = item(design, entities.1, &seeds[4..], &texts[4..]);
        if let (Some((one, first)), Some((two, second))) = (one, two) {
            let count = design.entities().count();
            let same_entity = entities.0 % count == entities.1 % count;
            prop_assert_eq!(first == second, same_entity && one == two);
        }
    }

    #[test]
    fn prefix_queries_never_catch_a_neighbour(one in "[a-c]{1,3}", two in "[a-c]{1,3}") {
        for design in DESIGNS.iter() {
            for pattern in &design.patterns {
                let Read::Query(QueryRead { sort: SortRange::BeginsWith(prefix), .. }) = &pattern.read else {
                    continue;
                };
                let is_text = |part: &Part| matches!(part, Part::Text(_));
                if prefix.value.parts.last().is_some_and(|part| !is_text(part)) {
                    // A parameter that is declared as a beginning.
                    continue;
                }
                let asked = filled(&prefix.value, &one);
                let mut whole = prefix.value.clone();
                whole.parts.push(Part::Text("rest".to_owned()));
                let key = filled(&whole, &two);
                let has_value = prefix.value.holes().next().is_some();
                prop_assert_eq!(key.starts_with(&asked), one == two || !has_value, "{} {} {}", pattern.name, asked, key);
            }
        }
    }
}

/// The template with one text in all of its placeholders.
fn filled(template: &Template, text: &str) -> String {
    let values: Map = template
        .names()
        .map(|name| (name, Value::from(text)))
        .collect();
    template.key(&values).unwrap().unwrap()
}

/// Debug builds are an order of magnitude slower; the bound is for users, who have none.
#[test]
#[expect(clippy::disallowed_methods, reason = "this measures the machine")]
fn the_largest_design_is_checked_while_nobody_waits() {
    let largest = shipped::all()
        .iter()
        .max_by_key(|design| design.source.len())
        .unwrap();
    let clock = std::time::Instant::now;
    let times = (0..5).map(|_| {
        let start = clock();
        check(largest.source, &|_| None);
        start.elapsed()
    });
    let best = times.min().unwrap();
    let bound = if cfg!(debug_assertions) { 500 } else { 50 };
    assert!(best.as_millis() < bound, "{}: {best:?}", largest.name);
}
