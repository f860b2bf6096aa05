//! The exact keys of every entity of the five designs, those that are left out too.
//!
//! `tests/spec/keys/<design>.txt` holds items and, behind `->`, every record that an item has with
//! all its keys; `-` stands for a key that is left out. The files were written from the pages, not
//! by this crate.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use partita_core::{Map, Value};
use partita_design::design::Record;
use partita_design::template::Template;
use partita_design::{Design, RecordKeys, check, keys, shipped};

#[test]
fn every_key_is_the_string_that_the_page_says() {
    let mut records = BTreeSet::new();
    for shipped in shipped::all() {
        let (design, diagnostics) = check(shipped.source, &|_| None);
        let design = design.unwrap_or_else(|| panic!("{}: {diagnostics:#?}", shipped.name));
        for case in cases(shipped.name) {
            let found = told(&design, &case);
            assert_eq!(found, case.records, "{}: {}", shipped.name, case.title);
            let names = case
                .records
                .lines()
                .filter_map(|line| line.strip_prefix("-> "));
            records.extend(names.map(|name| (shipped.name, name.to_owned())));
        }
    }
    // The pages have 46, one more was added to `storyhub`; the guards are five kinds of records.
    assert_eq!(records.len(), 46 + 1 + 5);
}

/// An item, and the records that it has.
struct Case {
    title: String,
    attributes: Map,
    records: String,
}

fn cases(design: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/spec/keys")
        .join(format!("{design}.txt"));
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("\n\n").filter(|block| !block.starts_with('#'));
    blocks
        .map(|block| {
            let block = block.trim_end();
            let (head, records) = block.split_once("\n-> ").unwrap();
            let (title, attributes) = head.split_once('\n').unwrap();
            let attributes: toml::Table = attributes.parse().unwrap();
            Case {
                title: title.to_owned(),
                attributes: attributes
                    .into_iter()
                    .map(|(name, written)| (name, value(written)))
                    .collect(),
                records: format!("-> {records}\n"),
            }
        })
        .collect()
}

fn value(written: toml::Value) -> Value {
    match written {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::N(number.to_string().parse().unwrap()),
        toml::Value::Boolean(flag) => Value::from(flag),
        toml::Value::Array(elements) => Value::L(elements.into_iter().map(value).collect()),
        other => panic!("{other:?} cannot stand in a table of keys"),
    }
}

/// The records of a case as its file writes them.
fn told(design: &Design, case: &Case) -> String {
    let entity = case.title.split(':').next().unwrap();
    let record = design.find_record(entity).unwrap();
    let records = match &record.view {
        // A replaced state is no item, so that nobody asks for its keys; its templates tell them.
        Some(view) if view.history => vec![history(design, record, &case.attributes)],
        _ => match keys(design, entity, &case.attributes) {
            Ok(records) => records,
            Err(faults) => panic!("{}: {faults:#?}", case.title),
        },
    };
    let mut text = String::new();
    for record in records {
        writeln!(text, "-> {}", record.record).unwrap();
        let names = names(design, &record.record);
        let width = names.iter().map(String::len).max().unwrap_or_default();
        for name in names {
            let found = record.keys.iter().find(|(key, _)| *key == name);
            let key = match found {
                Some((_, Value::S(key))) => key.clone(),
                Some((_, Value::N(number))) => number.to_string(),
                Some((_, other)) => panic!("{other:?} is no key"),
                None => "-".to_owned(),
            };
            writeln!(text, "  {name:width$} = {key}").unwrap();
        }
    }
    text
}

fn history(design: &Design, view: &Record, attributes: &Map) -> RecordKeys {
    let key = |template: &Template| Value::S(template.key(attributes).unwrap().unwrap());
    let table = &design.tables[0];
    RecordKeys {
        record: view.name.clone(),
        keys: vec![
            (table.partition.clone(), key(&view.key.partition)),
            (table.sort.clone(), key(&view.key.sort)),
        ],
    }
}

/// All keys that a record can have: those of the table, then those of its indexes.
fn names(design: &Design, record: &str) -> Vec<String> {
    let table = &design.tables[0];
    let mut names = vec![table.partition.clone(), table.sort.clone()];
    let indexes = design.find_record(record).map(|record| &record.indexes);
    for of_record in indexes.into_iter().flatten() {
        let index = &table.indexes[of_record.index.index()];
        for key in std::iter::once(&index.partition).chain(&index.sort) {
            if !names.contains(&key.name) {
                names.push(key.name.clone());
            }
        }
    }
    names
}
