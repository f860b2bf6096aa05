use super::*;

/// The shape of a template; `{u}` is a ULID, `{t}` a timestamp, `{n}` a number, others are text.
fn shape(text: &str) -> KeyShape {
    let mut template = Template::default();
    for piece in text.split_inclusive(['{', '}']) {
        let part = match piece.strip_suffix('}') {
            Some(name) => Part::Value(crate::template::Hole::attribute(name)),
            None => Part::Text(piece.trim_end_matches('{').to_owned()),
        };
        if part != Part::Text(String::new()) {
            template.parts.push(part);
        }
    }
    KeyShape::new(&template, |name| {
        Some(match name {
            "u" => AttributeType::Ulid,
            "t" => AttributeType::timestamp(),
            "n" => AttributeType::Number(Default::default()),
            _ => AttributeType::string(),
        })
    })
}

#[test]
fn keys_that_can_be_equal() {
    for (one, two, expected) in [
        ("A", "A", true),
        ("A", "B", false),
        ("A#{x}", "A#{y}", true),
        ("A#{x}", "A#{y}#B", false),
        ("A#{x}", "B#{x}", false),
        ("{x}", "A", true),
        ("{u}", "A", false),
        ("{u}", "01ARZ3NDEKTSV4RRFFQ69G5FAV", true),
        ("{n}", "METADATA", false),
        ("{n}", "12", true),
        ("{u}", "{t}", false),
        ("{x}", "{u}", true),
        ("a{x}", "b{x}", false),
        ("a{x}", "ab{x}", true),
        ("{x}a", "{x}b", false),
        ("a{x}", "a", false),
        ("a{x}", "ab", true),
        ("{x}#A", "B#{x}", true),
    ] {
        assert_eq!(shape(one).may_equal(&shape(two)), expected, "{one} {two}");
        assert_eq!(shape(two).may_equal(&shape(one)), expected, "{two} {one}");
    }
}

#[test]
fn beginnings() {
    for (short, long, expected) in [
        ("USER#{x}", "USER#{x}#STORY#{u}", true),
        ("USER#{x}#STORY#{u}", "USER#{x}", false),
        ("USER#{x}", "USER#{x}", false),
        ("USER", "USERS#{x}", false),
        ("USER", "USER#{x}", true),
        ("DELETED#USER#{x}", "USER#{x}#STORY#{u}", false),
    ] {
        assert_eq!(
            shape(short).may_begin(&shape(long)),
            expected,
            "{short} {long}"
        );
    }
}

#[test]
fn prefixes_end_at_a_delimiter() {
    for (text, expected) in [
        ("STORY#", true),
        ("STO", false),
        ("A#{x}#", true),
        ("A#{x}", false),
    ] {
        assert_eq!(shape(text).prefix().is_some(), expected, "{text}");
    }
}

#[test]
fn likeness_is_blind_to_names() {
    assert!(shape("A#{x}").is_like(&shape("A#{y}")));
    assert!(!shape("A#{x}").is_like(&shape("A#{u}")));
    assert!(!shape("A#{x}").is_like(&shape("A#B")));
}
