//! What was purged after the moment of a restore goes again: a backup is no way around an erasure.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use partita_backup::restoring::Plan;
use partita_backup::{Later, Target};
use partita_engine::{Commit, EngineStore, ItemEdit};
use partita_plan::purged::purged_items;
use partita_plan::{Copied, Objects, ObjectsError, Partita, Surroundings, recorded_designs};
use partita_store::Store as _;
use partita_store::request::GetItem;

use super::restore::plan;
use crate::cli::{MomentFlags, RestoreFlags};
use crate::store;

/// What came after the moment of a plan, as far as the backup can be read; none if nothing did.
pub(super) async fn later(
    flags: &RestoreFlags,
    moment: &Plan,
    target: &dyn Target,
) -> Result<Option<Later>> {
    let is_last = flags.moment.at.is_none() && flags.moment.commit.is_none();
    if flags.with_purged || is_last {
        return Ok(None);
    }
    let last = MomentFlags {
        at: None,
        commit: None,
        chain: flags.moment.chain,
        plain_too: flags.moment.plain_too,
    };
    let last = plan(&flags.target, &last, target).await.context(
        "what was purged after that moment cannot be read: restore with --with-purged, and what \
         was purged is there again",
    )?;
    Ok(Some(Later::between(moment, &last)))
}

/// Purges from a restored store what was purged later, and says how many items that were.
pub(super) async fn purge(later: &Later, target: &dyn Target, data: &Path) -> Result<u64> {
    let store = store::open_restored(data)?;
    let mut notes = Vec::new();
    let mut failure = None;
    let looked = later.each(target, |commit| match notes_in(&store, commit) {
        Ok(found) => notes.extend(found),
        Err(error) => failure = Some(error),
    });
    looked.await?;
    if let Some(error) = failure {
        return Err(error);
    }
    let purged = unknown(&store, notes).await?;
    let mut done = 0;
    if !purged.is_empty() {
        for design in recorded_designs(store.clone()).await? {
            let name = design.name.clone();
            let opened = Partita::inspect(design, store.clone(), Surroundings::default()).await;
            let partita =
                opened.with_context(|| format!("the design `{name}` cannot be opened"))?;
            done += partita
                .with_objects(Arc::new(NoFiles))
                .purge_again(&purged)
                .await?;
        }
    }
    store.close().await;
    Ok(done)
}

/// The rows in a commit that note what was purged.
fn notes_in(store: &EngineStore, commit: &Commit) -> Result<Vec<ItemEdit>> {
    let mut edits = store.item_edits(commit)?;
    edits.retain(|edit| {
        let is_beside = partita_design::sidecar::is_name(edit.table.as_str());
        let row = edit.item.as_ref().filter(|_| is_beside);
        row.is_some_and(|row| !purged_items(row).is_empty())
    });
    Ok(edits)
}

/// What stands for the items of those notes that a store does not have itself. What it has was purged
/// before, and an item of that name has come since.
async fn unknown(store: &Arc<EngineStore>, notes: Vec<ItemEdit>) -> Result<BTreeSet<String>> {
    let mut purged = BTreeSet::new();
    for note in notes {
        let Some(row) = note.item else { continue };
        let description = store.describe_table(&note.table).await?;
        let key = description.schema.key.attributes_of(&note.key);
        let known = store.get_item(GetItem::new(note.table, key)).await?;
        if known.answer.is_none() {
            purged.extend(purged_items(&row));
        }
    }
    Ok(purged)
}

/// The files of a store that is being restored: they are not there yet.
struct NoFiles;

#[async_trait]
impl Objects for NoFiles {
    async fn copy(&self, _: &str, _: &str, _: &str) -> Result<Copied, ObjectsError> {
        Ok(Copied::Missing)
    }

    async fn remove(&self, _: &str, _: &str) -> Result<(), ObjectsError> {
        Ok(())
    }
}
