//! A cost for people and for programs.

use std::fmt::{self, Write as _};

use serde_json::{Value as Json, json};

use super::month::Fullness;
use super::{Cost, Load, Month, Prices};

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: what one operation takes at most\n", self.design)?;
        let head = [
            "write",
            "items",
            "bytes",
            "write units",
            "full at, in a second",
        ];
        let rows = self.writes.iter().map(|one| {
            let jobs = if one.has_jobs { "+" } else { "" };
            [
                one.name.clone(),
                format!("{}{jobs}", one.items),
                one.bytes.to_string(),
                number(one.units),
                full_first(&one.loads),
            ]
        });
        f.write_str(&table(head, rows.collect()))?;
        let head = [
            "pattern",
            "items",
            "bytes",
            "read units",
            "full at, in a second",
        ];
        let rows = self.patterns.iter().map(|one| {
            [
                one.name.clone(),
                (one.rows + one.items).to_string(),
                one.bytes.to_string(),
                number(one.units),
                one.load.as_ref().map_or("a scan".to_owned(), full_at),
            ]
        });
        writeln!(f)?;
        f.write_str(&table(head, rows.collect()))?;
        if self.writes.iter().any(|one| one.has_jobs) {
            writeln!(
                f,
                "\n+ and a job for what may be more than a transaction has room for"
            )?;
        }
        Ok(())
    }
}

/// What is full first for one value of a key; and what is full for all of them together.
fn full_first(loads: &[Load]) -> String {
    let own = loads.iter().find(|load| !load.is_shared).map(full_at);
    // The one that most is taken of comes first.
    let shared = loads.iter().find(|load| load.is_shared);
    let shared = shared.map(|load| format!("{} in all", full_at(load)));
    let both: Vec<String> = own.into_iter().chain(shared).collect();
    both.join("; ")
}

/// `250 on one STORY#{storyId}`.
fn full_at(load: &Load) -> String {
    let most = number(load.most_per_second.floor());
    format!(
        "{most} on {}",
        place(load.is_shared, &load.key, load.index.as_deref())
    )
}

fn place(is_shared: bool, key: &str, index: Option<&str>) -> String {
    let one = if is_shared { "" } else { "one " };
    let index = index.map_or(String::new(), |index| format!(" of {index}"));
    format!("{one}{key}{index}")
}

/// A number without digits that say nothing.
fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 {
        format!("{rounded:.0}")
    } else {
        format!("{rounded:.1}")
    }
}

/// Columns, the first and the last to the left and the others to the right.
fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    let mut widths = head.map(|cell| cell.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let head = head.map(str::to_owned);
    for row in std::iter::once(&head).chain(&rows) {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Writing to a text does not fail.
            let _ = match at {
                0 => write!(line, "{cell:<width$}"),
                _ if at + 1 == N => write!(line, "  {cell}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

impl Month {
    /// The month for people.
    pub fn to_text(&self, prices: Option<&Prices>) -> String {
        let currency = prices.map_or("", |prices| prices.currency.as_str());
        let head = ["a month of", "times", "units", currency];
        let price = |price: Option<f64>| price.map_or(String::new(), |one| format!("{one:.2}"));
        let rows = self.operations.iter().map(|one| {
            let times = format!("{:.0}", one.times);
            let units = format!("{:.0}", one.units);
            [one.name.clone(), times, units, price(one.price)]
        });
        let mut rows: Vec<_> = rows.collect();
        let all = self.write_units + self.read_units;
        rows.push([
            "all of them".to_owned(),
            String::new(),
            format!("{all:.0}"),
            price(self.price),
        ]);
        let mut text = table(head, rows);
        for (at, full) in self.partitions.iter().take(5).enumerate() {
            let what = if full.is_write { "writes" } else { "reads" };
            let room = number(full.room);
            let units = number(full.units_per_second);
            let first = if at == 0 { "\nfull first: " } else { "then: " };
            let place = place(full.is_shared, &full.key, full.index.as_deref());
            let _ = writeln!(
                text,
                "{first}{place}, by {what} of {}: {units} units in a second, room for {room} times as much",
                full.record
            );
        }
        text
    }

    /// The month for programs.
    pub fn to_json(&self, prices: Option<&Prices>) -> Json {
        let operations = self.operations.iter().map(|one| {
            json!({
                "name": one.name,
                "times": one.times,
                "units": one.units,
                "price": one.price,
            })
        });
        json!({
            "operations": operations.collect::<Vec<_>>(),
            "writeUnits": self.write_units,
            "readUnits": self.read_units,
            "price": self.price,
            "currency": prices.map(|prices| &prices.currency),
            "partitions": self.partitions.iter().map(fullness).collect::<Vec<_>>(),
        })
    }
}

fn fullness(full: &Fullness) -> Json {
    json!({
        "entity": full.record,
        "index": full.index,
        "key": full.key,
        "shared": full.is_shared,
        "by": if full.is_write { "writes" } else { "reads" },
        "unitsPerSecond": full.units_per_second,
        "room": full.room,
    })
}

impl Cost {
    /// The cost for programs.
    pub fn to_json(&self) -> Json {
        let load = |load: &Load| {
            json!({
                "entity": load.record,
                "index": load.index,
                "key": load.key,
                "shared": load.is_shared,
                "units": load.units,
                "mostPerSecond": load.most_per_second,
            })
        };
        let writes = self.writes.iter().map(|one| {
            json!({
                "name": one.name,
                "items": one.items,
                "bytes": one.bytes,
                "writeUnits": one.units,
                "jobs": one.has_jobs,
                "partitions": one.loads.iter().map(load).collect::<Vec<_>>(),
            })
        });
        let patterns = self.patterns.iter().map(|one| {
            json!({
                "name": one.name,
                "rows": one.rows,
                "items": one.items,
                "bytes": one.bytes,
                "readUnits": one.units,
                "partition": one.load.as_ref().map(load),
            })
        });
        json!({
            "design": self.design,
            "writes": writes.collect::<Vec<_>>(),
            "patterns": patterns.collect::<Vec<_>>(),
        })
    }
}
