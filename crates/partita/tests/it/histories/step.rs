//! One operation of a history, and what befalls it.

use std::fmt;

use partita_core::plain;
use partita_plan::{Caller, Operation};

use super::generator::Proposal;

/// The operations of every client.
pub(crate) type Script = Vec<Vec<Step>>;

/// One operation and what befalls it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) proposal: Proposal,
    /// The key under which it is sent, and sent again.
    pub(crate) key: Option<String>,
    /// How far it gets before the client crashes.
    pub(crate) crash: Option<u32>,
    /// Whether a client who has his answer asks once more.
    pub(crate) again: bool,
    /// How much time passes before.
    pub(crate) wait_millis: i64,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Proposal {
            kind,
            caller,
            operation,
        } = &self.proposal;
        let Caller { id, role, .. } = caller;
        write!(f, "{} ", id.as_deref().unwrap_or("nobody"))?;
        if let Some(role) = role {
            write!(f, "({role}) ")?;
        }
        write!(f, "{kind}")?;
        let (identity, given, version) = match operation {
            Operation::Create { attributes, .. } => (&[][..], Some(attributes), None),
            Operation::Update {
                identity,
                changes,
                version,
                ..
            } => (&identity[..], Some(changes), *version),
            Operation::Upsert {
                identity,
                attributes,
                version,
                ..
            } => (&identity[..], Some(attributes), *version),
            Operation::Delete {
                identity, version, ..
            } => (&identity[..], None, *version),
            Operation::Restore { identity, .. } | Operation::Purge { identity, .. } => {
                (&identity[..], None, None)
            }
            Operation::Act {
                identity,
                given,
                version,
                ..
            } => (&identity[..], Some(given), *version),
            _ => (&[][..], None, None),
        };
        for part in identity {
            write!(f, " {part}")?;
        }
        if let Some(given) = given {
            write!(
                f,
                " {}",
                serde_json::Value::Object(plain::map_to_json(given))
            )?;
        }
        if let Some(version) = version {
            write!(f, " if-match {version}")?;
        }
        if let Some(key) = &self.key {
            write!(f, " under {key}")?;
        }
        match self.crash {
            Some(polls) => write!(f, ", crashes after {polls} polls"),
            None => Ok(()),
        }
    }
}
