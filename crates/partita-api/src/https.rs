//! A client for HTTPS, for key sets and for S3: hyper on rustls with ring, because the usual
//! choice (aws-lc) builds C for a minute. Whom it trusts is what the system trusts.

use std::io;
use std::time::Duration;

use hyper::body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Time for a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// A client for requests with bodies of this kind.
pub(crate) type HttpsClient<B> = Client<HttpsConnector<HttpConnector>, B>;

/// A client. Callers decide whether plain HTTP is allowed.
pub(crate) fn client<B>() -> io::Result<HttpsClient<B>>
where
    B: Body<Data: Send> + Send,
{
    let mut plain = HttpConnector::new();
    plain.set_connect_timeout(Some(CONNECT_TIME_MAX));
    plain.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::ring::default_provider())?
        .https_or_http()
        .enable_http1()
        .wrap_connector(plain);
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}
