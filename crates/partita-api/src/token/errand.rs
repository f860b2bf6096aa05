//! What a token of the operator is good for: one command with one body, sent to one server, once.
//!
//! Whoever gets hold of such a token, as a program that listens where a server should, can ask for
//! nothing else with it, and for this not at a server that listens at another port. Over HTTPS the
//! certificate has said who the server is, and a proxy may call it something else: there the name
//! does not count.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::TokenError;

/// Seconds that a token is good for: long enough for a request to begin.
pub(super) const SECONDS: u32 = 60;

/// Used tokens that are remembered. Only who has the secret makes them.
const USED_MAX: usize = 10_000;

/// What a token is made for.
#[derive(Clone, Copy, Debug)]
pub struct Errand<'a> {
    /// The server: `https://HOST`, or an address of this machine with its port.
    pub server: &'a str,
    /// The command.
    pub command: &'a str,
    /// The body of the request.
    pub body: &'a [u8],
    /// What no other token has.
    pub nonce: &'a str,
}

impl fmt::Display for Errand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(self.body));
        write!(f, "{} {} {digest}", self.server, self.command)
    }
}

/// What a token says that it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) errand: String,
    pub(super) nonce: String,
    pub(super) expires_seconds: i64,
}

impl Given {
    /// Whether it was made for this request to the server at this port.
    pub(super) fn is_for(&self, command: &str, body: &[u8], port: Option<u16>) -> bool {
        let server = self.errand.split(' ').next().unwrap_or_default();
        let errand = Errand {
            server,
            command,
            body,
            nonce: &self.nonce,
        };
        let named = server
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse().ok());
        let is_here = server.starts_with("https://") || (named.is_some() && named == port);
        is_here && !self.nonce.is_empty() && errand.to_string() == self.errand
    }
}

/// The tokens that were used and have not expired.
#[derive(Debug, Default)]
pub(super) struct Used(Mutex<HashMap<String, i64>>);

impl Used {
    /// Uses a token, unless it was used before.
    pub(super) fn take(&self, given: &Given, now_seconds: i64) -> Result<(), TokenError> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, expires| *expires > now_seconds);
        if used.len() >= USED_MAX || used.contains_key(&given.nonce) {
            return Err(TokenError::Used);
        }
        used.insert(given.nonce.clone(), given.expires_seconds);
        Ok(())
    }
}
