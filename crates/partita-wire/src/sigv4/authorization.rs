//! The `Authorization` header: what it says, and what of it can be right at all.

use http::request::Parts;
use http::{HeaderMap, header};

use super::{SERVICE, incomplete, invalid};
use crate::messages;
use crate::refusal::{Fault, Refusal};

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
pub(super) const TERMINATOR: &str = "aws4_request";

/// What the header must say besides its algorithm.
const PARAMETERS: [&str; 3] = ["Credential", "Signature", "SignedHeaders"];

const DATE: &str = "x-amz-date";
const TARGET: &str = "x-amz-target";

/// The header's parts, none of them believed yet.
#[derive(Debug)]
pub(super) struct Authorization<'a> {
    pub(super) algorithm: &'a str,
    pub(super) credential: &'a str,
    /// In the order of the header, which is also theirs in the canonical request.
    pub(super) signed_headers: Vec<&'a str>,
    pub(super) signature: &'a str,
    /// The time that was signed.
    pub(super) date: &'a str,
}

impl<'a> Authorization<'a> {
    /// The parts of a well-formed header.
    pub(super) fn of(head: &'a Parts) -> Result<Self, Refusal> {
        let text = text_of(&head.headers, header::AUTHORIZATION.as_str());
        let text = text.ok_or_else(missing)?.trim();
        let (algorithm, pairs) = text.split_once(' ').unwrap_or((text, ""));
        if !algorithm.starts_with("AWS4-") {
            return Err(missing());
        }
        let [credential, signature, signed] = PARAMETERS.map(|name| parameter(pairs, name));
        let date = text_of(&head.headers, DATE);
        let date = date.or_else(|| text_of(&head.headers, header::DATE.as_str()));
        match (credential, signature, signed, date) {
            (Some(credential), Some(signature), Some(signed), Some(date)) => Ok(Authorization {
                algorithm,
                credential,
                signed_headers: signed.split(';').collect(),
                signature,
                date,
            }),
            _ => {
                let is_absent = |name: &&str| parameter(pairs, name).is_none();
                let absent: Vec<_> = PARAMETERS.into_iter().filter(is_absent).collect();
                let message =
                    messages::incomplete_authorization(&absent, date.is_none(), algorithm);
                Err(incomplete(message))
            }
        }
    }

    /// What decides about a request must be under its signature. The service asks this of
    /// `Host`; we ask it of the operation and the time as well, for a signature that leaves
    /// them out could be used again for another operation.
    pub(super) fn check_signed_headers(&self, head: &Parts) -> Result<(), Refusal> {
        let is_signed = |name: &str| self.signed_headers.contains(&name);
        if !is_signed("host") {
            return Err(invalid(messages::HOST_NOT_SIGNED));
        }
        let date = if head.headers.contains_key(DATE) {
            DATE
        } else {
            "date"
        };
        for name in [date, TARGET, "content-encoding"] {
            if head.headers.contains_key(name) && !is_signed(name) {
                return Err(invalid(messages::header_not_signed(name)));
            }
        }
        Ok(())
    }

    pub(super) fn check_algorithm(&self) -> Result<(), Refusal> {
        if self.algorithm == ALGORITHM {
            Ok(())
        } else {
            Err(incomplete(messages::unsupported_algorithm(self.algorithm)))
        }
    }

    /// The credential's parts.
    pub(super) fn scope(&self) -> Result<CredentialScope<'a>, Refusal> {
        let parts: Vec<_> = self.credential.split('/').collect();
        match parts[..] {
            [access_key_id, day, region, service, terminator] => Ok(CredentialScope {
                access_key_id,
                day,
                region,
                service,
                terminator,
            }),
            _ => Err(incomplete(messages::malformed_credential(self.credential))),
        }
    }
}

/// Whose key it is, and what the signature is good for.
#[derive(Debug)]
pub(super) struct CredentialScope<'a> {
    pub(super) access_key_id: &'a str,
    pub(super) day: &'a str,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    terminator: &'a str,
}

impl CredentialScope<'_> {
    /// The scope as it is signed.
    pub(super) fn text(&self) -> String {
        let CredentialScope { day, region, .. } = self;
        format!("{day}/{region}/{}/{}", self.service, self.terminator)
    }

    /// Any region will do, for this server is in none.
    pub(super) fn check(&self, date: &str) -> Result<(), Refusal> {
        if self.service != SERVICE {
            return Err(invalid(messages::WRONG_SERVICE));
        }
        if self.terminator != TERMINATOR {
            return Err(invalid(messages::wrong_terminator(self.terminator)));
        }
        if Some(self.day) != date.get(..8) {
            return Err(invalid(messages::wrong_day(self.day, date)));
        }
        Ok(())
    }
}

/// The value of `name=value`, where pairs are divided by commas, spaces or both.
fn parameter<'a>(pairs: &'a str, name: &str) -> Option<&'a str> {
    pairs
        .split([',', ' '])
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, value)| *key == name && !value.is_empty())
        .map(|(_, value)| value)
}

fn missing() -> Refusal {
    Refusal::new(
        Fault::MissingAuthenticationToken,
        messages::MISSING_AUTHENTICATION_TOKEN,
    )
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
