//! Where scenarios run: the library on a store, or HTTP in front of one.

mod http;
mod issuer;
pub(crate) mod shelf;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use partita_api::{App, Limits, Problem, Secrets, Tokens};
use partita_core::plain;
use partita_design::{Design, shipped};
use partita_engine::{EngineStore, Options, Upkeep};
use partita_plan::{
    Answer, Caller, Claims, Operation, Partita, Patience, PlanError, Record, Surroundings,
};
use partita_store::surroundings::{ManualClock, SeededEntropy, SystemClock};
use partita_store::table::TableName;
use partita_store::{Clock, Entropy, Store};
use serde_json::Value as Json;

use crate::scenario::{Driver, Request, Seen, Stage, Verb, decoded};
use http::Http;
use shelf::Shelf;

/// A design, shipped or of the tests' own, in a table of its own.
///
/// Each is compiled once: a history opens the same one for every server that starts in it.
pub(crate) fn design(name: &str, table: &str) -> Design {
    static COMPILED: Mutex<BTreeMap<String, Design>> = Mutex::new(BTreeMap::new());
    let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.entry(name.to_owned()).or_insert_with(|| {
        // The file itself, which is what is shipped: a change of a design builds nothing anew.
        let source = std::fs::read_to_string(folder(name).join(format!("{name}.toml"))).unwrap();
        compiled(name, &source, name)
    });
    let mut design = known.clone();
    table.clone_into(&mut design.tables[0].name);
    design
}

/// A design by its text, in a table of its own.
pub(crate) fn compiled(name: &str, source: &str, table: &str) -> Design {
    let variables = |variable: &str| (variable == "Stage").then(|| "test".to_owned());
    let (design, diagnostics) = partita_design::check(source, &variables);
    let mut design = design.unwrap_or_else(|| panic!("{name}: {diagnostics:?}"));
    table.clone_into(&mut design.tables[0].name);
    design
}

/// The folder of a design.
pub(crate) fn folder(name: &str) -> PathBuf {
    let designs = match shipped::find(name) {
        Some(_) => "../../designs",
        None => "tests/designs",
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join(designs).join(name)
}

/// The embedded store. Scenarios have a time of their own, in which nothing of theirs has expired
/// that has by the machine's clock: it sweeps only when it is told to.
pub(crate) fn engine(folder: &Path) -> EngineStore {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    EngineStore::open(folder, options).unwrap()
}

/// A design on a store, with a clock and randomness that tests control.
pub(crate) async fn open(
    name: &str,
    table: &str,
    store: &Arc<dyn Store>,
    clock: &Arc<ManualClock>,
) -> Partita {
    open_by(name, table, store, clock, seed_of(table)).await
}

async fn open_by(
    name: &str,
    table: &str,
    store: &Arc<dyn Store>,
    clock: &Arc<ManualClock>,
    seed: u64,
) -> Partita {
    let surroundings = Surroundings {
        clock: clock.clone(),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience::default(),
    };
    Partita::open_with(design(name, table), store.clone(), surroundings)
        .await
        .unwrap()
}

/// Two tables of one store must not draw the same ids and tokens.
pub(crate) fn seed_of(table: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    table.hash(&mut hasher);
    hasher.finish()
}

/// The table of a design, and what its primary key is called.
fn place_of(partita: &Partita) -> (TableName, [String; 2]) {
    let table = &partita.design().tables[0];
    let keys = [table.partition.clone(), table.sort.clone()];
    (table.name.parse().unwrap(), keys)
}

/// A design as callers have it, as its operator has it, and the files that both know.
async fn open_both(
    design: &str,
    table: &str,
    store: &Arc<dyn Store>,
    clock: &Arc<ManualClock>,
) -> (Partita, Partita, Arc<Shelf>) {
    let files = Arc::new(Shelf::default());
    let partita = open(design, table, store, clock).await;
    // Another process on the same tables draws other ids.
    let operator = open_by(design, table, store, clock, !seed_of(table)).await;
    (
        partita.with_objects(files.clone()),
        operator.with_objects(files.clone()),
        files,
    )
}

/// A stage on which requests go through the library.
pub(crate) async fn in_library(design: &str, table: &str, store: Arc<dyn Store>) -> Stage {
    let clock = Arc::new(ManualClock::default());
    let (partita, operator, files) = open_both(design, table, &store, &clock).await;
    let (table, keys) = place_of(&partita);
    Stage {
        design: partita.design().clone(),
        driver: Box::new(Library(partita)),
        operator,
        files,
        clock,
        store,
        table,
        keys,
    }
}

/// A stage on which requests go over a socket.
pub(crate) async fn over_http(design: &str, table: &str, store: Arc<dyn Store>) -> Stage {
    let clock = Arc::new(ManualClock::default());
    let (partita, operator, files) = open_both(design, table, &store, &clock).await;
    let (table, keys) = place_of(&partita);
    let compiled = partita.design().clone();
    let secret = Secrets::one(vec![7; 32]).unwrap();
    let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(8));
    let time: Arc<dyn Clock> = clock.clone();
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let issuer = issuer::known(time.clone()).await;
        tokens.push(Tokens::new(&secret, time.clone()).with_issuer(issuer));
    }
    let mut tokens = || tokens.pop().unwrap();
    let app = App::new(vec![partita], tokens(), time.clone(), entropy);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(partita_api::serve(
        listener,
        partita_api::server::service(app.router()),
        Limits::default(),
        std::future::pending(),
    ));
    Stage {
        driver: Box::new(Http {
            client: reqwest::Client::new(),
            base: format!("http://{address}/{design}").parse().unwrap(),
            design: compiled.clone(),
            tokens: tokens(),
            clock: clock.clone(),
            sent: AtomicUsize::new(0),
        }),
        operator,
        files,
        clock,
        store,
        table,
        design: compiled,
        keys,
    }
}

struct Library(Partita);

#[async_trait::async_trait]
impl Driver for Library {
    async fn send(&self, request: &Request) -> Seen {
        let caller = Caller {
            id: request.caller.clone(),
            role: request.role.clone(),
            ..Caller::default()
        };
        if let Some(id) = caller.id.as_ref().filter(|_| self.0.has_accounts()) {
            let claims = claims_of(id, &request.verb);
            match self.0.may_act(id, claims.as_ref()).await {
                Ok(true) => {}
                Ok(false) => return closed(),
                Err(error) => return refused(error),
            }
        }
        let operation = match &request.verb {
            Verb::Bring { .. } => self.own_account(&caller),
            verb => operation(verb),
        };
        match self.0.run(&caller, operation).await {
            Ok(Answer::Done) => Seen::Done,
            Ok(Answer::Record(record) | Answer::Created(record)) => Seen::Record(shown(&record)),
            Ok(Answer::Page { records, cursor }) => {
                Seen::Page(records.iter().map(shown).collect(), cursor)
            }
            Err(error) => refused(error),
        }
    }
}

impl Library {
    fn own_account(&self, caller: &Caller) -> Operation {
        let design = self.0.design();
        let users = design.accounts.as_ref().unwrap().users(design);
        Operation::Get {
            entity: users.name.clone(),
            identity: caller.id.iter().cloned().collect(),
            with_deleted: false,
        }
    }
}

/// What a token of another issuer says, where one is shown.
fn claims_of(subject: &str, verb: &Verb) -> Option<Claims> {
    let Verb::Bring { claims } = verb else {
        return None;
    };
    let seconds = |name: &str| claims[name].as_i64();
    let signed_in = seconds("auth_time").or(seconds("iat"));
    Some(Claims {
        subject: subject.to_owned(),
        signed_in_millis: signed_in.map(|seconds| seconds * 1000),
        others: plain::map_from_json(claims.as_object().unwrap().clone()).unwrap(),
    })
}

fn closed() -> Seen {
    Seen::Refused {
        name: "account-closed".to_owned(),
        faults: Vec::new(),
    }
}

fn shown(record: &Record) -> Json {
    Json::Object(plain::map_to_json(&record.attributes))
}

fn refused(error: PlanError) -> Seen {
    seen_problem(&Problem::from(error).to_json("library"))
}

fn seen_problem(problem: &Json) -> Seen {
    let name = problem["type"].as_str().unwrap_or_default();
    let faults = problem["faults"].as_array().cloned().unwrap_or_default();
    let mut faults: Vec<String> = faults
        .iter()
        .map(|fault| fault["attribute"].as_str().unwrap().to_owned())
        .collect();
    faults.sort();
    Seen::Refused {
        name: name.trim_start_matches("urn:partita:problem:").to_owned(),
        faults,
    }
}

fn operation(verb: &Verb) -> Operation {
    let identity = |path: &str| -> Vec<String> { path.split('/').map(decoded).collect() };
    let attributes = |body: &Json| plain::map_from_json(body.as_object().unwrap().clone()).unwrap();
    match verb.clone() {
        Verb::Create { entity, body } => Operation::Create {
            entity,
            attributes: attributes(&body),
        },
        Verb::Get {
            entity,
            path,
            deleted,
        } => Operation::Get {
            entity,
            identity: identity(&path),
            with_deleted: deleted,
        },
        Verb::Update {
            entity,
            path,
            deleted,
            version,
            body,
        } => Operation::Update {
            entity,
            identity: identity(&path),
            changes: attributes(&body),
            with_deleted: deleted,
            version,
        },
        Verb::Upsert {
            entity,
            path,
            version,
            body,
        } => Operation::Upsert {
            entity,
            identity: identity(&path),
            attributes: attributes(&body),
            version,
        },
        Verb::Delete { entity, path } => Operation::Delete {
            entity,
            identity: identity(&path),
            version: None,
        },
        Verb::Act {
            action,
            on,
            version,
            body,
        } => {
            let (entity, path) = match on {
                Some((entity, path)) => (Some(entity), Some(path)),
                None => (None, None),
            };
            Operation::Act {
                action,
                entity,
                identity: path.as_deref().map(identity).unwrap_or_default(),
                given: attributes(&body),
                version,
            }
        }
        Verb::Restore { entity, path } => Operation::Restore {
            entity,
            identity: identity(&path),
            version: None,
        },
        Verb::Purge { entity, path } => Operation::Purge {
            entity,
            identity: identity(&path),
            version: None,
        },
        Verb::Query {
            pattern,
            mut parameters,
        } => Operation::Query {
            pattern,
            limit: parameters
                .remove("limit")
                .map(|limit| limit.parse().unwrap()),
            cursor: parameters.remove("cursor"),
            parameters,
        },
        Verb::Bring { .. } => unreachable!("nothing is done to items"),
    }
}
