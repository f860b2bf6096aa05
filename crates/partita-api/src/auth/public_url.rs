//! Where browsers reach the server.

use axum::http::Uri;

use crate::request;

/// Where browsers reach the server: scheme, host, port, and perhaps a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    text: String,
    origin: String,
    /// What every path begins with, without a slash at its end.
    path: String,
    is_https: bool,
    is_loopback: bool,
}

/// Why something is no public URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address to reach the server at; write `https://example.com`")]
pub struct PublicUrlError(String);

impl Default for PublicUrl {
    /// That of a server on this machine.
    fn default() -> Self {
        let text = "http://127.0.0.1:8000".to_owned();
        PublicUrl {
            origin: text.clone(),
            text,
            path: String::new(),
            is_https: false,
            is_loopback: true,
        }
    }
}

impl PublicUrl {
    /// A URL of `http` or `https`, without a query.
    pub fn new(text: &str) -> Result<PublicUrl, PublicUrlError> {
        let wrong = || PublicUrlError(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong());
        };
        let default_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return Err(wrong()),
        };
        // A path with a semicolon could say something of cookies.
        let is_plain = uri.query().is_none() && !uri.path().contains(';');
        if !is_plain || authority.as_str().contains('@') {
            return Err(wrong());
        }
        // Browsers write an origin in lower case, and with no port that goes without saying.
        let host = authority.host().to_ascii_lowercase();
        let port = authority.port_u16().filter(|port| *port != default_port);
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Ok(PublicUrl {
            text: text.trim_end_matches('/').to_owned(),
            origin: format!("{scheme}://{host}{port}"),
            path: uri.path().trim_end_matches('/').to_owned(),
            is_https: scheme == "https",
            is_loopback: request::is_loopback(&host),
        })
    }

    /// The URL, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What browsers send as the origin of our own pages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// What browsers begin every path with, without a slash at its end.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is an address of this machine alone.
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// Whether browsers send cookies over TLS only: always, but to this machine itself.
    pub(super) fn has_secure_cookies(&self) -> bool {
        self.is_https || !self.is_loopback
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_as_browsers_write_it() {
        for (text, origin) in [
            ("https://Example.org/", "https://example.org"),
            ("https://example.org:443/app/", "https://example.org"),
            ("http://example.org:80", "http://example.org"),
            ("http://example.org:443", "http://example.org:443"),
            ("http://[::1]:8000", "http://[::1]:8000"),
        ] {
            assert_eq!(PublicUrl::new(text).unwrap().origin(), origin, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "example.org",
            "ftp://example.org",
            "https://ann@example.org",
            "https://example.org/?a=b",
            "https://example.org/;Domain=example.com",
            "/mediahub",
        ] {
            assert!(PublicUrl::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_this_machine_has_cookies_in_the_clear() {
        for (text, is_secure) in [
            ("http://127.0.0.1:8000", false),
            ("http://localhost", false),
            ("http://[::1]:8000", false),
            ("https://localhost", true),
            ("https://example.org", true),
            ("http://example.org", true),
            ("http://192.168.1.7:8000", true),
            ("http://0.0.0.0:8000", true),
        ] {
            let url = PublicUrl::new(text).unwrap();
            assert_eq!(url.has_secure_cookies(), is_secure, "{text}");
        }
    }
}
