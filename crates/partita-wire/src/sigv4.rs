//! AWS's Signature Version 4: who sent a request, and that it arrived unchanged.
//!
//! ```text
//! canonical request = method, path, query, signed headers, hash of the body
//! string to sign    = algorithm, time, scope (day/region/service), hash of the canonical request
//! signature         = HMAC(key derived from the secret and the scope, string to sign)
//! ```
//!
//! Everything here is a pure function of the request's head, its body and the time.

mod authorization;
mod canonical;
mod date;

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::request::Parts;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use self::authorization::{Authorization, CredentialScope};
use self::canonical::{canonical_request, hex};
use crate::messages;
use crate::neighbour;
use crate::refusal::{Fault, Refusal};

/// How far a client's clock may be off, either way.
pub const SKEW_SECONDS_MAX: i64 = 15 * 60;

const SERVICE: &str = "dynamodb";

/// Where some clients say which hash of the body they have signed.
const BODY_HASH: &str = "x-amz-content-sha256";

/// The access key that requests must be signed with.
#[derive(Clone)]
pub struct Credentials {
    access_key_id: String,
    secret_access_key: SecretString,
}

impl Credentials {
    /// A key and its secret.
    pub fn new(access_key_id: impl Into<String>, secret_access_key: SecretString) -> Self {
        Credentials {
            access_key_id: access_key_id.into(),
            secret_access_key,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

/// Proof that a request may be carried out. Only [`authenticate`] makes one, and no operation
/// runs without.
#[derive(Debug)]
pub(crate) struct Verified(());

/// Lets a request pass whose signature is right. Where no credentials are configured there is
/// nothing to verify it with, and a well-formed one will do if it comes from this machine: clients
/// always send one.
pub(crate) fn authenticate(
    credentials: Option<&Credentials>,
    head: &Parts,
    body: &[u8],
    now_millis: i64,
) -> Result<Verified, Refusal> {
    let authorization = Authorization::of(head)?;
    match credentials {
        Some(credentials) => verify(credentials, &authorization, head, body, now_millis)?,
        None => neighbour::check(&head.headers)?,
    }
    Ok(Verified(()))
}

/// What is known of a request before its body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The signature is right, or there is nothing to verify it with. Whether the body is the one
    /// that was signed is found out when it is there.
    Known,
    /// The signature may be right: it covers a hash of the body, which is not read yet.
    Unknown,
}

/// Refuses what cannot be right whatever the body is.
pub(crate) fn admit(
    credentials: Option<&Credentials>,
    head: &Parts,
    now_millis: i64,
) -> Result<Admission, Refusal> {
    let authorization = Authorization::of(head)?;
    let Some(credentials) = credentials else {
        neighbour::check(&head.headers)?;
        return Ok(Admission::Known);
    };
    let scope = check_claims(credentials, &authorization, head, now_millis)?;
    let claimed = head.headers.get(BODY_HASH).and_then(|it| it.to_str().ok());
    let Some(claimed) = claimed else {
        return Ok(Admission::Unknown);
    };
    let verified = check_signature(credentials, &authorization, &scope, head, claimed);
    // An unsigned hash is no reason to refuse a request: its signature may cover the real one.
    Ok(match verified {
        Ok(()) => Admission::Known,
        Err(_) => Admission::Unknown,
    })
}

fn verify(
    credentials: &Credentials,
    authorization: &Authorization<'_>,
    head: &Parts,
    body: &[u8],
    now_millis: i64,
) -> Result<(), Refusal> {
    let scope = check_claims(credentials, authorization, head, now_millis)?;
    // The body is hashed here and not taken from `x-amz-content-sha256`, which is only a claim.
    let body_hash = sha256_hex(body);
    check_signature(credentials, authorization, &scope, head, &body_hash)
}

/// The checks in the order in which the service makes them.
fn check_claims<'h>(
    credentials: &Credentials,
    authorization: &Authorization<'h>,
    head: &Parts,
    now_millis: i64,
) -> Result<CredentialScope<'h>, Refusal> {
    date::check_skew(authorization.date, now_millis.div_euclid(1000))?;
    authorization.check_signed_headers(head)?;
    authorization.check_algorithm()?;
    let scope = authorization.scope()?;
    scope.check(authorization.date)?;
    if scope.access_key_id != credentials.access_key_id {
        return Err(Refusal::new(
            Fault::UnrecognizedClient,
            messages::UNRECOGNIZED_CLIENT,
        ));
    }
    Ok(scope)
}

fn check_signature(
    credentials: &Credentials,
    authorization: &Authorization<'_>,
    scope: &CredentialScope<'_>,
    head: &Parts,
    body_hash: &str,
) -> Result<(), Refusal> {
    let canonical = canonical_request(head, &authorization.signed_headers, body_hash)?;
    let text = string_to_sign(authorization.date, &scope.text(), &canonical);
    let key = signing_key(credentials, scope.day, scope.region, scope.service);
    let signature = sign(&key, &text);
    // In constant time: the delay of the answer must not show how many bytes of a guess are right.
    if bool::from(
        signature
            .as_bytes()
            .ct_eq(authorization.signature.as_bytes()),
    ) {
        Ok(())
    } else {
        Err(invalid(messages::SIGNATURE_DOES_NOT_MATCH))
    }
}

fn string_to_sign(date: &str, scope: &str, canonical: &str) -> String {
    let hash = sha256_hex(canonical.as_bytes());
    format!("{}\n{date}\n{scope}\n{hash}", authorization::ALGORITHM)
}

fn signing_key(credentials: &Credentials, day: &str, region: &str, service: &str) -> [u8; 32] {
    let secret = SecretString::from(format!(
        "AWS4{}",
        credentials.secret_access_key.expose_secret()
    ));
    let day = hmac(secret.expose_secret().as_bytes(), day);
    let region = hmac(&day, region);
    let service = hmac(&region, service);
    hmac(&service, authorization::TERMINATOR)
}

fn sign(key: &[u8], text: &str) -> String {
    hex(&hmac(key, text))
}

fn hmac(key: &[u8], text: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().into()
}

fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Fault::InvalidSignature, message)
}

fn incomplete(message: impl Into<String>) -> Refusal {
    Refusal::new(Fault::IncompleteSignature, message)
}

#[cfg(test)]
mod tests;
