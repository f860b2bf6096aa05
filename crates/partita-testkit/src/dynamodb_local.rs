//! AWS's DynamoDB Local for the length of a test.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server in memory, on a port of its own; it ends with this value.
#[derive(Debug)]
pub struct DynamoDbLocal {
    server: Child,
    address: SocketAddr,
}

/// The script's way of saying that Java or npm is missing.
const MISSING: i32 = 3;
const POLL: Duration = Duration::from_millis(50);
/// Two minutes, for the first start downloads the server.
const POLLS_MAX: usize = 2400;

impl DynamoDbLocal {
    /// Starts a server and waits until it answers.
    ///
    /// Where Java or npm is missing the reason is printed and there is none: the test is then to
    /// return at once. Under `CI`, where the note would go unread, that is a failure.
    ///
    /// # Panics
    ///
    /// If the server does not start for any other reason.
    pub fn start() -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/dynamodb-local");
        let address = free_address();
        let server = Command::new(&script)
            .arg(address.port().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not run: {error}", script.display()));
        let mut local = DynamoDbLocal { server, address };
        for _ in 0..POLLS_MAX {
            if TcpStream::connect_timeout(&address, POLL).is_ok() {
                local.ignore_complaints();
                return Some(local);
            }
            if let Some(status) = local.server.try_wait().expect("our own child can be asked") {
                let reason = local.complaint();
                if status.code() == Some(MISSING) && std::env::var_os("CI").is_none() {
                    skip(&reason);
                    return None;
                }
                panic!("DynamoDB Local did not start ({status}): {reason}");
            }
            std::thread::sleep(POLL);
        }
        panic!("DynamoDB Local does not answer at {address}");
    }

    /// Where it listens, as `http://127.0.0.1:8001`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Reads on what the server logs, lest it wait for ever on a full pipe.
    fn ignore_complaints(&mut self) {
        if let Some(mut stderr) = self.server.stderr.take() {
            std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        }
    }

    /// What the script said before it ended.
    fn complaint(&mut self) -> String {
        let mut text = String::new();
        if let Some(stderr) = &mut self.server.stderr {
            // A complaint that cannot be read must not hide that there was one.
            let _ = stderr.read_to_string(&mut text);
        }
        text.trim().to_owned()
    }
}

impl Drop for DynamoDbLocal {
    fn drop(&mut self) {
        // Neither can fail in a way that a test could do anything about.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// DynamoDB Local cannot pick a port by itself. Another process may take this one first; then
/// the server does not start, and the test says so.
fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a machine without a free port runs no tests")
}

/// Past the capture of the test harness, which shows nothing of a test that passes.
fn skip(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}
