//! `partita plan`: the transaction that a write would become, or what a read takes.

use std::process::ExitCode;

use anyhow::Result;
use partita_api::admin::plan::Plan;

use crate::ask::question;
use crate::cli::{AskFlags, CheckFormat};
use crate::door::Door;
use crate::json_text;
use crate::output::print;

/// Prints what the write would become or the read takes, or why it would be refused.
pub(crate) async fn run(flags: &AskFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let plan = Plan(question(flags)?);
    let planned = door.ask(&subject, plan, &mut |()| {}).await?;
    let text = match flags.format {
        CheckFormat::Json => json_text(&planned.request),
        CheckFormat::Text => planned.text,
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
