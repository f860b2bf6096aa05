//! A server that the bench starts, watches and ends.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// A child that answers on a port of its own, and a directory that goes with it.
pub(super) struct Server {
    child: Child,
    /// `host:port`.
    pub(super) host: String,
    _stdout: BufReader<ChildStdout>,
    /// Taken out when the server ends and its data is wanted.
    directory: Option<TempDir>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The directory goes next; nothing in it is wanted any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// `partita serve --endpoint-only` on an empty directory, with further arguments.
    pub(super) fn partita(arguments: &[String]) -> Result<Server> {
        let directory = tempfile::tempdir().context("cannot create a directory for the data")?;
        let mut command = partita(&["serve", "--endpoint-only", "--listen", "127.0.0.1:0"])?;
        command.arg("--data").arg(directory.path()).args(arguments);
        Server::start(command, directory)
    }

    /// `partita serve` with designs on a directory, with further arguments; all shipped designs if
    /// none is named.
    pub(super) fn designs(
        directory: TempDir,
        designs: &[&str],
        arguments: &[String],
    ) -> Result<Server> {
        let mut command = partita(&["serve", "--listen", "127.0.0.1:0"])?;
        command.arg("--data").arg(directory.path());
        command.args(designs).args(arguments);
        Server::start(command, directory)
    }

    /// Asks the server to stop, waits until it has, and gives its directory back.
    pub(super) fn stop(mut self) -> Result<TempDir> {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        asked.context("cannot ask the server to stop")?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        self.directory
            .take()
            .context("a server without a directory")
    }

    /// `partita bench --serve-echo` on a directory with the answers.
    pub(super) fn echo(directory: TempDir) -> Result<Server> {
        let mut command = partita(&["bench", "--serve-echo"])?;
        command.arg(directory.path());
        Server::start(command, directory)
    }

    /// Starts the server and waits until it has said where it is.
    fn start(mut command: Command, directory: TempDir) -> Result<Server> {
        let command = command.args(["--log", "warn"]).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a server")?;
        let stdout = child.stdout.take().context("a server without output")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let host = line.trim_end().split_once("http://").map(|(_, host)| host);
        // A design's address has a path.
        let host = host.and_then(|host| host.split('/').next());
        let Some(host) = host.map(str::to_owned) else {
            let _ = child.kill();
            let _ = child.wait();
            bail!("the server did not say where it is");
        };
        Ok(Server {
            child,
            host,
            _stdout: stdout,
            directory: Some(directory),
        })
    }

    /// The time that the process has spent on processors; none where there is no `/proc`.
    pub(super) fn cpu(&self) -> Option<Duration> {
        cpu_of(&self.child.id().to_string())
    }

    /// The memory that the process has in use, in bytes; none where there is no `/proc`.
    pub(super) fn resident_bytes(&self) -> Option<u64> {
        let status = fs::read_to_string(self.proc("status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1_024)
    }

    /// The same in megabytes.
    pub(super) fn resident_megabytes(&self) -> Option<f64> {
        self.resident_bytes()
            .map(|bytes| bytes as f64 / 1_048_576.0)
    }

    fn proc(&self, file: &str) -> impl AsRef<Path> {
        format!("/proc/{}/{file}", self.child.id())
    }
}

/// The time that a process has spent on processors; none where there is no `/proc`.
pub(super) fn cpu_of(process: &str) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in parentheses and may contain anything. After it, the 12th and
    // 13th fields are ticks of a hundredth of a second.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11);
    let mut next = || ticks.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((next()? + next()?) * 10))
}

/// A command of this very binary.
pub(super) fn partita(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments);
    Ok(command)
}
