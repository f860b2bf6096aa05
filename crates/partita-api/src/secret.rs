//! The one secret, and the keys derived from it.

use hkdf::Hkdf;
use secrecy::{ExposeSecret, SecretBox};
use sha2::Sha256;

/// How many bytes a secret must have at least.
pub const SECRET_BYTES_MIN: usize = 32;

/// The secret of an installation. It is shared by all processes that serve the same data, never
/// printed, and used only to derive other keys.
pub struct Secret(SecretBox<Vec<u8>>);

/// Too few bytes for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret has at least {SECRET_BYTES_MIN} bytes, and this one has {bytes}")]
pub struct SecretTooShort {
    /// How many it has.
    pub bytes: usize,
}

impl Secret {
    /// The secret of these bytes.
    pub fn new(bytes: Vec<u8>) -> Result<Self, SecretTooShort> {
        if bytes.len() < SECRET_BYTES_MIN {
            return Err(SecretTooShort { bytes: bytes.len() });
        }
        Ok(Secret(SecretBox::new(Box::new(bytes))))
    }

    /// The key that tokens are signed with.
    pub fn token_key(&self) -> [u8; 32] {
        self.derive(b"partita token v1")
    }

    /// The key that cursors are sealed with.
    pub fn cursor_key(&self) -> [u8; 32] {
        self.derive(b"partita cursor v1")
    }

    /// The key that URLs of files are signed with.
    pub fn file_key(&self) -> [u8; 32] {
        self.derive(b"partita file v1")
    }

    /// One key for each purpose, so that nothing made for one can be used for another.
    fn derive(&self, purpose: &[u8]) -> [u8; 32] {
        let mut key = [0; 32];
        Hkdf::<Sha256>::new(None, self.0.expose_secret())
            .expand(purpose, &mut key)
            .expect("32 bytes are within what the derivation gives");
        key
    }
}
