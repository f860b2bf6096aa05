//! The bare server that reads are held against: hyper, and nothing behind it.
//!
//! It reads requests as the endpoint does and answers with the same bytes and headers, without
//! looking at what was asked. What it manages is what the machine, the kernel and hyper manage.

use std::convert::Infallible;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// The answers, by the operations that they answer.
type EchoAnswers = Vec<(String, Bytes)>;

/// Serves the answers in the files of a directory until the process is ended.
pub(super) fn serve(directory: &Path) -> Result<ExitCode> {
    let answers = Arc::new(read(directory)?);
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(accept(answers))?;
    Ok(ExitCode::SUCCESS)
}

fn read(directory: &Path) -> Result<EchoAnswers> {
    let mut answers = EchoAnswers::new();
    for file in fs::read_dir(directory)? {
        let file = file?;
        let operation = file.file_name().to_string_lossy().into_owned();
        answers.push((operation, fs::read(file.path())?.into()));
    }
    Ok(answers)
}

async fn accept(answers: Arc<EchoAnswers>) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "echo http://{}", listener.local_addr()?)?;
    out.flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answers = answers.clone();
        let service = service_fn(move |request| answer(answers.clone(), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    answers: Arc<EchoAnswers>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    // A request that breaks off needs no answer; its connection is over anyway.
    drop(body.collect().await);
    let target = head.headers.get("x-amz-target");
    let target = target.map_or(&b""[..], |target| target.as_bytes());
    let found = answers
        .iter()
        .find(|(operation, _)| target.ends_with(operation.as_bytes()));
    let body = found.map(|(_, answer)| answer.clone()).unwrap_or_default();
    let mut response = Response::new(Full::new(body));
    let headers = response.headers_mut();
    headers.insert("content-type", JSON);
    headers.insert("x-amz-crc32", CHECKSUM);
    headers.insert("x-amzn-requestid", REQUEST_ID);
    Ok(response)
}

type Header = hyper::header::HeaderValue;
const JSON: Header = Header::from_static("application/x-amz-json-1.0");
// As long as real ones.
const CHECKSUM: Header = Header::from_static("2745614147");
const REQUEST_ID: Header =
    Header::from_static("0123456789ABCDEFGHIJKLMNOPQRSTUV0123456789ABCDEFGHIJ");
