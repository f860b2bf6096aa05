//! `partita verify` and `partita repair`.
//!
//! A repair looks first. What it would write and remove is shown and asked for on a terminal; where
//! there is none, only `--yes` lets it write.

mod console;

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use partita_api::admin::repair::{Agreed, Repair, Repaired};
use partita_api::admin::verify::Verify;
use partita_verify::Intent;

use crate::cli::{RepairFlags, VerifyFlags};
use crate::door::Door;
use crate::invocation;
use crate::output::{self, ReaderGone, complain};
use console::Console;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Verify,
    Repair,
    DryRun,
}

/// What the commands end with when they could not look.
const NOT_LOOKED: u8 = 2;

/// Verifies the tables of a design.
pub(crate) async fn verify(flags: &VerifyFlags) -> Result<ExitCode> {
    Ok(exit(find_drift(flags).await))
}

/// Repairs the tables of a design, as far as the operator agrees.
pub(crate) async fn repair(flags: &RepairFlags) -> Result<ExitCode> {
    Ok(exit(mend_drift(flags).await))
}

/// Tells what drifted. Answers whether nothing did.
async fn find_drift(flags: &VerifyFlags) -> Result<bool> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let mut console = Console::new(flags.format, Task::Verify);
    let verify = Verify {
        entities: flags.entity.clone(),
    };
    let stopped = console.stopped();
    let mut show = |found| console.show(found);
    let report = tokio::select! {
        report = door.ask(&subject, verify, &mut show) => report?,
        // Whoever has seen enough does not wait for the rest of the tables.
        () = stopped => return Err(ReaderGone.into()),
    };
    console.end(&report, None, &again(flags))?;
    Ok(report.is_clean())
}

/// Mends what drifted. Answers whether nothing is left.
async fn mend_drift(flags: &RepairFlags) -> Result<bool> {
    let task = if flags.dry_run {
        Task::DryRun
    } else {
        Task::Repair
    };
    let mut console = Console::new(flags.on.format, task);
    let asks = !flags.dry_run && io::stdin().is_terminal();
    let Repaired { report, would } = carry_out(flags, &mut console, asks).await?;
    console.end(&report, would.as_ref(), &again(&flags.on))?;
    if would.is_some() && task == Task::Repair && !asks {
        complain(&anyhow!(
            "nothing was written: without a terminal to ask on, `partita repair` writes only with \
             --yes, and --dry-run shows what it would do"
        ));
        return Ok(false);
    }
    Ok(report.is_clean())
}

/// What names the same data in another command.
fn again(flags: &VerifyFlags) -> String {
    let (door, place) = (&flags.door, &flags.place);
    invocation::same_data(&flags.design, door, place, &flags.variables)
}

/// Repairs, and asks again whenever there is more to write than was shown.
async fn carry_out(flags: &RepairFlags, console: &mut Console, asks: bool) -> Result<Repaired> {
    let door = Door::to(&flags.on.door, &flags.on.place);
    let subject = door.find(&flags.on.design, &flags.on.variables)?;
    let mut agreed = if flags.yes {
        Agreed::All
    } else {
        Agreed::Nothing
    };
    let (mut mended, mut passes) = (0, 0);
    loop {
        let repair = Repair {
            entities: flags.on.entity.clone(),
            remove: flags.remove.clone(),
            agreed,
        };
        let on_event = &mut |found| console.show(found);
        let mut repaired = door.ask(&subject, repair, on_event).await?;
        mended += repaired.report.mended;
        passes += repaired.report.passes;
        (repaired.report.mended, repaired.report.passes) = (mended, passes);
        match &repaired.would {
            Some(intent) if asks && console.suspend(|| ask(intent)) => {
                agreed = Agreed::Shown(intent.clone());
            }
            _ => return Ok(repaired),
        }
    }
}

/// What a command ends with that has found tables clean or not, or could not look.
fn exit(is_clean: Result<bool>) -> ExitCode {
    match is_clean {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => output::failed(&error, NOT_LOOKED),
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
