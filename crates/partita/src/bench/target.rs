//! An endpoint to measure: one that is given, or a server of our own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tempfile::TempDir;

use super::connection::Connection;
use super::workload;

/// An endpoint with a table of the bench's own.
pub(super) struct Target {
    /// What the report calls it.
    pub(super) name: String,
    /// `host:port`.
    pub(super) host: String,
    /// The table.
    pub(super) table: String,
    /// Ends with the run, if it is our own.
    _server: Option<Server>,
}

/// `partita serve --endpoint-only` on a directory that goes with it.
struct Server {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    _directory: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The directory goes next; nothing in it is wanted any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Target {
    /// The endpoint that others are compared with: the given one, or a server of our own.
    pub(super) async fn first(endpoint: Option<&str>) -> Result<Self> {
        match endpoint {
            Some(url) => Target::given(url),
            None => Target::own(),
        }
    }

    /// An endpoint that is already there.
    pub(super) fn given(url: &str) -> Result<Self> {
        let Some(host) = url.strip_prefix("http://") else {
            bail!("`{url}` must begin with http://");
        };
        let host = host.trim_end_matches('/').to_owned();
        Ok(Target::at(url.to_owned(), host, None))
    }

    fn own() -> Result<Self> {
        let directory = tempfile::tempdir().context("cannot create a directory for the data")?;
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                "serve",
                "--endpoint-only",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "warn",
                "--data",
            ])
            .arg(directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let stdout = child.stdout.take().context("a server without output")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let server = Server {
            child,
            _stdout: stdout,
            _directory: directory,
        };
        let Some((_, host)) = line.trim_end().split_once("http://") else {
            bail!("the server did not say where it is");
        };
        let host = host.trim_end_matches('/').to_owned();
        Ok(Target::at("partita".to_owned(), host, Some(server)))
    }

    fn at(name: String, host: String, server: Option<Server>) -> Self {
        Target {
            name,
            host,
            table: format!("partita-bench-{}", std::process::id()),
            _server: server,
        }
    }

    /// Creates the table and fills it.
    pub(super) async fn prepare(&self, items: u64, connections: usize) -> Result<()> {
        let mut connection = Connection::open(&self.host).await?;
        let table = workload::table(&self.table);
        connection.call("CreateTable", table).await?;
        let describe = json!({"TableName": self.table}).to_string();
        loop {
            let answer = connection.call("DescribeTable", describe.clone()).await?;
            let answer: serde_json::Value = serde_json::from_slice(&answer)?;
            if answer["Table"]["TableStatus"] == "ACTIVE" {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let fillers =
            (0..connections as u64).map(|filler| self.fill(filler, connections as u64, items));
        futures::future::try_join_all(fillers).await?;
        Ok(())
    }

    /// Writes every n-th chunk of 25 items.
    async fn fill(&self, filler: u64, fillers: u64, items: u64) -> Result<()> {
        let mut connection = Connection::open(&self.host).await?;
        let chunks = (0..items.div_ceil(25)).filter(|chunk| chunk % fillers == filler);
        for chunk in chunks {
            let numbers = chunk * 25..((chunk + 1) * 25).min(items);
            let batch = workload::batch(&self.table, numbers);
            connection.call("BatchWriteItem", batch).await?;
        }
        Ok(())
    }

    /// Removes the table.
    pub(super) async fn clean_up(&self) -> Result<()> {
        let mut connection = Connection::open(&self.host).await?;
        let delete = json!({"TableName": self.table}).to_string();
        connection.call("DeleteTable", delete).await?;
        Ok(())
    }
}
