//! The bytes of an object: what is in it, with a checksum, or encrypted.
//!
//! ```text
//! "PARTITA" 1, 0, content, SHA-256 of what identifies the object and the content
//! "PARTITA" 1, 1, 16 random bytes, sealed chunks of 64 KB, the last one shorter
//! ```
//!
//! What identifies an object is the id of its chain and its name, so one object is never taken for
//! another. A chunk is sealed with XChaCha20-Poly1305 under a key of the chain; its nonce is the
//! random bytes and its position, and it is bound to the object, its position, and whether it is the
//! last. So chunks that were left out, repeated or moved are noticed.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use partita_store::Entropy;
use secrecy::{ExposeSecret, SecretBox};
use sha2::{Digest as _, Sha256};

use crate::error::BackupError;

const MAGIC: &[u8] = b"PARTITA\x01";
const PLAIN: u8 = 0;
const SEALED: u8 = 1;
const NONCE_BYTES: usize = 16;
const CHUNK_BYTES: usize = 65_536;
const TAG_BYTES: usize = 16;
const DIGEST_BYTES: usize = 32;

/// How many bytes a key has.
pub const KEY_BYTES: usize = 32;

/// The key of somebody's backups. Each chain is sealed with one that is derived from it.
pub struct BackupKey(SecretBox<[u8; KEY_BYTES]>);

impl BackupKey {
    /// The key of these bytes, if they are as many as a key has.
    pub fn new(bytes: &[u8]) -> Option<BackupKey> {
        let bytes: [u8; KEY_BYTES] = bytes.try_into().ok()?;
        Some(BackupKey(SecretBox::new(Box::new(bytes))))
    }

    /// What tells this key from others, and nothing else of it.
    pub fn id(&self) -> String {
        let id: [u8; 8] = self.derive(&[], b"partita backup key id v1");
        hex(&id)
    }

    fn derive<const BYTES: usize>(&self, salt: &[u8], purpose: &[u8]) -> [u8; BYTES] {
        let mut derived = [0; BYTES];
        Hkdf::<Sha256>::new(Some(salt), self.0.expose_secret())
            .expand(purpose, &mut derived)
            .expect("so few bytes are within what the derivation gives");
        derived
    }
}

impl std::fmt::Debug for BackupKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BackupKey({})", self.id())
    }
}

/// Seals and opens the objects of one chain.
#[derive(Clone)]
pub(crate) struct Seal {
    chain_id: String,
    cipher: Option<XChaCha20Poly1305>,
}

impl Seal {
    /// For the chain of this id, sealed if there is a key.
    pub(crate) fn new(chain_id: &str, key: Option<&BackupKey>) -> Seal {
        let cipher = key.map(|key| {
            let derived: [u8; 32] = key.derive(chain_id.as_bytes(), b"partita backup chain v1");
            XChaCha20Poly1305::new(&derived.into())
        });
        Seal {
            chain_id: chain_id.to_owned(),
            cipher,
        }
    }

    /// The bytes of an object with this content.
    pub(crate) fn close(&self, name: &str, content: &[u8], entropy: &dyn Entropy) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(content.len() + content.len() / 1_000 + 100);
        bytes.extend(MAGIC);
        let Some(cipher) = &self.cipher else {
            bytes.push(PLAIN);
            bytes.extend(content);
            bytes.extend(self.digest(name, content));
            return bytes;
        };
        bytes.push(SEALED);
        let mut random = [0; NONCE_BYTES];
        entropy.fill(&mut random);
        bytes.extend(random);
        let count = content.len() / CHUNK_BYTES + 1;
        for position in 0..count {
            let start = position * CHUNK_BYTES;
            let end = content.len().min(start + CHUNK_BYTES);
            let payload = Payload {
                msg: &content[start..end],
                aad: &self.bound(name, position, position + 1 == count),
            };
            let sealed = cipher.encrypt(&nonce(random, position), payload);
            bytes.extend(sealed.expect("a chunk is far below what the cipher takes"));
        }
        bytes
    }

    /// The content of an object.
    pub(crate) fn open(&self, name: &str, bytes: &[u8]) -> Result<Vec<u8>, BackupError> {
        let rest = bytes.strip_prefix(MAGIC);
        let Some((mode, rest)) = rest.and_then(|rest| rest.split_first()) else {
            return Err(BackupError::damaged(
                name,
                "it does not begin as an object does",
            ));
        };
        match (*mode, &self.cipher) {
            (PLAIN, None) => self.open_plain(name, rest),
            (SEALED, Some(cipher)) => self.open_sealed(name, rest, cipher),
            (SEALED, None) => Err(BackupError::damaged(
                name,
                "it is encrypted in a chain that is not",
            )),
            (PLAIN, Some(_)) => Err(BackupError::damaged(
                name,
                "it is not encrypted in a chain that is",
            )),
            _ => Err(BackupError::damaged(
                name,
                "it does not begin as an object does",
            )),
        }
    }

    fn open_plain(&self, name: &str, rest: &[u8]) -> Result<Vec<u8>, BackupError> {
        let content = rest.len().checked_sub(DIGEST_BYTES);
        let (content, digest) = content
            .and_then(|at| rest.split_at_checked(at))
            .ok_or_else(|| BackupError::damaged(name, "it ends too early"))?;
        if self.digest(name, content)[..] != *digest {
            let reason = "its checksum is not that of an object of this name and chain";
            return Err(BackupError::damaged(name, reason));
        }
        Ok(content.to_vec())
    }

    fn open_sealed(
        &self,
        name: &str,
        rest: &[u8],
        cipher: &XChaCha20Poly1305,
    ) -> Result<Vec<u8>, BackupError> {
        let (random, rest) = rest
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or_else(|| BackupError::damaged(name, "it ends too early"))?;
        let count = rest.len() / (CHUNK_BYTES + TAG_BYTES) + 1;
        let mut content = Vec::with_capacity(rest.len());
        for position in 0..count {
            let start = position * (CHUNK_BYTES + TAG_BYTES);
            let end = rest.len().min(start + CHUNK_BYTES + TAG_BYTES);
            let payload = Payload {
                msg: &rest[start..end],
                aad: &self.bound(name, position, position + 1 == count),
            };
            let opened = cipher.decrypt(&nonce(*random, position), payload);
            let reason = "it was not sealed as an object of this name and chain";
            content.extend(opened.map_err(|_| BackupError::damaged(name, reason))?);
        }
        Ok(content)
    }

    fn digest(&self, name: &str, content: &[u8]) -> [u8; DIGEST_BYTES] {
        let mut digest = Sha256::new();
        for part in [&self.chain_id, name] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        digest.update(content);
        digest.finalize().into()
    }

    /// What a chunk is bound to.
    fn bound(&self, name: &str, position: usize, is_last: bool) -> Vec<u8> {
        let mut bound = [self.chain_id.as_bytes(), &[0], name.as_bytes(), &[0]].concat();
        bound.extend((position as u64).to_be_bytes());
        bound.push(u8::from(is_last));
        bound
    }
}

fn nonce(random: [u8; NONCE_BYTES], position: usize) -> XNonce {
    let mut nonce = [0; 24];
    nonce[..NONCE_BYTES].copy_from_slice(&random);
    nonce[NONCE_BYTES..].copy_from_slice(&(position as u64).to_be_bytes());
    nonce.into()
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use partita_store::surroundings::SystemEntropy;

    use super::*;

    fn seals() -> [Seal; 2] {
        let key = BackupKey::new(&[7; 32]).unwrap();
        [Seal::new("a chain", None), Seal::new("a chain", Some(&key))]
    }

    #[test]
    fn an_object_is_opened_as_it_was_closed_and_no_other() {
        for seal in seals() {
            for length in [0, 1, 65_535, 65_536, 65_537, 200_000] {
                let content: Vec<u8> = (0..length).map(|at: u32| at.to_le_bytes()[0]).collect();
                let bytes = seal.close("a", &content, &SystemEntropy);
                assert_eq!(seal.open("a", &bytes).unwrap(), content);
                assert!(seal.open("b", &bytes).is_err());
                let other = Seal {
                    chain_id: "another".to_owned(),
                    ..seal.clone()
                };
                assert!(other.open("a", &bytes).is_err());
            }
        }
    }

    #[test]
    fn every_flip_and_every_cut_is_noticed() {
        for seal in seals() {
            let bytes = seal.close("a", &[b'x'; 300], &SystemEntropy);
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1;
                assert!(seal.open("a", &flipped).is_err(), "flipped at {at}");
                assert!(seal.open("a", &bytes[..at]).is_err(), "cut at {at}");
            }
            let long = seal.close("a", &vec![b'x'; 2 * CHUNK_BYTES], &SystemEntropy);
            for chunks in 0..3 {
                let cut = MAGIC.len() + 1 + NONCE_BYTES + chunks * (CHUNK_BYTES + TAG_BYTES);
                let cut = cut.min(long.len() - 1);
                assert!(seal.open("a", &long[..cut]).is_err(), "{chunks} chunks");
            }
        }
    }

    #[test]
    fn another_key_opens_nothing() {
        let [_, seal] = seals();
        let bytes = seal.close("a", b"content", &SystemEntropy);
        let key = BackupKey::new(&[8; 32]).unwrap();
        let refused = Seal::new("a chain", Some(&key)).open("a", &bytes);
        assert!(refused.unwrap_err().to_string().contains("`a`"));
        assert!(BackupKey::new(&[1; 31]).is_none());
    }
}
