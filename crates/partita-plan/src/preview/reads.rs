//! What a read asks of the store, measured while it is carried out.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use partita_store::capacity::{Consumed, HalfUnits};
use partita_store::table::TableName;
use serde_json::{Value as Json, json};

use crate::operation::{Answer, Caller, Operation};
use crate::partita::Partita;
use crate::running::Running;

tokio::task_local! {
    static REQUESTS: RefCell<Vec<ReadRequest>>;
}

/// One request for items.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadRequest {
    /// What DynamoDB calls it.
    pub operation: &'static str,
    /// The index that is read.
    pub index: Option<String>,
    /// The items or rows that came back.
    pub items: usize,
    /// Their bytes, as DynamoDB counts them.
    pub bytes: usize,
    /// What it consumed, by table.
    pub consumed: BTreeMap<TableName, Consumed>,
}

impl ReadRequest {
    /// Its read units.
    pub fn units(&self) -> HalfUnits {
        let units = self.consumed.values().map(Consumed::total_read);
        units.fold(HalfUnits::default(), |sum, one| sum + one)
    }
}

/// What a read takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadPreview {
    /// The requests, in their order.
    pub requests: Vec<ReadRequest>,
    /// How many records the caller gets.
    pub shown: usize,
}

impl ReadPreview {
    /// All read units.
    pub fn units(&self) -> HalfUnits {
        let units = self.requests.iter().map(ReadRequest::units);
        units.fold(HalfUnits::default(), |sum, one| sum + one)
    }

    /// The same for programs.
    pub fn to_json(&self) -> Json {
        let requests = self.requests.iter().map(|one| {
            json!({
                "operation": one.operation,
                "index": one.index,
                "items": one.items,
                "bytes": one.bytes,
                "readUnits": one.units().units(),
            })
        });
        json!({
            "requests": requests.collect::<Vec<_>>(),
            "records": self.shown,
            "readUnits": self.units().units(),
        })
    }
}

impl fmt::Display for ReadPreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, units) = (self.shown, self.units().units());
        let plural = if shown == 1 { "" } else { "s" };
        writeln!(f, "{shown} record{plural}, {units} read units")?;
        for (at, one) in self.requests.iter().enumerate() {
            let index = one.index.as_ref();
            let index = index.map_or(String::new(), |index| format!(" of {index}"));
            write!(f, "\n{}. {}{index}: ", at + 1, one.operation)?;
            let plural = if one.items == 1 { "" } else { "s" };
            let units = one.units().units();
            write!(f, "{} item{plural}, ", one.items)?;
            writeln!(f, "{} bytes, {units} read units", one.bytes)?;
        }
        Ok(())
    }
}

/// Notes a request, if somebody measures.
pub(crate) fn note(request: impl FnOnce() -> ReadRequest) {
    // Nobody does, mostly.
    let _ = REQUESTS.try_with(|requests| requests.borrow_mut().push(request()));
}

impl Partita {
    /// Carries a read out for a caller, and answers what it took instead of what it found. It is
    /// refused as the read would be.
    pub fn preview_read<'a>(
        &'a self,
        caller: &'a Caller,
        operation: Operation,
    ) -> Running<'a, ReadPreview> {
        Box::pin(async move {
            let (answer, requests) = measured(self.run(caller, operation)).await;
            Ok(ReadPreview {
                requests,
                shown: match answer? {
                    Answer::Page { records, .. } => records.len(),
                    Answer::Record(_) => 1,
                    _ => 0,
                },
            })
        })
    }
}

/// Carries something out, and tells what it asked of the store.
pub(crate) async fn measured<T>(work: impl Future<Output = T>) -> (T, Vec<ReadRequest>) {
    let noted = async {
        let done = work.await;
        (done, REQUESTS.with(RefCell::take))
    };
    REQUESTS.scope(RefCell::default(), noted).await
}
