//! A receiver answers 500 for an hour, on a clock that the test controls.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use partita_api::outbox::{Mailer, Post, Receiver};
use partita_core::{Map, Number, Value};
use partita_plan::outbox::Courier;
use partita_plan::{Caller, Operation, Partita, Surroundings};
use partita_store::surroundings::ManualClock;
use partita_store::{Clock as _, ModelStore};

use super::scene::{DESIGN, SECRET};

/// 2036-01-01T00:00:00Z
const START: i64 = 2_082_758_400_000;
const HOUR: i64 = 3_600_000;
const ORDERS: usize = 40;

/// What the receivers were asked.
struct Web {
    clock: Arc<ManualClock>,
    /// When `/one` answered 500.
    refused: Mutex<Vec<i64>>,
    /// The steps that arrived, by path and order.
    taken: Mutex<BTreeMap<(String, String), Vec<i64>>>,
}

impl Web {
    fn taken_at(&self, path: &str) -> usize {
        let taken = self.taken.lock().unwrap();
        let taken = taken.iter().filter(|((at, _), _)| at == path);
        taken.map(|(_, steps)| steps.len()).sum()
    }
}

async fn take(State(web): State<Arc<Web>>, uri: Uri, body: Bytes) -> StatusCode {
    let now = web.clock.now_millis();
    if uri.path() == "/one" && now < START + HOUR {
        web.refused.lock().unwrap().push(now);
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    let event: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let order = event["data"]["orderId"].as_str().unwrap().to_owned();
    let step = event["data"]["step"].as_i64().unwrap();
    let mut taken = web.taken.lock().unwrap();
    let steps = taken.entry((uri.path().to_owned(), order)).or_default();
    steps.push(step);
    StatusCode::NO_CONTENT
}

/// The receivers behind their addresses, as a server has them.
async fn post(web: &Arc<Web>) -> Post {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(take).with_state(web.clone());
    tokio::spawn(partita_api::serve(
        listener,
        partita_api::server::service(router),
        partita_api::Limits::default(),
        std::future::pending(),
    ));
    let receiver = |name: &str| {
        let url = format!("http://{address}/{name}");
        let receiver = Receiver::new(&url, SECRET, web.clock.clone());
        (name.to_owned(), receiver.unwrap())
    };
    Post::new(Mailer::Log, HashMap::from(["one", "two"].map(receiver)))
}

async fn write(partita: &Partita) {
    let ann = Caller::user("ann");
    for number in 0..ORDERS {
        let order = format!("o{number}");
        let create = Operation::Create {
            entity: "Order".into(),
            attributes: Map::from([
                ("orderId", Value::from(order.as_str())),
                ("email", Value::from("bob@example.org")),
            ]),
        };
        partita.run(&ann, create).await.unwrap();
        let step = Operation::Update {
            entity: "Order".into(),
            identity: vec![order],
            changes: Map::from([("step", Value::N(Number::from(1)))]),
            with_deleted: false,
            version: None,
        };
        partita.run(&ann, step).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_answers_500_for_an_hour_holds_nobody_else() {
    let clock = Arc::new(ManualClock::at(START));
    let (design, _) = partita_design::check(DESIGN, &|_| None);
    let surroundings = Surroundings {
        clock: clock.clone(),
        ..Surroundings::default()
    };
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open_with(design.unwrap(), store, surroundings).await;
    let partita = Arc::new(partita.unwrap());
    write(&partita).await;
    let web = Arc::new(Web {
        clock: clock.clone(),
        refused: Mutex::default(),
        taken: Mutex::default(),
    });
    let courier = Courier::new(partita.clone(), Arc::new(post(&web).await));
    courier.deliver().await.unwrap();
    assert_eq!(
        (web.taken_at("/one"), web.taken_at("/two")),
        (0, 2 * ORDERS)
    );
    // What waits is seen, with the answer.
    let waiting = partita.outbox(1_000).await.unwrap();
    assert_eq!(waiting.len(), 2 * ORDERS);
    let mut errors = waiting.iter().filter_map(|one| one.last_error.as_deref());
    assert!(errors.any(|error| error.contains("500")), "{waiting:?}");
    for turn in 0.. {
        let round = courier.deliver().await.unwrap();
        match round.next_millis {
            Some(next) => clock.set(clock.now_millis().max(next)),
            None if partita.outbox(1).await.unwrap().is_empty() => break,
            None => {}
        }
        assert!(turn < 2_000, "it does not come to an end");
    }
    for ((path, order), steps) in &*web.taken.lock().unwrap() {
        assert_eq!(*steps, [0, 1], "{path} {order}");
    }
    assert_eq!(web.taken_at("/one"), 2 * ORDERS);
    // It was asked now and then, ever more seldom, and not once for each message that waits.
    let refused = web.refused.lock().unwrap();
    assert!((10..150).contains(&refused.len()), "{refused:?}");
    let in_quarter = |quarter: i64| {
        let begins = START + quarter * HOUR / 4;
        let inside = refused
            .iter()
            .filter(|at| (begins..begins + HOUR / 4).contains(*at));
        inside.count()
    };
    assert!(in_quarter(0) > 2 * in_quarter(3), "{refused:?}");
}
