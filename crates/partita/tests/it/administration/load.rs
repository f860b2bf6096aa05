//! Verify and repair beside traffic: planted drift is found and mended, and nothing else is touched.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use partita_core::Item;
use partita_engine::{EngineStore, Options, Upkeep};
use partita_store::Store as _;
use partita_store::request::Scan;
use partita_store::surroundings::SystemClock;
use reqwest::Client;
use serde_json::json;

use super::{TABLE, filled, leftover, partita, put};
use crate::server::{Server, token_for};

/// Planted records without a source.
const LEFTOVERS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_beside_traffic_mends_what_drifted_and_nothing_else() {
    let data = filled();
    let before = items(data.path()).await;
    put(data.path(), (0..LEFTOVERS).map(leftover)).await;
    let server = Server::start(data.path(), &["stories", "--durability", "buffered"]);
    let flags = ["--data", data.path().to_str().unwrap()];
    let token = token_for("stories", &flags, "traffic");
    let is_over = Arc::new(AtomicBool::new(false));
    let created = Arc::new(AtomicU32::new(0));
    let writers = (0..4).map(|_| {
        let (url, token) = (format!("{}/stories/Story", server.base), token.clone());
        let (is_over, created) = (is_over.clone(), created.clone());
        tokio::spawn(async move {
            let client = Client::new();
            while !is_over.load(Ordering::Relaxed) {
                let story = json!({"userId": "traffic", "title": "Dune"});
                let call = client.post(&url).bearer_auth(&token).json(&story);
                assert_eq!(call.send().await.unwrap().status().as_u16(), 201);
                created.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let path = data.path().to_owned();
    let ask = async move |words: &'static [&'static str]| {
        let path = path.clone();
        let asked = tokio::task::spawn_blocking(move || partita(&path, words));
        let output = asked.await.unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, text) = ask(&["verify", "stories"]).await;
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(text.matches("is left behind").count(), LEFTOVERS, "{text}");
    let (code, text) = ask(&["repair", "stories", "--yes"]).await;
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains(&format!("{LEFTOVERS} drifts mended, 0 left")),
        "{text}"
    );
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let (code, text) = ask(&["verify", "stories"]).await;
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(server.stop(), Some(0));
    let mut after = items(data.path()).await;
    let traffic = after.extract_if(.., |(partition, _), _| partition.contains("#traffic"));
    let traffic = traffic.count();
    // A story and its record in the index.
    let written = created.load(Ordering::Relaxed) as usize;
    assert!(written > 0);
    assert_eq!(traffic, 2 * written, "{written} stories were created");
    assert!(after == before, "something else was touched");
}

async fn items(data: &Path) -> BTreeMap<(String, String), Item> {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(&data.join("store"), options).unwrap();
    let mut scan = Scan::new(TABLE.parse().unwrap());
    let mut items = BTreeMap::new();
    loop {
        let page = store.scan(scan.clone()).await.unwrap().answer;
        for item in page.items {
            let item = item.into_item().unwrap();
            let part = |name: &str| item.get(name).unwrap().as_str().unwrap().to_owned();
            items.insert((part("PK"), part("SK")), item.clone());
        }
        match page.last_key {
            None => return items,
            last => scan.start_after = last,
        }
    }
}
