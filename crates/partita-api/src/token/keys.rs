//! The public keys of other issuers of tokens: a JSON web key set, fetched and kept.
//!
//! A key says which algorithm goes with it, and its token's header does not get to choose another:
//! RSA keys verify RS256, P-256 keys verify ES256, and no other key is taken.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use partita_store::Clock;
use serde::Deserialize;
use tokio::sync::{Mutex, RwLock};
use tracing::warn;

/// The largest key set, in bytes and in keys.
pub(super) const SET_BYTES_MAX: usize = 256 * 1024;
const KEYS_MAX: usize = 100;

/// Bytes of an RSA modulus: 2048 to 8192 bits. Smaller ones are weak; larger ones make verifying a
/// forged token more expensive than sending it.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;
/// Bytes of its exponent.
const EXPONENT_BYTES_MAX: usize = 8;

/// How old keys may be before they are fetched again, as soon as somebody needs them.
const FRESH_MILLIS: i64 = 3_600_000;
/// The pause between two fetches, so that tokens with unknown keys do not cause one each.
const PAUSE_MILLIS: i64 = 60_000;

/// Where a key set comes from.
#[async_trait]
pub trait KeySource: Send + Sync {
    /// The set as JSON, of at most so many bytes and within a few seconds.
    async fn fetch(&self, bytes_max: usize) -> Result<Vec<u8>, KeyError>;
}

/// Why there are no keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// They cannot be fetched.
    #[error("the key set cannot be read from {place}: {message}")]
    Unreachable {
        /// Where they should be.
        place: String,
        /// What went wrong.
        message: String,
    },
    /// What was fetched is not a key set that can be used.
    #[error("the key set has no key that can be used: {message}")]
    Unusable {
        /// What is wrong with it.
        message: String,
    },
}

/// One key, and the algorithm that goes with it.
pub(super) struct IssuerKey {
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

/// The keys as they were fetched last.
pub struct Keys {
    source: Box<dyn KeySource>,
    clock: Arc<dyn Clock>,
    known: RwLock<FetchedKeys>,
    /// Held by the one who fetches.
    fetching: Mutex<()>,
}

struct FetchedKeys {
    keys: HashMap<String, Arc<IssuerKey>>,
    fetched_millis: i64,
    tried_millis: i64,
}

impl Keys {
    /// Fetches the keys for the first time; without any there is no point in going on.
    pub async fn fetch(
        source: impl KeySource + 'static,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, KeyError> {
        let keys = parse(&source.fetch(SET_BYTES_MAX).await?)?;
        let now = clock.now_millis();
        Ok(Keys {
            source: Box::new(source),
            clock,
            known: RwLock::new(FetchedKeys {
                keys,
                fetched_millis: now,
                tried_millis: now,
            }),
            fetching: Mutex::new(()),
        })
    }

    /// The key of that id. An unknown key or an old set is fetched again, but not more often than
    /// once in a minute; while the issuer does not answer, the old keys stay good.
    pub(super) async fn find(&self, id: &str) -> Option<Arc<IssuerKey>> {
        let (found, is_due) = self.look(id).await;
        // One that is not known may be among those that somebody is fetching just now.
        if found.is_some() && !is_due {
            return found;
        }
        let fetching = match &found {
            // A key that is known stays good while somebody fetches.
            Some(_) => match self.fetching.try_lock() {
                Ok(fetching) => fetching,
                Err(_) => return found,
            },
            None => self.fetching.lock().await,
        };
        // After the wait the set may be the one that another request has fetched.
        let (found, is_due) = self.look(id).await;
        if !is_due {
            return found;
        }
        self.refresh().await;
        drop(fetching);
        self.look(id).await.0
    }

    async fn look(&self, id: &str) -> (Option<Arc<IssuerKey>>, bool) {
        let now = self.clock.now_millis();
        let known = self.known.read().await;
        let found = known.keys.get(id).cloned();
        let is_old = now.saturating_sub(known.fetched_millis) >= FRESH_MILLIS;
        let may_ask = now.saturating_sub(known.tried_millis) >= PAUSE_MILLIS;
        let is_due = (found.is_none() || is_old) && may_ask;
        (found, is_due)
    }

    async fn refresh(&self) {
        let now = self.clock.now_millis();
        self.known.write().await.tried_millis = now;
        let fetched = self.source.fetch(SET_BYTES_MAX).await;
        self.known.write().await.tried_millis = self.clock.now_millis();
        match fetched.and_then(|bytes| parse(&bytes)) {
            Ok(keys) => {
                let mut known = self.known.write().await;
                known.keys = keys;
                known.fetched_millis = now;
            }
            Err(error) => warn!(%error, "tokens are verified with the keys that were known"),
        }
    }
}

/// The usable keys of a set, by their ids.
fn parse(bytes: &[u8]) -> Result<HashMap<String, Arc<IssuerKey>>, KeyError> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<serde_json::Value>,
    }
    let unusable = |message: String| KeyError::Unusable { message };
    let set: Set = serde_json::from_slice(bytes).map_err(|error| unusable(error.to_string()))?;
    if set.keys.len() > KEYS_MAX {
        return Err(unusable(format!("there are more than {KEYS_MAX} keys")));
    }
    let mut keys = HashMap::new();
    let mut reasons = Vec::new();
    for json in set.keys {
        match usable(json) {
            Ok((id, key)) => {
                keys.insert(id, Arc::new(key));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    if !keys.is_empty() {
        Ok(keys)
    } else if reasons.is_empty() {
        Err(unusable("it is empty".to_owned()))
    } else {
        Err(unusable(reasons.join("; ")))
    }
}

fn usable(json: serde_json::Value) -> Result<(String, IssuerKey), String> {
    let jwk: Jwk = serde_json::from_value(json).map_err(|error| error.to_string())?;
    let common = &jwk.common;
    let id = common.key_id.clone().ok_or("a key has no `kid`")?;
    if !matches!(common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return Err(format!("`{id}` is not for signatures"));
    }
    let (algorithm, named, key) = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) => {
            let bytes = |text: &str| BASE64.decode(text).map_err(|error| error.to_string());
            let (modulus, exponent) = (bytes(&rsa.n)?, bytes(&rsa.e)?);
            let bits = modulus.len() * 8;
            if !MODULUS_BYTES.contains(&modulus.len()) || exponent.len() > EXPONENT_BYTES_MAX {
                return Err(format!("`{id}` has {bits} bits; 2048 to 8192 are taken"));
            }
            let key = DecodingKey::from_rsa_components(&rsa.n, &rsa.e);
            (Algorithm::RS256, KeyAlgorithm::RS256, key)
        }
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {
            let key = DecodingKey::from_ec_components(&curve.x, &curve.y);
            (Algorithm::ES256, KeyAlgorithm::ES256, key)
        }
        _ => return Err(format!("`{id}` is neither an RSA nor a P-256 key")),
    };
    if common
        .key_algorithm
        .as_ref()
        .is_some_and(|one| *one != named)
    {
        return Err(format!("`{id}` is not for {named}"));
    }
    let key = key.map_err(|error| format!("`{id}`: {error}"))?;
    Ok((id, IssuerKey { algorithm, key }))
}
