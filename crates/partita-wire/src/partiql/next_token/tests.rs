use partita_store::surroundings::SeededEntropy;

use super::*;

const STATEMENT: &str = "SELECT * FROM notes WHERE pk = ?";

fn place() -> PageStart {
    PageStart {
        partition: 3,
        after: Some(Item::from([("pk".to_owned(), Value::from("a"))])),
    }
}

#[test]
fn a_token_comes_back_for_its_statement() {
    let tokens = NextTokens::new(&SeededEntropy::new(1));
    let parameters = [Value::from("a")];
    let token = tokens.seal(STATEMENT, &parameters, place());
    assert_eq!(tokens.open(STATEMENT, &parameters, &token), Ok(place()));
}

/// The words of a refusal.
fn refused(opened: Result<PageStart, Refusal>) -> Option<String> {
    opened.err().and_then(|refusal| refusal.message)
}

#[test]
fn a_token_of_another_statement_or_process_is_refused() {
    let tokens = NextTokens::new(&SeededEntropy::new(1));
    let parameters = [Value::from("a")];
    let token = tokens.seal(STATEMENT, &parameters, place());
    let others = NextTokens::new(&SeededEntropy::new(2));
    let invalid = Some(messages::INVALID_NEXT_TOKEN.to_owned());
    assert_eq!(
        refused(others.open(STATEMENT, &parameters, &token)),
        invalid
    );
    let foreign = Some(messages::FOREIGN_NEXT_TOKEN.to_owned());
    let statement = "SELECT * FROM notes";
    assert_eq!(
        refused(tokens.open(statement, &parameters, &token)),
        foreign
    );
    let parameters = [Value::from("b")];
    assert_eq!(
        refused(tokens.open(STATEMENT, &parameters, &token)),
        foreign
    );
}

#[test]
fn a_token_that_was_changed_is_none() {
    let tokens = NextTokens::new(&SeededEntropy::new(1));
    let token = tokens.seal(STATEMENT, &[], place());
    for at in 0..token.len() {
        let mut forged = token.clone().into_bytes();
        forged[at] = if forged[at] == b'0' { b'1' } else { b'0' };
        let forged = String::from_utf8(forged).unwrap();
        assert!(tokens.open(STATEMENT, &[], &forged).is_err(), "at {at}");
    }
    for text in ["", "abc", "é", "zz", &token[2..], &token[..token.len() - 2]] {
        assert!(tokens.open(STATEMENT, &[], text).is_err(), "{text}");
    }
}
