//! The real binary as a child process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use partita_engine::{EngineStore, Options, Upkeep};
use partita_store::surroundings::SystemClock;
use tokio::sync::Semaphore;

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_partita");

/// A running server; it is killed when this value goes away.
pub(crate) struct Server {
    child: Child,
    /// Kept open, so that the server can go on writing to it.
    _stdout: BufReader<ChildStdout>,
    /// `http://127.0.0.1:PORT`
    pub(crate) base: String,
    /// What the server said when it had started, line by line.
    said: Vec<String>,
}

impl Server {
    /// Starts `partita serve` on a free port, and waits until it says where it is.
    pub(crate) fn start(data: &Path, flags: &[&str]) -> Server {
        Server::start_by(Command::new(BINARY), data, flags)
    }

    /// Starts it by a shell that sets limits first, `ulimit -n 600`, say.
    pub(crate) fn start_within(limits: &str, data: &Path, flags: &[&str]) -> Server {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{limits} && exec \"$0\" \"$@\""), BINARY]);
        Server::start_by(shell, data, flags)
    }

    /// Starts it by a command to which the binary and its arguments are added.
    pub(crate) fn start_by(mut command: Command, data: &Path, flags: &[&str]) -> Server {
        let log: &[&str] = if flags.contains(&"--log") {
            &[]
        } else {
            &["--log", "warn"]
        };
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(log)
            .arg("--data")
            .arg(data)
            .args(flags)
            // Any will do for DynamoDB Local; nothing else reads them.
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env_remove("TABLE_NAME")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut said: Vec<String> = Vec::new();
        // The last line says where the data is.
        while !said.last().is_some_and(|line| line.starts_with("data ")) {
            let mut line = String::new();
            if stdout.read_line(&mut line).unwrap() == 0 {
                let status = child.wait().unwrap();
                panic!("the server did not start: {status}");
            }
            said.push(line.trim_end().to_owned());
        }
        let address = said[0].split_whitespace().nth(1).unwrap();
        // A design's address has a path, the endpoint's has none.
        let base = address.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        Server {
            child,
            _stdout: stdout,
            base,
            said,
        }
    }

    /// What the server said under this word when it had started.
    pub(crate) fn said(&self, word: &str) -> &str {
        let mut lines = self.said.iter();
        let said = lines.find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        said.unwrap_or_else(|| panic!("nothing is said of {word}: {:#?}", self.said))
            .trim()
    }

    /// Ends the server without a warning, as a power cut would.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// The same for one that is kept for its address.
    pub(crate) fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Where it listens: `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// The peak of its memory so far, in megabytes, on Linux.
    pub(crate) fn peak_megabytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let mut lines = status.lines();
        let peak = lines.find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kilobytes = peak.trim().strip_suffix(" kB").unwrap();
        kilobytes.parse::<u64>().unwrap() / 1_024
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks the server to stop, and waits for its exit code.
    pub(crate) fn stop(self) -> Option<i32> {
        self.ask_to_stop();
        self.wait()
    }

    /// Waits for the server's exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Asks the server to stop.
    pub(crate) fn ask_to_stop(&self) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Rounds of a crash test: more with `PARTITA_LONG=1`.
pub(crate) fn rounds() -> u64 {
    match std::env::var_os("PARTITA_LONG") {
        None => 10,
        Some(_) => 200,
    }
}

/// How long a server lives in a round: for so many acknowledged writes, whatever time they take,
/// and a moment longer, so that it does not always die right after an answer.
pub(crate) struct Life {
    acknowledged: Semaphore,
    writes: u32,
    moment: Duration,
}

impl Life {
    pub(crate) fn of(round: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(round);
        Life {
            acknowledged: Semaphore::new(0),
            writes: random.u32(10..200),
            moment: Duration::from_micros(random.u64(0..5_000)),
        }
    }

    /// A write was acknowledged.
    pub(crate) fn acknowledge(&self) {
        self.acknowledged.add_permits(1);
    }

    /// Kills the server when its time has come.
    pub(crate) async fn end(&self, server: Server) {
        let acknowledged = self.acknowledged.acquire_many(self.writes).await;
        drop(acknowledged.expect("nobody closes it"));
        tokio::time::sleep(self.moment).await;
        let killed = tokio::task::spawn_blocking(|| server.kill()).await;
        killed.expect("killing does not panic");
    }
}

/// Holds the store in a data directory against itself; no server may be running on it.
pub(crate) async fn verify_store(data: &Path) {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(&data.join("store"), options).unwrap();
    assert_eq!(store.verify().await, Ok(Vec::new()));
}

/// Makes the secret of a data directory before a server does.
pub(crate) fn make_secret(data: &Path) {
    std::fs::write(data.join("secret"), [7; 32]).unwrap();
}

/// A token under the secret of a data directory, which a server has made.
pub(crate) fn token(data: &Path, user: &str) -> String {
    token_with(&["--data", data.to_str().unwrap()], user)
}

/// A token for `stories`.
pub(crate) fn token_with(flags: &[&str], user: &str) -> String {
    token_for("stories", flags, user)
}

/// A token for any design.
pub(crate) fn token_for(design: &str, flags: &[&str], user: &str) -> String {
    let output = Command::new(BINARY)
        .args(["token", design, "--user", user])
        .args(flags)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let token = String::from_utf8(output.stdout).unwrap();
    token.trim_end().to_owned()
}
