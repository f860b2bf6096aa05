//! Passwords and addresses are changed, and mailed links used.

use std::sync::Arc;

use axum::response::Response;
use partita_plan::{LinkKind, LinkUse, Partita, PlanError, Promise, folded};
use tracing::{info, warn};

use super::{AuthCall, done, limits};
use crate::problem::{Problem, ProblemKind};

impl AuthCall<'_> {
    /// All other sessions end.
    pub(super) async fn change_password(&self) -> Result<Response, Problem> {
        let account = &self.own_account().await?;
        let mut form = self.form()?;
        let password = form.password("password");
        let new = form.new_password("newPassword");
        form.finish()?;
        self.compare(&account.login, Some(account), &password)
            .await?;
        let asker = self.asker(&account.login);
        let hash = self.auth.hasher.hash(&asker, &new).await?;
        let session = self.verified.session();
        self.partita
            .change_password(account, &hash, session)
            .await?;
        // What one transaction did not end is void, and goes too.
        self.afterwards(|partita: Arc<Partita>| async move {
            if let Some(account) = partita.account(&account.id).await? {
                partita.remove_other_sessions(&account, session).await?;
            }
            Ok(())
        })
        .await;
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
        info!(
            design = self.design().name,
            user = account.id,
            "another address was asked for"
        );
        // Behind the answer, which takes as long whether somebody has the new address or not.
        let change = Promise::Change {
            asked: (&account).into(),
            login,
            public_url: self.auth.public_url.as_str().to_owned(),
        };
        self.behind(change, limits::MAILS).await
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
        let reset = Promise::Reset {
            login,
            public_url: self.auth.public_url.as_str().to_owned(),
        };
        self.behind(reset, limits::RESETS).await
    }

    /// The address is confirmed by it, all sessions end, and all other links are void.
    pub(super) async fn reset(&self) -> Result<Response, Problem> {
        let mut form = self.form()?;
        let token = form.text("token");
        let new = form.new_password("password");
        form.finish()?;
        self.count_guess().await?;
        let link = &self.link(LinkKind::Reset, &token).await?;
        let asker = self.asker(&link.account.login);
        let hash = self.auth.hasher.hash(&asker, &new).await?;
        self.partita
            .replace_password(link, &hash)
            .await
            .map_err(used)?;
        let id = &link.account.id;
        self.afterwards(|_| self.forgive_guess()).await;
        // Others who tried the old password do not keep its owner out with the new one.
        self.afterwards(|partita: Arc<Partita>| async move {
            let forgotten = partita.forget_attempts(limits::PASSWORDS, &link.login);
            forgotten.await
        })
        .await;
        self.afterwards(|partita: Arc<Partita>| async move {
            if let Some(account) = partita.account(id).await? {
                partita.remove_other_sessions(&account, None).await?;
            }
            Ok(())
        })
        .await;
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
