//! A data directory as it was.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use partita_backup::files::KeptFiles;
use partita_backup::restoring::{Moment, Plan, RestoreProgress};
use partita_backup::{Later, Restored, Target, Wanted};
use partita_design::time;
use partita_plan::files::named_files;
use partita_plan::recorded_designs;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{Clock as _, Entropy as _, Store};

use super::restored::{Mark, UnderWay, demand_finished};
use super::{identity, place, purged};
use crate::cli::{MomentFlags, RestoreFlags, ResumeFlags, TargetFlags};
use crate::output::print;
use crate::{draft, private, store};

/// Makes a data directory as it was at a moment.
pub(crate) async fn run(flags: &RestoreFlags) -> Result<ExitCode> {
    let target = place::existing(&flags.target)?;
    let plan = plan(&flags.target, &flags.moment, &*target).await?;
    let later = purged::later(flags, &plan, &*target).await?;
    private::close_new();
    let under_way = UnderWay::begin(&flags.into)?;
    let (restored, purged) = carry_out(plan, later.as_ref(), &*target, &flags.into).await?;
    let mut era = [0; 16];
    SystemEntropy.fill(&mut era);
    let era = format!("{:032x}", u128::from_be_bytes(era));
    let (commit, chain) = (restored.commit, restored.chain);
    Mark::new(commit, chain, SystemClock.now_millis(), era).write(&flags.into)?;
    if let Some(secret) = &restored.secret {
        put_secret(&flags.into.join("secret"), secret)
            .with_context(|| format!("cannot write the secret into {}", flags.into.display()))?;
    }
    if let Some(store) = &restored.store {
        identity::put(&flags.into, store)?;
    }
    under_way.finish()?;
    let when = time::format_millis(commit.time_millis);
    let secret = if restored.secret.is_some() {
        "with the server's secret"
    } else {
        "without a secret: the next start makes one, and tokens of before are void"
    };
    let data = flags.into.display();
    let purged = match purged {
        0 => String::new(),
        1 => "1 item that was purged since is purged again\n".to_owned(),
        count => format!("{count} items that were purged since are purged again\n"),
    };
    print(&format!(
        "{data} is as it was after commit {}, made at {when} (chain {chain}), {secret}\n{purged}\
         mails, events and schedules wait until `partita resume --data {data}`; sessions and links are void\n",
        commit.number
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the secret of a backup, where nothing is yet.
fn put_secret(path: &Path, secret: &[u8]) -> std::io::Result<()> {
    let mut file = draft::create(path)?;
    file.write_all(secret)?;
    file.sync_all()
}

/// Lets the mails, events and schedules of a restored directory go on.
pub(crate) fn resume(flags: &ResumeFlags) -> Result<ExitCode> {
    let data = &flags.from.data;
    if !data.is_dir() {
        bail!(
            "there is no data directory {}: check the path",
            data.display()
        );
    }
    private::demand_own(data)?;
    demand_finished(data)?;
    let mark = Mark::of(data)?;
    let mark =
        mark.with_context(|| format!("{} was not restored: nothing waits", data.display()))?;
    Mark {
        is_paused: false,
        ..mark
    }
    .write(data)?;
    print("mails, events and schedules go on\n")?;
    Ok(ExitCode::SUCCESS)
}

/// What a moment is restored from.
pub(super) async fn plan(
    flags: &TargetFlags,
    moment: &MomentFlags,
    target: &dyn Target,
) -> Result<Plan> {
    let keys = place::keys(&flags.key)?;
    let wanted = Wanted {
        chain: moment.chain,
        moment: match (moment.at, moment.commit) {
            (Some(millis), _) => Moment::At(millis),
            (None, Some(number)) => Moment::Commit(number),
            (None, None) => Moment::Last,
        },
        plain_too: moment.plain_too,
    };
    let plan = Plan::make(target, &keys, wanted).await;
    plan.with_context(|| format!("cannot restore from {}", flags.target))
}

/// Puts the store of a data directory together, and shows how far it is. What was purged later goes
/// before its files come; says also how many items those were.
pub(super) async fn carry_out(
    plan: Plan,
    later: Option<&Later>,
    target: &dyn Target,
    data: &Path,
) -> Result<(Restored, u64)> {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} objects, commit {msg}")?;
    bar.set_style(style);
    let mut show = |progress: RestoreProgress| {
        bar.set_length(progress.steps);
        bar.set_position(progress.done);
        bar.set_message(progress.commit.to_string());
    };
    let failed = || format!("{} was not restored", data.display());
    let files = plan.files(target).await.with_context(failed)?;
    let restored = plan.carry_out(target, &store::place(data), &mut show).await;
    let restored = restored.with_context(failed)?;
    let purged = match later {
        Some(later) => purged::purge(later, target, data)
            .await
            .with_context(failed)?,
        None => 0,
    };
    put_files(&files, target, data).await.with_context(failed)?;
    bar.finish_and_clear();
    Ok((restored, purged))
}

/// Puts the files in their places that the items of a restored store name. One that an item names and
/// the backup does not have is an error.
async fn put_files(files: &KeptFiles, target: &dyn Target, data: &Path) -> Result<()> {
    let store: Arc<dyn Store> = store::open_restored(data)?;
    let root = data.join("files");
    for design in recorded_designs(store.clone()).await? {
        for file in named_files(&store, &design).await? {
            let path = format!("{}/{}", file.bucket, file.name);
            if file.is_owned || files.has(&path) {
                files.restore(target, &path, &root).await?;
            }
        }
    }
    Ok(())
}
