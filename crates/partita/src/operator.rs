//! Commands of the operator for a whole data directory, asked of the server that has its store open.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::turn::Turn;

/// Who carries a command out.
pub(crate) enum Reached<O, T> {
    /// A server has done it.
    Asked(O),
    /// This process has the store open and does it.
    Opened(T),
}

/// Has a command carried out by the server that has the store of a directory open, or else opens the
/// store. A process that has it open for a moment is waited for.
pub(crate) async fn reach<E, O, T>(
    data: &Path,
    name: &str,
    request: &impl Serialize,
    show: &mut (dyn FnMut(E) + Send),
    open: impl Fn() -> Result<T>,
) -> Result<Reached<O, T>>
where
    E: DeserializeOwned,
    O: DeserializeOwned,
{
    let mut turn = Turn::default();
    loop {
        if let Some(outcome) = ask(data, name, request, show).await? {
            return Ok(Reached::Asked(outcome));
        }
        match open() {
            Ok(opened) => return Ok(Reached::Opened(opened)),
            Err(error) => turn.wait(error).await?,
        }
    }
}

/// Whether a server takes commands in a data directory.
#[cfg(unix)]
pub(crate) async fn is_served(data: &Path) -> Result<bool> {
    Ok(crate::socket::connect(data).await?.is_some())
}

/// Elsewhere servers have no sockets.
#[cfg(not(unix))]
#[expect(
    clippy::unused_async,
    reason = "with sockets there is something to wait for"
)]
pub(crate) async fn is_served(_: &Path) -> Result<bool> {
    Ok(false)
}

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
    Ok(Some(
        client::outcome(lines, show, &mut crate::output::note).await?,
    ))
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
