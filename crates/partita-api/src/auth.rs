//! Requests under `/{design}/auth/`: people sign up and in, and look after their accounts.
//!
//! | module | what it holds |
//! |---|---|
//! | `auth` | the table of requests, and what all of them share |
//! | [`password`] | hashing, on threads of a low priority |
//! | [`identity`] | who calls: a session, a cookie, or a token whose account is good |
//! | `signing` | sign-up, sign-in, sign-out, me, sessions |
//! | `changing` | passwords and addresses changed, and links that are mailed |
//! | [`oidc`] | sign-in at a provider |
//! | `form` | what a request brings: JSON, or a form of one of our pages |
//! | `page` | the pages that mailed links lead to |
//! | `limits` | how often something may be tried |
//! | `public_url` | where browsers reach the server |
//!
//! Only these requests take a password or a mailed secret. They keep no answers for idempotency
//! keys, and what they answer does not tell whether somebody has an account.

mod changing;
mod form;
pub mod identity;
mod limits;
pub mod oidc;
mod page;
pub mod password;
mod public_url;
mod signing;

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use partita_core::plain;
use partita_design::Design;
use partita_design::design::SignIn;
use partita_plan::{
    Account, Answer, AttemptLimit, Caller, Current, KeptPromise, Operation, Partita, PlanError,
    Promise, SignedUp,
};
use partita_store::{Clock, Entropy};
use serde_json::{Value as Json, json};
use tracing::{info, warn};

use crate::encode;
use crate::problem::{Problem, ProblemKind};
use crate::request::Request;
use crate::token::Verified;
use form::Form;
use oidc::Providers;
use password::{Asker, Hasher};

pub use public_url::{PublicUrl, PublicUrlError};

/// The first part of their paths.
pub const AUTH: &str = "auth";

/// The largest body of such a request. Whoever signs up is nobody yet, and what they may give of
/// themselves is a profile and no archive.
pub(crate) const BODY_BYTES_MAX: usize = 32 * 1024;

/// One of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthRequest {
    /// Create an account.
    SignUp,
    /// Open a session.
    SignIn,
    /// End the session that is used.
    SignOut,
    /// Show the caller's own account.
    Me,
    /// List the caller's sessions.
    Sessions,
    /// End one of them.
    EndSession,
    /// End all but the one that is used.
    EndOthers,
    /// Replace the password.
    ChangePassword,
    /// Ask for another address.
    ChangeEmail,
    /// The page that confirms an address.
    VerifyPage,
    /// Confirm an address.
    Verify,
    /// Ask for a link that replaces a password.
    RequestReset,
    /// The page that replaces a password.
    ResetPage,
    /// Replace a password by a link.
    Reset,
    /// The page that makes the first administrator.
    ClaimPage,
    /// Become the first administrator.
    Claim,
    /// Sign in at a provider.
    BeginAtProvider,
    /// Come back from a provider.
    ReturnFromProvider,
    /// List the providers that sign the caller in.
    Providers,
    /// Take one of them from the account.
    Unlink,
}

/// One row of the table.
pub(crate) struct AuthRow {
    pub(crate) request: AuthRequest,
    pub(crate) method: Method,
    /// The parts of the path behind `auth`, of which some are placeholders.
    pub(crate) path: &'static [&'static str],
    /// The name of the operation.
    pub(crate) name: &'static str,
    /// Whether it is for somebody who is signed in.
    pub(crate) is_signed_in: bool,
}

/// The requests of a design with accounts, as far as it has their parts.
pub(crate) fn rows(design: &Design) -> Vec<AuthRow> {
    use AuthRequest as Of;
    let Some(accounts) = &design.accounts else {
        return Vec::new();
    };
    let row = |request, method, path, name, is_signed_in| AuthRow {
        request,
        method,
        path,
        name,
        is_signed_in,
    };
    let me = row(Of::Me, Method::GET, &["me"][..], "me", true);
    let Some(sign_in) = &accounts.sign_in else {
        return vec![me];
    };
    let mut rows = vec![
        row(Of::SignUp, Method::POST, &["sign-up"][..], "signUp", false),
        row(Of::SignIn, Method::POST, &["sign-in"], "signIn", false),
        row(Of::SignOut, Method::POST, &["sign-out"], "signOut", true),
        me,
        row(Of::Sessions, Method::GET, &["sessions"], "sessions", true),
        row(
            Of::EndOthers,
            Method::DELETE,
            &["sessions"],
            "endOtherSessions",
            true,
        ),
        row(
            Of::EndSession,
            Method::DELETE,
            &["sessions", "{session}"],
            "endSession",
            true,
        ),
        row(
            Of::ChangePassword,
            Method::POST,
            &["change-password"],
            "changePassword",
            true,
        ),
    ];
    if sign_in.verification.is_some() {
        rows.push(row(
            Of::ChangeEmail,
            Method::POST,
            &["change-email"],
            "changeEmail",
            true,
        ));
        rows.push(row(
            Of::VerifyPage,
            Method::GET,
            &["verify-email"],
            "verifyEmailPage",
            false,
        ));
        rows.push(row(
            Of::Verify,
            Method::POST,
            &["verify-email"],
            "verifyEmail",
            false,
        ));
    }
    if sign_in.reset.is_some() {
        rows.push(row(
            Of::RequestReset,
            Method::POST,
            &["request-reset"],
            "requestReset",
            false,
        ));
        rows.push(row(
            Of::ResetPage,
            Method::GET,
            &["reset"],
            "resetPage",
            false,
        ));
        rows.push(row(Of::Reset, Method::POST, &["reset"], "reset", false));
    }
    if !sign_in.subjects.is_empty() {
        rows.push(row(
            Of::BeginAtProvider,
            Method::GET,
            &["oidc", "{provider}"],
            "signInAtProvider",
            false,
        ));
        rows.push(row(
            Of::ReturnFromProvider,
            Method::GET,
            &["oidc", "{provider}", "callback"],
            "returnFromProvider",
            false,
        ));
        rows.push(row(
            Of::Providers,
            Method::GET,
            &["providers"],
            "providers",
            true,
        ));
        rows.push(row(
            Of::Unlink,
            Method::DELETE,
            &["providers", "{provider}"],
            "unlinkProvider",
            true,
        ));
    }
    rows.push(row(
        Of::ClaimPage,
        Method::GET,
        &["administrator"],
        "administratorPage",
        false,
    ));
    rows.push(row(
        Of::Claim,
        Method::POST,
        &["administrator"],
        "administrator",
        false,
    ));
    rows
}

impl AuthRequest {
    /// Whether the body says what exactly is asked for.
    pub fn takes_body(self) -> bool {
        use AuthRequest as Of;
        !matches!(
            self,
            Of::SignOut
                | Of::Me
                | Of::Sessions
                | Of::EndSession
                | Of::EndOthers
                | Of::VerifyPage
                | Of::ResetPage
                | Of::ClaimPage
                | Of::BeginAtProvider
                | Of::ReturnFromProvider
                | Of::Providers
                | Of::Unlink
        )
    }
}

/// What requests about accounts need beside the design.
pub struct Auth {
    pub(crate) hasher: Hasher,
    pub(crate) public_url: PublicUrl,
    pub(crate) providers: Providers,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Auth {
    /// Accounts of a server that is reached on this machine, without providers.
    pub fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Auth {
        Auth {
            hasher: Hasher::new(entropy.clone()),
            public_url: PublicUrl::default(),
            providers: Providers::new(),
            clock,
            entropy,
        }
    }
}

/// A request about accounts.
pub(crate) struct AuthCall<'a> {
    pub(crate) auth: &'a Auth,
    pub(crate) partita: &'a Arc<Partita>,
    /// The design, whichever stage its migration is in.
    pub(crate) current: &'a Current,
    pub(crate) verified: &'a Verified,
    pub(crate) request: Request<'a>,
    /// Where it comes from, for limits and the log.
    pub(crate) client: Option<IpAddr>,
    /// The session in the path.
    pub(crate) session: Option<&'a str>,
    /// The provider in the path.
    pub(crate) provider: Option<&'a str>,
}

impl AuthCall<'_> {
    /// Where it comes from, in words.
    fn client(&self) -> String {
        let unknown = || "an unknown address".to_owned();
        self.client.map_or_else(unknown, |one| one.to_string())
    }

    /// For whom a password is hashed.
    fn asker(&self, login: &str) -> Asker {
        Asker {
            client: self.client,
            account: login.to_owned(),
        }
    }

    /// Counts a guess from where the request comes from. Those from unknown addresses count for the
    /// login alone: counted together, one of them would keep out all others.
    async fn count_guess(&self) -> Result<(), PlanError> {
        let Some(client) = self.client else {
            return Ok(());
        };
        let client = client.to_string();
        self.partita.count_attempt(limits::GUESSES, &client).await
    }

    /// Takes back a guess that was none.
    async fn forgive_guess(&self) -> Result<(), PlanError> {
        let Some(client) = self.client else {
            return Ok(());
        };
        let client = &client.to_string();
        let forgive = |partita: Arc<Partita>| async move {
            let forgiven = partita.forgive_attempt(limits::GUESSES, client);
            forgiven.await
        };
        self.as_served(forgive).await
    }

    /// Counts a sign-up or a request for a mail. Those from unknown addresses count for the address
    /// that is mailed to alone, as guesses do.
    async fn count_asked(&self) -> Result<(), PlanError> {
        let Some(client) = self.client else {
            return Ok(());
        };
        let client = client.to_string();
        self.partita.count_attempt(limits::ASKED, &client).await
    }

    /// Does one step with the design that is served now, and again with the next if that one comes
    /// meanwhile. Steps before it are not repeated: what they have written stays.
    async fn as_served<T, F>(&self, step: impl Fn(Arc<Partita>) -> F) -> Result<T, PlanError>
    where
        F: Future<Output = Result<T, PlanError>>,
    {
        loop {
            match step(self.current.get()).await {
                Err(PlanError::Superseded) => {}
                done => return done,
            }
        }
    }

    /// Does what follows from something that is written already. The request has succeeded, whatever
    /// comes of it.
    async fn afterwards<F>(&self, step: impl Fn(Arc<Partita>) -> F)
    where
        F: Future<Output = Result<(), PlanError>>,
    {
        if let Err(error) = self.as_served(step).await {
            let design = &self.design().name;
            warn!(design, %error, "what follows a change of an account was not done");
        }
    }

    /// Records what is to be done, answers, and does it.
    async fn behind(&self, promise: Promise, counted: AttemptLimit) -> Result<Response, Problem> {
        let login = match &promise {
            Promise::SignUp(sign_up) => &sign_up.login,
            Promise::Reset { login, .. } | Promise::Change { login, .. } => login,
        };
        let login = login.clone();
        match self.partita.count_attempt(counted, &login).await {
            Err(PlanError::LimitReached { .. }) => return Ok(accepted()),
            counted => counted?,
        }
        let recorded = self.partita.promise(&promise).await?;
        let (partita, client) = (self.partita.clone(), self.client());
        tokio::spawn(async move {
            let design = &partita.design().name;
            match partita.keep_promise(&recorded).await {
                Ok(Some(KeptPromise::SignedUp(SignedUp::Created { id, .. }))) => {
                    signing::signed_up(partita.design(), &id, &client);
                }
                Ok(Some(KeptPromise::Mailed(Some(user)))) => {
                    info!(design, user, "a link was mailed");
                }
                Ok(_) => {}
                // Whoever works on the design does it, with the one that is served now.
                Err(PlanError::Superseded) => {}
                Err(error) => {
                    warn!(design, %error, "what was answered could not be carried out");
                    // No mail is on its way.
                    let _ = partita.forgive_attempt(counted, &login).await;
                }
            }
        });
        Ok(accepted())
    }

    /// Answers the request.
    pub(crate) async fn answer(&self, asked: AuthRequest) -> Result<Response, Problem> {
        use AuthRequest as Of;
        let mut response = match asked {
            Of::SignUp => self.sign_up().await,
            Of::SignIn => self.sign_in().await,
            Of::SignOut => self.sign_out().await,
            Of::Me => self.me().await,
            Of::Sessions => self.sessions().await,
            Of::EndSession => self.end_session().await,
            Of::EndOthers => self.end_others().await,
            Of::ChangePassword => self.change_password().await,
            Of::ChangeEmail => self.change_email().await,
            Of::RequestReset => self.request_reset().await,
            Of::VerifyPage => Ok(page::verify(&self.request)),
            Of::ResetPage => Ok(page::reset(&self.request)),
            Of::ClaimPage => Ok(page::claim(&self.request)),
            Of::Verify => self.in_a_page(page::VERIFIED, self.verify().await),
            Of::Reset => self.in_a_page(page::RESET, self.reset().await),
            Of::BeginAtProvider => self.begin_at_provider().await,
            Of::ReturnFromProvider => self.return_from_provider().await,
            Of::Providers => self.providers().await,
            Of::Unlink => self.unlink().await,
            Of::Claim => self.in_a_page(page::CLAIMED, self.claim().await),
        }?;
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }

    /// The answer to a form of ours is a page, too.
    fn in_a_page(
        &self,
        done: &str,
        answer: Result<Response, Problem>,
    ) -> Result<Response, Problem> {
        if !form::is_form(&self.request) {
            return answer;
        }
        match answer {
            Ok(_) => Ok(page::said(StatusCode::OK, done)),
            Err(problem) => Ok(page::said(problem.status(), &problem.detail)),
        }
    }

    fn design(&self) -> &Design {
        self.partita.design()
    }

    /// How people sign in.
    fn sign_in_part(&self) -> Result<&SignIn, Problem> {
        let accounts = self.design().accounts.as_ref();
        let sign_in = accounts.and_then(|accounts| accounts.sign_in.as_ref());
        sign_in.ok_or_else(Problem::internal)
    }

    fn form(&self) -> Result<Form, Problem> {
        Form::of(&self.request)
    }

    /// The account of whoever calls.
    async fn own_account(&self) -> Result<Account, Problem> {
        let Some(id) = &self.verified.caller().id else {
            let detail = "this needs a session: sign in";
            return Err(Problem::new(ProblemKind::Unauthenticated, detail));
        };
        let account = self.partita.account(id).await?;
        // A token of the operator's may be for somebody who has none.
        let none = || Problem::new(ProblemKind::NotFound, "there is no account for this token");
        account.ok_or_else(none)
    }

    /// A user, as they see themselves.
    async fn user(&self, id: &str) -> Result<Json, Problem> {
        let design = self.design();
        let Some(accounts) = &design.accounts else {
            return Ok(Json::Null);
        };
        let get = Operation::Get {
            entity: accounts.users(design).name.clone(),
            identity: vec![id.to_owned()],
            with_deleted: false,
        };
        // A design need not let users read themselves.
        let Ok(answer) = self.partita.run(&Caller::user(id), get).await else {
            return Ok(json!({ "id": id }));
        };
        Ok(match answer {
            Answer::Record(user) => Json::Object(plain::map_to_json(&user.attributes)),
            _ => Json::Null,
        })
    }
}

/// An answer that shows nothing.
fn done() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// The same answer, whoever asks: there may be a mail.
fn accepted() -> Response {
    let told = json!({ "detail": "if the address can be used, a mail is on its way to it" });
    encode::json_response(StatusCode::ACCEPTED, &told)
}
