//! How far a feed has come. Sealed, it is the id of an event.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_store::StoreError;
use partita_store::stream::{SequenceNumber, StreamName, StreamPlace};
use serde::{Deserialize, Serialize};

use super::Lost;
use super::changes::FeedMoment;
use crate::cursor::{Position, Question};
use crate::error::PlanError;
use crate::operation::Caller;
use crate::partita::Partita;

/// How far a feed has come in the streams of its design's tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedPosition {
    /// The label of each table's stream, the number of the next record, and a checksum over all
    /// records before it: a copy of the store that others have written to since has another one.
    #[serde(rename = "s")]
    ends: Vec<(String, String, u64)>,
    #[serde(rename = "t")]
    pub(super) millis: i64,
    /// After a restore, records of the same numbers are others.
    #[serde(rename = "e", skip_serializing_if = "Option::is_none", default)]
    pub(super) era: Option<String>,
    /// Whether the rows of the beginning were all said.
    #[serde(rename = "r")]
    is_ready: bool,
}

impl FeedPosition {
    pub(super) fn new(
        ends: &[(StreamName, StreamPlace)],
        millis: i64,
        era: Option<String>,
    ) -> Self {
        let ends = ends.iter().map(|(stream, end)| {
            let number = end.next.0.to_string();
            (stream.label.clone(), number, end.chain)
        });
        FeedPosition {
            ends: ends.collect(),
            millis,
            era,
            is_ready: true,
        }
    }

    /// The numbers from which on records are to be read, if what was read before is still the past.
    pub(super) async fn resumed(
        &self,
        era: Option<&str>,
        at: &FeedMoment,
    ) -> Result<Vec<SequenceNumber>, Lost> {
        const OTHERS: Lost = Lost::Refetch("the streams of the tables are others");
        if !self.is_ready {
            return Err(Lost::Refetch("the rows were not all sent"));
        }
        if self.era.as_deref() != era || self.ends.len() != at.ends.len() {
            return Err(OTHERS);
        }
        let mut numbers = Vec::with_capacity(self.ends.len());
        for ((label, number, chain), (stream, _)) in self.ends.iter().zip(&at.ends) {
            let number = number.parse().map_err(|_| OTHERS)?;
            let known = StreamPlace {
                next: SequenceNumber(number),
                chain: *chain,
            };
            let found = match at.snapshot.stream_place(stream, known.next).await {
                Err(StoreError::RecordsTrimmed) => {
                    return Err(Lost::Refetch("the records since are gone"));
                }
                found => found.map_err(PlanError::from)?,
            };
            if *label != stream.label || found != known {
                return Err(OTHERS);
            }
            numbers.push(known.next);
        }
        Ok(numbers)
    }
}

/// What the ids of a feed's events belong to: nobody else can use them, and for nothing else.
pub struct FeedIds {
    pub(super) partita: Arc<Partita>,
    pub(super) caller: Caller,
    /// The pattern, or the entity.
    pub(super) pattern: String,
    pub(super) parameters: BTreeMap<String, String>,
}

impl FeedIds {
    /// The id of an event after which everything up to a position is said.
    pub fn id(&self, position: &FeedPosition) -> String {
        self.seal(position.clone())
    }

    /// The id of a row of the beginning. Whoever has seen no more than that begins again.
    pub fn unready_id(&self, position: &FeedPosition) -> String {
        self.seal(FeedPosition {
            is_ready: false,
            ..position.clone()
        })
    }

    pub(super) fn open(&self, id: &str) -> Option<FeedPosition> {
        let Partita { seal, clock, .. } = &*self.partita;
        match seal.open(&self.question(), id, &**clock)? {
            Position::Feed(position) => Some(position),
            Position::Key(_) | Position::Sorted(_) => None,
        }
    }

    fn seal(&self, position: FeedPosition) -> String {
        let Partita {
            seal,
            clock,
            runner,
            ..
        } = &*self.partita;
        let position = Position::Feed(position);
        seal.seal(&self.question(), position, &**clock, &*runner.entropy)
    }

    fn question(&self) -> Question<'_> {
        Question {
            design: &self.partita.served_text,
            caller: &self.caller,
            pattern: &self.pattern,
            parameters: &self.parameters,
        }
    }
}
