//! The SDK's errors in the store's words.
//!
//! The one distinction that must not be got wrong is whether a write may have been carried out.
//! `Verdict` draws it, from what is certain about the attempt; only then do codes matter.

use std::error::Error;
use std::iter::successors;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::{BoxError, ProvideErrorMetadata, SdkError};
use partita_store::StoreError;
use partita_store::error::Exhausted;
use partita_store::table::TableName;

/// Sends a request of the SDK as a call, so that it is known whether it was sent. The SDK's
/// builders have the same methods and no trait for them.
macro_rules! send {
    ($call:expr, $request:expr) => {
        $request
            .customize()
            .interceptor($call.interceptor())
            .send()
            .await
    };
}

pub(crate) use send;

/// What is known of one call, for its errors.
pub(crate) struct Call {
    /// The table that is meant, unless it is all of them.
    table: Option<TableName>,
    is_write: bool,
    sent: Sent,
}

impl Call {
    pub(crate) fn read(table: &TableName) -> Self {
        Call {
            table: Some(table.clone()),
            ..Call::of_all_tables()
        }
    }

    /// A read of no table in particular.
    pub(crate) fn of_all_tables() -> Self {
        Call {
            table: None,
            is_write: false,
            sent: Sent::default(),
        }
    }

    pub(crate) fn write(table: &TableName) -> Self {
        Call {
            is_write: true,
            ..Call::read(table)
        }
    }

    /// To be installed in the request, so that it is known whether it was sent.
    pub(crate) fn interceptor(&self) -> Sent {
        self.sent.clone()
    }

    /// The error in the store's words.
    pub(crate) fn error<E>(&self, error: &SdkError<E>) -> StoreError
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match Verdict::on(error, self.sent.was_sent()) {
            Verdict::Unknown(message) if self.is_write => StoreError::OutcomeUnknown { message },
            Verdict::Unknown(message) | Verdict::NotApplied(message) => {
                StoreError::Unavailable { message }
            }
            Verdict::Refused { code, message } => {
                let refused = refused(&code, message, self.table.clone());
                match exhausted(error) {
                    Some(exhausted) if refused == StoreError::Throttled => {
                        StoreError::Exhausted(exhausted)
                    }
                    _ => refused,
                }
            }
        }
    }
}

/// What an error says about the effect of its request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// There certainly was none.
    NotApplied(String),
    /// There may have been one.
    Unknown(String),
    /// The service declined, and said why.
    Refused { code: String, message: String },
}

impl Verdict {
    /// Sound for one attempt only: after a retry, the last error says nothing about the
    /// attempts before it.
    fn on<E>(error: &SdkError<E>, was_sent: bool) -> Verdict
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let text = with_sources(error);
        // Missing credentials, a missing region and a malformed endpoint all look like a broken
        // connection, but the request never got as far as that.
        if !was_sent {
            return Verdict::NotApplied(text);
        }
        match error {
            SdkError::ConstructionFailure(_) => Verdict::NotApplied(text),
            SdkError::DispatchFailure(failure) if failure.is_user() => Verdict::NotApplied(text),
            SdkError::DispatchFailure(_) if never_connected(error) => Verdict::NotApplied(text),
            SdkError::ServiceError(context) => {
                let status = context.raw().status();
                // Only a client error with a code is a refusal. A server error may come after
                // the effect, and an answer that cannot be parsed has no code, whatever its
                // status.
                match context.err().code() {
                    // An earlier request with the same token is still being carried out.
                    Some("TransactionInProgressException") => Verdict::Unknown(text),
                    Some(code) if status.is_client_error() => Verdict::Refused {
                        code: code.to_owned(),
                        message: context.err().message().unwrap_or_default().to_owned(),
                    },
                    _ => Verdict::Unknown(format!("status {}: {text}", status.as_u16())),
                }
            }
            // Timeouts, connections that broke, answers cut short, and whatever a later SDK adds.
            _ => Verdict::Unknown(text),
        }
    }
}

fn never_connected(error: &(dyn Error + 'static)) -> bool {
    sources(error)
        .find_map(|error| error.downcast_ref::<hyper_util::client::legacy::Error>())
        .is_some_and(hyper_util::client::legacy::Error::is_connect)
}

/// A refusal. Failed conditions and cancelled transactions carry more, which their operations
/// read.
fn refused(code: &str, message: String, table: Option<TableName>) -> StoreError {
    match (code, table) {
        ("ResourceNotFoundException", Some(table)) => StoreError::TableNotFound { table },
        ("ConditionalCheckFailedException", Some(table)) => {
            StoreError::ConditionFailed { table, item: None }
        }
        _ => refused_anywhere(code, message),
    }
}

/// What Amazon says has no capacity left: the word for it, and the table or index by its ARN.
fn exhausted<E>(error: &SdkError<E>) -> Option<Exhausted> {
    let body = error.raw_response()?.body().bytes()?;
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let first = body.get("ThrottlingReasons")?.get(0)?;
    let text = |name: &str| first.get(name).and_then(serde_json::Value::as_str);
    let index = text("resource").and_then(|arn| arn.split_once("/index/"));
    Some(Exhausted {
        reason: text("reason")?.to_owned(),
        index: index.map(|(_, index)| index.to_owned()),
    })
}

fn refused_anywhere(code: &str, message: String) -> StoreError {
    match code {
        "ValidationException" | "SerializationException" => StoreError::Validation { message },
        "ItemCollectionSizeLimitExceededException" => StoreError::Validation { message },
        "TransactionConflictException" | "ReplicatedWriteConflictException" => {
            StoreError::TransactionConflict
        }
        "ResourceInUseException" => StoreError::ResourceInUse { message },
        "ExpiredIteratorException" => StoreError::IteratorExpired,
        "TrimmedDataAccessException" => StoreError::RecordsTrimmed,
        "IdempotentParameterMismatchException" => StoreError::IdempotentParameterMismatch,
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "RequestLimitExceeded"
        | "LimitExceededException" => StoreError::Throttled,
        "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "IncompleteSignatureException"
        | "MissingAuthenticationTokenException"
        | "MissingAuthenticationToken"
        | "ExpiredTokenException"
        | "ExpiredToken" => StoreError::Unavailable {
            message: format!(
                "AWS does not accept the credentials ({code}); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_PROFILE, and the machine's clock"
            ),
        },
        "AccessDeniedException" | "AccessDenied" => StoreError::Unavailable {
            message: format!(
                "the credentials lack a permission; allow it in their IAM policy: {message}"
            ),
        },
        _ => StoreError::Unavailable {
            message: format!("{code}: {message}"),
        },
    }
}

/// An error with everything that caused it, in one line.
pub(crate) fn with_sources(error: &(dyn Error + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    for text in sources(error).map(ToString::to_string) {
        // Many errors repeat what caused them.
        if !texts.last().is_some_and(|last| last.contains(&text)) {
            texts.push(text);
        }
    }
    texts.join(": ")
}

fn sources<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}

/// Notes that a request was signed and handed to the HTTP client; one for each call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent(Arc<AtomicBool>);

impl Sent {
    fn was_sent(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Intercept for Sent {
    fn name(&self) -> &'static str {
        "Sent"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.store(true, Ordering::SeqCst);
        Ok(())
    }
}
