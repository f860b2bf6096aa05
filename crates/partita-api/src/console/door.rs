//! How the operator gets into the console: a link that is good once, for minutes, on this machine.
//!
//! The link has a secret of 256 bits behind its `#`, which browsers send to nobody. The page sends it
//! once, in the body of a request, and gets a credential for it. That is a bearer and no cookie, so
//! no other page can have it sent. Of both only digests are kept, in the memory of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use partita_store::{Clock, Entropy};
use sha2::{Digest as _, Sha256};

use crate::request;

/// How long a link is good.
const LINK_MILLIS: i64 = 15 * 60 * 1_000;
/// How long a credential is good after it was used last.
const IDLE_MILLIS: i64 = 60 * 60 * 1_000;
/// How long it is good at all.
const LONGEST_MILLIS: i64 = 12 * 60 * 60 * 1_000;
/// Links and credentials that are open at once. Only who has the data makes them; the oldest goes.
const OPEN_MAX: usize = 64;

/// What credentials begin with, so that none is taken for a token or a session.
const PREFIX: &str = "console_";

type Digest = [u8; 32];

/// Links that are open, and credentials that came of them.
pub struct Door {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// Where browsers on this machine reach the console; none where the server is not on loopback.
    url: Option<String>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    links: HashMap<Digest, i64>,
    credentials: HashMap<Digest, Credential>,
}

#[derive(Clone, Copy)]
struct Credential {
    made_millis: i64,
    used_millis: i64,
}

impl Credential {
    fn expires_millis(&self) -> i64 {
        let longest = self.made_millis.saturating_add(LONGEST_MILLIS);
        longest.min(self.used_millis.saturating_add(IDLE_MILLIS))
    }
}

/// A link that opens the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The link, with its secret.
    pub url: String,
    /// Until when it is good.
    pub expires_millis: i64,
}

impl Door {
    /// A door of a server that is reached at this URL from this machine, if it is on loopback.
    pub fn new(url: Option<String>, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Door {
        Door {
            clock,
            entropy,
            url,
            open: Mutex::default(),
        }
    }

    /// Makes a link; none where the server is not on loopback.
    pub fn link(&self) -> Option<Link> {
        let url = self.url.as_ref()?;
        let secret = self.secret();
        let now = self.clock.now_millis();
        let expires_millis = now.saturating_add(LINK_MILLIS);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.links.retain(|_, expires| *expires > now);
        if open.links.len() >= OPEN_MAX {
            let oldest = open.links.iter().min_by_key(|(_, expires)| **expires);
            let oldest = oldest.map(|(digest, _)| *digest);
            oldest.map(|digest| open.links.remove(&digest));
        }
        open.links.insert(digest(&secret), expires_millis);
        Some(Link {
            url: format!("{url}/console#link={secret}"),
            expires_millis,
        })
    }

    /// A credential for the secret of a link, which is then used up.
    pub(crate) fn exchange(&self, secret: &str) -> Option<(String, i64)> {
        let now = self.clock.now_millis();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let expires = open.links.remove(&digest(secret))?;
        if expires <= now {
            return None;
        }
        open.credentials.retain(|_, one| one.expires_millis() > now);
        if open.credentials.len() >= OPEN_MAX {
            let oldest = open.credentials.iter();
            let oldest = oldest.min_by_key(|(_, one)| one.used_millis);
            let oldest = oldest.map(|(digest, _)| *digest);
            oldest.map(|digest| open.credentials.remove(&digest));
        }
        let made = Credential {
            made_millis: now,
            used_millis: now,
        };
        let credential = format!("{PREFIX}{}", self.secret());
        open.credentials.insert(digest(&credential), made);
        Some((credential, made.expires_millis()))
    }

    /// Whether this is a credential of the console that is good, and is used now.
    pub(crate) fn admits(&self, credential: &str) -> bool {
        let now = self.clock.now_millis();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match open.credentials.get_mut(&digest(credential)) {
            Some(one) if one.expires_millis() > now => {
                one.used_millis = now;
                true
            }
            _ => false,
        }
    }

    /// Ends a credential.
    pub(crate) fn end(&self, credential: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.credentials.remove(&digest(credential));
    }

    fn secret(&self) -> String {
        let mut bytes = [0; 32];
        self.entropy.fill(&mut bytes);
        BASE64.encode(bytes)
    }
}

/// Whether a bearer claims to be a credential of the console.
pub(crate) fn is_credential(bearer: &str) -> bool {
    bearer.starts_with(PREFIX)
}

/// Whether a request comes from this machine, and from a page of this server if from any, as far as
/// its head tells. It is for servers that listen on loopback, so what is left to refuse is a proxy,
/// and a name that was made to lead here.
pub fn is_local(head: &Parts) -> bool {
    let forwarded = [
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-real-ip",
        "via",
    ];
    if forwarded
        .iter()
        .any(|name| head.headers.contains_key(*name))
    {
        return false;
    }
    let text = |name| head.headers.get(name).map(|value| value.to_str().ok());
    let host = match text(header::HOST) {
        Some(host) => host,
        None => head.uri.authority().map(Authority::as_str),
    };
    let Some(host) = host.filter(|host| request::is_loopback(host)) else {
        return false;
    };
    match text(header::ORIGIN) {
        None => true,
        Some(origin) => origin == Some(format!("http://{host}").as_str()),
    }
}

fn digest(text: &str) -> Digest {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use partita_store::surroundings::{ManualClock, SeededEntropy};

    use super::*;

    fn door() -> (Arc<ManualClock>, Door) {
        let clock = Arc::new(ManualClock::at(1_000_000));
        let entropy = Arc::new(SeededEntropy::new(1));
        let url = Some("http://127.0.0.1:8000".to_owned());
        (clock.clone(), Door::new(url, clock, entropy))
    }

    fn secret(door: &Door) -> String {
        let link = door.link().unwrap().url;
        let secret = link.strip_prefix("http://127.0.0.1:8000/console#link=");
        secret.unwrap().to_owned()
    }

    #[test]
    fn a_link_is_good_once() {
        let (_, door) = door();
        let secret = secret(&door);
        assert_eq!(secret.len(), 43);
        let (credential, _) = door.exchange(&secret).unwrap();
        assert!(door.admits(&credential));
        assert_eq!(door.exchange(&secret), None);
        assert!(!door.admits(&secret));
        door.end(&credential);
        assert!(!door.admits(&credential));
    }

    #[test]
    fn links_and_credentials_end() {
        let (clock, door) = door();
        let late = secret(&door);
        let (credential, _) = door.exchange(&secret(&door)).unwrap();
        clock.advance(LINK_MILLIS);
        assert_eq!(door.exchange(&late), None);
        // Each use prolongs it, up to a bound.
        for _ in 0..15 {
            clock.advance(IDLE_MILLIS - 1 - LINK_MILLIS);
            assert!(door.admits(&credential));
        }
        clock.advance(IDLE_MILLIS - 1);
        assert!(!door.admits(&credential));
    }

    #[test]
    fn there_is_no_link_elsewhere() {
        let (clock, _) = door();
        let door = Door::new(None, clock, Arc::new(SeededEntropy::new(1)));
        assert_eq!(door.link(), None);
    }
}
