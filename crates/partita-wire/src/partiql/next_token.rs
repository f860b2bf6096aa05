//! NextToken: where the next page begins.
//!
//! A token carries a digest of its statement and parameters, and a code that only this process can
//! make, so that none can be forged or used for another statement. Its content is not secret: the
//! caller may read the items that it names. The key and its tokens end with the process.

use hmac::{Hmac, KeyInit as _, Mac as _};
use partita_core::{Item, Value};
use partita_store::Entropy;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::PageStart;
use crate::json;
use crate::messages;
use crate::refusal::Refusal;

/// Bytes of the code in front, and of the digest behind it.
const HASH_BYTES: usize = 32;

/// What makes and reads tokens.
pub(crate) struct NextTokens {
    key: [u8; 32],
}

#[derive(Serialize, Deserialize)]
struct Payload {
    partition: usize,
    after: Option<Item>,
}

impl NextTokens {
    pub(crate) fn new(entropy: &dyn Entropy) -> Self {
        let mut key = [0; 32];
        entropy.fill(&mut key);
        NextTokens { key }
    }

    /// The token of a place in the answer to a statement.
    pub(crate) fn seal(&self, statement: &str, parameters: &[Value], place: PageStart) -> String {
        let payload = json::write(&Payload {
            partition: place.partition,
            after: place.after,
        });
        let mut content = digest(statement, parameters);
        content.extend(payload);
        let code = self.mac(&content).finalize();
        let bytes = code.into_bytes().into_iter().chain(content);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }

    /// The place that a token names.
    pub(crate) fn open(
        &self,
        statement: &str,
        parameters: &[Value],
        token: &str,
    ) -> Result<PageStart, Refusal> {
        let opened = bytes(token).and_then(|bytes| {
            let (code, content) = bytes.split_at_checked(HASH_BYTES)?;
            self.mac(content).verify_slice(code).ok()?;
            let (digest, payload) = content.split_at_checked(HASH_BYTES)?;
            let payload = serde_json::from_slice::<Payload>(payload).ok()?;
            Some((digest.to_vec(), payload))
        });
        let Some((sealed_for, Payload { partition, after })) = opened else {
            return Err(Refusal::validation(messages::INVALID_NEXT_TOKEN));
        };
        if sealed_for != digest(statement, parameters) {
            return Err(Refusal::validation(messages::FOREIGN_NEXT_TOKEN));
        }
        Ok(PageStart { partition, after })
    }

    fn mac(&self, content: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.update(content);
        mac
    }
}

/// A digest of a statement and its parameters. A token is good for these alone.
fn digest(statement: &str, parameters: &[Value]) -> Vec<u8> {
    let mut hash = Sha256::new();
    // The length keeps the two parts apart.
    hash.update((statement.len() as u64).to_be_bytes());
    hash.update(statement);
    hash.update(json::write(&parameters));
    hash.finalize().to_vec()
}

fn bytes(token: &str) -> Option<Vec<u8>> {
    let digits = token.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        let is_pair = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
        is_pair.then(|| u8::from_str_radix(text, 16).ok())?
    };
    digits.map(byte).collect()
}

#[cfg(test)]
mod tests;
