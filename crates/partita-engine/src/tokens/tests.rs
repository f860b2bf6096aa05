use super::*;

const WINDOW: i64 = CLIENT_REQUEST_TOKEN_SECONDS as i64 * 1_000;

fn remember(tokens: &mut Tokens, token: &str, now_millis: i64) {
    tokens.add(token.into(), Remembered::new(1, now_millis));
}

fn expired(tokens: &Tokens, now_millis: i64) -> Vec<&str> {
    let expired = tokens.expired(now_millis);
    expired.map(|token| &**token).collect()
}

#[test]
fn a_token_counts_for_its_window() {
    let mut tokens = Tokens::default();
    remember(&mut tokens, "a", 5_000);
    assert!(tokens.find("a", 5_000).is_some());
    assert!(tokens.find("a", 5_000 + WINDOW - 1).is_some());
    assert!(tokens.find("a", 5_000 + WINDOW).is_none());
    assert!(tokens.find("b", 5_000).is_none());
}

#[test]
fn the_first_to_expire_goes_first() {
    let mut tokens = Tokens::default();
    remember(&mut tokens, "from a clock that was ahead", i64::MAX);
    remember(&mut tokens, "late", 2_000);
    remember(&mut tokens, "early", 1_000);
    assert_eq!(expired(&tokens, 1_000 + WINDOW), ["early"]);
    assert_eq!(expired(&tokens, 2_000 + WINDOW), ["early", "late"]);
    tokens.remove(&"early".into());
    assert_eq!(expired(&tokens, 2_000 + WINDOW), ["late"]);
}

#[test]
fn a_token_used_again_starts_anew() {
    let mut tokens = Tokens::default();
    remember(&mut tokens, "a", 0);
    remember(&mut tokens, "a", WINDOW);
    assert!(expired(&tokens, WINDOW).is_empty());
    assert!(tokens.find("a", WINDOW).is_some());
}

#[test]
fn what_is_stored_comes_back() {
    let remembered = Remembered::new(u64::MAX, -5);
    let Edit::Put(key, value) = remembered.edit("a") else {
        panic!("a token is put");
    };
    assert_eq!(keys::token_of(&key), Some("a"));
    assert_eq!(Remembered::read(&value), Some(remembered));
    assert_eq!(Remembered::read(&value[..15]), None);
    assert_eq!(Remembered::read(&[]), None);
}
