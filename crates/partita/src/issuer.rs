//! Whose tokens are taken beside our own.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use partita_api::Tokens;
use partita_api::token::fetch::KeyFile;
use partita_api::token::{Expected, Issuer, Keys};
use partita_store::surroundings::SystemClock;

use crate::cli::IssuerFlags;

/// Takes the tokens of the issuer that the flags name, too, if they name one.
pub(crate) async fn attach(tokens: Tokens, flags: &IssuerFlags) -> Result<Tokens> {
    let (Some(place), Some(issuer)) = (&flags.jwks, &flags.issuer) else {
        return Ok(tokens);
    };
    let keys = if place.contains("://") {
        from_url(place).await
    } else {
        let file = KeyFile(place.into());
        let keys = Keys::fetch(file, Arc::new(SystemClock)).await;
        keys.map_err(anyhow::Error::from)
    };
    let keys = keys.context("tokens of another issuer cannot be verified")?;
    let expected = Expected {
        issuer: issuer.clone(),
        audiences: flags.audience.clone(),
        role_claim: flags.role_claim.clone(),
        group_claims: flags.groups_claim.clone(),
    };
    Ok(tokens.with_issuer(Issuer::new(expected, keys)))
}

#[cfg(feature = "https")]
async fn from_url(url: &str) -> Result<Keys> {
    let source = partita_api::token::fetch::KeyUrl::new(url)?;
    Ok(Keys::fetch(source, Arc::new(SystemClock)).await?)
}

#[cfg(not(feature = "https"))]
#[expect(
    clippy::unused_async,
    reason = "with the feature there is something to wait for"
)]
async fn from_url(_: &str) -> Result<Keys> {
    anyhow::bail!(
        "this build has no client for HTTPS; give --jwks a file, or build with \
         `cargo build --release --features https`"
    )
}
