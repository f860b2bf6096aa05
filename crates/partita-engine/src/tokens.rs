//! Client request tokens: a transaction that is sent twice within ten minutes happens once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use partita_core::limits::CLIENT_REQUEST_TOKEN_SECONDS;
use xxhash_rust::xxh3::xxh3_128;

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
/// They are kept in memory, because every transaction asks, and because the first to expire must be
/// found without reading past the traces of all that went before. Each takes about 95 bytes where
/// there are many: 32 in a map of at least 7/16 of its room, its text, and a part of what those of
/// the same millisecond share.
///
/// INVARIANT: these tokens are on disk. They change only after a commit.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    remembered: HashMap<u128, Remembered>,
    // Ordered by time and not by arrival, so that a token from an hour when the clock was years
    // ahead does not keep the others from going.
    by_expiry: BTreeMap<i64, Texts>,
}

/// Texts one behind the other, each with its length before it.
#[derive(Debug, Default)]
struct Texts(Vec<u8>);

impl Texts {
    const LENGTH_BYTES: usize = size_of::<u16>();

    fn push(&mut self, text: &str) {
        let length = u16::try_from(text.len()).expect("a token has at most 36 characters");
        self.0.reserve_exact(Texts::LENGTH_BYTES + text.len());
        self.0.extend(length.to_be_bytes());
        self.0.extend(text.as_bytes());
    }

    /// The texts in their order, each with the place of its length.
    fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (length, rest) = self.0.get(at..)?.split_first_chunk()?;
            let text = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
            let begin = at;
            at += Texts::LENGTH_BYTES + text.len();
            Some((begin, std::str::from_utf8(text).ok()?))
        })
    }

    fn remove(&mut self, text: &str) {
        let found = self.iter().find(|(_, known)| *known == text);
        if let Some((begin, _)) = found {
            let end = begin + Texts::LENGTH_BYTES + text.len();
            self.0.drain(begin..end);
        }
    }
}

/// What a token is remembered by. It need not be secret, and two of the tokens of ten minutes are not
/// the same in 128 bits.
fn digest(token: &str) -> u128 {
    xxh3_128(token.as_bytes())
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
            tokens.add(token, remembered);
        }
        Ok(tokens)
    }

    /// The transaction that used a token, until the token expires.
    pub(crate) fn find(&self, token: &str, now_millis: i64) -> Option<Remembered> {
        let remembered = self.remembered.get(&digest(token)).copied();
        remembered.filter(|remembered| remembered.until_millis > now_millis)
    }

    /// The tokens that count no longer, the oldest first.
    pub(crate) fn expired(&self, now_millis: i64) -> impl Iterator<Item = &str> {
        let expired = self.by_expiry.range(..=now_millis);
        expired.flat_map(|(_, texts)| texts.iter().map(|(_, text)| text))
    }

    /// Adds a token, in place of an expired one of the same name.
    pub(crate) fn add(&mut self, token: &str, remembered: Remembered) {
        self.remove(token);
        let texts = self.by_expiry.entry(remembered.until_millis).or_default();
        texts.push(token);
        self.remembered.insert(digest(token), remembered);
    }

    /// Forgets a token.
    pub(crate) fn remove(&mut self, token: &str) {
        let Some(old) = self.remembered.remove(&digest(token)) else {
            return;
        };
        if let Entry::Occupied(mut texts) = self.by_expiry.entry(old.until_millis) {
            texts.get_mut().remove(token);
            if texts.get().0.is_empty() {
                texts.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests;
