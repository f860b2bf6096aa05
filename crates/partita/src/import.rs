//! `partita import`: the tables of a design filled from exports.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use partita_design::time;
use partita_plan::moving::{Moving, Way};
use partita_store::request::{DeleteItem, PutItem, ReturnValues};
use partita_store::surroundings::SystemClock;
use partita_store::table::TableName;
use partita_store::{Clock as _, Store};
use partita_transfer::Export;
use partita_transfer::{exporting, exports};
use serde::Serialize;

use crate::cli::{CheckFormat, ImportFlags};
use crate::copy::{Tables, has_items};
use crate::source::Source;
use crate::{json_text, store};

/// What came from one export.
#[derive(Debug, Serialize)]
struct ImportedTable {
    table: String,
    items: u64,
}

/// Fills the tables of a design.
pub(crate) async fn run(flags: &ImportFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let of = Tables::of(&design)?;
    let path = std::path::absolute(&flags.from)?;
    let found = exports::find(&path)?;
    let places = places(&of, &found, flags.table.as_deref())?;
    // In the order of the design, and the table beside it last, however their folders are called.
    let mut filled: Vec<(&Export, TableName)> = found.iter().zip(places).collect();
    filled.sort_by_key(|(_, table)| of.tables.iter().position(|one| one == table));
    // Whatever is damaged is found before anything is written.
    exporting::check(found.clone()).await?;
    let store = flags.place.fill(&flags.into.data).await;
    let store = store.map_err(|error| {
        if store::is_in_use(&error) {
            error.context("stop the server first: an import writes past it")
        } else {
            error
        }
    })?;
    let place = path.display().to_string();
    demand_free(&of, &store, &place, flags.overwrite).await?;
    partita_plan::prepare_tables(&design, &*store).await?;
    mark(&of, &*store, &place).await?;
    let items = found.iter().map(|export| export.summary.item_count);
    let bar = ProgressBar::new(items.sum());
    bar.set_style(ProgressStyle::with_template(
        "{bar:30} {pos} of {len} items",
    )?);
    let mut imported = Vec::new();
    for (export, table) in &filled {
        let mut show = |items: u64| {
            bar.inc(items);
            Ok(())
        };
        let items = exporting::fill(export, &*store, table, &mut show).await;
        let items = items.with_context(|| {
            format!("the import into `{table}` is not whole; the same command begins it again")
        })?;
        let table = table.to_string();
        imported.push(ImportedTable { table, items });
    }
    unmark(&of, &*store).await?;
    bar.finish_and_clear();
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&imported)?),
        CheckFormat::Text => text(&imported, &flags.design),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn text(imported: &[ImportedTable], design: &str) -> String {
    let lines = imported
        .iter()
        .map(|one| format!("{}: {} items\n", one.table, one.items));
    let lines: String = lines.collect();
    format!("{lines}`partita verify {design}` says whether they follow the design\n")
}

/// The table of each export.
fn places(of: &Tables, found: &[Export], table: Option<&str>) -> Result<Vec<TableName>> {
    if let Some(table) = table {
        let table: TableName = table.parse()?;
        if !of.tables.contains(&table) {
            bail!("`{}` has no table `{table}`", of.design);
        }
        if found.len() != 1 {
            bail!(
                "--table is for one export, and there are {}: name its folder",
                found.len()
            );
        }
        return Ok(vec![table]);
    }
    let mut places: Vec<TableName> = Vec::new();
    for export in found {
        let name = export.summary.table();
        let Some(table) = of.tables.iter().find(|table| table.as_str() == name) else {
            let tables = of.tables.iter().map(|table| format!("`{table}`"));
            let tables = tables.collect::<Vec<_>>().join(", ");
            bail!(
                "there is an export of the table `{name}`, and `{}` has {tables}: say with --table where it goes",
                of.design
            );
        };
        if places.contains(table) {
            bail!("there are several exports of the table `{name}`: name the folder of one");
        }
        places.push(table.clone());
    }
    Ok(places)
}

/// Refuses to write over items, unless that was asked for or they are of the same import.
async fn demand_free(
    of: &Tables,
    store: &Arc<dyn Store>,
    place: &str,
    overwrites: bool,
) -> Result<()> {
    match Moving::read(&of.sidecar, store.clone()).await? {
        Some(mark) if mark.way == Way::In && mark.place == place => return Ok(()),
        Some(mark) => bail!("`{}` is not filled: {mark}", of.design),
        None => {}
    }
    if overwrites {
        return Ok(());
    }
    for table in &of.tables {
        if has_items(&**store, table).await? {
            bail!(
                "the table `{table}` has items: --overwrite writes over those with the same keys"
            );
        }
    }
    Ok(())
}

/// Marks the tables, so that no server starts on a part of the items.
async fn mark(of: &Tables, store: &dyn Store, place: &str) -> Result<()> {
    let mark = Moving {
        way: Way::In,
        place: place.to_owned(),
        since: time::format_millis(SystemClock.now_millis()),
    };
    let put = PutItem::new(of.sidecar.clone(), mark.item());
    store.put_item(put, ReturnValues::None).await?;
    Ok(())
}

async fn unmark(of: &Tables, store: &dyn Store) -> Result<()> {
    let delete = DeleteItem {
        table: of.sidecar.clone(),
        key: Moving::key(),
        condition: None,
        return_item_on_failure: false,
    };
    store.delete_item(delete, ReturnValues::None).await?;
    Ok(())
}
