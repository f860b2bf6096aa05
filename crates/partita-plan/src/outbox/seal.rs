//! Texts of mails, sealed from the transaction that records them to their delivery.

use std::sync::Arc;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest as _, Sha256};

use crate::keyring::KeyRing;

const NONCE_BYTES: usize = 24;

/// Seals and opens texts.
pub(crate) struct TextSeal(Arc<KeyRing<[u8; 32]>>);

impl TextSeal {
    /// The seal of processes that share keys for cursors.
    pub(crate) fn new(cursor_keys: Arc<KeyRing<[u8; 32]>>) -> Self {
        TextSeal(cursor_keys)
    }

    /// Seals the text of the message with that id. Planning draws nothing, so that the nonce is made
    /// of what was drawn for the attempt, and of the text: another text has another nonce.
    pub(crate) fn seal(&self, id: &str, random: u128, text: &str) -> Vec<u8> {
        let digest = Sha256::new()
            .chain_update(random.to_be_bytes())
            .chain_update(id.as_bytes())
            .chain_update(text.as_bytes())
            .finalize();
        let mut nonce = [0; NONCE_BYTES];
        nonce.copy_from_slice(&digest[..NONCE_BYTES]);
        let payload = Payload {
            msg: text.as_bytes(),
            aad: id.as_bytes(),
        };
        let sealed = cipher(&self.0.keys()[0])
            .encrypt(&XNonce::from(nonce), payload)
            .expect("a text is far smaller than the cipher's limit");
        [&nonce[..], &sealed].concat()
    }

    /// The text, if it was sealed under one of the secrets for the message with that id.
    pub(crate) fn open(&self, id: &str, bytes: &[u8]) -> Option<String> {
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let text = self.0.keys().iter().find_map(|key| {
            let payload = Payload {
                msg: sealed,
                aad: id.as_bytes(),
            };
            cipher(key).decrypt(&XNonce::from(*nonce), payload).ok()
        })?;
        String::from_utf8(text).ok()
    }
}

/// Cursors and texts have different keys.
fn cipher(cursor_key: &[u8; 32]) -> XChaCha20Poly1305 {
    let key = Sha256::new()
        .chain_update(b"partita outbox v1")
        .chain_update(cursor_key)
        .finalize();
    XChaCha20Poly1305::new(&<[u8; 32]>::from(key).into())
}
