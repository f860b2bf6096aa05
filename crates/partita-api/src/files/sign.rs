//! Signed URLs: what somebody may do with one object, until when, in a form that only the server
//! can make.
//!
//! The signature is an HMAC over everything that the URL allows: method, design, bucket, name,
//! type, size, caller and expiry. The caller is in it as a code, because URLs end up in logs.

use std::fmt::{self, Write as _};
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use partita_plan::KeyRing;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// The parameter that holds the signature, the last of a signed URL.
const SIGNATURE: &str = "signature";

/// The parameters of a signed URL.
pub(crate) const PARAMETERS: [&str; 6] = ["bucket", "type", "size", "for", "expires", SIGNATURE];

/// What stays as it is in a part of a path.
const PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Bytes of the code of a caller.
const CODE_BYTES: usize = 16;

/// How many bytes a URL allows: `10`, or `..10` where the exact number was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeLimit {
    Exactly(u64),
    AtMost(u64),
}

impl SizeLimit {
    /// How many there may be at most.
    pub(super) fn largest(self) -> u64 {
        match self {
            SizeLimit::Exactly(bytes) | SizeLimit::AtMost(bytes) => bytes,
        }
    }

    /// Whether so many are as many as there should be.
    pub(super) fn allows(self, count: u64) -> bool {
        match self {
            SizeLimit::Exactly(bytes) => count == bytes,
            SizeLimit::AtMost(bytes) => count <= bytes,
        }
    }
}

impl fmt::Display for SizeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeLimit::Exactly(bytes) => write!(f, "{bytes}"),
            SizeLimit::AtMost(bytes) => write!(f, "..{bytes}"),
        }
    }
}

impl FromStr for SizeLimit {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("..") {
            Some(bytes) => bytes.parse().map(SizeLimit::AtMost),
            None => text.parse().map(SizeLimit::Exactly),
        }
    }
}

/// What a URL is to allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant<'a> {
    pub(super) method: &'static str,
    pub(super) design: &'a str,
    pub(super) bucket: &'a str,
    pub(super) name: &'a str,
    pub(super) media_type: &'a str,
    pub(super) size: SizeLimit,
    pub(super) caller: Option<&'a str>,
    /// In seconds since 1970.
    pub(super) expires: i64,
}

/// What a URL allows whose signature is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signed {
    pub(super) bucket: String,
    pub(super) media_type: String,
    pub(super) size: SizeLimit,
    pub(super) expires: i64,
    code: String,
}

impl Signed {
    /// The code of the caller that the URL was made for.
    pub(super) fn caller_code(&self) -> &str {
        &self.code
    }
}

/// Makes and verifies signed URLs.
pub(super) struct Signer(Arc<KeyRing<Key>>);

/// A key that URLs are signed with.
pub(super) struct Key(Hmac<Sha256>);

/// The signing key of these bytes.
pub(super) fn key(bytes: &[u8; 32]) -> Key {
    Key(Hmac::new_from_slice(bytes).expect("an HMAC takes a key of any length"))
}

impl Signer {
    /// A signer whose first key signs. A URL that another of them signed is good too.
    pub(super) fn new(keys: Arc<KeyRing<Key>>) -> Self {
        Signer(keys)
    }

    /// The path and query of the URL that allows this.
    pub(super) fn url(&self, grant: &Grant<'_>) -> String {
        let key = &self.0.keys()[0];
        let code = key.code(grant.caller);
        let signature = key.signature(
            grant.method,
            grant.design,
            grant.name,
            &Signed {
                bucket: grant.bucket.to_owned(),
                media_type: grant.media_type.to_owned(),
                size: grant.size,
                expires: grant.expires,
                code: code.clone(),
            },
        );
        let mut url = String::new();
        for part in [grant.design, "files"]
            .into_iter()
            .chain(grant.name.split('/'))
        {
            let part = utf8_percent_encode(part, PART);
            write!(url, "/{part}").expect("writing to a string cannot fail");
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("bucket", grant.bucket)
            .append_pair("type", grant.media_type)
            .append_pair("size", &grant.size.to_string())
            .append_pair("for", &code)
            .append_pair("expires", &grant.expires.to_string())
            .append_pair(SIGNATURE, &BASE64.encode(signature));
        format!("{url}?{}", query.finish())
    }

    /// What a URL allows; `None` if it is not one of ours for this method, design and name.
    pub(super) fn verify(
        &self,
        method: &str,
        design: &str,
        name: &str,
        query: &str,
    ) -> Option<Signed> {
        let mut given: [Option<String>; 6] = Default::default();
        for (parameter, value) in form_urlencoded::parse(query.as_bytes()) {
            let at = PARAMETERS.iter().position(|known| *known == parameter)?;
            if given[at].replace(value.into_owned()).is_some() {
                return None;
            }
        }
        let [bucket, media_type, size, code, expires, signature] = given;
        let signed = Signed {
            bucket: bucket?,
            media_type: media_type?,
            size: size?.parse().ok()?,
            expires: expires?.parse().ok()?,
            code: code?,
        };
        let theirs = BASE64.decode(signature?).ok()?;
        let is_ours = self.0.keys().iter().any(|key| {
            let ours = key.signature(method, design, name, &signed);
            theirs.ct_eq(&ours).into()
        });
        is_ours.then_some(signed)
    }

    /// Whether a URL was made for this caller.
    pub(super) fn is_for(&self, signed: &Signed, caller: Option<&str>) -> bool {
        self.0.keys().iter().any(|key| {
            let ours = key.code(caller);
            signed.code.as_bytes().ct_eq(ours.as_bytes()).into()
        })
    }
}

impl Key {
    fn signature(&self, method: &str, design: &str, name: &str, signed: &Signed) -> [u8; 32] {
        let (size, expires) = (signed.size.to_string(), signed.expires.to_string());
        self.mac(&[
            "url",
            method,
            design,
            &signed.bucket,
            name,
            &signed.media_type,
            &size,
            &signed.code,
            &expires,
        ])
    }

    /// A code for a caller, the same each time, that does not reveal who it is.
    fn code(&self, caller: Option<&str>) -> String {
        let mac = match caller {
            Some(caller) => self.mac(&["caller", caller]),
            None => self.mac(&["nobody"]),
        };
        BASE64.encode(&mac[..CODE_BYTES])
    }

    /// An HMAC over texts, each with its length before it, so that no two lists look the same.
    fn mac(&self, texts: &[&str]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for text in texts {
            mac.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(text.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests;
