//! `partita token`.

use std::process::ExitCode;

use anyhow::Result;
use partita_api::admin::token::Token;

use crate::cli::TokenFlags;
use crate::door::Door;
use crate::output::print;

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
    print(&format!("{token}\n"))?;
    Ok(ExitCode::SUCCESS)
}
