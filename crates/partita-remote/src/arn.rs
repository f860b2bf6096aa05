//! The names that AWS gives to streams: `arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL`.
//!
//! A store knows a stream by its table and its label. Region and account are the same for all
//! of them, and are learnt from the first answer that has an ARN in it.

use partita_store::stream::StreamName;
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::error::{Call, send};

/// The ARN of a stream.
pub(crate) async fn of_stream(clients: &Clients, stream: &StreamName) -> StoreResult<String> {
    let prefix = match clients.arn_prefix.get() {
        Some(prefix) => prefix.clone(),
        None => learn(clients, stream).await?,
    };
    Ok(format!("{prefix}{stream}"))
}

/// Asks for the streams of a table, which may be gone.
async fn learn(clients: &Clients, stream: &StreamName) -> StoreResult<String> {
    let call = Call::of_all_tables();
    let sent = clients
        .streams
        .list_streams()
        .table_name(stream.table.as_str())
        .limit(1);
    let answer = send!(call, sent).map_err(|error| call.error(&error))?;
    let arn = answer
        .streams()
        .first()
        .and_then(|found| found.stream_arn());
    let prefix = arn
        .and_then(prefix_of)
        .ok_or_else(|| StoreError::StreamNotFound {
            stream: stream.clone(),
        })?;
    Ok(clients.arn_prefix.get_or_init(|| prefix.to_owned()).clone())
}

/// The part before the name of the table.
fn prefix_of(arn: &str) -> Option<&str> {
    let at = arn.find(TABLE)?;
    Some(&arn[..at + TABLE.len()])
}

/// The stream that an ARN names.
pub(crate) fn to_stream(arn: &str) -> Option<StreamName> {
    let (_, name) = arn.split_once(TABLE)?;
    let (table, label) = name.split_once("/stream/")?;
    Some(StreamName {
        table: table.parse().ok()?,
        label: label.to_owned(),
    })
}

const TABLE: &str = ":table/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_is_taken_apart() {
        let arn =
            "arn:aws:dynamodb:eu-central-1:123456789012:table/notes/stream/2026-01-31T10:15:00.000";
        let stream = to_stream(arn).unwrap();
        assert_eq!(stream.to_string(), "notes/stream/2026-01-31T10:15:00.000");
        assert_eq!(format!("{}{stream}", prefix_of(arn).unwrap()), arn);
        for other in [
            "",
            "notes",
            "arn:aws:dynamodb:::table/notes",
            ":table/a b/stream/x",
        ] {
            assert_eq!(to_stream(other), None, "{other}");
        }
    }
}
