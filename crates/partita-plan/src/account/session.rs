//! Sessions: a credential `id.secret`, looked up at every request.
//!
//! All sessions of an account but one are ended at once by a row of the sidecar, which names the
//! generation that a session must be of. Their items are removed afterwards: the index that lists
//! them may not show the latest yet.

use partita_core::expression::{Condition, Path};
use partita_core::{Item, Map, Number, Value};
use partita_design::design::{AccountSession, Attribute, AttributeId, Record};
use partita_design::nested;
use partita_store::request::{PutItem, Query, TransactAction};

use super::errand::{Errand, Values};
use super::{Account, Kept, identity_of, identity_value, secret};
use crate::error::PlanError;
use crate::evaluate::{Known, Listing};
use crate::job::Referrers;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::place::Address;
use crate::react::referring::places;
use crate::sidecar;

/// The end of a session moves when it would move by so much.
const SLIDE_MILLIS: i64 = 60_000;

/// Sessions of an account that are ended in one transaction.
const ENDED_AT_ONCE: usize = 40;
/// Sessions of an account that one request ends at most.
const ENDED_MAX: usize = 4_000;
/// Sessions of an account that are listed at most.
const LISTED_MAX: usize = 1_000;
/// Sessions that are read at once.
const PAGE: usize = 100;

/// The sort key of the row that names the generation of an account's sessions.
const GENERATION_SORT: &str = "GENERATION";
/// Its attribute.
const GENERATION: &str = "generation";
/// How much longer that row is kept than any session that it ends: clocks differ.
const KEPT_LONGER_MILLIS: i64 = 3_600_000;

/// A session that was found by its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id, which is shown.
    pub id: String,
    /// The user.
    pub user: String,
    /// When it was opened.
    pub created_millis: i64,
    /// When it ends.
    pub expires_millis: i64,
    /// The digest of its secret.
    digest: String,
    /// The provider that it was opened by.
    provider: Option<String>,
    /// What is stored of its secret.
    stored: String,
}

/// A session that was opened.
#[derive(Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: String,
    /// What its holder shows: the id and the secret.
    pub credential: String,
    /// When it ends.
    pub expires_millis: i64,
}

impl std::fmt::Debug for NewSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewSession")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// How many sessions were ended, and whether there are more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedSessions {
    /// How many.
    pub count: usize,
    /// Whether there are more than one request ends.
    pub has_more: bool,
}

/// What a session is bound to: it is void as soon as the account has another.
#[derive(Clone, Copy)]
pub(super) struct Bond<'a> {
    /// The hash of the password.
    pub(super) password: Option<&'a str>,
    /// The provider that opened it, and the id there.
    pub(super) subject: Option<(&'a str, &'a str)>,
    /// The generation that the account's sessions are of.
    pub(super) generation: Option<&'a str>,
}

impl Session {
    /// The provider that opened it, and the id that an account has there.
    pub(super) fn subject_in<'a>(&self, account: &'a Account) -> Option<(&'a str, &'a str)> {
        account.subject(self.provider.as_deref())
    }
}

/// What is still to be read of the sessions of an account.
struct Unread {
    listings: Vec<Listing>,
    /// Where the last page of the last listing ended.
    start_after: Option<Item>,
}

/// What a design keeps sessions in.
struct Part<'a> {
    session: &'a AccountSession,
    record: &'a Record,
}

impl Partita {
    fn session_part(&self) -> Result<Part<'_>, PlanError> {
        let Kept { sign_in, .. } = self.account_parts()?;
        Ok(Part {
            session: &sign_in.session,
            record: &self.blueprint.design[sign_in.session.entity],
        })
    }

    /// Opens a session for an account, if it is active and still what it was when that was decided. Where the
    /// password was hashed anew, the new hash is stored too.
    pub async fn sign_in(
        &self,
        account: &Account,
        rehashed: Option<&str>,
    ) -> Result<NewSession, PlanError> {
        self.open_session(account, rehashed, None).await
    }

    /// The same for somebody whom a provider has signed in, if the account still has the id there.
    pub async fn sign_in_by(
        &self,
        account: &Account,
        provider: &str,
    ) -> Result<NewSession, PlanError> {
        self.open_session(account, None, Some(provider)).await
    }

    async fn open_session(
        &self,
        account: &Account,
        rehashed: Option<&str>,
        provider: Option<&str>,
    ) -> Result<NewSession, PlanError> {
        let kept = self.account_parts()?;
        let identity = identity_of(kept.users, &account.id);
        let mut expect = self.expectation(account)?;
        let subject = account.subject(provider);
        if let Some((provider, subject)) = subject {
            let attribute = self.subject_attribute(provider)?;
            expect.push((attribute, Some(Value::from(subject))));
        }
        // Somebody may have closed the account while the password was hashed.
        let item = self.stored_item(kept.users, &identity).await?;
        let now = item.as_ref().and_then(|item| self.account_of(item));
        if now.is_none_or(|account| !account.is_active) {
            return Err(PlanError::Outdated);
        }
        if let (Some(active), Some(item)) = (&kept.accounts.active, &item) {
            let active = self.user_attribute(active.attribute)?;
            // A flag that is missing reads as its default.
            expect.push((active, nested::get(item, &active.name).cloned()));
        }
        let generation = self.generation(&account.id).await?;
        let bond = Bond {
            password: rehashed.or(account.password.as_deref()),
            subject,
            generation: generation.as_deref(),
        };
        let (session, open) = self.opening(&account.id, bond)?;
        let signed_in = self.signed_in_now()?;
        let mut set: Values<'_> = signed_in
            .into_iter()
            .map(|(attribute, at)| (attribute, Some(at)))
            .collect();
        if let Some(hash) = rehashed {
            set.push((
                self.user_attribute(kept.sign_in.password)?,
                Some(Value::from(hash)),
            ));
        }
        let change = Errand::Change {
            entity: kept.users,
            identity,
            set,
            expect,
        };
        self.run_errands(&Caller::user(account.id.as_str()), vec![open, change])
            .await?;
        Ok(session)
    }

    /// A new session of a user, and the errand that opens it.
    pub(super) fn opening(
        &self,
        user: &str,
        bond: Bond<'_>,
    ) -> Result<(NewSession, Errand<'_>), PlanError> {
        let part = self.session_part()?;
        let id = self.new_identity(part.record);
        let secret = secret::new(&*self.runner.entropy);
        let digest = secret::digest(&secret).unwrap_or_default();
        let lifetime = part.session.lifetime_seconds;
        let lifetime = lifetime.min(part.session.longest_seconds);
        let expires_millis = self.clock.now_millis() + millis(lifetime);
        let attribute = |id: AttributeId| &self.blueprint.design[(part.record.id, id)];
        let expires = attribute(part.session.expires);
        let stored = self.stored_session(&digest, &id, bond);
        let mut values = vec![
            (attribute(part.session.user), Value::from(user)),
            (attribute(part.session.secret), Value::from(stored)),
            (expires, Partita::time_as(expires, expires_millis)),
        ];
        values.extend(identity_value(part.record, &id));
        let open = Errand::Create {
            entity: part.record,
            given: Map::new(),
            values,
        };
        let session = NewSession {
            credential: format!("{id}.{secret}"),
            id,
            expires_millis,
        };
        Ok((session, open))
    }

    /// That somebody signs in now, where the design keeps the time.
    pub(super) fn signed_in_now(&self) -> Result<Option<(&Attribute, Value)>, PlanError> {
        let (accounts, _) = self.people()?;
        let Some(signed_in) = accounts.signed_in else {
            return Ok(None);
        };
        let signed_in = self.user_attribute(signed_in)?;
        let now = Partita::time_as(signed_in, self.clock.now_millis());
        Ok(Some((signed_in, now)))
    }

    /// The session of a credential and its account, while both may be used. Its end moves, at most
    /// once a minute.
    pub async fn session(&self, credential: &str) -> Result<Option<(Session, Account)>, PlanError> {
        let Some((id, secret)) = credential.split_once('.') else {
            return Ok(None);
        };
        let Some(digest) = secret::digest(secret) else {
            return Ok(None);
        };
        let part = self.session_part()?;
        let Some(item) = self
            .stored_item(part.record, &identity_of(part.record, id))
            .await?
        else {
            return Ok(None);
        };
        let Some(session) = self.session_of(&part, &item) else {
            return Ok(None);
        };
        let Some((account, generation)) = self.account_and_generation(&session.user).await? else {
            return Ok(None);
        };
        let owner = (&account, generation.as_deref());
        let Some(session) = self.bound(&part, &item, session, owner) else {
            return Ok(None);
        };
        let now = self.clock.now_millis();
        let is_good =
            is_same(&session.digest, &digest) && account.is_active && now < session.expires_millis;
        if !is_good {
            return Ok(None);
        }
        let session = self.prolong(&part, session, now).await;
        Ok(Some((session, account)))
    }

    /// The sessions of an account that can be used, the latest first. Of very many the latest are
    /// shown, in the order of the index that lists them.
    pub async fn sessions_of(&self, account: &Account) -> Result<Vec<Session>, PlanError> {
        let part = self.session_part()?;
        let generation = self.generation(&account.id).await?;
        let owner = (account, generation.as_deref());
        let mut unread = self.unread_sessions(account)?;
        let mut found: Vec<Session> = Vec::new();
        while found.len() < LISTED_MAX
            && let Some(items) = self.next_sessions(&mut unread).await?
        {
            for item in &items {
                let session = self.session_of(&part, item);
                found.extend(session.and_then(|one| self.bound(&part, item, one, owner)));
            }
        }
        found.sort_by_key(|session| std::cmp::Reverse(session.created_millis));
        found.truncate(LISTED_MAX);
        Ok(found)
    }

    /// Ends a session of an account. Says whether there was one.
    pub async fn end_session(&self, account: &Account, id: &str) -> Result<bool, PlanError> {
        let part = self.session_part()?;
        let identity = identity_of(part.record, id);
        let item = self.stored_item(part.record, &identity).await?;
        let session = item.and_then(|item| self.session_of(&part, &item));
        if session.is_none_or(|session| session.user != account.id) {
            return Ok(false);
        }
        let errand = Errand::Delete {
            entity: part.record,
            identity,
            is_used: false,
        };
        let caller = Caller::user(account.id.as_str());
        self.run_errands(&caller, vec![errand]).await?;
        Ok(true)
    }

    /// Ends all sessions of an account but one: they are void from one moment on, and then their items
    /// are removed.
    pub async fn end_other_sessions(
        &self,
        account: &Account,
        keeping: Option<&Session>,
    ) -> Result<EndedSessions, PlanError> {
        let caller = Caller::user(account.id.as_str());
        let errands = self.voiding_others(account, keeping).await?;
        self.run_errands(&caller, errands).await?;
        self.remove_other_sessions(account, keeping).await
    }

    /// Has all sessions of an account but one be void, also such as an index does not show yet.
    ///
    /// INVARIANT: a generation follows the one that was read, and who keeps a session has one that is
    /// good: a transaction that comes late ends nothing that was opened meanwhile, and of two who end
    /// each other one is ended.
    pub(super) async fn voiding_others(
        &self,
        account: &Account,
        keeping: Option<&Session>,
    ) -> Result<Vec<Errand<'_>>, PlanError> {
        let part = self.session_part()?;
        let before = self.generation(&account.id).await?;
        let generation = secret::new(&*self.runner.entropy);
        let mut item = sidecar::key(&partition(&account.id), GENERATION_SORT);
        item.insert(GENERATION, Value::from(generation.as_str()));
        // INVARIANT: the row is there until the last session of an earlier generation has expired.
        let longest = millis(part.session.longest_seconds).saturating_add(KEPT_LONGER_MILLIS);
        let expires = self.clock.now_millis().saturating_add(longest) / 1000;
        item.insert(sidecar::EXPIRES, Value::N(Number::from(expires)));
        let put = PutItem {
            condition: Some(match before {
                Some(before) => Condition::equals(Path::attribute(GENERATION), before),
                None => sidecar::is_missing(),
            }),
            ..PutItem::new(self.blueprint.sidecar.clone(), item)
        };
        let mut errands = vec![Errand::Aside(Box::new(TransactAction::Put(put)))];
        if let Some(session) = keeping {
            let bond = Bond {
                password: account.password.as_deref(),
                subject: session.subject_in(account),
                generation: Some(&generation),
            };
            let mut kept = self.binding_anew(session, bond)?;
            if let Errand::Change { expect, .. } = &mut kept {
                let secret = &self.blueprint.design[(part.record.id, part.session.secret)];
                expect.push((secret, Some(Value::from(session.stored.as_str()))));
            }
            errands.push(kept);
        }
        Ok(errands)
    }

    /// Removes the items of the sessions of an account but one. Each page of the index is read once,
    /// so that one that is behind, and shows sessions that are gone already, holds nothing up.
    pub async fn remove_other_sessions(
        &self,
        account: &Account,
        keeping: Option<&Session>,
    ) -> Result<EndedSessions, PlanError> {
        let caller = Caller::user(account.id.as_str());
        let mut unread = self.unread_sessions(account)?;
        let mut ended = EndedSessions::default();
        while let Some(items) = self.next_sessions(&mut unread).await? {
            let errands = self.ends_of(&items, keeping)?;
            if ended.count + errands.len() > ENDED_MAX {
                ended.has_more = true;
                break;
            }
            for errands in errands.chunks(ENDED_AT_ONCE) {
                self.run_errands(&caller, errands.to_vec()).await?;
                ended.count += errands.len();
            }
        }
        Ok(ended)
    }

    /// The ends of the sessions of an account but one, as many as one transaction ends.
    pub(super) async fn ends_of_sessions(
        &self,
        account: &Account,
        keeping: Option<&Session>,
    ) -> Result<Vec<Errand<'_>>, PlanError> {
        let mut unread = self.unread_sessions(account)?;
        let items = self.next_sessions(&mut unread).await?.unwrap_or_default();
        let mut ends = self.ends_of(&items, keeping)?;
        ends.truncate(ENDED_AT_ONCE);
        Ok(ends)
    }

    fn ends_of(
        &self,
        items: &[Map],
        keeping: Option<&Session>,
    ) -> Result<Vec<Errand<'_>>, PlanError> {
        let part = self.session_part()?;
        let sessions = items.iter().filter_map(|item| self.session_of(&part, item));
        let others = sessions.filter(|one| keeping.is_none_or(|keeping| keeping.id != one.id));
        let ends = others.map(|session| Errand::Delete {
            entity: part.record,
            identity: identity_of(part.record, &session.id),
            is_used: false,
        });
        Ok(ends.collect())
    }

    /// Binds a session to what its account is to have.
    pub(super) fn binding_anew(
        &self,
        session: &Session,
        bond: Bond<'_>,
    ) -> Result<Errand<'_>, PlanError> {
        let part = self.session_part()?;
        let secret = &self.blueprint.design[(part.record.id, part.session.secret)];
        let bound = self.stored_session(&session.digest, &session.id, bond);
        Ok(Errand::Change {
            entity: part.record,
            identity: identity_of(part.record, &session.id),
            set: vec![(secret, Some(Value::from(bound)))],
            expect: Vec::new(),
        })
    }

    /// The generation that sessions of a user must be of, if it is known.
    pub(super) async fn generation(&self, user: &str) -> Result<Option<String>, PlanError> {
        let row = self.found(&self.generation_row(user)).await?;
        Ok(generation_in(row.as_ref()))
    }

    fn generation_row(&self, user: &str) -> Address {
        sidecar::address(&self.blueprint.sidecar, &partition(user), GENERATION_SORT)
    }

    /// The account of a user, and the generation that its sessions must be of, read at once.
    async fn account_and_generation(
        &self,
        user: &str,
    ) -> Result<Option<(Account, Option<String>)>, PlanError> {
        let (_, users) = self.people()?;
        // What cannot be a part of a key is nobody's.
        let Ok(address) = self.blueprint.address(users, &identity_of(users, user)) else {
            return Ok(None);
        };
        let addresses = [address, self.generation_row(user)];
        let [Some(item), row] = &self.found_all(&addresses).await?[..] else {
            return Ok(None);
        };
        let account = self.account_of(&self.blueprint.attributes(users, item)?);
        Ok(account.map(|account| (account, generation_in(row.as_ref()))))
    }

    /// The sessions of an account, of which none is read.
    fn unread_sessions(&self, account: &Account) -> Result<Unread, PlanError> {
        let kept = self.account_parts()?;
        let part = self.session_part()?;
        let design = &self.blueprint.design;
        let reference = kept.accounts.session_ref(design);
        let id = reference.and_then(|(one, _)| part.record.referrer(&one.name, 0));
        let listings = match id {
            Some(id) => {
                let user = identity_of(kept.users, &account.id);
                Referrers::of(design, kept.users, id).listings(&self.blueprint, &user)?
            }
            None => Vec::new(),
        };
        Ok(Unread {
            listings,
            start_after: None,
        })
    }

    /// The items of the next sessions of an account, the last ones of the index first.
    async fn next_sessions(&self, unread: &mut Unread) -> Result<Option<Vec<Map>>, PlanError> {
        let kept = self.account_parts()?;
        let part = self.session_part()?;
        let reference = kept.accounts.session_ref(&self.blueprint.design);
        let finder = reference.and_then(|(_, target)| target.finder.as_ref());
        let (Some(finder), Some(listing)) = (finder, unread.listings.last()) else {
            return Ok(None);
        };
        let query = Query {
            limit: Some(PAGE),
            start_after: unread.start_after.take(),
            ..listing.query(true)
        };
        let page = self.runner.query(&query).await?;
        unread.start_after = page.last_key;
        if unread.start_after.is_none() {
            unread.listings.pop();
        }
        let places = places(&self.blueprint, finder, &page.items);
        let moment = self.moment();
        let mut reads = self.reads(&moment);
        let nobody = Caller::anonymous();
        let found = self.runner.settle(&mut reads, |reads| {
            let context = self.context(&nobody, reads, &moment);
            let mut items = Vec::new();
            for place in &places {
                if let Known::Found(item) = context.item(place) {
                    items.push(self.blueprint.attributes(part.record, item)?);
                }
            }
            Ok(items)
        });
        found.await.map(Some)
    }

    fn session_of(&self, part: &Part<'_>, item: &Map) -> Option<Session> {
        let attribute = |id: AttributeId| &self.blueprint.design[(part.record.id, id)];
        let text = |name: &str| match nested::get(item, name)? {
            Value::S(text) => Some(text.clone()),
            _ => None,
        };
        let time = |id: AttributeId| {
            let attribute = attribute(id);
            attribute
                .kind
                .time_form()?
                .read(nested::get(item, &attribute.name)?)
        };
        let hashed = text(&attribute(part.session.secret).name)?;
        let (digest, _) = hashed.split_once('.')?;
        Some(Session {
            id: text(&part.record.identity.first()?.attribute)?,
            user: text(&attribute(part.session.user).name)?,
            created_millis: time(part.session.created)?,
            expires_millis: time(part.session.expires)?,
            digest: digest.to_owned(),
            provider: None,
            stored: hashed.clone(),
        })
    }

    /// What is stored of a session's secret: its digest, what it is bound to, and its generation, if
    /// it has one.
    fn stored_session(&self, digest: &str, id: &str, bond: Bond<'_>) -> String {
        let password = secret::mark(bond.password);
        let mut texts = vec![id, &password];
        texts.extend(
            bond.subject
                .into_iter()
                .flat_map(|(provider, id)| [provider, id]),
        );
        let bound = secret::bound_in("session", &texts, self.era.as_deref());
        match bond.generation {
            Some(generation) => format!("{digest}.{bound}.{generation}"),
            None => format!("{digest}.{bound}"),
        }
    }

    /// The session, if it belongs to the password and the generation that the account has now and,
    /// where a provider opened it, to the id that the account has there. Where the account has no
    /// generation, whatever an earlier one ended has expired.
    fn bound(
        &self,
        part: &Part<'_>,
        item: &Map,
        session: Session,
        (account, generation): (&Account, Option<&str>),
    ) -> Option<Session> {
        let secret = &self.blueprint.design[(part.record.id, part.session.secret)];
        let found = nested::get(item, &secret.name).and_then(Value::as_str)?;
        let own = found.splitn(3, '.').nth(2);
        if generation.is_some() && own != generation {
            return None;
        }
        let subjects = account.subjects.iter();
        let subjects = subjects.map(|(provider, id)| Some((provider.as_str(), id.as_str())));
        let mut subjects = std::iter::once(None).chain(subjects);
        let subject = subjects.find(|subject| {
            let bond = Bond {
                password: account.password.as_deref(),
                subject: *subject,
                generation: own,
            };
            is_same(
                found,
                &self.stored_session(&session.digest, &session.id, bond),
            )
        })?;
        Some(Session {
            provider: subject.map(|(provider, _)| provider.to_owned()),
            ..session
        })
    }

    /// Moves the end of a session that is used.
    async fn prolong(&self, part: &Part<'_>, session: Session, now: i64) -> Session {
        let last = session.created_millis + millis(part.session.longest_seconds);
        let expires_millis = (now + millis(part.session.lifetime_seconds)).min(last);
        if expires_millis - session.expires_millis < SLIDE_MILLIS {
            return session;
        }
        let attribute = |id: AttributeId| &self.blueprint.design[(part.record.id, id)];
        let expires = attribute(part.session.expires);
        let mut set = vec![(expires, Some(Partita::time_as(expires, expires_millis)))];
        if let Some(used) = part.session.used {
            set.push((
                attribute(used),
                Some(Partita::time_as(attribute(used), now)),
            ));
        }
        let errand = Errand::Change {
            entity: part.record,
            identity: identity_of(part.record, &session.id),
            set,
            expect: Vec::new(),
        };
        // A session that could not be prolonged is good until its end, and the next request tries
        // again.
        let caller = Caller::user(session.user.as_str());
        match self.run_errands(&caller, vec![errand]).await {
            Ok(()) => Session {
                expires_millis,
                ..session
            },
            Err(_) => session,
        }
    }
}

/// Compares digests of secrets. Where they begin to differ tells nothing of the secrets.
fn is_same(one: &str, other: &str) -> bool {
    one == other
}

fn generation_in(row: Option<&Item>) -> Option<String> {
    Some(row?.get(GENERATION)?.as_str()?.to_owned())
}

fn partition(user: &str) -> String {
    format!("SESSIONS#{}", secret::bound("sessions", &[user]))
}

fn millis(seconds: u64) -> i64 {
    i64::try_from(seconds)
        .unwrap_or(i64::MAX / 1000)
        .saturating_mul(1000)
}
