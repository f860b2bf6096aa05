//! The way to the service: what is lost, what comes late, and replay.

use std::sync::Arc;

use futures::future::join_all;
use partita_store::request::{GetItem, ReturnValues, TransactAction, TransactWriteItems};
use partita_store::{Clock as _, ErrorKind, Store as _};
use partita_testkit::amazon::{Behaviour, Connection, Network};
use partita_testkit::simulation::host::{Host, Manners};
use partita_testkit::{Amazon, Simulation, conformance};

use crate::amazon::{NOW, key, put, service, table};

fn connect(
    simulation: &Simulation,
    amazon: &Arc<Amazon>,
    network: Network,
    seed: u64,
) -> (Arc<Host>, Arc<Connection>) {
    let manners = Manners {
        pause: 0.005,
        pause_millis_max: 120_000,
        skew_millis: 0,
    };
    let host = Host::new(simulation, format!("host-{seed}"), manners, seed);
    let connection = Connection::new(simulation, amazon.clone(), host.clone(), network, seed);
    (host, Arc::new(connection))
}

#[test]
fn without_faults_it_conforms() {
    let simulation = Simulation::new(1, NOW);
    let amazon = Arc::new(Amazon::new(&simulation, Behaviour::still(), 1));
    let host = Host::new(&simulation, "one", Manners::default(), 1);
    let connection = Connection::new(&simulation, amazon, host, Network::still(), 1);
    simulation.run(conformance::run(&connection, "connection"));
}

#[test]
fn a_lost_request_has_no_effect_and_a_lost_answer_has() {
    for (lost_request, lost_answer) in [(1.0, 0.0), (0.0, 1.0)] {
        let simulation = Simulation::new(1, 0);
        simulation.run(async {
            let amazon = service(&simulation, Behaviour::still()).await;
            let network = Network {
                lost_request,
                lost_answer,
                ..Network::rough()
            };
            let (_, connection) = connect(&simulation, &amazon, network, 1);
            let written = connection
                .put_item(put("a", "ann"), ReturnValues::None)
                .await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
            assert!(simulation.now_millis() >= Network::rough().timeout_millis);
            let found = amazon.get_item(GetItem::new(table(), key("a"))).await;
            assert_eq!(found.unwrap().answer.is_some(), lost_answer > 0.0);
            let read = connection.get_item(GetItem::new(table(), key("a"))).await;
            assert_eq!(read.unwrap_err().kind(), ErrorKind::Unavailable);
        });
    }
}

#[test]
fn a_request_may_come_after_the_server_gave_up() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, Behaviour::still()).await;
        let network = Network {
            late_request: 1.0,
            lost_request: 0.0,
            ..Network::rough()
        };
        let late = network.late_millis_max;
        let (_, connection) = connect(&simulation, &amazon, network, 2);
        let written = connection
            .put_item(put("a", "ann"), ReturnValues::None)
            .await;
        assert_eq!(written.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
        let get = || amazon.get_item(GetItem::new(table(), key("a")));
        assert_eq!(get().await.unwrap().answer, None);
        simulation.sleep(late).await;
        assert!(get().await.unwrap().answer.is_some());
    });
}

#[test]
fn a_request_outlives_its_server() {
    let simulation = Simulation::new(1, 0);
    simulation.run(async {
        let amazon = service(&simulation, Behaviour::still()).await;
        let network = Network {
            delay_millis: 10..=10,
            ..Network::rough()
        };
        let (host, connection) = connect(&simulation, &amazon, network, 1);
        let mut writing = simulation.spawn(async move {
            connection
                .put_item(put("a", "ann"), ReturnValues::None)
                .await
        });
        simulation.sleep(5).await;
        host.die();
        simulation.sleep(60_000).await;
        let found = amazon.get_item(GetItem::new(table(), key("a"))).await;
        assert!(found.unwrap().answer.is_some());
        assert_eq!(writing.try_recv().map(|answer| answer.is_some()), Ok(false));
    });
}

/// Everything that five servers and the service did.
fn trace(seed: u64) -> Vec<String> {
    let simulation = Simulation::new(seed, 0);
    simulation.begin_trace();
    simulation.run(async {
        let amazon = Arc::new(Amazon::new(&simulation, Behaviour::rough(), seed));
        let created = service_table(&amazon).await;
        created.unwrap();
        let servers = (0..5).map(|number| {
            let (_, connection) = connect(&simulation, &amazon, Network::rough(), seed + number);
            simulation.spawn(async move {
                for count in 0..60 {
                    let puts = [count % 7, count % 11 + 7];
                    let puts = puts.map(|one| TransactAction::Put(put(&one.to_string(), "ann")));
                    let request = TransactWriteItems {
                        actions: puts.into(),
                        token: Some(format!("{number}-{count}")),
                    };
                    let _ = connection.transact_write_items(request).await;
                    let _ = connection.get_item(GetItem::new(table(), key("3"))).await;
                }
            })
        });
        join_all(servers).await;
    });
    simulation.trace()
}

async fn service_table(amazon: &Amazon) -> Result<(), partita_store::StoreError> {
    let schema = partita_store::table::KeySchema::strings("PK", "SK");
    let create = partita_store::request::CreateTable::new(table(), schema);
    amazon.create_table(create).await.map(drop)
}

#[test]
fn a_seed_replays_to_the_letter() {
    let first = trace(1);
    assert!(first.len() > 500, "{}", first.len());
    assert!(first.iter().any(|line| line.contains("pauses")));
    assert!(first.iter().any(|line| line.contains("is lost")));
    assert!(
        first
            .iter()
            .any(|line| line.contains("TransactionConflict"))
    );
    assert_eq!(first, trace(1));
    assert_ne!(first, trace(2));
}
