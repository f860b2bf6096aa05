//! How many items of each record there are.

use std::collections::BTreeMap;

use partita_core::size::item_bytes;
use partita_design::Design;
use partita_store::Store;
use serde::{Deserialize, Serialize};

use crate::extent::Extent;
use crate::layout::{Layout, Stored};
use crate::reader::Reader;
use crate::report::{Progress, VerifyError, Watch};

/// The items of a design's tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Census {
    /// Those of each entity and view. Guards count with their entity's bytes, not with its items.
    pub records: BTreeMap<String, Counted>,
    /// Those that the design does not recognise.
    pub unrecognised: Counted,
}

/// So many items, which take so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// How many.
    pub items: u64,
    /// As DynamoDB counts them.
    pub bytes: u64,
}

/// Counts the items of a design's tables, page by page.
pub async fn census(
    design: &Design,
    store: &dyn Store,
    extent: &Extent,
    watch: &mut dyn Watch,
) -> Result<Census, VerifyError> {
    let layout = Layout::new(design)?;
    let reader = Reader::new(store, None);
    let mut census = Census::default();
    let mut progress = Progress::default();
    let tables: Vec<_> = layout.names().cloned().collect();
    for table in &tables {
        let described = store.describe_table(table).await?;
        progress.total += described.totals.items;
    }
    for table in &tables {
        let mut pages = reader.pages(table.clone(), extent);
        while let Some(items) = pages.next().await? {
            for item in &items {
                let bytes = item_bytes(item) as u64;
                let (counted, count) = match layout.recognise(table, item) {
                    Stored::Record(record, _) => (census.of(&record.name), 1),
                    Stored::Guard(entity, _) => (census.of(&entity.name), 0),
                    Stored::Stranger => (&mut census.unrecognised, 1),
                    Stored::Foreign => continue,
                };
                counted.items += count;
                counted.bytes += bytes;
            }
            progress.items += items.len() as u64;
            watch.moves(progress);
            watch.between_steps().await?;
        }
    }
    Ok(census)
}

impl Census {
    fn of(&mut self, record: &str) -> &mut Counted {
        self.records.entry(record.to_owned()).or_default()
    }
}
