//! The leases of a server on the tables that it shares with others.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use partita_api::admin::Currents;
use partita_plan::{Current, Partita};
use tokio::time::timeout;
use tracing::warn;

/// Takes a lease on the tables of a design, and keeps it for as long as the server lives. A server
/// that does not get one starts all the same: it takes no writes, and says so.
pub(crate) async fn start_keeping(partita: Partita, address: SocketAddr) -> Arc<Current> {
    let current = Current::on_lease(partita, name(address));
    if let Err(error) = current.renew_lease().await {
        let design = current.get().design().name.clone();
        warn!(design, "the lease on the tables is not taken yet: {error}");
    }
    let keeper = current.clone();
    tokio::spawn(async move { keeper.keep_lease().await });
    current
}

/// Time to give leases back. What is not given back ends by itself.
const GIVEN_BACK_TIME_MAX: Duration = Duration::from_millis(900);

/// Gives the leases of all designs back, so that nobody waits until they end.
pub(crate) async fn give_back(served: &Currents) {
    let all = served.all();
    let giving = all.iter().map(|current| current.give_back_lease());
    if timeout(GIVEN_BACK_TIME_MAX, join_all(giving))
        .await
        .is_err()
    {
        warn!("the leases on the tables are not given back in time, and end by themselves");
    }
}

/// What operators know a server by: its machine, port and process.
fn name(address: SocketAddr) -> String {
    let machine = std::env::var("HOSTNAME").ok();
    let machine = machine.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let machine = machine.map(|name| name.trim().to_owned());
    let machine = machine.filter(|name| !name.is_empty());
    let machine = machine.unwrap_or_else(|| address.ip().to_string());
    let (port, process) = (address.port(), std::process::id());
    format!("{machine}:{port}, process {process}")
}
