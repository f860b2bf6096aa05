//! What is carried out behind its answer: a sign-up, and the mail of a link.
//!
//! It is recorded as one row of the sidecar before the answer, whoever has the address. The
//! transaction that carries it out removes the row, so that it is done once: by this server or, if it
//! dies or another design is served meanwhile, by the next that works on the design.

use partita_core::expression::KeyCondition;
use partita_core::{Item, Number, Value};
use partita_store::request::{DeleteItem, PutItem, Query, TransactAction};

use super::errand::Errand;
use super::{Account, LinkKind, SignUp, SignedUp, secret};
use crate::error::PlanError;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::sidecar;

/// The partition of what is not carried out yet.
const PARTITION: &str = "PROMISE";
const LOGIN: &str = "login";
const PASSWORD: &str = "password";
const GIVEN: &str = "given";
const URL: &str = "url";
const USER: &str = "user";
const BOUND: &str = "bound";
const AT: &str = "at";

/// How long it is left to the server that answered.
const LEFT_ALONE_MILLIS: i64 = 10_000;
/// How long it is kept while no server works on the design.
const KEPT_SECONDS: i64 = 7 * 86_400;

/// What is carried out behind its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Promise {
    /// Somebody gets an account, or the owner of the login is told.
    SignUp(SignUp),
    /// Whoever has a login gets a link for a new password.
    Reset {
        /// The login.
        login: String,
        /// What the link begins with.
        public_url: String,
    },
    /// An account gets a link at the address that it is to have, or the owner of that is told.
    Change {
        /// The account, as it was when that was asked for. Where its login or password is another
        /// by now, nothing is mailed.
        asked: AskedBy,
        /// The address.
        login: String,
        /// What the link begins with.
        public_url: String,
    },
}

/// Who asked for something, with which login and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedBy {
    user: String,
    bound: String,
}

impl From<&Account> for AskedBy {
    fn from(account: &Account) -> AskedBy {
        let password = secret::mark(account.password.as_deref());
        AskedBy {
            user: account.id.clone(),
            bound: secret::bound("promise", &[&account.id, &account.login, &password]),
        }
    }
}

/// What came of a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Of a sign-up.
    SignedUp(SignedUp),
    /// This user was mailed a link, if anybody.
    Mailed(Option<String>),
}

impl Partita {
    /// Records what is to be carried out by [`Partita::keep_promise`]. Gives its id.
    pub async fn promise(&self, promise: &Promise) -> Result<String, PlanError> {
        let now = self.clock.now_millis();
        let mut random = [0; 16];
        self.runner.entropy.fill(&mut random);
        let id = format!("{now:014}-{:032x}", u128::from_be_bytes(random));
        let mut row = sidecar::key(PARTITION, &id);
        let (login, url) = match promise {
            Promise::SignUp(sign_up) => {
                row.insert(PASSWORD, Value::from(sign_up.password.as_str()));
                row.insert(GIVEN, Value::M(sign_up.given.clone()));
                (&sign_up.login, &sign_up.public_url)
            }
            Promise::Reset { login, public_url } => (login, public_url),
            Promise::Change {
                asked,
                login,
                public_url,
            } => {
                row.insert(USER, Value::from(asked.user.as_str()));
                row.insert(BOUND, Value::from(asked.bound.as_str()));
                (login, public_url)
            }
        };
        row.insert(LOGIN, Value::from(login.as_str()));
        row.insert(URL, Value::from(url.as_str()));
        row.insert(AT, Value::N(Number::from(now)));
        let expires = now.div_euclid(1000) + KEPT_SECONDS;
        row.insert(sidecar::EXPIRES, Value::N(Number::from(expires)));
        let put = PutItem::new(self.blueprint.sidecar.clone(), row);
        self.runner.put(&put).await?;
        Ok(id)
    }

    /// Carries out what is recorded, unless somebody has. What is refused now, because others were
    /// faster, is forgotten.
    pub async fn keep_promise(&self, id: &str) -> Result<Option<Kept>, PlanError> {
        let address = sidecar::address(&self.blueprint.sidecar, PARTITION, id);
        let Some(promise) = self.found(&address).await?.and_then(|row| recorded(&row)) else {
            return Ok(None);
        };
        let row = self.row_of_promise(id);
        match self.fulfil(&promise, row.clone()).await {
            Ok(kept) => Ok(Some(kept)),
            // Another server has done it.
            Err(PlanError::Conflict) if self.found(&address).await?.is_none() => Ok(None),
            Err(error) if is_passing(&error) => Err(error),
            Err(refusal) => {
                self.remove_row(row).await?;
                Err(refusal)
            }
        }
    }

    /// Carries out what servers have recorded and did not come to. Says how many.
    pub async fn keep_promises(&self) -> Result<usize, PlanError> {
        if !self.has_sign_in() {
            return Ok(0);
        }
        let keys = KeyCondition::partition(sidecar::PARTITION, PARTITION);
        let request = Query::new(self.blueprint.sidecar.clone(), keys);
        let rows = self.runner.query(&request).await?.items;
        let until = self.clock.now_millis() - LEFT_ALONE_MILLIS;
        let at = |row: &Item| row.get(AT)?.as_number()?.to_i64();
        let due = rows
            .iter()
            .filter(|row| at(row).is_none_or(|at| at <= until));
        let mut done = 0;
        for id in due.filter_map(|row| row.get(sidecar::SORT)?.as_str()) {
            match self.keep_promise(id).await {
                Ok(kept) => done += usize::from(kept.is_some()),
                Err(error) if is_passing(&error) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(done)
    }

    async fn fulfil(&self, promise: &Promise, row: DeleteItem) -> Result<Kept, PlanError> {
        match promise {
            Promise::SignUp(sign_up) => {
                let signed_up = self.sign_up_with(sign_up, Some(row.clone())).await?;
                if signed_up == SignedUp::Taken {
                    self.tell_owner(&sign_up.login, row).await?;
                }
                Ok(Kept::SignedUp(signed_up))
            }
            Promise::Reset { login, public_url } => {
                let account = self.account_with(login).await?;
                let account = account.filter(|account| account.is_active);
                let errands = match &account {
                    Some(one) => self.link_errands(LinkKind::Reset, one, &one.login, public_url)?,
                    None => self.link_to_nobody(LinkKind::Reset, public_url)?,
                };
                let user = account.map(|account| account.id);
                self.mail_of(user, errands, row).await
            }
            Promise::Change {
                asked,
                login,
                public_url,
            } => {
                let account = self.account(&asked.user).await?;
                let account = account.filter(|account| AskedBy::from(account) == *asked);
                let Some(account) = account else {
                    return self.mail_of(None, Vec::new(), row).await;
                };
                let errands = match self.account_with(login).await? {
                    Some(other) if other.id != account.id => vec![self.taken_errand(&other)?],
                    _ => self.link_errands(LinkKind::Change, &account, login, public_url)?,
                };
                self.mail_of(Some(account.id), errands, row).await
            }
        }
    }

    async fn mail_of(
        &self,
        user: Option<String>,
        mut errands: Vec<Errand<'_>>,
        row: DeleteItem,
    ) -> Result<Kept, PlanError> {
        let caller = user.as_deref().map_or_else(Caller::anonymous, Caller::user);
        errands.push(removal(row));
        self.run_errands(&caller, errands).await?;
        Ok(Kept::Mailed(user))
    }

    /// The end of the row, which must be there.
    fn row_of_promise(&self, id: &str) -> DeleteItem {
        DeleteItem {
            table: self.blueprint.sidecar.clone(),
            key: sidecar::key(PARTITION, id),
            condition: Some(sidecar::is_there()),
            return_item_on_failure: false,
        }
    }
}

pub(super) fn removal<'a>(row: DeleteItem) -> Errand<'a> {
    Errand::Aside(Box::new(TransactAction::Delete(row)))
}

fn recorded(row: &Item) -> Option<Promise> {
    let text = |name: &str| Some(row.get(name)?.as_str()?.to_owned());
    let (login, public_url) = (text(LOGIN)?, text(URL)?);
    Some(match (row.get(GIVEN), text(USER)) {
        (Some(Value::M(given)), _) => Promise::SignUp(SignUp {
            login,
            password: text(PASSWORD)?,
            given: given.clone(),
            public_url,
        }),
        (_, Some(user)) => Promise::Change {
            asked: AskedBy {
                user,
                bound: text(BOUND)?,
            },
            login,
            public_url,
        },
        (_, None) => Promise::Reset { login, public_url },
    })
}

/// Whether the same may go well later, or with the design that is served then.
fn is_passing(error: &PlanError) -> bool {
    let is_of_store = matches!(
        error,
        PlanError::Store(_) | PlanError::Hot(_) | PlanError::OutcomeUnknown
    );
    let is_of_design = matches!(error, PlanError::Superseded | PlanError::Migration(_));
    is_of_store || is_of_design || error.may_pass()
}
