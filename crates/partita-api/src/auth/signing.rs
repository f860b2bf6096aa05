//! Accounts are created; sessions are opened, listed and ended.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::Response;
use partita_design::{Design, time};
use partita_plan::{Account, NewSession, Partita, Promise, SignUp, SignedUp, folded};
use secrecy::SecretString;
use serde_json::{Value as Json, json};
use tracing::info;

use super::form::{self, Form};
use super::identity::SameSite;
use super::password::Compared;
use super::{AuthCall, done, identity, limits};
use crate::encode;
use crate::problem::{Problem, ProblemKind};

impl AuthCall<'_> {
    /// Where addresses are confirmed the answer is always the same, and so is what is done before it:
    /// a free address gets an account and a link behind it, the owner of a taken one is told by mail.
    /// Elsewhere it is that of a sign-in, or a refusal.
    pub(super) async fn sign_up(&self) -> Result<Response, Problem> {
        let is_mailed = self.sign_in_part()?.verification.is_some();
        let (new, cookie) = self.new_account().await?;
        if is_mailed {
            return self.behind(Promise::SignUp(new), limits::MAILS).await;
        }
        match self.partita.sign_up(&new).await? {
            SignedUp::Created { id, session } => {
                signed_up(self.design(), &id, &self.client());
                let session = session.ok_or_else(Problem::internal)?;
                self.opened(&id, &session, cookie, StatusCode::CREATED)
                    .await
            }
            SignedUp::Taken => {
                let detail = format!("`{}` is taken", self.login_name()?);
                Err(Problem::new(ProblemKind::Taken, detail))
            }
        }
    }

    /// What somebody signs up with, if nothing is wrong with it.
    async fn new_account(&self) -> Result<(SignUp, Option<SameSite>), Problem> {
        let mut form = self.form()?;
        let login = folded(&form.text(self.login_name()?));
        let password = form.new_password("password");
        let cookie = self.cookie_in(&mut form)?;
        let (given, faults) = form.into_parts();
        self.count_asked().await?;
        self.partita.check_sign_up(&login, &given, faults).await?;
        let asker = self.asker(&login);
        let hash = self.auth.hasher.hash(&asker, &password).await?;
        let new = SignUp {
            login,
            password: hash,
            given,
            public_url: self.auth.public_url.as_str().to_owned(),
        };
        Ok((new, cookie))
    }

    /// The attribute that people sign in with.
    fn login_name(&self) -> Result<&str, Problem> {
        let design = self.design();
        let accounts = design.accounts.as_ref();
        let login = accounts.and_then(|accounts| accounts.login(design));
        Ok(&login.ok_or_else(Problem::internal)?.name)
    }

    pub(super) async fn sign_in(&self) -> Result<Response, Problem> {
        let mut form = self.form()?;
        let login = form.text("login");
        let password = form.password("password");
        let cookie = self.cookie_in(&mut form)?;
        form.finish()?;
        let (account, rehashed) = self.authenticate(&login, &password).await?;
        if !account.is_verified && !self.sign_in_part()?.unverified {
            let detail =
                "confirm your address by the link that was mailed to it, or ask for a new password";
            return Err(Problem::new(ProblemKind::Unverified, detail));
        }
        let session = self.partita.sign_in(&account, rehashed.as_deref()).await?;
        info!(
            design = self.design().name,
            user = account.id,
            session = session.id,
            client = self.client(),
            "somebody signed in"
        );
        self.opened(&account.id, &session, cookie, StatusCode::OK)
            .await
    }

    /// Whether a session is wanted as a cookie. Pages of others can send forms, and would sign their
    /// readers in as somebody else; JSON they cannot send.
    fn cookie_in(&self, form: &mut Form) -> Result<Option<SameSite>, Problem> {
        let cookie = form.cookie();
        if cookie.is_some() && form::is_form(&self.request) {
            identity::demand_own_page(self.auth, &self.request)?;
        }
        Ok(cookie)
    }

    /// The account of a login and its password; both wrong is answered as one wrong. A hash that is
    /// out of date is made anew.
    pub(super) async fn authenticate(
        &self,
        login: &str,
        password: &SecretString,
    ) -> Result<(Account, Option<String>), Problem> {
        let login = folded(login);
        let account = self.partita.account_with(&login).await?;
        let compared = self.compare(&login, account.as_ref(), password).await?;
        let Some(account) = account else {
            return Err(wrong());
        };
        if !account.is_active {
            return Err(Problem::account_closed());
        }
        let rehashed = match compared {
            Compared::Outdated => {
                let old = account.password.as_deref().unwrap_or_default();
                Some(
                    self.auth
                        .hasher
                        .rehash(&self.asker(&login), password, old)
                        .await?,
                )
            }
            _ => None,
        };
        Ok((account, rehashed))
    }

    /// Compares a password with that of an account, and counts what is wrong.
    pub(super) async fn compare(
        &self,
        login: &str,
        account: Option<&Account>,
        password: &SecretString,
    ) -> Result<Compared, Problem> {
        self.count_guess().await?;
        self.partita.count_attempt(limits::PASSWORDS, login).await?;
        let hash = account.and_then(|account| account.password.as_deref());
        let schemes = &self.sign_in_part()?.imported;
        let asker = self.asker(login);
        let hasher = &self.auth.hasher;
        let compared = hasher.compare(&asker, password, hash, schemes).await;
        // One that was not compared is no wrong one.
        if compared.is_err() {
            self.forgive(login).await?;
        }
        let compared = compared?;
        if compared == Compared::Wrong {
            let user = account.map_or("nobody", |account| &account.id);
            info!(
                design = self.design().name,
                user,
                client = self.client(),
                "a password was wrong"
            );
            return Err(wrong());
        }
        self.forgive(login).await?;
        Ok(compared)
    }

    /// Takes back that a password was tried.
    async fn forgive(&self, login: &str) -> Result<(), Problem> {
        self.forgive_guess().await?;
        let forgive = |partita: Arc<Partita>| async move {
            let forgiven = partita.forgive_attempt(limits::PASSWORDS, login);
            forgiven.await
        };
        Ok(self.as_served(forgive).await?)
    }

    /// The answer with a session: in it, or in a cookie.
    pub(super) async fn opened(
        &self,
        user: &str,
        session: &NewSession,
        cookie: Option<SameSite>,
        status: StatusCode,
    ) -> Result<Response, Problem> {
        let expires = time::format_millis(session.expires_millis);
        let mut answer = json!({ "user": self.user(user).await?, "expiresAt": expires });
        let Some(same_site) = cookie else {
            answer["token"] = session.credential.as_str().into();
            return Ok(encode::json_response(status, &answer));
        };
        let design = self.design();
        let longest = self.sign_in_part()?.session.longest_seconds;
        // The browser keeps it as long as it can be prolonged.
        let seconds = i64::try_from(longest).unwrap_or(i64::MAX);
        let cookie = Some((session.credential.as_str(), seconds));
        let cookie = identity::set_cookie(self.auth, &design.name, cookie, same_site);
        let mut response = encode::json_response(status, &answer);
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        Ok(response)
    }

    pub(super) async fn sign_out(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let Some(session) = self.verified.session() else {
            let detail = "a token is no session; it ends by itself";
            return Err(Problem::new(ProblemKind::NotFound, detail));
        };
        self.partita.end_session(&account, &session.id).await?;
        info!(
            design = self.design().name,
            user = account.id,
            session = session.id,
            "somebody signed out"
        );
        let mut response = done();
        let cookie = identity::set_cookie(self.auth, &self.design().name, None, SameSite::Lax);
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        Ok(response)
    }

    pub(super) async fn me(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let mut answer = json!({ "user": self.user(&account.id).await? });
        if let Some(session) = self.verified.session() {
            answer["session"] = shown(session, true);
        }
        Ok(encode::json_response(StatusCode::OK, &answer))
    }

    pub(super) async fn sessions(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let current = self.verified.session().map(|session| session.id.as_str());
        let sessions = self.partita.sessions_of(&account).await?;
        let items = sessions
            .iter()
            .map(|session| shown(session, current == Some(session.id.as_str())));
        let items = json!({ "items": items.collect::<Vec<_>>() });
        Ok(encode::json_response(StatusCode::OK, &items))
    }

    pub(super) async fn end_session(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let id = self.session.unwrap_or_default();
        if !self.partita.end_session(&account, id).await? {
            let detail = "you have no session of this id";
            return Err(Problem::new(ProblemKind::NotFound, detail));
        }
        info!(
            design = self.design().name,
            user = account.id,
            session = id,
            "a session was ended"
        );
        Ok(done())
    }

    pub(super) async fn end_others(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let ended = self
            .partita
            .end_other_sessions(&account, self.verified.session())
            .await?;
        info!(
            design = self.design().name,
            user = account.id,
            ended = ended.count,
            "other sessions were ended"
        );
        let answer = json!({ "ended": ended.count, "more": ended.has_more });
        Ok(encode::json_response(StatusCode::OK, &answer))
    }
}

fn shown(session: &partita_plan::Session, is_current: bool) -> Json {
    json!({
        "id": session.id,
        "createdAt": time::format_millis(session.created_millis),
        "expiresAt": time::format_millis(session.expires_millis),
        "current": is_current,
    })
}

pub(super) fn signed_up(design: &Design, user: &str, client: &str) {
    info!(design = design.name, user, client, "somebody signed up");
}

/// Which of the two is wrong is not said.
pub(super) fn wrong() -> Problem {
    Problem::new(
        ProblemKind::WrongCredentials,
        "the login or the password is wrong",
    )
}
