//! Events to receivers: a CloudEvent in JSON, signed as Standard Webhooks says.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use partita_design::time;
use partita_plan::outbox::{Event, Message, Undelivered};
use partita_store::Clock;
use secrecy::{ExposeSecret as _, SecretBox};
use serde_json::{Value as Json, json};
use sha2::Sha256;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Time for a connection, and for a whole delivery.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
const DELIVERY_TIME_MAX: Duration = Duration::from_secs(15);

/// What the secrets of Standard Webhooks begin with.
const SECRET_PREFIX: &str = "whsec_";
/// How many bytes such a secret has.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A receiver of events.
pub struct Receiver {
    uri: Uri,
    key: SecretBox<Vec<u8>>,
    clock: Arc<dyn Clock>,
    #[cfg(feature = "https")]
    client: crate::https::HttpsClient<Full<Bytes>>,
}

/// Why somebody cannot be a receiver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReceiverError(String);

impl Receiver {
    /// A receiver at a URL, with the secret that both sides know.
    pub fn new(url: &str, secret: &str, clock: Arc<dyn Clock>) -> Result<Receiver, ReceiverError> {
        let failed = |what: String| ReceiverError(format!("{url}: {what}"));
        let uri: Uri = url.parse().map_err(|_| failed("it is no URL".to_owned()))?;
        match uri.scheme_str() {
            Some("http") => {}
            #[cfg(feature = "https")]
            Some("https") => {}
            #[cfg(not(feature = "https"))]
            Some("https") => {
                return Err(failed(
                    "this build has no client for HTTPS; build with `cargo build --release \
                     --features https`"
                        .to_owned(),
                ));
            }
            _ => return Err(failed("it must be https or http".to_owned())),
        }
        if uri.host().is_none()
            || uri
                .authority()
                .is_some_and(|one| one.as_str().contains('@'))
        {
            return Err(failed("it needs a host, and no user".to_owned()));
        }
        let key = secret.trim().strip_prefix(SECRET_PREFIX);
        let key = key.and_then(|text| BASE64.decode(text).ok());
        let key = key.filter(|key| SECRET_BYTES.contains(&key.len()));
        let key = key.ok_or_else(|| {
            let form = "its secret must be `whsec_` and 24 to 64 bytes in base64";
            failed(form.to_owned())
        })?;
        Ok(Receiver {
            uri,
            key: SecretBox::new(Box::new(key)),
            clock,
            #[cfg(feature = "https")]
            client: crate::https::client().map_err(|error| failed(error.to_string()))?,
        })
    }

    pub(super) async fn deliver(
        &self,
        message: &Message,
        event: &Event,
    ) -> Result<(), Undelivered> {
        let request = self.request(message, event);
        let request = request.map_err(|error| Undelivered::Never(error.to_string()))?;
        let answer = timeout(DELIVERY_TIME_MAX, self.post(request)).await;
        let answer = answer.unwrap_or_else(|_| Err("it does not answer in time".to_owned()));
        let status = answer.map_err(Undelivered::Later)?;
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::GONE => Err(Undelivered::Never(format!("it answers {status}"))),
            // Another place is another receiver.
            status if status.is_redirection() => Err(Undelivered::Later(format!(
                "it answers {status}, and redirects are not followed"
            ))),
            status if is_about(status) => Err(Undelivered::Refused(format!("it answers {status}"))),
            status => Err(Undelivered::Later(format!("it answers {status}"))),
        }
    }

    fn request(
        &self,
        message: &Message,
        event: &Event,
    ) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let body = cloud_event(message, event).to_string();
        let timestamp = self.clock.now_millis() / 1000;
        let signature = self.signature(&message.id, timestamp, &body);
        Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header(
                CONTENT_TYPE,
                HeaderValue::from_static("application/cloudevents+json; charset=utf-8"),
            )
            .header(USER_AGENT, HeaderValue::from_static("partita"))
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature)
            .body(Full::new(Bytes::from(body)))
    }

    fn signature(&self, id: &str, timestamp: i64, body: &str) -> String {
        let key = self.key.expose_secret();
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
        mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
        format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
    }

    /// Sends a request and gives the status of its answer. The rest of the answer is not read.
    async fn post(&self, request: Request<Full<Bytes>>) -> Result<StatusCode, String> {
        #[cfg(feature = "https")]
        if self.uri.scheme_str() == Some("https") {
            let answer = self.client.request(request).await;
            return answer
                .map(|answer| answer.status())
                .map_err(|error| with_cause(&error));
        }
        let answer = post_in_the_clear(request).await?;
        Ok(answer.status())
    }
}

/// An error with what caused it.
#[cfg(feature = "https")]
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

async fn post_in_the_clear(
    mut request: Request<Full<Bytes>>,
) -> Result<Response<hyper::body::Incoming>, String> {
    let uri = request.uri().clone();
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(80);
    let address = format!("{host}:{port}");
    let stream = timeout(CONNECT_TIME_MAX, TcpStream::connect(address)).await;
    let stream = stream.map_err(|_| "it cannot be reached in time".to_owned())?;
    let stream = stream.map_err(|error| error.to_string())?;
    let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|error| error.to_string())?;
    let authority = uri.authority().map_or(host, |one| one.as_str());
    let authority = HeaderValue::from_str(authority).map_err(|error| error.to_string())?;
    request.headers_mut().insert(HOST, authority);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse().map_err(|_| "it is no path".to_owned())?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await;
    connection.abort();
    answer.map_err(|error| error.to_string())
}

/// The event as CloudEvents 1.0 has it, in one JSON document.
fn cloud_event(message: &Message, event: &Event) -> Json {
    json!({
        "specversion": "1.0",
        "id": message.id,
        "source": format!("/{}", message.design),
        "type": event.kind,
        "subject": event.subject,
        "time": time::format_millis(message.created_millis),
        "datacontenttype": "application/json",
        "data": event.data,
    })
}

/// Whether a refusal is about the event, and not about who sends or how much.
fn is_about(status: StatusCode) -> bool {
    let others = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !others.contains(&status)
}

#[cfg(test)]
mod tests;
