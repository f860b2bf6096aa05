//! `partita can`: yes or no, and which rule decides.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use partita_core::plain;
use partita_plan::ruling::Row;
use partita_plan::{Decision, Ruling, Verdict};
use serde_json::{Value as Json, json};

use crate::ask::Question;
use crate::cli::{AskFlags, CheckFormat};
use crate::complain;

/// What the command ends with when it cannot say yes or no.
const UNDECIDED: u8 = 2;

/// Prints the decision; success means yes.
pub(crate) fn run(flags: &AskFlags) -> Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let decided = runtime.block_on(async {
        let question = Question::read(flags).await?;
        let decision = question.partita.can(&question.caller, question.operation);
        anyhow::Ok((question.file, decision.await?))
    });
    let (file, decision) = match decided {
        Ok(decided) => decided,
        Err(error) => {
            complain(&error);
            return Ok(ExitCode::from(UNDECIDED));
        }
    };
    let text = match flags.format {
        CheckFormat::Json => format!("{:#}\n", to_json(&decision)),
        CheckFormat::Text => to_text(&file, &decision),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(match decision.is_allowed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn to_json(decision: &Decision) -> Json {
    let rows = decision.rows.iter().map(|row| {
        json!({
            "record": row.record,
            "identity": plain::map_to_json(&row.identity),
            "allowed": row.is_allowed(),
            "rulings": row.rulings,
        })
    });
    json!({
        "allowed": decision.is_allowed,
        "rulings": decision.rulings,
        "rows": rows.collect::<Vec<_>>(),
    })
}

fn to_text(file: &str, decision: &Decision) -> String {
    let mut text = yes_or_no(decision.is_allowed).to_owned() + "\n";
    for ruling in &decision.rulings {
        text += &line(file, "  ", ruling);
    }
    for row in &decision.rows {
        text += &of_row(file, row);
    }
    text
}

fn of_row(file: &str, row: &Row) -> String {
    let parts = row.identity.iter();
    let parts: Vec<String> = parts
        .map(|(name, value)| format!("{name} = {}", plain::to_json(value)))
        .collect();
    let answer = yes_or_no(row.is_allowed());
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {answer:<3} {} {}", row.record, parts.join(", "));
    for ruling in &row.rulings {
        text += &line(file, "      ", ruling);
    }
    text
}

fn yes_or_no(is_allowed: bool) -> &'static str {
    match is_allowed {
        true => "yes",
        false => "no",
    }
}

/// What was asked of which rule, and where it stands.
fn line(file: &str, indent: &str, ruling: &Ruling) -> String {
    let verdict = match ruling.verdict {
        Verdict::Allowed => "allowed",
        Verdict::Denied => "denied",
        Verdict::Open => "it depends",
    };
    let Ruling { record, asked, .. } = ruling;
    let rule = match &ruling.rule {
        None => "no rule speaks of it".to_owned(),
        Some(rule) => {
            let words = match rule.words.chars().all(|one| one.is_ascii_alphanumeric()) {
                true => rule.words.clone(),
                false => format!("\"{}\"", rule.words),
            };
            format!("{file}:{}: {words} = \"{}\"", rule.line, rule.text)
        }
    };
    format!("{indent}{verdict}: {asked} {record} ({rule})\n")
}
