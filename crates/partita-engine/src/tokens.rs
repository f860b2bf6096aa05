//! Client request tokens: a transaction that is sent twice within ten minutes happens once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use partita_core::limits::CLIENT_REQUEST_TOKEN_SECONDS;

use crate::keys;
use crate::storage::{Direction, Edit, StorageError, View};

/// What is remembered of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) fingerprint: u64,
    until_millis: i64,
}

impl Remembered {
    /// A transaction that happens now.
    pub(crate) fn new(fingerprint: u64, now_millis: i64) -> Self {
        let window_millis = CLIENT_REQUEST_TOKEN_SECONDS as i64 * 1_000;
        Remembered {
            fingerprint,
            until_millis: now_millis.saturating_add(window_millis),
        }
    }

    /// Stores it.
    pub(crate) fn edit(&self, token: &str) -> Edit {
        let value = [
            self.fingerprint.to_be_bytes(),
            self.until_millis.to_be_bytes(),
        ];
        Edit::Put(keys::token(token), value.concat())
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (fingerprint, until_millis) = value.split_at_checked(8)?;
        Some(Remembered {
            fingerprint: u64::from_be_bytes(fingerprint.try_into().ok()?),
            until_millis: i64::from_be_bytes(until_millis.try_into().ok()?),
        })
    }
}

/// All tokens that are stored.
///
/// They are kept in memory, about 150 bytes each, because every transaction asks, and because
/// the first to expire must be found without reading past the traces of all that went before.
///
/// INVARIANT: these tokens are on disk. They change only after a commit.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    remembered: HashMap<Arc<str>, Remembered>,
    // Ordered by time and not by arrival, so that a token from an hour when the clock was years
    // ahead does not keep the others from going.
    by_expiry: BTreeSet<(i64, Arc<str>)>,
}

impl Tokens {
    /// Reads the tokens that are stored.
    pub(crate) fn load(view: &dyn View) -> Result<Tokens, StorageError> {
        let mut tokens = Tokens::default();
        for entry in view.range(keys::tokens(), Direction::Ascending) {
            let (key, value) = entry?;
            let token = keys::token_of(&key).zip(Remembered::read(&value));
            let (token, remembered) = token.ok_or_else(|| {
                let key = key.escape_ascii();
                StorageError::Damaged(format!("the token under `{key}` cannot be read").into())
            })?;
            tokens.add(token.into(), remembered);
        }
        Ok(tokens)
    }

    /// The transaction that used a token, until the token expires.
    pub(crate) fn find(&self, token: &str, now_millis: i64) -> Option<Remembered> {
        let remembered = self.remembered.get(token).copied();
        remembered.filter(|remembered| remembered.until_millis > now_millis)
    }

    /// The tokens that count no longer, the oldest first.
    pub(crate) fn expired(&self, now_millis: i64) -> impl Iterator<Item = &Arc<str>> {
        self.by_expiry
            .iter()
            .take_while(move |(until_millis, _)| *until_millis <= now_millis)
            .map(|(_, token)| token)
    }

    /// Adds a token, in place of an expired one of the same name.
    pub(crate) fn add(&mut self, token: Arc<str>, remembered: Remembered) {
        self.remove(&token);
        let until_millis = remembered.until_millis;
        self.by_expiry.insert((until_millis, token.clone()));
        self.remembered.insert(token, remembered);
    }

    /// Forgets a token.
    pub(crate) fn remove(&mut self, token: &Arc<str>) {
        if let Some(old) = self.remembered.remove(token) {
            self.by_expiry.remove(&(old.until_millis, token.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
