//! A command, asked of a server: over the socket in its data directory, or over HTTP.

use std::time::Duration;

use futures::StreamExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::answer::{Brought, GivenDesign};
use super::{Failure, Line, Started};

/// Bytes of one line. The largest is a transaction of a hundred items.
const LINE_BYTES_MAX: usize = 256 << 20;
/// The longest silence of a server. One that works on a command says something more often.
pub const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Time for a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Bytes of a refusal.
const REFUSAL_BYTES_MAX: usize = 1 << 20;

/// A connection to a server of this machine.
pub trait Connection: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Connection for S {}

/// Makes the token of a request, from the server and the body that it may be bound to.
pub type MakeToken = dyn Fn(&str, &[u8]) -> String + Send + Sync;

/// A server over HTTP.
#[derive(Clone, Debug)]
pub struct Server {
    uri: Uri,
    silence_max: Duration,
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
        let server = |uri: &Uri| Server {
            uri: uri.clone(),
            silence_max: SILENCE_MAX,
        };
        let is_here = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match uri.scheme_str() {
            Some("https") => Ok(server(&uri)),
            Some("http") if is_here => Ok(server(&uri)),
            _ => Err(Failure::new(format!(
                "`{url}` must be https, because a token is sent to it; http is for this machine"
            ))),
        }
    }

    /// The same, with another limit to its silence.
    #[must_use]
    pub fn silent_for(self, silence_max: Duration) -> Server {
        Server {
            silence_max,
            ..self
        }
    }

    /// Asks for a command of this name, with a token that lets its caller have it carried out.
    pub async fn ask(
        &self,
        design: &str,
        command: &str,
        request: &Json,
        token: &MakeToken,
    ) -> Result<Started, Failure> {
        let host = self.uri.authority().map_or("", |one| one.as_str());
        let failed = |error: String| Failure::new(format!("cannot ask {host}: {error}"));
        let prefix = self.uri.path().trim_end_matches('/');
        let path = format!("{prefix}/{design}/admin/{command}");
        let body = request.to_string().into_bytes();
        let (uri, server) = match self.uri.scheme_str() {
            Some("https") => (format!("https://{host}{path}"), format!("https://{host}")),
            _ => (path, address(host)),
        };
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header(HOST, host)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", token(&server, &body)))
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| failed(error.to_string()))?;
        let response = match self.uri.scheme_str() {
            Some("https") => over_tls(request, self.silence_max).await.map_err(failed)?,
            _ => {
                let stream = timeout(CONNECT_TIME_MAX, TcpStream::connect(address(host))).await;
                let stream = stream.map_err(|_| failed("it does not answer".to_owned()))?;
                let stream = stream.map_err(|error| failed(error.to_string()))?;
                let sent = send(Box::new(stream), request, self.silence_max).await;
                sent.map_err(failed)?
            }
        };
        lines(response, host, self.silence_max).await
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
async fn over_tls(
    request: Request<Full<Bytes>>,
    silence_max: Duration,
) -> Result<Response<Incoming>, String> {
    let client = crate::https::client().map_err(|error| error.to_string())?;
    let answer = timeout(silence_max, client.request(request)).await;
    let answer = answer.map_err(|_| "it does not answer".to_owned())?;
    answer.map_err(|error| Failure::of(&error).detail)
}

#[cfg(not(feature = "https"))]
#[expect(
    clippy::unused_async,
    reason = "with the feature there is something to wait for"
)]
async fn over_tls(_: Request<Full<Bytes>>, _: Duration) -> Result<Response<Incoming>, String> {
    Err("this build has no client for HTTPS; build it with `cargo build --release --features https`".to_owned())
}

/// Asks for a command of this name over a socket, of a design that need not be served.
pub async fn ask_over(
    stream: Box<dyn Connection>,
    design: GivenDesign,
    command: &str,
    request: Json,
    silence_max: Duration,
) -> Result<Started, Failure> {
    let path = format!("/admin/{command}");
    let brought = Brought { design, request };
    let body = serde_json::to_vec(&brought).map_err(|error| Failure::of(&error))?;
    post_over(stream, path, body, silence_max).await
}

/// Asks for a command of the operator that is for no design, over a socket of this machine.
pub async fn ask_operator(
    stream: Box<dyn Connection>,
    name: &str,
    request: &Json,
) -> Result<Started, Failure> {
    let path = format!("/operator/{name}");
    let body = request.to_string().into_bytes();
    post_over(stream, path, body, SILENCE_MAX).await
}

/// Reads an answer to its end, and passes on what comes meanwhile.
pub async fn outcome<E: DeserializeOwned, O: DeserializeOwned>(
    mut lines: Started,
    on_event: &mut (dyn FnMut(E) + Send),
    on_note: &mut (dyn FnMut(String) + Send),
) -> Result<O, Failure> {
    while let Some(line) = lines.next().await {
        match line {
            Line::Event(event) => on_event(read(event)?),
            Line::Note(note) => on_note(note),
            Line::Outcome(outcome) => return read(outcome),
            Line::Failure(failure) => return Err(failure),
        }
    }
    Err(Failure::new("it ended before it was done"))
}

async fn post_over(
    stream: Box<dyn Connection>,
    path: String,
    body: Vec<u8>,
    silence_max: Duration,
) -> Result<Started, Failure> {
    let failed = |error: String| Failure::new(format!("cannot ask the server: {error}"));
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(HOST, "partita")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| failed(error.to_string()))?;
    let response = send(stream, request, silence_max).await.map_err(failed)?;
    lines(response, "the server", silence_max).await
}

async fn send(
    stream: Box<dyn Connection>,
    request: Request<Full<Bytes>>,
    silence_max: Duration,
) -> Result<Response<Incoming>, String> {
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let response = timeout(silence_max, sender.send_request(request)).await;
    let response = response.map_err(|_| "it does not answer".to_owned())?;
    response.map_err(|error| Failure::of(&error).detail)
}

/// The lines of an answer, or why there is none.
async fn lines(
    response: Response<Incoming>,
    host: &str,
    silence_max: Duration,
) -> Result<Started, Failure> {
    let status = response.status();
    let body = response.into_body();
    if status != StatusCode::OK {
        let limited = http_body_util::Limited::new(body, REFUSAL_BYTES_MAX);
        let bytes = match timeout(silence_max, limited.collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) | Err(_) => Bytes::new(),
        };
        let problem: Json = serde_json::from_slice(&bytes).unwrap_or_default();
        let detail = problem["detail"].as_str().unwrap_or_default();
        return Err(Failure::new(format!("{host} answers {status}: {detail}")));
    }
    let reading = Reading {
        body,
        buffer: Vec::new(),
        searched: 0,
        is_over: false,
        silence_max,
    };
    let lines = futures::stream::unfold(reading, async |mut reading| {
        let line = reading.line().await?;
        let line = line.and_then(|line| serde_json::from_slice(&line).map_err(other_version));
        let line = line.unwrap_or_else(Line::Failure);
        reading.is_over = !matches!(line, Line::Event(_) | Line::Note(_));
        Some((line, reading))
    });
    Ok(Box::pin(lines))
}

/// An answer that is being read.
struct Reading {
    body: Incoming,
    buffer: Vec<u8>,
    /// Bytes at the beginning of the buffer that have no end of a line.
    searched: usize,
    is_over: bool,
    silence_max: Duration,
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
        let Ok(frame) = timeout(self.silence_max, self.body.frame()).await else {
            let seconds = self.silence_max.as_secs();
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

fn read<T: DeserializeOwned>(value: Json) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(other_version)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn other_version(error: serde_json::Error) -> Failure {
    Failure::new(format!(
        "the answer cannot be understood, perhaps because the server has another version: {error}"
    ))
}
