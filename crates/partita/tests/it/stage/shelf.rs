//! The files of a scenario: their names, which is all that a design knows of them.

use std::collections::BTreeSet;
use std::sync::Mutex;

use async_trait::async_trait;
use partita_plan::{Copied, Objects, ObjectsError};

/// Names of objects.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<BTreeSet<String>>);

impl Shelf {
    /// The bytes of an upload have come.
    pub(crate) fn put(&self, name: &str) {
        self.0.lock().unwrap().insert(name.to_owned());
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.lock().unwrap().contains(name)
    }
}

#[async_trait]
impl Objects for Shelf {
    async fn copy(&self, _: &str, from: &str, to: &str) -> Result<Copied, ObjectsError> {
        if self.has(from) {
            self.put(to);
            Ok(Copied::Done)
        } else {
            Ok(Copied::Missing)
        }
    }

    async fn remove(&self, _: &str, name: &str) -> Result<(), ObjectsError> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }
}
