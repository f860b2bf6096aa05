//! The providers at which people sign in.

use anyhow::{Result, bail};
use partita_api::auth::oidc::Providers;
use partita_design::Design;
use tracing::warn;

use crate::cli::ProviderFlags;

/// The providers that the flags name.
pub(crate) fn open(flags: &ProviderFlags, designs: &[(String, Design)]) -> Result<Providers> {
    let mut providers = Providers::new();
    for (name, issuer) in &flags.oidc {
        let mut clients = flags.oidc_client.iter();
        let Some((_, client)) = clients.find(|(known, _)| known == name) else {
            bail!("give what the server is called at `{name}` with --oidc-client {name}=ID");
        };
        let mut files = flags.oidc_secret_file.iter();
        let file = files.find(|(known, _)| known == name);
        let file = file.map(|(_, file)| file.as_str());
        if !is_known(name, designs) {
            warn!("no design has `{name}` among the `subjects` of its `[accounts]`");
        }
        let provider = provider(issuer.as_deref(), client, file)?;
        if providers.insert(name.clone(), provider).is_some() {
            bail!("--oidc names `{name}` twice");
        }
    }
    let clients = flags.oidc_client.iter().chain(&flags.oidc_secret_file);
    for (name, _) in clients {
        if !providers.contains_key(name) {
            bail!("`{name}` is no provider: give its issuer with --oidc {name}=ISSUER");
        }
    }
    Ok(providers)
}

fn is_known(name: &str, designs: &[(String, Design)]) -> bool {
    let accounts = designs.iter().filter_map(|(_, one)| one.accounts.as_ref());
    let sign_in = accounts.filter_map(|accounts| accounts.sign_in.as_ref());
    let mut subjects = sign_in.flat_map(|sign_in| &sign_in.subjects);
    subjects.any(|(known, _)| known == name)
}

#[cfg(feature = "https")]
fn provider(
    issuer: Option<&str>,
    client: &str,
    secret_file: Option<&str>,
) -> Result<std::sync::Arc<dyn partita_api::auth::oidc::Provider>> {
    use std::sync::Arc;

    use anyhow::Context as _;
    use partita_api::auth::oidc::{GOOGLE, OpenIdProvider};
    use partita_store::surroundings::SystemClock;

    let secret = match secret_file {
        Some(file) => {
            let secret = std::fs::read_to_string(file);
            let secret = secret.with_context(|| format!("cannot read {file}"))?;
            Some(secret.trim_end_matches(['\r', '\n']).to_owned().into())
        }
        None => None,
    };
    let issuer = issuer.unwrap_or(GOOGLE);
    let provider = OpenIdProvider::new(issuer, client, secret, Arc::new(SystemClock))?;
    Ok(Arc::new(provider))
}

#[cfg(not(feature = "https"))]
fn provider(
    _: Option<&str>,
    _: &str,
    _: Option<&str>,
) -> Result<std::sync::Arc<dyn partita_api::auth::oidc::Provider>> {
    bail!(
        "this build has no client for HTTPS, which providers need; build with \
         `cargo build --release --features https`"
    )
}
