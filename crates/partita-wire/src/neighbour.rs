//! Requests without credentials: only from this machine, to a name of its own.
//!
//! A server without credentials listens on loopback. Two kinds of foreign requests still reach it:
//! those of a web page whose host name was made to resolve to this machine, and those that a reverse
//! proxy forwards. The first have a foreign `Host`, the second have the headers that proxies add.

use std::net::IpAddr;

use http::header::{FORWARDED, HOST, VIA};
use http::{HeaderMap, HeaderName};

use crate::refusal::{Fault, Refusal};

const REFUSED: &str = "without credentials only this machine is served, as localhost or 127.0.0.1; start the server with --credentials-file and sign with these";

/// Headers that proxies add.
const FORWARDING: [&str; 8] = [
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-host",
    "true-client-ip",
    "cf-connecting-ip",
    "cf-ray",
    "fastly-client-ip",
];

/// How the names of further such headers begin.
const FORWARDED_PREFIX: &str = "x-forwarded-";

/// Refuses a request that shows a foreign origin.
pub(crate) fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    let host = headers.get(HOST).map(|host| host.to_str().unwrap_or(""));
    let is_marked = |name: &HeaderName| {
        let name = name.as_str();
        name.starts_with(FORWARDED_PREFIX) || FORWARDING.contains(&name)
    };
    let is_forwarded = headers.keys().any(is_marked)
        || headers.contains_key(FORWARDED)
        || headers.contains_key(VIA);
    if !is_forwarded && host.is_none_or(is_this_machine) {
        Ok(())
    } else {
        Err(Refusal::new(Fault::AccessDenied, REFUSED))
    }
}

/// Whether a `Host` is a loopback address, or a name that always means one.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let address = name.parse::<IpAddr>();
    name == "localhost"
        || name.ends_with(".localhost")
        || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served() {
        for host in [
            "localhost",
            "localhost:8000",
            "127.0.0.1:8000",
            "[::1]:8000",
            "a.localhost",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "127.0.0.1.example.org:8000",
            "10.0.0.1",
            "localhost.evil",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn whoever_is_forwarded_is_not_here() {
        let mut headers = HeaderMap::new();
        assert!(check(&headers).is_ok());
        for name in [
            "x-forwarded-for",
            "x-forwarded-proto",
            "via",
            "forwarded",
            "x-real-ip",
            "cf-connecting-ip",
            "true-client-ip",
        ] {
            headers.clear();
            headers.insert(HeaderName::from_static(name), "10.1.2.3".parse().unwrap());
            assert_eq!(
                check(&headers).unwrap_err().fault,
                Fault::AccessDenied,
                "{name}"
            );
        }
    }
}
