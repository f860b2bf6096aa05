//! `partita outbox`, and mail and events on their way out of the server.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use partita_api::PublicUrl;
use partita_api::admin::outbox::{ListedMessage, Outbox};
use partita_api::outbox::{Mailer, Post, Receiver, Smtp, SmtpSecurity};
use partita_core::printable;
use partita_design::Design;
use partita_plan::Current;
use partita_plan::outbox::Courier;
use partita_store::surroundings::SystemClock;
use tracing::warn;

use crate::backup::restored::Pause;
use crate::cli::{
    CheckFormat, MailKind, OutboxCommandFlags, OutboxFlags, OutboxWish, ServeFlags, SmtpTls,
};
use crate::door::Door;
use crate::json_text;
use crate::output::print;

/// The port for mail that is submitted.
const SUBMISSION: u16 = 587;

/// Lists the messages of a design, or has one retried or dropped.
pub(crate) async fn run(flags: &OutboxCommandFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let id = flags.id.clone();
    let (request, done) = match flags.wish {
        OutboxWish::List if id.is_some() => bail!("a list is of all messages: leave the id out"),
        OutboxWish::List => (Outbox::default(), None),
        OutboxWish::Retry => {
            let request = Outbox {
                retry: id,
                ..Outbox::default()
            };
            (request, Some("it is tried again\n"))
        }
        OutboxWish::Resume if id.is_some() => bail!("everything goes on: leave the id out"),
        OutboxWish::Resume => {
            let request = Outbox {
                resume: true,
                ..Outbox::default()
            };
            (request, Some("mails, events and schedules go on\n"))
        }
        OutboxWish::Drop => {
            let request = Outbox {
                drop: id,
                ..Outbox::default()
            };
            (request, Some("it is dropped\n"))
        }
    };
    let messages = door.ask(&subject, request, &mut |()| {}).await?;
    let text = match (done, flags.format) {
        (Some(done), _) => done.to_owned(),
        (None, CheckFormat::Json) => json_text(&serde_json::to_value(&messages)?),
        (None, CheckFormat::Text) => table(&messages),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A line for each message, those that are parked first.
fn table(messages: &[ListedMessage]) -> String {
    if messages.is_empty() {
        return "nothing waits, and nothing is parked\n".to_owned();
    }
    let mut lines = vec![format!(
        "{:<26}  {:<8}  {:<16}  {}",
        "message", "state", "channel", "of"
    )];
    for message in messages {
        let ListedMessage {
            id, state, channel, ..
        } = message;
        let of = printable::line(&message.of);
        let what = printable::line(&message.what);
        lines.push(format!(
            "{id}  {state:<8}  {channel:<16}  {of}: {}, {what}",
            message.cause
        ));
        if let Some(error) = &message.last_error {
            let again = message.due.as_ref();
            let again = again.map(|due| format!(", again at {due}"));
            lines.push(format!(
                "{:28}{} failed, the last: {}{}",
                "",
                message.attempts,
                printable::line(error),
                again.unwrap_or_default()
            ));
        }
    }
    lines.join("\n") + "\n"
}

/// The ways out that the flags name.
pub(crate) fn post(flags: &ServeFlags) -> Result<Arc<Post>> {
    let given = &flags.outbox;
    let mailer = mailer(given, is_local(flags)?)?;
    Ok(Arc::new(Post::new(mailer, receivers(given)?)))
}

/// Delivers the messages of a design for as long as the server lives.
pub(crate) fn start_delivering(
    current: Arc<Current>,
    post: Arc<Post>,
    flags: &ServeFlags,
    is_alone: bool,
    pause: Pause,
) {
    let name = current.get().design().name.clone();
    let streams = flags.outbox.send_stream.iter();
    let own = streams.filter(|(of, _)| *of == name);
    let receivers: Vec<String> = own.map(|(_, receiver)| receiver.clone()).collect();
    tokio::spawn(async move {
        pause.end().await;
        let mut moves = current.moves();
        let courier = Courier::new(current.get(), post);
        let mut courier = if is_alone {
            courier
        } else {
            courier.beside_others()
        };
        if is_alone && let Err(error) = courier.take_over().await {
            warn!(design = name, "messages wait until leases end: {error}");
        }
        let failed = |error| warn!(design = name, "messages are not delivered: {error}");
        loop {
            moves.mark_unchanged();
            courier = courier.at_stage(current.get());
            let streams = receivers.iter();
            let streams = streams.map(|receiver| courier.keep_streaming(receiver, failed));
            let delivering = async {
                futures::join!(
                    courier.keep_delivering(&receivers, failed),
                    futures::future::join_all(streams)
                )
            };
            tokio::select! {
                _ = delivering => {}
                moved = moves.changed() => if moved.is_err() { return },
            }
        }
    });
}

/// Refuses to send changes of a design that is not served or has no stream, or to nobody.
pub(crate) fn check_streams(flags: &ServeFlags, designs: &[(String, Design)]) -> Result<()> {
    for (name, receiver) in &flags.outbox.send_stream {
        let mut served = designs.iter().map(|(_, design)| design);
        let Some(design) = served.find(|design| design.name == *name) else {
            bail!("--send-stream {name}={receiver}: no design `{name}` is served");
        };
        let mut known = flags.outbox.receiver.iter();
        if !known.any(|(one, _)| one == receiver) {
            bail!("--send-stream {name}={receiver}: give --receiver {receiver}=URL");
        }
        let mut tables = design.tables.iter();
        let has_none = |stream: Option<&str>| matches!(stream, None | Some("off"));
        if tables.all(|table| has_none(table.settings.stream.as_deref())) {
            bail!(
                "--send-stream {name}={receiver}: the tables of `{name}` have no stream; write \
                 `stream = \"new-and-old-images\"` in `[table]`"
            );
        }
    }
    Ok(())
}

/// Whether only this machine reaches the server. A public address beyond it says that there is a proxy.
fn is_local(flags: &ServeFlags) -> Result<bool> {
    let url = flags
        .public_url
        .as_deref()
        .map(PublicUrl::new)
        .transpose()?;
    Ok(flags.listen.ip().is_loopback() && url.is_none_or(|url| url.is_loopback()))
}

fn mailer(flags: &OutboxFlags, is_local: bool) -> Result<Mailer> {
    let is_half = flags.smtp_user.is_some() != flags.smtp_password_file.is_some();
    if is_half {
        bail!("--smtp-user and --smtp-password-file belong together");
    }
    if flags.smtp.is_none() && (flags.smtp_user.is_some() || flags.smtp_tls.is_some()) {
        bail!("--smtp-user and --smtp-tls are for the server of --smtp");
    }
    match (flags.mail, &flags.smtp) {
        (Some(MailKind::Log), _) => Ok(Mailer::Log),
        (Some(MailKind::Smtp), None) => bail!("--mail smtp needs a server: give one with --smtp"),
        (_, Some(server)) => smtp(flags, server),
        // Links in mails are secrets. A log on a server may be read by many.
        (None, None) if is_local => Ok(Mailer::Log),
        (None, None) => Ok(Mailer::None),
    }
}

fn smtp(flags: &OutboxFlags, server: &str) -> Result<Mailer> {
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) => {
            let port = port.parse();
            (host, port.with_context(|| format!("--smtp {server}"))?)
        }
        None => (server, SUBMISSION),
    };
    let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let security = match flags.smtp_tls {
        Some(SmtpTls::None) => SmtpSecurity::None,
        None if is_here => SmtpSecurity::None,
        Some(SmtpTls::Starttls) | None => SmtpSecurity::StartTls,
        Some(SmtpTls::Tls) => SmtpSecurity::Tls,
    };
    let user = match (&flags.smtp_user, &flags.smtp_password_file) {
        (Some(user), Some(file)) => {
            let password = read(file)?;
            Some((user.clone(), password.trim_end_matches(['\r', '\n']).into()))
        }
        _ => None,
    };
    let from = flags.mail_from.as_deref();
    let from = from.context("--smtp needs --mail-from, the address that mails are from")?;
    let smtp = Smtp::new((host, port), security, user, from);
    let smtp = smtp.map_err(|error| anyhow!("mail cannot be sent: {error}"))?;
    Ok(Mailer::Smtp(Box::new(smtp)))
}

fn receivers(flags: &OutboxFlags) -> Result<HashMap<String, Receiver>> {
    let mut receivers = HashMap::new();
    for (name, url) in &flags.receiver {
        let mut files = flags.receiver_secret_file.iter();
        let Some((_, file)) = files.find(|(known, _)| known == name) else {
            bail!(
                "events to `{name}` must be signed: give a secret with --receiver-secret-file \
                 {name}=FILE"
            );
        };
        let secret = read(Path::new(file))?;
        let receiver = Receiver::new(url, &secret, Arc::new(SystemClock));
        let receiver = receiver.with_context(|| format!("`{name}` cannot be a receiver"))?;
        if receivers.insert(name.clone(), receiver).is_some() {
            bail!("there are two receivers `{name}`");
        }
    }
    for (name, _) in &flags.receiver_secret_file {
        if !receivers.contains_key(name) {
            bail!("there is a secret for `{name}`, but no --receiver {name}=URL");
        }
    }
    Ok(receivers)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}
