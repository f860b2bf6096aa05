//! Streams of the simulated service: several shards, order within an item, records that come late
//! or twice, iterators that expire.

use std::collections::BTreeMap;

use partita_core::Value;
use partita_store::request::{PutItem, ReturnValues, TableChange, UpdateTable};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, SequenceNumber, ShardIterator, ShardStart,
    StreamName, StreamView,
};
use partita_store::{Store as _, StoreError};
use partita_testkit::amazon::Behaviour;
use partita_testkit::amazon::behaviour::StreamManners;
use partita_testkit::{Amazon, Simulation};

use crate::amazon::{key, service, table};

async fn stream(amazon: &Amazon) -> StreamName {
    amazon.calm();
    let begin = UpdateTable {
        table: table(),
        changes: vec![TableChange::Stream(Some(StreamView::NewImage))],
    };
    let updated = amazon.update_table(begin).await.unwrap();
    amazon.begin();
    updated.latest_stream.unwrap()
}

async fn iterators(amazon: &Amazon, stream: &StreamName) -> Vec<ShardIterator> {
    let describe = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    let described = amazon.describe_stream(describe).await.unwrap();
    let mut iterators = Vec::new();
    for shard in described.shards {
        let request = GetShardIterator {
            stream: stream.clone(),
            shard: shard.id,
            start: ShardStart::TrimHorizon,
        };
        iterators.push(amazon.get_shard_iterator(request).await.unwrap());
    }
    iterators
}

fn state(sort: usize, n: i64) -> PutItem {
    let mut item = key(&sort.to_string());
    item.insert("n", Value::from(n));
    PutItem::new(table(), item)
}

#[test]
fn the_records_of_an_item_keep_their_order_and_some_come_late_or_twice() {
    let simulation = Simulation::new(1, 0);
    let rough = Behaviour::rough();
    let often = Behaviour {
        streams: StreamManners {
            repeat: 0.3,
            ..rough.streams.clone()
        },
        ..rough
    };
    simulation.run(async {
        let amazon = service(&simulation, often).await;
        let stream = stream(&amazon).await;
        for n in 0..20 {
            for sort in 0..10 {
                simulation.sleep(30).await;
                amazon
                    .put_item(state(sort, n), ReturnValues::None)
                    .await
                    .unwrap();
            }
        }
        let mut iterators = iterators(&amazon, &stream).await;
        assert_eq!(iterators.len(), 4);
        let mut told: BTreeMap<String, Vec<(SequenceNumber, Value)>> = BTreeMap::new();
        let (mut records, mut empty) = (0, 0);
        // Until everything must have come, and nothing is told twice any more.
        for round in 0..1_000 {
            for iterator in &mut iterators {
                let request = GetRecords {
                    iterator: iterator.clone(),
                    limit: Some(50),
                };
                let page = amazon.get_records(request).await.unwrap();
                *iterator = page.next.unwrap();
                records += page.records.len();
                empty += usize::from(page.records.is_empty());
                for record in page.records {
                    let new = record.new.unwrap();
                    let sort = record.key["SK"].as_str().unwrap().to_owned();
                    told.entry(sort)
                        .or_default()
                        .push((record.number, new["n"].clone()));
                }
            }
            simulation.sleep(100).await;
            if round > 500 && records > 200 {
                break;
            }
        }
        assert_eq!(told.len(), 10);
        assert!(records > 200, "none came twice: {records}");
        assert!(empty > 0);
        for states in told.values_mut() {
            let numbers: Vec<_> = states.iter().map(|(number, _)| *number).collect();
            // Once more from an earlier place, and in order from there.
            states.sort_by_key(|(number, _)| *number);
            states.dedup_by_key(|(number, _)| *number);
            assert_eq!(states.len(), 20, "{numbers:?}");
            assert!(
                states
                    .iter()
                    .map(|(_, n)| n)
                    .eq((0..20_i64).map(Value::from).collect::<Vec<_>>().iter())
            );
        }
    });
}

#[test]
fn an_iterator_expires() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, Behaviour::rough()).await;
        let stream = stream(&amazon).await;
        let iterators = iterators(&amazon, &stream).await;
        simulation.sleep(15 * 60_000 + 1).await;
        let request = GetRecords {
            iterator: iterators[0].clone(),
            limit: None,
        };
        assert_eq!(
            amazon.get_records(request).await,
            Err(StoreError::IteratorExpired)
        );
    });
}
