//! NextToken: where the next page begins.
//!
//! A token is bound to its statement and parameters by a code that only this process can make, so
//! that none can be forged or used for another statement. It keeps nothing secret from a caller,
//! who may read the very items that it names. With the process its key ends, and so do its tokens.

use hmac::{Hmac, KeyInit as _, Mac as _};
use partita_core::{Item, Value};
use partita_store::Entropy;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::Place;
use crate::json;
use crate::messages;
use crate::refusal::Refusal;

/// Bytes of the code in front.
const CODE_BYTES: usize = 32;

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
    pub(crate) fn seal(&self, statement: &str, parameters: &[Value], place: Place) -> String {
        let payload = json::write(&Payload {
            partition: place.partition,
            after: place.after,
        });
        let code = self.mac(statement, parameters, &payload).finalize();
        let bytes = code.into_bytes().into_iter().chain(payload);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }

    /// The place that a token stands for.
    pub(crate) fn open(
        &self,
        statement: &str,
        parameters: &[Value],
        token: &str,
    ) -> Result<Place, Refusal> {
        let opened = bytes(token).and_then(|bytes| {
            let (code, payload) = bytes.split_at_checked(CODE_BYTES)?;
            let mac = self.mac(statement, parameters, payload);
            mac.verify_slice(code).ok()?;
            serde_json::from_slice::<Payload>(payload).ok()
        });
        let Payload { partition, after } =
            opened.ok_or_else(|| Refusal::validation(messages::INVALID_NEXT_TOKEN))?;
        Ok(Place { partition, after })
    }

    fn mac(&self, statement: &str, parameters: &[Value], payload: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        let parameters = json::write(&parameters);
        // Each length tells where the next part begins.
        for part in [statement.as_bytes(), &parameters, payload] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }
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
