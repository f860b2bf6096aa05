//! `partita token`.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use partita_api::Tokens;
use partita_store::surroundings::SystemClock;

use crate::cli::TokenFlags;
use crate::secret_file;
use crate::source::Source;

/// Prints a token and nothing else.
pub(crate) fn run(flags: &TokenFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let secret = secret_file::find(&flags.secret)?;
    let tokens = Tokens::new(&secret, Arc::new(SystemClock));
    let token = tokens.make(
        &design.name,
        &flags.user,
        flags.role.as_deref(),
        &flags.group,
        flags.lifetime,
    );
    writeln!(std::io::stdout(), "{token}")?;
    Ok(ExitCode::SUCCESS)
}
