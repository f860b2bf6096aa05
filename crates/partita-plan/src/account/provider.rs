//! Accounts of people who sign in at a provider.
//!
//! A provider signs in the account that has its id of them. Where there is none, an address that
//! the provider has confirmed leads to the account with that login, if the design trusts the
//! provider's addresses: to one whose owner has confirmed it as well; any other was prepared by
//! somebody who never showed that the address is theirs, and loses its password and its sessions.
//! Where no account has the address, one is made of the claims.

use partita_core::{Map, Value};
use partita_design::design::{Attribute, MailText};
use partita_design::nested;
use tracing::info;

use super::errand::Errand;
use super::provision::{mark_by, not_provisioned, refusal};
use super::{Account, Claims, Session, folded, identity_of, identity_value, secret};
use crate::error::{Fault, FaultRule, PlanError};
use crate::operation::Caller;
use crate::partita::Partita;

/// A provider that a design knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedProvider {
    /// Its name in the design.
    pub name: String,
    /// Whether it signs an account in.
    pub is_linked: bool,
}

/// What came of taking a provider from an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlinked {
    /// It signs the account in no more.
    Done,
    /// It did not before.
    NotLinked,
    /// Without it nobody could sign in to the account.
    LastWay,
}

impl Partita {
    /// The providers of the design, and which of them sign an account in.
    pub async fn providers_of(&self, account: &Account) -> Result<Vec<LinkedProvider>, PlanError> {
        let kept = self.account_parts()?;
        let subjects = self.subjects_of(account).await?;
        let names = kept.sign_in.subjects.iter().map(|(name, _)| name.clone());
        let linked = names.map(|name| LinkedProvider {
            is_linked: subjects.iter().any(|(one, ..)| *one == name),
            name,
        });
        Ok(linked.collect())
    }

    /// The providers that sign an account in, each with the attribute and the id that it has there.
    async fn subjects_of(
        &self,
        account: &Account,
    ) -> Result<Vec<(&str, &Attribute, Value)>, PlanError> {
        let kept = self.account_parts()?;
        let identity = identity_of(kept.users, &account.id);
        let item = self.stored_item(kept.users, &identity).await?;
        let item = item.unwrap_or_default();
        let mut found = Vec::new();
        for (name, id) in &kept.sign_in.subjects {
            let attribute = self.user_attribute(*id)?;
            let value = nested::get(&item, &attribute.name);
            found.extend(value.map(|value| (name.as_str(), attribute, value.clone())));
        }
        Ok(found)
    }

    /// Takes the id of a provider from an account. The sessions that the provider opened are void by
    /// that, however many they are; others end with it, as many as one transaction ends. Somebody must
    /// still be able to sign in: with the password, or by one of the providers in `usable`.
    pub async fn unlink(
        &self,
        account: &Account,
        provider: &str,
        usable: &[&str],
        keeping: Option<&Session>,
    ) -> Result<Unlinked, PlanError> {
        let kept = self.account_parts()?;
        let subjects = self.subjects_of(account).await?;
        let Some((_, subject, _)) = subjects.iter().find(|(name, ..)| *name == provider) else {
            return Ok(Unlinked::NotLinked);
        };
        // What stands for a password that nobody knows has no salt.
        let password = account.password.as_deref();
        let has_password = password.and_then(secret::salt_of).is_some();
        let mut others = subjects.iter().map(|(name, ..)| *name);
        let is_left = others.any(|name| name != provider && usable.contains(&name));
        if !has_password && !is_left {
            return Ok(Unlinked::LastWay);
        }
        // INVARIANT: of two providers that are taken away at once, one finds the other gone.
        let mut expect = self.expectation(account)?;
        let ids = subjects.iter();
        expect.extend(ids.map(|(_, attribute, value)| (*attribute, Some(value.clone()))));
        let change = Errand::Change {
            entity: kept.users,
            identity: identity_of(kept.users, &account.id),
            set: vec![(*subject, None)],
            expect,
        };
        let ends = self.ends_of_sessions(account, keeping).await?;
        let errands = std::iter::once(change).chain(ends).collect();
        let caller = Caller::user(account.id.as_str());
        self.run_errands(&caller, errands).await?;
        Ok(Unlinked::Done)
    }

    /// The account of somebody who has signed in at a provider: found, linked or made.
    pub async fn account_of_provider(
        &self,
        provider: &str,
        claims: &Claims,
    ) -> Result<Account, PlanError> {
        let subject = self.subject_attribute(provider)?;
        if let Some(account) = self.account_with_subject(subject, claims).await? {
            return Ok(account);
        }
        let made = self.link_or_make(provider, subject, claims).await;
        // Of several who sign in at once, one links or makes the account; the others find it.
        match (self.account_with_subject(subject, claims).await?, made) {
            (Some(account), _) => Ok(account),
            (None, Err(error)) => Err(refusal(error)),
            (None, Ok(())) => Err(PlanError::Outdated),
        }
    }

    /// The attribute that has the id of users at a provider.
    pub(super) fn subject_attribute(&self, provider: &str) -> Result<&Attribute, PlanError> {
        let kept = self.account_parts()?;
        let mut subjects = kept.sign_in.subjects.iter();
        let found = subjects.find(|(name, _)| name == provider);
        let (_, attribute) = found.ok_or(PlanError::NoAccounts)?;
        self.user_attribute(*attribute)
    }

    async fn account_with_subject(
        &self,
        subject: &Attribute,
        claims: &Claims,
    ) -> Result<Option<Account>, PlanError> {
        let item = self.user_with(subject, &claims.subject).await?;
        Ok(item.and_then(|item| self.account_of(&item)))
    }

    async fn link_or_make(
        &self,
        provider: &str,
        subject: &Attribute,
        claims: &Claims,
    ) -> Result<(), PlanError> {
        let kept = self.account_parts()?;
        let login = self.user_attribute(kept.sign_in.login)?;
        let refused = |message: String| {
            let fault = Fault::of(&kept.users.name, &login.name, FaultRule::Value, message);
            not_provisioned(vec![fault])
        };
        // Nothing is said of who has an address before the provider has shown whose it is.
        if !kept.sign_in.trusted.iter().any(|name| name == provider) {
            return Err(refused(format!(
                "of `{provider}` is not trusted by the design"
            )));
        }
        if !claims.is_address_confirmed() {
            return Err(refused(format!("is not confirmed by `{provider}`")));
        }
        let Some(address) = claims.address() else {
            return Err(refused(format!("is not told by `{provider}`")));
        };
        let Some(address) = unambiguous(address) else {
            let message = format!("of `{provider}` has letters that read as other ones");
            return Err(refused(message));
        };
        match self.user_with(login, &address).await? {
            Some(item) => self.attach(provider, subject, claims, &item).await,
            None => self.make_of(provider, subject, claims).await,
        }
    }

    /// Gives an account the id that the provider has for its owner, who is told by mail.
    async fn attach(
        &self,
        provider: &str,
        subject: &Attribute,
        claims: &Claims,
        item: &Map,
    ) -> Result<(), PlanError> {
        let kept = self.account_parts()?;
        let Some(account) = self.account_of(item) else {
            let message = "belongs to an account that is deleted";
            let login = self.user_attribute(kept.sign_in.login)?;
            let fault = Fault::of(&kept.users.name, &login.name, FaultRule::Unique, message);
            return Err(not_provisioned(vec![fault]));
        };
        let mut set = vec![(subject, Some(Value::from(claims.subject.as_str())))];
        let mut expect = self.expectation(&account)?;
        // Another user of the provider may have it.
        expect.push((subject, None));
        let mut ends = Vec::new();
        // Where a design does not say who has confirmed the address, nobody has.
        let is_confirmed = kept.accounts.verified.is_some() && account.is_verified;
        if !is_confirmed {
            let password = self.user_attribute(kept.sign_in.password)?;
            // Nobody knows what this is the hash of.
            let void = || Value::from(format!("!{}", secret::new(&*self.runner.entropy)));
            set.push((password, (!password.optional).then(void)));
            ends = self.ends_of_sessions(&account, None).await?;
        }
        if let Some(verified) = kept.accounts.verified.filter(|_| !is_confirmed) {
            set.push((self.user_attribute(verified)?, Some(Value::Bool(true))));
        }
        let change = Errand::Change {
            entity: kept.users,
            identity: identity_of(kept.users, &account.id),
            set,
            expect,
        };
        let told = Errand::Mail {
            entity: kept.users,
            identity: identity_of(kept.users, &account.id),
            mail: self.mail(
                &about(&kept.sign_in.mails.linked, provider),
                &account.login,
                &account.login,
                "",
            ),
        };
        let errands = [change, told].into_iter().chain(ends).collect();
        let caller = Caller::user(account.id.as_str());
        match self.run_errands(&caller, errands).await {
            Err(PlanError::Outdated) => {
                let message = "belongs to an account of another user of the provider";
                let fault = Fault::of(&kept.users.name, &subject.name, FaultRule::Unique, message);
                Err(not_provisioned(vec![fault]))
            }
            Ok(()) => {
                let design = &self.design().name;
                let (user, confirmed) = (&account.id, is_confirmed);
                info!(design, user, provider, confirmed, "a provider was linked");
                // What one transaction did not end goes too.
                if !is_confirmed {
                    self.end_other_sessions(&account, None).await?;
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Makes an account of the claims.
    async fn make_of(
        &self,
        provider: &str,
        subject: &Attribute,
        claims: &Claims,
    ) -> Result<(), PlanError> {
        let kept = self.account_parts()?;
        let Some(provision) = &kept.accounts.provision else {
            return Err(PlanError::NotProvisioned {
                reason: "nobody has this account, and the design makes none of claims".to_owned(),
                faults: Vec::new(),
            });
        };
        let is_foreign = kept.accounts.is_identity_foreign(&self.blueprint.design);
        let was_here = self.was_here_by(provider, &claims.subject).await?
            || (is_foreign && self.was_here(&claims.subject).await?);
        if was_here {
            return Err(PlanError::NotProvisioned {
                reason: "the account of this user was deleted".to_owned(),
                faults: Vec::new(),
            });
        }
        let id = match is_foreign {
            true => claims.subject.clone(),
            false => self.new_identity(kept.users),
        };
        let (mut values, faults) = self.composed(provision, claims, &id, Some(provider))?;
        if !faults.is_empty() {
            return Err(not_provisioned(faults));
        }
        values.push((subject, Value::from(claims.subject.as_str())));
        values.extend(identity_value(kept.users, &id));
        let create = Errand::Create {
            entity: kept.users,
            given: Map::new(),
            values,
        };
        let first = self.mark_errand(&mark_by(provider, &claims.subject), true);
        let caller = Caller::user(id.as_str());
        self.run_errands(&caller, vec![create, first]).await?;
        let design = &self.design().name;
        info!(design, user = id, provider, "an account was made of claims");
        Ok(())
    }
}

/// The login of an address, unless somebody who folds more than letters of ASCII has another one for
/// it: then it is not certain whose address the provider has confirmed.
fn unambiguous(address: &str) -> Option<String> {
    let login = folded(address);
    (address.trim().to_lowercase() == login).then_some(login)
}

/// A text about a provider.
fn about(mail: &MailText, provider: &str) -> MailText {
    let named = |text: &str| text.replace("{provider}", provider);
    MailText {
        subject: named(&mail.subject),
        text: named(&mail.text),
    }
}
