//! A question of `can` and `plan`, as the command line has it.

use std::io::Read as _;

use anyhow::{Context as _, Result};
use partita_api::admin::ask::Question;
use serde_json::{Map, Value as Json};

use crate::cli::AskFlags;

/// The question that the flags ask.
pub(crate) fn question(flags: &AskFlags) -> Result<Question> {
    Ok(Question {
        operation: flags.operation.clone(),
        on: flags.on.clone(),
        with: given(flags)?,
        caller: flags.caller.clone(),
        role: flags.role.clone(),
        groups: flags.group.clone(),
    })
}

/// The attributes on the command line or on standard input.
fn given(flags: &AskFlags) -> Result<Option<Map<String, Json>>> {
    let text = match flags.with.as_deref() {
        None => return Ok(None),
        Some("-") => {
            let mut input = String::new();
            std::io::stdin().read_to_string(&mut input)?;
            input
        }
        Some(text) => text.to_owned(),
    };
    let given =
        serde_json::from_str(&text).context("--with must be a JSON object of attributes")?;
    Ok(Some(given))
}
