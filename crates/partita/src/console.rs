//! `partita console`.

use std::process::ExitCode;

use anyhow::Result;
use partita_api::admin::console::Console;

use crate::cli::ConsoleFlags;
use crate::door::Door;
use crate::output::print;

/// Prints a link that opens the console once.
pub(crate) async fn run(flags: &ConsoleFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let made = door.ask(&subject, Console {}, &mut |()| {}).await?;
    print(&format!("{}\n", made.link))?;
    Ok(ExitCode::SUCCESS)
}
