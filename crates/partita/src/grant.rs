//! `partita admin grant`.

use std::process::ExitCode;

use anyhow::Result;
use partita_api::admin::grant::Grant;

use crate::cli::GrantFlags;
use crate::door::Door;
use crate::output::print;

/// Gives a user a role, and says so.
pub(crate) async fn run(flags: &GrantFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let asked = Grant {
        user: flags.user.clone(),
        role: flags.role.clone(),
    };
    door.ask(&subject, asked, &mut |()| {}).await?;
    print(&format!("{} is `{}` now\n", flags.user, flags.role))?;
    Ok(ExitCode::SUCCESS)
}
