//! What a backup knows of the time after a moment.

use partita_engine::{Commit, CommitId, Edit};

use crate::catalog::{BaseInfo, Chain};
use crate::error::BackupError;
use crate::names;
use crate::records::Piece;
use crate::restoring::Plan;
use crate::target::Target;

/// The commits after the moment of one plan, up to that of another. Where that one is of another
/// chain, its base stands for those in between.
pub struct Later {
    chain: Chain,
    after: u64,
    base: Option<BaseInfo>,
    segments: Vec<u64>,
}

impl Later {
    /// What is between a moment and the last one.
    pub fn between(moment: &Plan, last: &Plan) -> Later {
        let is_same = moment.chain.name.0 == last.chain.name.0;
        let after = if is_same {
            moment.until.number
        } else {
            last.base.first.number
        };
        let all = &last.objects.segments;
        let before = all.partition_point(|first| *first <= after + 1);
        let segments = all[before.saturating_sub(1)..].iter().copied();
        Later {
            chain: last.chain.clone(),
            after,
            base: (!is_same).then(|| last.base.clone()),
            segments: segments.collect(),
        }
    }

    /// Shows each of the commits. The rows of a base are shown as commits that put them.
    pub async fn each(
        &self,
        target: &dyn Target,
        mut look: impl FnMut(&Commit),
    ) -> Result<(), BackupError> {
        if let Some(base) = &self.base {
            for number in 0..base.pieces {
                let name = names::piece(&base.name, number);
                let content = self.chain.seal.open(&name, &target.get(&name).await?)?;
                let piece = Piece::read(&content)
                    .ok_or_else(|| BackupError::damaged(&name, "its rows cannot be read"))?;
                let rows = piece.rows.into_iter();
                look(&Commit {
                    id: CommitId::default(),
                    edits: rows.map(|(key, value)| Edit::Put(key, value)).collect(),
                });
            }
        }
        for first in &self.segments {
            let segment = self.chain.segment(target, *first).await?;
            let commits = segment.commits.iter();
            commits
                .filter(|commit| commit.id.number > self.after)
                .for_each(&mut look);
        }
        Ok(())
    }
}
