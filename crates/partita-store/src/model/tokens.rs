//! The tokens of transactions that were carried out, for as long as they count.

use std::collections::{HashMap, VecDeque};

use partita_core::limits::CLIENT_REQUEST_TOKEN_SECONDS;

/// What is known of the transactions of the last ten minutes.
#[derive(Default)]
pub(super) struct Tokens {
    /// By token: the transaction's fingerprint, and until when it counts.
    known: HashMap<String, (u64, i64)>,
    /// In the order in which they came, which is mostly the one in which they end.
    ending: VecDeque<(i64, String)>,
}

impl Tokens {
    /// The fingerprint of the transaction that was carried out under a token.
    pub(super) fn get(&self, token: &str, now_millis: i64) -> Option<u64> {
        let known = self.known.get(token);
        let known = known.filter(|(_, until)| *until > now_millis);
        known.map(|(fingerprint, _)| *fingerprint)
    }

    /// Keeps a token, and forgets those that count no more.
    pub(super) fn keep(&mut self, token: String, fingerprint: u64, now_millis: i64) {
        self.forget(now_millis);
        let until = now_millis.saturating_add(CLIENT_REQUEST_TOKEN_SECONDS as i64 * 1000);
        self.ending.push_back((until, token.clone()));
        self.known.insert(token, (fingerprint, until));
    }

    /// Looks only at those whose turn it is: each transaction comes by here.
    fn forget(&mut self, now_millis: i64) {
        while let Some((until, token)) = self.ending.pop_front_if(|(until, _)| *until <= now_millis)
        {
            // It may have been kept again since.
            if self
                .known
                .get(&token)
                .is_some_and(|(_, last)| *last == until)
            {
                self.known.remove(&token);
            }
        }
    }
}
