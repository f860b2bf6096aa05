use partita_design::{check, shipped};
use partita_store::ModelStore;

use super::*;
use crate::partita::Partita;

fn stories(change: impl Fn(&str) -> String) -> partita_design::Design {
    let text = change(shipped::find("stories").unwrap().source);
    check(&text, &|_| None).0.unwrap()
}

/// The rows of a design that was opened on an empty store.
async fn rows_of(design: &partita_design::Design) -> Vec<Item> {
    let store = Arc::new(ModelStore::default());
    Partita::open(design.clone(), store.clone()).await.unwrap();
    let scan = partita_store::request::Scan::new(sidecar::name(design).unwrap());
    let page = store.scan(scan).await.unwrap().answer;
    let items = page.items.into_iter().map(|item| item.into_item().unwrap());
    items.collect()
}

async fn fits(
    arriving: &partita_design::Design,
    here: &partita_design::Design,
) -> Result<(), String> {
    let mut arrival = Arrival::default();
    for row in rows_of(arriving).await {
        arrival.see(&row).unwrap();
    }
    let store = Arc::new(ModelStore::default());
    Partita::open(here.clone(), store.clone()).await.unwrap();
    let sidecar = sidecar::name(here).unwrap();
    let fits = arrival.demand_fitting(here, &sidecar, store).await;
    fits.map_err(|error| error.to_string())
}

#[tokio::test]
async fn items_of_another_design_are_refused() {
    let same = stories(str::to_owned);
    let commented = stories(|text| format!("# the same\n{text}"));
    let other = stories(|text| text.replace("string 1..300", "string 1..200"));
    assert_eq!(fits(&same, &same).await, Ok(()));
    assert_eq!(fits(&commented, &same).await, Ok(()));
    let refused = fits(&other, &same).await.unwrap_err();
    assert!(refused.contains("another design"), "{refused}");
    // Nothing is recorded there, so nothing is contradicted.
    let nothing: Arc<dyn Store> = Arc::new(ModelStore::default());
    let sidecar = sidecar::name(&same).unwrap();
    let arrival = Arrival::default();
    let fits = arrival.demand_fitting(&same, &sidecar, nothing).await;
    assert!(fits.is_ok(), "{fits:?}");
    assert_eq!(arrival.recording(&same, 0).unwrap(), None);
}

/// Where nothing is recorded the design that was named is, whatever rules the files bring.
#[tokio::test]
async fn rules_do_not_come_with_items() {
    let named = stories(str::to_owned);
    let open = stories(|text| text.replace("userId = caller", "signed-in"));
    let other = stories(|text| text.replace("type      = \"string?\"", "type      = \"int?\""));
    assert_ne!(named.origin.text, open.origin.text);
    for (arriving, is_taken) in [(&open, true), (&other, false)] {
        let mut arrival = Arrival::default();
        for row in rows_of(arriving).await {
            arrival.see(&row).unwrap();
        }
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let sidecar = sidecar::name(&named).unwrap();
        let fits = arrival.demand_fitting(&named, &sidecar, store).await;
        assert_eq!(fits.is_ok(), is_taken, "{fits:?}");
        if let Err(refused) = fits {
            assert!(refused.to_string().contains("type"), "{refused}");
        }
        let recording = arrival.recording(&named, 0).unwrap().unwrap();
        let recorded = Recorded::from_item(&recording.item).unwrap();
        assert_eq!(recorded.text, named.origin.text);
    }
}

#[tokio::test]
async fn what_a_process_was_doing_is_not_taken_over() {
    let design = stories(str::to_owned);
    let [live] = &rows_of(&design).await[..] else {
        panic!("a design is recorded, and nothing else");
    };
    assert!(!is_taken_over(live));
    let row = |partition: &str| sidecar::key(partition, "x");
    for partition in ["MOVING", "REPAIR", "OUTBOX#LEASE", "LEASE", "MIGRATION"] {
        assert!(!is_taken_over(&row(partition)), "{partition}");
    }
    for partition in ["JOB", "KEPT#t#p", "OUTBOX#mail#0", "KEY#ann"] {
        assert!(is_taken_over(&row(partition)), "{partition}");
    }
}
