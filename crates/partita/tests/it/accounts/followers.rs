//! Feeds of people who sign in: they end with the session or the token.

use std::sync::Arc;
use std::time::Duration;

use partita_api::Limits;
use partita_api::feed::FeedLimits;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{Circle, DAY, answer};
use crate::feeds::wire::Events;
use crate::stage;

/// A note of ann's that is followed.
struct Followed {
    circle: Circle,
    email: String,
    user: String,
    path: String,
    /// A session of hers.
    session: String,
    _folder: tempfile::TempDir,
}

impl Followed {
    async fn open(alive_every: Duration) -> Followed {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(stage::engine(folder.path()));
        let limits = FeedLimits {
            alive_every,
            ..FeedLimits::default()
        };
        let circle = Circle::open_with(store, "circle", limits, Limits::default()).await;
        let email = circle.member("ann").await;
        let session = circle.signed_in(&email).await;
        let (_, me) = circle.get("auth/me", &session).await;
        let user = me["user"]["userId"].as_str().unwrap().to_owned();
        let note = json!({"userId": user, "text": "first"});
        let (status, note) = circle.post("Note", Some(&session), note).await;
        assert_eq!(status, StatusCode::CREATED, "{note}");
        Followed {
            path: format!("Note/{user}/{}", note["noteId"].as_str().unwrap()),
            circle,
            email,
            user,
            session,
            _folder: folder,
        }
    }

    async fn follow(&self, token: &str) -> Events {
        let request = self.circle.request(Method::GET, &self.path, Some(token));
        let mut feed = Events::open(request).await.unwrap();
        assert_eq!(feed.rows().await.0.len(), 1);
        feed
    }

    async fn write(&self, token: &str, text: &str) {
        let change = self.circle.request(Method::PATCH, &self.path, Some(token));
        let change = change.json(&json!({ "text": text })).send().await.unwrap();
        assert_eq!(answer(change).await.0, StatusCode::OK);
    }
}

const NEVER: Duration = Duration::from_secs(3600);
const OFTEN: Duration = Duration::from_millis(20);

#[tokio::test]
async fn a_feed_ends_with_its_session() {
    let note = Followed::open(NEVER).await;
    let other = note.circle.signed_in(&note.email).await;
    let (mut ended, mut going) = (note.follow(&note.session).await, note.follow(&other).await);
    let signed_out = note
        .circle
        .post("auth/sign-out", Some(&note.session), json!({}));
    assert_eq!(signed_out.await.0, StatusCode::NO_CONTENT);
    note.write(&other, "second").await;
    // What has happened since is told to the session that goes on.
    assert_eq!(going.next().await.unwrap().data["text"], "second");
    assert_eq!(ended.next().await, None);
}

#[tokio::test]
async fn a_feed_ends_when_its_token_expires() {
    let note = Followed::open(NEVER).await;
    let token = |seconds| {
        let tokens = &note.circle.tokens;
        tokens.make("circle", &note.user, None, &[], seconds)
    };
    let (long, short) = (token(7200), token(60));
    let (mut going, mut ended) = (note.follow(&long).await, note.follow(&short).await);
    note.circle.clock.advance(59_000);
    note.write(&long, "second").await;
    assert_eq!(going.next().await.unwrap().data["text"], "second");
    assert_eq!(ended.next().await.unwrap().data["text"], "second");
    note.circle.clock.advance(2_000);
    note.write(&long, "third").await;
    assert_eq!(going.next().await.unwrap().data["text"], "third");
    assert_eq!(ended.next().await, None);
}

/// A session that a feed uses goes on, but not beyond its absolute end.
#[tokio::test]
async fn a_feed_ends_when_its_session_has_lasted_long_enough() {
    let note = Followed::open(NEVER).await;
    let jwt = |circle: &Circle| {
        let tokens = &circle.tokens;
        tokens.make("circle", &note.user, None, &[], 7200)
    };
    let mut feed = note.follow(&note.session).await;
    for round in 0..7 {
        note.circle.clock.advance(4 * DAY);
        let text = format!("round {round}");
        note.write(&jwt(&note.circle), &text).await;
        assert_eq!(feed.next().await.unwrap().data["text"], text.as_str());
    }
    note.circle.clock.advance(2 * DAY);
    note.write(&jwt(&note.circle), "too late").await;
    assert_eq!(feed.next().await, None);
}

/// Where nothing happens, signs of life come; and the feed ends with the next of them.
#[tokio::test]
async fn a_silent_feed_shows_signs_of_life_and_ends_with_its_session() {
    let note = Followed::open(OFTEN).await;
    let mut feed = note.follow(&note.session).await;
    for _ in 0..3 {
        assert!(!feed.silence().await.unwrap().is_empty());
    }
    // Nobody has used it for longer than an idle session lasts.
    note.circle.clock.advance(8 * DAY);
    while feed.silence().await.is_some() {}
    assert_eq!(feed.next().await, None);
}
