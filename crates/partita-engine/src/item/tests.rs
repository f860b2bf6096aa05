use partita_core::Value;
use partita_store::request::CreateTable;
use partita_store::table::KeySchema;

use super::*;

fn table() -> Table {
    let name = "notes".parse().unwrap();
    let request = CreateTable::new(name, KeySchema::strings("PK", "SK"));
    Table::new(request, 3, Vec::new(), 0)
}

fn note(sort: &str) -> Item {
    Item::from([
        ("PK".to_owned(), Value::from("a")),
        ("SK".to_owned(), Value::from(sort)),
    ])
}

fn key_of(item: &Item) -> Vec<u8> {
    keys::item(3, &table().schema.key.key_of(item).unwrap())
}

/// Expects damage whose message has the table, the key and a word.
fn check_damaged(key: &[u8], bytes: &[u8], word: &str) {
    match decode(&table(), key, bytes) {
        Err(StoreError::Corrupt { message }) => {
            assert!(message.contains("`notes`"), "{message}");
            assert!(message.contains("a\\x00\\x00b"), "{message}");
            assert!(message.contains(word), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_item_comes_back() {
    let item = note("b");
    let (key, back) = decode(&table(), &key_of(&item), &encode(&item)).unwrap();
    assert_eq!(back, item);
    assert_eq!(table().schema.key.attributes_of(&key), item);
}

#[test]
fn damage_is_told_by_table_and_key() {
    let item = note("b");
    let key = key_of(&item);
    let bytes = encode(&item);
    check_damaged(&key, b"", "JSON");
    check_damaged(&key, b"\xFF\x00garbage", "JSON");
    check_damaged(&key, b"\0\0\0\x06[1, 2]", "JSON");
    check_damaged(&key, &bytes[..bytes.len() - 1], "JSON");
    check_damaged(&key, b"\0\0\0\0{}", "no key");
    check_damaged(&key, &[b"\0\0\0\0", &bytes[4..]].concat(), "another size");
    check_damaged(&key, &encode(&note("c")), "another key");
}

#[test]
fn an_item_is_found_without_being_parsed() {
    let item = note("b");
    let found = found(&encode(&item).into()).unwrap();
    assert_eq!(found.size(), item_bytes(&item));
    let mut json = Vec::new();
    found.write_json(&mut json);
    assert_eq!(json, br#"{"PK":{"S":"a"},"SK":{"S":"b"}}"#);
    assert_eq!(found.into_item(), Ok(item));
}

#[test]
fn what_cannot_be_an_item_is_not_found() {
    let table = table();
    for bytes in [
        &b""[..],
        b"\0\0",
        b"\0\0\0\0",
        b"\0\0\0\x01garbage",
        b"\0\0\0\x02{\"PK\"",
    ] {
        let read = read(&table, b"k", bytes.into());
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{bytes:?}");
    }
}
