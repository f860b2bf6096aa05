//! Pages of which other sites may call the API from a browser: none, unless they are named.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, Uri, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may cache the answer to a preflight request.
const MAX_AGE: Duration = Duration::from_secs(600);

/// The origins from which browsers may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origins {
    /// Every one.
    Any,
    /// These.
    Listed(Vec<HeaderValue>),
}

/// Why something is no origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OriginError {
    /// It has no scheme or host, or more than these and a port.
    #[error("`{0}` is no origin; write `https://example.com`, with a port if it has one, or `*`")]
    NotAnOrigin(String),
    /// Every origin, and some.
    #[error("`*` is every origin; leave out the others")]
    AnyAndMore,
}

impl Origins {
    /// The origins that are written so; none if there are none.
    pub fn new(texts: &[String]) -> Result<Option<Self>, OriginError> {
        match texts {
            [] => Ok(None),
            [one] if one == "*" => Ok(Some(Origins::Any)),
            texts if texts.iter().any(|text| text == "*") => Err(OriginError::AnyAndMore),
            texts => {
                let origins = texts.iter().map(|text| origin(text));
                Ok(Some(Origins::Listed(origins.collect::<Result<_, _>>()?)))
            }
        }
    }

    /// Answers browsers that ask before they call, and lets their pages read the answers.
    ///
    /// Credentials that a browser sends by itself are never allowed: a caller is who his token
    /// says, and a page has to have the token. That is also why `*` is safe.
    pub(crate) fn layer(&self) -> CorsLayer {
        let header = HeaderName::from_static;
        CorsLayer::new()
            .allow_origin(match self {
                Origins::Any => AllowOrigin::any(),
                Origins::Listed(origins) => AllowOrigin::list(origins.clone()),
            })
            .allow_methods([
                Method::GET,
                Method::HEAD,
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
            ])
            .allow_headers([
                header::AUTHORIZATION,
                header::CONTENT_TYPE,
                header::IF_MATCH,
                header::IF_NONE_MATCH,
                header("idempotency-key"),
                header("last-event-id"),
                header("prefer"),
            ])
            .expose_headers([
                header::ALLOW,
                header::ETAG,
                header::LOCATION,
                header::RETRY_AFTER,
                header("partita-job"),
                header("preference-applied"),
                header("x-request-id"),
            ])
            .max_age(MAX_AGE)
    }
}

/// Browsers send scheme, host and port, and nothing else.
fn origin(text: &str) -> Result<HeaderValue, OriginError> {
    let not_one = || OriginError::NotAnOrigin(text.to_owned());
    let uri: Uri = text.parse().map_err(|_| not_one())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(not_one());
    };
    // The parser adds a slash where there is no path.
    if format!("{scheme}://{authority}") != text || authority.as_str().contains('@') {
        return Err(not_one());
    }
    HeaderValue::from_str(text).map_err(|_| not_one())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_scheme_host_and_port() {
        for (texts, is_good) in [
            (&["*"][..], true),
            (&["https://example.com", "http://localhost:3000"], true),
            (&["https://example.com/"], false),
            (&["https://example.com/app"], false),
            (&["https://ann@example.com"], false),
            (&["example.com"], false),
            (&["*", "https://example.com"], false),
            (&["null"], false),
        ] {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(Origins::new(&texts).is_ok(), is_good, "{texts:?}");
        }
        assert_eq!(Origins::new(&[]), Ok(None));
    }
}
