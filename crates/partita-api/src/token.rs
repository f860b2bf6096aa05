//! Bearer tokens: JSON web tokens.
//!
//! | module | what it holds |
//! |---|---|
//! | `token` | our own, signed with HS256 under the secret |
//! | [`issuer`] | somebody else's, signed with RS256 or ES256 |
//! | [`keys`] | the public keys that these are verified with |
//! | [`fetch`] | where the keys come from |
//!
//! Algorithms are pinned; `exp`, `iss`, `aud` and `sub` are required. The audience of our own
//! tokens is the design, so that a token for one design opens no other.

pub mod fetch;
pub mod issuer;
pub mod keys;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode,
};
use partita_plan::Caller;
use partita_store::Clock;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::secret::Secret;

pub use issuer::{Expected, Issuer};
pub use keys::{KeyError, KeySource, Keys};

const ISSUER: &str = "partita";

/// What tokens of the operator say instead.
const OPERATOR: &str = "partita-operator";

/// The longest token. Those of Cognito with many groups have a few kilobytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Makes and verifies tokens.
pub struct Tokens {
    signing: EncodingKey,
    verifying: DecodingKey,
    clock: Arc<dyn Clock>,
    issuer: Option<Issuer>,
}

/// Somebody whose token was verified, or nobody. Only [`Tokens::verify`] makes one, so a handler
/// cannot be called with an identity that was merely claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    caller: Caller,
    /// Of an operator: what the token was made for.
    errand: Option<String>,
}

impl Verified {
    fn user(caller: Caller) -> Self {
        Verified {
            caller,
            errand: None,
        }
    }

    /// The caller.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Who it is, for the log.
    pub(crate) fn who(&self) -> &str {
        match (&self.caller.id, self.is_operator()) {
            (_, true) => "the operator",
            (Some(id), false) => id,
            (None, false) => "nobody",
        }
    }

    /// Whether it is whoever operates the installation and has its secret: nobody to the rules of a
    /// design, but somebody who may see its jobs and keys.
    pub fn is_operator(&self) -> bool {
        self.errand.is_some()
    }

    /// Whether this command may be asked for with this body: of an operator's token, whether it was
    /// made for them.
    pub(crate) fn is_sent_with(&self, command: &str, body: &[u8]) -> bool {
        let errand = self.errand.as_ref();
        errand.is_none_or(|made_for| *made_for == errand_of(command, body))
    }
}

/// What an operator's token is made for: one command with one body. Whoever gets hold of the token
/// can ask for nothing else.
fn errand_of(command: &str, body: &[u8]) -> String {
    let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(body));
    format!("{command} {digest}")
}

/// Why a token is refused. It says no more, so as not to help a forger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is not a token of ours for this design.
    #[error(
        "the token is not valid for this design; get one from its issuer, or with `partita token`"
    )]
    Invalid,
    /// Its time is over.
    #[error("the token has expired; get a new one")]
    Expired,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
    /// Of an operator: what the token was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errand: Option<String>,
    iat: i64,
    exp: i64,
    /// `partita token` makes none.
    #[serde(skip_serializing)]
    nbf: Option<i64>,
}

impl Tokens {
    /// Tokens under a secret.
    pub fn new(secret: &Secret, clock: Arc<dyn Clock>) -> Self {
        let key = secret.token_key();
        Tokens {
            signing: EncodingKey::from_secret(&key),
            verifying: DecodingKey::from_secret(&key),
            clock,
            issuer: None,
        }
    }

    /// Takes the tokens of somebody else, too.
    #[must_use]
    pub fn with_issuer(mut self, issuer: Issuer) -> Self {
        self.issuer = Some(issuer);
        self
    }

    /// A token for a user of a design.
    pub fn make(
        &self,
        design: &str,
        user: &str,
        role: Option<&str>,
        groups: &[String],
        lifetime_seconds: u32,
    ) -> String {
        self.signed(&Claims {
            role: role.map(str::to_owned),
            groups: groups.to_vec(),
            ..self.claims(ISSUER, design, user, lifetime_seconds)
        })
    }

    /// A token for whoever operates the installation, to ask for one command with one body.
    pub fn make_for_operator(
        &self,
        design: &str,
        command: &str,
        body: &[u8],
        lifetime_seconds: u32,
    ) -> String {
        self.signed(&Claims {
            errand: Some(errand_of(command, body)),
            ..self.claims(OPERATOR, design, OPERATOR, lifetime_seconds)
        })
    }

    fn claims(&self, issuer: &str, design: &str, user: &str, lifetime_seconds: u32) -> Claims {
        let now = self.now_seconds();
        Claims {
            iss: issuer.to_owned(),
            aud: design.to_owned(),
            sub: user.to_owned(),
            role: None,
            groups: Vec::new(),
            errand: None,
            iat: now,
            exp: now.saturating_add(i64::from(lifetime_seconds)),
            nbf: None,
        }
    }

    fn signed(&self, claims: &Claims) -> String {
        encode(&Header::new(Algorithm::HS256), claims, &self.signing)
            .expect("plain claims are signed with a key of the right kind")
    }

    /// Who is calling, by the bearer token of a request; nobody without one.
    pub async fn verify(&self, design: &str, bearer: Option<&str>) -> Result<Verified, TokenError> {
        let Some(token) = bearer else {
            return Ok(Verified::user(Caller::anonymous()));
        };
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::Invalid);
        }
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        // What a header calls critical must be understood (RFC 7515, 4.1.11). There is no such
        // extension here.
        if header.crit.is_some() {
            return Err(TokenError::Invalid);
        }
        // The header only says whom to ask. Each then takes one algorithm and no other: a token
        // that is signed with a public key as if it were a secret fits nobody.
        match &self.issuer {
            Some(issuer) if header.alg != Algorithm::HS256 => {
                let caller = issuer.verify(&header, token, self.now_seconds()).await;
                caller.map(Verified::user)
            }
            _ => self.verify_own(design, token),
        }
    }

    fn verify_own(&self, design: &str, token: &str) -> Result<Verified, TokenError> {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER, OPERATOR]);
        validation.set_audience(&[design]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // The library asks the machine for the time; ours comes in as a parameter.
        validation.validate_exp = false;
        let claims = decode::<Claims>(token, &self.verifying, &validation)
            .map_err(|_| TokenError::Invalid)?
            .claims;
        if claims.exp <= self.now_seconds() {
            return Err(TokenError::Expired);
        }
        let is_early = claims.nbf.is_some_and(|from| from > self.now_seconds());
        // An empty name would be somebody who is signed in, and nobody in particular.
        if is_early || claims.sub.is_empty() {
            return Err(TokenError::Invalid);
        }
        if claims.iss == OPERATOR {
            return Ok(Verified {
                caller: Caller::anonymous(),
                errand: Some(claims.errand.unwrap_or_default()),
            });
        }
        Ok(Verified::user(Caller {
            id: Some(claims.sub),
            role: claims.role,
            groups: claims.groups,
        }))
    }

    fn now_seconds(&self) -> i64 {
        self.clock.now_millis().div_euclid(1000)
    }
}

#[cfg(test)]
mod tests;
