//! `partita import`: the tables of a design filled from exports.
//!
//! A server that has the store open carries it out; without one this process does.
//!
//! | module | what it holds |
//! |---|---|
//! | `import` | the command: who carries it out, and what is printed |
//! | `import::arriving` | the items on their way into the tables |

pub(crate) mod arriving;

use std::process::ExitCode;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use partita_api::admin::answer::GivenDesign;
use partita_design::sidecar;

use crate::cli::{CheckFormat, ImportFlags};
use crate::operator::{self, Reached};
use crate::output::print;
use crate::source::Source;
use crate::{json_text, store};
use arriving::{Import, ImportedTable, Into, Step};

/// What the command is called over the socket.
pub(crate) const NAME: &str = "import";

/// Fills the tables of a design.
pub(crate) async fn run(flags: &ImportFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let asked = Import {
        design: GivenDesign::of(&design),
        from: std::path::absolute(&flags.from)?,
        table: flags.table.clone(),
        exports: flags.export.clone(),
        overwrites: flags.overwrite,
    };
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template(
        "{bar:30} {pos} of {len} items {msg}",
    )?);
    let mut show = |step: Step| {
        bar.set_length(step.of);
        bar.set_position(step.items);
        bar.set_message(step.stage);
    };
    let imported = reach(&asked, flags, &mut show).await?;
    bar.finish_and_clear();
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&imported)?),
        CheckFormat::Text => text(&imported, &flags.design, &sidecar::name(&design)),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text(imported: &[ImportedTable], design: &str, sidecar: &str) -> String {
    let lines = imported
        .iter()
        .map(|one| format!("{}: {} items\n", one.table, one.items));
    let lines: String = lines.collect();
    let mut text =
        format!("{lines}`partita verify {design}` says whether they follow the design\n");
    if imported.iter().any(|one| one.table == sidecar) {
        text += &format!(
            "mails, events and schedules wait until `partita outbox {design} resume`: \
             the store of the export has them too\n"
        );
    }
    text
}

/// Has the import carried out by the server that has the store open, or carries it out here.
async fn reach(
    asked: &Import,
    flags: &ImportFlags,
    show: &mut (dyn FnMut(Step) + Send),
) -> Result<Vec<ImportedTable>> {
    let data = &flags.into.data;
    let mut on_step = |step: Step| {
        show(step);
        Ok(())
    };
    if flags.place.is_shared() {
        let arriving = asked.find(None)?.check(&mut on_step).await?;
        let store = flags.place.fill(data).await?;
        return Ok(arriving.fill(Into::Other(store), &mut on_step).await?);
    }
    if let Some(imported) = operator::ask(data, NAME, asked, &mut |step| {
        let _ = on_step(step);
    })
    .await?
    {
        return Ok(imported);
    }
    // Whatever is damaged is found before a store is created.
    let arriving = asked.find(None)?.check(&mut on_step).await?;
    let open = || store::fill_embedded(data);
    let mut pass_on = |step| drop(on_step(step));
    let engine = match operator::reach(data, NAME, asked, &mut pass_on, open).await? {
        Reached::Asked(imported) => return Ok(imported),
        Reached::Opened(engine) => engine,
    };
    Ok(arriving.fill(Into::Embedded(engine), &mut on_step).await?)
}
