//! The files that the items of a store name, for whoever copies them with it.

use std::sync::Arc;

use partita_core::Value;
use partita_design::{Design, sidecar};
use partita_store::Store;
use partita_store::request::Scan;

use super::record::FileRecord;
use super::{key_of, names};
use crate::error::PlanError;

/// A file of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Its bucket, as it is called in the store of files.
    pub bucket: String,
    /// What it is called in the bucket.
    pub name: String,
    /// Whether an item names it, so that it must be there.
    pub is_owned: bool,
}

/// The files of a design that are in their places. Uploads that no item has taken over are not.
pub async fn named_files(
    store: &Arc<dyn Store>,
    design: &Design,
) -> Result<Vec<NamedFile>, PlanError> {
    let mut found = Vec::new();
    let Ok(table) = sidecar::name(design).parse() else {
        return Ok(found);
    };
    let mut scan = Scan::new(table);
    loop {
        let page = store.scan(scan.clone()).await?.answer.into_parts()?;
        for item in &page.items {
            let record = FileRecord::read(item).filter(|record| is_at(item, record));
            found.extend(record.and_then(|record| named(design, &record)));
        }
        match page.last_key {
            None => return Ok(found),
            last => scan.start_after = last,
        }
    }
}

/// Whether an item of the sidecar is the record of an object, and not another row about it.
fn is_at(item: &partita_core::Item, record: &FileRecord) -> bool {
    let key = key_of(&record.bucket, &record.name);
    let has = |name: &str| {
        item.get(name).and_then(Value::as_str) == key.get(name).and_then(Value::as_str)
    };
    has(sidecar::PARTITION) && has(sidecar::SORT)
}

fn named(design: &Design, record: &FileRecord) -> Option<NamedFile> {
    let mut buckets = design.buckets.iter();
    let bucket = buckets.find(|bucket| bucket.name == record.bucket)?;
    let is_upload = record.name.starts_with(names::staging(bucket));
    let is_in_place = !is_upload && !record.is_removing && record.copy_of.is_none();
    is_in_place.then(|| NamedFile {
        bucket: bucket.bucket.clone(),
        name: record.name.clone(),
        is_owned: record.is_owned(),
    })
}
