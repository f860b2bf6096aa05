//! The records of streams that a commit adds.

use std::collections::BTreeMap;

use partita_store::StoreResult;
use partita_store::stream::{ItemChange, SequenceNumber};

use crate::keys;
use crate::storage::{Edit, StorageError, View};
use crate::streams::{self, Head, Link, Stream};

/// What has become of streams.
#[derive(Default)]
pub(super) struct Recording {
    /// The last number that a record got, once somebody has asked for it.
    last: Option<u64>,
    /// By id: the ends of the streams that somebody has asked for.
    heads: BTreeMap<u32, Head>,
    records: Vec<Edit>,
    /// The ids of those that have changed.
    changed: Vec<u32>,
}

impl Recording {
    /// The number that the next record will get.
    pub(super) fn next(&mut self, view: &dyn View) -> StoreResult<u64> {
        let last = match self.last {
            Some(last) => last,
            None => load_last(view)?,
        };
        self.last = Some(last);
        Ok(last + 1)
    }

    /// Reads what has to be known before a record is added.
    pub(super) fn prepare(&mut self, view: &dyn View, stream: &Stream) -> StoreResult<()> {
        self.next(view)?;
        self.head(view, stream).map(drop)
    }

    /// A stream without any record.
    pub(super) fn begin(&mut self, stream: &Stream) {
        self.change(stream.id, Head::new(stream.first));
    }

    /// The ends of a stream.
    pub(super) fn head(&mut self, view: &dyn View, stream: &Stream) -> StoreResult<Head> {
        if let Some(head) = self.heads.get(&stream.id) {
            return Ok(*head);
        }
        let head = Head::load(view, stream)?;
        self.heads.insert(stream.id, head);
        Ok(head)
    }

    /// Adds the record of a change to a stream that was prepared for it; none, if nothing has
    /// changed. About how many bytes it takes.
    pub(super) fn add(
        &mut self,
        stream: &Stream,
        change: ItemChange<'_>,
        now_millis: i64,
    ) -> usize {
        let (Some(last), Some(head)) = (self.last, self.heads.get(&stream.id).copied()) else {
            return 0;
        };
        let number = last + 1;
        let seconds = now_millis.div_euclid(1000);
        let sequence_number = SequenceNumber(number.into());
        let record = change.record(&stream.key, stream.view, sequence_number, seconds);
        let Some(record) = record else { return 0 };
        let (bytes, end) = streams::encode(record, head.end);
        let size = bytes.len();
        let key = keys::record(stream.id, number);
        self.records.push(Edit::Put(key, bytes));
        self.last = Some(number);
        self.change(stream.id, Head { end, ..head });
        size
    }

    /// The records of a stream up to here are gone.
    pub(super) fn trim(&mut self, stream: &Stream, head: Head, horizon: Link) {
        self.change(stream.id, Head { horizon, ..head });
    }

    /// A stream is gone.
    pub(super) fn forget(&mut self, stream: &Stream) {
        self.heads.remove(&stream.id);
        self.changed.retain(|id| *id != stream.id);
    }

    fn change(&mut self, id: u32, head: Head) {
        self.heads.insert(id, head);
        if !self.changed.contains(&id) {
            self.changed.push(id);
        }
    }

    /// What goes to disk.
    pub(super) fn finish(self, edits: &mut Vec<Edit>) {
        if let Some(last) = self.last.filter(|_| !self.records.is_empty()) {
            let last = last.to_be_bytes().to_vec();
            edits.push(Edit::Put(keys::LAST_RECORD.to_vec(), last));
        }
        let heads = self
            .changed
            .iter()
            .filter_map(|id| self.heads.get_key_value(id));
        edits.extend(heads.map(|(id, head)| head.edit(*id)));
        edits.extend(self.records);
    }
}

fn load_last(view: &dyn View) -> Result<u64, StorageError> {
    let Some(bytes) = view.get(keys::LAST_RECORD)? else {
        return Ok(0);
    };
    let last = bytes.as_ref().try_into().map(u64::from_be_bytes);
    last.map_err(|_| StorageError::Damaged("the last number of a record cannot be read".into()))
}
