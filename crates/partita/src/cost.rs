//! `partita cost`: what the operations of a design take on Amazon DynamoDB, and a month of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use partita_design::cost::{self, Assumptions, Cost, Prices, Rate};
use partita_design::spelling;
use serde::Deserialize;
use serde_json::json;

use crate::cli::{CheckFormat, CostFlags};
use crate::json_text;
use crate::output::print;
use crate::source::Source;

/// Seconds of a month of thirty days.
const MONTH_SECONDS: f64 = 30.0 * 86_400.0;

/// A file of rates, and of what was measured.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RatesFile {
    #[serde(default)]
    rates: BTreeMap<String, RateLine>,
    #[serde(default)]
    bytes: BTreeMap<String, usize>,
    #[serde(default)]
    write_units: BTreeMap<String, f64>,
    #[serde(default)]
    read_units: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RateLine {
    per_second: Option<f64>,
    per_month: Option<f64>,
    hottest: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PricesFile {
    currency: String,
    million_write_units: f64,
    million_read_units: f64,
}

/// Prints what each operation takes, and a month at the rates that are given.
pub(crate) fn run(flags: &CostFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let file: RatesFile = match &flags.rates {
        Some(path) => read(path)?,
        None => RatesFile::default(),
    };
    let prices: Option<PricesFile> = flags.prices.as_deref().map(read).transpose()?;
    let prices = prices.map(priced).transpose()?;
    let assumed = Assumptions {
        bytes: file.bytes,
        write_units: file.write_units,
        read_units: file.read_units,
    };
    let cost = cost::cost(&design, &assumed);
    let records = design.records.iter().map(|record| record.name.as_str());
    check_names(assumed.bytes.keys(), records, "entity or view")?;
    let writes = || cost.writes.iter().map(|one| one.name.as_str());
    let patterns = || cost.patterns.iter().map(|one| one.name.as_str());
    check_names(assumed.write_units.keys(), writes(), "write")?;
    check_names(assumed.read_units.keys(), patterns(), "pattern")?;
    let known = writes().chain(patterns());
    check_names(file.rates.keys(), known, "write or pattern")?;
    let rates = file.rates.iter();
    let rates = rates.map(|(name, line)| Ok((name.clone(), rate(name, line)?)));
    let rates: BTreeMap<String, Rate> = rates.collect::<Result<_>>()?;
    let text = printed(&cost, &rates, prices.as_ref(), flags.format);
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn printed(
    cost: &Cost,
    rates: &BTreeMap<String, Rate>,
    prices: Option<&Prices>,
    format: CheckFormat,
) -> String {
    let month = (!rates.is_empty()).then(|| cost.month(rates, prices));
    match format {
        CheckFormat::Json => {
            let month = month.map(|month| month.to_json(prices));
            json_text(&json!({ "cost": cost.to_json(), "month": month }))
        }
        CheckFormat::Text => {
            let month = month.map(|month| format!("\n{}", month.to_text(prices)));
            format!("{cost}{}", month.unwrap_or_default())
        }
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    toml::from_str(&text).with_context(|| format!("{name} is not as it should be"))
}

fn priced(file: PricesFile) -> Result<Prices> {
    let is_price = |price: f64| price.is_finite() && price >= 0.0;
    if !is_price(file.million_write_units) || !is_price(file.million_read_units) {
        bail!("a price is a number, and at least 0");
    }
    Ok(Prices {
        currency: file.currency,
        million_writes: file.million_write_units,
        million_reads: file.million_read_units,
    })
}

fn rate(name: &str, line: &RateLine) -> Result<Rate> {
    let per_second = match (line.per_second, line.per_month) {
        (Some(times), None) => times,
        (None, Some(times)) => times / MONTH_SECONDS,
        _ => bail!("`{name}` needs one of `per-second` and `per-month`"),
    };
    let hottest = line.hottest.unwrap_or(0.0);
    if !per_second.is_finite() || per_second < 0.0 || !(0.0..=1.0).contains(&hottest) {
        bail!("`{name}` needs a rate of at least 0, and a `hottest` from 0 to 1");
    }
    Ok(Rate {
        per_second,
        hottest,
    })
}

/// Refuses names that mean nothing in the design.
fn check_names<'n>(
    given: impl Iterator<Item = &'n String>,
    known: impl Iterator<Item = &'n str> + Clone,
    what: &str,
) -> Result<()> {
    for name in given {
        if !known.clone().any(|one| one == name) {
            let meant = spelling::nearest(name, known.clone());
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
            bail!(
                "the design has no {what} `{name}`{}",
                meant.unwrap_or_default()
            );
        }
    }
    Ok(())
}
