//! What tests of small designs share.

use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::Store;
use partita_store::request::Scan;
use partita_store::surroundings::{ManualClock, SeededEntropy};

/// 2026-01-01.
pub(crate) const NOW: i64 = 1_767_225_600_000;

/// Opens a design at a fixed time; no two on one store may have the same seed.
pub(crate) async fn open(design: &str, store: Arc<dyn Store>, seed: u64) -> Partita {
    open_at(design, store, seed, Arc::new(ManualClock::at(NOW))).await
}

/// Opens a design with a clock.
pub(crate) async fn open_at(
    design: &str,
    store: Arc<dyn Store>,
    seed: u64,
    clock: Arc<ManualClock>,
) -> Partita {
    let (design, diagnostics) = partita_design::check(design, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock,
        entropy: Arc::new(SeededEntropy::new(seed)),
        patience: Patience {
            attempts: 20,
            pause_millis: 0,
        },
        ..Surroundings::default()
    };
    Partita::open_with(design, store, surroundings)
        .await
        .unwrap()
}

/// Attributes that are texts.
pub(crate) fn texts(given: &[(&str, &str)]) -> Map {
    let given = given.iter();
    let given = given.map(|(name, text)| ((*name).to_owned(), Value::from(*text)));
    given.collect()
}

/// Has one user ask for something.
pub(crate) async fn run(partita: &Partita, operation: Operation) -> Result<Answer, PlanError> {
    partita.run(&Caller::user("ann"), operation).await
}

/// Creates an item of texts.
pub(crate) async fn create(partita: &Partita, entity: &str, given: &[(&str, &str)]) {
    let operation = Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    };
    run(partita, operation).await.unwrap();
}

/// Everything in a table.
pub(crate) async fn items(store: &dyn Store, table: &str) -> Vec<Item> {
    let mut request = Scan::new(table.parse().unwrap());
    let mut items = Vec::new();
    loop {
        let page = store.scan(request.clone()).await.unwrap();
        let page = page.answer.into_parts().unwrap();
        items.extend(page.items);
        match page.last_key {
            None => return items,
            last_key => request.start_after = last_key,
        }
    }
}
