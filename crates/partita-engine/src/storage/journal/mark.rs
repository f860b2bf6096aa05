//! What a commit says of itself and of those before it. It is the first entry of every batch.

use xxhash_rust::xxh3::Xxh3;

use crate::commit::{CommitId, Edit};

/// Which commit this is, and the number of the last that was known to be on disk when it was
/// written.
///
/// Commits that wait for the disk together may reach it in any order. If one is missing before
/// others, their marks say whether it had been on disk: then it is damage. Otherwise the power was
/// cut, and all of them are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) id: CommitId,
    pub(crate) synced: u64,
}

impl Mark {
    /// The commit of these edits after this one. A clock that was set back does not take the time
    /// back.
    pub(crate) fn next(self, edits: &[Edit], now_millis: i64) -> Mark {
        Mark {
            id: self.id.next(edits, now_millis),
            ..self
        }
    }

    /// The same, when all before it are on disk.
    pub(crate) fn synced_before(self) -> Mark {
        let synced = self.id.number.saturating_sub(1);
        Mark { synced, ..self }
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        let CommitId {
            number,
            time_millis,
            chain,
        } = self.id;
        let parts = [
            number.to_be_bytes(),
            self.synced.to_be_bytes(),
            time_millis.to_be_bytes(),
            chain.to_be_bytes(),
        ];
        parts.concat()
    }

    /// A mark of format 4 has no time and no chain.
    pub(crate) fn read(bytes: &[u8]) -> Option<Mark> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (synced, rest) = rest.split_first_chunk()?;
        let (time_millis, chain) = match rest.split_first_chunk() {
            Some((time, chain)) => (
                i64::from_be_bytes(*time),
                u64::from_be_bytes(chain.try_into().ok()?),
            ),
            None if rest.is_empty() => (0, 0),
            None => return None,
        };
        Some(Mark {
            id: CommitId {
                number: u64::from_be_bytes(*number),
                time_millis,
                chain,
            },
            synced: u64::from_be_bytes(*synced),
        })
    }
}

/// The chain of a commit: it depends on every edit of it and, by the chain before, on every edit
/// of every commit before it.
pub(crate) fn chain(before: u64, number: u64, time_millis: i64, edits: &[Edit]) -> u64 {
    let mut hash = Xxh3::with_seed(before);
    hash.update(&number.to_be_bytes());
    hash.update(&time_millis.to_be_bytes());
    for edit in edits {
        let (key, value) = match edit {
            Edit::Put(key, value) => (key, Some(value)),
            Edit::Remove(key) => (key, None),
        };
        hash.update(&(key.len() as u64).to_be_bytes());
        hash.update(key);
        let length = value.map_or(u64::MAX, |value| value.len() as u64);
        hash.update(&length.to_be_bytes());
        hash.update(value.map_or(&[], Vec::as_slice));
    }
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let edits = [Edit::Put(b"a".to_vec(), b"b".to_vec())];
        let mark = Mark::default().next(&edits, 1_700_000_000_000);
        assert_eq!(Mark::read(&mark.bytes()), Some(mark));
        assert_eq!(
            (mark.id.number, mark.id.time_millis),
            (1, 1_700_000_000_000)
        );
        let earlier = mark.next(&[], 5);
        assert_eq!(
            earlier.id.time_millis, mark.id.time_millis,
            "a clock set back"
        );
        let old = Mark::read(&[7_u64.to_be_bytes(), 6_u64.to_be_bytes()].concat()).unwrap();
        assert_eq!((old.id.number, old.synced, old.id.chain), (7, 6, 0));
        assert_eq!(Mark::read(&mark.bytes()[..20]), None);
    }

    #[test]
    fn the_chain_tells_any_two_commits_apart() {
        let put = |key: &str, value: &str| Edit::Put(key.into(), value.into());
        let all = [
            vec![],
            vec![put("a", "b")],
            vec![put("ab", "")],
            vec![put("", "ab")],
            vec![Edit::Remove(b"ab".to_vec())],
            vec![put("a", ""), put("b", "")],
            vec![put("b", ""), put("a", "")],
        ];
        let mut chains: Vec<u64> = all.iter().map(|edits| chain(1, 2, 3, edits)).collect();
        chains.push(chain(2, 2, 3, &all[1]));
        chains.push(chain(1, 3, 3, &all[1]));
        chains.push(chain(1, 2, 4, &all[1]));
        let count = chains.len();
        chains.sort_unstable();
        chains.dedup();
        assert_eq!(chains.len(), count);
    }
}
