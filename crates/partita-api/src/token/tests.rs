use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use partita_store::surroundings::ManualClock;
use serde_json::json;

use super::*;

mod foreign;
mod test_keys;
#[cfg(feature = "https")]
mod web;

fn tokens(byte: u8, clock: &Arc<ManualClock>) -> Tokens {
    Tokens::new(&Secrets::one(vec![byte; 32]).unwrap(), clock.clone())
}

#[tokio::test]
async fn a_token_says_who_calls() {
    let clock = Arc::new(ManualClock::at(1_000_000));
    let tokens = tokens(1, &clock);
    let groups = ["staff".to_owned()];
    let token = tokens.make("stories", "ann", Some("admin"), &groups, 60);
    let verified = tokens.verify("stories", Some(&token)).await.unwrap();
    assert_eq!(verified.caller().id.as_deref(), Some("ann"));
    assert_eq!(verified.caller().role.as_deref(), Some("admin"));
    assert_eq!(verified.caller().groups, groups);
    assert_eq!(
        tokens.verify("stories", None).await.unwrap().caller().id,
        None
    );
}

#[tokio::test]
async fn what_is_not_ours_is_refused() {
    let clock = Arc::new(ManualClock::at(1_000_000));
    let ours = tokens(1, &clock);
    let token = ours.make("stories", "ann", None, &[], 60);
    let invalid = Err(TokenError::Invalid);

    assert_eq!(
        ours.verify("storyhub", Some(&token)).await,
        invalid,
        "another design"
    );
    let stranger = tokens(2, &clock).make("stories", "ann", None, &[], 60);
    assert_eq!(
        ours.verify("stories", Some(&stranger)).await,
        invalid,
        "another secret"
    );
    for nonsense in ["", "a.b.c", "Bearer", &token[..token.len() - 1]] {
        assert_eq!(
            ours.verify("stories", Some(nonsense)).await,
            invalid,
            "{nonsense}"
        );
    }
    let mut parts = token.split('.');
    let (_, claims) = (parts.next(), parts.next().unwrap());
    let header = BASE64.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let unsigned = format!("{header}.{claims}.");
    assert_eq!(
        ours.verify("stories", Some(&unsigned)).await,
        invalid,
        "no algorithm"
    );

    for critical in ["null", "[]", "[\"b64\"]", "{}", "0"] {
        let header = format!(r#"{{"alg":"HS256","typ":"JWT","crit":{critical}}}"#);
        let message = format!("{}.{claims}", BASE64.encode(header));
        let keys = ours.keys.keys();
        let key = &keys[0].signing;
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, Algorithm::HS256);
        let token = format!("{message}.{}", signature.unwrap());
        let verified = ours.verify("stories", Some(&token)).await;
        assert_eq!(verified, invalid, "{critical}");
    }

    for (name, value) in [("sub", json!("")), ("nbf", json!(1_001))] {
        let mut claims: serde_json::Value =
            serde_json::from_slice(&BASE64.decode(claims).unwrap()).unwrap();
        claims[name] = value;
        let header = Header::new(Algorithm::HS256);
        let token = encode(&header, &claims, &ours.keys.keys()[0].signing).unwrap();
        let verified = ours.verify("stories", Some(&token)).await;
        assert_eq!(verified, invalid, "{name}");
    }

    clock.advance(60_000);
    assert_eq!(
        ours.verify("stories", Some(&token)).await,
        Err(TokenError::Expired)
    );
}
