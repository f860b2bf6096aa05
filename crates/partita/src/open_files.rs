//! Files that may be open: how many there are, and who gets them.
//!
//! Connections are open files to the system, and so are those of the storage. When connections have
//! taken all of them, the storage cannot write any more. So each has a part of its own.

use anyhow::{Result, bail};
use tracing::{debug, info, warn};

/// Files that the storage keeps open when it has as many as it likes.
const STORAGE_MAX: usize = 900;
/// The log, listeners and operators' connections, journals, tables that are being written,
/// directories that are synced.
const OTHERS: usize = 128;
/// With fewer there is nothing to be divided.
const LEAST: usize = 512;

/// Who may have how many files open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenFiles {
    /// The storage; or connections to the one that is elsewhere.
    pub(crate) storage: usize,
    /// Connections of clients.
    pub(crate) connections: usize,
}

/// Who wants how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Those that are kept for operators included.
    pub(crate) connections: usize,
    /// Uploads and downloads, each with a file beside its connection.
    pub(crate) transfers: usize,
}

/// Has the system let this process open as many files as it may, and divides them.
pub(crate) fn claim(wanted: Wanted) -> Result<OpenFiles> {
    let Some(limit) = raise() else {
        return Ok(OpenFiles {
            storage: STORAGE_MAX,
            connections: wanted.connections,
        });
    };
    let files = divide(limit, wanted)?;
    let OpenFiles {
        storage,
        connections,
    } = files;
    if connections < wanted.connections {
        warn!(
            limit,
            storage,
            connections,
            "few files may be open, so there are fewer connections; raise the limit with `ulimit -n` or LimitNOFILE"
        )
    } else {
        info!(limit, storage, connections, "files that may be open")
    }
    Ok(files)
}

fn divide(limit: usize, wanted: Wanted) -> Result<OpenFiles> {
    if limit < LEAST {
        bail!(
            "only {limit} files may be open, and the server needs {LEAST}: raise the limit with `ulimit -n` or LimitNOFILE"
        );
    }
    let left = limit - OTHERS - wanted.transfers.min(limit / 4);
    let storage = (left / 2).min(STORAGE_MAX);
    Ok(OpenFiles {
        storage,
        connections: wanted.connections.min(left - storage),
    })
}

/// Raises the limit to the highest that this process may have, and says what it is then.
#[cfg(unix)]
fn raise() -> Option<usize> {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        // Some systems take less than they say.
        debug!(%error, "the limit of open files stays as it is");
        limit.current = before;
    }
    // Without a limit there is enough for everybody.
    let limit = limit.current.unwrap_or(u64::MAX);
    Some(usize::try_from(limit).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn raise() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted = Wanted {
        connections: 4_128,
        transfers: 160,
    };

    #[test]
    fn the_storage_has_files_of_its_own() {
        for (limit, storage, connections) in [
            (512, 128, 128),
            (1_024, 368, 368),
            (2_048, 880, 880),
            (4_096, 900, 2_908),
            (1_048_576, 900, 4_128),
            (usize::MAX, 900, 4_128),
        ] {
            let files = divide(limit, WANTED).unwrap();
            let expected = OpenFiles {
                storage,
                connections,
            };
            assert_eq!(files, expected, "{limit}");
            assert!(storage + connections + WANTED.transfers.min(limit / 4) < limit);
        }
        assert!(divide(LEAST - 1, WANTED).is_err());
    }
}
