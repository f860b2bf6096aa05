//! A command, asked of a server: over the socket in its data directory, or over HTTP.

use std::time::Duration;

use futures::Stream;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::answer::{Brought, GivenDesign};
use super::{Command, Failure, Line};

/// Bytes of one line. The largest is a transaction of a hundred items.
const LINE_BYTES_MAX: usize = 256 << 20;
/// The longest silence of a server. One that works on a command says something more often.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Time for a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Bytes of a refusal.
const REFUSAL_BYTES_MAX: usize = 1 << 20;

/// A server over HTTP.
#[derive(Clone, Debug)]
pub struct Server {
    uri: Uri,
}

impl Server {
    /// The server at this URL. It must be `https`, because tokens are sent to it; on this machine
    /// `http` will do.
    pub fn at(url: &str) -> Result<Server, Failure> {
        let with_scheme = if url.contains("://") {
            url.to_owned()
        } else {
            format!("http://{url}")
        };
        let uri: Uri = with_scheme.trim_end_matches('/').parse().map_err(|_| {
            Failure::new(format!(
                "`{url}` is no URL: write https://HOST, or http://127.0.0.1:8000"
            ))
        })?;
        let is_here = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match uri.scheme_str() {
            Some("https") => Ok(Server { uri }),
            Some("http") if is_here => Ok(Server { uri }),
            _ => Err(Failure::new(format!(
                "`{url}` must be https, because a token is sent to it; http is for this machine"
            ))),
        }
    }

    /// Asks for a command, with a token that lets its caller have it carried out. Whoever makes the
    /// token is given the body, which it may be bound to.
    pub async fn ask<C: Command>(
        &self,
        design: &str,
        token: &(dyn Fn(&[u8]) -> String + Sync),
        command: &C,
    ) -> Result<impl Stream<Item = Line<C::Event, C::Outcome>> + use<C>, Failure> {
        let host = self.uri.authority().map_or("", |one| one.as_str());
        let failed = |error: String| Failure::new(format!("cannot ask {host}: {error}"));
        let path = format!("/{design}/admin/{}", C::NAME);
        let body = serde_json::to_vec(command).map_err(|error| Failure::of(&error))?;
        let uri = match self.uri.scheme_str() {
            Some("https") => format!("{}{path}", self.uri.to_string().trim_end_matches('/')),
            _ => path,
        };
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header(HOST, host)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", token(&body)))
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| failed(error.to_string()))?;
        let response = match self.uri.scheme_str() {
            Some("https") => over_tls(request).await.map_err(failed)?,
            _ => {
                let stream = timeout(CONNECT_TIME_MAX, TcpStream::connect(address(host))).await;
                let stream = stream.map_err(|_| failed("it does not answer".to_owned()))?;
                let stream = stream.map_err(|error| failed(error.to_string()))?;
                send(stream, request).await.map_err(failed)?
            }
        };
        lines::<C>(response, host).await
    }
}

/// Where a server of this machine listens. `localhost` is 127.0.0.1, as for `--listen`: where it is
/// `::1` too, another user of the machine may listen there on the same port.
fn address(host: &str) -> String {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, port),
        _ => (host, "80"),
    };
    let name = if name == "localhost" {
        "127.0.0.1"
    } else {
        name
    };
    format!("{name}:{port}")
}

#[cfg(feature = "https")]
async fn over_tls(request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
    let client = crate::https::client().map_err(|error| error.to_string())?;
    let answer = timeout(SILENCE_MAX, client.request(request)).await;
    let answer = answer.map_err(|_| "it does not answer".to_owned())?;
    answer.map_err(|error| Failure::of(&error).detail)
}

#[cfg(not(feature = "https"))]
#[expect(
    clippy::unused_async,
    reason = "with the feature there is something to wait for"
)]
async fn over_tls(_: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
    Err("this build has no client for HTTPS; build it with `cargo build --release --features https`".to_owned())
}

/// Asks for a command over a socket of this machine, of a design that need not be served.
pub async fn ask_over<C: Command, S>(
    stream: S,
    design: GivenDesign,
    command: &C,
) -> Result<impl Stream<Item = Line<C::Event, C::Outcome>> + use<C, S>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |error: String| Failure::new(format!("cannot ask the server: {error}"));
    let request: Json = serde_json::to_value(command).map_err(|error| Failure::of(&error))?;
    let brought = serde_json::to_vec(&Brought { design, request });
    let body = brought.map_err(|error| Failure::of(&error))?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/admin/{}", C::NAME))
        .header(HOST, "partita")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| failed(error.to_string()))?;
    let response = send(stream, request).await.map_err(failed)?;
    lines::<C>(response, "the server").await
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, String> {
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let response = timeout(SILENCE_MAX, sender.send_request(request)).await;
    let response = response.map_err(|_| "it does not answer".to_owned())?;
    response.map_err(|error| Failure::of(&error).detail)
}

/// The lines of an answer, or why there is none.
async fn lines<C: Command>(
    response: Response<Incoming>,
    host: &str,
) -> Result<impl Stream<Item = Line<C::Event, C::Outcome>> + use<C>, Failure> {
    let status = response.status();
    let body = response.into_body();
    if status != StatusCode::OK {
        let limited = http_body_util::Limited::new(body, REFUSAL_BYTES_MAX);
        let bytes = limited.collect().await.map(|body| body.to_bytes());
        let problem: Json = serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default();
        let detail = problem["detail"].as_str().unwrap_or_default();
        return Err(Failure::new(format!("{host} answers {status}: {detail}")));
    }
    let reading = Reading {
        body,
        buffer: Vec::new(),
        searched: 0,
        is_over: false,
    };
    Ok(futures::stream::unfold(reading, async |mut reading| {
        let line = reading.line().await?;
        let line = line.map_or_else(Line::Failure, |line| parsed::<C>(&line));
        reading.is_over = !matches!(line, Line::Event(_));
        Some((line, reading))
    }))
}

/// An answer that is being read.
struct Reading {
    body: Incoming,
    buffer: Vec<u8>,
    /// Bytes at the beginning of the buffer that have no end of a line.
    searched: usize,
    is_over: bool,
}

impl Reading {
    /// The next line that says something; none after the last one.
    async fn line(&mut self) -> Option<Result<Vec<u8>, Failure>> {
        if self.is_over {
            return None;
        }
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
                self.searched = 0;
                // With an empty one the server says that it is still there.
                if line.len() > 1 {
                    return Some(Ok(line));
                }
                continue;
            }
            self.searched = self.buffer.len();
            if let Err(detail) = self.more().await {
                return Some(Err(Failure::new(detail)));
            }
        }
    }

    /// Reads on.
    async fn more(&mut self) -> Result<(), String> {
        let Ok(frame) = timeout(SILENCE_MAX, self.body.frame()).await else {
            let seconds = SILENCE_MAX.as_secs();
            return Err(format!("the server has said nothing for {seconds} seconds"));
        };
        match frame {
            Some(Ok(frame)) if self.buffer.len() <= LINE_BYTES_MAX => {
                if let Ok(bytes) = frame.into_data() {
                    self.buffer.extend_from_slice(&bytes);
                }
                Ok(())
            }
            Some(Ok(_)) => Err("the server sends a line that is too long".to_owned()),
            Some(Err(_)) | None => Err("the server stopped before it was done".to_owned()),
        }
    }
}

fn parsed<C: Command>(line: &[u8]) -> Line<C::Event, C::Outcome> {
    serde_json::from_slice(line).unwrap_or_else(|error| {
        Line::Failure(Failure::new(format!(
            "the answer cannot be understood, perhaps because the server has another version: {error}"
        )))
    })
}
