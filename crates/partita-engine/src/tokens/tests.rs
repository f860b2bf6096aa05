use super::*;

const WINDOW: i64 = CLIENT_REQUEST_TOKEN_SECONDS as i64 * 1_000;

fn remember(tokens: &mut Tokens, token: &str, now_millis: i64) {
    tokens.add(token, Remembered::new(1, now_millis));
}

fn expired(tokens: &Tokens, now_millis: i64) -> Vec<&str> {
    tokens.expired(now_millis).collect()
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
    tokens.remove("early");
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

#[test]
fn those_of_one_millisecond_go_one_by_one() {
    let mut tokens = Tokens::default();
    for token in ["a", "", "ccc", "dd"] {
        remember(&mut tokens, token, 0);
    }
    assert_eq!(expired(&tokens, WINDOW), ["a", "", "ccc", "dd"]);
    tokens.remove("ccc");
    tokens.remove("ccc");
    assert_eq!(expired(&tokens, WINDOW), ["a", "", "dd"]);
    for token in ["a", "", "dd"] {
        assert!(tokens.find(token, 0).is_some());
        tokens.remove(token);
    }
    assert!(tokens.by_expiry.is_empty() && tokens.remembered.is_empty());
}

/// What `docs/running.md` says of the memory that tokens take.
#[test]
fn a_token_takes_about_a_hundred_bytes() {
    let mut tokens = Tokens::default();
    let count = 100_000;
    for number in 0..count {
        // As many in a commit as there are under load.
        let token = format!("{number:026}");
        remember(&mut tokens, &token, number / 8);
    }
    let map = tokens.remembered.capacity() * 8 / 7 * (size_of::<(u128, Remembered)>() + 1);
    // A node of the tree is at least half full.
    let tree = tokens.by_expiry.len() * 2 * size_of::<(i64, Texts)>();
    let texts: usize = tokens.by_expiry.values().map(|one| one.0.capacity()).sum();
    let each = (map + tree + texts) / usize::try_from(count).unwrap();
    assert!(each <= 110, "{each}");
}
