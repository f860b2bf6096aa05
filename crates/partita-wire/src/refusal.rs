//! Errors as DynamoDB answers them: a type, a status and a JSON document.

use bytes::Bytes;
use http::StatusCode;
use partita_core::expression::ExpressionError;
use partita_core::json::ValueError;
use partita_core::{Item, excerpt};
use partita_store::StoreError;
use partita_store::error::CancellationReason;
use serde::Serialize;

use crate::messages;

/// Characters of a message at most, whatever it repeats of a request.
const MESSAGE_CHARS_MAX: usize = 10_000;

/// What DynamoDB answers instead of a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) fault: Fault,
    pub(crate) message: Option<String>,
    detail: Detail,
}

/// What some errors carry besides their message.
#[derive(Clone, Debug, PartialEq)]
enum Detail {
    None,
    /// The item that did not meet a condition.
    Item(Box<Item>),
    /// Why each action of a transaction was, or was not, in the way.
    Reasons(Vec<CancellationReason>),
    /// What happened inside: for the log, not for the client.
    Cause(Box<StoreError>),
}

/// The errors of DynamoDB that can occur here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Validation,
    Serialization,
    UnknownOperation,
    MissingAuthenticationToken,
    IncompleteSignature,
    InvalidSignature,
    UnrecognizedClient,
    AccessDenied,
    ResourceNotFound,
    ResourceInUse,
    LimitExceeded,
    PolicyNotFound,
    TableNotFound,
    ContinuousBackupsUnavailable,
    ExpiredIterator,
    TrimmedDataAccess,
    ConditionalCheckFailed,
    DuplicateItem,
    TransactionCanceled,
    TransactionConflict,
    IdempotentParameterMismatch,
    ProvisionedThroughputExceeded,
    RequestTooLarge,
    ServiceUnavailable,
    InternalServerError,
}

const CORAL: &str = "com.amazon.coral.service#";
const VALIDATE: &str = "com.amazon.coral.validate#";
const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810#";

impl Fault {
    /// All of them, in their order.
    pub(crate) const ALL: [Fault; 25] = [
        Fault::Validation,
        Fault::Serialization,
        Fault::UnknownOperation,
        Fault::MissingAuthenticationToken,
        Fault::IncompleteSignature,
        Fault::InvalidSignature,
        Fault::UnrecognizedClient,
        Fault::AccessDenied,
        Fault::ResourceNotFound,
        Fault::ResourceInUse,
        Fault::LimitExceeded,
        Fault::PolicyNotFound,
        Fault::TableNotFound,
        Fault::ContinuousBackupsUnavailable,
        Fault::ExpiredIterator,
        Fault::TrimmedDataAccess,
        Fault::ConditionalCheckFailed,
        Fault::DuplicateItem,
        Fault::TransactionCanceled,
        Fault::TransactionConflict,
        Fault::IdempotentParameterMismatch,
        Fault::ProvisionedThroughputExceeded,
        Fault::RequestTooLarge,
        Fault::ServiceUnavailable,
        Fault::InternalServerError,
    ];

    /// The namespace and the name of the error, together its `__type`.
    pub(crate) fn name(self) -> (&'static str, &'static str) {
        match self {
            Fault::Validation => (VALIDATE, "ValidationException"),
            Fault::Serialization => (CORAL, "SerializationException"),
            Fault::UnknownOperation => (CORAL, "UnknownOperationException"),
            Fault::MissingAuthenticationToken => (CORAL, "MissingAuthenticationTokenException"),
            Fault::IncompleteSignature => (CORAL, "IncompleteSignatureException"),
            Fault::InvalidSignature => (CORAL, "InvalidSignatureException"),
            Fault::UnrecognizedClient => (CORAL, "UnrecognizedClientException"),
            Fault::AccessDenied => (CORAL, "AccessDeniedException"),
            Fault::RequestTooLarge => (CORAL, "RequestEntityTooLargeException"),
            Fault::ServiceUnavailable => (CORAL, "ServiceUnavailableException"),
            Fault::ResourceNotFound => (DYNAMODB, "ResourceNotFoundException"),
            Fault::ResourceInUse => (DYNAMODB, "ResourceInUseException"),
            Fault::LimitExceeded => (DYNAMODB, "LimitExceededException"),
            Fault::PolicyNotFound => (DYNAMODB, "PolicyNotFoundException"),
            Fault::TableNotFound => (DYNAMODB, "TableNotFoundException"),
            Fault::ContinuousBackupsUnavailable => {
                (DYNAMODB, "ContinuousBackupsUnavailableException")
            }
            Fault::ExpiredIterator => (DYNAMODB, "ExpiredIteratorException"),
            Fault::TrimmedDataAccess => (DYNAMODB, "TrimmedDataAccessException"),
            Fault::ConditionalCheckFailed => (DYNAMODB, "ConditionalCheckFailedException"),
            Fault::DuplicateItem => (DYNAMODB, "DuplicateItemException"),
            Fault::TransactionCanceled => (DYNAMODB, "TransactionCanceledException"),
            Fault::TransactionConflict => (DYNAMODB, "TransactionConflictException"),
            Fault::IdempotentParameterMismatch => {
                (DYNAMODB, "IdempotentParameterMismatchException")
            }
            Fault::ProvisionedThroughputExceeded => {
                (DYNAMODB, "ProvisionedThroughputExceededException")
            }
            Fault::InternalServerError => (DYNAMODB, "InternalServerError"),
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        match self {
            Fault::InternalServerError => StatusCode::INTERNAL_SERVER_ERROR,
            Fault::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Fault::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// The service spells this member with a capital in some errors; clients read both.
    fn capitalises_message(self) -> bool {
        matches!(
            self,
            Fault::Serialization
                | Fault::UnknownOperation
                | Fault::AccessDenied
                | Fault::TransactionCanceled
                | Fault::IdempotentParameterMismatch
        )
    }
}

impl Refusal {
    pub(crate) fn new(fault: Fault, message: impl Into<String>) -> Self {
        Refusal {
            fault,
            message: Some(excerpt::of_owned(message.into(), MESSAGE_CHARS_MAX)),
            detail: Detail::None,
        }
    }

    /// An error whose type says everything.
    pub(crate) fn silent(fault: Fault) -> Self {
        Refusal {
            fault,
            message: None,
            detail: Detail::None,
        }
    }

    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Refusal::new(Fault::Validation, message)
    }

    /// What the operator should know of an error that is not the client's.
    pub(crate) fn cause(&self) -> Option<&StoreError> {
        match &self.detail {
            Detail::Cause(error) => Some(error),
            _ => None,
        }
    }

    fn with(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    /// The JSON document.
    pub(crate) fn to_json(&self) -> Bytes {
        let (namespace, name) = self.fault.name();
        let (message, capital_message) = if self.fault.capitalises_message() {
            (None, self.message.as_deref())
        } else {
            (self.message.as_deref(), None)
        };
        let (item, reasons) = match &self.detail {
            Detail::None | Detail::Cause(_) => (None, None),
            Detail::Item(item) => (Some(&**item), None),
            Detail::Reasons(reasons) => (None, Some(reasons.iter().map(Reason::from).collect())),
        };
        let document = Document {
            kind: format!("{namespace}{name}"),
            reasons,
            item,
            message,
            capital_message,
        };
        serde_json::to_vec(&document)
            .expect("text and attribute values can be written as JSON")
            .into()
    }
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "__type")]
    kind: String,
    #[serde(rename = "CancellationReasons")]
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<Reason<'a>>>,
    #[serde(rename = "Item")]
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(rename = "Message")]
    #[serde(skip_serializing_if = "Option::is_none")]
    capital_message: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Reason<'a> {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> From<&'a CancellationReason> for Reason<'a> {
    fn from(reason: &'a CancellationReason) -> Self {
        let (item, message) = match reason {
            CancellationReason::None => (None, None),
            CancellationReason::ConditionalCheckFailed { item } => {
                (item.as_ref(), Some(messages::CONDITION_FAILED))
            }
            CancellationReason::DuplicateItem => (None, Some(messages::DUPLICATE_ITEM)),
            CancellationReason::TransactionConflict => {
                (None, Some(messages::TRANSACTION_CONFLICT_REASON))
            }
            CancellationReason::Throttled | CancellationReason::Exhausted(_) => {
                (None, Some(messages::THROTTLED))
            }
            CancellationReason::Validation { message } => (None, Some(message.as_str())),
        };
        let code = reason.code();
        Reason {
            code,
            item,
            message,
        }
    }
}

impl From<ExpressionError> for Refusal {
    fn from(error: ExpressionError) -> Self {
        Refusal::validation(error.message)
    }
}

impl From<ValueError> for Refusal {
    fn from(error: ValueError) -> Self {
        Refusal::validation(error.to_string())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Validation { message } => Refusal::validation(message),
            StoreError::TableNotFound { .. } => {
                Refusal::new(Fault::ResourceNotFound, messages::RESOURCE_NOT_FOUND)
            }
            StoreError::TableExists { table } => {
                Refusal::new(Fault::ResourceInUse, messages::table_exists(&table))
            }
            StoreError::IndexNotFound { .. } => {
                Refusal::new(Fault::ResourceNotFound, messages::RESOURCE_NOT_FOUND)
            }
            StoreError::StreamNotFound { .. } => {
                Refusal::new(Fault::ResourceNotFound, messages::STREAM_NOT_FOUND)
            }
            StoreError::ShardNotFound { .. } => {
                Refusal::new(Fault::ResourceNotFound, messages::SHARD_NOT_FOUND)
            }
            StoreError::IteratorExpired => {
                Refusal::new(Fault::ExpiredIterator, messages::ITERATOR_EXPIRED)
            }
            StoreError::RecordsTrimmed => {
                Refusal::new(Fault::TrimmedDataAccess, messages::RECORDS_TRIMMED)
            }
            StoreError::ResourceInUse { message } => Refusal::new(Fault::ResourceInUse, message),
            StoreError::AccessDenied { message } => Refusal::new(Fault::AccessDenied, message),
            StoreError::LimitExceeded { message } => Refusal::new(Fault::LimitExceeded, message),
            StoreError::ConditionFailed { item, .. } => {
                let refusal =
                    Refusal::new(Fault::ConditionalCheckFailed, messages::CONDITION_FAILED);
                match item {
                    Some(item) => refusal.with(Detail::Item(item)),
                    None => refusal,
                }
            }
            StoreError::TransactionCanceled { reasons } => {
                let message = messages::transaction_canceled(&reasons);
                Refusal::new(Fault::TransactionCanceled, message).with(Detail::Reasons(reasons))
            }
            StoreError::TransactionConflict => {
                Refusal::new(Fault::TransactionConflict, messages::TRANSACTION_CONFLICT)
            }
            StoreError::IdempotentParameterMismatch => {
                let fault = Fault::IdempotentParameterMismatch;
                Refusal::new(fault, messages::IDEMPOTENT_PARAMETER_MISMATCH)
            }
            StoreError::Throttled | StoreError::Exhausted(_) => {
                Refusal::new(Fault::ProvisionedThroughputExceeded, messages::THROTTLED)
            }
            // The service has no such error. Clients try again what is answered with status 503.
            StoreError::DiskFull { .. } => {
                Refusal::new(Fault::ServiceUnavailable, messages::DISK_FULL)
            }
            // The same, for the time in which a client is told of another endpoint.
            StoreError::ReadOnly { message }
            | StoreError::NoLease { message }
            | StoreError::Closed { message } => Refusal::new(Fault::ServiceUnavailable, message),
            // The service's contract for this error is that a write was carried out or not, which
            // is just what `OutcomeUnknown` says.
            error => Refusal::new(Fault::InternalServerError, messages::INTERNAL)
                .with(Detail::Cause(Box::new(error))),
        }
    }
}

#[cfg(test)]
mod tests;
