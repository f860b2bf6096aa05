//! `partita backup`, `restore` and `resume`: copies of the embedded store, and stores from them.
//!
//! | module | what it holds |
//! |---|---|
//! | `place` | a target and its keys, by their flags |
//! | `taking` | one backup: by the server that has the store open, or by this process |
//! | `continuous` | the backup behind a server |
//! | `identity` | the id of a store, for its targets |
//! | `restore` | a data directory as it was |
//! | `restored` | the mark of such a directory |
//! | `purged` | what was purged after the moment of a restore |
//! | `looking` | what a target has, and whether it is good |

pub(crate) mod continuous;
pub(crate) mod identity;
pub(crate) mod looking;
pub(crate) mod place;
mod purged;
pub(crate) mod restore;
pub(crate) mod restored;
pub(crate) mod taking;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::cli::{BackupCommand, BackupFlags};

/// Takes a backup, or looks at some.
pub(crate) async fn run(flags: &BackupFlags) -> Result<ExitCode> {
    match (&flags.command, &flags.target) {
        (Some(BackupCommand::List(flags)), _) => looking::list(flags).await,
        (Some(BackupCommand::Check(flags)), _) => looking::check(flags).await,
        (Some(BackupCommand::Status(flags)), _) => continuous::ask(flags).await,
        (None, Some(target)) => taking::run(target, flags).await,
        (None, None) => bail!("say where to: partita backup TARGET"),
    }
}

/// So many bytes, for people.
pub(crate) fn amount(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let mut rest = bytes;
    let mut unit = 0;
    while rest >= 1_000_000 && unit + 1 < UNITS.len() {
        rest /= 1_000;
        unit += 1;
    }
    format!("{}.{} {}", rest / 1_000, rest % 1_000 / 100, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn amounts_are_short() {
        assert_eq!(amount(12), "12 bytes");
        assert_eq!(amount(1_234), "1.2 KB");
        assert_eq!(amount(1_234_567), "1.2 MB");
        assert_eq!(amount(98_765_432_100), "98.7 GB");
    }
}
