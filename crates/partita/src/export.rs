//! `partita export`: items in the files of DynamoDB's exports, and tables as a template.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use indicatif::ProgressBar;
use partita_api::admin::Failure;
use partita_design::{cloudformation, time};
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{Clock as _, Store, StoreError};
use partita_transfer::TransferError;
use partita_transfer::exporting::Exporting;
use partita_transfer::exports::Begun;
use serde::{Deserialize, Serialize};

use crate::cli::{CheckFormat, CloudformationFlags, ExportItemsFlags};
use crate::copy::Tables;
use crate::operator::{self, Reached};
use crate::output::print;
use crate::source::Source;
use crate::{json_text, store};

/// What the command is called over the socket.
pub(crate) const NAME: &str = "export";

/// Asks for exports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ExportItems {
    of: Tables,
    to: PathBuf,
}

/// An export of one table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ExportedTable {
    table: String,
    folder: PathBuf,
    items: u64,
}

/// Prints a template of CloudFormation.
pub(crate) fn cloudformation(flags: &CloudformationFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let template = cloudformation::template(&design)?;
    print(&json_text(&template))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the items of a design to files.
pub(crate) async fn items(flags: &ExportItemsFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let asked = ExportItems {
        of: Tables::of(&design)?,
        to: std::path::absolute(&flags.to)?,
    };
    let bar = ProgressBar::new_spinner();
    let mut show = |items: u64| {
        bar.set_message(format!("{items} items"));
        bar.tick();
    };
    let exported = reach(&asked, flags, &mut show).await?;
    bar.finish_and_clear();
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&exported)?),
        CheckFormat::Text => text(&exported),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text(exported: &[ExportedTable]) -> String {
    let lines = exported.iter().map(|one| {
        let ExportedTable {
            table,
            folder,
            items,
        } = one;
        format!("{table}: {items} items in {}\n", folder.display())
    });
    lines.collect()
}

async fn reach(
    asked: &ExportItems,
    flags: &ExportItemsFlags,
    show: &mut (dyn FnMut(u64) + Send),
) -> Result<Vec<ExportedTable>> {
    let data = &flags.from.data;
    let store = if flags.place.is_shared() {
        flags.place.look(data).await?
    } else {
        let open = || store::look_embedded(data);
        match operator::reach(data, NAME, asked, show, open).await? {
            Reached::Asked(exported) => return Ok(exported),
            Reached::Opened(engine) => engine,
        }
    };
    let exported = carry_out(asked, store, |items| {
        show(items);
        Ok(())
    });
    Ok(exported.await?)
}

/// Writes the exports of a store that this process has open.
pub(crate) async fn carry_out(
    asked: &ExportItems,
    store: Arc<dyn Store>,
    mut on_items: impl FnMut(u64) -> Result<(), Failure> + Send,
) -> Result<Vec<ExportedTable>, Failure> {
    let millis = SystemClock.now_millis();
    let begun = Begun {
        millis,
        text: time::format_millis(millis),
    };
    let exporting = Exporting::of(store);
    let mut items = 0;
    let mut hear = |more: u64| {
        items += more;
        on_items(items).map_err(|_| TransferError::Left)
    };
    let ended = || time::format_millis(SystemClock.now_millis());
    let mut exported = Vec::new();
    for table in &asked.of.tables {
        let to: &Path = &asked.to;
        let entropy = Box::new(SystemEntropy);
        let written = exporting.write(table, to, &begun, ended, entropy, &mut hear);
        let written = written.await.map_err(|error| match &error {
            TransferError::Source(StoreError::TableNotFound { .. }) => {
                let design = &asked.of.design;
                Failure::new(format!("there is no data of `{design}` there"))
            }
            _ => Failure::of(&error),
        })?;
        exported.push(ExportedTable {
            table: table.to_string(),
            folder: written.folder,
            items: written.items,
        });
    }
    Ok(exported)
}
