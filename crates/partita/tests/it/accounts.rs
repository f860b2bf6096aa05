//! People sign up, confirm their address, sign in, and lose what they had: over HTTP, with mails and
//! a clock that tests control.

pub(crate) mod binary;
mod browsers;
mod counting;
mod followers;
mod foreign;
pub(crate) mod life;
mod limits;
pub(crate) mod linking;
pub(crate) mod provider;
mod strangers;
mod unconfirmed;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_api::feed::FeedLimits;
use partita_api::{App, Limits, Secrets, Tokens};
use partita_plan::outbox::{Content, Courier, Mail, Message, Transport, Undelivered};
use partita_plan::{Partita, Patience, Surroundings};
use partita_store::request::Scan;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{Clock, Entropy, ModelStore, Store};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value as Json, json};

use crate::stage;

/// 2036-01-01T00:00:00Z. DynamoDB Local removes what has expired by the machine's own clock.
const START: i64 = 2_082_758_400_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// Keeps what is mailed.
#[derive(Default)]
struct Postbox(Mutex<Vec<Mail>>);

#[async_trait]
impl Transport for Postbox {
    async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        if let Content::Mail(mail) = &message.content {
            self.0.lock().unwrap().push(mail.clone());
        }
        Ok(())
    }
}

/// A server with accounts.
pub(crate) struct Circle {
    base: String,
    client: Client,
    clock: Arc<ManualClock>,
    store: Arc<dyn Store>,
    partita: Arc<Partita>,
    postbox: Arc<Postbox>,
    courier: Courier,
    tokens: Tokens,
}

impl Circle {
    pub(crate) async fn open(store: Arc<dyn Store>, table: &str) -> Circle {
        Circle::open_with(store, table, FeedLimits::default(), Limits::default()).await
    }

    async fn open_with(
        store: Arc<dyn Store>,
        table: &str,
        feeds: FeedLimits,
        limits: Limits,
    ) -> Circle {
        let clock = Arc::new(ManualClock::at(START));
        let time: Arc<dyn Clock> = clock.clone();
        let surroundings = Surroundings {
            clock: time.clone(),
            entropy: Arc::new(SeededEntropy::new(stage::seed_of(table))),
            cursor_key: [7; 32],
            patience: Patience::default(),
        };
        let design = stage::design("circle", table);
        let partita = Partita::open_with(design, store.clone(), surroundings);
        let partita = Arc::new(partita.await.unwrap());
        let secret = Secrets::one(vec![7; 32]).unwrap();
        let postbox = Arc::new(Postbox::default());
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(12));
        let tokens = || Tokens::new(&secret, time.clone());
        let app = App::new(vec![partita.clone()], tokens(), time.clone(), entropy);
        let app = app.with_feed_limits(feeds);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = partita_api::server::service(app.router());
        tokio::spawn(partita_api::serve(
            listener,
            service,
            limits,
            std::future::pending(),
        ));
        Circle {
            base: format!("http://{address}/circle"),
            client: Client::new(),
            clock,
            store,
            courier: Courier::new(partita.clone(), postbox.clone()),
            partita,
            postbox,
            tokens: tokens(),
        }
    }

    async fn in_memory() -> Circle {
        Circle::open(Arc::new(ModelStore::default()), "circle").await
    }

    fn request(&self, method: Method, path: &str, token: Option<&str>) -> RequestBuilder {
        let request = self.client.request(method, format!("{}/{path}", self.base));
        match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn post(&self, path: &str, token: Option<&str>, body: Json) -> (StatusCode, Json) {
        let sent = self.request(Method::POST, path, token).json(&body).send();
        answer(sent.await.unwrap()).await
    }

    async fn get(&self, path: &str, token: &str) -> (StatusCode, Json) {
        let sent = self.request(Method::GET, path, Some(token)).send();
        answer(sent.await.unwrap()).await
    }

    async fn delete(&self, path: &str, token: &str) -> (StatusCode, Json) {
        let sent = self.request(Method::DELETE, path, Some(token)).send();
        answer(sent.await.unwrap()).await
    }

    /// Waits until everything is carried out that is done behind its answer.
    async fn settled(&self) {
        for _ in 0..2_000 {
            if !self.stored().await.contains("\"PROMISE\"") {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("something is not carried out");
    }

    /// The mails since the last time.
    async fn mails(&self) -> Vec<Mail> {
        self.settled().await;
        self.courier.deliver().await.unwrap();
        std::mem::take(&mut *self.postbox.0.lock().unwrap())
    }

    /// The same, if there are any soon: some are recorded behind the answer.
    async fn some_mails(&self) -> Vec<Mail> {
        for _ in 0..2_000 {
            let mails = self.mails().await;
            if !mails.is_empty() {
                return mails;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("no mail came");
    }

    /// The secret of the only link that was mailed since the last time.
    async fn link(&self, to: &str, kind: &str) -> String {
        let mails = self.some_mails().await;
        let [mail] = mails.as_slice() else {
            panic!("{mails:?}");
        };
        assert_eq!(mail.to, to);
        let text = &mail.text;
        let (_, rest) = text
            .split_once(&format!("/circle/auth/{kind}?token="))
            .unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }

    /// An account that is confirmed.
    async fn member(&self, name: &str) -> String {
        let email = format!("{name}@example.org");
        let body = json!({"email": email, "password": PASSWORD, "handle": name});
        let (status, told) = self.post("auth/sign-up", None, body).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{told}");
        let token = self.link(&email, "verify-email").await;
        let (status, told) = self.verify(&token, PASSWORD).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
        email
    }

    async fn verify(&self, token: &str, password: &str) -> (StatusCode, Json) {
        let body = json!({"token": token, "password": password});
        self.post("auth/verify-email", None, body).await
    }

    async fn sign_in(&self, login: &str, password: &str) -> (StatusCode, Json) {
        let body = json!({"login": login, "password": password});
        self.post("auth/sign-in", None, body).await
    }

    /// The token of a new session.
    async fn signed_in(&self, login: &str) -> String {
        let (status, answer) = self.sign_in(login, PASSWORD).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["token"].as_str().unwrap().to_owned()
    }

    /// Everything that is stored, in both tables.
    async fn stored(&self) -> String {
        let own = self.partita.design().tables[0].name.clone();
        let sidecar = format!("{own}-partita");
        let mut text = String::new();
        for table in [own, sidecar] {
            let scan = Scan::new(table.parse().unwrap());
            let page = self.store.scan(scan).await.unwrap().answer;
            for item in page.items {
                text += &format!("{:?}\n", item);
            }
        }
        text
    }
}

/// What is true of accounts on any store, each part in a table of its own.
pub(crate) async fn hold(store: &Arc<dyn Store>) {
    let circle = async |part: &str| {
        let table = format!("circle-of-{part}");
        Circle::open(store.clone(), &table).await
    };
    life::lives(&circle("lives").await).await;
    life::expire(&circle("ends").await).await;
    life::close(&circle("closed").await).await;
    linking::links(&circle("links").await).await;
    limits::lock_out(&circle("locks").await).await;
    strangers::learn_nothing(&circle("strangers").await).await;
    strangers::steal(&circle("thieves").await).await;
    strangers::race(circle("rivals").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_hold_in_memory() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    hold(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_hold_in_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(stage::engine(folder.path()));
    hold(&store).await;
}

async fn answer(response: Response) -> (StatusCode, Json) {
    let status = response.status();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Json::Null))
}

fn kind(problem: &Json) -> &str {
    let kind = problem["type"].as_str().unwrap_or_default();
    kind.trim_start_matches("urn:partita:problem:")
}

/// The link of a reset is recorded behind its answer.
async fn wait_for_link(circle: &Circle, to: &str) -> String {
    for _ in 0..2_000 {
        let mails = circle.mails().await;
        if let [mail] = mails.as_slice() {
            assert_eq!(mail.to, to);
            let (_, rest) = mail.text.split_once("/auth/reset?token=").unwrap();
            return rest.split_whitespace().next().unwrap().to_owned();
        }
        assert!(mails.is_empty(), "{mails:?}");
        tokio::task::yield_now().await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("no mail came");
}
