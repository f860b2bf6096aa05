//! Events as text, as `EventSource` reads them.

use partita_core::plain;
use partita_design::Design;
use partita_plan::Record;
use partita_plan::feed::FeedEvent;
use serde_json::json;

use crate::encode;

/// How long a client waits before it connects again, in milliseconds.
const RETRY_MILLIS: u32 = 2000;

/// The first lines of a feed.
pub(super) fn opening() -> Vec<u8> {
    format!("retry: {RETRY_MILLIS}\n\n").into_bytes()
}

/// The rows as they are. Whoever has seen only some of them cannot go on from there.
pub(super) fn push_rows(text: &mut Vec<u8>, design: &Design, rows: &[Record], id: &str) {
    for row in rows {
        push(text, "enter", Some(id), |data| shown(design, row, data));
    }
}

pub(super) fn push_ready(text: &mut Vec<u8>, id: &str) {
    push(text, "ready", Some(id), |data| {
        data.extend_from_slice(b"{}")
    });
}

/// Events of one step. Only the last has the id of its end: whoever has seen less goes on from
/// where the step began, and is told all of it again.
pub(super) fn push_events(
    text: &mut Vec<u8>,
    design: &Design,
    events: &[FeedEvent],
    before: Option<&str>,
    id: &str,
) {
    let last = events.len().saturating_sub(1);
    for (at, event) in events.iter().enumerate() {
        let id = if at == last { Some(id) } else { before };
        match event {
            FeedEvent::Enter(row) => push(text, "enter", id, |data| shown(design, row, data)),
            FeedEvent::Change(row) => push(text, "change", id, |data| shown(design, row, data)),
            FeedEvent::Leave { identity, .. } => {
                push(text, "leave", id, |data| plain::write_map(identity, data));
            }
        }
    }
}

/// Says that the reader has to begin again. The empty id makes clients ask for everything.
pub(super) fn push_refetch(text: &mut Vec<u8>, why: &str) {
    let why = json!({ "why": why }).to_string();
    push(text, "refetch", Some(""), |data| {
        data.extend(why.into_bytes())
    });
}

/// Says that nothing has happened up to here.
pub(super) fn silence(id: &str) -> Vec<u8> {
    format!("id: {id}\n\n").into_bytes()
}

fn shown(design: &Design, row: &Record, data: &mut Vec<u8>) {
    encode::write_shown(design, row, false, data);
}

fn push(text: &mut Vec<u8>, event: &str, id: Option<&str>, write: impl FnOnce(&mut Vec<u8>)) {
    // INVARIANT: JSON has no line breaks but those in strings, which are escaped.
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    text.extend(format!("event: {event}\n{id}data: ").into_bytes());
    write(text);
    text.extend_from_slice(b"\n\n");
}
