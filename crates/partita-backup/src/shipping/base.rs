//! A base on its way: all that is stored, piece by piece.

use bytes::Bytes;
use partita_engine::CommitId;

use super::{Shipping, Step};
use crate::catalog::{BaseInfo, Chain};
use crate::error::BackupError;
use crate::names;
use crate::records::{Manifest, Piece};
use crate::target::put_once;

/// Bytes of one piece, about.
pub(super) const PIECE_BYTES: usize = 4 * 1_048_576;

/// A base that is being shipped.
#[derive(Debug, Default)]
pub(super) struct Base {
    /// Its name and its first commit, from the first piece on.
    begun: Option<(String, CommitId)>,
    last: Option<CommitId>,
    /// The last key that was read.
    after: Option<Vec<u8>>,
    is_read: bool,
    /// A piece that is on its way.
    pending: Option<Pending>,
    pieces: usize,
    rows: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Pending {
    name: String,
    bytes: Bytes,
    rows: u64,
}

impl Base {
    /// Whether all of it is shipped but for the object that says so.
    pub(super) fn is_read(&self) -> bool {
        self.is_read && self.pending.is_none()
    }

    /// The commit of the last piece.
    pub(super) fn last(&self) -> Option<CommitId> {
        self.last
    }

    /// Ships the next piece.
    pub(super) async fn ship_piece(
        &mut self,
        shipping: &Shipping,
        chain: &Chain,
        piece_bytes: usize,
    ) -> Result<Step, BackupError> {
        if self.pending.is_none() {
            self.read_piece(shipping, chain, piece_bytes).await?;
        }
        if let Some(pending) = &self.pending {
            put_once(&*shipping.target, &pending.name, &pending.bytes).await?;
            self.rows += pending.rows;
            self.bytes += pending.bytes.len() as u64;
            self.pieces += 1;
            self.pending = None;
        }
        Ok(Step::Piece {
            rows: self.rows,
            bytes: self.bytes,
        })
    }

    async fn read_piece(
        &mut self,
        shipping: &Shipping,
        chain: &Chain,
        piece_bytes: usize,
    ) -> Result<(), BackupError> {
        let after = self.after.clone();
        let rows = shipping.source.rows_after(after, piece_bytes).await?;
        let (base, _) = self.begun.get_or_insert_with(|| {
            let mut random = [0; 4];
            shipping.entropy.fill(&mut random);
            let name = chain
                .name
                .base(rows.commit.number, u32::from_be_bytes(random));
            (name, rows.commit)
        });
        let name = names::piece(base, self.pieces);
        let bytes = chain
            .seal
            .close(&name, &Piece::bytes(&rows), &*shipping.entropy);
        self.pending = Some(Pending {
            name,
            bytes: bytes.into(),
            rows: rows.rows.len() as u64,
        });
        self.last = Some(rows.commit);
        self.is_read = rows.is_last;
        self.after = rows.rows.last().map(|(key, _)| key.clone());
        Ok(())
    }

    /// Says that the base is whole.
    pub(super) async fn complete(
        &self,
        shipping: &Shipping,
        chain: &Chain,
    ) -> Result<(Step, BaseInfo), BackupError> {
        let (name, first) = self.begun.clone().unwrap_or_default();
        let last = self.last.unwrap_or(first);
        let manifest = Manifest {
            first: first.into(),
            last: last.into(),
            pieces: self.pieces,
            rows: self.rows,
            bytes: self.bytes,
        };
        let content = serde_json::json!(manifest).to_string();
        let object = names::manifest(&name);
        let bytes = chain
            .seal
            .close(&object, content.as_bytes(), &*shipping.entropy);
        match shipping.target.put(&object, bytes.into()).await {
            // Only this process knows the name, so an earlier attempt has put it.
            Ok(()) | Err(BackupError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
        let info = BaseInfo {
            name,
            first,
            last,
            pieces: self.pieces,
            bytes: self.bytes,
        };
        let step = Step::Base {
            last,
            rows: self.rows,
            bytes: self.bytes,
        };
        Ok((step, info))
    }
}
