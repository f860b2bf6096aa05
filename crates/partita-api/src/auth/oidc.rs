//! Sign-in at a provider, as OpenID Connect has it: an authorization code with PKCE.
//!
//! What a sign-in needs when the browser comes back is in a cookie of that browser, and nowhere
//! else. State, nonce and verifier are digests of the one secret in it, each for its own purpose;
//! so none of them tells another, and a changed cookie fits no state.

#[cfg(feature = "https")]
mod provider;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use partita_core::excerpt;
use partita_plan::{Account, Claims, Partita, Unlinked};
use partita_store::Entropy;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tracing::{info, warn};

use super::identity::SameSite;
use super::{Auth, AuthCall, done, identity, page};
use crate::encode;
use crate::problem::{Problem, ProblemKind};

#[cfg(feature = "https")]
pub use provider::{GOOGLE, OpenIdProvider};

/// How long somebody may take to sign in at the provider.
const ATTEMPT_SECONDS: i64 = 600;

/// Bytes of the secret of an attempt.
const SECRET_BYTES: usize = 32;

/// The longest path that a browser is sent back to.
const PATH_BYTES_MAX: usize = 512;

/// Somebody who says who people are.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Where a browser is sent to sign in.
    async fn authorization(&self, asked: &Asked) -> Result<String, ProviderError>;

    /// Who has come back with a code. `issuer` is who says to have sent them.
    async fn redeem(
        &self,
        asked: &Asked,
        code: &str,
        issuer: Option<&str>,
    ) -> Result<Claims, ProviderError>;
}

/// Providers by the names that designs have for them.
pub type Providers = BTreeMap<String, Arc<dyn Provider>>;

/// What a sign-in at a provider is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Where the browser comes back to.
    pub redirect_uri: String,
    /// What it brings back.
    pub state: String,
    /// What the id token says.
    pub nonce: String,
    /// What the code is redeemed with; the provider was told its digest.
    pub verifier: String,
}

/// Why a provider says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// It does not answer as it should.
    #[error("the provider cannot be reached, or answers something else: {0}")]
    Unavailable(String),
    /// It does not vouch for anybody.
    #[error("the provider does not say who you are: {0}")]
    Refused(String),
}

impl From<ProviderError> for Problem {
    fn from(error: ProviderError) -> Problem {
        let detail = error.to_string();
        match error {
            ProviderError::Unavailable(_) => {
                warn!(%error, "somebody cannot sign in");
                let detail = "the provider does not answer as it should; the server's log says why";
                Problem::new(ProblemKind::ProviderUnavailable, detail)
            }
            ProviderError::Refused(_) => Problem::new(ProblemKind::ProviderRefused, detail),
        }
    }
}

/// A sign-in that has begun, as the browser keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Attempt {
    provider: String,
    /// 256 random bits.
    secret: String,
    /// When it began, in seconds.
    began: i64,
    /// Where to go then; without it the answer is a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

impl Attempt {
    fn new(provider: &str, to: Option<String>, now_seconds: i64, entropy: &dyn Entropy) -> Attempt {
        let mut secret = [0; SECRET_BYTES];
        entropy.fill(&mut secret);
        Attempt {
            provider: provider.to_owned(),
            secret: BASE64.encode(secret),
            began: now_seconds,
            to,
        }
    }

    /// A digest of all of it, for one purpose.
    fn derived(&self, purpose: &str) -> String {
        let mut hash = Sha256::new();
        let began = self.began.to_string();
        let to = self.to.as_deref().unwrap_or_default();
        for text in [purpose, &self.provider, &self.secret, &began, to] {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        }
        BASE64.encode(hash.finalize())
    }

    fn asked(&self, redirect_uri: String) -> Asked {
        Asked {
            redirect_uri,
            state: self.derived("state"),
            nonce: self.derived("nonce"),
            verifier: self.derived("verifier"),
        }
    }

    fn to_cookie(&self) -> String {
        BASE64.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn of_cookie(text: &str) -> Option<Attempt> {
        let attempt: Attempt = serde_json::from_slice(&BASE64.decode(text).ok()?).ok()?;
        let secret = BASE64.decode(&attempt.secret).ok()?;
        let is_own = attempt.to.as_deref().is_none_or(is_own_path);
        (secret.len() == SECRET_BYTES && is_own).then_some(attempt)
    }
}

impl AuthCall<'_> {
    /// Sends a browser to a provider.
    pub(super) async fn begin_at_provider(&self) -> Result<Response, Problem> {
        let (name, provider) = self.named_provider()?;
        let mut parameters = self.request.parameters()?;
        let to = parameters.remove("return");
        if to.as_deref().is_some_and(|to| !is_own_path(to)) {
            let detail = "`return` must be a path of this server, such as `/mediahub/docs`";
            return Err(Problem::bad_request(detail));
        }
        let attempt = Attempt::new(name, to, self.now_seconds(), &*self.auth.entropy);
        let asked = attempt.asked(self.redirect_uri(name));
        let url = provider.authorization(&asked).await?;
        let cookie = self.attempt_cookie(Some(&attempt));
        Ok(redirect(&url, [cookie]))
    }

    /// A browser comes back from a provider.
    pub(super) async fn return_from_provider(&self) -> Result<Response, Problem> {
        let name = attempt_cookie_name(&self.design().name);
        let found = identity::cookie(self.request.headers, &name);
        let Some(attempt) = found.and_then(Attempt::of_cookie) else {
            return Err(not_begun());
        };
        let answer = self.signed_in_at_provider(&attempt).await;
        let answer = match answer {
            // Who is sent somewhere is a browser.
            Err(problem) if attempt.to.is_some() => {
                Ok(page::said(problem.status(), &problem.detail))
            }
            answer => answer,
        };
        // It is good once.
        answer.map(|mut response| {
            let cookie = self.attempt_cookie(None);
            response.headers_mut().append(header::SET_COOKIE, cookie);
            response
        })
    }

    async fn signed_in_at_provider(&self, attempt: &Attempt) -> Result<Response, Problem> {
        let (name, provider) = self.named_provider()?;
        let parameters = self.request.parameters()?;
        let given = |name: &str| parameters.get(name).map(String::as_str);
        let asked = attempt.asked(self.redirect_uri(name));
        let age = self.now_seconds().saturating_sub(attempt.began);
        let is_this = attempt.provider == name
            && (0..ATTEMPT_SECONDS).contains(&age)
            && given("state") == Some(&asked.state);
        if !is_this {
            return Err(not_begun());
        }
        if let Some(error) = given("error") {
            return Err(ProviderError::Refused(excerpt::name(error).into_owned()).into());
        }
        let Some(code) = given("code") else {
            return Err(Problem::bad_request("`code` is missing"));
        };
        self.count_guess().await?;
        let claims = &provider.redeem(&asked, code, given("iss")).await?;
        self.forgive_guess().await?;
        // A code is redeemed once, so what follows is repeated alone.
        let found =
            |partita: Arc<Partita>| async move { partita.account_of_provider(name, claims).await };
        let account = self.as_served(found).await?;
        self.opened_by_provider(name, attempt, &account).await
    }

    async fn opened_by_provider(
        &self,
        provider: &str,
        attempt: &Attempt,
        account: &Account,
    ) -> Result<Response, Problem> {
        if !account.is_active {
            return Err(Problem::account_closed());
        }
        let open =
            |partita: Arc<Partita>| async move { partita.sign_in_by(account, provider).await };
        let session = self.as_served(open).await?;
        info!(
            design = self.design().name,
            user = account.id,
            session = session.id,
            client = self.client(),
            provider,
            "somebody signed in"
        );
        let cookie = attempt.to.as_ref().map(|_| SameSite::Lax);
        let opened = self
            .opened(&account.id, &session, cookie, StatusCode::OK)
            .await?;
        let Some(to) = &attempt.to else {
            return Ok(opened);
        };
        let url = format!("{}{to}", self.auth.public_url.origin());
        let cookies = opened.headers().get_all(header::SET_COOKIE);
        Ok(redirect(&url, cookies.iter().cloned()))
    }

    /// The providers of the design, and which of them sign the caller in.
    pub(super) async fn providers(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let providers = self.partita.providers_of(&account).await?;
        let items = providers
            .iter()
            .map(|one| json!({ "provider": one.name, "linked": one.is_linked }));
        let items = json!({ "items": items.collect::<Vec<_>>() });
        Ok(encode::json_response(StatusCode::OK, &items))
    }

    /// Takes a provider from the caller's account.
    pub(super) async fn unlink(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let provider = self.provider.unwrap_or_default();
        let usable: Vec<&str> = self.auth.providers.keys().map(String::as_str).collect();
        let session = self.verified.session();
        let unlinked = self.partita.unlink(&account, provider, &usable, session);
        let refused = |kind, detail: &str| Err(Problem::new(kind, detail));
        match unlinked.await? {
            Unlinked::Done => {}
            Unlinked::NotLinked => {
                let detail = "your account is not linked to this provider";
                return refused(ProblemKind::NotFound, detail);
            }
            Unlinked::LastWay => {
                let detail = "without this provider you could not sign in: choose a password first";
                return refused(ProblemKind::LastWay, detail);
            }
        }
        // Whoever signed in by the provider is out. Other sessions that one transaction did not end go
        // too.
        let account = &account;
        self.afterwards(|partita: Arc<Partita>| async move {
            partita.end_other_sessions(account, session).await?;
            Ok(())
        })
        .await;
        info!(
            design = self.design().name,
            user = account.id,
            provider,
            "a provider was unlinked"
        );
        Ok(done())
    }

    /// The provider that the path names.
    fn named_provider(&self) -> Result<(&str, &Arc<dyn Provider>), Problem> {
        let name = self.provider.unwrap_or_default();
        let mut subjects = self.sign_in_part()?.subjects.iter();
        let is_known = subjects.any(|(known, _)| known == name);
        let found = self.auth.providers.get(name).filter(|_| is_known);
        let provider = found.ok_or_else(|| {
            let name = excerpt::name(name);
            Problem::no_route(format!("nobody signs in by `{name}` here"))
        })?;
        Ok((name, provider))
    }

    fn redirect_uri(&self, provider: &str) -> String {
        let (url, design) = (self.auth.public_url.as_str(), &self.design().name);
        format!("{url}/{design}/auth/oidc/{provider}/callback")
    }

    fn now_seconds(&self) -> i64 {
        self.auth.clock.now_millis().div_euclid(1000)
    }

    /// Gives a browser what it brings back, or takes it away.
    fn attempt_cookie(&self, attempt: Option<&Attempt>) -> HeaderValue {
        let design = &self.design().name;
        let value = attempt.map(Attempt::to_cookie);
        let seconds = attempt.map_or(0, |_| ATTEMPT_SECONDS);
        attempt_cookie(
            self.auth,
            design,
            value.as_deref().unwrap_or_default(),
            seconds,
        )
    }
}

fn attempt_cookie_name(design: &str) -> String {
    format!("partita-oidc-{design}")
}

/// It is for the requests of a sign-in alone. A browser sends it when a provider sends it back.
fn attempt_cookie(auth: &Auth, design: &str, value: &str, seconds: i64) -> HeaderValue {
    let name = attempt_cookie_name(design);
    let path = format!("{design}/auth/oidc");
    identity::cookie_header(auth, &name, value, &path, seconds, SameSite::Lax)
}

fn not_begun() -> Problem {
    let detail = "this sign-in did not begin in this browser, or too long ago; begin again";
    Problem::new(ProblemKind::SignInInvalid, detail)
}

/// Whether a text is a path of our own: what a browser reads as another host is none.
fn is_own_path(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    text.starts_with('/')
        && !text.starts_with("//")
        && text.len() <= PATH_BYTES_MAX
        && text.bytes().all(is_plain)
}

fn redirect(url: &str, cookies: impl IntoIterator<Item = HeaderValue>) -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    if let Ok(url) = HeaderValue::from_str(url) {
        headers.insert(header::LOCATION, url);
    }
    for cookie in cookies {
        headers.append(header::SET_COOKIE, cookie);
    }
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_store::surroundings::SeededEntropy;

    #[test]
    fn only_paths_of_our_own_are_returned_to() {
        for path in [
            "/",
            "/mediahub/docs",
            "/a?b=c#d",
            "/mediahub/query/x?y=%2F%2Fz",
        ] {
            assert!(is_own_path(path), "{path}");
        }
        let long = format!("/{}", "a".repeat(PATH_BYTES_MAX));
        for path in [
            "",
            "mediahub",
            "//evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "https://evil.example",
            "/a\r\nSet-Cookie: b=c",
            "/\tevil",
            "/ä",
            &long,
        ] {
            assert!(!is_own_path(path), "{path}");
        }
    }

    #[test]
    fn a_changed_cookie_fits_no_state() {
        let attempt = Attempt::new("google", Some("/a".to_owned()), 1, &SeededEntropy::new(7));
        let state = attempt.derived("state");
        assert_eq!(
            Attempt::of_cookie(&attempt.to_cookie()),
            Some(attempt.clone())
        );
        let mut all = vec![
            state.clone(),
            attempt.derived("nonce"),
            attempt.derived("verifier"),
        ];
        for change in [
            |one: &mut Attempt| one.provider = "other".to_owned(),
            |one: &mut Attempt| one.to = None,
            |one: &mut Attempt| one.began += 1,
            |one: &mut Attempt| one.secret.replace_range(..1, "-"),
        ] {
            let mut changed = attempt.clone();
            change(&mut changed);
            all.push(changed.derived("state"));
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 7);
        let evil = Attempt {
            to: Some("//evil.example".to_owned()),
            ..attempt
        };
        assert_eq!(Attempt::of_cookie(&evil.to_cookie()), None);
    }
}
