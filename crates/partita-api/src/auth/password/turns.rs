//! Whose turn it is to have a password hashed.
//!
//! A hash costs so much that a few at a time are all that a server has. Who asks is ranked by how
//! many hashes are asked for already, at work or waiting, from the same address or for the same
//! account. So whoever asks for many waits behind everybody who asks for one, however many they are,
//! and whether their passwords are right or wrong.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// For whom a password is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Where the request comes from, if that is known.
    pub client: Option<IpAddr>,
    /// The login that it is about, whether there is such an account or not.
    pub account: String,
}

/// The places, and who waits for one.
pub(super) struct Turns {
    state: Mutex<State>,
}

struct State {
    free: usize,
    arrivals: u64,
    /// By rank, and of one rank by arrival.
    waiting: BTreeMap<(usize, u64), Waiting>,
    /// What is asked for by each address and for each account, at work or waiting.
    by_client: HashMap<IpAddr, usize>,
    by_account: HashMap<String, usize>,
}

struct Waiting {
    asker: Asker,
    told: oneshot::Sender<Turn>,
}

/// A place. When it is dropped, the next one has it.
pub(super) struct Turn {
    turns: Arc<Turns>,
    asker: Asker,
}

/// A request in the queue. Dropping it takes it out.
struct Place<'t> {
    turns: &'t Turns,
    key: (usize, u64),
}

impl State {
    fn rank(&self, asker: &Asker) -> usize {
        let of_client = asker
            .client
            .and_then(|client| self.by_client.get(&client))
            .copied();
        let of_account = self.by_account.get(&asker.account).copied();
        of_client.max(of_account).unwrap_or_default()
    }

    fn count(&mut self, asker: &Asker) {
        if let Some(client) = asker.client {
            *self.by_client.entry(client).or_default() += 1;
        }
        *self.by_account.entry(asker.account.clone()).or_default() += 1;
    }

    fn discount(&mut self, asker: &Asker) {
        if let Some(client) = asker.client
            && let Some(count) = self.by_client.get_mut(&client)
        {
            *count -= 1;
            if *count == 0 {
                self.by_client.remove(&client);
            }
        }
        if let Some(count) = self.by_account.get_mut(&asker.account) {
            *count -= 1;
            if *count == 0 {
                self.by_account.remove(&asker.account);
            }
        }
    }
}

impl Turns {
    /// So many places.
    pub(super) fn new(places: usize) -> Arc<Turns> {
        Arc::new(Turns {
            state: Mutex::new(State {
                free: places,
                arrivals: 0,
                waiting: BTreeMap::new(),
                by_client: HashMap::new(),
                by_account: HashMap::new(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place; none if there are none any more.
    pub(super) async fn take(self: &Arc<Self>, asker: Asker) -> Option<Turn> {
        let (told, key) = {
            let mut state = self.state();
            let rank = state.rank(&asker);
            state.count(&asker);
            if state.free > 0 {
                state.free -= 1;
                let turns = self.clone();
                return Some(Turn { turns, asker });
            }
            state.arrivals += 1;
            let key = (rank, state.arrivals);
            let (sender, told) = oneshot::channel();
            let waiting = Waiting {
                asker,
                told: sender,
            };
            state.waiting.insert(key, waiting);
            (told, key)
        };
        let _place = Place { turns: self, key };
        told.await.ok()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        if let Some(waiting) = state.waiting.remove(&self.key) {
            state.discount(&waiting.asker);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut state = self.turns.state();
            state.discount(&self.asker);
            let next = state.waiting.pop_first();
            if next.is_none() {
                state.free += 1;
            }
            next
        };
        if let Some((_, Waiting { asker, told })) = next {
            let turns = self.turns.clone();
            // Who has just given up drops it, and so passes it on.
            drop(told.send(Turn { turns, asker }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::future::FutureExt as _;

    use super::*;

    fn asker(client: &str, account: &str) -> Asker {
        Asker {
            client: client.parse().ok(),
            account: account.to_owned(),
        }
    }

    /// Fifty requests of one kind have both places and wait for more. Says whether another one is
    /// next.
    fn is_next(many: impl Fn(usize) -> Asker, one: Asker) -> bool {
        let turns = Turns::new(2);
        let mut held = Vec::new();
        for number in 0..2 {
            held.push(turns.take(many(number)).now_or_never().unwrap());
        }
        let mut others: Vec<_> = (2..50)
            .map(|number| Box::pin(turns.take(many(number))))
            .collect();
        for other in &mut others {
            assert!(other.now_or_never().is_none());
        }
        let mut one = pin!(turns.take(one));
        assert!((&mut one).now_or_never().is_none());
        held.pop();
        (&mut one).now_or_never().is_some()
    }

    #[test]
    fn one_address_does_not_keep_others_out() {
        let eve = |number| asker("192.0.2.6", &format!("eve{number}@example.org"));
        assert!(is_next(eve, asker("192.0.2.9", "ann@example.org")));
        assert!(is_next(eve, asker("unknown", "ann@example.org")));
    }

    #[test]
    fn one_account_does_not_keep_others_out() {
        let eve = |number: usize| asker(&format!("192.0.2.{number}"), "eve@example.org");
        assert!(is_next(eve, asker("198.51.100.1", "ann@example.org")));
    }

    #[test]
    fn among_equals_the_first_is_next() {
        let all = |number: usize| asker(&format!("192.0.2.{number}"), &format!("u{number}"));
        assert!(!is_next(all, asker("198.51.100.1", "ann@example.org")));
    }

    #[test]
    fn a_place_goes_on_when_somebody_gives_up() {
        let turns = Turns::new(1);
        let held = turns
            .take(asker("192.0.2.1", "ann"))
            .now_or_never()
            .unwrap();
        let mut gone = Box::pin(turns.take(asker("192.0.2.2", "bob")));
        let mut next = Box::pin(turns.take(asker("192.0.2.3", "cyd")));
        assert!((&mut gone).now_or_never().is_none());
        assert!((&mut next).now_or_never().is_none());
        // The place is on its way to somebody who does not wait any more.
        drop(held);
        drop(gone);
        let next = (&mut next).now_or_never().unwrap();
        drop(next);
        let state = turns.state();
        assert_eq!((state.free, state.waiting.len()), (1, 0));
        assert!(state.by_client.is_empty() && state.by_account.is_empty());
    }
}
