//! Both sides: our endpoint in front of the engine, and DynamoDB Local.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use partita_engine::{EngineStore, Options};
use partita_store::surroundings::{SeededEntropy, SystemClock};
use partita_testkit::dynamodb_local::DynamoDbLocal;
use partita_wire::Endpoint;
use tempfile::TempDir;

use super::Request;
use super::normal::{Answer, Order};
use crate::corpus::signed;

/// A page that is never the last would be a fault too.
const PAGES_MAX: usize = 200;

/// Our endpoint, on a directory of its own.
pub(super) struct Ours {
    endpoint: Endpoint,
    _folder: TempDir,
}

impl Ours {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(SystemClock);
        let store = EngineStore::open(folder.path(), Options::new(clock.clone())).unwrap();
        let entropy = Arc::new(SeededEntropy::new(1));
        Ours {
            endpoint: Endpoint::new(Arc::new(store), None, clock, entropy),
            _folder: folder,
        }
    }

    pub(super) async fn send(&self, request: &Request) -> Answer {
        let (head, body) = signed(request.operation, request.body.to_string()).into_parts();
        let response = self.endpoint.answer(&head, body).await;
        Answer::new(response.status().as_u16(), response.body())
    }

    pub(super) async fn exchange(&self, request: &Request) -> Answer {
        exchange(request, async |request| self.send(&request).await).await
    }
}

/// DynamoDB Local over HTTP.
pub(super) struct Local {
    http: Client<HttpConnector, Full<Bytes>>,
    url: String,
}

impl Local {
    pub(super) fn new(server: &DynamoDbLocal) -> Self {
        Local {
            http: Client::builder(TokioExecutor::new()).build_http(),
            url: server.endpoint(),
        }
    }

    pub(super) async fn send(&self, request: &Request) -> Answer {
        let mut sent = signed(request.operation, request.body.to_string()).map(Full::new);
        *sent.uri_mut() = self.url.parse().unwrap();
        let response = self.http.request(sent).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Answer::new(status, &body)
    }

    pub(super) async fn exchange(&self, request: &Request) -> Answer {
        exchange(request, async |request| self.send(&request).await).await
    }
}

/// Sends a request, and reads all pages of a query, scan or SELECT: where one ends is not defined where
/// items come in an order of the store's own, nor whether the last one says that it is.
async fn exchange(request: &Request, send: impl AsyncFn(Request) -> Answer) -> Answer {
    let mut answer = send(request.clone()).await;
    let mut next = request.clone();
    for _ in 0..PAGES_MAX {
        let Some((parameter, value)) = answer.take_next() else {
            return answer.normal(Order::of(request));
        };
        next.body[parameter] = value;
        answer.append(send(next.clone()).await);
    }
    panic!("{request:?} has no last page")
}
