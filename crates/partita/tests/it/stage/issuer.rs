//! Another issuer of tokens, whose keys the server knows.

use std::sync::Arc;

use partita_api::token::{Expected, Issuer, KeyError, KeySource, Keys};
use partita_store::Clock;
use serde_json::{Value as Json, json};

use crate::issuer::{key_set, signed};

const POOL: &str = "https://pool.example";
const CLIENT: &str = "app";
const KEY: &str = "r1";

struct KeySet;

#[async_trait::async_trait]
impl KeySource for KeySet {
    async fn fetch(&self, _: usize) -> Result<Vec<u8>, KeyError> {
        Ok(key_set().to_string().into_bytes())
    }
}

/// The issuer, as a server knows it.
pub(super) async fn known(clock: Arc<dyn Clock>) -> Issuer {
    let keys = Keys::fetch(KeySet, clock).await.unwrap();
    let expected = Expected {
        issuer: POOL.to_owned(),
        audiences: vec![CLIENT.to_owned()],
        role_claim: "role".to_owned(),
        group_claims: vec!["cognito:groups".to_owned(), "groups".to_owned()],
    };
    Issuer::new(expected, keys)
}

/// A token for somebody, with these claims.
pub(super) fn token(subject: &str, claims: &Json, clock: &dyn Clock) -> String {
    let expires = clock.now_millis() / 1000 + 3600;
    let mut all = json!({"iss": POOL, "aud": CLIENT, "sub": subject, "exp": expires});
    let given = claims.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(given);
    signed(KEY, &all)
}
