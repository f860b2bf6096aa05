use partita_store::surroundings::{ManualClock, SeededEntropy};

use super::*;

fn parameters(user: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("userId".to_owned(), user.to_owned())])
}

fn position() -> Position {
    Position::Key(Item::from([("PK".to_owned(), Value::from("USER#ann"))]))
}

#[test]
fn a_cursor_opens_for_its_own_question_only() {
    let seal = CursorSeal::new(&[7; 32]);
    let clock = ManualClock::at(1_000);
    let (ann, bob, admin, member) = (
        Caller::user("ann"),
        Caller::user("bob"),
        Caller {
            id: Some("ann".into()),
            role: Some("admin".into()),
            ..Caller::default()
        },
        Caller {
            groups: vec!["staff".into()],
            ..Caller::user("ann")
        },
    );
    let (hers, his) = (parameters("ann"), parameters("bob"));
    let question = Question {
        design: "stories",
        caller: &ann,
        pattern: "stories",
        parameters: &hers,
    };
    let cursor = seal.seal(&question, position(), &clock, &SeededEntropy::new(1));

    assert_eq!(seal.open(&question, &cursor, &clock), Some(position()));
    for other in [
        Question {
            caller: &bob,
            ..question
        },
        Question {
            caller: &admin,
            ..question
        },
        Question {
            caller: &member,
            ..question
        },
        Question {
            pattern: "deletedStories",
            ..question
        },
        Question {
            parameters: &his,
            ..question
        },
        Question {
            design: "storyhub",
            ..question
        },
    ] {
        assert_eq!(seal.open(&other, &cursor, &clock), None, "{other:?}");
    }
    let stranger = CursorSeal::new(&[8; 32]);
    assert_eq!(stranger.open(&question, &cursor, &clock), None);
    clock.advance(LIFETIME_MILLIS);
    assert_eq!(seal.open(&question, &cursor, &clock), None, "too old");
}

#[test]
fn every_changed_byte_is_noticed() {
    let seal = CursorSeal::new(&[7; 32]);
    let clock = ManualClock::at(1_000);
    let (caller, parameters) = (Caller::user("ann"), parameters("ann"));
    let question = Question {
        design: "stories",
        caller: &caller,
        pattern: "stories",
        parameters: &parameters,
    };
    let cursor = seal.seal(&question, position(), &clock, &SeededEntropy::new(1));
    let bytes = BASE64.decode(&cursor).unwrap();
    for index in 0..bytes.len() {
        let mut forged = bytes.clone();
        forged[index] ^= 1;
        let forged = BASE64.encode(forged);
        assert_eq!(seal.open(&question, &forged, &clock), None, "byte {index}");
    }
    for nonsense in ["", "x", "AAAA", "not base64!"] {
        assert_eq!(seal.open(&question, nonsense, &clock), None);
    }
}
