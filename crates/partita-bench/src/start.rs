//! How soon a server answers, and how much it uses while it is idle: an empty one, or one that has
//! served the shipped designs before.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::connection::Connection;
use super::measure::now;
use super::report::{median_of, millis};
use super::server::Server;
use crate::flags::BenchFlags;

/// Until the server has done whatever it does after its start.
const IDLE: Duration = Duration::from_secs(2);

/// One start.
#[derive(Serialize)]
struct MeasuredStart {
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
    Ok(if flags.json {
        format!("{:#}\n", to_json(&starts, answer, memory))
    } else {
        to_table(&starts, answer, memory)
    })
}

async fn start(flags: &BenchFlags) -> Result<MeasuredStart> {
    let arguments = &flags.server_arguments;
    let (began, server, request) = if flags.designs {
        let directory = tempfile::tempdir().context("cannot create a directory")?;
        // The first start makes the secret and the tables.
        let directory = Server::designs(directory, &[], arguments)?.stop()?;
        let began = now();
        (began, Server::designs(directory, &[], arguments)?, BROWSE)
    } else {
        let began = now();
        (began, Server::partita(arguments)?, LIST_TABLES)
    };
    let mut connection = Connection::open(&server.host).await?;
    let (status, body) = connection.exchange(request).await?;
    if status != 200 {
        bail!("{status} {}", String::from_utf8_lossy(body));
    }
    let answer_ms = millis(began.elapsed());
    tokio::time::sleep(IDLE).await;
    Ok(MeasuredStart {
        answer_ms,
        idle_megabytes: server.resident_megabytes(),
    })
}

/// What is asked of a server without designs.
const LIST_TABLES: &str = "POST / HTTP/1.1\r\nhost: localhost\r\nx-amz-target: DynamoDB_20120810.ListTables\r\nx-amz-date: 20260101T000000Z\r\nauthorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\ncontent-length: 2\r\n\r\n{}";

/// The first request to a server with designs: a query that needs no token.
const BROWSE: &str = "GET /storyhub/query/browse HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn to_json(starts: &[MeasuredStart], answer: Option<f64>, memory: Option<f64>) -> Json {
    json!({"median": {"answer_ms": answer, "idle_megabytes": memory}, "starts": starts})
}

fn to_table(starts: &[MeasuredStart], answer: Option<f64>, memory: Option<f64>) -> String {
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
