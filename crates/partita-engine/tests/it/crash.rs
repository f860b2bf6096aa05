//! The process is killed in the middle of its work: nothing acknowledged is lost, no transaction
//! is there by half, and no index entry without its item or the other way round.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use partita_core::Value;
use partita_engine::EngineStore;
use partita_store::Store;
use partita_store::request::{
    BatchWrite, BatchWriteItem, CreateTable, ReturnValues, TransactAction, TransactWriteItems,
};
use partita_store::table::TableName;

use crate::bench::{
    CHILD_DIRECTORY, adding, all, child, create_table, key, number_of, open, put, schema,
};

const ROUNDS: u64 = 8;
const WRITERS: u64 = 16;
const ACCOUNTS: i64 = 4;

#[test]
fn nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        // The first rounds are cut while the store is being created.
        let longest_millis = if round < 3 { 30 } else { 500 };
        let life = Duration::from_millis(random.u64(5..longest_millis));
        acknowledged.extend(kill_after(life, round, directory.path()));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(check(directory.path(), &acknowledged));
    }
    assert!(acknowledged.len() > 100, "only {}", acknowledged.len());
}

/// Lets a child write for a while, kills it, and tells what it had acknowledged.
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
    create_table(&store).await;
    // Also no row of a table that was deleted, unless it is on its way out.
    assert_eq!(store.verify().await, Ok(Vec::new()));
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
    }
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
    create_table(&store).await;
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

/// Creates a table, fills it and deletes it, again and again.
async fn come_and_go(store: Arc<EngineStore>) {
    let table: TableName = "scratch".parse().unwrap();
    loop {
        // An earlier round may have left it.
        let _ = store.delete_table(&table).await;
        let request = CreateTable::new(table.clone(), schema());
        store.create_table(request).await.unwrap();
        for batch in 0..40 {
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
