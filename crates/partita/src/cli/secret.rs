//! The flags of `secret`.

use clap::{Args, Subcommand};

use super::SecretFlags;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// List the secrets that are accepted, by names that reveal nothing, and say which one signs
    List(SecretPlaceFlags),
    /// Make a secret that is accepted from now on and signs after `rotate`: for several servers,
    /// each with a copy of the file
    Add(SecretPlaceFlags),
    /// Sign with a new secret, or the one that was added, and go on accepting the others
    Rotate(SecretPlaceFlags),
    /// Accept an earlier secret no longer: what it signed or sealed is void, mails that wait since
    /// then included
    Retire(RetireFlags),
}

impl SecretCommand {
    /// Where the secrets are.
    pub(crate) fn place(&self) -> &SecretFlags {
        match self {
            SecretCommand::List(flags)
            | SecretCommand::Add(flags)
            | SecretCommand::Rotate(flags) => &flags.place,
            SecretCommand::Retire(flags) => &flags.place,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SecretPlaceFlags {
    #[command(flatten)]
    pub(crate) place: SecretFlags,
}

#[derive(Debug, Args)]
pub(crate) struct RetireFlags {
    /// The name of the secret, as `partita secret list` has it
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: SecretFlags,
}
