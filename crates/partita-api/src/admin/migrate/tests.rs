use std::sync::Arc;

use futures::FutureExt as _;
use partita_plan::Partita;
use partita_store::{ModelStore, Store};

use super::*;
use crate::admin::events;

const OLD: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[entity.Note]
PK = "NOTE#{id}"
SK = "NOTE"

[entity.Note.attributes]
id   = "string"
text = "string"

[entity.Note.allow]
"*" = "public"
"#;

fn compiled(text: &str) -> Design {
    let (design, mistakes) = partita_design::check(text, &|_| None);
    design.unwrap_or_else(|| panic!("{mistakes:?}"))
}

/// A client that reads nothing holds nobody up.
#[tokio::test]
async fn progress_that_nobody_reads_is_left_out() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let opened = Partita::open(compiled(OLD), store).await.unwrap();
    let current = Current::new(opened);
    let new = OLD.replace(
        "text = \"string\"",
        "text = \"string\"\nlength = \"int = size(text)\"",
    );
    let (events, _unread) = events::channel::<Migrate>();
    while events.send(state(None)).now_or_never().is_some() {}
    current.start(compiled(&new), Vec::new()).await.unwrap();
    // The store of this test answers at once, so that what waits, waits for the client.
    let driven = drive(&current, &events).now_or_never();
    assert_eq!(driven.expect("it does not wait").unwrap().stage, "filled");
}

/// Whoever only looks has nothing removed from the store, not even what has expired.
#[test]
fn what_writes_nothing_opens_the_store_to_look() {
    for (step, word, _) in MigrateStep::WORDS {
        let request = Migrate {
            step,
            ..Migrate::example()
        };
        let looks = matches!(word, "plan" | "status");
        assert_eq!(request.store_use() == StoreUse::Look, looks, "{word}");
    }
}
