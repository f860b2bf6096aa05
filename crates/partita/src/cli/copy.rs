//! The flags of `copy`.

use clap::Args;

use super::{CheckFormat, VariableFlags};

#[derive(Debug, Args)]
pub(crate) struct CopyFlags {
    /// A file or the name of a shipped design; only its name and its tables matter
    pub(crate) design: String,

    /// Where the data is: a data directory, or `dynamodb`
    #[arg(long, value_name = "STORE")]
    pub(crate) from: String,

    /// Where it goes: a data directory, or `dynamodb`. Its tables must be missing or empty, or be
    /// those of a copy that was interrupted
    #[arg(long, value_name = "STORE", required_unless_present = "lost")]
    pub(crate) to: Option<String>,

    /// The endpoint of DynamoDB, if it is not Amazon's
    #[arg(long, env = "PARTITA_ENDPOINT", value_name = "URL")]
    pub(crate) endpoint: Option<String>,

    /// The region of DynamoDB, if the environment does not name it
    #[arg(long, env = "PARTITA_REGION")]
    pub(crate) region: Option<String>,

    /// When both are equal, let the source take no more writes, and the target take its place
    #[arg(long)]
    pub(crate) switch: bool,

    /// Make the target equal to the source whatever it has; what the source has not is removed there
    #[arg(long)]
    pub(crate) replace: bool,

    /// Take a switch back: let the target take no more writes, and the source take them again. What
    /// was written to the target since stays there alone
    #[arg(long, conflicts_with_all = ["switch", "replace"])]
    pub(crate) reopen: bool,

    /// With --reopen, instead of --to: the target is gone, or nobody will ever serve it again. It is
    /// not told, so that both would take writes if somebody does
    #[arg(long, requires = "reopen", conflicts_with = "to")]
    pub(crate) lost: bool,

    /// The form of the answer
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}
