//! A request as it comes: its parts, read but not yet understood.

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri, header};
use partita_core::excerpt;
use percent_encoding::percent_decode_str;

use crate::problem::{Problem, ProblemKind};

/// Headers of a request at most. The accept loop reads twice as many, so that a client that sends
/// a few too many gets a problem document.
pub const HEADERS_MAX: usize = 64;

/// Bytes of a request's path and headers at most; the accept loop reads twice as many here, too.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;

/// Names and values behind the `?`.
pub type Parameters = BTreeMap<String, String>;

/// A request with its body.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its path and query.
    pub uri: &'a Uri,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// Whether anything may change. HEAD is GET without the body.
    pub fn is_write(&self) -> bool {
        !matches!(*self.method, Method::GET | Method::HEAD)
    }

    /// The parts of the path.
    pub fn segments(&self) -> Result<Vec<String>, Problem> {
        let path = self.uri.path();
        segments(path.strip_prefix('/').unwrap_or(path))
    }

    /// The query string.
    pub fn parameters(&self) -> Result<Parameters, Problem> {
        parameters(self.uri.query().unwrap_or_default())
    }

    /// The bearer token, if there is one.
    pub fn bearer(&self) -> Result<Option<&'a str>, Problem> {
        let mut values = self.headers.get_all(header::AUTHORIZATION).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        // A proxy might use the first of two, and we the second.
        if values.next().is_some() {
            let detail = "there is more than one Authorization header";
            return Err(Problem::new(ProblemKind::TokenInvalid, detail));
        }
        let text = value.to_str().ok().and_then(|text| text.split_once(' '));
        match text {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Ok(Some(token.trim()))
            }
            _ => Err(Problem::new(
                ProblemKind::TokenInvalid,
                "the Authorization header must be `Bearer` and a token",
            )),
        }
    }

    /// The key under which a write is carried out once. Reads need none.
    pub fn idempotency_key(&self) -> Result<Option<&'a str>, Problem> {
        if self.is_write() {
            self.header("Idempotency-Key")
        } else {
            Ok(None)
        }
    }

    /// The value of a header that may occur once.
    pub(crate) fn header(&self, name: &str) -> Result<Option<&'a str>, Problem> {
        let mut values = self.headers.get_all(name).iter();
        let (value, another) = (values.next(), values.next());
        match (value.map(|value| value.to_str()), another) {
            (None, _) => Ok(None),
            (Some(Ok(value)), None) => Ok(Some(value)),
            (_, Some(_)) => Err(Problem::bad_request(format!("`{name}` is given twice"))),
            (Some(Err(_)), None) => Err(Problem::bad_request(format!(
                "`{name}` must be of visible ASCII characters"
            ))),
        }
    }
}

/// Refuses a head that is too large.
pub(crate) fn check_head(head: &Parts) -> Result<(), Problem> {
    let headers = head.headers.iter();
    let bytes = headers.map(|(name, value)| name.as_str().len() + value.len());
    let bytes = bytes.sum::<usize>()
        + head
            .uri
            .path_and_query()
            .map_or(0, |one| one.as_str().len());
    if head.headers.len() > HEADERS_MAX || bytes > HEAD_BYTES_MAX {
        let detail = format!(
            "a request has at most {HEADERS_MAX} headers, and {HEAD_BYTES_MAX} bytes in its path and headers"
        );
        return Err(Problem::new(ProblemKind::HeadTooLarge, detail));
    }
    Ok(())
}

/// The parts of a path. They are split before they are decoded, so that an encoded slash stays
/// inside its part.
pub(crate) fn segments(path: &str) -> Result<Vec<String>, Problem> {
    path.split('/')
        .map(|segment| match percent_decode_str(segment).decode_utf8() {
            Ok(text) => Ok(text.into_owned()),
            Err(_) => Err(Problem::bad_request("the path is not UTF-8")),
        })
        .collect()
}

/// The parameters of a query string, each name once.
pub(crate) fn parameters(query: &str) -> Result<Parameters, Problem> {
    let mut parameters = Parameters::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if parameters.contains_key(&*name) {
            let name = excerpt::name(&name);
            return Err(Problem::bad_request(format!("`{name}` is given twice")));
        }
        parameters.insert(name.into_owned(), value.into_owned());
    }
    Ok(parameters)
}

/// Whether a host, perhaps with a port, is this machine by its very name.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|one| one.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_this_machine() {
        for (host, is_here) in [
            ("127.0.0.1:8000", true),
            ("localhost:8000", true),
            ("[::1]:8000", true),
            ("localhost", true),
            ("example.org:8000", false),
            ("localhost.example.org", false),
            ("127.0.0.1.example.org:80", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(host), is_here, "{host}");
        }
    }
}
