//! Which store a data directory has, for the targets of its backups: each belongs to one store.
//!
//! The id is random, made at the first backup, and goes with the directory: a copy has it, and a
//! directory that is restored goes on with that of its backup, so that it may go on in its target.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use partita_store::Entropy as _;
use partita_store::surroundings::SystemEntropy;

use crate::draft;

/// Where it is.
pub(crate) const NAME: &str = "backup-id";

/// The id of the store of a data directory, which is made if there is none.
pub(crate) fn of(data: &Path) -> Result<String> {
    let path = data.join(NAME);
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut random = [0; 16];
            SystemEntropy.fill(&mut random);
            let id = format!("{:032x}", u128::from_be_bytes(random));
            put(data, &id)?;
            Ok(id)
        }
        read => {
            let text = read.with_context(|| format!("cannot read {}", path.display()))?;
            let id = text.trim_end();
            if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                bail!(
                    "{} is damaged: write the `store` of chain.json in the backup into it, or remove it and name another target",
                    path.display()
                );
            }
            Ok(id.to_owned())
        }
    }
}

/// Gives a data directory an id, as a whole or not at all.
pub(crate) fn put(data: &Path, id: &str) -> Result<()> {
    let path = data.join(NAME);
    draft::put(&path, format!("{id}\n").as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
