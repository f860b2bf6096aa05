//! Records of streams that are too old, removed a little at a time.

use partita_store::StoreResult;
use partita_store::stream::kept::RETENTION_MILLIS;

use super::{TRIM_PAUSE, Tending};
use crate::keys;
use crate::storage::{Direction, View};
use crate::streams::{self, Head, Link, Stream};

/// Records that one commit removes.
const CHUNK_RECORDS: usize = 512;

impl Tending {
    /// Removes some of the old records of every stream, and the streams that ended long ago.
    pub(super) fn trim(&mut self) -> StoreResult<bool> {
        let now_millis = self.clock.now_millis();
        let pause_millis = TRIM_PAUSE.as_millis() as u64;
        let is_due = |trimmed: i64| trimmed.abs_diff(now_millis) >= pause_millis;
        if !self.trimmed_millis.is_none_or(is_due) {
            return Ok(false);
        }
        let mut has_more = false;
        for stream in self.catalog.tables().streams() {
            has_more |= self.trim_stream(stream, now_millis)?;
        }
        if !has_more {
            self.trimmed_millis = Some(now_millis);
        }
        Ok(has_more)
    }

    fn trim_stream(&self, stream: &Stream, now_millis: i64) -> StoreResult<bool> {
        let view = self.views.view();
        let head = Head::load(&*view, stream)?;
        let name = stream.name.clone();
        if stream.kept(&head).is_forgotten(now_millis) {
            self.write(0, move |batch| {
                batch.forget_stream(&name);
                Ok(())
            })?;
            // Its records are cleared away in the next round.
            return Ok(true);
        }
        let (horizon, records) = oldest(&*view, stream, &head, now_millis)?;
        let has_more = records.len() == CHUNK_RECORDS;
        if !records.is_empty() {
            let bytes = records.iter().map(Vec::len).sum();
            self.write(bytes, move |batch| batch.trim(&name, horizon, records))?;
        }
        Ok(has_more)
    }
}

/// The first records that are too old, and the place behind them. Where a clock that went
/// backwards has left old records behind young ones, they wait.
fn oldest(
    view: &dyn View,
    stream: &Stream,
    head: &Head,
    now_millis: i64,
) -> StoreResult<(Link, Vec<Vec<u8>>)> {
    let oldest_seconds = now_millis.saturating_sub(RETENTION_MILLIS).div_euclid(1000);
    let mut link = head.horizon;
    let mut records = Vec::new();
    let rows = view.range(keys::records(stream.id, link.next), Direction::Ascending);
    for row in rows.take(CHUNK_RECORDS) {
        let (key, value) = row?;
        let (record, behind) = streams::decode(stream, link, &key, &value)?;
        if record.created_seconds >= oldest_seconds {
            break;
        }
        records.push(key.to_vec());
        link = behind;
    }
    Ok((link, records))
}
