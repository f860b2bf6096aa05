//! Accounts whose address nobody confirmed.
//!
//! Whoever signs up with an address of others keeps it, and the unique values that they gave, from
//! nobody for long. A sign-up that wants something of an account which was not confirmed in time has
//! that account removed. It is removed for nothing else, and by nobody else: what is not wanted stays.
//!
//! Only what a sign-up made and nobody has touched since is removed. The sign-up leaves a mark in the
//! sidecar that says when it was. Whatever is done to the account while nobody has confirmed it takes
//! the mark away, in the same transaction: a confirmed address, a new password, a provider, a change
//! by an administrator or by an effect. So does whoever acts as the account with a token. An account
//! that anything else refers to stays as well.

use partita_core::{Map, Number, Value};
use partita_design::design::{Accounts, Attribute, Source};
use partita_design::nested;
use partita_store::request::{DeleteItem, PutItem, TransactAction};

use super::errand::{Errand, Values};
use super::{Account, Kept, identity_of, secret};
use crate::blueprint::Blueprint;
use crate::commit::Step;
use crate::draft::EntryId;
use crate::error::{Fault, FaultRule, PlanError};
use crate::job::Referrers;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::planner::Planner;
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

    /// Takes the mark from an account that somebody acts as. Where people may act without a confirmed
    /// address, there is nothing to take: no account is removed.
    pub(super) async fn take_up(&self, account: &Account) -> Result<(), PlanError> {
        let kept = self.account_parts()?;
        if account.is_verified || kept.sign_in.unverified || kept.sign_in.verification.is_none() {
            return Ok(());
        }
        let row = sidecar::address(&self.blueprint.sidecar, &partition(&account.id), SORT);
        match self.found(&row).await? {
            Some(_) => {
                self.remove_row(forgotten(&self.blueprint, &account.id))
                    .await
            }
            None => Ok(()),
        }
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
        match self.run_errands(&Caller::anonymous(), vec![remove]).await {
            Ok(()) => Ok(true),
            // Somebody has confirmed or touched it meanwhile, or something refers to it.
            Err(PlanError::Outdated | PlanError::InUse { .. } | PlanError::Conflict) => Ok(false),
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

impl<'a> Planner<'a> {
    /// Takes the marks from accounts that the write touches and that nobody has confirmed.
    pub(crate) fn taken_up_steps(&self) -> Vec<Step> {
        let blueprint = self.context.blueprint;
        let Some(accounts) = &blueprint.design.accounts else {
            return Vec::new();
        };
        let sign_in = accounts.sign_in.as_ref();
        let is_confirming = sign_in.is_some_and(|one| one.verification.is_some());
        let Some(verified) = accounts.verified.filter(|_| is_confirming) else {
            return Vec::new();
        };
        let verified = &accounts.attribute(&blueprint.design, verified).name;
        let entries = self.draft.entries.iter();
        let touched = entries.filter(|one| {
            let is_user = one.record.id == accounts.entity;
            is_user && one.operation.is_some() && !one.is_read_only()
        });
        let olds = touched.filter_map(|entry| entry.old().map(|old| (entry.record, old)));
        let open = olds.filter(|(_, old)| nested::get(old, verified) != Some(&Value::Bool(true)));
        let ids = open.filter_map(|(record, old)| {
            let part = record.identity.first()?;
            nested::get(old, &part.attribute)?.as_str()
        });
        let deleted = ids.map(|id| DeleteItem {
            // INVARIANT: an account gives way only while it has its mark.
            condition: self.gives_way.then(sidecar::is_there),
            ..forgotten(blueprint, id)
        });
        let steps = deleted.map(|one| Step::or_stale(TransactAction::Delete(one)));
        steps.collect()
    }

    /// Refuses to remove an account that anything refers to but its own sessions and links: by a ref
    /// whose items can be found, by a number that counts them, or because it would go with the account.
    pub(crate) fn demand_unreferred(&mut self, errands: &[Errand<'a>]) -> Result<(), PlanError> {
        for errand in errands {
            let Errand::Remove {
                entity, identity, ..
            } = errand
            else {
                continue;
            };
            self.gives_way = true;
            let address = self.context.blueprint.address(entity, identity)?;
            if let Some(at) = self.draft.find(&address) {
                self.demand_unreferred_item(at)?;
            }
        }
        Ok(())
    }

    fn demand_unreferred_item(&mut self, at: EntryId) -> Result<(), PlanError> {
        let design = &self.context.blueprint.design;
        let source = self.entry(at).record;
        let own = design.accounts.as_ref();
        let own = own.map(Accounts::own).unwrap_or_default();
        let in_use = |by: &str| PlanError::InUse {
            entity: source.name.clone(),
            by: by.to_owned(),
            count: "some".to_owned(),
        };
        let counts = source.attributes.iter();
        let counts = counts.filter(|one| matches!(one.source, Source::Aggregate(_)));
        let old = self.entry(at).old().cloned().unwrap_or_default();
        for count in counts {
            let number = nested::get(&old, &count.name).and_then(Value::as_number);
            if number.is_some_and(|number| number != &Number::ZERO) {
                return Err(in_use(&count.name));
            }
        }
        let referrers = design.referrers(source.id).into_iter();
        for id in referrers.filter(|id| !own.contains(&id.record)) {
            let who = Referrers::of(design, source, id);
            if !self.referring(at, who)?.is_empty() {
                return Err(in_use(&who.entity.name));
            }
        }
        for other in self.draft.ids().filter(|other| *other != at) {
            let entry = self.entry(other);
            let is_theirs = !entry.record.is_entity() || own.contains(&entry.record.id);
            if entry.operation.is_some() && !entry.is_read_only() && !is_theirs {
                return Err(in_use(&entry.record.name));
            }
        }
        if self.deferred.job.is_some() {
            return Err(in_use(&source.name));
        }
        Ok(())
    }
}

/// The end of the mark of an account.
fn forgotten(blueprint: &Blueprint, id: &str) -> DeleteItem {
    DeleteItem {
        table: blueprint.sidecar.clone(),
        key: sidecar::key(&partition(id), SORT),
        condition: None,
        return_item_on_failure: false,
    }
}

fn partition(id: &str) -> String {
    format!("UNCONFIRMED#{}", secret::bound("unconfirmed", &[id]))
}
