//! Objects that know their bytes by a number, in a process that can die at every one of its steps.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use partita_plan::{Copied, Objects, ObjectsError};
use partita_testkit::Simulation;
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Shelf {
    inner: Mutex<Inner>,
    burnt: Notify,
    /// How long its steps take, where they take a while.
    way: Option<(Simulation, Mutex<fastrand::Rng>)>,
}

#[derive(Default)]
struct Inner {
    objects: BTreeMap<String, u64>,
    made: u64,
    /// How many steps are left before the process dies, if it is to.
    fuse: Option<u32>,
}

impl Shelf {
    /// One whose every step takes a while.
    pub(super) fn far_away(simulation: &Simulation, seed: u64) -> Shelf {
        let random = Mutex::new(fastrand::Rng::with_seed(seed));
        Shelf {
            way: Some((simulation.clone(), random)),
            ..Shelf::default()
        }
    }

    /// Puts something new somewhere, and gives its bytes.
    pub(super) fn put(&self, name: &str) -> u64 {
        let mut inner = self.inner.lock().unwrap();
        inner.made += 1;
        let made = inner.made;
        inner.objects.insert(name.to_owned(), made);
        made
    }

    pub(super) fn bytes(&self, name: &str) -> Option<u64> {
        self.inner.lock().unwrap().objects.get(name).copied()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let inner = self.inner.lock().unwrap();
        inner.objects.keys().cloned().collect()
    }

    /// Lets the process die after so many steps, or not.
    pub(super) fn light(&self, fuse: Option<u32>) {
        self.inner.lock().unwrap().fuse = fuse;
    }

    /// Waits until the process dies.
    pub(super) async fn burnt(&self) {
        self.burnt.notified().await;
    }

    /// One step. A process that dies here does not come back.
    async fn step(&self) {
        if let Some((simulation, random)) = &self.way {
            let millis = random.lock().unwrap().i64(0..40);
            simulation.sleep(millis).await;
        }
        let is_over = {
            let mut inner = self.inner.lock().unwrap();
            match &mut inner.fuse {
                Some(0) => true,
                Some(left) => {
                    *left -= 1;
                    false
                }
                None => false,
            }
        };
        if is_over {
            self.burnt.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Objects for Shelf {
    async fn copy(&self, _: &str, from: &str, to: &str) -> Result<Copied, ObjectsError> {
        self.step().await;
        let is_copied = {
            let mut inner = self.inner.lock().unwrap();
            let bytes = inner.objects.get(from).copied();
            bytes.map(|bytes| inner.objects.insert(to.to_owned(), bytes))
        };
        self.step().await;
        Ok(is_copied.map_or(Copied::Missing, |_| Copied::Done))
    }

    async fn remove(&self, _: &str, name: &str) -> Result<(), ObjectsError> {
        self.step().await;
        self.inner.lock().unwrap().objects.remove(name);
        self.step().await;
        Ok(())
    }
}
