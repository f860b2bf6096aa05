//! The ways out: mail by SMTP or into the log, events as webhooks.
//!
//! The planner records what leaves and decides when it is tried; here is how it leaves.

mod mail;
mod webhook;

use std::collections::HashMap;

use async_trait::async_trait;
use partita_plan::outbox::{Channel, Content, Message, Transport, Undelivered};

pub use mail::{Mailer, Smtp, SmtpSecurity};
pub use webhook::{Receiver, ReceiverError};

/// Where mails and events of an installation go.
pub struct Post {
    mailer: Mailer,
    receivers: HashMap<String, Receiver>,
}

impl Post {
    /// Sends mail this way, and events to these receivers.
    pub fn new(mailer: Mailer, receivers: HashMap<String, Receiver>) -> Post {
        Post { mailer, receivers }
    }
}

#[async_trait]
impl Transport for Post {
    async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        match &message.content {
            Content::Mail(mail) => self.mailer.deliver(message, mail).await,
            Content::Event { receiver, event } => match self.receivers.get(receiver) {
                Some(known) => known.deliver(message, event).await,
                None => Err(Undelivered::Later(format!(
                    "no address of `{receiver}` is configured: give one with --receiver"
                ))),
            },
        }
    }

    fn serves(&self, channel: &Channel) -> bool {
        match channel {
            Channel::Mail => !matches!(self.mailer, Mailer::None),
            Channel::Receiver(name) | Channel::Stream(name) => self.receivers.contains_key(name),
        }
    }
}
