//! The ids that requests have in logs and answers.

use std::fmt::Write as _;

use axum::http::{HeaderMap, HeaderName};
use partita_store::Entropy;

/// Where a request and its answer carry the id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that a client may choose.
const CHARACTERS_MAX: usize = 64;

/// The id that the client gave, if it looks like one, so that logs of several servers can be read
/// together; else a new one.
pub fn of(headers: &HeaderMap, entropy: &dyn Entropy) -> String {
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    match given.filter(|id| is_sane(id)) {
        Some(id) => id.to_owned(),
        None => new(entropy),
    }
}

/// Nothing that could be taken for something else in a line of a log.
fn is_sane(id: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.');
    (1..=CHARACTERS_MAX).contains(&id.len()) && id.chars().all(is_plain)
}

fn new(entropy: &dyn Entropy) -> String {
    let mut random = [0; 8];
    entropy.fill(&mut random);
    random.iter().fold(String::new(), |mut id, byte| {
        // Writing to a text cannot fail.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_store::surroundings::SeededEntropy;

    #[test]
    fn a_sane_id_is_kept_and_any_other_replaced() {
        let id = |given: &str| {
            let headers = HeaderMap::from_iter([(REQUEST_ID, given.parse().unwrap())]);
            of(&headers, &SeededEntropy::new(1))
        };
        assert_eq!(id("7f-a_b.C"), "7f-a_b.C");
        for given in ["", "a b", "a\"b", "{}", &"a".repeat(65)] {
            let made = id(given);
            assert_eq!(made.len(), 16, "{given}: {made}");
            assert!(
                made.bytes().all(|digit| digit.is_ascii_hexdigit()),
                "{made}"
            );
        }
    }
}
