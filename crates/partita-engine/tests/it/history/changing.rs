//! What is done to tables in a history, and what is read of their streams.

use partita_core::key::KeyType;
use partita_store::request::{TableChange, Tags, UpdateTable, UpdateTimeToLive};
use partita_store::settings::Billing;
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Records, SequenceNumber, ShardStart,
    StreamName, StreamRecord, StreamView,
};
use partita_store::{Store, StoreResult};

use super::{History, given};

impl History<'_> {
    /// Sweeps and trims both stores, and lets the engine build what it has to.
    pub(super) async fn settle(&mut self) {
        self.model.sweep();
        self.engine().upkeep().await.unwrap();
        for (name, _) in &self.tables {
            let wanted = self.model.describe_table(name).await;
            assert_eq!(self.engine().describe_table(name).await, wanted);
        }
    }

    /// Changes a table, writes to it while an index is built, perhaps through a restart, and
    /// looks at what has become of it.
    pub(super) async fn change_table(&mut self) {
        let (table, schema) = self.table();
        let random = &mut self.random;
        let change = match random.u32(..8) {
            0..3 => TableChange::CreateIndex(given::new_index(random)),
            3 => {
                let index = given::index_of(random, &schema);
                let name = index.map_or("nothing".to_owned(), |index| index.name.clone());
                TableChange::DeleteIndex(name)
            }
            4..6 => TableChange::Stream(random.bool().then(|| given::view(random))),
            6 => TableChange::Billing(Billing::OnDemand),
            _ => TableChange::Protection(random.u32(..4) == 0),
        };
        let changes = vec![change];
        let request = UpdateTable { table, changes };
        let wanted = self.model.update_table(request.clone()).await;
        let answer = self.engine().update_table(request.clone()).await;
        assert_eq!(
            answer.as_ref().map(|_| ()),
            wanted.as_ref().map(|_| ()),
            "{request:?}"
        );
        if let Ok(described) = wanted {
            let place = self
                .tables
                .iter_mut()
                .find(|(name, _)| *name == request.table);
            place.unwrap().1 = described.schema;
        }
        for _ in 0..self.random.usize(..4) {
            self.write().await;
            self.transact().await;
        }
        if self.random.u32(..3) == 0 {
            self.reopen();
        }
        self.settle().await;
    }

    pub(super) async fn change_expiry(&mut self) {
        let (table, _) = self.table();
        let request = UpdateTimeToLive {
            table: table.clone(),
            attribute: ["ends", "n"][self.random.usize(..2)].to_owned(),
            is_enabled: self.random.u32(..4) > 0,
        };
        let wanted = self.model.update_time_to_live(request.clone()).await;
        let answer = self.engine().update_time_to_live(request).await;
        assert_eq!(answer, wanted);
        let wanted = self.model.describe_time_to_live(&table).await;
        assert_eq!(self.engine().describe_time_to_live(&table).await, wanted);
    }

    pub(super) async fn change_tags(&mut self) {
        let (table, _) = self.table();
        let random = &mut self.random;
        let key = ["a", "b", "aws:c"][random.usize(..3)].to_owned();
        let is_added = random.bool();
        let value = random.u32(..9).to_string();
        for store in [&self.model as &dyn Store, self.engine()] {
            let _: StoreResult<()> = if is_added {
                let tags = Tags::from([(key.clone(), value.clone())]);
                store.tag_resource(&table, tags).await
            } else {
                store.untag_resource(&table, vec![key.clone()]).await
            };
        }
        let wanted = self.model.list_tags_of_resource(&table).await;
        assert_eq!(self.engine().list_tags_of_resource(&table).await, wanted);
    }

    /// Every stream, from its beginning and from somewhere else.
    pub(super) async fn read_streams(&mut self) {
        let request = ListStreams::default();
        let wanted = self.model.list_streams(request.clone()).await;
        let answer = self.engine().list_streams(request).await;
        assert_eq!(answer, wanted);
        for stream in wanted.unwrap().names {
            let somewhere = SequenceNumber(self.random.u128(..40));
            let starts = [
                ShardStart::TrimHorizon,
                ShardStart::Latest,
                ShardStart::At(somewhere),
                ShardStart::After(somewhere),
            ];
            for start in starts {
                self.read_stream(&stream, start).await;
            }
        }
    }

    async fn read_stream(&mut self, stream: &StreamName, start: ShardStart) {
        let describe = DescribeStream {
            stream: stream.clone(),
            start_after: None,
            limit: None,
        };
        let wanted = self.model.describe_stream(describe.clone()).await;
        let answer = self.engine().describe_stream(describe).await;
        assert_eq!(answer, wanted);
        let request = GetShardIterator {
            stream: stream.clone(),
            shard: wanted.unwrap().shards[0].id.clone(),
            start,
        };
        let wanted = self.model.get_shard_iterator(request.clone()).await;
        let answer = self.engine().get_shard_iterator(request).await;
        assert_eq!(answer, wanted);
        let limit = self.random.bool().then(|| self.random.usize(1..7));
        let mut next = wanted.ok();
        let mut pages = [Vec::new(), Vec::new()];
        // A stream that goes on has a next page for ever.
        while let Some(iterator) = next.take() {
            let request = GetRecords { iterator, limit };
            let wanted = self.model.get_records(request.clone()).await.unwrap();
            let answer = self.engine().get_records(request).await.unwrap();
            assert_eq!(answer.next, wanted.next);
            next = wanted.next.clone().filter(|_| !wanted.records.is_empty());
            for (records, page) in pages.iter_mut().zip([wanted, answer]) {
                records.extend(told(page));
            }
        }
        let [mut wanted, mut found] = pages;
        let numbers = |records: &[StreamRecord]| -> Vec<_> {
            records.iter().map(|record| record.number).collect()
        };
        assert_eq!(numbers(&found), numbers(&wanted), "{stream} from {start:?}");
        if start != ShardStart::TrimHorizon {
            // It may have begun in the middle of what was swept together.
            let swept = wanted.iter().take_while(|record| record.is_expiry).count();
            wanted.drain(..swept);
            found.drain(..swept);
        }
        assert_eq!(sorted(found), sorted(wanted), "{stream} from {start:?}");
    }
}

fn told(page: Records) -> Vec<StreamRecord> {
    page.records
}

/// Items that are swept together go in no particular order.
fn sorted(mut records: Vec<StreamRecord>) -> Vec<String> {
    for record in records.iter_mut().filter(|record| record.is_expiry) {
        record.number = SequenceNumber(0);
    }
    let runs = records.chunk_by(|one, next| one.is_expiry && next.is_expiry);
    let runs = runs.map(|run| {
        let mut run: Vec<_> = run.iter().map(|record| format!("{record:?}")).collect();
        run.sort();
        run
    });
    runs.flatten().collect()
}

/// What a table's stream may carry.
pub(super) const VIEWS: [StreamView; 4] = [
    StreamView::KeysOnly,
    StreamView::NewImage,
    StreamView::OldImage,
    StreamView::NewAndOldImages,
];

/// The attributes that new indexes look at.
pub(super) const INDEXED: [(&str, KeyType); 4] = [
    ("n", KeyType::N),
    ("t", KeyType::S),
    ("u", KeyType::B),
    ("title", KeyType::S),
];
