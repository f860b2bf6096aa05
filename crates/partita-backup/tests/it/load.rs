//! Under load: what was acknowledged by a commit is in it, what was sent after it is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use partita_backup::restoring::Moment;
use partita_backup::{Catalog, Shipper, retention};
use partita_core::{Item, Value};
use partita_engine::EngineStore;
use partita_store::Store as _;
use partita_store::request::{GetItem, PutItem, ReturnValues};
use partita_store::surroundings::ManualClock;

use crate::stage::{STORE, Stage, open, rest, restore, table};

const WRITERS: i64 = 16;
/// Writes of each, at least.
const WRITES: i64 = 40;
/// Bases that are begun while they write, however slow the machine is.
const BASES: u32 = 8;

/// A write of one writer: its number, and the last commits before it was sent and after it was
/// acknowledged.
struct Acknowledged {
    number: i64,
    before: u64,
    after: u64,
}

fn key(writer: i64) -> Item {
    Item::from([
        ("PK".to_owned(), Value::from("writer")),
        ("SK".to_owned(), Value::from(writer.to_string())),
    ])
}

async fn write(store: Arc<EngineStore>, writer: i64, bases: Arc<AtomicU32>) -> Vec<Acknowledged> {
    let mut written = Vec::new();
    for number in 1.. {
        if number > WRITES && bases.load(Ordering::Relaxed) > BASES {
            break;
        }
        let mut item = key(writer);
        item.insert("number".to_owned(), Value::from(number));
        item.insert("text".to_owned(), Value::from("x".repeat(500)));
        let before = store.last_commit().number;
        let request = PutItem::new(table(), item);
        store.put_item(request, ReturnValues::None).await.unwrap();
        let after = store.last_commit().number;
        written.push(Acknowledged {
            number,
            before,
            after,
        });
    }
    written
}

async fn number_of(store: &EngineStore, writer: i64) -> i64 {
    let request = GetItem::new(table(), key(writer));
    let found = store.get_item(request).await.unwrap().answer;
    let item = found.map(|item| item.into_item().unwrap());
    let number = item.and_then(|item| item.get("number")?.as_number()?.to_i64());
    number.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_moment_has_what_was_acknowledged_by_then() {
    let mut stage = Stage::new(41).await;
    let target = stage.target();
    let begun = Shipper::begin(stage.shipping(target.clone(), None), "a test").await;
    let mut shipper = begun.unwrap().with_pieces_of(2_000);
    rest(&mut shipper).await.unwrap();
    let is_over = AtomicBool::new(false);
    let bases = Arc::new(AtomicU32::new(0));
    let shipping = async {
        while !is_over.load(Ordering::Relaxed) {
            shipper.begin_base();
            bases.fetch_add(1, Ordering::Relaxed);
            for _ in 0..20 {
                shipper.step().await.unwrap();
                tokio::task::yield_now().await;
            }
        }
        rest(&mut shipper).await.unwrap();
    };
    let writing = async {
        let store = &stage.store;
        let writers =
            (0..WRITERS).map(|writer| tokio::spawn(write(store.clone(), writer, bases.clone())));
        let written = futures::future::join_all(writers).await;
        is_over.store(true, Ordering::Relaxed);
        written.into_iter().map(Result::unwrap).collect::<Vec<_>>()
    };
    let (written, ()) = tokio::join!(writing, shipping);
    let catalog = Catalog::read(&*target).await.unwrap();
    let summary = catalog.summaries(&*target, &[]).await.unwrap().remove(0);
    let (first, last) = summary.moments.unwrap();
    assert_eq!(last, stage.store.last_commit());
    assert!(
        summary.bases > 2 && last.number > first.number + 30,
        "{summary:?}"
    );
    let numbers: Vec<u64> = (0..12)
        .map(|_| stage.random.u64(first.number..=last.number))
        .collect();
    for number in numbers.into_iter().chain([first.number, last.number]) {
        let place = stage.place(&format!("at-{number}"));
        if place.exists() {
            continue;
        }
        restore(&*target, Moment::Commit(number), &place, None)
            .await
            .unwrap();
        let restored = open(&place, &Arc::new(ManualClock::at(1_800_000_000_000)));
        assert_eq!(restored.verify().await.unwrap(), Vec::<String>::new());
        for (writer, written) in (0..).zip(&written) {
            let found = number_of(&restored, writer).await;
            for write in written {
                let what = format!("write {} of {writer} at {number}: {found}", write.number);
                assert!(write.after > number || found >= write.number, "{what}");
                assert!(write.before < number || found < write.number, "{what}");
            }
        }
    }
    // What is left after everything old was removed is the last moment, whole.
    retention::remove_before(&*target, &[], STORE, i64::MAX, None)
        .await
        .unwrap();
    let place = stage.place("last");
    let restored = restore(&*target, Moment::Last, &place, None).await.unwrap();
    assert_eq!(restored.commit, last);
}
