//! `partita plan`: the transaction that a write would become.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use partita_plan::Operation;

use crate::ask::Question;
use crate::cli::{AskFlags, CheckFormat};

/// Prints what the write would become, or why it would be refused.
pub(crate) fn run(flags: &AskFlags) -> Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let preview = runtime.block_on(async {
        let question = Question::read(flags).await?;
        if let Operation::Get { .. } | Operation::Query { .. } = question.operation {
            bail!("a read becomes no transaction: ask for a write");
        }
        let partita = question.partita;
        let preview = partita.preview(&question.caller, question.operation);
        Ok(preview.await?)
    })?;
    let text = match flags.format {
        CheckFormat::Json => format!("{:#}\n", preview.to_json()),
        CheckFormat::Text => preview.to_string(),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
