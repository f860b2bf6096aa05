//! Bearer tokens: JSON web tokens.
//!
//! | module | what it holds |
//! |---|---|
//! | `token` | our own, signed with HS256 under the secret |
//! | `errand` | what a token of the operator is good for |
//! | [`issuer`] | somebody else's, signed with RS256 or ES256 |
//! | [`keys`] | the public keys that these are verified with |
//! | [`fetch`] | where the keys come from |
//!
//! Algorithms are pinned; `exp`, `iss`, `aud` and `sub` are required. The audience of our own
//! tokens is the design, so that a token for one design opens no other.

mod errand;
pub mod fetch;
pub mod issuer;
pub mod keys;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode,
};
use partita_plan::{Caller, Claims, KeyRing, Session};
use partita_store::Clock;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::secret::Secrets;

pub use errand::Errand;
pub use issuer::{Expected, Issuer};
pub use keys::{KeyError, KeySource, Keys};

const ISSUER: &str = "partita";

/// What tokens of the operator say instead.
const OPERATOR: &str = "partita-operator";

/// The longest token. Those of Cognito with many groups have a few kilobytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Makes and verifies tokens.
pub struct Tokens {
    keys: Arc<KeyRing<TokenKey>>,
    clock: Arc<dyn Clock>,
    issuer: Option<Issuer>,
    /// The operator's tokens that were used.
    used: errand::Used,
}

/// The key of our own tokens, in both forms that the library takes.
struct TokenKey {
    signing: EncodingKey,
    verifying: DecodingKey,
}

impl TokenKey {
    fn new(key: &[u8; 32]) -> Self {
        TokenKey {
            signing: EncodingKey::from_secret(key),
            verifying: DecodingKey::from_secret(key),
        }
    }
}

/// Somebody whose token was verified or whose session was found, or nobody. Only [`Tokens::verify`],
/// [`auth::identity`](crate::auth::identity) and the console's door make one, so a handler cannot be called with an
/// identity that was merely claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    caller: Caller,
    /// Of an operator: how it is known.
    operator: Option<Operator>,
    /// The session, where it is no token.
    session: Option<Session>,
    /// What another issuer says of them, where it is their token.
    claims: Option<Box<Claims>>,
}

/// How it is known that somebody operates the installation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    /// By a token that was made for this.
    Errand(errand::Given),
    /// By a credential of the console.
    Console,
}

impl Verified {
    fn user(caller: Caller) -> Self {
        Verified {
            caller,
            operator: None,
            session: None,
            claims: None,
        }
    }

    /// The operator, with a credential of the console that was found.
    pub(crate) fn of_console() -> Self {
        Verified {
            operator: Some(Operator::Console),
            ..Verified::user(Caller::anonymous())
        }
    }

    /// Somebody whose session was found.
    pub(crate) fn of_session(user: String, session: Session) -> Self {
        Verified {
            session: Some(session),
            ..Verified::user(Caller::user(user))
        }
    }

    /// The session, where it is no token.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// What another issuer says of them, where it is their token.
    pub(crate) fn claims(&self) -> Option<&Claims> {
        self.claims.as_deref()
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
        self.operator.is_some()
    }
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
    /// It was good for one request, which was sent before.
    #[error("the token was good for one request, and was used")]
    Used,
}

#[derive(Serialize, Deserialize)]
struct OwnClaims {
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
    /// Of an operator: what no other token has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    iat: i64,
    exp: i64,
    /// `partita token` makes none.
    #[serde(skip_serializing)]
    nbf: Option<i64>,
}

impl Tokens {
    /// Tokens that the first of the secrets signs, and any of them verifies.
    pub fn new(secrets: &Secrets, clock: Arc<dyn Clock>) -> Self {
        Tokens {
            keys: secrets.ring(|secret| TokenKey::new(&secret.token_key())),
            clock,
            issuer: None,
            used: errand::Used::default(),
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
        self.signed(&OwnClaims {
            role: role.map(str::to_owned),
            groups: groups.to_vec(),
            ..self.claims(ISSUER, design, user, lifetime_seconds)
        })
    }

    /// A token for whoever operates the installation, to ask one server for one command with one
    /// body, once.
    pub fn make_for_operator(&self, design: &str, errand: &Errand<'_>) -> String {
        self.signed(&OwnClaims {
            errand: Some(errand.to_string()),
            jti: Some(errand.nonce.to_owned()),
            ..self.claims(OPERATOR, design, OPERATOR, errand::SECONDS)
        })
    }

    /// Lets somebody have a command with this body carried out by the server at this port: of an
    /// operator's token, if it was made for them and was not used before.
    pub(crate) fn admit(
        &self,
        verified: &Verified,
        command: &str,
        body: &[u8],
        port: Option<u16>,
    ) -> Result<(), TokenError> {
        match &verified.operator {
            Some(Operator::Errand(given)) if !given.is_for(command, body, port) => {
                Err(TokenError::Invalid)
            }
            Some(Operator::Errand(given)) => self.used.take(given, self.now_seconds()),
            Some(Operator::Console) | None => Ok(()),
        }
    }

    fn claims(&self, issuer: &str, design: &str, user: &str, lifetime_seconds: u32) -> OwnClaims {
        let now = self.now_seconds();
        OwnClaims {
            iss: issuer.to_owned(),
            aud: design.to_owned(),
            sub: user.to_owned(),
            role: None,
            groups: Vec::new(),
            errand: None,
            jti: None,
            iat: now,
            exp: now.saturating_add(i64::from(lifetime_seconds)),
            nbf: None,
        }
    }

    fn signed(&self, claims: &OwnClaims) -> String {
        encode(
            &Header::new(Algorithm::HS256),
            claims,
            &self.keys.keys()[0].signing,
        )
        .expect("plain claims are signed with a key of the right kind")
    }

    /// Who is calling, by the bearer token of a request; nobody without one.
    pub async fn verify(&self, design: &str, bearer: Option<&str>) -> Result<Verified, TokenError> {
        let Some(token) = bearer else {
            return Ok(Verified::user(Caller::anonymous()));
        };
        let header = header_of(token)?;
        // The header only says whom to ask. Each then takes one algorithm and no other: a token
        // that is signed with a public key as if it were a secret fits nobody.
        match &self.issuer {
            Some(issuer) if header.alg != Algorithm::HS256 => {
                let shown = issuer.verify(&header, token, self.now_seconds()).await;
                let (caller, claims) = shown?;
                Ok(Verified {
                    claims: Some(Box::new(claims)),
                    ..Verified::user(caller)
                })
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
        let claims = self.keys.keys().iter().find_map(|key| {
            let decoded = decode::<OwnClaims>(token, &key.verifying, &validation);
            decoded.ok().map(|decoded| decoded.claims)
        });
        let claims = claims.ok_or(TokenError::Invalid)?;
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
                operator: Some(Operator::Errand(errand::Given {
                    errand: claims.errand.unwrap_or_default(),
                    nonce: claims.jti.unwrap_or_default(),
                    expires_seconds: claims.exp,
                })),
                ..Verified::user(Caller::anonymous())
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

/// The header of a token that is not too long.
fn header_of(token: &str) -> Result<Header, TokenError> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenError::Invalid);
    }
    let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
    if has_critical(token) {
        return Err(TokenError::Invalid);
    }
    Ok(header)
}

/// Whether a header calls something critical, which must be understood (RFC 7515, 4.1.11). There is no
/// such extension here, and a `crit` that is not a list of names is no better than one that is.
fn has_critical(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default();
    let header = BASE64.decode(header).unwrap_or_default();
    let header: Result<serde_json::Map<String, Json>, _> = serde_json::from_slice(&header);
    header.is_ok_and(|header| header.contains_key("crit"))
}

#[cfg(test)]
mod tests;
