//! How much is kept of a caller's outcomes.
//!
//! A key that was forgotten too early would let a write be carried out twice, so that a caller who
//! has filled what there is for an hour is refused new keys until it is over. What is kept is counted
//! in the transaction that keeps it, in one of some rows, each for a part of the keys: writes of one
//! caller would otherwise all wait for one row.

use partita_core::expression::{
    Comparator, Condition, Operand, Path, SetOperand, SetValue, Update,
};
use partita_core::{Item, Number, Value};
use partita_store::request::{PutItem, TransactAction, UpdateItem};
use partita_store::table::TableName;

use crate::error::PlanError;
use crate::sidecar;

/// Bytes of outcomes that are kept of one caller and hour, unless somebody says otherwise.
pub(crate) const BYTES_PER_HOUR: u64 = 32 * 1024 * 1024;

/// Rows among which they are counted.
const ROWS: u64 = 16;

/// Seconds after which a row counts from the beginning.
const WINDOW_SECONDS: i64 = 3_600;

const START: &str = "start";
const BYTES: &str = "bytes";

/// Where the outcome under a key is counted.
#[derive(Clone, Debug)]
pub(super) struct OutcomeRow {
    partition: String,
    sort: String,
}

/// What a row has counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    start: i64,
    bytes: u64,
}

impl OutcomeRow {
    /// Where the outcome of a request with this digest is counted.
    pub(super) fn new(caller: &str, digest: &[u8]) -> OutcomeRow {
        let number = u64::from(digest.first().copied().unwrap_or_default()) % ROWS;
        OutcomeRow {
            partition: format!("ROOM#{caller}"),
            sort: format!("{number:02}"),
        }
    }

    pub(super) fn address(&self, sidecar: &TableName) -> crate::place::Address {
        sidecar::address(sidecar, &self.partition, &self.sort)
    }

    /// The action that counts an outcome of so many bytes, on the condition that the row is as it was
    /// read or has room left; or the refusal. The first outcome of an hour always has room.
    pub(super) fn take(
        &self,
        sidecar: &TableName,
        used: Option<Used>,
        bytes: u64,
        bytes_per_hour: u64,
        now: i64,
    ) -> Result<TransactAction, PlanError> {
        let most = bytes_per_hour / ROWS;
        let Some(open) = used.filter(|used| now < used.start + WINDOW_SECONDS) else {
            return Ok(self.begin(sidecar, used, bytes, now));
        };
        if open.bytes.saturating_add(bytes) > most {
            let wait = open.start + WINDOW_SECONDS - now;
            return Err(PlanError::TooManyKeys {
                wait_seconds: u64::try_from(wait).unwrap_or(1),
            });
        }
        let path = Path::attribute(BYTES);
        let sum = SetValue::Plus(
            SetOperand::Path(path.clone()),
            SetOperand::Value(Value::N(Number::from(bytes))),
        );
        let has_room = Condition::Compare(
            Operand::Path(path.clone()),
            Comparator::LessOrEqual,
            Operand::value(Number::from(most - bytes)),
        );
        Ok(TransactAction::Update(UpdateItem {
            table: sidecar.clone(),
            key: sidecar::key(&self.partition, &self.sort),
            update: Update {
                set: vec![(path, sum)],
                ..Update::default()
            },
            condition: Some(open.is_stored().and(has_room)),
            return_item_on_failure: false,
        }))
    }

    /// The action that counts the first outcome of an hour.
    fn begin(
        &self,
        sidecar: &TableName,
        used: Option<Used>,
        bytes: u64,
        now: i64,
    ) -> TransactAction {
        let mut item = sidecar::key(&self.partition, &self.sort);
        let expires = Value::N(Number::from(now + WINDOW_SECONDS));
        item.extend([
            (START.to_owned(), Value::N(Number::from(now))),
            (BYTES.to_owned(), Value::N(Number::from(bytes))),
            (sidecar::EXPIRES.to_owned(), expires),
        ]);
        let condition = used.map_or_else(sidecar::is_missing, Used::is_stored);
        TransactAction::Put(PutItem {
            condition: Some(condition),
            ..PutItem::new(sidecar.clone(), item)
        })
    }
}

impl Used {
    /// That the row still counts from the same moment.
    fn is_stored(self) -> Condition {
        Condition::equals(Path::attribute(START), Number::from(self.start))
    }

    /// What a row of the sidecar has counted.
    pub(super) fn read(row: &Item) -> Option<Used> {
        let number = |name: &str| row.get(name)?.as_number()?.to_i64();
        Some(Used {
            start: number(START)?,
            bytes: u64::try_from(number(BYTES)?).ok()?,
        })
    }
}
