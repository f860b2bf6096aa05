//! `partita adopt`: how far the items of tables that exist follow a design, and those tables taken
//! over.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use partita_api::admin::adopt::{Adopt, Adoption};
use partita_api::admin::verify::Found;
use partita_core::printable;
use serde_json::{Value as Json, json};

use crate::cli::{AdoptFlags, CheckFormat};
use crate::door::Door;
use crate::json_text;
use crate::output::{self, print};

/// Examples of each kind that are shown.
const EXAMPLES_MAX: usize = 3;
/// The exit code where the tables or items are not as the design needs them.
const NOT_YET: u8 = 1;
/// The exit code where that is not known.
const UNCLEAR: u8 = 2;

/// What was found of one kind: how often, and a few of it.
#[derive(Default)]
struct Tally {
    count: u64,
    examples: Vec<String>,
}

impl Tally {
    fn add(&mut self, example: String) {
        self.count += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(example);
        }
    }
}

/// What was found on the way.
#[derive(Default)]
struct Tallies {
    /// By record and kind.
    drifts: BTreeMap<(String, String), Tally>,
    unrecognised: Tally,
}

impl Tallies {
    fn take(&mut self, found: Found) {
        match found {
            // What was found by an earlier pass is found again.
            Found::Pass(_) => *self = Tallies::default(),
            Found::Drift(one) => {
                let text = |name: &str| one.drift[name].as_str().unwrap_or_default().to_owned();
                let tally = self.drifts.entry((text("record"), text("kind")));
                tally.or_default().add(one.text);
            }
            Found::Unrecognised(one) => self.unrecognised.add(one.text),
            Found::Progress(_) => {}
        }
    }
}

/// Prints what it would mean to take the tables over.
pub(crate) async fn run(flags: &AdoptFlags) -> Result<ExitCode> {
    match report(flags).await {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::from(NOT_YET)),
        Err(error) => Ok(output::failed(&error, UNCLEAR)),
    }
}

/// Answers whether everything is as the design needs it.
async fn report(flags: &AdoptFlags) -> Result<bool> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let mut tallies = Tallies::default();
    let command = Adopt { start: flags.start };
    let adoption = door
        .ask(&subject, command, &mut |found| tallies.take(found))
        .await?;
    let text = match flags.format {
        CheckFormat::Json => json_text(&to_json(&adoption, &tallies)?),
        CheckFormat::Text => to_text(&adoption, &tallies, &flags.design),
    };
    print(&text)?;
    let is_right = adoption.tables.is_empty() && adoption.obstacles.is_empty();
    Ok(adoption.adopted || is_right && !flags.start)
}

fn to_text(adoption: &Adoption, tallies: &Tallies, design: &str) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    for note in &adoption.tables {
        let advice = if note.is_final {
            "; name another table"
        } else {
            ""
        };
        let _ = writeln!(text, "table        `{}` {}{advice}", note.table, note.what);
    }
    for (record, counted) in &adoption.census.records {
        let (items, bytes) = (counted.items, counted.bytes);
        let _ = writeln!(text, "recognised   {items} {record}, {bytes} bytes");
    }
    let mut show = |what: &str, tally: &Tally| {
        let _ = writeln!(text, "{what}");
        for example in &tally.examples {
            let _ = writeln!(text, "  {}", printable::line(example));
        }
    };
    if tallies.unrecognised.count > 0 {
        let what = format!("unrecognised {}, such as", tallies.unrecognised.count);
        show(&what, &tallies.unrecognised);
    }
    for ((record, kind), tally) in &tallies.drifts {
        let count = tally.count;
        let what = match kind.as_str() {
            "value" => format!("not allowed  {count} values of {record}, such as"),
            kind => format!("not right    {count} of {record} ({kind}), such as"),
        };
        show(&what, tally);
    }
    let following = adoption.report.following;
    if following > 0 {
        let _ = writeln!(text, "not judged   {following} derived from those");
    }
    if text.is_empty() {
        text += "the tables are empty\n";
    }
    for obstacle in &adoption.obstacles {
        let obstacle = obstacle.replace("DESIGN", design);
        let _ = writeln!(text, "to do        {obstacle}");
    }
    if adoption.adopted {
        return text + &format!("adopted      `partita serve {design}` serves it\n");
    }
    if adoption.obstacles.is_empty() && !adoption.prepared {
        text += &format!("`partita adopt {design} --start` takes the tables over\n");
    }
    text + if adoption.prepared {
        "the tables are ready, and no design is recorded\n"
    } else {
        "nothing was written\n"
    }
}

fn to_json(adoption: &Adoption, tallies: &Tallies) -> Result<Json> {
    let tally = |one: &Tally| json!({ "count": one.count, "examples": one.examples });
    let drifts = tallies.drifts.iter();
    let drifts = drifts.map(|((record, kind), one)| {
        json!({ "record": record, "kind": kind, "count": one.count, "examples": one.examples })
    });
    let drifts: Vec<Json> = drifts.collect();
    let mut document = serde_json::to_value(adoption)?;
    document["drifts"] = Json::Array(drifts);
    document["unrecognised"] = tally(&tallies.unrecognised);
    Ok(document)
}
