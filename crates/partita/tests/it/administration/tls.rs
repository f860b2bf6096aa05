//! `--server https://…`: commands through a proxy that ends TLS, as a server is run on a network.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{admin, filled, leftover, put, said};
use crate::server::{BINARY, Server};

/// A proxy in front of a server; its URL and the certificate that it shows.
struct Proxy {
    url: String,
    certificate: tempfile::NamedTempFile,
}

impl Proxy {
    async fn start(server: &Server) -> Proxy {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(certificate.path(), made.cert.pem()).unwrap();
        let chain: Vec<CertificateDer<'static>> = vec![made.cert.der().clone()];
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = server.base.strip_prefix("http://").unwrap().to_owned();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, target) = (acceptor.clone(), target.clone());
                tokio::spawn(async move {
                    // A client that does not trust the certificate hangs up.
                    let Ok(mut outside) = acceptor.accept(stream).await else {
                        return;
                    };
                    let mut inside = TcpStream::connect(target).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                });
            }
        });
        Proxy {
            url: format!("https://localhost:{port}"),
            certificate,
        }
    }

    /// Runs a command over the proxy, with or without its certificate among those that are trusted.
    async fn ask(&self, data: &Path, words: &[&str], is_trusted: bool) -> Output {
        let mut command = Command::new(BINARY);
        command.args(words).arg("--data").arg(data);
        command.args(["--server", &self.url]);
        command.env_remove("TABLE_NAME");
        if is_trusted {
            command.env("SSL_CERT_FILE", self.certificate.path());
        }
        let asked = tokio::task::spawn_blocking(move || command.output());
        asked.await.unwrap().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_over_tls_says_what_it_says_without() {
    let data = filled();
    put(data.path(), [leftover(1), leftover(2)]).await;
    let server = Server::start(data.path(), &["stories"]);
    let proxy = Proxy::start(&server).await;
    let token = admin(data.path(), "stories");
    for words in [
        &["jobs", "stories"][..],
        &["verify", "stories"],
        &["repair", "stories", "--dry-run"],
        &["verify", "stories", "--token", &token],
    ] {
        let beside = said(&super::partita(data.path(), words));
        let over = proxy.ask(data.path(), words, true).await;
        assert_eq!(said(&over), beside, "{words:?}");
        if words[0] == "verify" {
            let text = String::from_utf8(over.stdout).unwrap();
            let hint = format!("partita repair stories --server {}", proxy.url);
            assert!(text.contains(&hint), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_trusted_is_told_nothing() {
    let data = filled();
    let server = Server::start(data.path(), &["stories"]);
    let proxy = Proxy::start(&server).await;
    let output = proxy.ask(data.path(), &["jobs", "stories"], false).await;
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot ask localhost"), "{said}");
    assert!(said.contains("certificate"), "{said}");
}
