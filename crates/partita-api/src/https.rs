//! A client for HTTPS, for key sets, providers and S3: hyper on rustls with ring, because the usual
//! choice (aws-lc) builds C for a minute. Whom it trusts is what the system trusts.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Body;
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Time for a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// Time for a whole answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

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

/// A URL of somebody whose word counts. It must be `https`, because an attacker who can answer in
/// its place speaks for them; on this machine `http` will do.
pub(crate) fn trusted(url: &str) -> Result<Uri, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "it is no URL")?;
    let is_here = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_here => Ok(uri),
        _ => Err("it must be https"),
    }
}

/// A URL that somebody says of themselves, such as an issuer of its endpoints. Where the issuer is
/// `https`, so is everything that it names, and nothing of it is inside this machine or its network:
/// whoever writes the document of an issuer would otherwise choose where this server sends requests.
/// An issuer that is itself inside may name others there.
pub(crate) fn named_by(issuer: &Uri, url: &str) -> Result<Uri, &'static str> {
    let uri = trusted(url)?;
    if issuer.scheme_str() != Some("https") {
        return Ok(uri);
    }
    if uri.scheme_str() != Some("https") {
        return Err("it must be https, as its issuer is");
    }
    let is_in = |uri: &Uri| uri.host().is_none_or(is_inside);
    if is_in(&uri) && !is_in(issuer) {
        return Err("it is an address inside this network, and its issuer is not there");
    }
    Ok(uri)
}

/// Whether a host is inside this machine or its network, as far as its text says so.
fn is_inside(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(address) = bare.parse::<IpAddr>() else {
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        return name == "localhost" || name.ends_with(".localhost") || name.ends_with(".internal");
    };
    match address.to_canonical() {
        IpAddr::V4(one) => {
            // The networks of carriers, 100.64.0.0/10, are private too.
            let [first, second, ..] = one.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            one.is_private()
                || one.is_loopback()
                || one.is_link_local()
                || one.is_unspecified()
                || one.is_broadcast()
                || one.is_multicast()
                || is_shared
        }
        IpAddr::V6(one) => {
            one.is_loopback()
                || one.is_unspecified()
                || one.is_multicast()
                || one.is_unique_local()
                || one.is_unicast_link_local()
        }
    }
}

/// Sends a request and reads the whole answer, within bounds. Redirects are not followed: another
/// place is somebody else.
pub(crate) async fn ask<B>(
    client: &HttpsClient<B>,
    request: Request<B>,
    bytes_max: usize,
) -> Result<(StatusCode, Bytes), String>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static,
{
    let asked = async {
        let answer = client.request(request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), bytes_max).collect().await;
        let body = body.map_err(|error| error.to_string())?;
        Ok((status, body.to_bytes()))
    };
    let answer = tokio::time::timeout(ANSWER_TIME_MAX, asked).await;
    answer.unwrap_or_else(|_| Err("it does not answer in time".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_names_nothing_inside_this_network() {
        let public: Uri = "https://id.example".parse().unwrap();
        for url in [
            "https://id.example/token",
            "https://keys.example:8443/jwks",
            "https://203.0.113.7/jwks",
            "https://[2001:db8::1]/jwks",
        ] {
            assert!(named_by(&public, url).is_ok(), "{url}");
        }
        for url in [
            "http://id.example/token",
            "http://127.0.0.1:8000/metrics",
            "http://localhost/",
            "https://localhost/",
            "https://LOCALHOST./",
            "https://metadata.google.internal/",
            "https://127.0.0.1/",
            "https://10.0.0.1/",
            "https://172.16.3.4/",
            "https://192.168.1.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://100.100.100.200/",
            "https://0.0.0.0/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fd00::1]/",
            "https://[fe80::1]/",
            "file:///etc/passwd",
        ] {
            assert!(named_by(&public, url).is_err(), "{url}");
        }
    }

    #[test]
    fn an_issuer_inside_names_others_there() {
        let inside: Uri = "https://10.0.0.1".parse().unwrap();
        assert!(named_by(&inside, "https://10.0.0.2/token").is_ok());
        assert!(named_by(&inside, "http://127.0.0.1/token").is_err());
        let here: Uri = "http://127.0.0.1:4000".parse().unwrap();
        assert!(named_by(&here, "http://127.0.0.1:4001/token").is_ok());
        assert!(named_by(&here, "http://id.example/token").is_err());
    }
}
