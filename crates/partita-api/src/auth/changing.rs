//! Passwords and addresses are changed, and mailed links used.

use axum::response::Response;
use partita_plan::{Account, LinkKind, LinkUse, Partita, PlanError, folded};
use tracing::{info, warn};

use super::{AuthCall, accepted, done, limits};
use crate::problem::{Problem, ProblemKind};

impl AuthCall<'_> {
    /// All other sessions end.
    pub(super) async fn change_password(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let mut form = self.form()?;
        let password = form.password("password");
        let new = form.new_password("newPassword");
        form.finish()?;
        self.compare(&account.login, Some(&account), &password)
            .await?;
        let asker = self.asker(&account.login);
        let hash = self.auth.hasher.hash(&asker, &new).await?;
        let session = self.verified.session();
        self.partita
            .change_password(&account, &hash, session)
            .await?;
        // What one transaction did not end is void, and goes too.
        if let Some(account) = self.partita.account(&account.id).await? {
            self.partita.end_other_sessions(&account, session).await?;
        }
        info!(
            design = self.design().name,
            user = account.id,
            "a password was changed"
        );
        Ok(done())
    }

    /// The new address counts when it is confirmed by the link that is mailed to it.
    pub(super) async fn change_email(&self) -> Result<Response, Problem> {
        let account = self.own_account().await?;
        let mut form = self.form()?;
        let password = form.password("password");
        let login = folded(&form.text("login"));
        form.finish()?;
        self.partita.check_login(&login)?;
        self.count_asked().await?;
        self.compare(&account.login, Some(&account), &password)
            .await?;
        match self.partita.count_attempt(limits::MAILS, &login).await {
            Err(PlanError::LimitReached { .. }) => return Ok(accepted()),
            counted => counted?,
        }
        let (partita, changed) = (self.partita.clone(), account.clone());
        let url = self.auth.public_url.as_str().to_owned();
        // Behind the answer, which takes as long whether somebody has the new address or not.
        tokio::spawn(async move {
            if let Err(error) = ask_for_login(&partita, &changed, &login, &url).await {
                warn!(%error, "a link for another address could not be recorded");
            }
        });
        info!(
            design = self.design().name,
            user = account.id,
            "another address was asked for"
        );
        Ok(accepted())
    }

    /// It takes the password of the sign-up, so that nobody confirms an account that somebody else
    /// prepared with their address.
    pub(super) async fn verify(&self) -> Result<Response, Problem> {
        let mut form = self.form()?;
        let token = form.text("token");
        let password = form.password("password");
        form.finish()?;
        self.count_guess().await?;
        let link = self.link(LinkKind::Verify, &token).await?;
        let account = &link.account;
        self.compare(&account.login, Some(account), &password)
            .await?;
        self.forgive_guess().await?;
        self.partita.confirm(&link).await.map_err(used)?;
        info!(
            design = self.design().name,
            user = account.id,
            "an address was confirmed"
        );
        Ok(done())
    }

    /// The answer does not wait for the mail: it takes no longer when there is one. What is done
    /// behind it costs the same, too, so that the next request does not tell.
    pub(super) async fn request_reset(&self) -> Result<Response, Problem> {
        let mut form = self.form()?;
        let login = folded(&form.text("login"));
        form.finish()?;
        self.count_asked().await?;
        let partita = self.partita.clone();
        let url = self.auth.public_url.as_str().to_owned();
        tokio::spawn(async move {
            let sent = async {
                partita.count_attempt(limits::RESETS, &login).await?;
                let account = partita.account_with(&login).await?;
                let Some(account) = account.filter(|account| account.is_active) else {
                    return partita.send_no_link(LinkKind::Reset, &url).await;
                };
                let to = account.login.clone();
                partita
                    .send_link(LinkKind::Reset, &account, &to, &url)
                    .await?;
                info!(
                    design = partita.design().name,
                    user = account.id,
                    "a new password was asked for"
                );
                Ok::<(), PlanError>(())
            };
            match sent.await {
                Ok(()) | Err(PlanError::LimitReached { .. }) => {}
                Err(error) => warn!(%error, "a link for a new password could not be recorded"),
            }
        });
        Ok(accepted())
    }

    /// The address is confirmed by it, all sessions end, and all other links are void.
    pub(super) async fn reset(&self) -> Result<Response, Problem> {
        let mut form = self.form()?;
        let token = form.text("token");
        let new = form.new_password("password");
        form.finish()?;
        self.count_guess().await?;
        let link = self.link(LinkKind::Reset, &token).await?;
        let asker = self.asker(&link.account.login);
        let hash = self.auth.hasher.hash(&asker, &new).await?;
        self.partita
            .replace_password(&link, &hash)
            .await
            .map_err(used)?;
        self.forgive_guess().await?;
        // Others who tried the old password do not keep its owner out with the new one.
        self.partita
            .forget_attempts(limits::PASSWORDS, &link.login)
            .await?;
        let id = &link.account.id;
        if let Some(account) = self.partita.account(id).await? {
            self.partita.end_other_sessions(&account, None).await?;
        }
        info!(
            design = self.design().name,
            user = id,
            "a password was replaced"
        );
        Ok(done())
    }

    /// Whoever has the link that the server printed at its start makes their account the first
    /// administrator's.
    pub(super) async fn claim(&self) -> Result<Response, Problem> {
        let mut form = self.form()?;
        let token = form.text("token");
        let login = form.text("login");
        let password = form.password("password");
        form.finish()?;
        let (account, _) = self.authenticate(&login, &password).await?;
        if !self.partita.claim_administration(&token, &account).await? {
            return Err(invalid());
        }
        warn!(
            design = self.design().name,
            user = account.id,
            "somebody became the first administrator"
        );
        Ok(done())
    }

    async fn link(&self, kind: LinkKind, token: &str) -> Result<LinkUse, Problem> {
        let link = self.partita.link(kind, token).await?;
        link.ok_or_else(invalid)
    }
}

/// Mails a link to the address that an account is to have, or tells whoever has the address.
async fn ask_for_login(
    partita: &Partita,
    account: &Account,
    login: &str,
    url: &str,
) -> Result<(), PlanError> {
    match partita.account_with(login).await? {
        Some(other) if other.id != account.id => partita.tell_taken(&other).await,
        _ => {
            let sent = partita.send_link(LinkKind::Change, account, login, url);
            sent.await
        }
    }
}

/// A link that somebody used meanwhile is no link.
fn used(error: PlanError) -> Problem {
    match error {
        PlanError::Outdated => invalid(),
        error => error.into(),
    }
}

fn invalid() -> Problem {
    let detail = "the link was used, has expired, or belongs to an earlier password or address";
    Problem::new(ProblemKind::LinkInvalid, detail)
}
