//! Who becomes an administrator while there is none: by the operator's word, or by a link that is
//! good once.

use partita_core::expression::{Comparator, Condition, Operand, Path};
use partita_core::{Map, Number, Value};
use partita_design::design::{Attribute, CallerSource, Record};
use partita_design::nested;
use partita_store::request::{PutItem, TransactAction};
use tracing::info;

use super::errand::Errand;
use super::{Account, secret};
use crate::error::{Fault, PlanError};
use crate::live;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::request::input;
use crate::sidecar;

const PARTITION: &str = "ADMINISTRATOR";
const SORT: &str = "FIRST";
/// The digest of the link that is good.
const DIGEST: &str = "digest";
/// Until when, in milliseconds since 1970.
const ENDS: &str = "ends";
/// For how long a link is good.
const LINK_MILLIS: i64 = 3_600_000;

impl Partita {
    /// Gives a user a role, or puts the user into a group, where the design keeps these in the
    /// users' items. No rule is asked.
    pub async fn grant(&self, user: &str, role: &str) -> Result<(), PlanError> {
        live::refuse_unadopted(&self.blueprint.design, &self.runner).await?;
        let (record, identity) = self.user(user).await?;
        let item = self.stored_item(record, &identity).await?;
        let set = self.granted(record, item.as_ref(), role)?;
        let mut errands = vec![Errand::Change {
            entity: record,
            identity,
            set: vec![set],
            expect: Vec::new(),
        }];
        if self.blueprint.design.callers.administrator_mark() == Some(role) {
            errands.push(Errand::Aside(Box::new(self.first_row(Map::new(), None))));
        }
        self.run_errands(&Caller::anonymous(), errands).await?;
        info!(
            design = self.design().name,
            user, role, "a role was granted"
        );
        Ok(())
    }

    /// A secret that makes the first administrator within an hour, if there never was one.
    pub async fn first_administrator(&self) -> Result<Option<String>, PlanError> {
        let design = &self.blueprint.design;
        let is_kept = design.callers.administrator_mark().is_some()
            && (matches!(design.callers.role, CallerSource::Attribute(_))
                || matches!(design.callers.groups, CallerSource::Attribute(_)));
        if !self.has_sign_in() || !is_kept {
            return Ok(None);
        }
        let address = sidecar::address(&self.blueprint.sidecar, PARTITION, SORT);
        let row = self.found(&address).await?;
        if row.is_some_and(|row| row.get(DIGEST).is_none()) {
            return Ok(None);
        }
        let secret = secret::new(&*self.runner.entropy);
        let digest = secret::digest(&secret).unwrap_or_default();
        let ends = self.clock.now_millis() + LINK_MILLIS;
        let row = Map::from([
            (DIGEST, Value::from(digest.as_str())),
            (ENDS, Value::N(Number::from(ends))),
        ]);
        // Another server may make an administrator at this moment.
        let is_open = Condition::Any(vec![
            sidecar::is_missing(),
            Condition::Exists(Path::attribute(DIGEST)),
        ]);
        let errand = Errand::Aside(Box::new(self.first_row(row, Some(is_open))));
        self.run_errands(&Caller::anonymous(), vec![errand]).await?;
        Ok(Some(secret))
    }

    /// Makes an account the first administrator, by the secret of [`Partita::first_administrator`].
    /// Its address counts as confirmed: who has the secret runs the installation.
    pub async fn claim_administration(
        &self,
        secret: &str,
        account: &Account,
    ) -> Result<bool, PlanError> {
        let kept = self.account_parts()?;
        let design = &self.blueprint.design;
        let address = sidecar::address(&self.blueprint.sidecar, PARTITION, SORT);
        let row = self.found(&address).await?.unwrap_or_default();
        let digest = secret::digest(secret);
        let ends = row.get(ENDS).and_then(|ends| ends.as_number()?.to_i64());
        let is_good = digest.is_some()
            && row.get(DIGEST).and_then(Value::as_str) == digest.as_deref()
            && ends.is_some_and(|ends| self.clock.now_millis() < ends);
        let (Some(digest), true, Some(role)) =
            (digest, is_good, design.callers.administrator_mark())
        else {
            return Ok(false);
        };
        let identity = super::identity_of(kept.users, &account.id);
        let item = self.stored_item(kept.users, &identity).await?;
        let mut set = vec![self.granted(kept.users, item.as_ref(), role)?];
        if let Some(verified) = kept.accounts.verified {
            set.push((self.user_attribute(verified)?, Some(Value::Bool(true))));
        }
        let change = Errand::Change {
            entity: kept.users,
            identity,
            set,
            expect: self.expectation(account)?,
        };
        let is_same = Condition::Compare(
            Operand::Path(Path::attribute(DIGEST)),
            Comparator::Equal,
            Operand::value(Value::from(digest.as_str())),
        );
        let used = Errand::Aside(Box::new(self.first_row(Map::new(), Some(is_same))));
        self.run_errands(&Caller::user(account.id.as_str()), vec![change, used])
            .await?;
        Ok(true)
    }

    /// The user with an id, or with a login.
    async fn user(&self, user: &str) -> Result<(&Record, Map), PlanError> {
        let design = &self.blueprint.design;
        let Some(record) = design.callers.entity.map(|entity| &design[entity]) else {
            return Err(refused(
                "user",
                "is nobody's id: `[caller]` names no entity of users",
            ));
        };
        if let Ok(identity) = input::identity(record, &[user.to_owned()])
            && self.stored_item(record, &identity).await?.is_some()
        {
            return Ok((record, identity));
        }
        if self.has_sign_in()
            && let Some(account) = self.account_with(user).await?
        {
            return Ok((record, super::identity_of(record, &account.id)));
        }
        let message = format!("is neither the id nor the login of a user: `{user}`");
        Err(refused("user", &message))
    }

    /// What a user's item becomes.
    fn granted<'a>(
        &'a self,
        record: &'a Record,
        item: Option<&Map>,
        role: &str,
    ) -> Result<(&'a Attribute, Option<Value>), PlanError> {
        let callers = &self.blueprint.design.callers;
        let attribute = |source: &CallerSource| match source {
            CallerSource::Attribute(name) => record.stored(name),
            CallerSource::Token => None,
        };
        if let Some(attribute) = attribute(&callers.role) {
            return Ok((attribute, Some(Value::from(role))));
        }
        let Some(attribute) = attribute(&callers.groups) else {
            let message = "comes from tokens in this design: `partita token --role` makes one";
            return Err(refused("role", message));
        };
        let mut groups = match item.and_then(|item| nested::get(item, &attribute.name)) {
            Some(Value::L(groups)) => groups.clone(),
            Some(Value::Ss(groups)) => {
                let mut groups = groups.clone();
                groups.insert(role.to_owned());
                return Ok((attribute, Some(Value::Ss(groups))));
            }
            _ => Vec::new(),
        };
        if !groups.contains(&Value::from(role)) {
            groups.push(Value::from(role));
        }
        Ok((attribute, Some(Value::L(groups))))
    }

    fn first_row(&self, values: Map, condition: Option<Condition>) -> TransactAction {
        let mut item = sidecar::key(PARTITION, SORT);
        item.extend(values);
        TransactAction::Put(PutItem {
            condition,
            ..PutItem::new(self.blueprint.sidecar.clone(), item)
        })
    }
}

fn refused(what: &str, message: &str) -> PlanError {
    PlanError::Invalid {
        faults: vec![Fault::new(what, message)],
    }
}
