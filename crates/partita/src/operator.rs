//! Commands of the operator for a whole data directory, asked of the server that has its store open.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Has a command carried out by the server that has the store of a directory open; none if there is
/// no such server.
#[cfg(unix)]
pub(crate) async fn ask<E, O>(
    data: &Path,
    name: &str,
    request: &impl Serialize,
    show: &mut (dyn FnMut(E) + Send),
) -> Result<Option<O>>
where
    E: DeserializeOwned,
    O: DeserializeOwned,
{
    use partita_api::admin::client;
    let Some(stream) = crate::socket::connect(data).await? else {
        return Ok(None);
    };
    let request = serde_json::to_value(request)?;
    let lines = client::ask_operator(Box::new(stream), name, &request).await?;
    Ok(Some(client::outcome(lines, show).await?))
}

/// Elsewhere servers have no sockets.
#[cfg(not(unix))]
#[expect(
    clippy::unused_async,
    reason = "with sockets there is something to wait for"
)]
pub(crate) async fn ask<E, O>(
    _: &Path,
    _: &str,
    _: &impl Serialize,
    _: &mut (dyn FnMut(E) + Send),
) -> Result<Option<O>>
where
    E: DeserializeOwned,
    O: DeserializeOwned,
{
    Ok(None)
}
