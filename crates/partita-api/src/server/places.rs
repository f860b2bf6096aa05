//! Places for connections: of all, of one address, and a few that are kept.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tracing::warn;

use super::Limits;

/// The places of a server.
pub(super) struct Places {
    /// All of them, those that are kept included.
    all: Arc<Semaphore>,
    count: usize,
    /// Those for everybody.
    open: Arc<Semaphore>,
    addresses: Arc<Addresses>,
    trusted: Vec<IpAddr>,
    /// The connections on kept places that may not have asked for anything yet, the oldest first.
    waiting: Mutex<VecDeque<Weak<Silence>>>,
    /// Whether it was said that there are no places, so that it is said once and not for each.
    is_full: AtomicBool,
}

/// The place of one connection. It is free again when this is dropped.
pub(super) struct ConnectionPlace {
    open: Option<OwnedSemaphorePermit>,
    silence: Arc<Silence>,
    _any: OwnedSemaphorePermit,
    of_address: Option<OfAddress>,
}

/// A connection that has not asked for anything yet, and may be ended for another one.
#[derive(Default)]
struct Silence {
    is_over: AtomicBool,
    ended: Notify,
}

impl Places {
    pub(super) fn new(limits: &Limits) -> Self {
        Places {
            all: Arc::new(Semaphore::new(limits.connections + limits.reserved)),
            count: limits.connections + limits.reserved,
            open: Arc::new(Semaphore::new(limits.connections)),
            addresses: Arc::new(Addresses {
                most: limits.per_address,
                counts: Mutex::default(),
                is_told: AtomicBool::new(false),
            }),
            trusted: limits.trusted.iter().map(|it| it.to_canonical()).collect(),
            waiting: Mutex::default(),
            is_full: AtomicBool::new(false),
        }
    }

    /// Waits until there is a place. No other connection takes one meanwhile. On the reserved
    /// places, silent connections make room: they would keep health checks out.
    pub(super) async fn any_left(&self) {
        if self.all.available_permits() == 0 {
            self.end_silent();
        }
        let place = self.all.acquire().await;
        drop(place.expect("the semaphore is never closed"));
    }

    /// Ends the oldest connection on a kept place that has asked for nothing yet.
    fn end_silent(&self) {
        let mut waiting = self.waiting();
        while let Some(silence) = waiting.pop_front() {
            if let Some(silence) = silence.upgrade()
                && !silence.is_over.load(Ordering::Relaxed)
            {
                silence.ended.notify_one();
                return;
            }
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<Weak<Silence>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all places are free.
    pub(super) async fn all_free(&self) {
        let all = u32::try_from(self.count).unwrap_or(u32::MAX);
        let places = self.all.acquire_many(all).await;
        drop(places.expect("the semaphore is never closed"));
    }

    /// A place for a connection from this address, unless it has as many as one may have.
    pub(super) fn take(&self, address: IpAddr) -> Option<ConnectionPlace> {
        let address = address.to_canonical();
        let of_address = if self.trusted.contains(&address) {
            None
        } else {
            Some(Addresses::take(&self.addresses, network(address))?)
        };
        let any = self.all.clone().try_acquire_owned().ok()?;
        let open = self.open.clone().try_acquire_owned().ok();
        let was_full = self.is_full.swap(open.is_none(), Ordering::Relaxed);
        if open.is_none() && !was_full {
            warn!("all connections are taken: further ones are answered only what operators ask");
        }
        let silence = Arc::new(Silence::default());
        if open.is_none() {
            let mut waiting = self.waiting();
            // INVARIANT: there are no more than kept places, because those that have ended leave.
            waiting.retain(|one| one.strong_count() > 0);
            waiting.push_back(Arc::downgrade(&silence));
        }
        Some(ConnectionPlace {
            open,
            silence,
            _any: any,
            of_address,
        })
    }
}

impl ConnectionPlace {
    /// The connection asks for something, and is not ended for another one any more.
    pub(super) fn has_asked(&self) {
        self.silence.is_over.store(true, Ordering::Relaxed);
    }

    /// Waits until the connection is to end for another one.
    pub(super) async fn ended(&self) {
        self.silence.ended.notified().await;
    }

    /// The address or network that has it, unless that is a proxy.
    pub(super) fn network(&self) -> Option<IpAddr> {
        self.of_address.as_ref().map(|of| of.network)
    }

    /// Whether it is one of those that are kept.
    pub(super) fn is_reserved(&self) -> bool {
        self.open.is_none()
    }
}

/// How many connections each address has.
struct Addresses {
    most: usize,
    // INVARIANT: no count is 0, so that there are as many as there are connections at most.
    counts: Mutex<HashMap<IpAddr, usize>>,
    /// Whether it was said that one has too many.
    is_told: AtomicBool,
}

struct OfAddress {
    addresses: Arc<Addresses>,
    network: IpAddr,
}

impl Addresses {
    fn take(addresses: &Arc<Addresses>, network: IpAddr) -> Option<OfAddress> {
        let mut counts = addresses
            .counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(network).or_default();
        if *count >= addresses.most {
            let most = addresses.most;
            if !addresses.is_told.swap(true, Ordering::Relaxed) {
                warn!(%network, most, "an address has all the connections that one may have; if it is a proxy, say so with --trusted-proxy");
            }
            return None;
        }
        *count += 1;
        drop(counts);
        Some(OfAddress {
            addresses: addresses.clone(),
            network,
        })
    }
}

impl Drop for OfAddress {
    fn drop(&mut self) {
        let counts = self.addresses.counts.lock();
        let mut counts = counts.unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.network);
                self.addresses.is_told.store(false, Ordering::Relaxed);
            }
        }
    }
}

/// What is counted as one: an address, or the network of 64 bits that a host has of IPv6.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => {
            let [one, two, three, four, ..] = six.segments();
            IpAddr::V6(Ipv6Addr::new(one, two, three, four, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn places(connections: usize, reserved: usize, per_address: usize) -> Places {
        Places::new(&Limits {
            connections,
            reserved,
            per_address,
            ..Limits::default()
        })
    }

    #[test]
    fn an_address_has_so_many_and_a_proxy_more() {
        let places = places(100, 1, 2);
        let take = |address: &str| places.take(address.parse().unwrap());
        for (one, same) in [
            ("10.0.0.1", "10.0.0.1"),
            ("127.0.0.2", "::ffff:127.0.0.2"),
            ("2001:db8::1", "2001:db8::ffff:0:1"),
        ] {
            let held = [take(one).unwrap(), take(same).unwrap()];
            assert!(take(one).is_none(), "{one}");
            drop(held);
            assert!(take(same).is_some(), "{same}");
        }
        assert!(places.addresses.counts.lock().unwrap().is_empty());
        for trusted in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let held = [(); 5].map(|()| take(trusted));
            assert!(held.iter().all(Option::is_some), "{trusted}");
        }
    }

    #[tokio::test]
    async fn the_last_places_are_kept() {
        let places = places(1, 1, 9);
        let take = || places.take(IpAddr::from([10, 0, 0, 1]));
        let first = take().unwrap();
        let second = take().unwrap();
        assert!(!first.is_reserved() && second.is_reserved());
        assert!(take().is_none());
        drop(first);
        places.any_left().await;
        assert!(!take().unwrap().is_reserved());
    }

    #[tokio::test]
    async fn a_silent_connection_makes_room_on_the_kept_places() {
        let places = places(0, 2, 9);
        let take = || places.take(IpAddr::from([10, 0, 0, 1])).unwrap();
        let (asking, silent) = (take(), take());
        asking.has_asked();
        let room = places.any_left();
        let leave = async {
            silent.ended().await;
            drop(silent);
        };
        tokio::join!(room, leave);
        assert!(places.waiting().iter().all(|one| one.strong_count() == 0));
        assert!(asking.ended().now_or_never().is_none());
    }
}
