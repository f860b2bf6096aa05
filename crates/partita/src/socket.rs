//! The socket in the data directory, over which commands reach the server that has its store open.
//!
//! INVARIANT: the process that has the store open owns the socket. It binds the socket after it has
//! opened the store, so a socket that it finds there was left behind by a process that was killed.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path as InPath, State};
use axum::http::{Response, StatusCode};
use axum::routing::post;
use partita_api::Limits;
use partita_api::admin::operator::{self, OperatorEvents};
use partita_api::admin::{self, Failure, Installation, answer};
use partita_api::server::{self, LocalListener};
use rustix::fs::{Mode, OFlags};
use serde_json::json;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tracing::{info, warn};

use crate::backup::{continuous, taking};
use crate::copy::{self, reopening};
use crate::export;
use crate::import::{self, arriving, arriving::Import};
use crate::secret;
use crate::serve::KeptStore;

/// What the socket is called.
pub(crate) const NAME: &str = "partita.sock";

/// Bytes of a path that every system takes. Linux takes 107, others 103.
const PATH_BYTES_MAX: usize = 100;

/// Commands at a time. Those beyond wait to be accepted.
const CONNECTIONS_MAX: usize = 64;
/// Bytes of a request: a design and a demo at their largest.
const BODY_BYTES_MAX: usize = 8 * 1_048_576;
/// Time for a request.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// Time for answers when the server stops. They are told to end.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);

/// A socket that is bound.
pub(crate) struct Bound {
    listener: LocalListener,
    file: SocketFile,
}

/// The file of a socket. It is removed when this is dropped.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // One that stays is recognised as left behind.
        let _ = fs::remove_file(&self.0);
    }
}

/// Binds the socket of a data directory whose store this process has open.
pub(crate) fn bind(data: &Path) -> Result<Bound> {
    let path = data.join(NAME);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Ok(found) if found.file_type().is_socket() => fs::remove_file(&path)?,
        Ok(_) => bail!("{} is in the way: it is no socket", path.display()),
        Err(error) => return Err(error.into()),
    }
    let address = Address::of(data)?;
    let listener = UnixListener::bind(&address.path)?;
    // Until here the mask of the process keeps others out.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    let user = rustix::process::geteuid().as_raw();
    Ok(Bound {
        listener: LocalListener::new(listener, user),
        file: SocketFile(path),
    })
}

/// Connects to the server that has the store of a data directory open, if there is one.
pub(crate) async fn connect(data: &Path) -> Result<Option<UnixStream>> {
    let path = data.join(NAME);
    let user = rustix::process::geteuid().as_raw();
    let owner = fs::metadata(data).map_or(user, |found| found.uid());
    match fs::symlink_metadata(&path) {
        Err(_) => return Ok(None),
        Ok(found) if !found.file_type().is_socket() => {
            bail!("{} is no socket of a server", path.display())
        }
        Ok(found) if found.uid() != user && user != 0 => bail!(
            "the server of {} runs as another user: ask as that user, or with --server",
            data.display()
        ),
        Ok(_) => crate::private::demand_own(data)?,
    }
    let stream = match UnixStream::connect(Address::of(data)?.path).await {
        // The server was killed, or has just stopped.
        Err(error) if is_left_behind(&error) => return Ok(None),
        stream => stream.with_context(|| format!("cannot connect to {}", path.display()))?,
    };
    // Another user could have put a socket there meanwhile.
    let peer = stream.peer_cred()?.uid();
    let is_trusted = peer == user || peer == 0 || (user == 0 && peer == owner);
    if !is_trusted {
        bail!("{} is the socket of another user", path.display());
    }
    Ok(Some(stream))
}

fn is_left_behind(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::NotFound
    )
}

/// The path of a socket as the system takes it.
struct Address {
    path: PathBuf,
    /// Open while the path leads through it.
    _directory: Option<OwnedFd>,
}

impl Address {
    fn of(data: &Path) -> Result<Address> {
        let path = data.join(NAME);
        if path.as_os_str().len() <= PATH_BYTES_MAX {
            return Ok(Address {
                path,
                _directory: None,
            });
        }
        // A socket's path has about a hundred bytes. An open directory has a short one on Linux.
        if cfg!(not(target_os = "linux")) {
            bail!(
                "the path {} is longer than a socket's can be: use a data directory with a shorter path",
                path.display()
            );
        }
        let directory = rustix::fs::open(data, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        let number = directory.as_fd().as_raw_fd();
        Ok(Address {
            path: PathBuf::from(format!("/proc/self/fd/{number}/{NAME}")),
            _directory: Some(directory),
        })
    }
}

/// Answers commands until the server stops.
pub(crate) async fn serve(
    bound: Bound,
    installation: Installation,
    kept: Option<KeptStore>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let Bound { listener, file } = bound;
    let limits = Limits {
        connections: CONNECTIONS_MAX,
        reserved: 0,
        per_address: CONNECTIONS_MAX,
        stop: STOP_TIME_MAX,
        ..Limits::default()
    };
    let router = Router::new()
        .route("/admin/{command}", post(carry_out))
        .with_state(installation.clone());
    let operators = Router::new()
        .route("/operator/{command}", post(operate))
        .with_state((installation, kept));
    let router = router.merge(operators);
    let served = server::serve(listener, server::service(router), limits, stop).await;
    drop(file);
    served
}

async fn carry_out(
    State(installation): State<Installation>,
    InPath(command): InPath<String>,
    body: Body,
) -> Response<Body> {
    let Some(command) = admin::find(&command) else {
        return refusal(
            StatusCode::NOT_FOUND,
            "this server does not know the command",
        );
    };
    let Ok(Ok(body)) = timeout(BODY_TIME_MAX, to_bytes(body, BODY_BYTES_MAX)).await else {
        return refusal(
            StatusCode::BAD_REQUEST,
            "the request is too large or too slow",
        );
    };
    match answer::of_operator(installation, command, &body) {
        Ok((design, response)) => {
            let is_operator = true;
            info!(
                design,
                command = command.name,
                is_operator,
                "a command over the socket"
            );
            response
        }
        Err(failure) => {
            warn!(command = command.name, %failure, "a command over the socket is refused");
            refusal(StatusCode::BAD_REQUEST, &failure.detail)
        }
    }
}

/// Carries out what is for the whole installation and not for a design.
async fn operate(
    State((installation, kept)): State<(Installation, Option<KeptStore>)>,
    InPath(command): InPath<String>,
    body: Body,
) -> Response<Body> {
    let Some(kept) = kept else {
        return refusal(StatusCode::NOT_FOUND, "this server has no embedded store");
    };
    let Ok(Ok(body)) = timeout(BODY_TIME_MAX, to_bytes(body, BODY_BYTES_MAX)).await else {
        let detail = "the request is too large or too slow";
        return refusal(StatusCode::BAD_REQUEST, detail);
    };
    info!(command, is_operator = true, "a command over the socket");
    match command.as_str() {
        continuous::NAME => {
            operator::answer(&installation, move |_: OperatorEvents<()>| async move {
                Ok(kept.backup.as_ref().map(continuous::Backup::status))
            })
        }
        secret::RELOAD => {
            operator::answer(&installation, move |_: OperatorEvents<()>| async move {
                match kept.secrets {
                    None => Ok(None),
                    Some(secrets) => secrets
                        .reload()
                        .map(Some)
                        .map_err(|error| Failure::new(format!("{error:#}"))),
                }
            })
        }
        taking::NAME => match serde_json::from_slice::<taking::Take>(&body) {
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
            Ok(take) => operator::answer(&installation, move |events| async move {
                let on_step = |step| events.offer(step).map_err(Failure::from);
                let removed = Some(kept.removed);
                taking::carry_out(&take, kept.engine, &kept.data, removed, on_step).await
            }),
        },
        copy::NAME => match serde_json::from_slice::<copy::Copy>(&body) {
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
            Ok(asked) => operator::answer(&installation, move |events| async move {
                let on_step = move |step| events.offer(step).map_err(Failure::from);
                let source = partita_transfer::Source::Embedded(kept.engine);
                copy::carry_out(&asked, source, on_step).await
            }),
        },
        copy::arriving::NAME => match serde_json::from_slice::<copy::Copy>(&body) {
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
            Ok(asked) => {
                let work = installation.clone();
                operator::answer(&installation, move |events| async move {
                    let on_step = move |step| events.offer(step).map_err(Failure::from);
                    copy::arriving::carry_out(&asked, kept.engine, &work, on_step).await
                })
            }
        },
        export::NAME => match serde_json::from_slice::<export::ExportItems>(&body) {
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
            Ok(asked) => operator::answer(&installation, move |events| async move {
                let on_items = move |items| events.offer(items).map_err(Failure::from);
                export::carry_out(&asked, kept.engine, on_items).await
            }),
        },
        import::NAME => match serde_json::from_slice::<Import>(&body) {
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
            Ok(asked) => {
                let work = installation.clone();
                operator::answer(&installation, move |events| async move {
                    let on_step = &mut move |step| events.offer(step).map_err(Failure::from);
                    arriving::carry_out(&asked, kept.engine, &work, on_step).await
                })
            }
        },
        reopening::NAME => match serde_json::from_slice::<reopening::Reopen>(&body) {
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
            Ok(asked) => operator::answer(&installation, move |_: OperatorEvents<()>| async move {
                asked
                    .carry_out(kept.engine.clone(), Some(&kept.engine))
                    .await
            }),
        },
        reopening::CLOSE => match serde_json::from_slice::<reopening::Reopen>(&body) {
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
            Ok(asked) => operator::answer(&installation, move |_: OperatorEvents<()>| async move {
                asked.close_served(&kept.engine).await
            }),
        },
        _ => refusal(
            StatusCode::NOT_FOUND,
            "this server does not know the command",
        ),
    }
}

fn refusal(status: StatusCode, detail: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(json!({ "detail": detail }).to_string()));
    *response.status_mut() = status;
    response
}
