//! The flags of providers at which people sign in.

use clap::Args;

use super::outbox::pair;

/// Where people sign in.
#[derive(Debug, Args)]
pub(crate) struct ProviderFlags {
    /// A provider at which people sign in, by the name that designs have for it, and its issuer;
    /// `google` needs none; may be given more than once
    #[arg(long, env = "PARTITA_OIDC", value_name = "NAME=ISSUER", value_delimiter = ',', value_parser = provider)]
    pub(crate) oidc: Vec<(String, Option<String>)>,

    /// What the server is called at a provider; one for each provider
    #[arg(long, env = "PARTITA_OIDC_CLIENT", value_name = "NAME=ID", value_delimiter = ',', value_parser = pair)]
    pub(crate) oidc_client: Vec<(String, String)>,

    /// A file with the secret that the server has at a provider
    #[arg(long, env = "PARTITA_OIDC_SECRET_FILE", value_name = "NAME=FILE", value_delimiter = ',', value_parser = pair)]
    pub(crate) oidc_secret_file: Vec<(String, String)>,
}

fn provider(text: &str) -> Result<(String, Option<String>), String> {
    match text.split_once('=') {
        None if text == "google" => Ok((text.to_owned(), None)),
        Some((name, issuer)) if !name.is_empty() && !issuer.is_empty() => {
            Ok((name.to_owned(), Some(issuer.to_owned())))
        }
        _ => Err("write it as NAME=ISSUER".to_owned()),
    }
}
