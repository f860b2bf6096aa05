//! Where the files of designs are, and who sweeps them.

use std::sync::{Arc, Weak};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use partita_api::files::Buckets;
use partita_api::{FileLimits, Place};
use partita_design::Design;
use partita_plan::Current;
use partita_store::Clock as _;
use partita_store::surroundings::SystemClock;
use tracing::warn;

use crate::cli::{FileFlags, FilesKind, ServeFlags};

/// How often somebody looks for files whose time has come.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How long nothing is written to an upload before it counts as cut off. One takes an hour at most.
const CUT_OFF_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Files that are removed before others may work on the store again.
const SWEPT_AT_ONCE: usize = 100;

/// Opens the buckets of the designs that are served.
pub(crate) fn open(flags: &ServeFlags, designs: &[(String, Design)]) -> Result<Buckets> {
    let place = match flags.files.files {
        FilesKind::S3 => s3(&flags.files)?,
        FilesKind::Directory if flags.memory => Place::Memory,
        FilesKind::Directory => Place::Directory(flags.secret.data.join("files")),
    };
    let designs = designs.iter().map(|(_, design)| design);
    // Other servers may be receiving uploads if they can have the store open.
    let before = flags.place.is_shared().then(|| {
        let now = u64::try_from(SystemClock.now_millis()).unwrap_or_default();
        UNIX_EPOCH + Duration::from_millis(now) - CUT_OFF_AFTER
    });
    if let Err(error) = place.tidy(designs.clone(), before) {
        warn!("parts of uploads that were cut off are still there: {error}");
    }
    Ok(place.open(designs)?)
}

#[cfg(feature = "s3")]
#[expect(
    clippy::unnecessary_wraps,
    reason = "without the feature there is no S3 to be had"
)]
fn s3(flags: &FileFlags) -> Result<Place> {
    Ok(Place::S3 {
        endpoint: flags.files_endpoint.clone(),
        region: flags.files_region.clone(),
    })
}

#[cfg(not(feature = "s3"))]
fn s3(_: &FileFlags) -> Result<Place> {
    anyhow::bail!(
        "this build has no client for S3; build it with `cargo build --release --features s3`"
    )
}

/// What clients are granted.
pub(crate) fn limits(flags: &FileFlags) -> FileLimits {
    FileLimits {
        upload_bytes: u64::from(flags.upload_mb) * 1_000_000,
        uploads_per_caller: usize::from(flags.uploads_per_caller),
        is_bound: flags.bind_urls,
        ..FileLimits::default()
    }
}

/// Removes the files of a design that are due, for as long as the server lives.
pub(crate) fn start_sweeping(current: &Arc<Current>) {
    if !current.get().design().buckets.is_empty() {
        tokio::spawn(sweep(Arc::downgrade(current)));
    }
}

async fn sweep(current: Weak<Current>) {
    while let Some(current) = current.upgrade() {
        let design = current.get();
        match design.sweep_files(SWEPT_AT_ONCE).await {
            Ok(swept) if swept.has_more => continue,
            Ok(_) => {}
            Err(error) => {
                let name = &design.design().name;
                warn!(design = name, "files that are due are still there: {error}");
            }
        }
        drop((design, current));
        tokio::time::sleep(SWEEP_EVERY).await;
    }
}
