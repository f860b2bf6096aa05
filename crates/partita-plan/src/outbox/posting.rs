//! Messages of a draft, as steps of its transaction.

use partita_core::size::item_bytes;
use partita_core::{Map, Value};
use partita_design::design::Record;
use partita_design::nested;
use partita_store::request::TransactAction;

use super::message::Content;
use super::row::{Row, Stored, Tries, digest_of, id_of, last_at, last_in, put_last};
use crate::commit::Step;
use crate::draft::EntryId;
use crate::error::PlanError;
use crate::evaluate::Known;
use crate::place::Address;
use crate::planner::Planner;

/// The largest message; an item has room for 400 KB, and the attempts need some of it.
const MESSAGE_BYTES_MAX: usize = 350_000;

/// A message that a write causes.
pub(crate) struct Posted {
    /// The item that causes it.
    source: Address,
    of: String,
    cause: String,
    content: Content,
}

impl Planner<'_> {
    /// Has the transaction of the write record a message that an item of the draft causes, by a
    /// trigger, an action or whatever has this name.
    pub(crate) fn post(&mut self, at: EntryId, cause: &str, content: Content) {
        let entry = self.entry(at);
        let item = entry.named();
        // In a job the item is in the draft under another address than its own.
        let source = item.and_then(|item| {
            let blueprint = self.context.blueprint;
            blueprint.address(entry.record, &**item).ok()
        });
        let of = item.map(|item| shown(entry.record, item));
        let posted = Posted {
            source: source.unwrap_or_else(|| entry.address.clone()),
            of: of.unwrap_or_else(|| entry.record.name.clone()),
            cause: cause.to_owned(),
            content,
        };
        self.posted.push(posted);
    }

    /// Records the messages. Those of one item get ids that rise above its earlier ones, whatever
    /// the clocks of servers show.
    pub(crate) fn outbox_steps(&mut self) -> Result<Vec<Step>, PlanError> {
        let mut posted = std::mem::take(&mut self.posted);
        let mut steps = Vec::new();
        while let Some(source) = posted.first().map(|first| first.source.clone()) {
            let (these, rest) = posted.into_iter().partition(|one| one.source == source);
            posted = rest;
            steps.extend(self.post_steps(&source, these)?);
        }
        Ok(steps)
    }

    fn post_steps(&self, source: &Address, posted: Vec<Posted>) -> Result<Vec<Step>, PlanError> {
        let sidecar = &self.context.blueprint.sidecar;
        let digest = digest_of(source);
        let last = last_at(sidecar, digest);
        let now = self.moment.now_millis;
        // Read only where an attempt before found that the time does not rise.
        let at = match self.context.peek(&last) {
            Known::Found(item) => last_in(item).map_or(now, |last| now.max(last + 1)),
            Known::Missing | Known::Unread => now,
        };
        // INVARIANT: of two committed writes to an item, the later has the larger ids.
        let mut steps = vec![Step::or_stale(put_last(&last, at))];
        for (number, one) in posted.into_iter().enumerate() {
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            let row = self.row_of(id_of(at, digest, number), one);
            let put = row.put(sidecar);
            if let TransactAction::Put(put) = &put
                && item_bytes(&put.item) > MESSAGE_BYTES_MAX
            {
                let what = format!("what `{}` sends of {} is too large", row.cause, row.of);
                return Err(PlanError::TooMuch { what });
            }
            steps.push(Step::or_stale(put));
        }
        Ok(steps)
    }

    fn row_of(&self, id: String, posted: Posted) -> Row {
        let channel = posted.content.channel();
        let stored = match posted.content {
            Content::Mail(mail) => Stored::Mail {
                sealed: self.context.seal.seal(&id, self.moment.random, &mail.text),
                to: mail.to,
                subject: mail.subject,
            },
            Content::Event { event, .. } => Stored::Event(event),
        };
        Row {
            id,
            channel,
            of: posted.of,
            cause: posted.cause,
            created_millis: self.moment.now_millis,
            stored,
            tries: Tries::default(),
        }
    }
}

/// An item as people name it: `User 6f1c…`.
fn shown(record: &Record, item: &Map) -> String {
    let mut text = record.name.clone();
    for part in &record.identity {
        match nested::get(item, &part.attribute) {
            Some(Value::S(part)) => text = format!("{text} {part}"),
            Some(Value::N(part)) => text = format!("{text} {part}"),
            _ => {}
        }
    }
    text
}
