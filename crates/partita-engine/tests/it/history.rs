//! Random histories on few hot keys: the engine answers what the model answers, also after it
//! was reopened, its streams have the records of the model's, and its indexes contain what its
//! items imply.

mod changing;
mod given;

use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;
use partita_engine::{EngineStore, Options, Upkeep};
use partita_store::request::{
    BatchGetItem, BatchWriteItem, CreateTable, GetItem, ItemAddress, ListTables, Page, Query,
    ReturnValues, Scan, Segment, TransactAction, TransactGetItems, TransactWriteItems,
};
use partita_store::surroundings::ManualClock;
use partita_store::table::{TableName, TableSchema};
use partita_store::{ModelStore, Store};

const HISTORIES: u64 = 12;
const STEPS: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_answers_what_the_model_answers() {
    // A failure prints its seed; `PARTITA_SEED=n` plays that history alone, and
    // `PARTITA_HISTORIES=n` plays more of them.
    let number = |name| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let seeds = match number("PARTITA_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("PARTITA_HISTORIES").unwrap_or(HISTORIES),
    };
    for seed in seeds {
        println!("PARTITA_SEED={seed}");
        play(seed).await;
    }
}

async fn play(seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut history = History::new(directory.path(), seed).await;
    for _ in 0..STEPS {
        match history.random.u32(..100) {
            0..2 => history.reopen(),
            2..4 => history.wait(),
            4..6 => history.come_and_go().await,
            6..8 => history.settle().await,
            8..11 => history.change_table().await,
            11..13 => history.change_expiry().await,
            13 => history.change_tags().await,
            14..17 => history.read_streams().await,
            17..45 => history.write().await,
            45..55 => history.transact().await,
            55..62 => history.batch_write().await,
            62..70 => history.get().await,
            70..95 => history.query().await,
            _ => history.scan().await,
        }
    }
    for _ in 0..2 {
        history.scan().await;
        history.settle().await;
        history.read_streams().await;
        let findings = history.engine().verify().await;
        assert_eq!(findings, Ok(Vec::new()));
        history.reopen();
    }
}

struct History<'a> {
    directory: &'a Path,
    random: Rng,
    clock: Arc<ManualClock>,
    /// How often the clock went back.
    turns: u32,
    model: ModelStore,
    engine: Option<EngineStore>,
    tables: Vec<(TableName, TableSchema)>,
}

impl<'a> History<'a> {
    async fn new(directory: &'a Path, seed: u64) -> Self {
        let clock = Arc::new(ManualClock::at(1_000_000));
        let mut history = History {
            directory,
            random: Rng::with_seed(seed),
            model: ModelStore::new(clock.clone()),
            clock,
            turns: 0,
            engine: None,
            tables: given::tables(),
        };
        history.reopen();
        for table in 0..history.tables.len() {
            history.create(table).await;
        }
        history
    }

    fn engine(&self) -> &EngineStore {
        self.engine.as_ref().expect("it is opened at the start")
    }

    fn reopen(&mut self) {
        drop(self.engine.take());
        // None, one that is full at once, and one that everything fits into.
        let caches = [0, 16_384, 16_777_216];
        let cache_bytes = caches[self.random.usize(..caches.len())];
        let options = Options::new(self.clock.clone())
            .upkeep(Upkeep::OnRequest)
            // The model believes every clock.
            .trusts_clock(true)
            .cache_bytes(cache_bytes);
        let engine = EngineStore::open(self.directory, options);
        self.engine = Some(engine.unwrap());
    }

    /// Up to a little longer than a token counts; sometimes back, and sometimes for a day.
    fn wait(&mut self) {
        let millis = match self.random.u32(..8) {
            0 => self.random.i64(-300_000..0),
            1 => self.random.i64(80_000_000..90_000_000),
            _ => self.random.i64(0..700_000),
        };
        self.turns += u32::from(millis < 0);
        self.clock.advance(millis);
    }

    fn table(&mut self) -> (TableName, TableSchema) {
        let table = self.random.usize(..self.tables.len());
        self.tables[table].clone()
    }

    async fn create(&mut self, table: usize) {
        let (table, schema) = self.tables[table].clone();
        let mut request = CreateTable::new(table, schema);
        if self.random.bool() {
            request.settings.stream = Some(given::view(&mut self.random));
        }
        let wanted = self.model.create_table(request.clone()).await;
        assert_eq!(self.engine().create_table(request).await, wanted);
    }

    /// Deletes a table, and mostly creates it again, at once or after some writes to others.
    async fn come_and_go(&mut self) {
        let table = self.random.usize(..self.tables.len());
        let name = self.tables[table].0.clone();
        let wanted = self.model.delete_table(&name).await;
        assert_eq!(self.engine().delete_table(&name).await, wanted);
        let wanted = self.model.describe_table(&name).await;
        assert_eq!(self.engine().describe_table(&name).await, wanted);
        let request = ListTables::default();
        let wanted = self.model.list_tables(request.clone()).await;
        assert_eq!(self.engine().list_tables(request).await, wanted);
        for _ in 0..self.random.usize(..3) {
            self.write().await;
            self.query().await;
        }
        if self.random.bool() {
            self.reopen();
        }
        self.create(table).await;
    }

    async fn write(&mut self) {
        let returns = given::returns(&mut self.random);
        let (table, schema) = self.table();
        let action = given::action(&mut self.random, &table, &schema);
        let mut answers = Vec::new();
        for store in [&self.model as &dyn Store, self.engine()] {
            answers.push(match action.clone() {
                TransactAction::Put(put) => store.put_item(put, returns).await,
                TransactAction::Update(update) => store.update_item(update, returns).await,
                TransactAction::Delete(delete) => store.delete_item(delete, returns).await,
                TransactAction::Check(_) => return,
            });
        }
        assert_eq!(answers[1], answers[0], "{action:?}");
    }

    async fn transact(&mut self) {
        let mut actions = Vec::new();
        for _ in 0..self.random.usize(1..5) {
            let (table, schema) = self.table();
            actions.push(given::action(&mut self.random, &table, &schema));
        }
        let request = TransactWriteItems {
            actions,
            token: match self.random.u32(..4) {
                0 => None,
                // Few tokens, so that they are met again, mostly by another transaction. When the
                // clock goes back, a store may have cleared away what would count once more.
                number => Some(format!("token-{}-{number}", self.turns)),
            },
        };
        for _ in 0..self.random.usize(1..3) {
            let wanted = self.model.transact_write_items(request.clone()).await;
            let answer = self.engine().transact_write_items(request.clone()).await;
            assert_eq!(answer, wanted, "{request:?}");
        }
    }

    async fn batch_write(&mut self) {
        let mut writes = Vec::new();
        for _ in 0..self.random.usize(1..6) {
            let (table, schema) = self.table();
            writes.push(given::batch_write(&mut self.random, &table, &schema));
        }
        let request = BatchWriteItem { writes };
        let wanted = self.model.batch_write_item(request.clone()).await;
        let answer = self.engine().batch_write_item(request.clone()).await;
        assert_eq!(answer, wanted, "{request:?}");
    }

    async fn get(&mut self) {
        let mut gets = Vec::new();
        for _ in 0..self.random.usize(1..6) {
            let (table, schema) = self.table();
            let key = given::key(&mut self.random, schema.key.attributes());
            let projection = given::projection(&mut self.random);
            gets.push((ItemAddress { table, key }, projection));
        }
        let (ItemAddress { table, key }, projection) = gets[0].clone();
        let one = GetItem {
            projection,
            consistent: self.random.bool(),
            ..GetItem::new(table, key)
        };
        let wanted = self.model.get_item(one.clone()).await;
        assert_eq!(self.engine().get_item(one.clone()).await, wanted, "{one:?}");
        let several = BatchGetItem::new(gets.iter().map(|(address, _)| address.clone()).collect());
        let wanted = self.model.batch_get_item(several.clone()).await;
        let answer = self.engine().batch_get_item(several.clone()).await;
        assert_eq!(answer, wanted, "{several:?}");
        let at_once = TransactGetItems { gets };
        let wanted = self.model.transact_get_items(at_once.clone()).await;
        let answer = self.engine().transact_get_items(at_once.clone()).await;
        assert_eq!(answer, wanted, "{at_once:?}");
    }

    async fn query(&mut self) {
        let (table, schema) = self.table();
        let index = given::index_of(&mut self.random, &schema);
        let random = &mut self.random;
        let keys = given::key_condition(random, &schema, index);
        let mut query = Query::new(table, keys);
        query.index = index.map(|index| index.name.clone());
        query.consistent = index.is_none() || random.u32(..8) == 0;
        query.descending = random.bool();
        query.filter = given::filter(random);
        query.select = given::select(random);
        query.limit = random.bool().then(|| random.usize(..5));
        // Sometimes from anywhere, also from outside the range.
        let start = given::start(random, &schema, index);
        query.start_after = (random.u32(..4) == 0).then_some(start);
        loop {
            let wanted = self.model.query(query.clone()).await;
            let answer = self.engine().query(query.clone()).await;
            assert_eq!(answer, wanted, "{query:?}");
            match wanted.map(|metered| metered.answer) {
                Ok(Page {
                    last_key: Some(last_key),
                    ..
                }) => query.start_after = Some(last_key),
                _ => return,
            }
        }
    }

    /// The order of a scan is not specified, so the items are compared as a set.
    async fn scan(&mut self) {
        for (table, schema) in self.tables.clone() {
            let mut scan = Scan::new(table);
            let index = given::index_of(&mut self.random, &schema);
            scan.index = index.map(|index| index.name.clone());
            scan.consistent = index.is_none();
            scan.limit = self.random.bool().then(|| self.random.usize(1..5));
            let whole = scan_all(&self.model, scan.clone()).await;
            let mut parts = Vec::new();
            let total = self.random.u32(1..5);
            for number in 0..total {
                scan.segment = (total > 1).then_some(Segment { number, total });
                let wanted = scan_all(&self.model, scan.clone()).await;
                let found = scan_all(self.engine(), scan.clone()).await;
                assert_eq!(found, wanted, "{scan:?}");
                parts.extend(found);
            }
            parts.sort();
            assert_eq!(parts, whole, "{scan:?}");
        }
    }
}

async fn scan_all(store: &dyn Store, mut scan: Scan) -> Vec<String> {
    let mut items = Vec::new();
    loop {
        let page = store.scan(scan.clone()).await.unwrap();
        let page = page.answer.into_parts().unwrap();
        assert!(scan.limit.is_none_or(|limit| page.scanned <= limit));
        items.extend(page.items.iter().map(|item| format!("{item:?}")));
        match page.last_key {
            Some(last_key) => scan.start_after = Some(last_key),
            None => break,
        }
    }
    items.sort();
    items
}

/// What a single write may be asked for.
const RETURNS: [ReturnValues; 5] = [
    ReturnValues::None,
    ReturnValues::AllOld,
    ReturnValues::AllNew,
    ReturnValues::UpdatedOld,
    ReturnValues::UpdatedNew,
];
