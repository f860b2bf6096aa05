//! People sign up.
//!
//! Where addresses are confirmed, nobody learns by an answer, or by its time, whether an address is
//! taken. So nothing that differs between the two is done before the answer: a sign-up is checked
//! against everything but who has the address, and promised. It is carried out behind the answer: a
//! free address gets the account and the link, the owner of a taken one is told by mail.

use partita_core::{Item, Map, Value};
use partita_design::design::Attribute;
use partita_design::nested;
use partita_store::StoreError;
use partita_store::error::CancellationReason;
use partita_store::request::DeleteItem;

use super::errand::Errand;
use super::promise::removal;
use super::session::Bond;
use super::{Account, Kept, LinkKind, NewSession, folded, identity_of, identity_value, is_given};
use crate::commit::Step;
use crate::commit::run::refused;
use crate::draft::Refusal;
use crate::error::{Fault, FaultRule, PlanError};
use crate::operation::Caller;
use crate::partita::Partita;
use crate::request::{Request, input};

/// What stands for the hash of a password while nothing is written.
const NO_HASH: &str = "-";

/// What somebody signs up with.
#[derive(Clone, PartialEq)]
pub struct SignUp {
    /// What they will sign in with.
    pub login: String,
    /// The hash of the password.
    pub password: String,
    /// What the owner gives beside login and password: what the rules let an owner write, and
    /// nothing of what `[accounts]` maps or `[caller]` reads.
    pub given: Map,
    /// What links begin with.
    pub public_url: String,
}

/// What came of a sign-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignedUp {
    /// There is a new account.
    Created {
        /// Its id.
        id: String,
        /// The session that was opened with it, where addresses are not confirmed.
        session: Option<NewSession>,
    },
    /// Another account has the login.
    Taken,
}

impl std::fmt::Debug for SignUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignUp").finish_non_exhaustive()
    }
}

impl Partita {
    /// Refuses what cannot be signed up with, everything at once, `faults` among it. Who has the
    /// login is not asked.
    pub async fn check_sign_up(
        &self,
        login: &str,
        given: &Map,
        mut faults: Vec<Fault>,
    ) -> Result<(), PlanError> {
        let kept = self.account_parts()?;
        let login_name = &self.user_attribute(kept.sign_in.login)?.name;
        if !faults.iter().any(|fault| fault.attribute == *login_name) {
            faults.extend(faults_of(self.check_login(login))?);
        }
        let is_login_good = !faults.iter().any(|fault| fault.attribute == *login_name);
        let (given, not_theirs) = self.split_given(kept, given)?;
        faults.extend(not_theirs);
        let login = is_login_good.then(|| folded(login));
        let is_good = faults.is_empty();
        let mut found = self.found_wrong(kept, login.as_deref(), &given).await?;
        let is_taken = !found.is_empty() && found.iter().all(is_unique);
        if is_good && is_taken && self.make_room(&given, &found).await? {
            found = self.found_wrong(kept, login.as_deref(), &given).await?;
        }
        faults.extend(found);
        input::refuse(faults)
    }

    /// What is wrong with a sign-up as the store is now, but with its login.
    async fn found_wrong(
        &self,
        kept: Kept<'_>,
        login: Option<&str>,
        given: &Map,
    ) -> Result<Vec<Fault>, PlanError> {
        let login_name = &self.user_attribute(kept.sign_in.login)?.name;
        let id = self.new_identity(kept.users);
        let create = self.create_errand(kept, &id, login, NO_HASH, given.clone())?;
        let caller = Caller::user(id.as_str());
        let mut faults = faults_of(self.rehearse(&caller, create, login_name).await)?;
        // Without a login, that it lacks is known already.
        faults
            .retain(|fault| !is_about(fault, login_name) || (login.is_some() && !is_unique(fault)));
        Ok(faults)
    }

    /// Whether the store would refuse an errand now, but for the owner of a value. Nothing is written,
    /// and that guard is not read.
    async fn rehearse(
        &self,
        caller: &Caller,
        errand: Errand<'_>,
        passing: &str,
    ) -> Result<(), PlanError> {
        let request = Request::Errands(vec![errand]);
        let plan = self.plan(caller, &request, Vec::new(), 0).await?;
        let is_asked = |step: &Step| {
            step.action.condition().is_some() && !is_refused_for(&step.refusal, passing)
        };
        let steps: Vec<Step> = plan.steps.into_iter().filter(is_asked).collect();
        let places = steps
            .iter()
            .map(|step| self.blueprint.place_of(&step.action));
        let found = self.runner.read_items(&places.collect::<Vec<_>>()).await?;
        let reasons = steps
            .iter()
            .zip(found)
            .map(|(step, item)| reason(step, item));
        let reasons = reasons.collect();
        refused(&steps, StoreError::TransactionCanceled { reasons }).map(drop)
    }

    /// Creates an account and whatever comes with it, at once.
    pub async fn sign_up(&self, sign_up: &SignUp) -> Result<SignedUp, PlanError> {
        self.sign_up_with(sign_up, None).await
    }

    pub(super) async fn sign_up_with(
        &self,
        sign_up: &SignUp,
        row: Option<DeleteItem>,
    ) -> Result<SignedUp, PlanError> {
        let kept = self.account_parts()?;
        self.check_login(&sign_up.login)?;
        let login_name = &self.user_attribute(kept.sign_in.login)?.name;
        let create = || self.create_account(kept, sign_up, row.clone());
        let mut created = create().await;
        if let Err(PlanError::Taken { faults } | PlanError::Invalid { faults }) = &created {
            let mut wanted = sign_up.given.clone();
            let login = folded(&sign_up.login);
            nested::set(&mut wanted, login_name, Value::from(login));
            if self.make_room(&wanted, faults).await? {
                created = create().await;
            }
        }
        match created {
            Ok((id, session)) => Ok(SignedUp::Created { id, session }),
            Err(error) => {
                // Whether the login is taken, too, is nobody's business. Nor is it where a guard of
                // several attributes has it: who holds that holds the login.
                let mut faults = faults_of(Err::<(), _>(error))?;
                faults.retain(|fault| !(is_about(fault, login_name) && is_unique(fault)));
                input::refuse(faults).map(|()| SignedUp::Taken)
            }
        }
    }

    /// Creates an account with a new id, and the link that confirms it where the design has such.
    /// Elsewhere its first session is opened in the same transaction, so that nobody who has an
    /// account is told that it is taken.
    async fn create_account(
        &self,
        kept: Kept<'_>,
        sign_up: &SignUp,
        row: Option<DeleteItem>,
    ) -> Result<(String, Option<NewSession>), PlanError> {
        let SignUp {
            password,
            given,
            public_url,
            ..
        } = sign_up;
        let login = folded(&sign_up.login);
        let id = self.new_identity(kept.users);
        let (given, not_theirs) = self.split_given(kept, given)?;
        input::refuse(not_theirs)?;
        let mut create = self.create_errand(kept, &id, Some(&login), password, given)?;
        let mut errands = Vec::new();
        let mut session = None;
        if kept.sign_in.verification.is_some() {
            let account = Account {
                id: id.clone(),
                login: login.clone(),
                password: Some(password.clone()),
                is_verified: false,
                is_active: true,
                signed_in_millis: None,
                subjects: Vec::new(),
            };
            errands.push(self.unconfirmed_errand(&id));
            errands.extend(self.link_errands(LinkKind::Verify, &account, &login, public_url)?);
        } else {
            let bond = Bond {
                password: Some(password),
                subject: None,
                generation: None,
            };
            let (opened, open) = self.opening(&id, bond)?;
            errands.push(open);
            session = Some(opened);
            if let Errand::Create { values, .. } = &mut create {
                values.extend(self.signed_in_now()?.filter(|(one, _)| is_given(one)));
            }
        }
        errands.insert(0, create);
        errands.extend(row.map(removal));
        let caller = Caller::user(id.as_str());
        self.run_errands(&caller, errands).await?;
        Ok((id, session))
    }

    /// The item of a new account.
    fn create_errand(
        &self,
        kept: Kept<'_>,
        id: &str,
        login: Option<&str>,
        password: &str,
        given: Map,
    ) -> Result<Errand<'_>, PlanError> {
        let (_, users) = self.people()?;
        let mut values = vec![(
            self.user_attribute(kept.sign_in.password)?,
            Value::from(password),
        )];
        if let Some(login) = login {
            values.push((self.user_attribute(kept.sign_in.login)?, Value::from(login)));
        }
        values.extend(self.new_values()?);
        // Whatever the attribute begins with for others, whoever signs up has confirmed nothing.
        if let Some(verified) = kept.accounts.verified {
            values.push((self.user_attribute(verified)?, Value::Bool(false)));
        }
        values.extend(identity_value(users, id));
        Ok(Errand::Create {
            entity: users,
            given,
            values,
        })
    }

    /// What an owner gives, and the faults of what an owner does not give: what `[accounts]` maps or
    /// sets, what `[caller]` reads, and the identity.
    fn split_given(&self, kept: Kept<'_>, given: &Map) -> Result<(Map, Vec<Fault>), PlanError> {
        let design = &self.blueprint.design;
        let sources = design.callers.attributes(kept.users);
        let mapped = kept.accounts.mapped();
        let mapped = mapped.map(|id| &design[(kept.accounts.entity, id)]);
        let set = self.new_values()?;
        let set = set.iter().map(|(attribute, _)| *attribute);
        let names = sources.chain(mapped).chain(set);
        let names = names.map(|attribute: &Attribute| attribute.name.as_str());
        let identity = kept.users.identity.iter();
        let identity = identity.map(|part| part.attribute.as_str());
        let refused: Vec<&str> = names.chain(identity).collect();
        let mut theirs = given.clone();
        let mut faults = Vec::new();
        let mut refuse = |name: &str| {
            let message = "belongs to the account and cannot be given";
            let (users, rule) = (&kept.users.name, FaultRule::NotGiven);
            faults.push(Fault::of(users, name, rule, message));
        };
        for name in given.keys() {
            let attribute = kept.users.attribute(name);
            if attribute.is_some_and(|one| refused.contains(&one.name.as_str())) {
                refuse(name.as_str());
                theirs.remove(name.as_str());
            }
        }
        // Those inside maps may be given inside of a map, too.
        for name in refused {
            if nested::get(&theirs, name).is_some() {
                refuse(name);
                nested::remove(&mut theirs, name);
            }
        }
        Ok((theirs, faults))
    }

    /// Tells the owner of a login that somebody signed up with it. One who is deleted is told nothing.
    pub(super) async fn tell_owner(&self, login: &str, row: DeleteItem) -> Result<(), PlanError> {
        let account = self.account_with(login).await?;
        let told = account.map(|account| self.taken_errand(&account));
        let errands = told.transpose()?.into_iter().chain([removal(row)]);
        self.run_errands(&Caller::anonymous(), errands.collect())
            .await
    }

    /// Tells the owner of a login that somebody else wants it.
    pub(super) fn taken_errand(&self, account: &Account) -> Result<Errand<'_>, PlanError> {
        let kept = self.account_parts()?;
        let text = &kept.sign_in.mails.taken;
        Ok(Errand::Mail {
            entity: kept.users,
            identity: identity_of(kept.users, &account.id),
            mail: self.mail(text, &account.login, &account.login, ""),
        })
    }
}

/// What the store would say to a step whose item is this.
fn reason(step: &Step, item: Option<Item>) -> CancellationReason {
    let nothing = Item::new();
    let holds =
        |one: &partita_core::expression::Condition| one.holds(item.as_ref().unwrap_or(&nothing));
    match step.action.condition().is_none_or(holds) {
        true => CancellationReason::None,
        false => CancellationReason::ConditionalCheckFailed { item },
    }
}

/// Whether a step is refused because another item has a value.
fn is_refused_for(refusal: &Refusal, name: &str) -> bool {
    let Refusal::Final(refusal) = refusal else {
        return false;
    };
    let mut faults = refusal.faults().into_iter().flatten();
    faults.any(|fault| is_unique(fault) && is_about(fault, name))
}

/// Whether a fault is about an attribute, alone or with others.
fn is_about(fault: &Fault, name: &str) -> bool {
    fault.attribute.split('/').any(|one| one == name)
}

fn is_unique(fault: &Fault) -> bool {
    fault.rule == FaultRule::Unique
}

/// The faults that something is refused for; other errors stay errors.
fn faults_of<T>(outcome: Result<T, PlanError>) -> Result<Vec<Fault>, PlanError> {
    match outcome {
        Ok(_) => Ok(Vec::new()),
        Err(PlanError::Taken { faults } | PlanError::Invalid { faults }) => Ok(faults),
        Err(error) => Err(error),
    }
}
