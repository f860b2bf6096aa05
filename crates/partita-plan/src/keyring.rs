//! Keys that can be replaced while they are in use.

use std::sync::{Arc, PoisonError, RwLock};

/// The keys of one purpose. The first signs or seals; what any of them signed or sealed is accepted,
/// so that a new key voids nothing.
pub struct KeyRing<K>(RwLock<Arc<[K]>>);

impl<K> KeyRing<K> {
    /// A ring of one key.
    pub fn new(key: K) -> Self {
        KeyRing(RwLock::new([key].into()))
    }

    /// The keys as they are now, at least one.
    pub fn keys(&self) -> Arc<[K]> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces the keys. The first signs from now on. Without a key nothing changes.
    pub fn replace(&self, keys: Arc<[K]>) {
        if !keys.is_empty() {
            *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys;
        }
    }
}
