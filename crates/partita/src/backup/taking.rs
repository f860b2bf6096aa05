//! One backup: by the server that has the store open, or by this process.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use indicatif::ProgressBar;
use partita_api::admin::Failure;
use partita_backup::files::RemovedFiles;
use partita_backup::shipping::Step;
use partita_backup::{Shipper, Shipping};
use partita_design::time;
use partita_engine::EngineStore;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use serde::{Deserialize, Serialize};

use super::place::{self, TargetPlace};
use super::{amount, identity};
use crate::cli::{BackupFlags, CheckFormat};
use crate::operator::{self, Reached};
use crate::output::print;
use crate::{json_text, store};

/// What the command is called over the socket.
pub(crate) const NAME: &str = "backup";

/// Asks for a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Take {
    place: TargetPlace,
    /// The file of the key.
    key: Option<PathBuf>,
}

/// How far a backup is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Taking {
    rows: u64,
    bytes: u64,
}

/// A backup that was taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) chain: u32,
    pub(crate) commit: u64,
    pub(crate) time: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// How long the next commits are waited for, where not each is synced.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes a backup.
pub(crate) async fn run(target: &str, flags: &BackupFlags) -> Result<ExitCode> {
    let place = TargetPlace::new(target, &flags.s3)?;
    let key = flags.key.as_ref().map(std::path::absolute).transpose()?;
    if let Some(key) = &key {
        place::key(key)?;
    }
    let take = Take { place, key };
    let bar = ProgressBar::new_spinner();
    let mut show = |taking: Taking| {
        let Taking { rows, bytes } = taking;
        bar.set_message(format!("{rows} rows, {}", amount(bytes)));
        bar.tick();
    };
    let taken = reach(&take, &flags.from.data, &mut show).await?;
    bar.finish_and_clear();
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&taken)?),
        CheckFormat::Text => format!(
            "{} has commit {}, made at {} (chain {}): {} rows, {}\n",
            take.place.name(),
            taken.commit,
            taken.time,
            taken.chain,
            taken.rows,
            amount(taken.bytes)
        ),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Has the backup taken by the server that has the store open, or takes it here.
async fn reach(take: &Take, data: &Path, show: &mut (dyn FnMut(Taking) + Send)) -> Result<Taken> {
    let open = || store::look_embedded(data);
    let source = match operator::reach(data, NAME, take, show, open).await? {
        Reached::Asked(taken) => return Ok(taken),
        Reached::Opened(engine) => engine,
    };
    // Nobody else has the store open, so no file is removed meanwhile.
    let taken = carry_out(take, source, data, None, |taking| {
        show(taking);
        Ok(())
    });
    Ok(taken.await?)
}

/// Takes a backup of a store that this process has open.
pub(crate) async fn carry_out(
    take: &Take,
    source: Arc<EngineStore>,
    data: &Path,
    removed: Option<Arc<RemovedFiles>>,
    mut on_step: impl FnMut(Taking) -> Result<(), Failure>,
) -> Result<Taken, Failure> {
    let hold = removed.as_ref().map(RemovedFiles::hold).transpose();
    // Files that are removed before they are shipped stay until the backup is there.
    let _hold = hold.map_err(|error| Failure::of(&error))?;
    let shipping = shipping(take, source, data, removed).await;
    let shipping = shipping.map_err(|error| Failure::of(&*error))?;
    let failed = |error: partita_backup::BackupError| Failure::of(&error);
    let mut shipper = Shipper::begin(shipping, "a backup by hand")
        .await
        .map_err(failed)?;
    let mut taking = Taking { rows: 0, bytes: 0 };
    loop {
        match shipper.step().await.map_err(failed)? {
            Step::Piece { rows, bytes } => {
                taking = Taking { rows, bytes };
                on_step(taking)?;
            }
            Step::Files { bytes } => {
                taking.bytes += bytes;
                on_step(taking)?;
            }
            Step::Base { last, rows, bytes } => {
                return Ok(Taken {
                    chain: shipper.chain(),
                    commit: last.number,
                    time: time::format_millis(last.time_millis),
                    rows,
                    bytes,
                });
            }
            // The commits that the base needs are on their way to the disk.
            Step::Rested => tokio::time::sleep(PAUSE).await,
            _ => {}
        }
    }
}

async fn shipping(
    take: &Take,
    source: Arc<EngineStore>,
    data: &Path,
    removed: Option<Arc<RemovedFiles>>,
) -> Result<Shipping> {
    let key = take.key.as_deref().map(place::key).transpose()?;
    Ok(Shipping {
        files: Some(place::files(data, source.clone(), removed).await?),
        source,
        store: identity::of(data)?,
        target: take.place.open()?,
        secret: place::secret(data, key.as_deref())?,
        key,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
    })
}
