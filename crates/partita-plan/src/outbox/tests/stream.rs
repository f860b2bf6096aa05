//! Every change of a table is sent.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_store::stream::{GetRecords, GetShardIterator, Records, ShardIterator};
use partita_store::surroundings::SystemClock;
use partita_store::{Clock as _, Layer, Store, StoreResult};

use super::{DESIGN, HOUR, START, Say, create, manual, model, open_design, run, step};
use crate::outbox::{Content, Courier, Message, OutboxState, Transport, Undelivered};

/// The same design with a stream, and without messages of its own.
fn streaming() -> String {
    let design = DESIGN.split("[trigger.told]").next().unwrap();
    design.replace(
        "name = \"shop\"",
        "name = \"shop\"\nstream = \"new-and-old-images\"",
    )
}

#[tokio::test]
async fn the_stream_of_a_table_is_sent_in_order_and_goes_on_after_a_restart() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open_design(&streaming(), &store, clock.clone(), 1).await);
    let seen: Arc<Mutex<Vec<(String, String, bool)>>> = Arc::default();
    let (told, now) = (seen.clone(), clock.clone());
    let before: Say = Box::new(move |message| {
        let Content::Event { event, receiver } = &message.content else {
            panic!("{message:?}");
        };
        assert_eq!(receiver, "bus");
        assert!(!event.data.to_string().contains("geheim"));
        // It is down for the second quarter of an hour.
        let since = now.now_millis() - START;
        if (HOUR / 4..HOUR / 2).contains(&since) {
            return Err(Undelivered::Later("it answers 500".to_owned()));
        }
        let step = event.data["new"]["step"].to_string();
        let has_old = event.data.get("old").is_some();
        let one = (format!("{} {}", event.kind, event.subject), step, has_old);
        told.lock().unwrap().push(one);
        // What arrives is not looked at any further.
        Ok(())
    });
    let silent = Arc::new(Silent(before));
    let mut expected = 0;
    for quarter in 0..4 {
        for order in ["o", "p"] {
            let operation = if quarter == 0 {
                create(order)
            } else {
                step(order, quarter)
            };
            run(&partita, operation).await.unwrap();
        }
        // Another server each time.
        let courier = Courier::new(partita.clone(), silent.clone());
        courier.take_over().await.unwrap();
        courier.stream("bus").await.unwrap();
        let is_down = quarter == 1;
        expected = if is_down {
            expected
        } else {
            2 * (quarter as usize + 1)
        };
        assert_eq!(seen.lock().unwrap().len(), expected, "quarter {quarter}");
        clock.advance(HOUR / 4);
    }
    let seen = seen.lock().unwrap().clone();
    for order in ["o", "p"] {
        let subject = format!("Order/{order}");
        let own = seen.iter().filter(|(kind, ..)| kind.ends_with(&subject));
        let steps: Vec<&str> = own.map(|(_, step, _)| step.as_str()).collect();
        assert_eq!(steps, ["0", "1", "2", "3"]);
    }
    assert_eq!(seen[0].0, "shop.Order.insert Order/o");
    assert!(!seen[0].2 && seen[3].2);
}

/// A change that was parked is retried to its receiver, which no trigger of the design names.
#[tokio::test]
async fn a_parked_change_is_retried() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open_design(&streaming(), &store, clock.clone(), 1).await);
    run(&partita, create("o")).await.unwrap();
    let is_gone = Arc::new(Mutex::new(true));
    let gone = is_gone.clone();
    let silent = Arc::new(Silent(Box::new(move |_| {
        if *gone.lock().unwrap() {
            return Err(Undelivered::Never("it answers 410 Gone".to_owned()));
        }
        Ok(())
    })));
    let courier = Courier::new(partita.clone(), silent);
    assert_eq!(courier.stream("bus").await.unwrap().parked, 1);
    let parked = partita.outbox(10).await.unwrap();
    assert_eq!((parked.len(), parked[0].of.as_str()), (1, "Order o"));
    *is_gone.lock().unwrap() = false;
    assert!(partita.retry_message(&parked[0].id).await.unwrap());
    let waiting = partita.outbox(10).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].state), (1, OutboxState::Waiting));
    assert_eq!(courier.deliver().await.unwrap().delivered, 1);
    assert!(partita.outbox(10).await.unwrap().is_empty());
}

/// What the stream is about to forget is parked without waiting for the receiver with each of it.
#[tokio::test]
async fn old_changes_are_parked_in_time() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open_design(&streaming(), &store, clock.clone(), 1).await);
    for number in 0..30 {
        run(&partita, create(&format!("o{number}"))).await.unwrap();
    }
    let tries = Arc::new(Mutex::new(0));
    let counted = tries.clone();
    let silent = Arc::new(Silent(Box::new(move |_| {
        *counted.lock().unwrap() += 1;
        Err(Undelivered::Later("it does not answer in time".to_owned()))
    })));
    let courier = Courier::new(partita.clone(), silent);
    // The store's records have the time of the machine.
    clock.set(SystemClock.now_millis() + 21 * HOUR);
    assert_eq!(courier.stream("bus").await.unwrap().parked, 30);
    let tries = *tries.lock().unwrap();
    // Those that were under way at first are tried.
    assert!((1..=8).contains(&tries), "{tries} tries");
    assert_eq!(partita.outbox(100).await.unwrap().len(), 30);
}

/// A store whose iterators give so many empty pages before the first record, as DynamoDB's may.
struct Sparse {
    inner: Arc<dyn Store>,
    empty_pages: u32,
}

impl Sparse {
    fn numbered(left: u32, iterator: &ShardIterator) -> ShardIterator {
        ShardIterator(format!("{left}~{}", iterator.0))
    }
}

#[async_trait]
impl Layer for Sparse {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get_shard_iterator(&self, request: GetShardIterator) -> StoreResult<ShardIterator> {
        let iterator = self.inner.get_shard_iterator(request).await?;
        Ok(Sparse::numbered(self.empty_pages, &iterator))
    }

    async fn get_records(&self, request: GetRecords) -> StoreResult<Records> {
        let (left, iterator) = request.iterator.0.split_once('~').unwrap();
        let left: u32 = left.parse().unwrap();
        let iterator = ShardIterator(iterator.to_owned());
        if left > 0 {
            return Ok(Records {
                records: Vec::new(),
                next: Some(Sparse::numbered(left - 1, &iterator)),
            });
        }
        let request = GetRecords {
            iterator,
            ..request
        };
        let read = self.inner.get_records(request).await?;
        let next = read.next.map(|next| Sparse::numbered(0, &next));
        Ok(Records { next, ..read })
    }
}

#[tokio::test]
async fn a_stream_is_read_on_where_it_was_left_behind_empty_pages() {
    let store: Arc<dyn Store> = Arc::new(Sparse {
        inner: model(),
        empty_pages: 12,
    });
    let clock = manual();
    let partita = Arc::new(open_design(&streaming(), &store, clock.clone(), 1).await);
    run(&partita, create("o")).await.unwrap();
    let silent = Arc::new(Silent(Box::new(|_| Ok(()))));
    let courier = Courier::new(partita.clone(), silent);
    let mut rounds = Vec::new();
    for _ in 0..4 {
        rounds.push(courier.stream("bus").await.unwrap().delivered);
    }
    assert_eq!(rounds, [0, 0, 1, 0]);
    // An iterator is good for 15 minutes.
    clock.advance(HOUR);
    run(&partita, step("o", 1)).await.unwrap();
    let mut delivered = 0;
    for _ in 0..5 {
        delivered += courier.stream("bus").await.unwrap().delivered;
    }
    assert_eq!(delivered, 1);
}

/// The other side, which only says something.
struct Silent(Say);

#[async_trait]
impl Transport for Silent {
    async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        (self.0)(message)
    }
}
