use partita_core::Value;

use super::*;

fn item(entries: &[(&str, i64)]) -> Item {
    let entry = |(name, number): &(&str, i64)| ((*name).to_owned(), Value::from(*number));
    let mut item: Item = entries.iter().map(entry).collect();
    item.insert("PK".to_owned(), Value::from("p"));
    item.insert("SK".to_owned(), Value::from("s"));
    item
}

fn record(view: StreamView, old: Option<&Item>, new: Option<&Item>) -> Option<StreamRecord> {
    let is_expiry = false;
    let change = ItemChange {
        old,
        new,
        is_expiry,
    };
    let schema = KeySchema::strings("PK", "SK");
    change.record(&schema, view, SequenceNumber(7), 1_000)
}

const ALL: StreamView = StreamView::NewAndOldImages;

#[test]
fn an_event_is_told_by_what_was_and_what_is() {
    let (old, new) = (item(&[("a", 1)]), item(&[("a", 2)]));
    let event = |old, new| record(ALL, old, new).map(|record| record.event);
    assert_eq!(event(None, Some(&new)), Some(StreamEvent::Insert));
    assert_eq!(event(Some(&old), Some(&new)), Some(StreamEvent::Modify));
    assert_eq!(event(Some(&old), None), Some(StreamEvent::Remove));
}

#[test]
fn a_write_that_changes_nothing_has_no_record() {
    let same = item(&[("a", 1)]);
    assert_eq!(record(ALL, Some(&same), Some(&same.clone())), None);
    assert_eq!(record(ALL, None, None), None);
    // `1` and `1.0` are one number.
    let mut written_otherwise = same.clone();
    written_otherwise.insert("a".to_owned(), Value::N("1.0".parse().unwrap()));
    assert_eq!(record(ALL, Some(&same), Some(&written_otherwise)), None);
}

#[test]
fn a_view_chooses_the_images_and_they_are_counted() {
    let (old, new) = (item(&[("a", 1)]), item(&[("a", 1), ("b", 2)]));
    // The keys have 6 bytes, an attribute 3 more.
    for (view, has_old, has_new, bytes) in [
        (StreamView::KeysOnly, false, false, 6),
        (StreamView::OldImage, true, false, 6 + 9),
        (StreamView::NewImage, false, true, 6 + 12),
        (StreamView::NewAndOldImages, true, true, 6 + 9 + 12),
    ] {
        let record = record(view, Some(&old), Some(&new)).unwrap();
        assert_eq!(record.key, item(&[]));
        assert_eq!(record.old.as_ref(), has_old.then_some(&old));
        assert_eq!(record.new.as_ref(), has_new.then_some(&new));
        assert_eq!((record.view, record.size_bytes), (view, bytes));
    }
}
