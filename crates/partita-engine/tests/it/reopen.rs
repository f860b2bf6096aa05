//! What it takes to open a store: how long after it was killed under load, a measurement that is run
//! by hand; and how often its journal is read after it was closed.
//!
//! ```text
//! cargo test --release -p partita-engine --test it reopen::after_a_kill -- --ignored --nocapture
//! ```

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use partita_core::Value;
use partita_engine::EngineStore;
use partita_store::Store as _;
use partita_store::index::IndexProjection;
use partita_store::request::{BatchWrite, BatchWriteItem, CreateTable, PutItem, ReturnValues};

use crate::bench::{CHILD_DIRECTORY, child, create_table, key, number, open, put, schema, table};

const WRITERS: u64 = 16;
const OPENED_MAX: Duration = Duration::from_secs(2);

/// How many items there are when the process is killed.
fn items() -> u64 {
    let items = std::env::var("PARTITA_ITEMS").ok();
    items.map_or(1_000_000, |text| text.parse().unwrap())
}

#[test]
#[ignore = "a measurement of some minutes and gigabytes"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let command = Command::new(std::env::current_exe().unwrap());
    let mut child = child(command, "reopen::writer", directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines = output.lines().map_while(Result::ok);
    // The writer goes on, and is killed in the middle of it.
    let is_full = lines.into_iter().any(|line| line.ends_with("written"));
    assert!(is_full, "the writer has stopped");
    std::thread::sleep(Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    let started = Instant::now();
    let store = open(directory.path());
    let opened = started.elapsed();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let last = items() - 1;
        assert_eq!(number(&store, key("item", last), "amount").await, 1);
    });
    println!("{} items: opened after {opened:.2?}", items());
    assert!(opened <= OPENED_MAX);
}

/// The journal is read once to be checked and once by the storage, and its end is found without the
/// rest when the store is closed.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_journal_is_read_twice_after_a_clean_stop() {
    let directory = tempfile::tempdir().unwrap();
    {
        let store = open(directory.path());
        create_table(&store).await;
        for number in 0..100 {
            let mut item = put(key("item", number), "amount", 1).item;
            item.insert("text".to_owned(), Value::from("x".repeat(100_000)));
            let put = PutItem::new(table(), item);
            store.put_item(put, ReturnValues::None).await.unwrap();
        }
        store.close().await;
    }
    // The first start gives back the room behind the end.
    drop(open(directory.path()));
    let journal = directory.path().join("data").join("0.jnl");
    let bytes = std::fs::metadata(journal).unwrap().len();
    assert!(bytes > 10_000_000, "{bytes}");
    let command = Command::new(std::env::current_exe().unwrap());
    let output = child(command, "reopen::opener", directory.path()).output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    let read = output.lines().find_map(|line| line.split("read ").nth(1));
    let read: u64 = read.unwrap_or_else(|| panic!("{output}")).parse().unwrap();
    assert!(read < bytes * 5 / 2, "{read} of {bytes} bytes");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "runs as the child of `a_journal_is_read_twice_after_a_clean_stop`"]
fn opener() {
    let Ok(directory) = std::env::var(CHILD_DIRECTORY) else {
        return;
    };
    let read = || -> u64 {
        let counts = std::fs::read_to_string("/proc/self/io").unwrap();
        let mut lines = counts.lines();
        let read = lines.find_map(|line| line.strip_prefix("rchar: "));
        read.unwrap().parse().unwrap()
    };
    let before = read();
    let store = open(Path::new(&directory));
    println!("read {}", read() - before);
    drop(store);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs as the child of `after_a_kill`"]
async fn writer() {
    let Ok(directory) = std::env::var(CHILD_DIRECTORY) else {
        return;
    };
    let store = Arc::new(open(Path::new(&directory)));
    let mut schema = schema();
    for index in &mut schema.indexes {
        index.projection = IndexProjection::All;
    }
    let request = CreateTable::new(table(), schema);
    store.create_table(request).await.unwrap();
    let next = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| tokio::spawn(fill(store.clone(), next.clone())))
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    println!("written");
    // More of the same, over what is there, until it is killed.
    next.store(0, Ordering::SeqCst);
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| tokio::spawn(fill(store.clone(), next.clone())))
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

/// Writes items of 1 KB, 25 at a time.
async fn fill(store: Arc<EngineStore>, next: Arc<AtomicU64>) {
    let mut random = fastrand::Rng::with_seed(1);
    loop {
        let first = next.fetch_add(25, Ordering::SeqCst);
        if first >= items() {
            return;
        }
        let writes = (first..first + 25).map(|number| {
            let mut item = put(key("item", number), "amount", 1).item;
            let text: String = (0..900).map(|_| random.alphanumeric()).collect();
            item.insert("text".to_owned(), Value::from(text));
            let table = table();
            BatchWrite::Put { table, item }
        });
        let writes = writes.collect();
        let request = BatchWriteItem { writes };
        store.batch_write_item(request).await.unwrap();
    }
}
