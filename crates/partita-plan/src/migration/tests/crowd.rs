//! Callers who write while everything is looked at.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use partita_core::Item;
use partita_store::capacity::Metered;
use partita_store::request::{Page, PutItem, ReturnValues, Scan};
use partita_store::{Layer, ModelStore, Store, StoreResult};

use super::cases::{self, Case, cases};
use super::press::Press;
use crate::PlanError;
use crate::live::DesignError;
use crate::migration::{Current, MigrationError};
use crate::place::Place;

/// What somebody does while a page is read.
enum Meanwhile {
    /// Writes in so many places.
    Writes(usize),
    /// Puts an item that no design knows.
    Puts(Item),
}

/// A store whose pages are small, and with callers who write while they are read.
struct Crowded {
    inner: Arc<dyn Store>,
    current: OnceLock<Arc<Current>>,
    meanwhile: Mutex<VecDeque<Meanwhile>>,
    pages: AtomicUsize,
}

impl Crowded {
    async fn press(design: &str) -> (Arc<Crowded>, Press) {
        let crowded = Arc::new(Crowded {
            inner: Arc::new(ModelStore::default()),
            current: OnceLock::new(),
            meanwhile: Mutex::default(),
            pages: AtomicUsize::new(0),
        });
        let press = Press::open_on(design, crowded.clone(), 1).await;
        press.author("a0", "ann").await.unwrap();
        press.story("s1").await.unwrap();
        for user in 0..25 {
            press.like("s1", &format!("u{user}"), 1).await.unwrap();
        }
        let _ = crowded.current.set(press.current.clone());
        crowded.pages.store(0, Ordering::Relaxed);
        (crowded, press)
    }

    fn then(&self, meanwhile: impl IntoIterator<Item = Meanwhile>) {
        *self.meanwhile.lock().unwrap() = meanwhile.into_iter().collect();
    }

    async fn happens(&self, meanwhile: Meanwhile) {
        let current = self.current.get().expect("it is open");
        let table = "press".parse().unwrap();
        let place = |partition: &str| Place::address(&table, partition.into(), "AUTHOR".into());
        match meanwhile {
            Meanwhile::Writes(count) => {
                let places = || (0..count).map(|at| place(&format!("AUTHOR#{at}")));
                drop(current.gate().pass_to(places).await.unwrap());
            }
            Meanwhile::Puts(item) => {
                let at = place(item["PK"].as_str().unwrap());
                let _passed = current.gate().pass_to(|| [at]).await.unwrap();
                let put = PutItem::new(table.clone(), item);
                let put = self.inner.put_item(put, ReturnValues::None);
                put.await.unwrap();
            }
        }
    }
}

#[async_trait]
impl Layer for Crowded {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn scan(&self, mut request: Scan) -> StoreResult<Metered<Page>> {
        request.limit = Some(10);
        let page = self.inner.scan(request).await;
        self.pages.fetch_add(1, Ordering::Relaxed);
        let meanwhile = self.meanwhile.lock().unwrap().pop_front();
        if let Some(meanwhile) = meanwhile {
            self.happens(meanwhile).await;
        }
        page
    }
}

fn case(name: &str) -> Case {
    let case = cases().into_iter().find(|one| one.name == name);
    case.expect("it is there")
}

/// More is written in a pass than can be noted: it is looked at on the way, or all once more.
#[tokio::test]
async fn a_step_goes_on_where_much_is_written_meanwhile() {
    let Case { old, new, .. } = case("a computed value");
    for (count, passes) in [(60_000, 1), (100_001, 2)] {
        let (crowded, press) = Crowded::press(&old).await;
        let items = press.items().await.len();
        crowded.pages.store(0, Ordering::Relaxed);
        crowded.then([Meanwhile::Writes(count), Meanwhile::Writes(count)]);
        let started = press.start(&new).await;
        started.unwrap_or_else(|error| panic!("{count}: {error}"));
        let pages = crowded.pages.load(Ordering::Relaxed);
        let pass = items / 10 + 1;
        // What is lost with a page ends the pass.
        let most = pass + if passes == 1 { 0 } else { 2 };
        assert!((pass..=most).contains(&pages), "{count}: {pages} of {pass}");
        press.drive().await;
        press.expect_right("filled").await;
    }
}

#[tokio::test]
async fn a_step_that_cannot_keep_up_changes_nothing_and_can_be_repeated() {
    let Case { old, new, .. } = case("a computed value");
    let (crowded, press) = Crowded::press(&old).await;
    crowded.then((0..1000).map(|_| Meanwhile::Writes(100_001)));
    let refused = press.start(&new).await.unwrap_err();
    assert_eq!(refused, MigrationError::Busy.into());
    assert!(
        refused.to_string().contains("at a quieter time"),
        "{refused}"
    );
    assert!(press.current.migration().await.unwrap().is_none());
    crowded.then([]);
    press.start(&new).await.unwrap();
    press.drive().await;
    press.expect_right("filled").await;
}

/// What is written under the keys of a new entity while all is looked at is refused like the rest.
#[tokio::test]
async fn what_comes_under_new_keys_meanwhile_is_in_the_way() {
    let Case { old, new, .. } = case("a computed value");
    let with_prizes = |text: &str| {
        format!(
            "{text}\n[entity.Prize]\nPK = \"PRIZE#{{prizeId}}\"\nSK = \"AUTHOR\"\n\n\
             [entity.Prize.attributes]\nprizeId = \"string\"\n\n\
             [entity.Prize.allow]\n\"*\" = \"signed-in\"\n"
        )
    };
    for is_free in [false, true] {
        let (crowded, press) = Crowded::press(&old).await;
        let pages = press.items().await.len() / 10;
        let prize = Item::from([("PK", "PRIZE#p1".into()), ("SK", "AUTHOR".into())]);
        let quiet = (0..pages).map(|_| Meanwhile::Writes(0));
        crowded.then(quiet.chain([Meanwhile::Puts(prize)]));
        let refused = if is_free {
            let new = cases::compiled(&with_prizes(&old));
            press.current.adopt(&new).await.unwrap_err()
        } else {
            press.start(&with_prizes(&new)).await.unwrap_err()
        };
        expect_occupied(&refused, "PRIZE#p1");
        assert!(press.current.migration().await.unwrap().is_none());
    }
}

fn expect_occupied(refused: &PlanError, partition: &str) {
    let PlanError::Design(DesignError::Occupied { key, .. }) = refused else {
        panic!("{refused}");
    };
    assert_eq!(key.0, partition);
}
