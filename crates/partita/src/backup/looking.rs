//! What a target has, and whether it is good.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use partita_backup::Catalog;
use partita_backup::catalog::ChainSummary;
use partita_core::printable;
use partita_design::time;
use partita_plan::{Partita, Surroundings, recorded_designs};
use partita_verify::{Drift, Outcome, Watch};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::{amount, place, restore};
use crate::cli::{BackupCheckFlags, BackupListFlags, CheckFormat};
use crate::output::print;
use crate::{json_text, store};

/// Lists the chains of a target.
pub(crate) async fn list(flags: &BackupListFlags) -> Result<ExitCode> {
    let target = place::existing(&flags.target)?;
    let keys = place::keys(&flags.target.key)?;
    let catalog = Catalog::read(&*target).await?;
    let chains = catalog.summaries(&*target, &keys).await?;
    let text = match flags.format {
        CheckFormat::Json => json_text(&chains.iter().map(document).collect()),
        CheckFormat::Text => table(&chains),
    };
    print(&text)?;
    let is_damaged = chains.iter().any(|chain| chain.damage.is_some());
    Ok(ExitCode::from(u8::from(is_damaged)))
}

fn document(chain: &ChainSummary) -> Json {
    let point = |id: partita_engine::CommitId| json!({ "commit": id.number, "time": time::format_millis(id.time_millis) });
    json!({
        "chain": chain.number,
        "began": chain.began_millis.map(time::format_millis),
        "reason": chain.reason,
        "key": chain.key,
        "first": chain.moments.map(|(first, _)| point(first)),
        "last": chain.moments.map(|(_, last)| point(last)),
        "damage": chain.damage,
        "bases": chain.bases,
        "segments": chain.segments,
        "bytes": chain.bytes,
    })
}

fn table(chains: &[ChainSummary]) -> String {
    if chains.is_empty() {
        return "there is no backup\n".to_owned();
    }
    let mut text = String::new();
    for chain in chains {
        let moments = match (chain.moments, &chain.key) {
            _ if chain.damage.is_some() => {
                format!("damaged: {}", chain.damage.as_deref().unwrap_or_default())
            }
            (Some((first, last)), _) => format!(
                "commits {} to {}, {} to {}",
                first.number,
                last.number,
                time::format_millis(first.time_millis),
                time::format_millis(last.time_millis)
            ),
            (None, Some(_)) => "its key was not given, or no base is whole yet".to_owned(),
            (None, None) => "no base is whole yet".to_owned(),
        };
        // Nothing vouches for what a chain says of itself.
        let (number, reason) = (chain.number, printable::line(&chain.reason));
        let began = chain.began_millis.map_or_else(String::new, |millis| {
            let began = time::format_millis(millis);
            format!("         began at {began}: {reason}\n")
        });
        let sealing = match &chain.key {
            Some(key) => format!("encrypted with the key {}", printable::line(key)),
            None => "not encrypted".to_owned(),
        };
        text += &format!(
            "chain {number}  {moments}\n{began}         {sealing}, {} bases, {} segments, {}\n",
            chain.bases,
            chain.segments,
            amount(chain.bytes)
        );
    }
    text
}

/// Restores a backup aside, and looks for damage and drift in it.
pub(crate) async fn check(flags: &BackupCheckFlags) -> Result<ExitCode> {
    let target = place::existing(&flags.target)?;
    let plan = restore::plan(&flags.target, &flags.moment, &*target).await?;
    let aside = private_folder(flags.aside.as_deref());
    let aside = aside.context("there is no place to restore to: name one with --aside")?;
    let mut findings: Vec<String> = plan
        .damaged()
        .map(|(number, error)| format!("chain {number} is damaged: {error}"))
        .collect();
    let (restored, _) = restore::carry_out(plan, None, &*target, aside.path()).await?;
    findings.extend(found_in(aside.path()).await?);
    for finding in &findings {
        print(&format!("{finding}\n"))?;
    }
    let commit = restored.commit;
    let when = time::format_millis(commit.time_millis);
    let judgement = if findings.is_empty() {
        "is whole and can be restored".to_owned()
    } else {
        format!("can be restored, with {} findings", findings.len())
    };
    let (number, chain) = (commit.number, restored.chain);
    print(&format!(
        "commit {number}, made at {when} (chain {chain}), {judgement}\n"
    ))?;
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A folder of its owner's alone that goes when it is dropped: what is restored has everything.
fn private_folder(parent: Option<&Path>) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    match parent {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    }
}

/// What both verifications find: of the store, and of every design that is recorded in it.
async fn found_in(data: &Path) -> Result<Vec<String>> {
    let store = store::look_embedded(data)?;
    let mut findings = store.verify().await?;
    for design in recorded_designs(store.clone()).await? {
        let name = design.name.clone();
        let opened = Partita::inspect(design, store.clone(), Surroundings::default()).await;
        let partita = opened.with_context(|| format!("the design `{name}` cannot be opened"))?;
        let mut found = Findings {
            design: name,
            lines: Vec::new(),
        };
        let report = partita.verify(&mut found).await?;
        if !report.is_clean() && found.lines.is_empty() {
            found
                .lines
                .push(format!("`{}`: a job does not go on", found.design));
        }
        findings.extend(found.lines);
    }
    drop(Arc::into_inner(store));
    Ok(findings)
}

/// Collects what drifted.
struct Findings {
    design: String,
    lines: Vec<String>,
}

#[async_trait::async_trait]
impl Watch for Findings {
    fn finds(&mut self, drift: &Drift, _: &Outcome) {
        let design = &self.design;
        self.lines.push(format!("`{design}`: {drift}"));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::private_folder;

    #[test]
    fn what_is_restored_aside_is_its_owners_alone() {
        let parent = tempfile::tempdir().unwrap();
        for parent in [None, Some(parent.path())] {
            let folder = private_folder(parent).unwrap();
            let mode = folder.path().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    }
}
