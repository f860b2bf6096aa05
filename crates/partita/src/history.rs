//! `partita history`: the designs that stored data follow or followed.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use partita_api::admin::history::{History, RecordedDesign};
use partita_api::admin::sharing::SharingServer;
use partita_core::printable;

use crate::cli::{CheckFormat, HistoryFlags};
use crate::door::Door;
use crate::json_text;
use crate::output::print;

/// Lists what was recorded, or prints the text of one design.
pub(crate) async fn run(flags: &HistoryFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let recorded = door.ask(&subject, History {}, &mut |()| {}).await?;
    let text = match flags.show {
        Some(number) => find(&recorded, number)?.text.clone(),
        None => match flags.format {
            CheckFormat::Json => json_text(&serde_json::to_value(&recorded)?),
            CheckFormat::Text => to_text(&recorded),
        },
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The design with that number; 0 is the live one.
fn find(recorded: &[RecordedDesign], number: u64) -> Result<&RecordedDesign> {
    let found = match number {
        0 => recorded.last(),
        number => recorded.iter().find(|one| one.number == number),
    };
    found.with_context(|| match (number, recorded.len()) {
        (_, 0) => "no design is recorded there".to_owned(),
        (number, last) => format!("there is no number {number}; the last one is {last}"),
    })
}

fn to_text(recorded: &[RecordedDesign]) -> String {
    let Some(live) = recorded.last() else {
        return "no design is recorded\n".to_owned();
    };
    let mut text = String::new();
    for one in recorded {
        let state = if one.number == live.number {
            "live"
        } else {
            ""
        };
        let line = format!(
            "{:>6}  {}  Partita {}  {state}",
            one.number, one.adopted, one.by
        );
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
        for server in &one.servers {
            text += &shown(server);
        }
    }
    text
}

/// A server that shares the tables, in a line.
pub(crate) fn shown(server: &SharingServer) -> String {
    let (name, by) = (printable::line(&server.name), printable::line(&server.by));
    let (number, at) = (server.design, printable::line(&server.renewed));
    let ended = if server.ended {
        ", not heard of since"
    } else {
        ""
    };
    format!("  server {name}, Partita {by}: design {number} at {at}{ended}\n")
}
