//! Sessions: a credential `id.secret`, looked up at every request.

use partita_core::{Item, Map, Value};
use partita_design::design::{AccountSession, Attribute, AttributeId, Record};
use partita_design::nested;
use partita_store::request::Query;

use super::errand::{Errand, Values};
use super::{Account, Kept, identity_of, identity_value, secret};
use crate::error::PlanError;
use crate::evaluate::{Known, Listing};
use crate::job::Referrers;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::react::referring::places;

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
        let kept = self.account_parts()?;
        let identity = identity_of(kept.users, &account.id);
        let mut expect = self.expectation(account)?;
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
        let password = rehashed.or(account.password.as_deref());
        let (session, open) = self.opening(&account.id, password)?;
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

    /// A new session of a user with a password, and the errand that opens it.
    pub(super) fn opening(
        &self,
        user: &str,
        password: Option<&str>,
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
        let stored = self.stored_session(&digest, &id, password);
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
        let Some(account) = self.account(&session.user).await? else {
            return Ok(None);
        };
        let now = self.clock.now_millis();
        let is_good = is_same(&session.digest, &digest)
            && self.is_bound(&part, &item, &session, &account)
            && account.is_active
            && now < session.expires_millis;
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
        let mut unread = self.unread_sessions(account)?;
        let mut found: Vec<Session> = Vec::new();
        while found.len() < LISTED_MAX
            && let Some(items) = self.next_sessions(&mut unread).await?
        {
            for item in &items {
                let session = self.session_of(&part, item);
                found.extend(session.filter(|one| self.is_bound(&part, item, one, account)));
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

    /// Ends all sessions of an account but one. Each page of the index is read once, so that one that
    /// is behind, and shows sessions that are ended already, holds nothing up.
    pub async fn end_other_sessions(
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

    /// Binds a session to the password that its account is to have.
    pub(super) fn rebinding(
        &self,
        session: &Session,
        password: &str,
    ) -> Result<Errand<'_>, PlanError> {
        let part = self.session_part()?;
        let secret = &self.blueprint.design[(part.record.id, part.session.secret)];
        let bound = self.stored_session(&session.digest, &session.id, Some(password));
        Ok(Errand::Change {
            entity: part.record,
            identity: identity_of(part.record, &session.id),
            set: vec![(secret, Some(Value::from(bound)))],
            expect: Vec::new(),
        })
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
        })
    }

    /// What is stored of a session's secret: its digest, and which password it is bound to.
    fn stored_session(&self, digest: &str, id: &str, password: Option<&str>) -> String {
        let password = secret::mark(password);
        let bound = secret::bound_in("session", &[id, &password], self.era.as_deref());
        format!("{digest}.{bound}")
    }

    /// Whether a session belongs to the password that the account has now.
    fn is_bound(&self, part: &Part<'_>, item: &Map, session: &Session, account: &Account) -> bool {
        let secret = &self.blueprint.design[(part.record.id, part.session.secret)];
        let found = nested::get(item, &secret.name).and_then(Value::as_str);
        let password = account.password.as_deref();
        let expected = self.stored_session(&session.digest, &session.id, password);
        found.is_some_and(|found| is_same(found, &expected))
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

fn millis(seconds: u64) -> i64 {
    i64::try_from(seconds)
        .unwrap_or(i64::MAX / 1000)
        .saturating_mul(1000)
}
