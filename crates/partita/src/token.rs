//! `partita token`.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use partita_api::admin::token::Token;

use crate::cli::TokenFlags;
use crate::door::Door;

/// Prints a token and nothing else.
pub(crate) async fn run(flags: &TokenFlags) -> Result<ExitCode> {
    let door = Door::without_store(&flags.door);
    let subject = door.find(&flags.design, &flags.variables)?;
    let asked = Token {
        user: flags.user.clone(),
        role: flags.role.clone(),
        groups: flags.group.clone(),
        lifetime_seconds: flags.lifetime,
    };
    let token = door.ask(&subject, asked, &mut |()| {}).await?;
    writeln!(std::io::stdout(), "{token}")?;
    Ok(ExitCode::SUCCESS)
}
