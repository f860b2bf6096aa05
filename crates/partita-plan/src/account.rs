//! Accounts: people who sign in, on the entities that `[accounts]` names.
//!
//! What is here finds accounts, sessions and links, and writes them; passwords are hashed elsewhere.
//! No rule is asked: whoever calls this has decided that it may be done.
//!
//! | module | what it holds |
//! |---|---|
//! | `account` | accounts: found by their login or id, created, changed |
//! | `account::sign_up` | people sign up |
//! | `account::promise` | what is recorded, and carried out behind the answer |
//! | `account::session` | sessions: opened, found by their credential, prolonged, ended |
//! | `account::link` | links that are mailed, good for one use |
//! | `account::errand` | writes past the rules, in one transaction, with everything derived |
//! | `account::attempts` | how often something was tried |
//! | `account::provider` | accounts of people who sign in elsewhere: found, linked, made |
//! | `account::unconfirmed` | accounts that nobody confirmed in time make room for others |
//! | `account::provision` | accounts of people whom another issuer knows |
//! | `account::administrator` | who becomes an administrator without one |
//! | `account::secret` | random secrets, and what is stored of them |
//!
//! A session and a link are bound to the password that the account had when they were made. When
//! the password changes, all of them are void at once, whether an index finds them yet or not. One
//! that is only hashed anew keeps its salt, and them. A session that a provider opened is bound to the
//! id there as well, and is void as soon as the account has it no more.

pub(crate) mod administrator;
pub(crate) mod attempts;
pub(crate) mod errand;
pub(crate) mod link;
pub(crate) mod promise;
pub(crate) mod provider;
pub(crate) mod provision;
pub(crate) mod secret;
pub(crate) mod session;
pub(crate) mod sign_up;
#[cfg(test)]
mod tests;
mod unconfirmed;

use partita_core::{Item, Map, Value};
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{
    Accounts, Attribute, AttributeId, CallerSource, MailText, Record, SignIn, Source,
};
use partita_design::nested;
use partita_design::time;
use partita_design::types::AttributeType;
use uuid::Uuid;

use crate::error::{Fault, PlanError};
use crate::evaluate::Known;
use crate::operation::Caller;
use crate::outbox::Mail;
use crate::partita::Partita;
use crate::place::{Address, Place};
use errand::{Errand, Values};
use session::Bond;

pub use attempts::AttemptLimit;
pub use link::{LinkKind, LinkUse};
pub use promise::{AskedBy, Kept as KeptPromise, Promise};
pub use provider::{LinkedProvider, Unlinked};
pub use provision::Claims;
pub use secret::{BCRYPT, salt_of};
pub use session::{EndedSessions, NewSession, Session};
pub use sign_up::{SignUp, SignedUp};

/// A text in which a login is looked for and stored. Only letters of ASCII are folded: beyond them,
/// addresses of different people fold to the same text, as the sign of Kelvin does to a `k`.
pub fn folded(login: &str) -> String {
    login.trim_ascii().to_ascii_lowercase()
}

/// An account, as it was found.
#[derive(Clone, PartialEq)]
pub struct Account {
    /// The id of the user.
    pub id: String,
    /// What the user signs in with.
    pub login: String,
    /// The hash of the password; an account of a provider alone has none.
    pub password: Option<String>,
    /// Whether the login was confirmed.
    pub is_verified: bool,
    /// Whether it may be used.
    pub is_active: bool,
    /// When somebody last signed in, as far as it is known.
    pub signed_in_millis: Option<i64>,
    /// The id that the owner has at each provider that signs the account in.
    pub subjects: Vec<(String, String)>,
}

impl Account {
    /// A provider that signs the account in, and the id that it has there.
    fn subject(&self, provider: Option<&str>) -> Option<(&str, &str)> {
        let mut subjects = self.subjects.iter();
        let found = subjects.find(|(name, _)| Some(name.as_str()) == provider)?;
        Some((&found.0, &found.1))
    }
}

/// What there is of a user.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// An account, active or not.
    There(Account),
    /// An account that is deleted and can be restored.
    Deleted,
    /// Nothing, now.
    Unknown,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The parts of a design that accounts are kept in.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    pub(super) accounts: &'a Accounts,
    pub(super) sign_in: &'a SignIn,
    pub(super) users: &'a Record,
}

impl Partita {
    /// Whether callers have accounts.
    pub fn has_accounts(&self) -> bool {
        self.blueprint.design.accounts.is_some()
    }

    /// Whether people sign in here.
    pub fn has_sign_in(&self) -> bool {
        self.account_parts().is_ok()
    }

    /// Who has accounts, and what is kept of them.
    pub(super) fn people(&self) -> Result<(&Accounts, &Record), PlanError> {
        let design = &self.blueprint.design;
        let accounts = design.accounts.as_ref().ok_or(PlanError::NoAccounts)?;
        Ok((accounts, accounts.users(design)))
    }

    pub(super) fn account_parts(&self) -> Result<Kept<'_>, PlanError> {
        let (accounts, users) = self.people()?;
        let sign_in = accounts.sign_in.as_ref().ok_or(PlanError::NoAccounts)?;
        Ok(Kept {
            accounts,
            sign_in,
            users,
        })
    }

    /// The account with a login.
    pub async fn account_with(&self, login: &str) -> Result<Option<Account>, PlanError> {
        let kept = self.account_parts()?;
        let attribute = self.user_attribute(kept.sign_in.login)?;
        let item = self.user_with(attribute, &folded(login)).await?;
        if item.is_none() {
            // On DynamoDB every read is a round trip. Where nobody has the login, there are as many.
            let nobody = identity_of(kept.users, &self.new_identity(kept.users));
            self.stored_item(kept.users, &nobody).await?;
        }
        Ok(item.and_then(|item| self.account_of(&item)))
    }

    /// The item of the user with a value that is unique.
    pub(super) async fn user_with(
        &self,
        attribute: &Attribute,
        value: &str,
    ) -> Result<Option<Map>, PlanError> {
        let (accounts, users) = self.people()?;
        let Some(guard) = accounts.guard(&self.blueprint.design, attribute) else {
            return Ok(None);
        };
        let mut named = Map::new();
        nested::set(&mut named, &attribute.name, Value::from(value));
        // What cannot be a part of a key is nobody's.
        let Ok(Some(partition)) = guard.key(&named) else {
            return Ok(None);
        };
        let (_, table) = self.blueprint.table_of(users);
        let address = Place::address(table, partition, UNIQUE_SORT.to_owned());
        let Some(guard) = self.found(&address).await? else {
            return Ok(None);
        };
        let Some(identity) = users.identity_of(&guard) else {
            return Ok(None);
        };
        let item = self.stored_item(users, &identity).await?;
        let is_theirs = |item: &Map| {
            let found = nested::get(item, &attribute.name).and_then(Value::as_str);
            found == Some(value)
        };
        Ok(item.filter(is_theirs))
    }

    /// The account of a user.
    pub async fn account(&self, id: &str) -> Result<Option<Account>, PlanError> {
        Ok(match self.standing(id).await? {
            Standing::There(account) => Some(account),
            Standing::Deleted | Standing::Unknown => None,
        })
    }

    /// What there is of a user.
    pub async fn standing(&self, id: &str) -> Result<Standing, PlanError> {
        let (_, users) = self.people()?;
        let Ok(identity) = crate::request::input::identity(users, &[id.to_owned()]) else {
            return Ok(Standing::Unknown);
        };
        let item = self.stored_item(users, &identity).await?;
        Ok(match item {
            Some(item) => match self.account_of(&item) {
                Some(account) => Standing::There(account),
                None => Standing::Deleted,
            },
            None => Standing::Unknown,
        })
    }

    /// Refuses a text that cannot be a login.
    pub fn check_login(&self, login: &str) -> Result<(), PlanError> {
        let kept = self.account_parts()?;
        let attribute = self.user_attribute(kept.sign_in.login)?;
        let value = Value::from(folded(login));
        let mut faults = Vec::new();
        if let Err(expected) = attribute.kind.check(&value) {
            let (users, name) = (&kept.users.name, &attribute.name);
            faults.push(Fault::of_value(
                users,
                name,
                &attribute.kind,
                &value,
                &expected,
            ));
        }
        crate::request::input::refuse(faults)
    }

    /// Replaces the password. All sessions end but one, which is bound to the new password, and all
    /// links are void.
    pub async fn change_password(
        &self,
        account: &Account,
        password: &str,
        keeping: Option<&Session>,
    ) -> Result<(), PlanError> {
        let mut errands = vec![self.password_errand(account, password, Vec::new())?];
        if let Some(session) = keeping {
            let generation = self.generation(&account.id).await?;
            let bond = Bond {
                password: Some(password),
                subject: session.subject_in(account),
                generation: generation.as_deref(),
            };
            errands.push(self.binding_anew(session, bond)?);
        }
        errands.extend(self.ends_of_sessions(account, keeping).await?);
        self.run_errands(&Caller::user(account.id.as_str()), errands)
            .await
    }

    /// The change of a password, if it is still what it was.
    pub(super) fn password_errand<'a>(
        &'a self,
        account: &Account,
        password: &str,
        more: Values<'a>,
    ) -> Result<Errand<'a>, PlanError> {
        let kept = self.account_parts()?;
        let attribute = self.user_attribute(kept.sign_in.password)?;
        let mut set: Values<'a> = vec![(attribute, Some(Value::from(password)))];
        set.extend(more);
        Ok(Errand::Change {
            entity: kept.users,
            identity: identity_of(kept.users, &account.id),
            set,
            expect: self.expectation(account)?,
        })
    }

    /// That login and password are what they were when something was decided.
    pub(super) fn expectation(&self, account: &Account) -> Result<Values<'_>, PlanError> {
        let kept = self.account_parts()?;
        Ok(vec![
            (
                self.user_attribute(kept.sign_in.login)?,
                Some(Value::from(account.login.as_str())),
            ),
            (
                self.user_attribute(kept.sign_in.password)?,
                account.password.as_deref().map(Value::from),
            ),
        ])
    }

    pub(super) fn user_attribute(&self, id: AttributeId) -> Result<&Attribute, PlanError> {
        let (accounts, _) = self.people()?;
        Ok(accounts.attribute(&self.blueprint.design, id))
    }

    /// What every new account has.
    pub(super) fn new_values(&self) -> Result<Vec<(&Attribute, Value)>, PlanError> {
        let (accounts, users) = self.people()?;
        let mut values = Vec::new();
        for (attribute, value) in &accounts.new {
            values.push((self.user_attribute(*attribute)?, value.clone()));
        }
        let callers = &self.blueprint.design.callers;
        if let (Some(role), CallerSource::Attribute(name)) = (&accounts.role, &callers.role)
            && let Some(attribute) = users.stored(name)
        {
            values.push((attribute, Value::from(role.as_str())));
        }
        Ok(values)
    }

    fn account_of(&self, item: &Map) -> Option<Account> {
        let (accounts, users) = self.people().ok()?;
        if users.is_deleted(item) {
            return None;
        }
        let part = users.identity.first()?;
        let value = |id: AttributeId| {
            let name = &accounts.attribute(&self.blueprint.design, id).name;
            users.read(item, name).map(std::borrow::Cow::into_owned)
        };
        let is = |id: AttributeId, expected: &Value| value(id).as_ref() == Some(expected);
        let text = |value: Option<Value>| match value {
            Some(Value::S(text)) => Some(text),
            _ => None,
        };
        let sign_in = accounts.sign_in.as_ref();
        let subjects_of = |sign_in: &SignIn| {
            let subjects = sign_in.subjects.iter();
            let found = subjects.filter_map(|(name, id)| Some((name.clone(), text(value(*id))?)));
            found.collect()
        };
        let signed_in = accounts.signed_in.and_then(|id| {
            let form = accounts
                .attribute(&self.blueprint.design, id)
                .kind
                .time_form()?;
            form.read(&value(id)?)
        });
        Some(Account {
            id: text(nested::get(item, &part.attribute).cloned())?,
            // An older item may lack it. Its user has a token, and cannot sign in.
            login: text(sign_in.and_then(|one| value(one.login))).unwrap_or_default(),
            password: text(sign_in.and_then(|one| value(one.password))),
            is_verified: accounts
                .verified
                .is_none_or(|id| is(id, &Value::Bool(true))),
            is_active: accounts
                .active
                .as_ref()
                .is_none_or(|active| is(active.attribute, &active.value)),
            signed_in_millis: signed_in,
            subjects: sign_in.map(subjects_of).unwrap_or_default(),
        })
    }

    /// An item that is there and has not expired.
    pub(super) async fn stored_item(
        &self,
        record: &Record,
        identity: &Map,
    ) -> Result<Option<Map>, PlanError> {
        // What cannot be a part of a key is no item.
        let Ok(address) = self.blueprint.address(record, identity) else {
            return Ok(None);
        };
        let Some(item) = self.found(&address).await? else {
            return Ok(None);
        };
        self.blueprint.attributes(record, &item).map(Some)
    }

    /// What is stored at an address, if it has not expired.
    pub(crate) async fn found(&self, address: &Address) -> Result<Option<Item>, PlanError> {
        let mut found = self.found_all(std::slice::from_ref(address)).await?;
        Ok(found.pop().flatten())
    }

    /// What is stored at some addresses, read at once.
    pub(super) async fn found_all(
        &self,
        addresses: &[Address],
    ) -> Result<Vec<Option<Item>>, PlanError> {
        let moment = self.moment();
        let mut reads = self.reads(&moment);
        let nobody = Caller::anonymous();
        let found = self.runner.settle(&mut reads, |reads| {
            let context = self.context(&nobody, reads, &moment);
            let items = addresses.iter().map(|address| match context.item(address) {
                Known::Found(item) => Some(item.clone()),
                Known::Missing | Known::Unread => None,
            });
            Ok(items.collect())
        });
        found.await
    }

    /// A new id, in the form of the identity of an entity.
    pub(super) fn new_identity(&self, record: &Record) -> String {
        let mut random = [0; 16];
        self.runner.entropy.fill(&mut random);
        let kind = record
            .identity
            .first()
            .and_then(|part| record.attribute(&part.attribute));
        match kind.map(|attribute| &attribute.kind) {
            Some(AttributeType::Ulid) => {
                let millis = u64::try_from(self.clock.now_millis()).unwrap_or(0);
                ulid::Ulid::from_parts(millis, u128::from_be_bytes(random) >> 48).to_string()
            }
            _ => {
                let id: Uuid = uuid::Builder::from_random_bytes(random).into_uuid();
                id.to_string()
            }
        }
    }

    /// A time in the form of an attribute.
    pub(super) fn time_as(attribute: &Attribute, millis: i64) -> Value {
        attribute.kind.adopt(Value::S(time::format_millis(millis)))
    }

    pub(super) fn mail(&self, text: &MailText, to: &str, login: &str, link: &str) -> Mail {
        let design = &self.blueprint.design.name;
        let filled = |text: &str| MailText::filled(text, design, login, link);
        Mail::new(to.to_owned(), &filled(&text.subject), filled(&text.text))
    }
}

/// The identity of an item that has one part.
pub(super) fn identity_of(record: &Record, id: &str) -> Map {
    let mut identity = Map::new();
    if let Some((attribute, value)) = identity_value(record, id) {
        nested::set(&mut identity, &attribute.name, value);
    }
    identity
}

/// Whether a value can be given when the item is made.
fn is_given(attribute: &Attribute) -> bool {
    matches!(attribute.source, Source::Given { .. })
}

fn identity_value<'a>(record: &'a Record, id: &str) -> Option<(&'a Attribute, Value)> {
    let part = record.identity.first()?;
    let attribute = record.attribute(&part.attribute)?;
    Some((attribute, Value::from(id)))
}
