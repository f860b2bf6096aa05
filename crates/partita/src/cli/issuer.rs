//! The flags of tokens that somebody else makes.

use clap::Args;

/// Whose tokens are taken beside our own.
#[derive(Debug, Args)]
pub(crate) struct IssuerFlags {
    /// A JSON web key set, a file or a URL, that the tokens of another issuer are verified with
    #[arg(
        long,
        env = "PARTITA_JWKS",
        value_name = "FILE|URL",
        requires_all = ["issuer", "audience"]
    )]
    pub(crate) jwks: Option<String>,

    /// The issuer of those tokens: their claim `iss`
    #[arg(long, env = "PARTITA_ISSUER", value_name = "URL", requires = "jwks")]
    pub(crate) issuer: Option<String>,

    /// Whom they are for: their claim `aud`, or `client_id` where there is none; may be given more
    /// than once
    #[arg(
        long,
        env = "PARTITA_AUDIENCE",
        value_name = "ID",
        value_delimiter = ',',
        requires = "jwks"
    )]
    pub(crate) audience: Vec<String>,

    /// The claim of those tokens that is the caller's role
    #[arg(
        long,
        env = "PARTITA_ROLE_CLAIM",
        value_name = "CLAIM",
        default_value = "role"
    )]
    pub(crate) role_claim: String,

    /// The claims that may list the caller's groups; the first that is there does
    #[arg(
        long,
        env = "PARTITA_GROUPS_CLAIM",
        value_name = "CLAIM",
        value_delimiter = ',',
        default_value = "cognito:groups,groups"
    )]
    pub(crate) groups_claim: Vec<String>,
}
