//! The process is killed in the middle of its work: nothing acknowledged is lost, no transaction
//! is there by half, no index entry without its item or the other way round, and every write has
//! its record in the stream, which has no gap.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use partita_core::Value;
use partita_engine::EngineStore;
use partita_store::Store;
use partita_store::index::IndexSchema;
use partita_store::request::{
    BatchWrite, BatchWriteItem, CreateTable, ReturnValues, TableChange, TransactAction,
    TransactWriteItems, UpdateTable, UpdateTimeToLive,
};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ShardStart, StreamEvent, StreamView,
};
use partita_store::table::TableName;

use crate::bench::{CHILD_DIRECTORY, adding, all, child, key, number_of, open, put, schema, table};

/// Rounds, and with `PARTITA_LONG=1`.
const ROUNDS: u64 = 10;
const ROUNDS_LONG: u64 = 200;
/// A test that saw fewer has shown nothing.
const WRITES_MIN: usize = 100;
const WRITERS: u64 = 16;
const ACCOUNTS: i64 = 4;

#[test]
fn nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut acknowledged = Vec::new();
    let rounds = match std::env::var_os("PARTITA_LONG") {
        None => ROUNDS,
        Some(_) => ROUNDS_LONG,
    };
    let mut round = 0;
    // A slow machine acknowledges little in a round, and then has some more of them.
    while round < rounds || (acknowledged.len() <= WRITES_MIN && round < 10 * rounds) {
        // The first rounds are cut while the store is being created.
        let longest_millis = if round < 3 { 30 } else { 500 };
        let life = Duration::from_millis(random.u64(5..longest_millis));
        acknowledged.extend(kill_after(life, round, directory.path()));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(check(directory.path(), &acknowledged));
        round += 1;
    }
    let count = acknowledged.len();
    assert!(count > WRITES_MIN, "only {count} in {round} rounds");
    println!("{count} acknowledged writes in {round} rounds");
}

/// Lets a child write for a while, kills it, and returns what it had acknowledged.
fn kill_after(life: Duration, round: u64, directory: &Path) -> Vec<String> {
    let command = Command::new(std::env::current_exe().unwrap());
    let mut child = child(command, "crash::writer", directory)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let lines = output.split(b'\n').map_while(Result::ok);
        let lines = lines.filter_map(|line| String::from_utf8(line).ok());
        let acknowledged = lines.filter_map(|line| Some(line.strip_prefix("done ")?.to_owned()));
        // The last line may be cut, and a cut identifier is another one.
        acknowledged.filter(|id| id.ends_with('.')).collect()
    });
    std::thread::sleep(life);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

async fn check(directory: &Path, acknowledged: &[String]) {
    let store = open(directory);
    create_streamed(&store).await;
    // This also finds gaps in the stream, entries of an index before the key up to which it is
    // built, and rows of a deleted table that are not being cleared.
    assert_eq!(store.verify().await, Ok(Vec::new()));
    let told = told(&store).await;
    let items = all(&store).await;
    let mut found: HashMap<(&str, &str), i64> = HashMap::new();
    for item in &items {
        let place = ["PK", "SK"].map(|name| item.get(name).and_then(Value::as_str).unwrap());
        found.insert((place[0], place[1]), number_of(item, "amount"));
    }
    for id in acknowledged {
        let kind = if id.starts_with("put") {
            "put"
        } else {
            "debit"
        };
        assert!(
            found.contains_key(&(kind, id)),
            "{id} was acknowledged and is lost"
        );
        assert!(
            told.contains(&(kind.to_owned(), id.clone())),
            "{id} was acknowledged and has no record"
        );
    }
    assert_eq!(told.len(), found.len(), "every item has a first record");
    // Each transfer has left a debit and a credit, and the balances are what they come to.
    let mut balances = [0; ACCOUNTS as usize];
    for ((kind, id), account) in &found {
        let other = match *kind {
            "debit" => "credit",
            "credit" => "debit",
            _ => continue,
        };
        assert!(found.contains_key(&(other, id)), "{id} has no {other}");
        let account = usize::try_from(*account).unwrap();
        balances[account] += if *kind == "credit" { 1 } else { -1 };
    }
    for (account, balance) in balances.iter().enumerate() {
        let name = account.to_string();
        let stored = found.get(&("account", name.as_str()));
        assert_eq!(stored.copied().unwrap_or(0), *balance, "account {account}");
    }
}

/// Creates the table with a stream, unless an earlier round has.
async fn create_streamed(store: &EngineStore) {
    if store.describe_table(&table()).await.is_err() {
        let mut request = CreateTable::new(table(), schema());
        request.settings.stream = Some(StreamView::NewAndOldImages);
        store.create_table(request).await.unwrap();
    }
}

/// The keys of all items whose creation is in the stream.
async fn told(store: &EngineStore) -> HashSet<(String, String)> {
    let described = store.describe_table(&table()).await.unwrap();
    let stream = described.latest_stream.unwrap();
    let describe = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    let described = store.describe_stream(describe).await.unwrap();
    let request = GetShardIterator {
        stream,
        shard: described.shards[0].id.clone(),
        start: ShardStart::TrimHorizon,
    };
    let mut iterator = store.get_shard_iterator(request).await.unwrap();
    let mut told = HashSet::new();
    loop {
        let limit = None;
        let page = store.get_records(GetRecords { iterator, limit }).await;
        let page = page.unwrap();
        if page.records.is_empty() {
            return told;
        }
        let created = page.records.iter();
        let created = created.filter(|record| record.event == StreamEvent::Insert);
        told.extend(created.map(|record| {
            let text = |name| record.key.get(name).and_then(Value::as_str).unwrap();
            (text("PK").to_owned(), text("SK").to_owned())
        }));
        iterator = page.next.expect("the stream goes on");
    }
}

const ROUND: &str = "PARTITA_CRASH_ROUND";

/// Writes until it is killed, and says what was acknowledged.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs as the child of `nothing_acknowledged_is_lost`"]
async fn writer() {
    let Ok(directory) = std::env::var(CHILD_DIRECTORY) else {
        return;
    };
    let round = std::env::var(ROUND).unwrap();
    let store = Arc::new(open(Path::new(&directory)));
    create_streamed(&store).await;
    let scratch = tokio::spawn(come_and_go(store.clone()));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, round) = (store.clone(), round.clone());
            tokio::spawn(async move {
                for number in 0_u64.. {
                    write(&store, writer, &format!("{round}-{writer}-{number}.")).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    scratch.await.unwrap();
}

/// Creates a table, fills it, gives it an index and an expiry meanwhile, and deletes it, again
/// and again.
async fn come_and_go(store: Arc<EngineStore>) {
    let table: TableName = "scratch".parse().unwrap();
    loop {
        // An earlier round may have left it.
        let _ = store.delete_table(&table).await;
        let request = CreateTable::new(table.clone(), schema());
        store.create_table(request).await.unwrap();
        for batch in 0..40 {
            if batch == 10 {
                change(&store, &table).await;
            }
            let writes = (0..25).map(|number| BatchWrite::Put {
                table: table.clone(),
                item: put(key("scratch", batch * 25 + number), "amount", number).item,
            });
            let writes = writes.collect();
            store
                .batch_write_item(BatchWriteItem { writes })
                .await
                .unwrap();
        }
    }
}

async fn change(store: &EngineStore, table: &TableName) {
    let index = IndexSchema {
        name: "late".to_owned(),
        ..schema().indexes[0].clone()
    };
    let request = UpdateTable {
        table: table.clone(),
        changes: vec![TableChange::CreateIndex(index)],
    };
    store.update_table(request).await.unwrap();
    let request = UpdateTimeToLive {
        table: table.clone(),
        // None of them has expired, as they would be more than five years ago.
        attribute: "amount".to_owned(),
        is_enabled: true,
    };
    store.update_time_to_live(request).await.unwrap();
}

/// One put, and one transfer that leaves a trace of each half.
async fn write(store: &EngineStore, writer: u64, id: &str) {
    let put_id = format!("put-{id}");
    let single = put(key("put", &put_id), "amount", 1);
    store.put_item(single, ReturnValues::None).await.unwrap();
    println!("done {put_id}");

    let from = i64::try_from(writer).unwrap() % ACCOUNTS;
    let to = (from + 1) % ACCOUNTS;
    let id = format!("move-{id}");
    let request = TransactWriteItems {
        actions: vec![
            adding(key("account", from), -1),
            TransactAction::Put(put(key("debit", &id), "amount", from)),
            adding(key("account", to), 1),
            TransactAction::Put(put(key("credit", &id), "amount", to)),
        ],
        token: Some(id.chars().take(36).collect()),
    };
    store.transact_write_items(request).await.unwrap();
    println!("done {id}");
}
