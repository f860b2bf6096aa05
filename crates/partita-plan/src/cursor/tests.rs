use partita_store::surroundings::{ManualClock, SeededEntropy};

use super::*;

fn parameters(user: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("userId".to_owned(), user.to_owned())])
}

fn sealed_by(key: u8) -> CursorSeal {
    CursorSeal::new(Arc::new(KeyRing::new([key; 32])))
}

fn position() -> Position {
    Position::Key(Item::from([("PK".to_owned(), Value::from("USER#ann"))]))
}

#[test]
fn a_cursor_opens_for_its_own_question_only() {
    let seal = sealed_by(7);
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
    let stranger = sealed_by(8);
    assert_eq!(stranger.open(&question, &cursor, &clock), None);
    clock.advance(LIFETIME_MILLIS);
    assert_eq!(seal.open(&question, &cursor, &clock), None, "too old");
}

#[test]
fn a_cursor_outlives_its_key_until_that_is_taken_off_the_ring() {
    let keys = Arc::new(KeyRing::new([1; 32]));
    let seal = CursorSeal::new(keys.clone());
    let clock = ManualClock::at(1_000);
    let (caller, parameters) = (Caller::user("ann"), parameters("ann"));
    let question = Question {
        design: "stories",
        caller: &caller,
        pattern: "stories",
        parameters: &parameters,
    };
    let sealed = || seal.seal(&question, position(), &clock, &SeededEntropy::new(1));
    let old = sealed();
    keys.replace([[2; 32], [1; 32]].into());
    let new = sealed();
    assert_eq!(seal.open(&question, &old, &clock), Some(position()));
    assert_eq!(seal.open(&question, &new, &clock), Some(position()));
    assert_eq!(sealed_by(1).open(&question, &new, &clock), None);
    keys.replace([[2; 32]].into());
    assert_eq!(seal.open(&question, &old, &clock), None);
    assert_eq!(seal.open(&question, &new, &clock), Some(position()));
}

#[test]
fn every_changed_byte_is_noticed() {
    let seal = sealed_by(7);
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
