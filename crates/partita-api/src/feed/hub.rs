//! The feeds of one design, and which changes concern which.
//!
//! One task follows the changes of the tables. It finds the feeds that a change concerns by what
//! they are interested in: keys, items that decide on their rows. What nobody is interested in
//! costs a look into a map. A hub without feeds reads nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use partita_plan::Partita;
use partita_plan::feed::{
    Changes, Feed, FeedEvent, FeedMoment, FeedPosition, Interest, Lost, Stepped, Tail, Touched,
};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::error;

use super::budget::{Budget, Charge};
use super::meters::FeedMeters;
use super::outlet::{Inlet, Outlet, outlet};
use super::text;
use crate::problem::Problem;

/// Requests that wait for a hub.
const MESSAGES_MAX: usize = 1024;
/// Steps that are kept for a feed which still looks at its rows, and their bytes. Feeds that wait at
/// the same time share their steps, so that this bounds what a hub keeps.
const HELD_MAX: usize = 256;
const HELD_BYTES_MAX: usize = 32 * 1_048_576;
/// How long the hub sleeps at most. The clock of items may be set while it does.
const EXPIRY_WAIT_MAX: Duration = Duration::from_secs(3600);

/// What is asked of a hub.
enum Message {
    Join(oneshot::Sender<Result<Joined, Problem>>),
    Live(u64, Box<Feed>, oneshot::Sender<()>),
    Leave(u64),
}

type Joined = (u64, FeedMoment, Inlet);

/// The way to a hub. It ends when the last way is gone, and with it the last feed.
#[derive(Clone)]
pub(super) struct HubHandle(mpsc::Sender<Message>);

impl HubHandle {
    pub(super) fn is_open(&self) -> bool {
        !self.0.is_closed()
    }

    /// Begins a feed at a moment: what happens after it is kept for the feed until it goes live.
    pub(super) async fn join(&self) -> Result<(Member, FeedMoment, Inlet), Problem> {
        let (answer, answered) = oneshot::channel();
        let asked = self.0.send(Message::Join(answer)).await;
        asked.map_err(|_| Problem::internal())?;
        let joined = answered.await.map_err(|_| Problem::internal())?;
        let (id, moment, mut inlet) = joined?;
        inlet.leaving(Leaving {
            id,
            hub: self.0.clone(),
        });
        let member = Member {
            id,
            hub: self.0.clone(),
        };
        Ok((member, moment, inlet))
    }
}

/// A feed that has begun.
pub(super) struct Member {
    id: u64,
    hub: mpsc::Sender<Message>,
}

impl Member {
    /// Hands the feed over, which has said everything up to the moment that it began at.
    pub(super) async fn go_live(self, feed: Feed) {
        let (done, is_done) = oneshot::channel();
        let live = Message::Live(self.id, Box::new(feed), done);
        if self.hub.send(live).await.is_ok() {
            let _ = is_done.await;
        }
    }
}

/// Tells the hub when the connection is closed.
pub(super) struct Leaving {
    id: u64,
    hub: mpsc::Sender<Message>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        // If there is no room, the hub finds out when it has something for the feed.
        let _ = self.hub.try_send(Message::Leave(self.id));
    }
}

/// The feeds of a design.
pub(super) struct Hub {
    partita: Arc<Partita>,
    tail: Tail,
    messages: mpsc::Receiver<Message>,
    members: HashMap<u64, Entry>,
    next_id: u64,
    interests: HashMap<Interest, Vec<u64>>,
    /// When something of a feed expires.
    expiring: BTreeSet<(i64, u64)>,
    position: watch::Sender<FeedPosition>,
    buffer_bytes: usize,
    budget: Arc<Budget>,
    meters: Arc<FeedMeters>,
}

struct Entry {
    outlet: Outlet,
    /// What is remembered for it.
    memory: Charge,
    state: State,
}

/// Steps that wait for a feed.
struct Held<T> {
    steps: Vec<T>,
    bytes: usize,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        let steps = Vec::new();
        Held { steps, bytes: 0 }
    }
}

impl<T> Held<T> {
    /// Keeps one more; false if that is too much.
    fn push(&mut self, step: T, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.steps.push(step);
        self.steps.len() <= HELD_MAX && self.bytes <= HELD_BYTES_MAX
    }
}

enum State {
    /// Its rows are still looked at; these steps are to be said then.
    Waiting(Held<Arc<Changes>>),
    Live {
        feed: Box<Feed>,
        interests: Vec<Interest>,
        expiry: Option<i64>,
        /// The id after the last event.
        last_id: Option<String>,
    },
}

impl Hub {
    /// Starts a hub. It ends when nobody can ask it any more.
    pub(super) async fn start(
        partita: Arc<Partita>,
        buffer_bytes: usize,
        budget: Arc<Budget>,
        meters: Arc<FeedMeters>,
    ) -> Result<HubHandle, Problem> {
        let mut tail = partita.tail().await?;
        let position = tail.now().await?.position(&partita);
        let (sender, messages) = mpsc::channel(MESSAGES_MAX);
        let hub = Hub {
            partita,
            tail,
            messages,
            members: HashMap::new(),
            next_id: 0,
            interests: HashMap::new(),
            expiring: BTreeSet::new(),
            position: watch::Sender::new(position),
            buffer_bytes,
            budget,
            meters,
        };
        tokio::spawn(hub.run());
        Ok(HubHandle(sender))
    }

    async fn run(mut self) {
        loop {
            let due = self.until_expiry();
            let has_members = !self.members.is_empty();
            let done = tokio::select! {
                message = self.messages.recv() => match message {
                    Some(message) => self.hear(message).await,
                    None => return,
                },
                more = self.tail.has_more(), if has_members => match more {
                    Ok(()) => self.step().await,
                    // The store is closed.
                    Err(_) => return,
                },
                () = tokio::time::sleep(due), if has_members => self.step().await,
            };
            if let Err(problem) = done {
                error!(
                    detail = problem.detail,
                    "feeds cannot go on, and begin again"
                );
                return self.lose_all("the server could not read what has changed");
            }
        }
    }

    async fn hear(&mut self, message: Message) -> Result<(), Problem> {
        match message {
            Message::Join(answer) => {
                let joined = self.join().await;
                let _ = answer.send(joined);
            }
            Message::Live(id, feed, done) => {
                self.go_live(id, feed).await;
                let _ = done.send(());
            }
            Message::Leave(id) => self.remove(id),
        }
        Ok(())
    }

    async fn join(&mut self) -> Result<Joined, Problem> {
        let moment = if self.members.is_empty() {
            let moment = self.tail.now().await?;
            self.position.send_replace(moment.position(&self.partita));
            moment
        } else {
            self.step_to().await?
        };
        self.next_id += 1;
        let waiting = self.budget.charge();
        let (outlet, inlet) = outlet(self.buffer_bytes, waiting, self.position.subscribe());
        let entry = Entry {
            outlet,
            memory: self.budget.charge(),
            state: State::Waiting(Held::default()),
        };
        self.members.insert(self.next_id, entry);
        Ok((self.next_id, moment, inlet))
    }

    async fn go_live(&mut self, id: u64, feed: Box<Feed>) {
        let Some(entry) = self.members.get_mut(&id) else {
            return;
        };
        let live = State::Live {
            feed,
            interests: Vec::new(),
            expiry: None,
            last_id: None,
        };
        let State::Waiting(held) = std::mem::replace(&mut entry.state, live) else {
            return;
        };
        for changes in held.steps {
            self.tell(id, &changes, None).await;
        }
        self.settle(id);
    }

    async fn step(&mut self) -> Result<(), Problem> {
        self.step_to().await.map(drop)
    }

    /// Comes to now, and tells everybody who is concerned.
    async fn step_to(&mut self) -> Result<FeedMoment, Problem> {
        let changes = match self.tail.step().await? {
            Stepped::Over(changes) => Arc::new(changes),
            Stepped::Past(moment) => {
                self.lose_all("too much has changed at once");
                self.position.send_replace(moment.position(&self.partita));
                return Ok(moment);
            }
        };
        let moment = changes.to.clone();
        let mut concerned: HashMap<u64, Vec<Touched>> = HashMap::new();
        changes.each(|interest, touched| {
            for id in self.interests.get(interest).into_iter().flatten() {
                let all = concerned.entry(*id).or_default();
                if all.last() != Some(touched) && !all.contains(touched) {
                    all.push(touched.clone());
                }
            }
        });
        let now = moment.millis();
        for (_, id) in self.expiring.range(..=(now, u64::MAX)) {
            concerned.entry(*id).or_default();
        }
        if !changes.is_empty() {
            self.hold(&changes);
        }
        for (id, touched) in concerned {
            self.tell(id, &changes, Some(&touched)).await;
            self.settle(id);
        }
        self.position.send_replace(moment.position(&self.partita));
        Ok(moment)
    }

    /// Keeps a step for the feeds that still look at their rows.
    fn hold(&mut self, changes: &Arc<Changes>) {
        let mut slow = Vec::new();
        for (id, entry) in &mut self.members {
            if let State::Waiting(held) = &mut entry.state
                && !held.push(changes.clone(), changes.bytes())
            {
                slow.push(*id);
            }
        }
        for id in slow {
            self.lose(id, "much has changed while the rows were read");
        }
    }

    /// Has a feed say what some changes mean to it: those that it was found to be interested in, or
    /// whichever of them concern it.
    async fn tell(&mut self, id: u64, changes: &Changes, touched: Option<&[Touched]>) {
        let Some(Entry { outlet, state, .. }) = self.members.get_mut(&id) else {
            return;
        };
        let State::Live { feed, last_id, .. } = state else {
            return;
        };
        if outlet.is_closed() {
            return self.remove(id);
        }
        let events = match touched {
            Some(touched) => feed.follow(changes, touched).await,
            None => feed.catch_up(changes).await,
        };
        let kept = match events {
            Ok(events) => {
                self.meters.count_events(events.len());
                put(&self.partita, outlet, feed, last_id, changes, &events)
            }
            Err(Lost::Refetch(why)) => {
                outlet.lose(why);
                false
            }
            Err(Lost::Failed(error)) => {
                error!(%error, "a feed cannot go on, and begins again");
                outlet.lose("the server could not decide what to say");
                false
            }
        };
        if !kept {
            self.remove(id);
        }
    }

    /// Notes what a feed has to be told from now on.
    fn settle(&mut self, id: u64) {
        let Some(Entry {
            state:
                State::Live {
                    feed,
                    interests,
                    expiry,
                    ..
                },
            memory,
            ..
        }) = self.members.get_mut(&id)
        else {
            return;
        };
        if !memory.set(feed.memory_bytes()) {
            return self.lose(id, "all feeds together take as much memory as they may");
        }
        for interest in feed.take_interests() {
            self.interests.entry(interest.clone()).or_default().push(id);
            interests.push(interest);
        }
        let next = feed.next_expiry_millis();
        if *expiry != next {
            if let Some(expiry) = expiry {
                self.expiring.remove(&(*expiry, id));
            }
            self.expiring.extend(next.map(|next| (next, id)));
            *expiry = next;
        }
    }

    fn lose(&mut self, id: u64, why: &'static str) {
        if let Some(entry) = self.members.get(&id) {
            entry.outlet.lose(why);
        }
        self.remove(id);
    }

    fn lose_all(&mut self, why: &'static str) {
        let ids: Vec<u64> = self.members.keys().copied().collect();
        for id in ids {
            self.lose(id, why);
        }
    }

    fn remove(&mut self, id: u64) {
        let Some(entry) = self.members.remove(&id) else {
            return;
        };
        let State::Live {
            interests, expiry, ..
        } = entry.state
        else {
            return;
        };
        for interest in interests {
            if let Some(ids) = self.interests.get_mut(&interest) {
                ids.retain(|one| *one != id);
                if ids.is_empty() {
                    self.interests.remove(&interest);
                }
            }
        }
        if let Some(expiry) = expiry {
            self.expiring.remove(&(expiry, id));
        }
    }

    /// How long nothing expires.
    fn until_expiry(&self) -> Duration {
        let Some((first, _)) = self.expiring.first() else {
            return EXPIRY_WAIT_MAX;
        };
        let left = first.saturating_sub(self.partita.now_millis());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        left.min(EXPIRY_WAIT_MAX)
    }
}

/// Puts events into an outlet; false if nobody takes them.
fn put(
    partita: &Partita,
    outlet: &Outlet,
    feed: &Feed,
    last_id: &mut Option<String>,
    changes: &Changes,
    events: &[FeedEvent],
) -> bool {
    if events.is_empty() {
        return true;
    }
    let id = feed.ids().id(&changes.to.position(partita));
    let mut said = Vec::new();
    text::push_events(&mut said, partita.design(), events, last_id.as_deref(), &id);
    *last_id = Some(id);
    outlet.put(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_for_a_feed_is_bounded_in_number_and_bytes() {
        let mut small = Held::default();
        assert!((0..HELD_MAX).all(|step| small.push(step, 1)));
        assert!(!small.push(HELD_MAX, 1));
        let mut large = Held::default();
        assert!(large.push(0, HELD_BYTES_MAX));
        assert!(!large.push(1, 1));
    }
}
