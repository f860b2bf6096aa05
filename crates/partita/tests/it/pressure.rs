//! A store under pressure: it has no capacity, or others write to the same items all the time.
//!
//! Whatever was asked for, a single item, a batch, a list, an account or a file, the answer says
//! when to try again, and which key of the design it is where the key is the design's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use futures::future::join_all;
use partita_api::{App, FileLimits, Files, Limits, Place, Secrets, Tokens};
use partita_core::{Item, Map, Value};
use partita_plan::{Caller, Operation, Partita, Patience, Surroundings};
use partita_store::capacity::Metered;
use partita_store::error::{CancellationReason, Exhausted};
use partita_store::request::{
    BatchGetItem, BatchGot, DeleteItem, Page, PutItem, Query, ReturnValues, TransactWriteItems,
    UpdateItem,
};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::table::string_key;
use partita_store::{Clock, Layer, ModelStore, Store, StoreError, StoreResult};
use reqwest::{Client, Method};
use serde_json::{Value as Json, json};

use crate::stage;

const ANN: &str = "0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0a";
const NOTE: &str = "01JGFJJZ00000000000000DVNE";

/// What a store refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pressure {
    Nothing,
    /// Others write to whatever is written.
    Conflicts,
    /// There is no capacity for writes.
    Writes,
    /// There is no capacity for reads.
    Reads,
}

/// A store under pressure.
struct Pressed {
    inner: ModelStore,
    pressure: AtomicU8,
}

impl Pressed {
    fn press(&self, pressure: Pressure) {
        self.pressure.store(pressure as u8, Ordering::SeqCst);
    }

    fn is(&self, pressure: Pressure) -> bool {
        self.pressure.load(Ordering::SeqCst) == pressure as u8
    }

    fn check_read(&self) -> StoreResult<()> {
        if self.is(Pressure::Reads) {
            let exhausted = exhausted("TableReadKeyRangeThroughputExceeded");
            return Err(StoreError::Exhausted(exhausted));
        }
        Ok(())
    }

    fn check_write(&self) -> StoreResult<()> {
        if self.is(Pressure::Conflicts) {
            return Err(StoreError::TransactionConflict);
        }
        if self.is(Pressure::Writes) {
            let exhausted = exhausted("TableWriteKeyRangeThroughputExceeded");
            return Err(StoreError::Exhausted(exhausted));
        }
        Ok(())
    }

    /// A transaction is refused for its first action.
    fn check_transaction(&self, request: &TransactWriteItems) -> StoreResult<()> {
        let reason = match self.check_write() {
            Ok(()) => return Ok(()),
            Err(StoreError::Exhausted(exhausted)) => CancellationReason::Exhausted(exhausted),
            Err(_) => CancellationReason::TransactionConflict,
        };
        let mut reasons = vec![CancellationReason::None; request.actions.len()];
        reasons[0] = reason;
        Err(StoreError::TransactionCanceled { reasons })
    }
}

fn exhausted(reason: &str) -> Exhausted {
    Exhausted {
        reason: reason.to_owned(),
        index: None,
    }
}

#[async_trait]
impl Layer for Pressed {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.check_read()?;
        self.inner.batch_get_item(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.check_read()?;
        self.inner.query(request).await
    }

    async fn put_item(
        &self,
        request: PutItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.check_write()?;
        self.inner.put_item(request, returns).await
    }

    async fn update_item(
        &self,
        request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.check_write()?;
        self.inner.update_item(request, returns).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.check_write()?;
        self.inner.delete_item(request, returns).await
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.check_transaction(&request)?;
        self.inner.transact_write_items(request).await
    }
}

/// Two designs on such a store: one with accounts, and one with files.
struct Stand {
    base: String,
    store: Arc<Pressed>,
    tokens: Tokens,
    client: Client,
}

async fn open(design: &str, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Partita {
    let surroundings = Surroundings {
        clock,
        entropy: Arc::new(SeededEntropy::new(stage::seed_of(design))),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 3,
            pause_millis: 1,
        },
    };
    let opened = Partita::open_with(stage::design(design, design), store, surroundings);
    opened.await.unwrap()
}

async fn create(partita: &Partita, caller: &Caller, entity: &str, given: &[(&str, &str)]) {
    let given = given.iter().map(|(name, text)| (*name, Value::from(*text)));
    let create = Operation::Create {
        entity: entity.to_owned(),
        attributes: Map::from_iter(given.map(|(name, value)| (name.to_owned(), value))),
    };
    partita.run(caller, create).await.unwrap();
}

impl Stand {
    /// With ann, who has a note and a profile.
    async fn open() -> Stand {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(2_082_758_400_000));
        let store = Arc::new(Pressed {
            inner: ModelStore::new(clock.clone()),
            pressure: AtomicU8::new(Pressure::Nothing as u8),
        });
        let circle = open("circle", store.clone(), clock.clone()).await;
        let archive = open("holdthatthought", store.clone(), clock.clone()).await;
        let mut user = string_key(("PK", &format!("USER#{ANN}")), ("SK", "USER"));
        for (name, text) in [
            ("Kind", "User"),
            ("userId", ANN),
            ("email", "ann@example.org"),
            ("provider", "email"),
            ("role", "user"),
            ("handle", "ann"),
        ] {
            user.insert(name, Value::from(text));
        }
        for name in ["isVerified", "isActive"] {
            user.insert(name, Value::Bool(true));
        }
        let put = PutItem::new("circle".parse().unwrap(), user);
        let put = store.inner.put_item(put, ReturnValues::None).await;
        put.unwrap();
        let note = [("userId", ANN), ("noteId", NOTE), ("text", "Dune")];
        create(&circle, &Caller::user(ANN), "Note", &note).await;
        let buckets = Place::Memory.open([archive.design()]).unwrap();
        let archive = archive.with_objects(buckets.of_design("holdthatthought"));
        let secret = Secrets::one(vec![7; 32]).unwrap();
        let tokens = || Tokens::new(&secret, clock.clone());
        let files = Files::new(buckets, &secret, FileLimits::default(), clock.clone());
        let entropy = Arc::new(SeededEntropy::new(8));
        let designs = vec![Arc::new(circle), Arc::new(archive)];
        let app = App::new(designs, tokens(), clock.clone(), entropy);
        let router = app.with_files(files).router();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let service = partita_api::server::service(router);
        let never = std::future::pending();
        tokio::spawn(partita_api::serve(
            listener,
            service,
            Limits::default(),
            never,
        ));
        Stand {
            base,
            store,
            tokens: tokens(),
            client: Client::new(),
        }
    }

    /// Asks for something. Gives the answer if it is not as it must be.
    async fn check(&self, pressure: Pressure, asked: &Asked) -> Option<String> {
        let (design, method, path, body, hot) = asked;
        let token = self.tokens.make(design, ANN, None, &[], 3600);
        let url = format!("{}/{design}/{path}", self.base);
        let call = self.client.request(method.clone(), url);
        let call = if path.starts_with("auth/sign") {
            call
        } else {
            call.bearer_auth(token)
        };
        let call = match body {
            Json::Null => call,
            body => call.json(body),
        };
        let answer = call.send().await.unwrap();
        let status = answer.status().as_u16();
        let wait = answer.headers().get("retry-after").cloned();
        let problem: Json = answer.json().await.unwrap_or_default();
        let told = format!("{pressure:?}: {method} {path}: {status} {problem}");
        let expected = match pressure {
            Pressure::Conflicts => (409, "urn:partita:problem:conflict"),
            _ => (503, "urn:partita:problem:throttled"),
        };
        let kind = problem["type"].as_str().unwrap_or_default();
        let is_named = hot.is_none_or(|key| {
            let hot = &problem["hot"];
            let is_there = hot["key"] == key && hot["line"].is_u64();
            is_there && !problem.to_string().contains(NOTE)
        });
        let is_told_when = wait.is_some_and(|wait| wait == "1");
        let is_right = (status, kind) == expected && is_told_when && is_named;
        (!is_right).then_some(told)
    }
}

/// The design, the request, and the key that is hot where it is the design's.
type Asked = (&'static str, Method, String, Json, Option<&'static str>);

fn writes() -> Vec<Asked> {
    let user = Some("USER#{userId}");
    let note = format!("Note/{ANN}/{NOTE}");
    let text = json!({"text": "Dune Messiah"});
    let new = json!({"userId": ANN, "text": "Dune"});
    let operations = json!([{"method": "PATCH", "path": note, "body": text}]);
    let sign_up =
        json!({"email": "bob@example.org", "password": "correct horse battery", "handle": "bob"});
    let upload = json!({"contentType": "image/png", "size": 1});
    vec![
        ("circle", Method::POST, "Note".to_owned(), new, user),
        ("circle", Method::PATCH, note.clone(), text.clone(), user),
        ("circle", Method::PUT, note.clone(), text, user),
        ("circle", Method::DELETE, note, Json::Null, user),
        (
            "circle",
            Method::POST,
            "batch".to_owned(),
            json!({"operations": operations}),
            user,
        ),
        (
            "circle",
            Method::POST,
            "auth/sign-up".to_owned(),
            sign_up,
            None,
        ),
        (
            "holdthatthought",
            Method::POST,
            "files/pictures".to_owned(),
            upload,
            None,
        ),
    ]
}

fn reads() -> Vec<Asked> {
    let user = Some("USER#{userId}");
    let sign_in = json!({"login": "ann@example.org", "password": "correct horse battery"});
    let list = format!("query/notes?userId={ANN}");
    vec![
        (
            "circle",
            Method::GET,
            format!("Note/{ANN}/{NOTE}"),
            Json::Null,
            user,
        ),
        ("circle", Method::GET, list, Json::Null, user),
        (
            "circle",
            Method::POST,
            "auth/sign-in".to_owned(),
            sign_in,
            None,
        ),
        (
            "circle",
            Method::GET,
            "auth/me".to_owned(),
            Json::Null,
            user,
        ),
    ]
}

#[tokio::test]
async fn whatever_is_refused_says_when_to_try_again_and_where_it_is_hot() {
    let stand = Stand::open().await;
    let mut wrong = Vec::new();
    for (pressure, all) in [
        (Pressure::Conflicts, writes()),
        (Pressure::Writes, writes()),
        (Pressure::Reads, reads()),
    ] {
        stand.store.press(pressure);
        let answers = join_all(all.iter().map(|asked| stand.check(pressure, asked))).await;
        wrong.extend(answers.into_iter().flatten());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    stand.store.press(Pressure::Nothing);
    let url = format!("{}/circle/Note/{ANN}/{NOTE}", stand.base);
    let token = stand.tokens.make("circle", ANN, None, &[], 3600);
    let note = stand.client.get(url).bearer_auth(token).send().await;
    let note: Json = note.unwrap().json().await.unwrap();
    assert_eq!(note["text"], "Dune", "nothing was changed");
}
