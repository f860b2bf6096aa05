//! The document as it is served: made once, and not sent again to clients that have it.

use std::fmt::Write as _;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use partita_design::Design;
use sha2::{Digest as _, Sha256};

use super::document;
use crate::routes::Routes;

/// A document and its tag.
#[derive(Clone, Debug)]
pub struct Published {
    text: Bytes,
    tag: String,
}

impl Published {
    /// The document of a design.
    pub fn new(design: &Design, routes: &Routes) -> Published {
        let text = document(design, routes).to_string();
        let digest = Sha256::digest(&text);
        let mut tag = String::from("\"");
        for byte in &digest[..8] {
            // Writing to a string does not fail.
            let _ = write!(tag, "{byte:02x}");
        }
        tag.push('"');
        Published {
            text: text.into(),
            tag,
        }
    }

    /// The answer to a request for it.
    pub fn response(&self, headers: &HeaderMap) -> Response {
        let known = headers.get_all(header::IF_NONE_MATCH).iter();
        let mut known = known.filter_map(|value| value.to_str().ok());
        let is_known = known.any(|tags| {
            let mut tags = tags
                .split(',')
                .map(|tag| tag.trim().trim_start_matches("W/"));
            tags.any(|tag| tag == self.tag || tag == "*")
        });
        let mut response = if is_known {
            Response::new(Body::empty())
        } else {
            Response::new(Body::from(self.text.clone()))
        };
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let nosniff = HeaderValue::from_static("nosniff");
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}
