//! `partita verify` and `partita repair`.
//!
//! A repair looks first. What it would write and remove is shown and asked for on a terminal; where
//! there is none, only `--yes` lets it write.

mod console;

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use indicatif::ProgressBar;
use partita_design::Design;
use partita_plan::{Partita, Surroundings};
use partita_verify::{Intent, Permission};

use crate::cli::{RepairFlags, VerifyFlags};
use crate::source::Source;
use console::Console;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Verify,
    Repair,
    DryRun,
}

/// Verifies the tables of a design.
pub(crate) fn verify(flags: &VerifyFlags) -> Result<ExitCode> {
    let (design, runtime) = prepare(flags)?;
    let mut console = Console::new(flags.format, Task::Verify);
    let report = runtime.block_on(async {
        let name = design.name.clone();
        let report = open(flags, design).await?.verify(&mut console).await;
        report.with_context(|| format!("cannot go through the tables of `{name}`"))
    })?;
    console.end(&report, None, &flags.design)?;
    Ok(exit(report.is_clean()))
}

/// Repairs the tables of a design, as far as the operator agrees.
pub(crate) fn repair(flags: &RepairFlags) -> Result<ExitCode> {
    let (design, runtime) = prepare(&flags.on)?;
    let task = if flags.dry_run {
        Task::DryRun
    } else {
        Task::Repair
    };
    let mut console = Console::new(flags.on.format, task);
    let operator = Operator {
        agrees: flags.yes,
        asks: !flags.dry_run && io::stdin().is_terminal(),
        bar: console.bar(),
        last: Mutex::default(),
    };
    let report = runtime.block_on(async {
        let name = design.name.clone();
        let partita = open(&flags.on, design).await?;
        let mut permission = Permission::asked(|intent| operator.allows(intent));
        for place in &flags.remove {
            permission = permission.to_remove(place);
        }
        let report = partita.repair(permission, &mut console).await;
        report.with_context(|| format!("cannot go through the tables of `{name}`"))
    })?;
    let refused = operator.refused();
    console.end(&report, refused.as_ref(), &flags.on.design)?;
    if refused.is_some() && task == Task::Repair && !operator.asks {
        bail!(
            "nothing was written: without a terminal to ask on, `partita repair` writes only with \
             --yes, and --dry-run shows what it would do"
        );
    }
    Ok(exit(report.is_clean()))
}

fn prepare(flags: &VerifyFlags) -> Result<(Design, tokio::runtime::Runtime)> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    Ok((design, runtime))
}

fn exit(is_clean: bool) -> ExitCode {
    if is_clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The design on the store that `serve` works on; one that is not there is not made.
async fn open(flags: &VerifyFlags, design: Design) -> Result<Partita> {
    let store = flags.place.look(&flags.data).await?;
    Ok(Partita::inspect(design, store, Surroundings::default()).await?)
}

/// Whoever runs the command, and is asked before something is written.
struct Operator {
    agrees: bool,
    asks: bool,
    bar: ProgressBar,
    /// What was not agreed to.
    last: Mutex<Option<Intent>>,
}

impl Operator {
    fn allows(&self, intent: &Intent) -> bool {
        let is_allowed = self.agrees || (self.asks && self.bar.suspend(|| ask(intent)));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (!is_allowed).then(|| intent.clone());
        is_allowed
    }

    fn refused(&self) -> Option<Intent> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }
}

/// Asks on the terminal.
fn ask(intent: &Intent) -> bool {
    agreed(intent, &mut io::stderr(), &mut io::stdin().lock())
}

/// Whether the answer is a yes. Whatever is none is a no.
fn agreed(intent: &Intent, out: &mut dyn Write, answers: &mut dyn BufRead) -> bool {
    let asked = write!(out, "{}Go on? [y/N] ", console::told(intent)).and_then(|()| out.flush());
    let mut answer = String::new();
    let answered = asked.and_then(|()| answers.read_line(&mut answer));
    answered.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        let mut intent = Intent::default();
        intent.removed.insert("StoryIndex".to_owned(), 3);
        intent.cleared.insert("User.GSI5SK".to_owned(), 2);
        intent.written.insert("User".to_owned(), 1);
        let cases = [
            ("y\n", true),
            ("Yes\n", true),
            ("n\n", false),
            ("\n", false),
            ("", false),
        ];
        for (answer, expected) in cases {
            let mut shown = Vec::new();
            let got = agreed(&intent, &mut shown, &mut answer.as_bytes());
            assert_eq!(got, expected, "{answer:?}");
            assert_eq!(
                String::from_utf8(shown).unwrap(),
                "would remove 3 StoryIndex\nwould remove the value of 2 User.GSI5SK\n\
                 would write 1 User\nGo on? [y/N] "
            );
        }
    }
}
