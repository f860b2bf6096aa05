//! Accounts whose address nobody confirmed.
//!
//! Whoever signs up with an address of others keeps it, and the unique values that they gave, from
//! nobody for long. A sign-up that wants something of an account which was not confirmed in time has
//! that account removed. It is removed for nothing else, and by nobody else: what is not wanted stays.
//!
//! Only what a sign-up made is removed. The sign-up leaves a row in the sidecar that says when it
//! was; an account that an administrator made, or that somebody could use, has none or does not need
//! it.

use partita_core::{Map, Number, Value};
use partita_design::design::Attribute;
use partita_design::nested;
use partita_store::request::{DeleteItem, PutItem, TransactAction};

use super::errand::{Errand, Values};
use super::{Account, Kept, identity_of, secret};
use crate::error::{Fault, FaultRule, PlanError};
use crate::operation::Caller;
use crate::partita::Partita;
use crate::sidecar;

/// How long an account is kept at least for whoever is to confirm it.
const KEPT_SECONDS_MIN: u64 = 86_400;

const SORT: &str = "ACCOUNT";
const AT: &str = "at";

impl Partita {
    /// Notes when somebody signed up.
    pub(super) fn unconfirmed_errand(&self, id: &str) -> Errand<'_> {
        let mut item = sidecar::key(&partition(id), SORT);
        let now = Number::from(self.clock.now_millis());
        item.insert(AT, Value::N(now));
        let put = PutItem::new(self.blueprint.sidecar.clone(), item);
        Errand::Aside(Box::new(TransactAction::Put(put)))
    }

    /// Forgets when somebody signed up: the address is confirmed, or the account is gone.
    pub(super) fn confirmed_errand(&self, id: &str) -> Errand<'_> {
        let delete = DeleteItem {
            table: self.blueprint.sidecar.clone(),
            key: sidecar::key(&partition(id), SORT),
            condition: None,
            return_item_on_failure: false,
        };
        Errand::Aside(Box::new(TransactAction::Delete(delete)))
    }

    /// Removes the accounts that hold what a sign-up was refused for, if they were not confirmed in
    /// time. Says whether one was removed.
    pub(super) async fn make_room(
        &self,
        wanted: &Map,
        faults: &[Fault],
    ) -> Result<bool, PlanError> {
        let kept = self.account_parts()?;
        let mut has_removed = false;
        for fault in faults.iter().filter(|one| one.rule == FaultRule::Unique) {
            let attribute = kept.users.attribute(&fault.attribute);
            let value = nested::get(wanted, &fault.attribute).and_then(Value::as_str);
            let Some((attribute, value)) = attribute.zip(value) else {
                continue;
            };
            if let Some(item) = self.user_with(attribute, value).await? {
                has_removed |= self.remove_unconfirmed(kept, &item).await?;
            }
        }
        Ok(has_removed)
    }

    async fn remove_unconfirmed(&self, kept: Kept<'_>, item: &Map) -> Result<bool, PlanError> {
        let Some(account) = self.account_of(item) else {
            return Ok(false);
        };
        if !self.is_overdue(kept, &account).await? {
            return Ok(false);
        }
        let remove = Errand::Remove {
            entity: kept.users,
            identity: identity_of(kept.users, &account.id),
            expect: self.unused(kept, item)?,
        };
        let errands = vec![remove, self.confirmed_errand(&account.id)];
        match self.run_errands(&Caller::anonymous(), errands).await {
            Ok(()) => Ok(true),
            // Somebody has confirmed it meanwhile, or something of others refers to it.
            Err(PlanError::Outdated | PlanError::InUse { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether an account could not be used by anybody since a sign-up made it, and was to be
    /// confirmed by now.
    async fn is_overdue(&self, kept: Kept<'_>, account: &Account) -> Result<bool, PlanError> {
        let Some(verification) = &kept.sign_in.verification else {
            return Ok(false);
        };
        let is_used = kept.accounts.verified.is_none()
            || kept.sign_in.unverified
            || account.is_verified
            || account.signed_in_millis.is_some();
        if is_used {
            return Ok(false);
        }
        let row = sidecar::address(&self.blueprint.sidecar, &partition(&account.id), SORT);
        let row = self.found(&row).await?;
        let at = row.and_then(|row| row.get(AT)?.as_number()?.to_i64());
        let seconds = verification.lifetime_seconds.max(KEPT_SECONDS_MIN);
        let millis = i64::try_from(seconds).unwrap_or(i64::MAX / 1000) * 1000;
        let now = self.clock.now_millis();
        Ok(at.is_some_and(|at| now.saturating_sub(at) >= millis))
    }

    /// That nobody has confirmed the account, signed in to it or linked it.
    fn unused(&self, kept: Kept<'_>, item: &Map) -> Result<Values<'_>, PlanError> {
        let sign_in = kept.sign_in;
        let subjects = sign_in.subjects.iter().map(|(_, attribute)| *attribute);
        let ids = [sign_in.login, sign_in.password].into_iter();
        let ids = ids.chain(kept.accounts.verified);
        let ids = ids.chain(kept.accounts.signed_in).chain(subjects);
        let mut values: Values<'_> = Vec::new();
        for id in ids {
            let attribute: &Attribute = self.user_attribute(id)?;
            let value = nested::get(item, &attribute.name).cloned();
            values.push((attribute, value));
        }
        Ok(values)
    }
}

fn partition(id: &str) -> String {
    format!("UNCONFIRMED#{}", secret::bound("unconfirmed", &[id]))
}
