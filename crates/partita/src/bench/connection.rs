//! One HTTP connection that sends one request after the other.

use anyhow::{Context as _, Result, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// A connection to an endpoint.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

// Endpoints on one machine accept any well-formed signature; the bench is not for Amazon.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=0000000000000000000000000000000000000000000000000000000000000000";

impl Connection {
    /// Connects to `host:port`.
    pub(super) async fn open(host: &str) -> Result<Self> {
        let stream = TcpStream::connect(host)
            .await
            .with_context(|| format!("cannot connect to {host}"))?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let host = host.to_owned();
        Ok(Connection { sender, host })
    }

    /// Sends one operation and reads its whole answer; an answer other than 200 is an error.
    pub(super) async fn call(&mut self, operation: &str, body: String) -> Result<Bytes> {
        let request = Request::post("/")
            .header("host", &self.host)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
            .header("x-amz-date", "20260101T000000Z")
            .header("authorization", AUTHORIZATION)
            .body(Full::new(Bytes::from(body)))?;
        // The last answer may have been read before the connection noticed that it is free.
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            bail!("{operation}: {status} {}", String::from_utf8_lossy(&bytes));
        }
        Ok(bytes)
    }
}
