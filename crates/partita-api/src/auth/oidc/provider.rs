//! A provider that is found by its issuer: its endpoints and keys are where it says they are.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use axum::body::Bytes;
use axum::http::{Request, StatusCode, Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64};
use form_urlencoded::Serializer;
use http_body_util::Full;
use partita_core::excerpt;
use partita_plan::Claims;
use partita_store::Clock;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tracing::warn;

use super::{Asked, Provider, ProviderError};
use crate::https::{self, HttpsClient};
use crate::token::fetch::KeyUrl;
use crate::token::{Expected, Issuer, Keys, TokenError};

/// Google's issuer.
pub const GOOGLE: &str = "https://accounts.google.com";

/// What is asked for: an id token, with the address and the name of whoever signs in.
const SCOPE: &str = "openid email profile";

/// The largest answer of a provider.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How old what a provider says of itself may be.
const FRESH_MILLIS: i64 = 3_600_000;
/// The pause after a try that failed, so that requests of strangers do not cause one each.
const PAUSE_MILLIS: i64 = 5_000;

/// A provider.
pub struct OpenIdProvider {
    site: Arc<Site>,
}

/// Where a provider is, and what is known of it.
struct Site {
    issuer: String,
    /// The same, as a URL.
    place: Uri,
    client_id: String,
    client_secret: Option<SecretString>,
    client: HttpsClient<Full<Bytes>>,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
}

/// What was learned of a provider.
#[derive(Default)]
struct Known {
    discovered: Option<Arc<Discovered>>,
    /// When the last try ended.
    tried_millis: Option<i64>,
    /// The try that is under way; it closes when that ends.
    trying: Option<watch::Receiver<()>>,
}

/// A provider as it describes itself.
struct Discovered {
    authorization: Uri,
    token: Uri,
    /// Whether the secret goes into the form, where a header is not taken.
    takes_form: bool,
    /// Whether it says who it is when it sends a browser back.
    says_issuer: bool,
    tokens: Issuer,
    fetched_millis: i64,
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

#[derive(Deserialize)]
struct Redeemed {
    id_token: String,
}

#[derive(Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    error: String,
}

impl OpenIdProvider {
    /// The provider of an issuer, to which we are a client. Nothing is asked before somebody signs
    /// in, so that a provider that is away keeps no server from starting.
    pub fn new(
        issuer: &str,
        client_id: &str,
        client_secret: Option<SecretString>,
        clock: Arc<dyn Clock>,
    ) -> Result<OpenIdProvider, ProviderError> {
        let unusable = |what: String| ProviderError::Unavailable(format!("{issuer}: {what}"));
        let place = https::trusted(issuer).map_err(|wrong| unusable(wrong.to_owned()))?;
        let site = Site {
            issuer: issuer.to_owned(),
            place,
            client_id: client_id.to_owned(),
            client_secret,
            client: https::client().map_err(|error| unusable(error.to_string()))?,
            clock,
            known: Mutex::default(),
        };
        Ok(OpenIdProvider {
            site: Arc::new(site),
        })
    }
}

impl Site {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the provider says of itself, asked for once in an hour, by one try for all who wait.
    /// Meanwhile, and while it does not answer, what was known stays good.
    async fn discovered(self: &Arc<Self>) -> Result<Arc<Discovered>, ProviderError> {
        let trying = {
            let mut known = self.known();
            let now = self.clock.now_millis();
            let is_fresh =
                |one: &Arc<Discovered>| now.saturating_sub(one.fetched_millis) < FRESH_MILLIS;
            let trying = match known.discovered.as_ref().is_some_and(is_fresh) {
                true => None,
                false => self.trying(&mut known, now),
            };
            if let Some(discovered) = &known.discovered {
                return Ok(discovered.clone());
            }
            trying
        };
        if let Some(mut trying) = trying {
            // Nothing is ever sent: it ends with the try.
            while trying.changed().await.is_ok() {}
        }
        let away = || ProviderError::Unavailable(format!("{} does not answer", self.issuer));
        self.known().discovered.clone().ok_or_else(away)
    }

    /// The try that is under way, or a new one after a pause. It goes on when those who wait hang up.
    fn trying(self: &Arc<Self>, known: &mut Known, now: i64) -> Option<watch::Receiver<()>> {
        let under_way = known.trying.as_ref();
        if let Some(trying) = under_way.filter(|one| one.has_changed().is_ok()) {
            return Some(trying.clone());
        }
        let last = known.tried_millis;
        if last.is_some_and(|last| now.saturating_sub(last) < PAUSE_MILLIS) {
            return None;
        }
        let (ends, trying) = watch::channel(());
        known.trying = Some(trying.clone());
        let site = self.clone();
        tokio::spawn(async move {
            let found = site.discover(now).await;
            let mut known = site.known();
            known.tried_millis = Some(site.clock.now_millis());
            match found {
                Ok(discovered) => known.discovered = Some(Arc::new(discovered)),
                Err(error) => warn!(%error, issuer = site.issuer, "a provider cannot be asked"),
            }
            drop(known);
            drop(ends);
        });
        Some(trying)
    }

    async fn discover(&self, now_millis: i64) -> Result<Discovered, ProviderError> {
        let base = self.issuer.trim_end_matches('/');
        let url = format!("{base}/.well-known/openid-configuration");
        let request = Request::get(&url).body(Full::default());
        let (status, body) = self.ask(&url, request).await?;
        let failed = |what: String| ProviderError::Unavailable(format!("{url}: {what}"));
        if status != StatusCode::OK {
            return Err(failed(format!("it answers {status}")));
        }
        let document: Document =
            serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))?;
        // Who speaks for another issuer could take its place.
        if document.issuer != self.issuer {
            let other = excerpt::name(&document.issuer);
            return Err(failed(format!("it says that it is `{other}`")));
        }
        let endpoint = |text: &str| {
            let named = https::named_by(&self.place, text);
            named.map_err(|what| failed(format!("`{}`: {what}", excerpt::name(text))))
        };
        let authorization = endpoint(&document.authorization_endpoint)?;
        let token = endpoint(&document.token_endpoint)?;
        let keys = endpoint(&document.jwks_uri)?.to_string();
        let keys = KeyUrl::new(&keys).map_err(|error| failed(error.to_string()))?;
        let keys = Keys::fetch(keys, self.clock.clone()).await;
        let expected = Expected {
            issuer: self.issuer.clone(),
            audiences: vec![self.client_id.clone()],
            role_claim: String::new(),
            group_claims: Vec::new(),
        };
        // By default a client shows its secret in a header.
        let methods = document.token_endpoint_auth_methods_supported;
        let takes = |method: &str| methods.iter().flatten().any(|one| one == method);
        Ok(Discovered {
            authorization,
            token,
            takes_form: takes("client_secret_post") && !takes("client_secret_basic"),
            says_issuer: document.authorization_response_iss_parameter_supported,
            tokens: Issuer::new(expected, keys.map_err(|error| failed(error.to_string()))?),
            fetched_millis: now_millis,
        })
    }

    async fn ask(
        &self,
        url: &str,
        request: Result<Request<Full<Bytes>>, axum::http::Error>,
    ) -> Result<(StatusCode, Bytes), ProviderError> {
        let failed = |what: String| ProviderError::Unavailable(format!("{url}: {what}"));
        let request = request.map_err(|error| failed(error.to_string()))?;
        let answer = https::ask(&self.client, request, ANSWER_BYTES_MAX).await;
        answer.map_err(failed)
    }

    /// The request that redeems a code.
    fn redemption(
        &self,
        discovered: &Discovered,
        asked: &Asked,
        code: &str,
    ) -> Result<Request<Full<Bytes>>, axum::http::Error> {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &asked.redirect_uri)
            .append_pair("code_verifier", &asked.verifier);
        let mut request = Request::post(&discovered.token)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json");
        match &self.client_secret {
            Some(secret) if !discovered.takes_form => {
                let encoded =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect();
                let (id, secret): (String, String) =
                    (encoded(&self.client_id), encoded(secret.expose_secret()));
                let pair = STANDARD.encode(format!("{id}:{secret}"));
                request = request.header(header::AUTHORIZATION, format!("Basic {pair}"));
            }
            Some(secret) => {
                form.append_pair("client_id", &self.client_id)
                    .append_pair("client_secret", secret.expose_secret());
            }
            None => {
                form.append_pair("client_id", &self.client_id);
            }
        }
        request.body(Full::from(form.finish()))
    }
}

#[async_trait]
impl Provider for OpenIdProvider {
    async fn authorization(&self, asked: &Asked) -> Result<String, ProviderError> {
        let site = &self.site;
        let discovered = site.discovered().await?;
        let challenge = BASE64.encode(Sha256::digest(asked.verifier.as_bytes()));
        let url = discovered.authorization.to_string();
        let between = if url.contains('?') { '&' } else { '?' };
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &site.client_id)
            .append_pair("redirect_uri", &asked.redirect_uri)
            .append_pair("scope", SCOPE)
            .append_pair("state", &asked.state)
            .append_pair("nonce", &asked.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        Ok(format!("{url}{between}{query}"))
    }

    async fn redeem(
        &self,
        asked: &Asked,
        code: &str,
        issuer: Option<&str>,
    ) -> Result<Claims, ProviderError> {
        let site = &self.site;
        let discovered = site.discovered().await?;
        let refused = |what: &str| ProviderError::Refused(what.to_owned());
        // A code of one provider is shown to no other.
        let is_theirs = match issuer {
            Some(issuer) => issuer == site.issuer,
            None => !discovered.says_issuer,
        };
        if !is_theirs {
            return Err(refused("somebody else has sent the browser back"));
        }
        let url = discovered.token.to_string();
        let request = site.redemption(&discovered, asked, code);
        let (status, body) = site.ask(&url, request).await?;
        if status.is_client_error() {
            let refusal: Refusal = serde_json::from_slice(&body).unwrap_or_default();
            return Err(refused(&excerpt::name(&refusal.error)));
        }
        let failed = |what: String| ProviderError::Unavailable(format!("{url}: {what}"));
        if status != StatusCode::OK {
            return Err(failed(format!("it answers {status}")));
        }
        let redeemed: Redeemed =
            serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))?;
        let now = site.clock.now_millis().div_euclid(1000);
        let token = &redeemed.id_token;
        let claims = discovered.tokens.verify_sign_in(token, &asked.nonce, now);
        claims.await.map_err(|error| match error {
            TokenError::Expired => refused("its id token has expired"),
            _ => refused("its id token is not for this sign-in"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use partita_store::surroundings::ManualClock;
    use tokio::net::TcpListener;
    use tokio::sync::Notify;

    use super::*;

    /// A provider that takes a request, answers nothing until it is told to, and hangs up then.
    struct Slow {
        asked: Arc<AtomicUsize>,
        taken: Arc<Notify>,
        hang_up: Arc<Notify>,
        clock: Arc<ManualClock>,
        site: Arc<Site>,
    }

    impl Slow {
        async fn open() -> Slow {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let issuer = format!("http://{}", listener.local_addr().unwrap());
            let asked = Arc::new(AtomicUsize::new(0));
            let (taken, hang_up) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let web = (asked.clone(), taken.clone(), hang_up.clone());
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    web.0.fetch_add(1, Ordering::SeqCst);
                    web.1.notify_one();
                    web.2.notified().await;
                    drop(stream);
                }
            });
            let clock = Arc::new(ManualClock::at(1_767_225_600_000));
            let provider = OpenIdProvider::new(&issuer, "us", None, clock.clone()).unwrap();
            Slow {
                asked,
                taken,
                hang_up,
                clock,
                site: provider.site,
            }
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }
    }

    #[tokio::test]
    async fn all_who_wait_share_one_try_and_the_pause_begins_at_its_end() {
        let slow = Slow::open().await;
        let wait = || {
            let site = slow.site.clone();
            tokio::spawn(async move { site.discovered().await.is_ok() })
        };
        let first = wait();
        slow.taken.notified().await;
        let others: Vec<_> = (0..10).map(|_| wait()).collect();
        // Who asked first hangs up, and the try takes as long as a pause.
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        slow.clock.advance(PAUSE_MILLIS);
        slow.hang_up.notify_one();
        for other in others {
            assert!(!other.await.unwrap());
        }
        assert!(!wait().await.unwrap(), "the pause has just begun");
        assert_eq!(slow.asked(), 1);
        slow.clock.advance(PAUSE_MILLIS);
        let next = wait();
        slow.taken.notified().await;
        slow.hang_up.notify_one();
        assert!(!next.await.unwrap());
        assert_eq!(slow.asked(), 2);
    }
}
