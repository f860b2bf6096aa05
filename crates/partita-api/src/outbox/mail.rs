//! Mail: into the log, or to a server.

use std::time::{Duration, UNIX_EPOCH};

use lettre::Address;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::PoolConfig;
use lettre::transport::smtp::authentication::Credentials;
#[cfg(feature = "https")]
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use partita_plan::outbox::{Mail, Message, Undelivered};
use secrecy::{ExposeSecret as _, SecretString};
use tracing::info;

/// Time for a command of the conversation with a mail server.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(10);
/// Connections to the mail server that are kept. A courier delivers as many mails at a time.
const CONNECTIONS_MAX: u32 = 8;
/// Refusals that are about who sends, and how, and not about the mail: the settings can be mended,
/// and another conversation may go better.
const ABOUT_US: [u16; 9] = [421, 500, 502, 503, 504, 530, 534, 535, 538];

/// How mail leaves.
pub enum Mailer {
    /// It is written to the log, with its text: for developers.
    Log,
    /// It is given to a mail server.
    Smtp(Box<Smtp>),
    /// Nothing is configured, so that mails wait.
    None,
}

/// A mail server.
pub struct Smtp {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// How the connection to a mail server is kept from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// Not at all.
    None,
    /// It begins in the clear and must change to TLS.
    StartTls,
    /// It is TLS from the start.
    Tls,
}

impl Smtp {
    /// A mail server at a host and port, for mails from an address such as
    /// `Stories <no-reply@example.org>`.
    pub fn new(
        (host, port): (&str, u16),
        security: SmtpSecurity,
        user: Option<(String, SecretString)>,
        from: &str,
    ) -> Result<Smtp, String> {
        let from: Mailbox = from
            .parse()
            .map_err(|error| format!("`{from}` is no address to send from: {error}"))?;
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(port)
            .timeout(Some(COMMAND_TIME_MAX))
            .pool_config(PoolConfig::new().max_size(CONNECTIONS_MAX));
        let builder = secured(builder, host, security)?;
        let builder = match user {
            Some((user, password)) => {
                let password = password.expose_secret().to_owned();
                builder.credentials(Credentials::new(user, password))
            }
            None => builder,
        };
        Ok(Smtp {
            transport: builder.build(),
            from,
        })
    }

    async fn deliver(&self, message: &Message, mail: &Mail) -> Result<(), Undelivered> {
        let never = |what: String| Undelivered::Never(what);
        // An address alone: a name around it would let one mailbox pass for many.
        let to: Address = mail
            .to
            .parse()
            .map_err(|error| never(format!("`{}` is no address: {error}", mail.to)))?;
        let millis = u64::try_from(message.created_millis).unwrap_or_default();
        let domain = self.from.email.domain();
        let letter = lettre::Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(mail.subject.as_str())
            .date(UNIX_EPOCH + Duration::from_millis(millis))
            // A mail that is delivered twice has the same id, by which it can be told.
            .message_id(Some(format!("<{}@{domain}>", message.id)))
            .header(ContentType::TEXT_PLAIN)
            .body(mail.text.clone())
            .map_err(|error| never(error.to_string()))?;
        // INVARIANT: a conversation goes on to its end, also if nobody waits for it any more. Given up
        // in the middle, its connection would be used for the next mail, which would be answered what
        // was meant for this one.
        let transport = self.transport.clone();
        let sending = tokio::spawn(async move { transport.send(letter).await });
        match sending.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(undelivered(&error)),
            Err(error) => Err(Undelivered::Later(error.to_string())),
        }
    }
}

fn undelivered(error: &lettre::transport::smtp::Error) -> Undelivered {
    let mut what = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        what = format!("{what}: {cause}");
    }
    let code = error.status().map(u16::from);
    let is_about_us = code.is_none_or(|code| ABOUT_US.contains(&code));
    // What lettre itself refuses, such as an address that the server has no form for, stays so.
    if error.is_client() || (error.is_permanent() && !is_about_us) {
        Undelivered::Never(what)
    } else if is_about_us {
        Undelivered::Later(what)
    } else {
        Undelivered::Refused(what)
    }
}

type Builder = lettre::transport::smtp::AsyncSmtpTransportBuilder;

#[cfg(feature = "https")]
fn secured(builder: Builder, host: &str, security: SmtpSecurity) -> Result<Builder, String> {
    let parameters = || TlsParameters::new(host.to_owned()).map_err(|error| error.to_string());
    Ok(match security {
        SmtpSecurity::None => builder,
        SmtpSecurity::StartTls => builder.tls(Tls::Required(parameters()?)),
        SmtpSecurity::Tls => builder.tls(Tls::Wrapper(parameters()?)),
    })
}

#[cfg(not(feature = "https"))]
fn secured(builder: Builder, _: &str, security: SmtpSecurity) -> Result<Builder, String> {
    if security == SmtpSecurity::None {
        return Ok(builder);
    }
    Err(
        "this build has no TLS for mail servers; build with `cargo build --release --features \
         https`"
            .to_owned(),
    )
}

impl Mailer {
    pub(super) async fn deliver(&self, message: &Message, mail: &Mail) -> Result<(), Undelivered> {
        match self {
            Mailer::Log => {
                let Mail { to, subject, text } = mail;
                info!(design = message.design, to, subject, text, "mail");
                Ok(())
            }
            Mailer::Smtp(smtp) => smtp.deliver(message, mail).await,
            Mailer::None => Err(Undelivered::Later(
                "no mail server is configured: give one with --smtp".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use partita_plan::outbox::Content;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Notify;

    use super::*;

    fn mail_to(to: &str) -> (Message, Mail) {
        let mail = Mail {
            to: to.to_owned(),
            subject: "News".to_owned(),
            text: "None.".to_owned(),
        };
        let message = Message {
            id: "01JGFJJZ00000000000000DVNE".to_owned(),
            design: "shop".to_owned(),
            created_millis: 0,
            content: Content::Mail(mail.clone()),
        };
        (message, mail)
    }

    fn mailer(port: u16) -> Mailer {
        let from = "Shop <shop@example.org>";
        let smtp = Smtp::new(("127.0.0.1", port), SmtpSecurity::None, None, from);
        Mailer::Smtp(Box::new(smtp.unwrap()))
    }

    #[tokio::test]
    async fn what_is_no_address_fails_for_good_and_a_server_that_is_down_does_not() {
        let mailer = mailer(1);
        for (to, is_final) in [("nobody at all", true), ("bob@example.org", false)] {
            let (message, mail) = mail_to(to);
            let outcome = mailer.deliver(&message, &mail).await.unwrap_err();
            assert_eq!(
                matches!(outcome, Undelivered::Never(_)),
                is_final,
                "{outcome}"
            );
        }
    }

    /// A mail server that takes the first mail and is slow to say so.
    #[derive(Default)]
    struct Slow {
        taken: Notify,
        go_on: Notify,
        is_interrupted: AtomicBool,
        has_held: AtomicBool,
    }

    impl Slow {
        async fn converse(self: Arc<Self>, stream: TcpStream) {
            let (reading, mut writing) = stream.into_split();
            let mut lines = BufReader::new(reading).lines();
            writing.write_all(b"220 here\r\n").await.unwrap();
            let mut is_text = false;
            while let Ok(Some(line)) = lines.next_line().await {
                let answer: &[u8] = match line.as_str() {
                    "." => {
                        is_text = false;
                        if !self.has_held.swap(true, Ordering::SeqCst) {
                            self.taken.notify_one();
                            tokio::select! {
                                () = self.go_on.notified() => {}
                                _ = lines.next_line() => {
                                    self.is_interrupted.store(true, Ordering::SeqCst);
                                }
                            }
                        }
                        b"250 taken\r\n"
                    }
                    _ if is_text => continue,
                    "DATA" => {
                        is_text = true;
                        b"354 go on\r\n"
                    }
                    _ => b"250 well\r\n",
                };
                writing.write_all(answer).await.unwrap();
            }
        }
    }

    #[tokio::test]
    async fn a_mail_that_is_given_up_leaves_its_connection_to_no_other() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let slow = Arc::new(Slow::default());
        let server = slow.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server.clone().converse(stream));
            }
        });
        let mailer = Arc::new(mailer(port));
        let (message, mail) = mail_to("ann@example.org");
        let first = {
            let mailer = mailer.clone();
            tokio::spawn(async move { mailer.deliver(&message, &mail).await })
        };
        slow.taken.notified().await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        let (message, mail) = mail_to("bob@example.org");
        mailer.deliver(&message, &mail).await.unwrap();
        assert!(!slow.is_interrupted.load(Ordering::SeqCst));
        slow.go_on.notify_one();
    }

    #[test]
    fn a_sender_is_an_address() {
        let smtp = Smtp::new(("127.0.0.1", 1), SmtpSecurity::None, None, "shop");
        assert!(smtp.is_err());
    }
}
