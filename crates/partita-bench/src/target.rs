//! An endpoint to measure: one that is given, or a server of our own.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;

use super::connection::Connection;
use super::server::Server;
use super::workload::{self, Workload};
use crate::flags::BenchFlags;

/// An endpoint with a table of the bench's own.
pub(super) struct BenchTarget {
    /// What the report calls it.
    pub(super) name: String,
    /// `host:port`.
    pub(super) host: String,
    /// The table.
    pub(super) table: String,
    /// How many items are in it.
    pub(super) items: u64,
    /// Ends with the run, if it is our own.
    server: Option<Server>,
    is_echo: bool,
}

impl BenchTarget {
    /// An endpoint that is already there.
    pub(super) fn given(url: &str, items: u64) -> Result<Self> {
        let Some(host) = url.strip_prefix("http://") else {
            bail!("`{url}` must begin with http://");
        };
        let host = host.trim_end_matches('/').to_owned();
        Ok(BenchTarget {
            name: url.to_owned(),
            host,
            table: format!("partita-bench-{}", std::process::id()),
            items,
            server: None,
            is_echo: false,
        })
    }

    /// A server of our own on an empty directory.
    pub(super) fn own(name: &str, arguments: &[String], items: u64) -> Result<Self> {
        BenchTarget::on(name, Server::partita(arguments)?, items)
    }

    /// A bare server that answers as this target does.
    pub(super) async fn echo(other: &BenchTarget, flags: &BenchFlags) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut connection = Connection::open(&other.host).await?;
        let mut random = fastrand::Rng::with_seed(0);
        for workload in [Workload::Get, Workload::Query] {
            let (operation, body) = workload.request(&other.table, flags, other.items, &mut random);
            let answer = connection.call(operation, &body).await?;
            std::fs::write(directory.path().join(operation), answer)?;
        }
        let echo = BenchTarget::on("echo", Server::echo(directory)?, other.items)?;
        Ok(BenchTarget {
            is_echo: true,
            ..echo
        })
    }

    fn on(name: &str, server: Server, items: u64) -> Result<Self> {
        let target = BenchTarget::given(&format!("http://{}", server.host), items)?;
        Ok(BenchTarget {
            name: name.to_owned(),
            server: Some(server),
            ..target
        })
    }

    /// Whether the workload makes sense here.
    pub(super) fn answers(&self, workload: Workload) -> bool {
        !self.is_echo || workload.is_read()
    }

    /// The time that the server has spent on processors, if it is our own.
    pub(super) fn cpu(&self) -> Option<Duration> {
        self.server.as_ref()?.cpu()
    }

    /// Creates the table and fills it.
    pub(super) async fn prepare(&self, flags: &BenchFlags) -> Result<()> {
        let mut connection = Connection::open(&self.host).await?;
        let table = workload::table(&self.table);
        connection.call("CreateTable", &table).await?;
        let describe = json!({"TableName": self.table}).to_string();
        loop {
            let answer = connection.call("DescribeTable", &describe).await?;
            let answer: serde_json::Value = serde_json::from_slice(answer)?;
            if answer["Table"]["TableStatus"] == "ACTIVE" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let fillers = 0..flags.connections as u64;
        let fillers = fillers.map(|filler| self.fill(filler, flags));
        futures::future::try_join_all(fillers).await?;
        Ok(())
    }

    /// Writes every n-th chunk of 25 items.
    async fn fill(&self, filler: u64, flags: &BenchFlags) -> Result<()> {
        let mut connection = Connection::open(&self.host).await?;
        let fillers = flags.connections as u64;
        let chunks = (0..self.items.div_ceil(25)).filter(|chunk| chunk % fillers == filler);
        for chunk in chunks {
            let numbers = chunk * 25..((chunk + 1) * 25).min(self.items);
            let batch = workload::batch(&self.table, numbers, flags.item_bytes);
            connection.call("BatchWriteItem", &batch).await?;
        }
        Ok(())
    }

    /// Removes the table.
    pub(super) async fn clean_up(&self) -> Result<()> {
        if self.is_echo {
            return Ok(());
        }
        let mut connection = Connection::open(&self.host).await?;
        let delete = json!({"TableName": self.table}).to_string();
        connection.call("DeleteTable", &delete).await?;
        Ok(())
    }
}
