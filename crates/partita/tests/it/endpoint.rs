//! The real binary as DynamoDB's endpoint, on a directory of its own.

use tempfile::TempDir;

use crate::server::Server;

/// The access key that the endpoint takes.
pub(crate) const KEY_ID: &str = "AKIDOFTHETESTS";
/// Its secret.
pub(crate) const SECRET: &str = "the secret of the tests";

/// A running endpoint; it ends with this value, and its data goes with it.
pub(crate) struct Endpoint {
    server: Server,
    _folder: TempDir,
}

impl Endpoint {
    /// An endpoint that verifies signatures.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let credentials = folder.path().join("credentials");
        std::fs::write(&credentials, format!("{KEY_ID}\n{SECRET}\n")).unwrap();
        let flags = ["--credentials-file", credentials.to_str().unwrap()];
        Self::on(folder, &flags)
    }

    /// An endpoint that takes any signature.
    pub(crate) fn open() -> Self {
        Self::on(tempfile::tempdir().unwrap(), &[])
    }

    /// An endpoint that is the DynamoDB of a server with designs.
    #[cfg(feature = "dynamodb")]
    pub(crate) fn of_designs() -> Self {
        Self::on(tempfile::tempdir().unwrap(), &["--raw-writes"])
    }

    fn on(folder: TempDir, flags: &[&str]) -> Self {
        let flags = [&["--endpoint-only"], flags].concat();
        let server = Server::start(&folder.path().join("data"), &flags);
        Endpoint {
            server,
            _folder: folder,
        }
    }

    /// Where it listens, as `http://127.0.0.1:8000`.
    pub(crate) fn url(&self) -> &str {
        &self.server.base
    }
}
