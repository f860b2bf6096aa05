//! Objects in S3, or in something that speaks its API.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions};

use super::{Listed, Target, demand_bounded};
use crate::error::BackupError;

/// Objects below a prefix of a bucket.
#[derive(Debug)]
pub struct S3Target {
    store: Arc<dyn ObjectStore>,
    prefix: String,
}

impl S3Target {
    /// Objects below a prefix of a bucket that was opened. The store must put objects conditionally.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str) -> S3Target {
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() {
            String::new()
        } else {
            format!("{prefix}/")
        };
        S3Target { store, prefix }
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}{name}", self.prefix))
    }
}

#[async_trait]
impl Target for S3Target {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), BackupError> {
        let options = PutOptions::from(PutMode::Create);
        let path = self.path(name);
        let put = self.store.put_opts(&path, bytes.into(), options).await;
        put.map(drop).map_err(|error| failed(name, &error))
    }

    async fn get(&self, name: &str) -> Result<Bytes, BackupError> {
        let got = self.store.get(&self.path(name)).await;
        let got = got.map_err(|error| failed(name, &error))?;
        demand_bounded(name, got.meta.size)?;
        got.bytes().await.map_err(|error| failed(name, &error))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>, BackupError> {
        let path = self.path(prefix.trim_end_matches('/'));
        let found: Result<Vec<_>, _> = self.store.list(Some(&path)).try_collect().await;
        let found = found.map_err(|error| failed(prefix, &error))?;
        let mut listed: Vec<Listed> = found
            .into_iter()
            .filter_map(|meta| {
                let name = meta.location.as_ref().strip_prefix(&self.prefix)?;
                Some(Listed {
                    name: name.to_owned(),
                    bytes: meta.size,
                })
            })
            .collect();
        listed.sort();
        Ok(listed)
    }

    async fn remove(&self, name: &str) -> Result<(), BackupError> {
        match self.store.delete(&self.path(name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(name, &error)),
        }
    }
}

fn failed(name: &str, error: &Error) -> BackupError {
    let name = name.to_owned();
    match error {
        Error::AlreadyExists { .. } | Error::Precondition { .. } => BackupError::Exists { name },
        Error::NotFound { .. } => BackupError::Missing { name },
        error => BackupError::Target {
            name,
            reason: error.to_string(),
        },
    }
}
