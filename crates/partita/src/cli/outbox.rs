//! The flags of mail and of receivers of events.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How mail leaves, and who is sent events.
#[derive(Debug, Args)]
pub(crate) struct OutboxFlags {
    /// What becomes of mails: `smtp`, or `log` to write them to the log, links included; without it
    /// they go to the server of --smtp, or to the log on 127.0.0.1, or wait
    #[arg(long, env = "PARTITA_MAIL", value_name = "KIND")]
    pub(crate) mail: Option<MailKind>,

    /// The mail server: a host, with a port unless it is 587
    #[arg(long, env = "PARTITA_SMTP", value_name = "HOST:PORT")]
    pub(crate) smtp: Option<String>,

    /// How the connection to the mail server is protected; `starttls` unless it is on this machine
    #[arg(long, env = "PARTITA_SMTP_TLS", value_name = "KIND")]
    pub(crate) smtp_tls: Option<SmtpTls>,

    /// The user at the mail server, whose password is in --smtp-password-file
    #[arg(long, env = "PARTITA_SMTP_USER", value_name = "USER")]
    pub(crate) smtp_user: Option<String>,

    /// A file with the password at the mail server
    #[arg(long, env = "PARTITA_SMTP_PASSWORD_FILE", value_name = "FILE")]
    pub(crate) smtp_password_file: Option<PathBuf>,

    /// Whom mails are from, such as `Stories <no-reply@example.org>`
    #[arg(long, env = "PARTITA_MAIL_FROM", value_name = "ADDRESS")]
    pub(crate) mail_from: Option<String>,

    /// The URL of a receiver that designs `send` to by its name; may be given more than once
    #[arg(long, env = "PARTITA_RECEIVER", value_name = "NAME=URL", value_delimiter = ',', value_parser = pair)]
    pub(crate) receiver: Vec<(String, String)>,

    /// A file with the secret that events to a receiver are signed with: `whsec_` and base64, as
    /// Standard Webhooks says; one for each receiver
    #[arg(long, env = "PARTITA_RECEIVER_SECRET_FILE", value_name = "NAME=FILE", value_delimiter = ',', value_parser = pair)]
    pub(crate) receiver_secret_file: Vec<(String, String)>,

    /// Send a receiver every change of a design's tables, which must have a stream; may be given
    /// more than once
    #[arg(long, env = "PARTITA_SEND_STREAM", value_name = "DESIGN=RECEIVER", value_delimiter = ',', value_parser = pair)]
    pub(crate) send_stream: Vec<(String, String)>,
}

/// What becomes of mails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MailKind {
    /// They are given to the server of --smtp
    Smtp,
    /// They are written to the log, with everything that is in them
    Log,
}

/// How the connection to a mail server is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SmtpTls {
    /// Not at all
    None,
    /// By TLS after a beginning in the clear
    Starttls,
    /// By TLS from the start
    Tls,
}

pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}
