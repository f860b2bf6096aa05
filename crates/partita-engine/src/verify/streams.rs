//! Streams, from their first record to their last.

use partita_store::{StoreError, StoreResult};

use super::FINDINGS_MAX;
use crate::keys;
use crate::read::Moment;
use crate::storage::Direction;
use crate::streams::{Head, Stream, decode, ends_too_early};

/// Every stream is a chain without a gap, and every table's stream is there.
pub(super) fn check(moment: &Moment, findings: &mut Vec<String>) -> StoreResult<()> {
    let tables = moment.tables();
    for stream in tables.streams() {
        match check_stream(moment, stream) {
            Ok(()) => {}
            Err(StoreError::Corrupt { message }) => findings.push(message),
            Err(error) => return Err(error),
        }
    }
    for table in tables.all() {
        if table.settings.stream.is_some() && tables.stream_of(table).is_none() {
            findings.push(format!("the stream of table `{}` is missing", table.name));
        }
    }
    findings.truncate(FINDINGS_MAX);
    Ok(())
}

/// Stops at the first gap: the chain behind it has nothing to continue from.
fn check_stream(moment: &Moment, stream: &Stream) -> StoreResult<()> {
    let head = Head::load(moment.view(), stream)?;
    let mut link = head.horizon;
    let records = keys::rows(stream.id);
    for row in moment.view().range(records, Direction::Ascending) {
        let (key, value) = row?;
        (_, link) = decode(stream, link, &key, &value)?;
    }
    if link == head.end {
        Ok(())
    } else {
        Err(ends_too_early(stream))
    }
}
