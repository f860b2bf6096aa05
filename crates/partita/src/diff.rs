//! `partita diff`: what changes from one design to another, and what that does to stored data.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use partita_api::admin::census::Count;
use partita_api::admin::history::{History, RecordedDesign};
use partita_design::difference::{self, Change, Estimate, File, Items};
use partita_design::render::Colours;
use partita_design::{Design, check};
use serde_json::json;

use crate::cli::{CheckFormat, DiffFlags};
use crate::door::{Door, Subject};
use crate::json_text;
use crate::output::{self, print};
use crate::source::Source;

/// The exit code where a migration is needed.
const MIGRATION: u8 = 1;
/// The exit code where something has to be stated first, or the designs cannot be compared.
const UNCLEAR: u8 = 2;

/// Two designs, and how much work lies between them where that is known.
struct Compared {
    old: (String, Design),
    new: (String, Design),
    estimate: Option<Estimate>,
    /// The number of the new design in the history, if it was live before.
    earlier: Option<u64>,
}

/// Prints the changes.
pub(crate) async fn run(flags: &DiffFlags) -> Result<ExitCode> {
    let compared = match &flags.new {
        Some(new) => of_files(flags, new),
        None => with_live(flags).await,
    };
    match compared {
        Ok(compared) => show(flags, &compared),
        Err(error) => Ok(output::failed(&error, UNCLEAR)),
    }
}

fn of_files(flags: &DiffFlags, new: &str) -> Result<Compared> {
    let compiled = |name: &str| -> Result<(String, Design)> {
        let source = Source::find(name)?;
        let design = source.compile(&flags.variables)?;
        Ok((source.name, design))
    };
    let (old, new) = (compiled(&flags.design)?, compiled(new)?);
    if old.1.name != new.1.name {
        bail!(
            "these are designs of different names, `{}` and `{}`: data belong to one design",
            old.1.name,
            new.1.name
        );
    }
    Ok(Compared {
        old,
        new,
        estimate: None,
        earlier: None,
    })
}

/// The design against the live one, with the items that there are.
async fn with_live(flags: &DiffFlags) -> Result<Compared> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let new = subject.design().cloned();
    let new = new.with_context(|| format!("there is no file `{}` here", flags.design))?;
    let recorded = door.ask(&subject, History {}, &mut |()| {}).await?;
    let live = recorded.last();
    let live = live.context("no design is recorded there: `partita adopt` takes data over")?;
    let old = compile(live)?;
    let name = format!("number {} of the history", live.number);
    let asked = Subject::compiled(name.clone(), old.clone());
    let census = door.ask(&asked, Count {}, &mut |_| {}).await?;
    let items: BTreeMap<String, Items> = census
        .records
        .into_iter()
        .map(|(record, counted)| {
            let items = Items {
                count: counted.items,
                bytes: counted.bytes,
            };
            (record, items)
        })
        .collect();
    let changes = difference::between(&old, &new);
    let is_new = |one: &&RecordedDesign| {
        one.text == new.origin.text && one.variables == new.origin.variables
    };
    let earlier = recorded.iter().rev().skip(1).find(is_new);
    Ok(Compared {
        earlier: earlier.map(|one| one.number),
        estimate: Some(difference::estimate(&changes, &items)),
        old: (name, old),
        new: (subject.file, new),
    })
}

fn compile(live: &RecordedDesign) -> Result<Design> {
    let (design, _) = check(&live.text, &|name| live.variables.get(name).cloned());
    design.with_context(|| {
        format!(
            "this version does not accept the text of the live design, which Partita {} recorded",
            live.by
        )
    })
}

fn show(flags: &DiffFlags, compared: &Compared) -> Result<ExitCode> {
    let Compared {
        old,
        new,
        estimate,
        earlier,
    } = compared;
    let changes = difference::all_between(&old.1, &new.1);
    let needless = difference::needless(&old.1, &new.1);
    let is_dynamodb = flags.place.is_shared();
    let needed = estimate.as_ref();
    let needed = needed.filter(|_| changes.iter().any(|change| !change.is_free()));
    let cannot = cannot(&old.1, &new.1, &changes, is_dynamodb);
    let text = match flags.format {
        CheckFormat::Json => {
            let estimate = needed.map(|estimate| estimate.to_json(is_dynamodb));
            let changes = difference::to_json(&changes);
            json_text(&json!({
                "changes": changes,
                "cannot": cannot,
                "earlier": earlier,
                "estimate": estimate,
                "needless": needless,
            }))
        }
        CheckFormat::Text => {
            let colours = match std::io::stdout().is_terminal() {
                true => Colours::On,
                false => Colours::Off,
            };
            let text = difference::to_text(file(old), file(new), &changes, colours);
            let estimate = needed.map(|estimate| estimate.to_text(is_dynamodb));
            let needless = needless.iter().map(|path| {
                let line = new.1.origin.line(path).unwrap_or_default();
                format!("No longer needed: `{path}` (line {line}).\n")
            });
            text + &cannot.join("")
                + &earlier.map_or_else(String::new, of_before)
                + &estimate.unwrap_or_default()
                + &needless.collect::<String>()
        }
    };
    print(&text)?;
    if !cannot.is_empty() {
        return Ok(ExitCode::from(UNCLEAR));
    }
    Ok(code(&changes))
}

/// What this version cannot carry out though the designs say all that it takes, a line each.
fn cannot(old: &Design, new: &Design, changes: &[Change], is_dynamodb: bool) -> Vec<String> {
    let is_clear = changes.iter().all(Change::is_complete);
    if !is_clear || changes.iter().all(Change::is_free) {
        return Vec::new();
    }
    if is_dynamodb {
        return vec!["Cannot be carried out: a migration needs the embedded store.\n".to_owned()];
    }
    // What goes is named when the migration begins.
    let drops: Vec<String> = changes.iter().map(Change::name).collect();
    let planned = partita_plan::migration::changes::changes(old, new, &drops);
    let obstacles = planned.into_iter().filter_map(|one| {
        let why = one.obstacle?;
        Some(format!("Cannot be carried out: {}: {why}.\n", one.change))
    });
    obstacles.collect()
}

fn of_before(number: u64) -> String {
    format!(
        "This text was live before (number {number}), and a server that starts with it goes on with \
         the live one: `partita migrate start` makes it live again.\n"
    )
}

fn file((name, design): &(String, Design)) -> File<'_> {
    File {
        name,
        text: &design.origin.text,
    }
}

fn code(changes: &[Change]) -> ExitCode {
    if changes.iter().all(Change::is_free) {
        ExitCode::SUCCESS
    } else if changes.iter().all(Change::is_complete) {
        ExitCode::from(MIGRATION)
    } else {
        ExitCode::from(UNCLEAR)
    }
}
