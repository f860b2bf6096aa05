//! A command over HTTP: the lines of its answer, one JSON document each.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures::{Stream, StreamExt as _};
use partita_design::{Design, check};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Desk, Failure, Installation, Row, Started};

/// The media type of an answer.
pub const NDJSON: &str = "application/x-ndjson";

/// What the operator sends over the socket: a request, and the design that it is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brought {
    /// The design.
    pub design: GivenDesign,
    /// The request of a command.
    pub request: Json,
}

/// A design as the operator has it, which need not be served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenDesign {
    /// The file.
    pub text: String,
    /// The variables that it was compiled with.
    pub variables: BTreeMap<String, String>,
    /// Whether it was asked for by the name of a shipped design.
    pub is_shipped: bool,
}

impl GivenDesign {
    /// What another process compiles the same design from.
    pub fn of(design: &Design) -> GivenDesign {
        GivenDesign {
            text: design.origin.text.clone(),
            variables: design.origin.given.clone(),
            is_shipped: design.origin.is_shipped,
        }
    }

    /// The design.
    pub fn compile(&self) -> Result<Design, Failure> {
        let (design, _) = check(&self.text, &|name| self.variables.get(name).cloned());
        let mut design =
            design.ok_or_else(|| Failure::new("the design does not compile in the server"))?;
        design.origin.is_shipped = self.is_shipped;
        Ok(design)
    }
}

/// Carries out what the operator asks for over the socket; with the name of the design.
pub fn of_operator(
    installation: Installation,
    command: &Row,
    body: &[u8],
) -> Result<(String, Response), Failure> {
    let brought: Brought = serde_json::from_slice(body)
        .map_err(|error| Failure::new(format!("the request does not fit: {error}")))?;
    let design = brought.design.compile()?;
    let name = design.name.clone();
    let desk = Desk::of_given(installation, design);
    let started = command.start(desk.clone(), brought.request)?;
    Ok((name, response(&desk, started)))
}

/// An answer that goes on as long as its command. When the client hangs up or the server stops, the
/// command ends.
pub(crate) fn response(desk: &Desk, answer: Started) -> Response {
    lines(&desk.installation, answer)
}

/// The same, for a command that is for no design.
pub(super) fn lines(installation: &Installation, lines: Started) -> Response {
    let mut stopping = installation.stopping.clone();
    let stopped = async move {
        if stopping.wait_for(|is_stopping| *is_stopping).await.is_err() {
            // The sender is gone, so the process is not told to stop.
            std::future::pending::<()>().await;
        }
    };
    let lines = lines.take_until(Box::pin(stopped)).map(|line| {
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        Bytes::from(text)
    });
    let lines = kept_alive(lines, installation.alive_every).map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(lines));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(NDJSON));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// The same lines, with empty ones where there is nothing for a while.
fn kept_alive(
    lines: impl Stream<Item = Bytes> + Send,
    every: Duration,
) -> impl Stream<Item = Bytes> + Send {
    futures::stream::unfold((Box::pin(lines), every), async |(mut lines, every)| {
        let line = match tokio::time::timeout(every, lines.next()).await {
            Ok(line) => line?,
            Err(_) => Bytes::from_static(b"\n"),
        };
        Some((line, (lines, every)))
    })
}
