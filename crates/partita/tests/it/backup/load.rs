//! A busy server with a backup behind it: every moment is restored as it was then, item by item.
//!
//! `PARTITA_LONG=1` writes for ten minutes and restores fifty moments.

use std::sync::atomic::{AtomicBool, Ordering};

use partita_core::{Item, Value};
use partita_design::time;
use partita_store::request::Scan;
use partita_store::{Clock as _, Store as _};

use super::*;

const WRITERS: usize = 16;
/// Titles that a story has, one after the other, before the next one is begun.
const TITLES: usize = 4;

/// How long it takes, and how many moments are looked at.
fn extent() -> (Duration, usize) {
    match std::env::var_os("PARTITA_LONG") {
        None => (Duration::from_secs(6), 5),
        Some(_) => (Duration::from_secs(600), 50),
    }
}

fn now_millis() -> i64 {
    SystemClock.now_millis()
}

/// When a title was sent and when it was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    began: i64,
    ended: i64,
}

/// The titles of each story in their order.
type Model = BTreeMap<String, Vec<Sent>>;

fn title(story: &str, number: usize) -> String {
    format!("title {number} of {story}")
}

/// Writes stories until it is over.
async fn write(base: String, token: String, writer: usize, is_over: Arc<AtomicBool>) -> Model {
    let client = Client::new();
    let mut model = Model::new();
    for count in 0.. {
        let id = format!("01{:024}", writer * 1_000_000 + count);
        let mut sent = Vec::new();
        for number in 0..TITLES {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let title = title(&id, number);
            let request = if number == 0 {
                let story = json!({"userId": "ann", "id": id, "title": title});
                client.post(format!("{base}/stories/Story")).json(&story)
            } else {
                let url = format!("{base}/stories/Story/ann/{id}");
                client.patch(url).json(&json!({"title": title}))
            };
            let began = now_millis();
            let answer = request.bearer_auth(&token).send().await.unwrap();
            assert!(answer.status().is_success(), "{answer:?}");
            sent.push(Sent {
                began,
                ended: now_millis(),
            });
        }
        if sent.is_empty() {
            return model;
        }
        model.insert(id, sent);
    }
    model
}

/// Has all writers write for so long. Gives what they wrote, and how many writes a second.
async fn busy(server: &Server, data: &Path, first: usize, length: Duration) -> (Model, f64) {
    let is_over = Arc::new(AtomicBool::new(false));
    let token = token(data, "ann");
    let writers = (first..first + WRITERS).map(|writer| {
        let (base, token) = (server.base.clone(), token.clone());
        tokio::spawn(write(base, token, writer, is_over.clone()))
    });
    let writers: Vec<_> = writers.collect();
    let began = now_millis();
    tokio::time::sleep(length).await;
    is_over.store(true, Ordering::Relaxed);
    let mut model = Model::new();
    for writer in writers {
        model.extend(writer.await.unwrap());
    }
    let count: usize = model.values().map(Vec::len).sum();
    (
        model,
        count as f64 * 1_000.0 / (now_millis() - began) as f64,
    )
}

/// Seconds of CPU that a process has taken.
fn cpu_seconds(id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks = fields[11..13].iter().map(|one| one.parse::<f64>().unwrap());
    ticks.sum::<f64>() / 100.0
}

/// The lag of the backup in whole seconds, again and again until it is over.
async fn lags(base: String, is_over: Arc<AtomicBool>) -> Vec<u64> {
    let client = Client::new();
    let mut lags = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let answer = client.get(format!("{base}/metrics")).send().await.unwrap();
        let text = answer.text().await.unwrap();
        let mut lines = text.lines();
        let lag = lines.find_map(|line| line.strip_prefix("partita_backup_lag_seconds "));
        lags.push(lag.unwrap().parse().unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    lags.sort_unstable();
    lags
}

/// The stories of a restored directory, held against the model. What was acknowledged before the
/// time is there, and nothing that was sent after it.
async fn compare(data: &Path, millis: i64, is_whole: bool, model: &Model) {
    let store = open(data);
    assert_eq!(store.verify().await, Ok(Vec::new()));
    let mut found = BTreeMap::new();
    let mut scan = Scan::new("stories".parse().unwrap());
    loop {
        let page = store.scan(scan.clone()).await.unwrap();
        let page = page.answer.into_parts().unwrap();
        for item in page.items {
            let text =
                |item: &Item, name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
            if text(&item, "SK").as_deref() == Some("METADATA") {
                found.insert(text(&item, "id").unwrap(), text(&item, "title").unwrap());
            }
        }
        match page.last_key {
            None => break,
            last => scan.start_after = last,
        }
    }
    // Of the commits of one millisecond a commit by its number has only some.
    let until = millis - i64::from(!is_whole);
    for (id, sent) in model {
        let least = sent.iter().filter(|one| one.ended <= until).count();
        let most = sent.iter().filter(|one| one.began <= millis).count();
        let number = match found.remove(id) {
            None => 0,
            Some(found) => {
                let known = (0..sent.len()).find(|number| title(id, *number) == found);
                known.unwrap_or_else(|| panic!("{found}")) + 1
            }
        };
        assert!(
            (least..=most).contains(&number),
            "{id} at {millis} has {number} titles, and not {least} to {most}: {sent:?}"
        );
    }
    assert!(found.is_empty(), "nobody wrote {found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_moment_of_a_busy_server_is_as_it_was_then() {
    let (length, moments) = extent();
    let scene = Scene::new();
    let alone = scene.serve("data", &[]);
    let (mut model, rate_alone) = busy(&alone, &scene.path("data"), 0, length / 4).await;
    assert_eq!(alone.stop(), Some(0));

    let target = scene.path("target");
    let server = scene.serve("data", &["--backup", target.to_str().unwrap()]);
    let first_commit = scene.wait_for_backup()["commit"].as_u64().unwrap();
    let first = now_millis();
    let is_over = Arc::new(AtomicBool::new(false));
    let lags = tokio::spawn(lags(server.base.clone(), is_over.clone()));
    let cpu = cpu_seconds(server.id());
    let (more, rate) = busy(&server, &scene.path("data"), WRITERS, length).await;
    let cpu = cpu_seconds(server.id()) - cpu;
    let last = now_millis();
    model.extend(more);
    is_over.store(true, Ordering::Relaxed);
    let lags = lags.await.unwrap();
    let last_commit = scene.wait_for_backup()["commit"].as_u64().unwrap();
    assert_eq!(server.stop(), Some(0));

    let shipped: u64 = walk(&target)
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .sum();
    let lag = lags[lags.len() * 99 / 100];
    println!(
        "{rate_alone:.0} writes a second alone, {rate:.0} with a backup ({:.2}), {cpu:.1} s of CPU \
         in {length:?}; p99 of the lag under {} s, {shipped} bytes shipped",
        rate / rate_alone,
        lag + 1,
    );
    let is_long = std::env::var_os("PARTITA_LONG").is_some();
    assert!(lag < if is_long { 1 } else { 10 }, "{lags:?}");

    let mut random = fastrand::Rng::with_seed(9);
    for round in 0..moments {
        let millis = random.i64(first..=last);
        let (moment, is_whole) = if round % 2 == 0 {
            (format!("--at {}", time::format_millis(millis)), true)
        } else {
            let number = random.u64(first_commit..=last_commit);
            (format!("--commit {number}"), false)
        };
        let into = format!("into-{round}");
        let said = scene.said(&format!("restore target {moment} --into {into}"));
        let made = said.split("made at ").nth(1).unwrap();
        let made = time::parse_millis(made.split(' ').next().unwrap()).unwrap();
        let millis = if is_whole { millis } else { made };
        assert!(made <= millis, "{said}");
        compare(&scene.path(&into), millis, is_whole, &model).await;
        scene.said(&format!("verify stories --data {into}"));
        fs::remove_dir_all(scene.path(&into)).unwrap();
    }
}
