//! Who calls, where people have accounts.
//!
//! A bearer that is no JSON web token is a session's credential, and is looked up at every request.
//! A browser may have it as a cookie; then a write must come from a page of our own. A token, ours or
//! another issuer's, counts while the account of its user is there and active.

use std::net::{IpAddr, SocketAddr};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use partita_plan::Partita;

use super::Auth;
use crate::problem::{Problem, ProblemKind};
use crate::request::Request;
use crate::server;
use crate::token::{Tokens, Verified};

/// Characters of an address that is taken from a header.
const ADDRESS_CHARS_MAX: usize = 64;

/// Who sends a request to a design.
pub(crate) async fn identify(
    auth: &Auth,
    tokens: &Tokens,
    partita: &Partita,
    request: &Request<'_>,
) -> Result<Verified, Problem> {
    let design = &partita.design().name;
    let bearer = request.bearer()?;
    if !partita.has_accounts() {
        return Ok(tokens.verify(design, bearer).await?);
    }
    let has_sessions = partita.has_sign_in();
    if let Some(credential) = bearer.filter(|bearer| has_sessions && is_credential(bearer)) {
        let found = partita.session(credential).await?;
        let (session, account) = found.ok_or_else(ended)?;
        return Ok(Verified::of_session(account.id, session));
    }
    if bearer.is_some() {
        let verified = tokens.verify(design, bearer).await?;
        demand_account(partita, &verified).await?;
        return Ok(verified);
    }
    let nobody = tokens.verify(design, None).await?;
    let given = cookie(request.headers, &cookie_name(design));
    let Some(credential) = given.filter(|_| has_sessions) else {
        return Ok(nobody);
    };
    // A browser sends a cookie whether its user wants that or not, also one that has ended.
    let Some((session, account)) = partita.session(credential).await? else {
        return Ok(nobody);
    };
    if request.is_write() {
        demand_own_page(auth, request)?;
    }
    Ok(Verified::of_session(account.id, session))
}

/// Refuses a user who is gone or not active, whatever token there is.
async fn demand_account(partita: &Partita, verified: &Verified) -> Result<(), Problem> {
    let Some(id) = &verified.caller().id else {
        return Ok(());
    };
    if partita.may_act(id, verified.claims()).await? {
        return Ok(());
    }
    Err(Problem::account_closed())
}

/// Refuses a write with a cookie that comes from a page of somebody else.
pub(super) fn demand_own_page(auth: &Auth, request: &Request<'_>) -> Result<(), Problem> {
    let origin = request.header("Origin")?;
    if origin == Some(auth.public_url.origin()) {
        return Ok(());
    }
    let detail = format!(
        "a write with a cookie comes from a page of {}, and says so with `Origin`",
        auth.public_url.origin()
    );
    Err(Problem::new(ProblemKind::BadOrigin, detail))
}

/// A JSON web token has two dots.
fn is_credential(bearer: &str) -> bool {
    bearer.matches('.').count() == 1
}

fn ended() -> Problem {
    let detail = "the session has ended; sign in again";
    Problem::new(ProblemKind::TokenInvalid, detail)
}

/// The name of the cookie of a design.
pub(crate) fn cookie_name(design: &str) -> String {
    format!("partita-{design}")
}

pub(super) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let values = headers.get_all(header::COOKIE).iter();
    let mut pairs = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    Some(value)
}

/// Which requests a browser sends a cookie with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SameSite {
    /// Also when somebody follows a link from elsewhere.
    Lax,
    /// Those of our own pages alone.
    Strict,
}

/// The header that gives a browser a session, or takes it away.
pub(crate) fn set_cookie(
    auth: &Auth,
    design: &str,
    session: Option<(&str, i64)>,
    same_site: SameSite,
) -> HeaderValue {
    let (credential, seconds) = session.unwrap_or_default();
    let name = cookie_name(design);
    cookie_header(auth, &name, credential, design, seconds, same_site)
}

/// A cookie for what is below a path of ours, that no script reads, and that no page of others sends a
/// write with.
pub(super) fn cookie_header(
    auth: &Auth,
    name: &str,
    value: &str,
    path: &str,
    seconds: i64,
    same_site: SameSite,
) -> HeaderValue {
    let secure = if auth.public_url.has_secure_cookies() {
        "; Secure"
    } else {
        ""
    };
    let before = auth.public_url.path();
    let text = format!(
        "{name}={value}; Path={before}/{path}; Max-Age={seconds}; HttpOnly; SameSite={same_site:?}{secure}"
    );
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Where a request comes from: its connection, or what a trusted proxy says. Nothing is known of one
/// that comes through a proxy which does not say it.
pub(crate) fn client_of(head: &Parts) -> Option<IpAddr> {
    if let Some(network) = server::network_of(&head.extensions) {
        return Some(network);
    }
    // The last address is the one that our proxy has seen; the others are whatever its client said.
    let forwarded = head.headers.get_all("x-forwarded-for").iter().next_back();
    let forwarded = forwarded.and_then(|value| value.to_str().ok());
    let last = forwarded.and_then(|value| value.rsplit(',').next());
    last.and_then(address_in).map(server::network)
}

/// An address as proxies write it: alone, with a port, or in brackets.
fn address_in(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if text.len() > ADDRESS_CHARS_MAX {
        return None;
    }
    let bare = text.strip_prefix('[').and_then(|one| one.strip_suffix(']'));
    let with_port = || text.parse::<SocketAddr>().ok().map(|one| one.ip());
    bare.unwrap_or(text).parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a proxy has the server below a path, browsers see that path.
    #[test]
    fn a_cookie_is_for_the_paths_that_browsers_see() {
        use std::sync::Arc;

        use partita_store::surroundings::{ManualClock, SeededEntropy};

        let clock = Arc::new(ManualClock::at(0));
        let mut auth = Auth::new(clock, Arc::new(SeededEntropy::new(1)));
        for (url, expected) in [
            (
                "http://127.0.0.1:8000",
                "Path=/mediahub; Max-Age=60; HttpOnly; SameSite=Lax",
            ),
            (
                "https://example.org/app/",
                "Path=/app/mediahub; Max-Age=60; HttpOnly; SameSite=Lax; Secure",
            ),
        ] {
            auth.public_url = super::super::PublicUrl::new(url).unwrap();
            let cookie = set_cookie(&auth, "mediahub", Some(("id.secret", 60)), SameSite::Lax);
            let cookie = cookie.to_str().unwrap();
            assert_eq!(cookie, format!("partita-mediahub=id.secret; {expected}"));
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::COOKIE,
            HeaderValue::from_static("a=1; partita-mediahub=x.y"),
        );
        headers.append(header::COOKIE, HeaderValue::from_static("partita-other=z"));
        assert_eq!(cookie(&headers, "partita-mediahub"), Some("x.y"));
        assert_eq!(cookie(&headers, "partita-other"), Some("z"));
        assert_eq!(cookie(&headers, "partita"), None);
    }

    #[test]
    fn an_address_may_have_a_port() {
        for (text, address) in [
            (" 192.0.2.1", "192.0.2.1"),
            ("192.0.2.1:55", "192.0.2.1"),
            ("[2001:db8::1]:55", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
        ] {
            assert_eq!(address_in(text), address.parse().ok(), "{text}");
        }
        for text in [
            "",
            "unknown",
            "192.0.2.1:",
            "192.0.2",
            "[192.0.2.1",
            "_hidden",
        ] {
            assert_eq!(address_in(text), None, "{text}");
        }
    }

    #[test]
    fn a_token_is_no_credential() {
        assert!(is_credential("id.secret"));
        assert!(!is_credential("head.claims.signature"));
        assert!(!is_credential("token"));
    }
}
