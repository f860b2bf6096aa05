//! How soon an empty server answers, and what it takes while nobody asks.

use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::connection::Connection;
use super::measure::now;
use super::report::{median_of, millis};
use super::server::Server;
use crate::cli::BenchFlags;

/// Until the server has done whatever it does after its start.
const IDLE: Duration = Duration::from_secs(2);

/// One start.
#[derive(Serialize)]
struct Start {
    /// From the start of the process to its first answer.
    answer_ms: f64,
    /// What it takes thereafter; none where there is no `/proc`.
    idle_megabytes: Option<f64>,
}

/// Starts a server as often as there are rounds, each on an empty directory.
pub(super) async fn run(flags: &BenchFlags) -> Result<String> {
    let mut starts = Vec::new();
    for _ in 0..flags.rounds {
        starts.push(start(flags).await?);
    }
    let answers = starts.iter().map(|start| start.answer_ms);
    let memory = starts.iter().filter_map(|start| start.idle_megabytes);
    let (answer, memory) = (median_of(answers), median_of(memory));
    Ok(match flags.json {
        true => format!("{:#}\n", to_json(&starts, answer, memory)),
        false => to_table(&starts, answer, memory),
    })
}

async fn start(flags: &BenchFlags) -> Result<Start> {
    let began = now();
    let server = Server::partita(&flags.server_arguments)?;
    let mut connection = Connection::open(&server.host).await?;
    connection.call("ListTables", "{}").await?;
    let answer_ms = millis(began.elapsed());
    tokio::time::sleep(IDLE).await;
    let bytes = server.resident_bytes();
    Ok(Start {
        answer_ms,
        idle_megabytes: bytes.map(|bytes| bytes as f64 / 1_048_576.0),
    })
}

fn to_json(starts: &[Start], answer: Option<f64>, memory: Option<f64>) -> Json {
    json!({"median": {"answer_ms": answer, "idle_megabytes": memory}, "starts": starts})
}

fn to_table(starts: &[Start], answer: Option<f64>, memory: Option<f64>) -> String {
    let shown =
        |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| format!("{figure:.1}"));
    let longest = starts.iter().map(|start| start.answer_ms);
    let longest = longest.max_by(f64::total_cmp);
    format!(
        "{:>6} {:>18} {:>13} {:>8}\n{:>6} {:>18} {:>13} {:>8}\n",
        "starts",
        "first answer ms",
        "longest ms",
        "idle MB",
        starts.len(),
        shown(answer),
        shown(longest),
        shown(memory)
    )
}
