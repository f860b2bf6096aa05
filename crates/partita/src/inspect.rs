//! Commands on a design alone: `check`, `keys`, `describe`, `openapi`, `docs`, `access`,
//! `client`; and `new`, which makes one.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};
use partita_api::routes::Routes;
use partita_api::{access, openapi, typescript};
use partita_core::{Map, plain};
use partita_design::{Design, Severity, describe, page};
use serde_json::Value as Json;

use crate::cli::{
    CheckFlags, CheckFormat, ClientFlags, DesignFlags, DocsFlags, KeysFlags, NewFlags, OpenapiFlags,
};
use crate::json_text;
use crate::output::print;
use crate::source::Source;

/// Shows every mistake and risk in a design.
pub(crate) fn check(flags: &CheckFlags) -> Result<ExitCode> {
    let source = Source::find(&flags.design)?;
    let (design, diagnostics) = source.check(&flags.variables);
    if flags.format == CheckFormat::Json {
        let found = describe::diagnostics(&source.text, &diagnostics);
        print(&json_text(&found))?;
        return Ok(success(design.is_some()));
    }
    source.show(&diagnostics)?;
    let of = |severity| {
        diagnostics
            .iter()
            .filter(|found| found.severity == severity)
            .count()
    };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let (errors_text, warnings_text) = (counted(errors, "error"), counted(warnings, "warning"));
    let name = &source.name;
    print(&format!("{name}: {errors_text}, {warnings_text}\n"))?;
    Ok(success(design.is_some()))
}

fn success(is_success: bool) -> ExitCode {
    if is_success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn counted(count: usize, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {word}{plural}")
}

/// Prints the keys that attributes on standard input give.
pub(crate) fn keys(flags: &KeysFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let attributes = serde_json::from_str(&input)
        .context("standard input must be a JSON object of attributes")?;
    let attributes = plain::map_from_json(attributes)?;
    let keys = record_keys(&design, &flags.record, &attributes)?;
    print(&json_text(&keys))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the compiled design as JSON.
pub(crate) fn describe(flags: &DesignFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let described = describe::describe(&design);
    print(&json_text(&described))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the OpenAPI document of a design.
pub(crate) fn openapi(flags: &OpenapiFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.of.design)?.compile(&flags.of.variables)?;
    let routes = Routes::of(&design);
    let document = if flags.admin {
        openapi::admin_document(&design, &routes)
    } else {
        openapi::document(&design, &routes)
    };
    print(&json_text(&document))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the page of a design, or compares it with one that is there.
pub(crate) fn docs(flags: &DocsFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let page = page::page(&design);
    print_or_compare("docs", &page, &flags.design, flags.check.as_deref())
}

/// Prints who may do what in a design, or compares it with a page that is there.
pub(crate) fn access(flags: &DocsFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let page = access::page(&design, &Routes::of(&design));
    print_or_compare("access", &page, &flags.design, flags.check.as_deref())
}

/// Prints a client of a design in TypeScript, or compares it with one that is there.
pub(crate) fn typescript(flags: &ClientFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let client = typescript::client(&design, &Routes::of(&design));
    let check = flags.check.as_deref();
    print_or_compare("client typescript", &client, &flags.design, check)
}

fn print_or_compare(
    command: &str,
    text: &str,
    design: &str,
    check: Option<&Path>,
) -> Result<ExitCode> {
    let Some(path) = check else {
        print(text)?;
        return Ok(ExitCode::SUCCESS);
    };
    let committed =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if committed == text {
        return Ok(ExitCode::SUCCESS);
    }
    let path = path.display();
    writeln!(
        std::io::stderr(),
        "{path} is stale: write it again with `partita {command} {design} > {path}`"
    )?;
    Ok(ExitCode::FAILURE)
}

/// Writes a design to start from.
pub(crate) fn new(flags: &NewFlags) -> Result<ExitCode> {
    const STARTER: &str = include_str!("starter.toml");
    let text = STARTER.replace("starter", &flags.name);
    let (design, _) = partita_design::check(&text, &|_| None);
    if design.is_none() {
        bail!(
            "`{}` cannot be the name of a design: use 3 or more lower-case letters, digits and hyphens",
            flags.name
        );
    }
    let path = format!("{}.toml", flags.name);
    let mut file = std::fs::File::create_new(&path)
        .with_context(|| format!("cannot write {path}, because something is there"))?;
    file.write_all(text.as_bytes())?;
    print(&format!(
        "{path}: now run `partita check {path}` and `partita serve {path}`\n"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The keys of an entity's or a view's record; none while a view's condition does not hold.
fn record_keys(design: &Design, record: &str, attributes: &Map) -> Result<Json> {
    let records = partita_design::keys(design, record, attributes);
    let records = records.map_err(|faults| {
        let sentences: Vec<_> = faults.iter().map(ToString::to_string).collect();
        anyhow!(sentences.join("\n"))
    })?;
    let found = records.into_iter().filter(|keys| keys.record == record);
    let mut found: Vec<Json> = found.map(|found| as_json(found.keys)).collect();
    // A view with `each` has a record for every element.
    let view = design.find_record(record).and_then(|one| one.view.as_ref());
    let is_each = view.is_some_and(|view| view.each.is_some());
    Ok(if is_each {
        Json::Array(found)
    } else {
        found
            .pop()
            .unwrap_or_else(|| Json::Object(Default::default()))
    })
}

fn as_json(keys: Vec<(String, partita_core::Value)>) -> Json {
    let keys = keys.into_iter();
    keys.map(|(name, value)| (name, plain::to_json(&value)))
        .collect()
}
