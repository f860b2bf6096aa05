//! What commands print: answers to standard output, and what went wrong to standard error.

use std::fmt;
use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use partita_core::printable;

/// What a command ends with whose reader has gone: what a shell shows for a program that a closed
/// pipe has ended.
const READER_GONE: u8 = 141;

/// Whoever read the answer does not any more, as `head` when it has seen enough. It is no mistake of
/// anybody, so nothing is said of it.
#[derive(Debug)]
pub(crate) struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the answer any more")
    }
}

impl std::error::Error for ReaderGone {}

/// Prints a text.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => ReaderGone.into(),
        _ => anyhow::Error::new(error).context("cannot print the answer"),
    })
}

/// Tells what went wrong, and answers what a command ends with that ends with this code then.
pub(crate) fn failed(error: &anyhow::Error, code: u8) -> ExitCode {
    if error.is::<ReaderGone>() {
        return ExitCode::from(READER_GONE);
    }
    complain(error);
    ExitCode::from(code)
}

/// Tells what whoever has asked should know beside the answer.
pub(crate) fn note(text: String) {
    let _ = writeln!(io::stderr(), "partita: {}", printable::lines(&text));
}

/// Tells what went wrong. Nothing can be done about a closed standard error.
pub(crate) fn complain(error: &anyhow::Error) {
    let text = format!("partita: {error:#}");
    let _ = writeln!(io::stderr(), "{}", printable::lines(&text));
}
