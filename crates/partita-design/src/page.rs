//! A compiled design as a Markdown page: what a team used to write by hand.

mod causes;

use std::fmt::Write as _;

use crate::describe;
use crate::design::{Design, Read, Record, Table, View};
use crate::kernel::{self, Write};

/// The page of a design.
pub fn page(design: &Design) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write(design, &mut page);
    page
}

fn write(design: &Design, page: &mut String) -> std::fmt::Result {
    writeln!(page, "# {}\n", design.name)?;
    if let Some(about) = &design.about {
        writeln!(page, "{}\n", prose(about))?;
    }
    for table in &design.tables {
        write_table(table, page)?;
    }
    diagram(design, page)?;
    writeln!(page, "## Entities")?;
    for entity in design.entities() {
        write_entity(design, entity, page)?;
    }
    if design.views().next().is_some() {
        writeln!(page, "\n## Views")?;
    }
    for (record, view) in design.views() {
        write_view(design, record, view, page)?;
    }
    patterns(design, page)?;
    causes::write(design, page)?;
    transactions(design, page)
}

fn write_table(table: &Table, page: &mut String) -> std::fmt::Result {
    let (name, partition, sort) = (&table.name, &table.partition, &table.sort);
    writeln!(
        page,
        "Table `{name}` with the keys `{partition}` and `{sort}`.\n"
    )?;
    if table.indexes.is_empty() {
        return Ok(());
    }
    writeln!(page, "| index | partition key | sort key |\n|---|---|---|")?;
    for index in &table.indexes {
        let sort = index.sort.as_ref().map_or("", |key| &key.name);
        writeln!(
            page,
            "| `{}` | `{}` | `{sort}` |",
            index.name, index.partition.name
        )?;
    }
    writeln!(page)
}

/// Who refers to whom.
fn diagram(design: &Design, page: &mut String) -> std::fmt::Result {
    writeln!(page, "```mermaid\nerDiagram")?;
    for entity in design.entities() {
        writeln!(page, "    {}", entity.name)?;
    }
    for entity in design.entities() {
        for reference in &entity.refs {
            for to in reference.records() {
                let (from, name) = (&entity.name, &reference.name);
                let arrow = if reference.optional {
                    "}o--o|"
                } else {
                    "}o--||"
                };
                writeln!(page, "    {from} {arrow} {} : {name}", design[to].name)?;
            }
        }
    }
    for (record, view) in design.views() {
        let of = &design[view.of].name;
        writeln!(page, "    {of} ||..o{{ {} : view", record.name)?;
    }
    writeln!(page, "```\n")
}

fn write_keys(design: &Design, record: &Record, page: &mut String) -> std::fmt::Result {
    writeln!(page, "| key | template |\n|---|---|")?;
    for (name, template) in describe::keys(&design[record.table], record) {
        let template = match template.as_str() {
            Some(text) => format!("`{text}`"),
            None => format!("`{template}`"),
        };
        writeln!(page, "| `{name}` | {} |", cell(&template))?;
    }
    Ok(())
}

fn write_entity(design: &Design, entity: &Record, page: &mut String) -> std::fmt::Result {
    writeln!(page, "\n### {}\n", entity.name)?;
    if let Some(about) = &entity.about {
        writeln!(page, "{}\n", prose(about))?;
    }
    if let Some(path) = &entity.path {
        writeln!(page, "In URLs: `/{}/{path}`.\n", design.name)?;
    }
    write_keys(design, entity, page)?;
    writeln!(page, "\n| attribute | type | value |\n|---|---|---|")?;
    for attribute in &entity.attributes {
        let optional = if attribute.optional { "?" } else { "" };
        let value = describe::value(design, &attribute.source);
        let value = value.map_or(String::new(), |value| format!("`{value}`"));
        let kind = attribute.kind.describe();
        writeln!(
            page,
            "| `{}`{optional} | {} | {} |",
            attribute.name,
            cell(&kind),
            cell(&value)
        )?;
    }
    Ok(())
}

fn write_view(
    design: &Design,
    record: &Record,
    view: &View,
    page: &mut String,
) -> std::fmt::Result {
    writeln!(page, "\n### {}\n", record.name)?;
    if let Some(about) = &record.about {
        writeln!(page, "{}\n", prose(about))?;
    }
    let what = match (view.history, &view.each) {
        (true, _) => "The replaced states of".to_owned(),
        (false, Some(each)) => format!("One record for every `{}` of", each.name),
        (false, None) => "One record for every".to_owned(),
    };
    write!(page, "{what} `{}`", design[view.of].name)?;
    match view.when.as_ref().map(|when| when.text.as_str()) {
        Some(text) if !text.is_empty() => writeln!(page, ", while `{text}`.\n")?,
        _ => writeln!(page, ".\n")?,
    }
    write_keys(design, record, page)
}

fn patterns(design: &Design, page: &mut String) -> std::fmt::Result {
    if design.patterns.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\n## Access patterns\n\n| pattern | read | condition | returns | path |\n|---|---|---|---|---|"
    )?;
    for pattern in &design.patterns {
        let indexes = &design[pattern.table].indexes;
        let read = match &pattern.read {
            Read::Get(_) => "get".to_owned(),
            Read::Query(query) => match query.index {
                Some(index) => {
                    let fresh = if pattern.fresh { "fresh " } else { "" };
                    format!("{fresh}query `{}`", indexes[index.index()].name)
                }
                None => "query".to_owned(),
            },
            Read::Scan { .. } => "**scan**".to_owned(),
        };
        let returns: Vec<_> = pattern
            .returns
            .iter()
            .map(|record| design[*record].name.as_str())
            .collect();
        let about = pattern
            .about
            .as_ref()
            .map_or(String::new(), |about| format!(": {}", prose(about)));
        let path = pattern.path.as_ref();
        let path = path.map_or(String::new(), |path| format!("`{path}`"));
        writeln!(
            page,
            "| `{}`{} | {read} | `{}` | {} | {path} |",
            pattern.name,
            cell(&about),
            cell(&pattern.text),
            returns.join(", ")
        )?;
    }
    Ok(())
}

/// What the writes take that touch more than their item.
fn transactions(design: &Design, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "\n## Largest transactions\n\nHow many actions a write takes at most; DynamoDB allows {}. \
         What has no bound becomes a job, \
         and writes that are not listed take one action.\n\n| write | actions | most of them for |\n|---|---|---|",
        partita_core::limits::TRANSACTION_ACTIONS_MAX
    )?;
    let sizes = kernel::sizes(design).into_iter();
    for size in sizes.filter(|size| size.actions > 1 || size.has_jobs) {
        let write = match &size.write {
            Write::Access(access, entity) => {
                format!("{} `{}`", access.word(), design[*entity].name)
            }
            Write::Action(action) => format!("action `{}`", design[*action].name),
        };
        let jobs = if size.has_jobs { " and a job" } else { "" };
        let largest = size.parts.first().filter(|part| part.actions > 1);
        let largest = largest.map_or(String::new(), |part| format!("`{}`", part.cause));
        writeln!(page, "| {write} | {}{jobs} | {largest} |", size.actions)?;
    }
    Ok(())
}

/// A text of the design, which is no HTML of the page.
fn prose(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// A text that does not end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
