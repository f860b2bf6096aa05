//! The console: pages for administrators, in the browser.
//!
//! It is a handful of ES modules that use the same requests as everybody else, so what somebody may
//! do in it is decided where it always is. The files are in the binary, need no build and load
//! nothing from elsewhere; the Content-Security-Policy forbids everything else, inline script and
//! style included.
//!
//! | request | what |
//! |---|---|
//! | `GET /console`, `GET /console/{file}` | the files, for everybody: there is nothing in them |
//! | `POST /console/session` | a credential of the operator for the secret of a link, see [`door`] |
//! | `DELETE /console/session` | ends it |

pub mod door;

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use partita_design::time;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::encode;
use crate::problem::{Problem, ProblemKind};
use crate::request::Request;
pub use door::Door;

/// The first part of its paths.
pub(crate) const CONSOLE: &str = "console";

/// Bytes of the files together.
pub const BYTES_MAX: usize = 300 * 1_024;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the console.
struct File {
    name: &'static str,
    text: &'static str,
    tag: String,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("console/", $name)))),*]
    };
}

static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let files = files![
        "index.html",
        "style.css",
        "icon.svg",
        "main.js",
        "api.js",
        "draw.js",
        "words.js",
        "enter.js",
        "frame.js",
        "palette.js",
        "list.js",
        "item.js",
        "collection.js",
        "editor.js",
        "confirm.js",
        "why.js",
        "pattern.js",
        "design.js",
        "diagram.js",
        "activity.js",
        "metrics.js",
    ];
    let file = |(name, text): (&'static str, &'static str)| File {
        name,
        text,
        tag: format!("\"{}\"", BASE64.encode(Sha256::digest(text))),
    };
    files.map(file).into()
});

/// What is asked of the console.
pub(crate) enum Asked {
    /// A file.
    File(&'static str),
    /// A credential, or its end.
    Session,
}

/// What the parts of a path behind `console` ask for.
pub(crate) fn find(path: &[String]) -> Option<Asked> {
    let name = match path {
        [] => "index.html",
        [name] if name == "session" => return Some(Asked::Session),
        [name] => FILES.iter().find(|file| file.name == name)?.name,
        _ => return None,
    };
    Some(Asked::File(name))
}

/// A file, if the browser does not have it already.
pub(crate) fn file(name: &str, headers: &HeaderMap) -> Result<Response, Problem> {
    let file = FILES.iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| Problem::no_route("the console has no such file"))?;
    let known = headers.get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == file.tag.as_bytes());
    let mut response = match is_known {
        true => encode::empty(StatusCode::NOT_MODIFIED),
        false => Response::new(Body::from(file.text)),
    };
    let kind = match name.rsplit_once('.') {
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    };
    let headers = response.headers_mut();
    let mut put = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put(header::CONTENT_TYPE, kind);
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::REFERRER_POLICY, "no-referrer");
    put(header::CACHE_CONTROL, "no-cache");
    put(header::ETAG, &file.tag);
    Ok(response)
}

/// Makes a credential of the secret of a link, or ends it.
pub(crate) fn session(
    door: &Door,
    head: &Parts,
    request: &Request<'_>,
) -> Result<Response, Problem> {
    if !door::is_local(head) {
        return Err(refused());
    }
    if *request.method == Method::DELETE {
        if let Some(credential) = request.bearer()? {
            door.end(credential);
        }
        return Ok(encode::empty(StatusCode::NO_CONTENT));
    }
    let body: Json = serde_json::from_slice(request.body)
        .map_err(|_| Problem::bad_request("the body is JSON with a `secret`"))?;
    let secret = body["secret"].as_str().unwrap_or_default();
    let (credential, expires) = door.exchange(secret).ok_or_else(refused)?;
    tracing::info!("the operator opened the console");
    let answer = json!({ "credential": credential, "expiresAt": time::format_millis(expires) });
    Ok(encode::json_response(StatusCode::OK, &answer))
}

/// Why is not said, so as not to help whoever tries.
fn refused() -> Problem {
    let detail = "the link does not open the console here: it is good once, for 15 minutes, in a \
                  browser on the machine of the server; `partita console DESIGN` prints a new one";
    Problem::new(ProblemKind::TokenInvalid, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_small_and_need_nothing_else() {
        let bytes: usize = FILES.iter().map(|file| file.text.len()).sum();
        assert!(bytes <= BYTES_MAX, "{bytes}");
        for file in FILES.iter() {
            // The namespace of SVG is a name, and no address.
            let text = file.text.replace("http://www.w3.org/2000/svg", "");
            for foreign in [
                "http://",
                "https://",
                "@import",
                "url(",
                "innerHTML",
                "eval(",
            ] {
                assert!(!text.contains(foreign), "{}: {foreign}", file.name);
            }
        }
    }

    #[test]
    fn the_page_has_no_script_and_no_style_of_its_own() {
        let page = FILES.iter().find(|file| file.name == "index.html");
        let page = page.unwrap().text;
        assert!(!page.contains("<style") && !page.contains("style="));
        assert_eq!(page.matches("<script").count(), 1);
        assert!(page.contains("<script type=\"module\" src=\"/console/main.js\"></script>"));
    }
}
