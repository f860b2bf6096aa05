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

/// A key set at a URL.
#[cfg(feature = "https")]
#[derive(Debug)]
pub struct KeyUrl {
    url: axum::http::Uri,
    client: crate::https::HttpsClient<http_body_util::Empty<axum::body::Bytes>>,
}

#[cfg(feature = "https")]
impl KeyUrl {
    /// The set at this URL, which is `https` or on this machine.
    pub fn new(url: &str) -> Result<Self, KeyError> {
        let failed = |message: String| KeyError::Unreachable {
            place: url.to_owned(),
            message,
        };
        let uri = crate::https::trusted(url).map_err(|wrong| failed(wrong.to_owned()))?;
        let client = crate::https::client().map_err(|error| failed(error.to_string()))?;
        Ok(KeyUrl { url: uri, client })
    }

    async fn get(&self, bytes_max: usize) -> Result<Vec<u8>, String> {
        let request = axum::http::Request::get(self.url.clone()).body(Default::default());
        let request = request.map_err(|error| error.to_string())?;
        let (status, body) = crate::https::ask(&self.client, request, bytes_max).await?;
        if status != axum::http::StatusCode::OK {
            return Err(format!("it answers {status}"));
        }
        Ok(body.to_vec())
    }
}

#[cfg(feature = "https")]
#[async_trait]
impl KeySource for KeyUrl {
    async fn fetch(&self, bytes_max: usize) -> Result<Vec<u8>, KeyError> {
        let got = self.get(bytes_max).await;
        got.map_err(|message| KeyError::Unreachable {
            place: self.url.to_string(),
            message,
        })
    }
}
