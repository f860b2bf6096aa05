//! Where the service is, who asks, and how long to wait: the SDK's clients made from it.

use std::sync::OnceLock;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    Builder, Credentials, ProvideCredentials as _, SharedCredentialsProvider, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use partita_store::{StoreError, StoreResult};

use crate::error::with_sources;

/// Where the service is. Credentials come from where AWS's tools take them: the environment,
/// `~/.aws`, or the machine's role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteConfig {
    /// The address of another service that speaks DynamoDB, such as DynamoDB Local.
    pub endpoint: Option<String>,
    /// The AWS region, unless the environment names it.
    pub region: Option<String>,
    /// How far behind its table a global index may be. Amazon's are mostly behind by
    /// milliseconds, and names no bound.
    pub index_delay: Duration,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection. Keep it below `attempt`, or a service that cannot be reached looks
    /// like one that does not answer, and the outcome of a write is unknown without need.
    pub connect: Duration,
    /// For the answer to one attempt, connecting included.
    pub attempt: Duration,
    /// For a new table to become usable.
    pub table: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(2),
            attempt: Duration::from_secs(10),
            table: Duration::from_secs(120),
        }
    }
}

/// The SDK's clients. They share connections and credentials, and differ in retries.
pub(crate) struct Clients {
    pub(crate) reads: Client,
    pub(crate) writes: Client,
    pub(crate) streams: aws_sdk_dynamodbstreams::Client,
    /// What the ARNs of all tables begin with, known after the first answer.
    pub(crate) arn_prefix: OnceLock<String>,
}

/// Attempts of a read, the first included. A read has no effect to repeat by mistake.
const READ_ATTEMPTS: u32 = 3;

/// A pinned version, so that an upgrade of the SDK does not change how requests behave.
fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// The region of requests to an endpoint of one's own, where it only goes into the signature.
const ENDPOINT_REGION: &str = "us-east-1";

impl Clients {
    /// Clients with the surroundings' credentials, which are looked up at once: better a clear
    /// refusal at the start than an obscure one at the first request.
    pub(crate) async fn connect(config: &RemoteConfig, timeouts: Timeouts) -> StoreResult<Self> {
        let mut loader =
            aws_config::defaults(behavior()).http_client(http_client(config.endpoint.as_deref()));
        if let Some(endpoint) = &config.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        if let Some(region) = &config.region {
            loader = loader.region(Region::new(region.clone()));
        }
        let mut shared = loader.load().await;
        if shared.region().is_none() {
            if config.endpoint.is_none() {
                return Err(unavailable(
                    "no AWS region is configured; set AWS_REGION, or `region` in the profile",
                ));
            }
            let region = Region::new(ENDPOINT_REGION);
            shared = shared.into_builder().region(region).build();
        }
        require_credentials(&shared, config.endpoint.is_some()).await?;
        Ok(Clients::new(&shared, timeouts))
    }

    /// Clients of DynamoDB Local, which takes any credentials.
    pub(crate) fn local(endpoint: &str, timeouts: Timeouts) -> Self {
        let credentials = Credentials::new("local", "local", None, None, "partita");
        let shared = SdkConfig::builder()
            .behavior_version(behavior())
            .region(Region::new(ENDPOINT_REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(endpoint)
            .http_client(http_client(Some(endpoint)))
            .build();
        Clients::new(&shared, timeouts)
    }

    fn new(shared: &SdkConfig, timeouts: Timeouts) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(timeouts.connect)
            .read_timeout(timeouts.attempt)
            .operation_attempt_timeout(timeouts.attempt)
            .build();
        let client = |retries: RetryConfig| {
            let config = Builder::from(shared)
                .retry_config(retries)
                .timeout_config(timeouts.clone())
                // It guards streams of unknown length; the attempt's timeout guards these.
                .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
            Client::from_conf(config.build())
        };
        let retries = RetryConfig::standard().with_max_attempts(READ_ATTEMPTS);
        // Streams are only ever read.
        let streams = aws_sdk_dynamodbstreams::config::Builder::from(shared)
            .retry_config(retries.clone())
            .timeout_config(timeouts.clone())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        Clients {
            reads: client(retries),
            // See the crate's introduction: after a retry, the outcome of the first attempt is
            // unknown.
            writes: client(RetryConfig::disabled()),
            streams: aws_sdk_dynamodbstreams::Client::from_conf(streams.build()),
            arn_prefix: OnceLock::new(),
        }
    }
}

async fn require_credentials(shared: &SdkConfig, is_endpoint: bool) -> StoreResult<()> {
    let found = match shared.credentials_provider() {
        Some(provider) => provider
            .provide_credentials()
            .await
            .map_err(|error| with_sources(&error)),
        None => Err("no provider is configured".to_owned()),
    };
    let Err(reason) = found else { return Ok(()) };
    let local = if is_endpoint {
        " (for DynamoDB Local any values do)"
    } else {
        ""
    };
    Err(unavailable(format!(
        "no AWS credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY{local}, or AWS_PROFILE, or run under a role: {reason}"
    )))
}

/// Without TLS for `http:` endpoints, because the client for TLS loads the system's
/// certificates, and panics in debug builds on a machine that has none.
fn http_client(endpoint: Option<&str>) -> SharedHttpClient {
    let builder = aws_smithy_http_client::Builder::new();
    match endpoint {
        Some(endpoint) if endpoint.starts_with("http:") => builder.build_http(),
        _ => builder
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build_https(),
    }
}

fn unavailable(message: impl Into<String>) -> StoreError {
    StoreError::Unavailable {
        message: message.into(),
    }
}
