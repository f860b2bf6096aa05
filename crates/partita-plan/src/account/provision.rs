//! Accounts of people whom another issuer knows: made of the claims of the first token, once.
//!
//! No rule is asked, and everything that the design derives follows as from any other creation. A
//! mark in the sidecar says that somebody was here, so that who is deleted does not come back by
//! showing a token again. It is written with the account, and by whatever deletes a user, so that it
//! does not matter how the account came about.

use partita_core::expression::{Path, Update};
use partita_core::{Item, Map, Value};
use partita_design::design::{Accounts, Attribute, ClaimSource, Provision};
use partita_design::{Design, nested};
use partita_store::request::{PutItem, TransactAction, UpdateItem};
use partita_store::table::TableName;
use tracing::info;

use super::errand::Errand;
use super::{Account, Standing, folded, identity_of, identity_value, secret};
use crate::commit::Step;
use crate::draft::Entry;
use crate::error::{Fault, FaultRule, PlanError};
use crate::operation::Caller;
use crate::partita::Partita;
use crate::planner::Planner;
use crate::sidecar;

const SORT: &str = "SUBJECT";
/// In a mark: a token of another issuer made the account.
const ISSUED: &str = "issued";
/// In a mark: the account was deleted.
const GONE: &str = "gone";

/// The address that [`EMAIL_VERIFIED`] speaks of.
const EMAIL: &str = "email";
/// Whether the issuer has confirmed the address.
const EMAIL_VERIFIED: &str = "email_verified";

/// What another issuer says of somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The id that the issuer has for them.
    pub subject: String,
    /// When they signed in there.
    pub signed_in_millis: Option<i64>,
    /// Everything else, as plain JSON.
    pub others: Map,
}

/// A value for each attribute that claims give, and what is wrong with them.
pub(super) type Composed<'a> = (Vec<(&'a Attribute, Value)>, Vec<Fault>);

impl Claims {
    /// A claim with something in it.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        let value = self.others.get(name)?;
        let is_empty = match value {
            Value::S(text) => text.trim().is_empty(),
            Value::Null => true,
            _ => false,
        };
        (!is_empty).then_some(value)
    }

    /// The address that the issuer may have confirmed.
    pub(super) fn address(&self) -> Option<&str> {
        self.value(EMAIL).and_then(Value::as_str)
    }

    /// Whether the issuer has confirmed the address. Cognito writes it as a text.
    pub fn is_address_confirmed(&self) -> bool {
        match self.value(EMAIL_VERIFIED) {
            Some(Value::Bool(is_so)) => *is_so,
            Some(Value::S(text)) => text == "true",
            _ => false,
        }
    }
}

impl Partita {
    /// Whether somebody who has shown who they are may act: not if their account is closed or gone,
    /// whatever they bring. Whoever has a token of another issuer and was never here gets an
    /// account, if the design says how.
    pub async fn may_act(&self, id: &str, claims: Option<&Claims>) -> Result<bool, PlanError> {
        if let Some(claims) = claims
            && !self.may_name(claims).await?
        {
            return Ok(false);
        }
        let standing = match (self.standing(id).await?, claims) {
            (Standing::There(account), Some(claims)) => {
                Standing::There(self.noted(account, claims).await)
            }
            (Standing::Unknown, Some(claims)) => self.provision(claims).await?,
            (standing, _) => standing,
        };
        if let Standing::There(account) = &standing
            && self.has_sign_in()
        {
            self.take_up(account).await?;
        }
        Ok(match standing {
            Standing::There(account) => account.is_active,
            Standing::Deleted => false,
            // Where people do not sign in, our own tokens are good for whom the operator names. Who
            // had an account and has it no more is not among them.
            Standing::Unknown => !self.has_sign_in() && !self.was_here(id).await?,
        })
    }

    /// Whether the subject of another issuer can be the id of a user here. Where people sign up here,
    /// ids are ours, and an issuer that lets people choose their subjects would let them choose whose
    /// account they have: so it is one only if a token of the issuer made the account.
    async fn may_name(&self, claims: &Claims) -> Result<bool, PlanError> {
        if !self.has_sign_in() {
            return Ok(true);
        }
        let (accounts, _) = self.people()?;
        if !accounts.is_identity_foreign(&self.blueprint.design) {
            return Ok(false);
        }
        Ok(match self.standing(&claims.subject).await? {
            Standing::There(_) | Standing::Deleted => self.was_issued(&claims.subject).await?,
            Standing::Unknown => true,
        })
    }

    /// Whether a token of another issuer made the account of this id.
    async fn was_issued(&self, subject: &str) -> Result<bool, PlanError> {
        let address = sidecar::address(&self.blueprint.sidecar, &mark(subject), SORT);
        let mark = self.found(&address).await?;
        // One of an earlier version says neither.
        let is_issued = |mark: &Item| mark.get(ISSUED).is_some() || mark.get(GONE).is_none();
        Ok(mark.as_ref().is_some_and(is_issued))
    }

    /// Whether somebody of this id had an account here.
    pub(super) async fn was_here(&self, subject: &str) -> Result<bool, PlanError> {
        self.is_marked(&mark(subject)).await
    }

    /// Whether somebody of this id at a provider had an account here.
    pub(super) async fn was_here_by(
        &self,
        provider: &str,
        subject: &str,
    ) -> Result<bool, PlanError> {
        self.is_marked(&mark_by(provider, subject)).await
    }

    async fn is_marked(&self, partition: &str) -> Result<bool, PlanError> {
        let address = sidecar::address(&self.blueprint.sidecar, partition, SORT);
        Ok(self.found(&address).await?.is_some())
    }

    async fn provision(&self, claims: &Claims) -> Result<Standing, PlanError> {
        let (accounts, users) = self.people()?;
        let Some(provision) = &accounts.provision else {
            return Ok(Standing::Unknown);
        };
        if !accounts.is_identity_foreign(&self.blueprint.design) {
            return Ok(Standing::Unknown);
        }
        if self.was_here(&claims.subject).await? {
            return Ok(Standing::Deleted);
        }
        let (mut values, faults) = self.composed(provision, claims, &claims.subject, None)?;
        if !faults.is_empty() {
            return Err(not_provisioned(faults));
        }
        values.extend(identity_value(users, &claims.subject));
        let create = Errand::Create {
            entity: users,
            given: Map::new(),
            values,
        };
        let put = self.mark_errand(&mark(&claims.subject), true);
        let caller = Caller::user(claims.subject.as_str());
        let done = self.run_errands(&caller, vec![create, put]).await;
        if done.is_ok() {
            let (design, user) = (&self.design().name, &claims.subject);
            info!(design, user, "an account was made of claims");
        }
        // Of many first requests at once, one makes the account; the others find it.
        match (self.standing(&claims.subject).await?, done) {
            (Standing::Unknown, Err(error)) => Err(refusal(error)),
            (standing, _) => Ok(standing),
        }
    }

    /// The values of a new account, and what is wrong with them.
    pub(super) fn composed(
        &self,
        provision: &Provision,
        claims: &Claims,
        id: &str,
        provider: Option<&str>,
    ) -> Result<Composed<'_>, PlanError> {
        let (accounts, users) = self.people()?;
        let mut values = self.new_values()?;
        let mut faults = Vec::new();
        for (attribute, sources) in &provision.values {
            let attribute = self.user_attribute(*attribute)?;
            values.retain(|(known, _)| known.name != attribute.name);
            let is_login = accounts
                .login(&self.blueprint.design)
                .is_some_and(|login| login.name == attribute.name);
            let found = match is_login {
                // No other claim is confirmed.
                true => claims.address().map(|address| Value::S(folded(address))),
                false => sources.iter().find_map(|source| match source {
                    ClaimSource::Claim(name) => claims.value(name).cloned(),
                    ClaimSource::Id => Some(Value::from(id)),
                    ClaimSource::Provider => provider.map(Value::from),
                    ClaimSource::Always(value) => Some(value.clone()),
                }),
            };
            match found.map(|value| attribute.kind.from_plain(value)) {
                Some(value) => values.push((attribute, value)),
                None if attribute.optional || has_default(attribute) => {}
                None => faults.push(lacking(&users.name, attribute, sources)),
            }
        }
        for (attribute, value) in &values {
            if let Err(expected) = attribute.kind.check(value) {
                let (name, kind) = (&attribute.name, &attribute.kind);
                faults.push(Fault::of_value(&users.name, name, kind, value, &expected));
            }
        }
        let is_confirmed = claims.is_address_confirmed();
        if let Some(login) = accounts.login(&self.blueprint.design)
            && !is_confirmed
        {
            let message = "is not confirmed by the issuer of the token";
            faults.push(Fault::of(
                &users.name,
                &login.name,
                FaultRule::Value,
                message,
            ));
        }
        if let Some(verified) = accounts.verified {
            values.push((self.user_attribute(verified)?, Value::Bool(is_confirmed)));
        }
        if let Some(active) = &accounts.active {
            values.push((self.user_attribute(active.attribute)?, active.value.clone()));
        }
        if let Some(signed_in) = accounts.signed_in {
            let attribute = self.user_attribute(signed_in)?;
            if super::is_given(attribute) {
                let now = self.clock.now_millis();
                let millis = claims
                    .signed_in_millis
                    .map_or(now, |millis| millis.min(now));
                values.push((attribute, Partita::time_as(attribute, millis)));
            }
        }
        Ok((values, faults))
    }

    /// Notes that somebody has signed in, if the token is of a later sign-in than the last one that
    /// is known. So it is written once for a sign-in, however many requests and renewed tokens follow.
    async fn noted(&self, account: Account, claims: &Claims) -> Account {
        let Some((millis, errand)) = self.sign_in_of(&account, claims) else {
            return account;
        };
        let errands = vec![errand, self.mark_errand(&mark(&claims.subject), false)];
        let caller = Caller::user(account.id.as_str());
        // A time that could not be noted keeps nobody out, and the next request tries again.
        match self.run_errands(&caller, errands).await {
            Ok(()) => Account {
                signed_in_millis: Some(millis),
                ..account
            },
            Err(_) => account,
        }
    }

    fn sign_in_of(&self, account: &Account, claims: &Claims) -> Option<(i64, Errand<'_>)> {
        let (accounts, users) = self.people().ok()?;
        let attribute = self.user_attribute(accounts.signed_in?).ok()?;
        let millis = claims.signed_in_millis?;
        let is_later = account.signed_in_millis.is_none_or(|known| millis > known);
        if !is_later || millis > self.clock.now_millis() || !account.is_active {
            return None;
        }
        let change = Errand::Change {
            entity: users,
            identity: identity_of(users, &account.id),
            set: vec![(attribute, Some(Partita::time_as(attribute, millis)))],
            expect: Vec::new(),
        };
        Some((millis, change))
    }

    /// Writes that somebody was here.
    pub(super) fn mark_errand(&self, partition: &str, is_first: bool) -> Errand<'_> {
        let condition = is_first.then(sidecar::is_missing);
        let mut item = sidecar::key(partition, SORT);
        item.insert(ISSUED, Value::Bool(true));
        let put = PutItem {
            condition,
            ..PutItem::new(self.blueprint.sidecar.clone(), item)
        };
        Errand::Aside(Box::new(TransactAction::Put(put)))
    }
}

impl Planner<'_> {
    /// The marks of the users that this write deletes, where accounts are made of claims.
    pub(crate) fn farewell_steps(&self) -> Vec<Step> {
        let blueprint = self.context.blueprint;
        let Some(accounts) = &blueprint.design.accounts else {
            return Vec::new();
        };
        if accounts.provision.is_none() {
            return Vec::new();
        }
        let entries = self.draft.entries.iter();
        let gone = entries.filter(|one| one.record.id == accounts.entity && is_gone(one));
        let olds = gone.filter_map(|entry| entry.old());
        let marks = olds.flat_map(|old| marks_of(&blueprint.design, accounts, old));
        let rows = marks.map(|partition| farewell(&blueprint.sidecar, &partition));
        rows.map(Step::or_stale).collect()
    }
}

/// Whether a write deletes an item. One that can be restored is marked too: it may expire.
fn is_gone(entry: &Entry<'_>) -> bool {
    let is_left = |after: &Map| !entry.record.is_deleted(after);
    let is_deleted = |old: &Map| entry.record.is_deleted(old);
    let is_removed = match (entry.old(), entry.after.as_deref()) {
        (Some(_), None) => true,
        (Some(old), Some(after)) => !is_left(after) && !is_deleted(old),
        (None, _) => false,
    };
    is_removed && !entry.is_read_only()
}

/// The partitions of the marks of a user: of the id, where it is an issuer's, and of those that
/// providers have.
fn marks_of(design: &Design, accounts: &Accounts, user: &Map) -> Vec<String> {
    let text = |name: &str| nested::get(user, name).and_then(Value::as_str);
    let identity = accounts.users(design).identity.first();
    let identity = identity.filter(|_| accounts.is_identity_foreign(design));
    let foreign = identity.and_then(|part| text(&part.attribute)).map(mark);
    let subjects = accounts.sign_in.iter().flat_map(|one| &one.subjects);
    let provided = subjects.filter_map(|(provider, id)| {
        let subject = text(&accounts.attribute(design, *id).name)?;
        Some(mark_by(provider, subject))
    });
    foreign.into_iter().chain(provided).collect()
}

/// Writes that somebody is gone, and leaves what else the mark says.
fn farewell(sidecar: &TableName, partition: &str) -> TransactAction {
    TransactAction::Update(UpdateItem {
        table: sidecar.clone(),
        key: sidecar::key(partition, SORT),
        update: Update::default().setting(Path::attribute(GONE), Value::Bool(true)),
        condition: None,
        return_item_on_failure: false,
    })
}

/// The partition of the mark of somebody: a digest, which tells nothing of them.
fn mark(subject: &str) -> String {
    format!("SUBJECT#{}", secret::bound("subject", &[subject]))
}

/// The partition of the mark of somebody at a provider.
pub(super) fn mark_by(provider: &str, subject: &str) -> String {
    format!("SUBJECT#{}", secret::bound("subject", &[provider, subject]))
}

fn has_default(attribute: &Attribute) -> bool {
    use partita_design::design::Source;
    matches!(&attribute.source, Source::Given { default: Some(_) })
}

fn lacking(users: &str, attribute: &Attribute, sources: &[ClaimSource]) -> Fault {
    let names = sources.iter().filter_map(|source| match source {
        ClaimSource::Claim(name) => Some(format!("`{name}`")),
        ClaimSource::Id | ClaimSource::Provider | ClaimSource::Always(_) => None,
    });
    let names: Vec<String> = names.collect();
    let message = format!(
        "is required, and the token has no claim {}",
        names.join(" or ")
    );
    Fault::of(users, &attribute.name, FaultRule::Required, message)
}

pub(super) fn not_provisioned(faults: Vec<Fault>) -> PlanError {
    let reasons = faults
        .iter()
        .map(|fault| format!("`{}` {}", fault.attribute, fault.message));
    PlanError::NotProvisioned {
        reason: reasons.collect::<Vec<_>>().join("; "),
        faults,
    }
}

/// Why there is no account: what the design refuses is said; what may pass by itself stays as it is.
pub(super) fn refusal(error: PlanError) -> PlanError {
    match error {
        PlanError::Invalid { faults } | PlanError::Taken { faults } => not_provisioned(faults),
        error @ (PlanError::Requires { .. } | PlanError::NotFound { .. }) => {
            PlanError::NotProvisioned {
                reason: error.to_string(),
                faults: Vec::new(),
            }
        }
        error => error,
    }
}
