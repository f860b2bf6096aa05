//! Integration tests of the design language.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod book;
mod corpus;
mod design_pages;
mod evolution;
mod forms;
mod key_strings;
mod keys;
mod manual;
mod mutations;
mod pages;
mod properties;
mod readmes;
mod rendering;
mod rule_lines;
mod shipped;
mod spec;
mod stories;

use partita_design::{Diagnostic, Severity};

/// Diagnostics as lines: `error code 3:5 message (help: …)`.
fn lines(source: &str, diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics
        .iter()
        .map(|diagnostic| {
            let severity = match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let before = &source[..diagnostic.span.start];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            let Diagnostic { code, message, .. } = diagnostic;
            let help = diagnostic.help.as_ref().map(|help| format!(" ({help})"));
            format!(
                "{severity} {code} {line}:{column} {message}{}",
                help.unwrap_or_default()
            )
        })
        .collect()
}
