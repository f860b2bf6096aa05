//! `partita can`: yes or no, and which rule decides.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use partita_api::admin::can::{Can, Decided, DecidedRow};
use partita_core::printable;
use partita_plan::{Ruling, Verdict};

use crate::ask::question;
use crate::cli::{AskFlags, CheckFormat};
use crate::door::Door;
use crate::json_text;
use crate::output::{self, print};

/// What the command ends with when it cannot say yes or no.
const UNDECIDED: u8 = 2;

/// Prints the decision; success means yes.
pub(crate) async fn run(flags: &AskFlags) -> Result<ExitCode> {
    let (file, decided) = match decide(flags).await {
        Ok(decided) => decided,
        Err(error) => return Ok(output::failed(&error, UNDECIDED)),
    };
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&decided)?),
        CheckFormat::Text => printable::lines(&to_text(&file, &decided)).into_owned(),
    };
    print(&text)?;
    Ok(if decided.allowed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The decision, with the name of what has the rules: the file, if a server has decided by the same
/// text.
async fn decide(flags: &AskFlags) -> Result<(String, Decided)> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let can = Can(question(flags)?);
    let decided = door.ask(&subject, can, &mut |()| {}).await?;
    let file = match subject.digest() {
        Some(digest) if digest == decided.design => subject.file,
        _ => format!("the design that is served as `{}`", subject.name),
    };
    Ok((file, decided))
}

fn to_text(file: &str, decided: &Decided) -> String {
    let mut text = yes_or_no(decided.allowed).to_owned() + "\n";
    if let Some(reason) = &decided.reason {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {reason}");
    }
    let of_rows = decided.rows.iter().flat_map(|row| &row.rulings);
    let of_rows: Vec<&Ruling> = of_rows.collect();
    for ruling in &decided.rulings {
        // What depends on the items is said of them.
        let is_open = ruling.verdict == Verdict::Open;
        if !is_open || !of_rows.iter().any(|one| is_same_rule(one, ruling)) {
            text += &line(file, "  ", ruling);
        }
    }
    for rows in alike(&decided.rows) {
        text += &lines_of(file, &decided.rulings, &rows);
    }
    text
}

fn is_same_rule(one: &Ruling, other: &Ruling) -> bool {
    (&one.record, &one.asked, &one.rule) == (&other.record, &other.asked, &other.rule)
}

/// The rows that the same rules have decided in the same way, together.
fn alike(rows: &[DecidedRow]) -> Vec<Vec<&DecidedRow>> {
    let mut groups: Vec<Vec<&DecidedRow>> = Vec::new();
    for row in rows {
        let mut known = groups.iter_mut();
        match known.find(|group| group[0].rulings == row.rulings) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Rows, and behind them the rules that decided on all of them, except those that have decided
/// already.
fn lines_of(file: &str, decided: &[Ruling], rows: &[&DecidedRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let parts = row.identity.iter();
        let parts: Vec<String> = parts
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        let parts = parts.join(", ");
        let (answer, parts) = (yes_or_no(row.allowed), printable::line(&parts));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {answer:<3} {} {parts}", row.record);
    }
    let indent = match rows.len() {
        1 => "      ".to_owned(),
        count => format!("      all {count} "),
    };
    let rulings = rows.iter().take(1).flat_map(|row| &row.rulings);
    for ruling in rulings.filter(|ruling| !decided.contains(ruling)) {
        text += &line(file, &indent, ruling);
    }
    text
}

fn yes_or_no(is_allowed: bool) -> &'static str {
    if is_allowed { "yes" } else { "no" }
}

/// What was asked of which rule, and the line of the rule.
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
            let words = if rule.words.chars().all(|one| one.is_ascii_alphanumeric()) {
                rule.words.clone()
            } else {
                format!("\"{}\"", rule.words)
            };
            format!("{file}:{}: {words} = \"{}\"", rule.line, rule.text)
        }
    };
    format!("{indent}{verdict}: {asked} {record} ({rule})\n")
}

#[cfg(test)]
mod tests {
    use partita_plan::ruling::WrittenRule;

    use super::*;

    /// However many rows there are, and whether the rule decides before they are read.
    #[test]
    fn a_rule_is_named_once() {
        let ruling = |verdict: Verdict| Ruling {
            record: "Note".to_owned(),
            asked: "read".to_owned(),
            verdict,
            rule: Some(WrittenRule {
                line: 7,
                words: "read".to_owned(),
                text: "owner = caller".to_owned(),
            }),
        };
        let row = || DecidedRow {
            record: "Note".to_owned(),
            identity: Default::default(),
            allowed: true,
            rulings: vec![ruling(Verdict::Allowed)],
        };
        for early in [Verdict::Open, Verdict::Allowed] {
            for count in [0, 1, 3] {
                let text = to_text(
                    "notes.toml",
                    &Decided {
                        allowed: true,
                        reason: None,
                        rulings: vec![ruling(early)],
                        rows: (0..count).map(|_| row()).collect(),
                        design: String::new(),
                    },
                );
                assert_eq!(text.matches("notes.toml:7").count(), 1, "{text}");
            }
        }
    }
}
