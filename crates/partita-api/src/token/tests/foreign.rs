//! Tokens of other issuers, and tokens that only look so.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use partita_store::surroundings::ManualClock;
use serde_json::{Value as Json, json};

use super::test_keys::{EC, EC_X, EC_Y, RSA, RSA_MODULUS, SMALL_MODULUS};
use super::*;

pub(super) const NOW: i64 = 1_700_000_000;
const POOL: &str = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_pool";
const CLIENT: &str = "client-1";

/// A key set that tests replace, and that counts how often it is asked for.
#[derive(Clone, Default)]
struct Web(Arc<(Mutex<Option<Json>>, AtomicUsize)>);

impl Web {
    fn set(&self, keys: Option<Json>) {
        *self.0.0.lock().unwrap() = keys.map(|keys| json!({ "keys": keys }));
    }

    fn asked(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl KeySource for Web {
    async fn fetch(&self, _: usize) -> Result<Vec<u8>, KeyError> {
        self.0.1.fetch_add(1, Ordering::SeqCst);
        let set = self.0.0.lock().unwrap().clone();
        let set = set.ok_or_else(|| KeyError::Unreachable {
            place: "the web".to_owned(),
            message: "nobody is there".to_owned(),
        })?;
        Ok(set.to_string().into_bytes())
    }
}

pub(super) fn rsa(id: &str) -> Json {
    json!({"kty": "RSA", "alg": "RS256", "use": "sig", "kid": id, "n": RSA_MODULUS, "e": "AQAB"})
}

pub(super) fn ec(id: &str) -> Json {
    json!({"kty": "EC", "crv": "P-256", "use": "sig", "kid": id, "x": EC_X, "y": EC_Y})
}

struct Scene {
    tokens: Tokens,
    clock: Arc<ManualClock>,
    web: Web,
}

/// Tokens that are verified with these keys, too.
pub(super) fn tokens_with(keys: Keys, clock: &Arc<ManualClock>) -> Tokens {
    let expected = Expected {
        issuer: POOL.to_owned(),
        audiences: vec![CLIENT.to_owned()],
        role_claim: "custom:role".to_owned(),
        group_claims: vec!["cognito:groups".to_owned(), "groups".to_owned()],
    };
    let secret = Secrets::one(vec![1; 32]).unwrap();
    let tokens = Tokens::new(&secret, clock.clone());
    tokens.with_issuer(Issuer::new(expected, keys))
}

impl Scene {
    async fn new() -> Scene {
        let clock = Arc::new(ManualClock::at(NOW * 1000));
        let web = Web::default();
        web.set(Some(json!([rsa("r1"), ec("e1")])));
        let keys = Keys::fetch(web.clone(), clock.clone()).await.unwrap();
        Scene {
            tokens: tokens_with(keys, &clock),
            clock,
            web,
        }
    }

    async fn verify(&self, token: &str) -> Result<Caller, TokenError> {
        let verified = self.tokens.verify("stories", Some(token)).await;
        verified.map(|verified| verified.caller().clone())
    }
}

pub(super) fn claims() -> Json {
    json!({
        "iss": POOL,
        "aud": CLIENT,
        "sub": "ann",
        "exp": NOW + 60,
        "custom:role": "editor",
        "cognito:groups": ["staff", "admin"],
    })
}

pub(super) fn signed(algorithm: Algorithm, id: Option<&str>, claims: &Json) -> String {
    let der = |text: &str| STANDARD.decode(text).unwrap();
    let key = match algorithm {
        Algorithm::ES256 => EncodingKey::from_ec_der(&der(EC)),
        Algorithm::HS256 => EncodingKey::from_secret(RSA_MODULUS.as_bytes()),
        _ => EncodingKey::from_rsa_der(&der(RSA)),
    };
    let header = Header {
        kid: id.map(str::to_owned),
        ..Header::new(algorithm)
    };
    encode(&header, claims, &key).unwrap()
}

pub(super) fn with(name: &str, value: Json) -> Json {
    let mut claims = claims();
    match value {
        Json::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

#[tokio::test]
async fn tokens_of_a_pool_say_who_calls() {
    let scene = Scene::new().await;
    for (algorithm, id) in [(Algorithm::RS256, "r1"), (Algorithm::ES256, "e1")] {
        let token = signed(algorithm, Some(id), &claims());
        let caller = scene.verify(&token).await.unwrap();
        assert_eq!(caller.id.as_deref(), Some("ann"));
        assert_eq!(caller.role.as_deref(), Some("editor"));
        assert_eq!(caller.groups, ["staff", "admin"]);
    }
    // Our own tokens stay good.
    let own = scene.tokens.make("stories", "bob", None, &[], 60);
    assert_eq!(scene.verify(&own).await.unwrap().id.as_deref(), Some("bob"));
}

#[tokio::test]
async fn an_audience_is_one_of_several_or_a_client() {
    let scene = Scene::new().await;
    let is_good = async |claims: Json| {
        let token = signed(Algorithm::RS256, Some("r1"), &claims);
        scene.verify(&token).await.is_ok()
    };
    assert!(is_good(with("aud", json!(["other", CLIENT]))).await);
    assert!(!is_good(with("aud", json!(["other"]))).await);
    assert!(!is_good(with("aud", json!("other"))).await);
    assert!(!is_good(with("aud", Json::Null)).await);
    // An access token of Cognito.
    let mut access = with("aud", Json::Null);
    access["client_id"] = json!(CLIENT);
    assert!(is_good(access.clone()).await);
    access["client_id"] = json!("other");
    assert!(!is_good(access.clone()).await);
    // Where there is an audience, the client does not matter.
    access["client_id"] = json!(CLIENT);
    for audience in [json!("other"), Json::Null, json!([])] {
        access["aud"] = audience;
        assert!(!is_good(access.clone()).await, "{}", access["aud"]);
    }
}

#[tokio::test]
async fn claims_that_are_missing_or_wrong_are_refused() {
    let scene = Scene::new().await;
    let cases = [
        ("iss", Json::Null),
        ("iss", json!("https://accounts.google.com")),
        ("iss", json!([POOL])),
        ("exp", Json::Null),
        ("exp", json!("soon")),
        ("sub", Json::Null),
        ("sub", json!("")),
        ("nbf", json!(NOW + 61)),
        ("cognito:groups", json!("x".repeat(300))),
        ("cognito:groups", json!([1])),
        ("cognito:groups", json!(vec!["g"; 201])),
    ];
    for (name, value) in cases {
        let token = signed(Algorithm::RS256, Some("r1"), &with(name, value.clone()));
        let refused = scene.verify(&token).await;
        assert_eq!(refused, Err(TokenError::Invalid), "{name}: {value}");
    }
    let early = signed(Algorithm::RS256, Some("r1"), &with("nbf", json!(NOW + 60)));
    assert!(scene.verify(&early).await.is_ok(), "clocks differ a little");
    let old = signed(Algorithm::RS256, Some("r1"), &with("exp", json!(NOW)));
    assert_eq!(scene.verify(&old).await, Err(TokenError::Expired));
}

/// A token that is right in everything but that it calls something critical.
fn critical() -> String {
    let header = Header {
        kid: Some("r1".to_owned()),
        crit: Some(vec!["b64".to_owned()]),
        ..Header::new(Algorithm::RS256)
    };
    let key = EncodingKey::from_rsa_der(&STANDARD.decode(RSA).unwrap());
    encode(&header, &claims(), &key).unwrap()
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let scene = Scene::new().await;
    let encode = |json: Json| URL_SAFE_NO_PAD.encode(json.to_string());
    let good = signed(Algorithm::RS256, Some("r1"), &claims());
    let parts: Vec<&str> = good.split('.').collect();
    let admin = encode(with("sub", json!("root")));
    let none = encode(json!({"alg": "none", "kid": "r1"}));
    let forged = [
        ("no algorithm", format!("{none}.{}.", parts[1])),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("other claims", format!("{}.{admin}.{}", parts[0], parts[2])),
        (
            "the public key as a secret",
            signed(Algorithm::HS256, Some("r1"), &claims()),
        ),
        ("no key id", signed(Algorithm::RS256, None, &claims())),
        (
            "an unknown key",
            signed(Algorithm::RS256, Some("r9"), &claims()),
        ),
        (
            "the key of another algorithm",
            signed(Algorithm::RS256, Some("e1"), &claims()),
        ),
        (
            "the other way round",
            signed(Algorithm::ES256, Some("r1"), &claims()),
        ),
        (
            "another hash",
            signed(Algorithm::RS384, Some("r1"), &claims()),
        ),
        (
            "another padding",
            signed(Algorithm::PS256, Some("r1"), &claims()),
        ),
        ("too long", format!("{good}{}", "A".repeat(20_000))),
        ("an extension that is critical", critical()),
    ];
    for (what, token) in forged {
        assert_eq!(
            scene.verify(&token).await,
            Err(TokenError::Invalid),
            "{what}"
        );
    }
}

#[tokio::test]
async fn keys_are_asked_for_again_but_not_by_everybody() {
    let scene = Scene::new().await;
    let token = signed(
        Algorithm::RS256,
        Some("r2"),
        &with("exp", json!(NOW + 100_000)),
    );
    assert_eq!(scene.web.asked(), 1);
    scene.web.set(Some(json!([rsa("r2")])));
    assert!(
        scene.verify(&token).await.is_err(),
        "they were just fetched"
    );
    assert_eq!(scene.web.asked(), 1);
    scene.clock.advance(60_000);
    assert!(scene.verify(&token).await.is_ok());
    assert_eq!(scene.web.asked(), 2);
    for id in ["x1", "x2", "x3"] {
        let unknown = signed(Algorithm::RS256, Some(id), &claims());
        assert!(scene.verify(&unknown).await.is_err());
    }
    assert_eq!(scene.web.asked(), 2, "a stranger cannot make us ask");
    // Keys that are old are fetched again; without an answer they stay good.
    scene.web.set(None);
    scene.clock.advance(3_600_000);
    assert!(scene.verify(&token).await.is_ok());
    assert_eq!(scene.web.asked(), 3);
    assert!(scene.verify(&token).await.is_ok());
    assert_eq!(scene.web.asked(), 3);
    // A key that is withdrawn is not.
    scene.web.set(Some(json!([rsa("r3")])));
    scene.clock.advance(60_000);
    assert!(scene.verify(&token).await.is_err());
}

#[tokio::test]
async fn keys_that_cannot_be_trusted_are_not_taken() {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(0));
    let mut small = rsa("k");
    small["n"] = json!(SMALL_MODULUS);
    let mut huge = rsa("k");
    huge["n"] = json!(URL_SAFE_NO_PAD.encode(vec![255; 2048]));
    let mut encrypts = rsa("k");
    encrypts["use"] = json!("enc");
    let mut other = rsa("k");
    other["alg"] = json!("RS512");
    let mut nameless = rsa("k");
    nameless.as_object_mut().unwrap().remove("kid");
    let secret = json!({"kty": "oct", "kid": "k", "k": "c2VjcmV0"});
    for bad in [
        small,
        huge,
        encrypts,
        other,
        nameless,
        secret,
        json!({}),
        json!(1),
    ] {
        let web = Web::default();
        web.set(Some(json!([bad])));
        let refused = Keys::fetch(web.clone(), clock.clone()).await;
        assert!(matches!(refused, Err(KeyError::Unusable { .. })), "{bad}");
        // Beside a good one, it does no harm.
        web.set(Some(json!([bad, ec("e1")])));
        assert!(Keys::fetch(web, clock.clone()).await.is_ok(), "{bad}");
    }
    let web = Web::default();
    web.set(Some(json!([])));
    assert!(Keys::fetch(web, clock).await.is_err());
}
