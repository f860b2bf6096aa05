//! One HTTP connection that sends one request after the other.
//!
//! It is written by hand because the bench shares the machine with what it measures: an HTTP
//! client that costs as much as the server would halve every ratio.

use std::ops::Range;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection to an endpoint.
pub(super) struct Connection {
    stream: TcpStream,
    host: String,
    /// The request, from the request line to the end of the body.
    request: Vec<u8>,
    /// What was read of the answer.
    answer: Vec<u8>,
}

// Endpoints on one machine accept any well-formed signature; the bench is not for Amazon.
const HEAD: &str = "content-type: application/x-amz-json-1.0\r\nx-amz-date: 20260101T000000Z\r\nauthorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=0000000000000000000000000000000000000000000000000000000000000000\r\n";

impl Connection {
    /// Connects to `host:port`.
    pub(super) async fn open(host: &str) -> Result<Self> {
        let stream = TcpStream::connect(host)
            .await
            .with_context(|| format!("cannot connect to {host}"))?;
        stream.set_nodelay(true)?;
        Ok(Connection {
            stream,
            host: host.to_owned(),
            request: Vec::new(),
            answer: Vec::with_capacity(64 * 1_024),
        })
    }

    /// `host:port`, as requests name it.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Sends one operation and reads its whole answer; an answer other than 200 is an error.
    pub(super) async fn call(&mut self, operation: &str, body: &str) -> Result<&[u8]> {
        let (host, length) = (&self.host, body.len());
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\nx-amz-target: DynamoDB_20120810.{operation}\r\ncontent-length: {length}\r\n{HEAD}\r\n"
        );
        let mut request = std::mem::take(&mut self.request);
        request.clear();
        request.extend_from_slice(head.as_bytes());
        request.extend_from_slice(body.as_bytes());
        let sent = self.send(&request).await;
        self.request = request;
        let Answer { status, body } = sent?;
        let body = &self.answer[body];
        if status != 200 {
            let text = String::from_utf8_lossy(body);
            bail!("{operation}: {status} {text}");
        }
        Ok(body)
    }

    /// Sends a whole request and reads its whole answer: the status and the body.
    pub(super) async fn exchange(&mut self, request: &str) -> Result<(u16, &[u8])> {
        let Answer { status, body } = self.send(request.as_bytes()).await?;
        Ok((status, &self.answer[body]))
    }

    async fn send(&mut self, request: &[u8]) -> Result<Answer> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        let head_end = loop {
            if let Some(end) = find(&self.answer, b"\r\n\r\n") {
                break end + 4;
            }
            self.read_more().await?;
        };
        let head = AnswerHead::read(&self.answer[..head_end])?;
        let length = match (head.length, head.status) {
            (Some(length), _) => length,
            (None, 204 | 304) => 0,
            (None, _) => bail!("an answer without its length"),
        };
        while self.answer.len() < head_end + length {
            self.read_more().await?;
        }
        Ok(Answer {
            status: head.status,
            body: head_end..head_end + length,
        })
    }

    async fn read_more(&mut self) -> Result<()> {
        if self.stream.read_buf(&mut self.answer).await? == 0 {
            bail!("the endpoint has closed the connection");
        }
        Ok(())
    }
}

/// An answer, and the range of its body in the buffer.
struct Answer {
    status: u16,
    body: Range<usize>,
}

/// What the bench must know of an answer's head.
struct AnswerHead {
    status: u16,
    length: Option<usize>,
}

impl AnswerHead {
    fn read(bytes: &[u8]) -> Result<AnswerHead> {
        let text = std::str::from_utf8(bytes)?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status = status.context("an answer that is not HTTP")?.parse()?;
        let length = lines
            .filter_map(|line| line.split_once(':'))
            .find_map(|(name, value)| {
                if name.eq_ignore_ascii_case("content-length") {
                    value.trim().parse().ok()
                } else {
                    None
                }
            });
        Ok(AnswerHead { status, length })
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|some| some == wanted)
}
