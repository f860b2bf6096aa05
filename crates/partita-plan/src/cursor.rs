//! Where a page ended, sealed.
//!
//! A cursor is encrypted and authenticated together with the caller, the pattern and its
//! parameters: nobody can read the key in it, change it, or use it for another question.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use partita_core::{Item, Value};
use partita_store::{Clock, Entropy};
use serde::{Deserialize, Serialize};

use crate::feed::FeedPosition;
use crate::keyring::KeyRing;
use crate::operation::Caller;

const NONCE_BYTES: usize = 24;

/// How long a cursor can be used. Long enough for a person who comes back after lunch.
const LIFETIME_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// What a cursor is good for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The design, as it is served: one cursor is not good for two texts of it.
    pub design: &'a str,
    /// Who asked.
    pub caller: &'a Caller,
    /// The pattern.
    pub pattern: &'a str,
    /// Its parameters.
    pub parameters: &'a BTreeMap<String, String>,
}

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Position {
    /// Behind the item with these key attributes.
    #[serde(rename = "k")]
    Key(Item),
    /// Behind the row with these values of the sort attributes.
    #[serde(rename = "s")]
    Sorted(Vec<Option<Value>>),
    /// How far a feed has come.
    #[serde(rename = "f")]
    Feed(FeedPosition),
}

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(rename = "p")]
    position: Position,
    #[serde(rename = "u")]
    until_millis: i64,
}

/// Seals and opens cursors.
pub struct CursorSeal(Arc<KeyRing<[u8; 32]>>);

impl CursorSeal {
    /// The seal that belongs to secret keys.
    pub fn new(keys: Arc<KeyRing<[u8; 32]>>) -> Self {
        CursorSeal(keys)
    }

    /// A cursor for the next page of this question.
    pub fn seal(
        &self,
        question: &Question<'_>,
        position: Position,
        clock: &dyn Clock,
        entropy: &dyn Entropy,
    ) -> String {
        let content = Content {
            position,
            until_millis: clock.now_millis().saturating_add(LIFETIME_MILLIS),
        };
        let plain = serde_json::to_vec(&content).expect("keys and values are plain JSON");
        // A random nonce of 24 bytes does not repeat, whoever else seals with the same key.
        let mut nonce = [0; NONCE_BYTES];
        entropy.fill(&mut nonce);
        let payload = Payload {
            msg: &plain,
            aad: &bound_to(question),
        };
        let sealed = XChaCha20Poly1305::new(&self.0.keys()[0].into())
            .encrypt(&XNonce::from(nonce), payload)
            .expect("a cursor is far smaller than the cipher's limit");
        BASE64.encode([&nonce[..], &sealed].concat())
    }

    /// The position in a cursor, if it was sealed here, for this question, and is not too old.
    pub fn open(
        &self,
        question: &Question<'_>,
        cursor: &str,
        clock: &dyn Clock,
    ) -> Option<Position> {
        let bytes = BASE64.decode(cursor).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let aad = bound_to(question);
        let plain = self.0.keys().iter().find_map(|key| {
            let cipher = XChaCha20Poly1305::new(key.into());
            let payload = Payload {
                msg: sealed,
                aad: &aad,
            };
            cipher.decrypt(&XNonce::from(*nonce), payload).ok()
        })?;
        let content: Content = serde_json::from_slice(&plain).ok()?;
        (clock.now_millis() < content.until_millis).then_some(content.position)
    }
}

/// Everything that the cursor belongs to, with the length before each text, so that no two
/// questions give the same bytes.
fn bound_to(question: &Question<'_>) -> Vec<u8> {
    let caller = question.caller;
    let mut texts = vec![
        Some(question.design),
        caller.id.as_deref(),
        caller.role.as_deref(),
    ];
    // Without their number a group could pass for the pattern.
    let groups = caller.groups.len().to_string();
    texts.push(Some(&groups));
    texts.extend(caller.groups.iter().map(|group| Some(group.as_str())));
    texts.push(Some(question.pattern));
    for (name, value) in question.parameters {
        texts.extend([Some(name.as_str()), Some(value.as_str())]);
    }
    let mut bytes = Vec::new();
    for text in texts {
        match text {
            None => bytes.push(0),
            Some(text) => {
                bytes.push(1);
                bytes.extend((text.len() as u64).to_be_bytes());
                bytes.extend(text.as_bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
