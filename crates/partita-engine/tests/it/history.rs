//! Random histories on few hot keys: the engine answers what the model answers, also after it
//! was reopened.

use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;
use partita_core::expression::{Bindings, Condition, KeyCondition, KeyRange, Update};
use partita_core::key::KeyType;
use partita_core::{Item, Value};
use partita_engine::EngineStore;
use partita_store::request::{
    BatchGetItem, ConditionCheck, CreateTable, DeleteItem, GetItem, ItemAddress, Page, PutItem,
    Query, ReturnValues, Scan, TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::surroundings::ManualClock;
use partita_store::table::{KeyAttribute, KeySchema, TableName};
use partita_store::{ModelStore, Store};

const HISTORIES: u64 = 12;
const STEPS: usize = 250;

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
            2..5 => history.wait(),
            5..50 => history.write().await,
            50..65 => history.transact().await,
            65..75 => history.get().await,
            75..95 => history.query().await,
            _ => history.scan().await,
        }
    }
    history.reopen();
    history.scan().await;
}

struct History<'a> {
    directory: &'a Path,
    random: Rng,
    clock: Arc<ManualClock>,
    model: ModelStore,
    engine: Option<EngineStore>,
    tables: Vec<(TableName, KeySchema)>,
}

/// Tables of every kind of key.
fn tables() -> Vec<(TableName, KeySchema)> {
    let attribute = |name: &str, kind| KeyAttribute {
        name: name.to_owned(),
        kind,
    };
    let table = |name: &str, partition, sort: Option<KeyType>| {
        let schema = KeySchema {
            partition: attribute("P", partition),
            sort: sort.map(|kind| attribute("S", kind)),
        };
        (name.parse().unwrap(), schema)
    };
    vec![
        table("strings", KeyType::S, Some(KeyType::S)),
        table("numbers", KeyType::S, Some(KeyType::N)),
        table("binaries", KeyType::N, Some(KeyType::B)),
        table("singles", KeyType::B, None),
    ]
}

fn value(random: &mut Rng, kind: KeyType) -> Value {
    match kind {
        KeyType::S => {
            let texts = ["a", "a\0", "a\0b", "aa", "ab", "b", "é", "\u{10FFFF}"];
            Value::from(texts[random.usize(..texts.len())])
        }
        KeyType::N => {
            let texts = ["-1E+20", "-1.5", "-1", "0", "1E-9", "1", "1.5", "2", "10"];
            Value::N(texts[random.usize(..texts.len())].parse().unwrap())
        }
        KeyType::B => {
            let length = random.usize(1..4);
            Value::B(
                (0..length)
                    .map(|_| [0, 1, 255][random.usize(..3)])
                    .collect(),
            )
        }
    }
}

fn condition(random: &mut Rng) -> Option<Condition> {
    let texts = [
        "attribute_exists(P)",
        "attribute_not_exists(P)",
        "n > 2",
        "n < 3 OR attribute_not_exists(n)",
        "contains(tags, 'x')",
    ];
    let text = *texts.get(random.usize(..2 * texts.len()))?;
    Some(Condition::parse(text, &Bindings::Literals).unwrap())
}

fn update(random: &mut Rng) -> Update {
    let texts = [
        "SET n = if_not_exists(n, 0) + 1",
        "ADD n 1",
        "ADD n -1.5",
        "SET n = n + 1",
        "SET title = 'new' REMOVE n",
        "REMOVE title",
        "SET P = 'no key may change'",
        "ADD title 1",
    ];
    Update::parse(texts[random.usize(..texts.len())], &Bindings::Literals).unwrap()
}

impl<'a> History<'a> {
    async fn new(directory: &'a Path, seed: u64) -> Self {
        let clock = Arc::new(ManualClock::at(1_000_000));
        let mut history = History {
            directory,
            random: Rng::with_seed(seed),
            model: ModelStore::new(clock.clone()),
            clock,
            engine: None,
            tables: tables(),
        };
        history.reopen();
        for (table, schema) in history.tables.clone() {
            let request = CreateTable { table, schema };
            let wanted = history.model.create_table(request.clone()).await;
            assert_eq!(history.engine().create_table(request).await, wanted);
        }
        history
    }

    fn engine(&self) -> &EngineStore {
        self.engine.as_ref().expect("it is opened at the start")
    }

    fn reopen(&mut self) {
        drop(self.engine.take());
        let engine = EngineStore::open(self.directory, self.clock.clone());
        self.engine = Some(engine.unwrap());
    }

    /// Up to a little longer than a token counts.
    fn wait(&mut self) {
        self.clock.advance(self.random.i64(0..700_000));
    }

    fn table(&mut self) -> (TableName, KeySchema) {
        let table = self.random.usize(..self.tables.len());
        self.tables[table].clone()
    }

    fn key(&mut self, schema: &KeySchema) -> Item {
        schema
            .attributes()
            .map(|attribute| {
                (
                    attribute.name.clone(),
                    value(&mut self.random, attribute.kind),
                )
            })
            .collect()
    }

    fn action(&mut self) -> TransactAction {
        let (table, schema) = self.table();
        let key = self.key(&schema);
        let condition = condition(&mut self.random);
        let return_item_on_failure = self.random.bool();
        match self.random.u32(..8) {
            0..3 => {
                let mut item = key;
                item.insert("n".to_owned(), Value::from(self.random.i64(0..5)));
                if self.random.bool() {
                    let tags = ["x", "y"].map(str::to_owned).into();
                    item.insert("tags".to_owned(), Value::Ss(tags));
                }
                TransactAction::Put(PutItem {
                    table,
                    item,
                    condition,
                    return_item_on_failure,
                })
            }
            3..6 => TransactAction::Update(UpdateItem {
                table,
                key,
                update: update(&mut self.random),
                condition,
                return_item_on_failure,
            }),
            6 => TransactAction::Delete(DeleteItem {
                table,
                key,
                condition,
                return_item_on_failure,
            }),
            _ => match condition {
                None => self.action(),
                Some(condition) => TransactAction::Check(ConditionCheck {
                    table,
                    key,
                    condition,
                    return_item_on_failure,
                }),
            },
        }
    }

    async fn write(&mut self) {
        let returns = [
            ReturnValues::None,
            ReturnValues::AllOld,
            ReturnValues::AllNew,
        ][self.random.usize(..3)];
        let action = self.action();
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
        let count = self.random.usize(1..5);
        let request = TransactWriteItems {
            actions: (0..count).map(|_| self.action()).collect(),
            token: match self.random.u32(..4) {
                0 => None,
                // Few tokens, so that they are met again, mostly by another transaction.
                number => Some(format!("token-{number}")),
            },
        };
        for _ in 0..self.random.usize(1..3) {
            let wanted = self.model.transact_write_items(request.clone()).await;
            let answer = self.engine().transact_write_items(request.clone()).await;
            assert_eq!(answer, wanted, "{request:?}");
        }
    }

    async fn get(&mut self) {
        let mut addresses = Vec::new();
        for _ in 0..self.random.usize(1..6) {
            let (table, schema) = self.table();
            let key = self.key(&schema);
            addresses.push(ItemAddress { table, key });
        }
        let ItemAddress { table, key } = addresses[0].clone();
        let one = GetItem {
            table,
            key,
            consistent: true,
        };
        let wanted = self.model.get_item(one.clone()).await;
        assert_eq!(self.engine().get_item(one.clone()).await, wanted, "{one:?}");
        let several = BatchGetItem {
            addresses,
            consistent: true,
        };
        let wanted = self.model.batch_get_item(several.clone()).await;
        let answer = self.engine().batch_get_item(several.clone()).await;
        assert_eq!(answer, wanted, "{several:?}");
    }

    fn keys(&mut self, schema: &KeySchema) -> KeyCondition {
        let partition = value(&mut self.random, schema.partition.kind);
        let mut keys = KeyCondition::partition("P", partition);
        if let Some(sort) = &schema.sort {
            let (low, high) = (
                value(&mut self.random, sort.kind),
                value(&mut self.random, sort.kind),
            );
            let range = match self.random.u32(..8) {
                0 => None,
                1 => {
                    keys.equals.push(("S".to_owned(), low));
                    None
                }
                2 => Some(KeyRange::Less(low)),
                3 => Some(KeyRange::LessOrEqual(low)),
                4 => Some(KeyRange::Greater(low)),
                5 => Some(KeyRange::GreaterOrEqual(low)),
                6 => Some(KeyRange::Between(low, high)),
                _ => Some(KeyRange::BeginsWith(low)),
            };
            keys.range = range.map(|range| ("S".to_owned(), range));
        }
        keys
    }

    async fn query(&mut self) {
        let (table, schema) = self.table();
        let mut query = Query::new(table, self.keys(&schema));
        query.descending = self.random.bool();
        query.filter = condition(&mut self.random);
        query.limit = self.random.bool().then(|| self.random.usize(..5));
        // Sometimes from anywhere, also from outside the range.
        query.start_after = (self.random.u32(..4) == 0).then(|| self.key(&schema));
        loop {
            let wanted = self.model.query(query.clone()).await;
            assert_eq!(
                self.engine().query(query.clone()).await,
                wanted,
                "{query:?}"
            );
            match wanted {
                Ok(Page {
                    last_key: Some(last_key),
                    ..
                }) => query.start_after = Some(last_key),
                _ => return,
            }
        }
    }

    /// The order of a scan is nobody's business, so the items are compared as a set.
    async fn scan(&mut self) {
        for (table, _) in self.tables.clone() {
            let mut scan = Scan::new(table);
            scan.limit = self.random.bool().then(|| self.random.usize(1..5));
            let wanted = scan_all(&self.model, scan.clone()).await;
            let found = scan_all(self.engine(), scan.clone()).await;
            assert_eq!(found, wanted, "{scan:?}");
        }
    }
}

async fn scan_all(store: &dyn Store, mut scan: Scan) -> Vec<String> {
    let mut items = Vec::new();
    loop {
        let page = store.scan(scan.clone()).await.unwrap();
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
