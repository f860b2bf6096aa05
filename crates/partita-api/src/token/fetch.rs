//! Key sets from files and from the web.

use std::path::PathBuf;

use async_trait::async_trait;

use super::keys::{KeyError, KeySource};

/// A key set in a file, which may be replaced while the server runs.
#[derive(Clone, Debug)]
pub struct KeyFile(pub PathBuf);

#[async_trait]
impl KeySource for KeyFile {
    async fn fetch(&self, bytes_max: usize) -> Result<Vec<u8>, KeyError> {
        let failed = |message: String| KeyError::Unreachable {
            place: self.0.display().to_string(),
            message,
        };
        let path = self.0.clone();
        let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
        let read = read.map_err(|error| failed(error.to_string()))?;
        let bytes = read.map_err(|error| failed(error.to_string()))?;
        if bytes.len() > bytes_max {
            Err(failed(format!("it has more than {bytes_max} bytes")))
        } else {
            Ok(bytes)
        }
    }
}

/// Time for a whole key set from the web.
#[cfg(feature = "https")]
const FETCH_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(5);

/// A key set at a URL.
#[cfg(feature = "https")]
#[derive(Debug)]
pub struct KeyUrl {
    url: axum::http::Uri,
    client: crate::https::HttpsClient<http_body_util::Empty<axum::body::Bytes>>,
}

#[cfg(feature = "https")]
impl KeyUrl {
    /// The set at this URL. It must be `https`, because an attacker who can answer in its place can
    /// make tokens; on this machine `http` will do.
    pub fn new(url: &str) -> Result<Self, KeyError> {
        let failed = |message: String| KeyError::Unreachable {
            place: url.to_owned(),
            message,
        };
        let uri: axum::http::Uri = url.parse().map_err(|_| failed("it is no URL".to_owned()))?;
        let is_here = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_here => {}
            _ => return Err(failed("it must be https".to_owned())),
        }
        let client = crate::https::client().map_err(|error| failed(error.to_string()))?;
        Ok(KeyUrl { url: uri, client })
    }

    async fn get(&self, bytes_max: usize) -> Result<Vec<u8>, String> {
        use http_body_util::{BodyExt as _, Limited};
        let answer = self.client.get(self.url.clone()).await;
        let answer = answer.map_err(|error| error.to_string())?;
        // Another place is another issuer, so redirects are not followed.
        if answer.status() != axum::http::StatusCode::OK {
            return Err(format!("it answers {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), bytes_max).collect().await;
        let body = body.map_err(|error| error.to_string())?;
        Ok(body.to_bytes().to_vec())
    }
}

#[cfg(feature = "https")]
#[async_trait]
impl KeySource for KeyUrl {
    async fn fetch(&self, bytes_max: usize) -> Result<Vec<u8>, KeyError> {
        let got = tokio::time::timeout(FETCH_TIME_MAX, self.get(bytes_max)).await;
        let got = got.unwrap_or_else(|_| Err("it does not answer in time".to_owned()));
        got.map_err(|message| KeyError::Unreachable {
            place: self.url.to_string(),
            message,
        })
    }
}
