//! The backup behind a server: every commit, and a base now and then.
//!
//! Writers never wait for it. While the target fails, commits stay in the store's journals, 1 GB of
//! them at most; what is given up then is named in the chain that follows, which begins with a base.
//! When the server stops, it goes on until the last request has been answered, and then ships what
//! is left.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use partita_backup::files::RemovedFiles;
use partita_backup::shipping::{Step, ends_chain, is_hole};
use partita_backup::{BackupError, BackupKey, Catalog, Shipper, Shipping, Target, retention};
use partita_design::time;
use partita_engine::{CommitId, EngineStore};
use partita_store::Clock as _;
use partita_store::exposition::Exposition;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_wire::recovery::{Looked, Recovery};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::{info, warn};

use super::identity;
use super::place::{self, TargetPlace};
use crate::cli::{BackupStatusFlags, CheckFormat, ServeFlags};
use crate::output::print;
use crate::{json_text, operator};

/// How often new commits are looked for.
const SHIP_EVERY: Duration = Duration::from_millis(300);
/// The first pause after a failure, and the longest.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a server that starts looks at its target.
const LOOK_TIME_MAX: Duration = Duration::from_secs(5);
/// How long what is left is shipped after the last request, and the pause after a failure then.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);
const STOP_PAUSE: Duration = Duration::from_millis(100);
/// A base is taken again after a day, if anything was committed, or when the segments since the last
/// one are twice as large as it, and 64 MB at least.
const BASE_MILLIS: i64 = 24 * 3_600 * 1_000;
const SINCE_BYTES_MIN: u64 = 64 * 1_048_576;
/// How often what is old is removed.
const TIDY_MILLIS: i64 = 3_600 * 1_000;
/// A backup that is behind for so long is told by `/readyz`.
const LAG_SECONDS_TOLD: i64 = 10;

/// What the command is called over the socket.
pub(crate) const NAME: &str = "backup-status";

/// A backup that runs behind a server, as others see it.
#[derive(Clone)]
pub(crate) struct Backup {
    source: Arc<EngineStore>,
    target: String,
    state: Arc<Mutex<State>>,
    place: Arc<dyn Target>,
    key: Option<Arc<BackupKey>>,
}

#[derive(Debug, Default)]
struct State {
    chain: Option<u32>,
    shipped: CommitId,
    /// When all that was on disk was in the target.
    rested_millis: i64,
    base: Option<(CommitId, i64)>,
    bytes: u64,
    failures: u64,
    /// Chains that had to begin because commits or files were lost.
    holes: u64,
    last_error: Option<String>,
}

/// What `backup status` tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    target: String,
    /// The chain that is written; none until the target was looked at.
    chain: Option<u32>,
    /// The last commit that the chain can be restored to; none before its first base is whole.
    commit: Option<u64>,
    time: Option<String>,
    lag_commits: u64,
    lag_seconds: i64,
    last_base: Option<String>,
    holes: u64,
    last_error: Option<String>,
}

impl Backup {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many commits the backup is behind, and for how many seconds.
    fn lag(&self) -> (u64, i64) {
        let last = self.source.last_commit().number;
        let state = self.state();
        let commits = last.saturating_sub(state.shipped.number);
        if commits == 0 {
            return (0, 0);
        }
        let millis = SystemClock.now_millis().saturating_sub(state.rested_millis);
        (commits, millis.max(0) / 1_000)
    }

    /// What `/readyz` says of a backup that is behind; nothing of one that is not. A server without a
    /// backup is as ready as one with it.
    pub(crate) fn told(&self) -> Option<String> {
        let (commits, seconds) = self.lag();
        let is_behind = commits > 0 && seconds >= LAG_SECONDS_TOLD;
        let reason = self.state().last_error.clone();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        is_behind.then(|| format!("the backup is {seconds} seconds behind{reason}\n"))
    }

    pub(crate) fn status(&self) -> Status {
        let (lag_commits, lag_seconds) = self.lag();
        let state = self.state();
        let restorable = state.base.map(|_| state.shipped);
        Status {
            target: self.target.clone(),
            chain: state.chain,
            commit: restorable.map(|id| id.number),
            time: restorable.map(|id| time::format_millis(id.time_millis)),
            lag_commits,
            lag_seconds,
            last_base: state.base.map(|(_, millis)| time::format_millis(millis)),
            holes: state.holes,
            last_error: state.last_error.clone(),
        }
    }

    pub(crate) fn expose(&self, text: &mut Exposition) {
        let (commits, seconds) = self.lag();
        text.gauge(
            "partita_backup_lag_commits",
            "Commits that are on disk and not in the backup.",
            commits,
        );
        text.gauge(
            "partita_backup_lag_seconds",
            "For how long the backup has not had all commits.",
            seconds,
        );
        let state = self.state();
        text.gauge(
            "partita_backup_commit",
            "The last commit in the backup.",
            state.shipped.number,
        );
        text.gauge(
            "partita_backup_shipped_bytes",
            "Bytes that were shipped since the start.",
            state.bytes,
        );
        text.gauge(
            "partita_backup_failures",
            "Attempts to ship that failed since the start.",
            state.failures,
        );
        text.gauge(
            "partita_backup_holes",
            "Times that commits or files were lost before they were shipped, since the start.",
            state.holes,
        );
        text.gauge(
            "partita_backup_base_timestamp_seconds",
            "When the last base was whole.",
            state.base.map_or(0, |(_, millis)| millis / 1_000),
        );
    }
}

/// A backup that is under way.
pub(crate) struct Running {
    pub(crate) backup: Backup,
    /// Says that the last request has been answered.
    ending: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// The endpoint tells of all chains that can be read.
impl Recovery for Backup {
    fn moments(&self) -> Looked<'_> {
        Box::pin(async {
            let keys: Vec<_> = self.key.iter().cloned().collect();
            let look = async {
                let catalog = Catalog::read(&*self.place).await?;
                catalog.summaries(&*self.place, &keys).await
            };
            let chains: Vec<_> = look.await.map_err(|error| error.to_string())?;
            let moments = chains.iter().filter_map(|chain| chain.moments);
            let times = moments.map(|(first, last)| (first.time_millis, last.time_millis));
            Ok(times.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1))))
        })
    }
}

impl Running {
    /// Ships what is left after the last request, if that takes a few seconds at most.
    pub(crate) async fn finish(mut self) {
        self.ending.send_replace(true);
        let ended = tokio::time::timeout(STOP_TIME_MAX, &mut self.task).await;
        if ended.is_err() {
            self.task.abort();
            let first = self.backup.state().shipped.number + 1;
            let last = self.backup.source.last_commit().number;
            warn!("the commits {first} to {last} are not in the backup; the next start ships them");
        }
    }
}

/// Starts the backup that the flags ask for.
pub(crate) async fn start(
    flags: &ServeFlags,
    source: Option<Arc<EngineStore>>,
    removed: Option<Arc<RemovedFiles>>,
) -> Result<Option<Running>> {
    let given = &flags.backup;
    let Some(target) = &given.backup else {
        return Ok(None);
    };
    let Some(source) = source else {
        bail!("--backup is for the embedded store");
    };
    let place = TargetPlace::new(target, &given.s3)?;
    let key = given.backup_key.as_deref().map(place::key).transpose()?;
    // One that is kept elsewhere is backed up there.
    let is_own = flags.secret.secret_file.is_none() && key.is_some();
    let has_secret_in = is_own.then(|| flags.secret.data.clone());
    let secret = match &has_secret_in {
        None => None,
        Some(data) => place::secret(data, key.as_deref())?,
    };
    let target = place.open()?;
    let backup = Backup {
        source: source.clone(),
        place: target.clone(),
        key: key.clone(),
        target: place.name().to_owned(),
        state: Arc::new(Mutex::new(State {
            rested_millis: SystemClock.now_millis(),
            ..State::default()
        })),
    };
    let store = identity::of(&flags.secret.data)?;
    let looked = demand_store(&*target, &store).await;
    looked.with_context(|| format!("cannot back up to {}", place.name()))?;
    let shipping = Shipping {
        files: Some(place::files(&flags.secret.data, source.clone(), removed).await?),
        source,
        store,
        target,
        key,
        secret,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
    };
    let (ending, ended) = watch::channel(false);
    let work = Work {
        backup: backup.clone(),
        shipping,
        keep_millis: given.backup_keep.map(|seconds| i64::from(seconds) * 1_000),
        tidied_millis: 0,
        tidying: None,
        ending: ended,
        has_secret_in,
    };
    let task = tokio::spawn(work.run());
    Ok(Some(Running {
        backup,
        ending,
        task,
    }))
}

/// Refuses the target of another store. One that cannot be looked at now is tried again while the
/// server runs.
async fn demand_store(target: &dyn Target, store: &str) -> Result<(), BackupError> {
    let looked = async {
        let catalog = Catalog::read(target).await?;
        catalog.demand_store(target, store).await
    };
    match tokio::time::timeout(LOOK_TIME_MAX, looked).await {
        Ok(Err(error @ BackupError::OtherStore { .. })) => Err(error),
        _ => Ok(()),
    }
}

struct Work {
    backup: Backup,
    shipping: Shipping,
    keep_millis: Option<i64>,
    tidied_millis: i64,
    /// The removal of what is old, which shipping does not wait for.
    tidying: Option<JoinHandle<()>>,
    ending: watch::Receiver<bool>,
    /// The data directory whose secret is in the backup, if it is.
    has_secret_in: Option<PathBuf>,
}

/// Why a chain is not shipped any further.
enum Shipped {
    /// The server has answered its last request, and all is in the target.
    All,
    /// A chain has one secret, and the server has another one now.
    UntilSecretChanged,
}

impl Work {
    async fn run(mut self) {
        // Why the next chain begins, once one has ended.
        let mut reason: Option<String> = None;
        let mut pause = PAUSE_MIN;
        loop {
            let shipping = self.shipping.clone();
            let begun = match &reason {
                None => Shipper::resume(shipping).await,
                Some(reason) => Shipper::begin(shipping, reason).await,
            };
            let error = match begun {
                Err(error) => error,
                Ok(mut shipper) => {
                    self.note(&shipper, 0);
                    match self.ship(&mut shipper, &mut pause).await {
                        Ok(Shipped::All) => return,
                        Ok(Shipped::UntilSecretChanged) => {
                            reason = Some(shipper.reason(&"the secret was changed"));
                            continue;
                        }
                        Err(error) => {
                            reason = Some(shipper.reason(&error));
                            self.backup.state().holes += u64::from(is_hole(&error));
                            error
                        }
                    }
                }
            };
            self.fail(&error);
            if let Err(error) = self.bound_removed() {
                self.fail(&error);
                if is_hole(&error) {
                    self.backup.state().holes += 1;
                    reason = Some(error.to_string());
                }
            }
            self.rest(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Gives up removed files of which there are too many, while there is no chain to ship them to.
    fn bound_removed(&self) -> Result<(), BackupError> {
        let source = self.shipping.files.as_ref();
        let removed = source.and_then(|source| source.removed.as_ref());
        removed.map_or(Ok(()), |removed| removed.bound())
    }

    /// Gives up removed files that are shipped. An error if the chain cannot go on.
    fn release_removed(&self, shipper: &Shipper) -> Result<(), BackupError> {
        match shipper.release_removed() {
            Err(error) if !ends_chain(&error) => {
                self.fail(&error);
                Ok(())
            }
            released => released,
        }
    }

    /// Ships until the server has answered its last request and all is shipped, or until the chain
    /// cannot go on.
    async fn ship(
        &mut self,
        shipper: &mut Shipper,
        pause: &mut Duration,
    ) -> Result<Shipped, BackupError> {
        loop {
            // A base that is under way is left to the next start.
            let last = self.backup.source.last_commit().number;
            if self.is_ending() && shipper.shipped().number >= last {
                return Ok(Shipped::All);
            }
            match shipper.step().await {
                Ok(Step::Rested) => {
                    *pause = PAUSE_MIN;
                    self.release_removed(shipper)?;
                    if self.has_secret_changed() {
                        return Ok(Shipped::UntilSecretChanged);
                    }
                    self.rested(shipper);
                    self.rest(SHIP_EVERY).await;
                }
                Ok(Step::Commits { bytes, .. } | Step::Files { bytes }) => {
                    self.note(shipper, bytes);
                }
                Ok(Step::Base { last, bytes, .. }) => {
                    self.note(shipper, bytes);
                    info!(commit = last.number, "a base of the backup is whole");
                }
                Ok(_) => {}
                Err(error) if ends_chain(&error) => return Err(error),
                Err(error) => {
                    self.fail(&error);
                    self.release_removed(shipper)?;
                    self.rest(*pause).await;
                    *pause = (*pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    /// Looks at the secret again. One that cannot be read now is looked at later.
    fn has_secret_changed(&mut self) -> bool {
        let Some(data) = &self.has_secret_in else {
            return false;
        };
        match place::secret(data, self.shipping.key.as_deref()) {
            Ok(secret) if secret != self.shipping.secret => {
                self.shipping.secret = secret;
                true
            }
            _ => false,
        }
    }

    /// All is shipped: time for a base, or to remove what is old.
    fn rested(&mut self, shipper: &mut Shipper) {
        let now = SystemClock.now_millis();
        {
            let mut state = self.backup.state();
            state.rested_millis = now;
            if state.last_error.take().is_some() {
                info!("the backup has all commits again");
            }
        }
        if shipper.sizes().is_some_and(|sizes| {
            let is_old = now.saturating_sub(sizes.whole_millis) >= BASE_MILLIS;
            let has_changed = sizes.since_bytes > 0;
            let is_large = sizes.since_bytes > SINCE_BYTES_MIN.max(2 * sizes.base_bytes);
            (is_old && has_changed) || is_large
        }) {
            shipper.begin_base();
        }
        let Some(keep_millis) = self.keep_millis else {
            return;
        };
        let is_busy = self.tidying.as_ref().is_some_and(|one| !one.is_finished());
        if is_busy || now.saturating_sub(self.tidied_millis) < TIDY_MILLIS {
            return;
        }
        self.tidied_millis = now;
        let tidied = tidy(
            shipper.shipping().clone(),
            shipper.chain(),
            now - keep_millis,
        );
        self.tidying = Some(tokio::spawn(tidied));
    }

    fn note(&self, shipper: &Shipper, bytes: u64) {
        let mut state = self.backup.state();
        state.chain = Some(shipper.chain());
        state.shipped = shipper.shipped();
        state.bytes += bytes;
        state.base = shipper
            .sizes()
            .map(|sizes| (sizes.last, sizes.whole_millis));
    }

    fn fail(&self, error: &BackupError) {
        let text = partita_api::admin::Failure::of(error).detail;
        let mut state = self.backup.state();
        if state.last_error.as_ref() != Some(&text) {
            warn!("the backup does not go on: {text}");
        }
        state.failures += 1;
        state.last_error = Some(text);
    }

    /// Whether the last request has been answered.
    fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// Waits, and not for long once the last request has been answered.
    async fn rest(&mut self, pause: Duration) {
        if self.is_ending() {
            return tokio::time::sleep(STOP_PAUSE.min(pause)).await;
        }
        let ending = self.ending.wait_for(|is_ending| *is_ending);
        let waited = tokio::time::timeout(pause, ending).await;
        let is_nobody_left = matches!(waited, Ok(Err(_)));
        drop(waited);
        if is_nobody_left {
            tokio::time::sleep(pause).await;
        }
    }
}

/// Removes what no moment since a time needs, while others ship to a chain.
async fn tidy(shipping: Shipping, chain: u32, millis: i64) {
    let keys = shipping.key.as_slice();
    let (target, store) = (&*shipping.target, &*shipping.store);
    match retention::remove_before(target, keys, store, millis, Some(chain)).await {
        Ok(0) => {}
        Ok(objects) => info!(objects, "what is older than --backup-keep is removed"),
        Err(error) => warn!("nothing is removed from the backup: {error}"),
    }
}

/// `partita backup status`.
pub(crate) async fn ask(flags: &BackupStatusFlags) -> Result<ExitCode> {
    let data = &flags.from.data;
    let status = asked(data).await?;
    let Some(status) = status else {
        bail!(
            "the server of {} has no backup: start it with --backup TARGET",
            data.display()
        );
    };
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&status)?),
        CheckFormat::Text => status.text(),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

impl Status {
    fn text(&self) -> String {
        let target = &self.target;
        let Some(chain) = self.chain else {
            let reason = self.last_error.as_deref();
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            return format!("{target} could not be looked at yet{reason}\n");
        };
        let mut text = match (self.commit, &self.time) {
            (Some(commit), Some(time)) => {
                format!("{target} has commit {commit}, made at {time} (chain {chain})\n")
            }
            _ => format!(
                "{target}: nothing can be restored from chain {chain} yet, its first base is not whole\n"
            ),
        };
        text += &match self.lag_commits {
            0 => "nothing is left to ship\n".to_owned(),
            commits => format!(
                "{commits} commits behind, for {} seconds\n",
                self.lag_seconds
            ),
        };
        text += &match &self.last_base {
            Some(time) => format!("the last base is of {time}\n"),
            None => "there is no base yet\n".to_owned(),
        };
        if let Some(error) = &self.last_error {
            text += &format!("it does not go on: {error}\n");
        }
        text
    }
}

async fn asked(data: &std::path::Path) -> Result<Option<Status>> {
    let status = operator::ask(data, NAME, &(), &mut |()| {}).await?;
    status.with_context(|| format!("no server has the store of {} open", data.display()))
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn a_status_says_what_can_be_restored() {
        let mut status = Status {
            target: "target".to_owned(),
            chain: None,
            commit: None,
            time: None,
            lag_commits: 0,
            lag_seconds: 0,
            last_base: None,
            holes: 0,
            last_error: None,
        };
        assert_eq!(status.text(), "target could not be looked at yet\n");
        status.last_error = Some("it is gone".to_owned());
        let text = status.text();
        assert_eq!(text, "target could not be looked at yet: it is gone\n");
        status.chain = Some(1);
        status.last_error = None;
        let text = status.text();
        assert!(
            text.starts_with("target: nothing can be restored from chain 1 yet"),
            "{text}"
        );
        status.commit = Some(7);
        status.time = Some("2026-01-02T03:04:05.678Z".to_owned());
        let text = status.text();
        assert!(text.starts_with("target has commit 7, made at"), "{text}");
    }
}
