//! The real binary, a mail server and a receiver of events that others wrote.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value as Json;

use crate::server::{BINARY, Server, token_for};

pub(super) const DESIGN: &str = r#"
design = "shop"

[table]
name   = "shop"
key    = ["PK", "SK"]
stream = "new-and-old-images"

[caller]
administrators = "caller = 'ann'"

[entity.Order]
PK = "ORDER#{orderId}"
SK = "ORDER"

[entity.Order.attributes]
orderId = "string"
email   = "string"
step    = "int default 0"
pin     = "string default 'geheim', secret"

[entity.Order.allow]
"*" = "caller = 'ann'"

[trigger.told]
on      = "write Order"
mail    = "{email}"
subject = "{orderId} {step}"
text    = "Your PIN is {pin}."

[trigger.one]
on   = "write Order"
send = "one"

[trigger.two]
on   = "write Order"
send = "two"
with = { orderId = "{orderId}", step = "{step}" }
"#;

pub(super) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The script's way of saying that a language is missing.
const MISSING: i32 = 3;

pub(crate) fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/clients")
}

/// Whether there is what the other ends of such tests need.
pub(crate) fn is_installed(what: &str) -> bool {
    let output = Command::new(script())
        .args(["--install", what])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(MISSING) && std::env::var_os("CI").is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: {}", said.trim());
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

/// What the other ends do wrong, where a test must notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Some messages are taken and never noted.
    Forgets,
    /// An event is noted behind the next one of its item.
    Reorders,
}

impl Mistake {
    fn word(self) -> &'static str {
        match self {
            Mistake::Forgets => "forgets",
            Mistake::Reorders => "reorders",
        }
    }
}

/// One of the other ends; it is killed when this value goes away.
pub(crate) struct OtherEnd {
    kind: &'static str,
    mistake: Option<Mistake>,
    child: Child,
    port: String,
    pub(crate) file: PathBuf,
}

impl OtherEnd {
    pub(crate) fn start(kind: &'static str, mistake: Option<Mistake>, file: PathBuf) -> OtherEnd {
        let (child, port) = OtherEnd::spawn(kind, mistake, "0", &file);
        OtherEnd {
            kind,
            mistake,
            child,
            port,
            file,
        }
    }

    fn spawn(kind: &str, mistake: Option<Mistake>, port: &str, file: &Path) -> (Child, String) {
        let mut child = Command::new(script())
            .args(["outbox", kind, port])
            .arg(file)
            .env("SECRET", SECRET)
            .env("MISTAKE", mistake.map_or("", Mistake::word))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        (child, line.trim().to_owned())
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills it and starts it again at the same port.
    pub(super) fn restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        (self.child, _) = OtherEnd::spawn(self.kind, self.mistake, &self.port, &self.file);
    }
}

impl Drop for OtherEnd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything of one test.
pub(super) struct Scene {
    folder: tempfile::TempDir,
    pub(super) mail: OtherEnd,
    pub(super) events: OtherEnd,
}

impl Scene {
    /// Sets it up, with other ends that make a mistake or none.
    pub(super) fn set(mistake: Option<Mistake>) -> Option<Scene> {
        if !is_installed("outbox") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("shop.toml"), DESIGN).unwrap();
        std::fs::write(path("hook"), SECRET).unwrap();
        Some(Scene {
            mail: OtherEnd::start("mail", mistake, path("mails")),
            events: OtherEnd::start("events", mistake, path("events")),
            folder,
        })
    }

    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(super) fn serve(&self) -> Server {
        let design = self.path("shop.toml");
        let smtp = self.mail.address();
        let mut flags: Vec<String> = [
            &design,
            "--no-endpoint",
            "--smtp",
            &smtp,
            "--mail-from",
            "Shop <shop@example.org>",
            "--send-stream",
            "shop=bus",
        ]
        .map(str::to_owned)
        .to_vec();
        for name in ["one", "two", "bus"] {
            let url = format!("{name}=http://{}/{name}", self.events.address());
            let secret = format!("{name}={}", self.path("hook"));
            flags.extend(["--receiver".to_owned(), url]);
            flags.extend(["--receiver-secret-file".to_owned(), secret]);
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Server::start(&self.data(), &flags)
    }

    pub(super) fn outbox(&self, words: &[&str]) -> Output {
        let design = self.path("shop.toml");
        let mut command = Command::new(BINARY);
        command.args(["outbox", &design]).args(words);
        command.arg("--data").arg(self.data()).output().unwrap()
    }

    /// What is not delivered.
    pub(super) fn left(&self) -> Vec<Json> {
        let output = self.outbox(&["list", "--format", "json"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(super) fn token(&self) -> String {
        let data = self.data();
        let flags = ["--data", data.to_str().unwrap()];
        token_for(&self.path("shop.toml"), &flags, "ann")
    }
}
