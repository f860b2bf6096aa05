//! The secrets of an installation, and the keys derived from them.

use std::sync::{Arc, Mutex, PoisonError};

use hkdf::Hkdf;
use partita_plan::KeyRing;
use secrecy::{ExposeSecret, SecretBox};
use sha2::Sha256;

/// How many bytes a secret must have at least.
pub const SECRET_BYTES_MIN: usize = 32;

/// The secrets of an installation: the first signs and seals, all are accepted. They are shared by
/// all processes that serve the same data, never printed, and used only to derive keys. A clone is
/// the same secrets.
#[derive(Clone)]
pub struct Secrets(Arc<Shared>);

struct Shared {
    list: Mutex<Vec<Secret>>,
    /// Derive the keys of each purpose anew.
    rings: Mutex<Vec<Derive>>,
}

type Derive = Box<dyn Fn(&[Secret]) + Send + Sync>;

/// One secret.
pub(crate) struct Secret(SecretBox<Vec<u8>>);

/// Why secrets cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// One is too short.
    #[error("a secret has at least {SECRET_BYTES_MIN} bytes, and this one has {bytes}")]
    TooShort {
        /// How many it has.
        bytes: usize,
    },
    /// There is none.
    #[error("there is no secret")]
    None,
}

impl Secrets {
    /// One secret.
    pub fn one(bytes: Vec<u8>) -> Result<Self, SecretError> {
        Secrets::new(vec![bytes])
    }

    /// Several, of which the first signs.
    pub fn new(list: Vec<Vec<u8>>) -> Result<Self, SecretError> {
        Ok(Secrets(Arc::new(Shared {
            list: Mutex::new(checked(list)?),
            rings: Mutex::default(),
        })))
    }

    /// Replaces the secrets. All keys that were derived from them follow.
    pub fn replace(&self, list: Vec<Vec<u8>>) -> Result<(), SecretError> {
        let new = checked(list)?;
        let mut list = self.0.list.lock().unwrap_or_else(PoisonError::into_inner);
        *list = new;
        let rings = self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
        for derive in rings.iter() {
            derive(&list);
        }
        Ok(())
    }

    /// The keys that cursors are sealed with.
    pub fn cursor_keys(&self) -> Arc<KeyRing<[u8; 32]>> {
        self.ring(|secret| secret.derive(b"partita cursor v1"))
    }

    /// The keys of one purpose, derived from each secret, now and whenever the secrets are replaced.
    pub(crate) fn ring<K: Send + Sync + 'static>(
        &self,
        derive: impl Fn(&Secret) -> K + Send + Sync + 'static,
    ) -> Arc<KeyRing<K>> {
        let list = self.0.list.lock().unwrap_or_else(PoisonError::into_inner);
        let ring = Arc::new(KeyRing::new(derive(&list[0])));
        let derived = ring.clone();
        let derive: Derive =
            Box::new(move |list| derived.replace(list.iter().map(&derive).collect()));
        derive(&list);
        let mut rings = self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.push(derive);
        ring
    }
}

fn checked(list: Vec<Vec<u8>>) -> Result<Vec<Secret>, SecretError> {
    if list.is_empty() {
        return Err(SecretError::None);
    }
    list.into_iter().map(Secret::new).collect()
}

impl Secret {
    fn new(bytes: Vec<u8>) -> Result<Self, SecretError> {
        if bytes.len() < SECRET_BYTES_MIN {
            return Err(SecretError::TooShort { bytes: bytes.len() });
        }
        Ok(Secret(SecretBox::new(Box::new(bytes))))
    }

    /// The key that tokens are signed with.
    pub(crate) fn token_key(&self) -> [u8; 32] {
        self.derive(b"partita token v1")
    }

    /// The key that URLs of files are signed with.
    pub(crate) fn file_key(&self) -> [u8; 32] {
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

/// What a secret is called: nothing of it can be learned from that.
pub fn name_of(secret: &[u8]) -> Result<String, SecretError> {
    let id = Secret::new(secret.to_vec())?.derive(b"partita secret name v1");
    Ok(format!(
        "{:02x}{:02x}{:02x}{:02x}",
        id[0], id[1], id[2], id[3]
    ))
}
