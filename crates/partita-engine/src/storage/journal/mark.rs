//! What a commit says of those before it, when not each is synced.

/// The number of a commit, and of the last that was known to be on disk when it was written.
///
/// Commits that wait for the disk together may reach it in any order. If one is missing before
/// others, their marks say whether it had been on disk: then it is damage. Otherwise the power was
/// cut, and all of them are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) number: u64,
    pub(crate) synced: u64,
}

impl Mark {
    /// The first commit since the storage was opened, which is synced.
    pub(crate) fn first_after(last: Option<Mark>) -> Mark {
        let number = last.map_or(0, |last| last.number) + 1;
        let synced = number;
        Mark { number, synced }
    }

    /// The commit after this one.
    pub(crate) fn next(self) -> Mark {
        let number = self.number + 1;
        Mark { number, ..self }
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        [self.number.to_be_bytes(), self.synced.to_be_bytes()].concat()
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Mark> {
        let (number, synced) = bytes.split_first_chunk()?;
        Some(Mark {
            number: u64::from_be_bytes(*number),
            synced: u64::from_be_bytes(synced.try_into().ok()?),
        })
    }
}
