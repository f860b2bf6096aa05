//! Links that are mailed: good for one use, until their time is over, and for the login and password
//! that the account had when they were made.

use partita_core::{Map, Value};
use partita_design::design::{AccountLink, AttributeId, MailText};
use partita_design::nested;
use partita_store::request::{PutItem, TransactAction};

use super::errand::Errand;
use super::{Account, Kept, identity_of, secret};
use crate::error::PlanError;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::sidecar;

/// What a link is bound to, in its row of the sidecar.
const BOUND: &str = "bound";

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Confirms the address of a new account.
    Verify,
    /// Confirms the address that an account is to have.
    Change,
    /// Replaces a password.
    Reset,
}

/// A link that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkUse {
    /// The account.
    pub account: Account,
    /// The address that the link was mailed to.
    pub login: String,
    /// What is stored of the link's secret.
    digest: String,
}

impl LinkKind {
    /// The last part of the link's path.
    fn word(self) -> &'static str {
        match self {
            LinkKind::Verify | LinkKind::Change => "verify-email",
            LinkKind::Reset => "reset",
        }
    }

    fn text(self, kept: Kept<'_>) -> &MailText {
        match self {
            LinkKind::Verify => &kept.sign_in.mails.verify,
            LinkKind::Change => &kept.sign_in.mails.change,
            LinkKind::Reset => &kept.sign_in.mails.reset,
        }
    }
}

impl Partita {
    fn link_part(&self, kind: LinkKind) -> Result<&AccountLink, PlanError> {
        let Kept { sign_in, .. } = self.account_parts()?;
        let link = match kind {
            LinkKind::Verify | LinkKind::Change => &sign_in.verification,
            LinkKind::Reset => &sign_in.reset,
        };
        link.as_ref().ok_or(PlanError::NoAccounts)
    }

    /// What a link costs where there is no account: as many rows are written, and removed with the
    /// time, and the mail goes to nobody. So what follows does not tell whether there is one.
    pub(super) fn link_to_nobody(
        &self,
        kind: LinkKind,
        public_url: &str,
    ) -> Result<Vec<Errand<'_>>, PlanError> {
        let kept = self.account_parts()?;
        let account = Account {
            id: self.new_identity(kept.users),
            login: String::new(),
            password: None,
            is_verified: false,
            is_active: false,
            signed_in_millis: None,
            subjects: Vec::new(),
        };
        let errands = self.link_errands(kind, &account, "", public_url)?;
        let errands = errands.into_iter().map(|errand| match errand {
            Errand::Create { .. } => {
                let now = self.clock.now_millis();
                let unused = secret::new(&*self.runner.entropy);
                Errand::Aside(Box::new(self.binding(&unused, &account, now)))
            }
            errand => errand,
        });
        Ok(errands.collect())
    }

    /// A new link: its item, what it is bound to, and the mail.
    pub(super) fn link_errands(
        &self,
        kind: LinkKind,
        account: &Account,
        to: &str,
        public_url: &str,
    ) -> Result<Vec<Errand<'_>>, PlanError> {
        let kept = self.account_parts()?;
        let part = self.link_part(kind)?;
        let record = &self.blueprint.design[part.entity];
        let secret = secret::new(&*self.runner.entropy);
        let digest = secret::digest(&secret).unwrap_or_default();
        let lifetime = i64::try_from(part.lifetime_seconds).unwrap_or(i64::MAX / 1000);
        let ends = self
            .clock
            .now_millis()
            .saturating_add(lifetime.saturating_mul(1000));
        let attribute = |id: AttributeId| &self.blueprint.design[(record.id, id)];
        let expires = attribute(part.expires);
        let create = Errand::Create {
            entity: record,
            given: Map::new(),
            values: vec![
                (attribute(part.token), Value::from(digest.as_str())),
                (attribute(part.user), Value::from(account.id.as_str())),
                (attribute(part.login), Value::from(to)),
                (expires, Partita::time_as(expires, ends)),
            ],
        };
        let (design, word) = (&self.blueprint.design.name, kind.word());
        let link = format!("{public_url}/{design}/auth/{word}?token={secret}");
        Ok(vec![
            create,
            Errand::Aside(Box::new(self.binding(&digest, account, ends))),
            Errand::Mail {
                entity: kept.users,
                identity: identity_of(kept.users, &account.id),
                mail: self.mail(kind.text(kept), to, &account.login, &link),
            },
        ])
    }

    /// The row that says which login and password a link belongs to.
    fn binding(&self, digest: &str, account: &Account, ends_millis: i64) -> TransactAction {
        let mut item = sidecar::key(&partition(digest), "LINK");
        item.insert(BOUND, Value::from(self.bound_link(digest, account)));
        let expires = partita_core::Number::from(ends_millis.div_euclid(1000) + 1);
        item.insert(sidecar::EXPIRES, Value::N(expires));
        let table = self.blueprint.sidecar.clone();
        TransactAction::Put(PutItem::new(table, item))
    }

    /// Which login and password a link is bound to.
    fn bound_link(&self, digest: &str, account: &Account) -> String {
        let password = secret::mark(account.password.as_deref());
        let texts = [digest, &account.login, &password];
        secret::bound_in("link", &texts, self.era.as_deref())
    }

    /// The link of a secret, while it can be used.
    pub async fn link(&self, kind: LinkKind, secret: &str) -> Result<Option<LinkUse>, PlanError> {
        let part = self.link_part(kind)?;
        let record = &self.blueprint.design[part.entity];
        let Some(digest) = secret::digest(secret) else {
            return Ok(None);
        };
        let Some(item) = self
            .stored_item(record, &identity_of(record, &digest))
            .await?
        else {
            return Ok(None);
        };
        let attribute = |id: AttributeId| &self.blueprint.design[(record.id, id)];
        let text =
            |id: AttributeId| nested::get(&item, &attribute(id).name).and_then(Value::as_str);
        let (Some(user), Some(login)) = (text(part.user), text(part.login)) else {
            return Ok(None);
        };
        let expires = attribute(part.expires);
        let ends = expires
            .kind
            .time_form()
            .and_then(|form| form.read(nested::get(&item, &expires.name)?));
        let Some(account) = self.account(user).await? else {
            return Ok(None);
        };
        let row = sidecar::address(&self.blueprint.sidecar, &partition(&digest), "LINK");
        let row = self.found(&row).await?;
        let found = row.as_ref().and_then(|row| row.get(BOUND)?.as_str());
        let is_bound = found == Some(self.bound_link(&digest, &account).as_str());
        let is_over = ends.is_none_or(|ends| ends <= self.clock.now_millis());
        if !is_bound || is_over || !account.is_active {
            return Ok(None);
        }
        Ok(Some(LinkUse {
            login: login.to_owned(),
            account,
            digest,
        }))
    }

    /// Uses a link to confirm an address, which becomes the account's login if it is another.
    pub async fn confirm(&self, link: &LinkUse) -> Result<(), PlanError> {
        let kept = self.account_parts()?;
        let mut set = Vec::new();
        if link.login != link.account.login {
            set.push((
                self.user_attribute(kept.sign_in.login)?,
                Some(Value::from(link.login.as_str())),
            ));
        }
        if let Some(verified) = kept.accounts.verified {
            set.push((self.user_attribute(verified)?, Some(Value::Bool(true))));
        }
        let change = Errand::Change {
            entity: kept.users,
            identity: identity_of(kept.users, &link.account.id),
            set,
            expect: self.expectation(&link.account)?,
        };
        let errands = vec![self.use_of(LinkKind::Verify, link)?, change];
        self.run_errands(&Caller::user(link.account.id.as_str()), errands)
            .await
    }

    /// Uses a link to replace the password. The address is confirmed by it, all sessions end, and all
    /// other links are void.
    pub async fn replace_password(&self, link: &LinkUse, password: &str) -> Result<(), PlanError> {
        let kept = self.account_parts()?;
        let mut more = Vec::new();
        if let Some(verified) = kept.accounts.verified {
            more.push((self.user_attribute(verified)?, Some(Value::Bool(true))));
        }
        let mut errands = vec![
            self.use_of(LinkKind::Reset, link)?,
            self.password_errand(&link.account, password, more)?,
        ];
        errands.extend(self.ends_of_sessions(&link.account, None).await?);
        self.run_errands(&Caller::user(link.account.id.as_str()), errands)
            .await
    }

    /// The end of a link, which must still be there.
    fn use_of(&self, kind: LinkKind, link: &LinkUse) -> Result<Errand<'_>, PlanError> {
        let record = &self.blueprint.design[self.link_part(kind)?.entity];
        Ok(Errand::Delete {
            entity: record,
            identity: identity_of(record, &link.digest),
            is_used: true,
        })
    }
}

fn partition(digest: &str) -> String {
    format!("LINK#{digest}")
}
