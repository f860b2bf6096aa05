//! Pages for people: the design's own, which can send requests, and the list of designs.
//!
//! Both are whole in themselves: no other file, no other server. What a page may do is said in its
//! Content-Security-Policy, which knows style and script by their hashes, so that nothing that got
//! into a page by mistake would run.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use partita_design::Design;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::encode;

const STYLE: &str = include_str!("docs/page.css");
const SCRIPT: &str = include_str!("docs/page.js");

/// The page of a design is the same for all: it reads the document of the design beside it.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let page = include_str!("docs/page.html").replace("/*style*/", STYLE);
    page.replace("/*script*/", SCRIPT)
});

static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
});

/// The page of a design.
pub fn page() -> Response {
    html(PAGE.clone())
}

/// The designs that are served, as a page for browsers and as JSON for everybody else.
pub fn index<'d>(designs: impl Iterator<Item = &'d Design>, headers: &HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("text/html")) {
        let rows: String = designs.map(row).collect();
        let page = include_str!("docs/index.html").replace("/*style*/", STYLE);
        return html(page.replace("<!--designs-->", &rows));
    }
    let designs = designs.map(|design| {
        let name = &design.name;
        json!({
            "name": name,
            "about": design.about,
            "accounts": design.accounts.is_some(),
            "docs": format!("/{name}/docs"),
            "openapi": format!("/{name}/openapi.json"),
        })
    });
    let designs = json!({ "designs": designs.collect::<Vec<_>>() });
    encode::json_response(StatusCode::OK, &designs)
}

fn row(design: &Design) -> String {
    let name = escaped(&design.name);
    let about = escaped(design.about.as_deref().unwrap_or_default());
    format!(
        "<tr><td>{name}</td><td>{about}</td><td><a href=\"/{name}/docs\">docs</a></td>\
         <td><a href=\"/{name}/openapi.json\">openapi.json</a></td></tr>\n"
    )
}

fn html(page: String) -> Response {
    let mut response = page_under(&POLICY, page);
    let no_cache = HeaderValue::from_static("no-cache");
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, no_cache);
    response
}

/// A page that may do what its policy says.
pub(crate) fn page_under(policy: &str, page: String) -> Response {
    let mut response = Response::new(Body::from(page));
    let headers = response.headers_mut();
    let mut put = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put(header::CONTENT_TYPE, "text/html; charset=utf-8");
    put(header::CONTENT_SECURITY_POLICY, policy);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::REFERRER_POLICY, "no-referrer");
    response
}

/// What a Content-Security-Policy calls a text.
pub(crate) fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text)))
}

pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_needs_nothing_else() {
        for foreign in ["http://", "https://", "src=", "@import"] {
            assert!(!PAGE.contains(foreign), "{foreign}");
        }
        assert!(!STYLE.contains("url("));
    }

    #[test]
    fn what_a_design_says_is_text() {
        assert_eq!(escaped("<a b=\"&\">"), "&lt;a b=&quot;&amp;&quot;&gt;");
    }
}
