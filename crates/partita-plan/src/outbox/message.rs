//! What is delivered, and who delivers it.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value as Json;

/// Where messages go. What is on one channel does not wait for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Mail.
    Mail,
    /// A receiver of events, by its name in designs and settings.
    Receiver(String),
    /// The changes of the design's tables for a receiver.
    Stream(String),
}

impl Channel {
    const MAIL: &str = "mail";
    const RECEIVER: &str = "send:";
    const STREAM: &str = "stream:";

    /// The channel in a word, for people and in keys.
    pub fn word(&self) -> String {
        match self {
            Channel::Mail => Channel::MAIL.to_owned(),
            Channel::Receiver(name) => format!("{}{name}", Channel::RECEIVER),
            Channel::Stream(name) => format!("{}{name}", Channel::STREAM),
        }
    }

    /// The channel of a word.
    pub(crate) fn parse(word: &str) -> Option<Channel> {
        if word == Channel::MAIL {
            return Some(Channel::Mail);
        }
        let name = word.strip_prefix(Channel::RECEIVER)?;
        Some(Channel::Receiver(name.to_owned()))
    }
}

/// A mail. Its text may have secrets, such as a link that resets a password: it is sealed where it
/// is stored, and left out of debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Mail {
    /// The address.
    pub to: String,
    /// The subject; it is shown to administrators.
    pub subject: String,
    /// The text.
    pub text: String,
}

/// What a subject has at most. A line of a mail has 998 characters.
const SUBJECT_CHARS_MAX: usize = 300;

impl Mail {
    /// A mail. Its subject becomes one line: a line break would begin another header.
    pub(crate) fn new(to: String, subject: &str, text: String) -> Mail {
        let subject = subject.chars().take(SUBJECT_CHARS_MAX);
        let subject = subject.map(|letter| if letter.is_control() { ' ' } else { letter });
        Mail {
            to,
            subject: subject.collect(),
            text,
        }
    }
}

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut mail = f.debug_struct("Mail");
        mail.field("to", &self.to).field("subject", &self.subject);
        mail.finish_non_exhaustive()
    }
}

/// What a receiver is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened: `storyhub.Order.paid`.
    pub kind: String,
    /// To which item: `Order/6f1c…`.
    pub subject: String,
    /// What is told of it.
    pub data: Json,
}

/// What a message has in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A mail.
    Mail(Mail),
    /// An event for a receiver.
    Event {
        /// The receiver.
        receiver: String,
        /// What it is told.
        event: Event,
    },
}

impl Content {
    /// Where it goes.
    pub fn channel(&self) -> Channel {
        match self {
            Content::Mail(_) => Channel::Mail,
            Content::Event { receiver, .. } => Channel::Receiver(receiver.clone()),
        }
    }
}

/// A message that is to be delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its id. A message that is delivered twice has the same one.
    pub id: String,
    /// The design.
    pub design: String,
    /// When it was caused.
    pub created_millis: i64,
    /// What is in it.
    pub content: Content,
}

/// Why a message was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undelivered {
    /// It is tried again: nobody answers, or the answer says so.
    #[error("{0}")]
    Later(String),
    /// It is tried again: the other side works, and does not take this one now.
    #[error("{0}")]
    Refused(String),
    /// It is parked: the receiver will not take it.
    #[error("{0}")]
    Never(String),
}

/// Takes messages out of the system. An answer means that the other side has the message.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Delivers a message. It may have been delivered before.
    async fn deliver(&self, message: &Message) -> Result<(), Undelivered>;

    /// Whether it is configured for what is on a channel.
    fn serves(&self, channel: &Channel) -> bool {
        let _ = channel;
        true
    }
}
