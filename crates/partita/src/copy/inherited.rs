//! What a copy has of its source beside the tables.
//!
//! Where mails, events and schedules of the source wait, because another store may have sent and done
//! them, those of the copy wait as well, also if it takes the place of the source. Where the source was
//! restored, sessions and links of before the restore are void in the copy, too.

use std::fs::DirBuilder;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use partita_api::admin::Failure;
use partita_design::time;
use partita_plan::moving::{Moving, Way};
use partita_store::Store;

use super::{Copy, Place};
use crate::backup::restored::Mark;
use crate::store;

/// The mark by which mails, events and schedules of the source wait, if they do.
pub(super) async fn waiting(
    copy: &Copy,
    source: Arc<dyn Store>,
) -> Result<Option<Moving>, Failure> {
    let beside = |place: String, since: String| Moving {
        way: Way::Beside,
        place,
        since,
        waited: false,
    };
    match Moving::read(&copy.of.sidecar, source).await? {
        Some(mark) if mark.way == Way::Beside => return Ok(Some(mark)),
        // A switch was interrupted.
        Some(mark) if mark.waited => return Ok(Some(beside(copy.from.name(), mark.since))),
        _ => {}
    }
    let Place::Directory(data) = &copy.from else {
        return Ok(None);
    };
    let restored = Mark::of(data).map_err(|error| Failure::new(format!("{error:#}")))?;
    let restored = restored.filter(|mark| mark.is_paused);
    Ok(restored.map(|mark| {
        let place = format!("the store that {} was restored from", copy.from.name());
        beside(place, time::format_millis(mark.restored_millis))
    }))
}

/// Marks the directory that a copy of a restored one goes to, before it has a store. One with a store
/// of its own would have sessions count again that are void in the source.
pub(super) fn keep_era(copy: &Copy) -> Result<()> {
    let (Place::Directory(from), Place::Directory(to)) = (&copy.from, &copy.to) else {
        return Ok(());
    };
    let Some(mark) = Mark::of(from)? else {
        return Ok(());
    };
    match Mark::of(to)? {
        Some(other) if other.era == mark.era => return Ok(()),
        None if !store::is_at(to) => {}
        _ => bail!(
            "{} was restored, and sessions that ended since would count again in {}, which has a store \
             of its own: copy to a directory that is not there",
            from.display(),
            to.display()
        ),
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(to);
    made.with_context(|| format!("cannot create {}", to.display()))?;
    // What waits is marked in the tables.
    let kept = Mark {
        is_paused: false,
        ..mark
    };
    kept.write(to)
}
