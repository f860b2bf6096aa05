use proptest::prelude::*;

use super::*;

fn bytes_of(key: &KeyValue) -> Vec<u8> {
    let mut out = Vec::new();
    key.write(&mut out);
    out
}

fn text(text: &str) -> KeyValue {
    KeyValue::S(text.to_owned())
}

#[test]
fn only_scalars_are_keys() {
    assert_eq!(KeyValue::from_value(&Value::Bool(true)), None);
    assert_eq!(KeyValue::from_value(&Value::L(Vec::new())), None);
    assert_eq!(KeyValue::from_value(&Value::from("a")), Some(text("a")));
}

#[test]
fn bytes_that_nobody_wrote_are_refused() {
    for bytes in [&b""[..], b"a", b"a\0", b"a\0\x01"] {
        assert_eq!(KeyValue::read(KeyType::S, bytes), None, "{bytes:?}");
    }
    assert_eq!(KeyValue::read(KeyType::S, b"\xC3\0\0"), None, "not UTF-8");
}

proptest! {
    #[test]
    fn composite_strings_sort_as_tuples(
        a in "[a\0b]{0,4}", b in "[a\0b]{0,4}", c in "[a\0b]{0,4}", d in "[a\0b]{0,4}",
    ) {
        let bytes = |one: &str, two: &str| {
            let mut out = bytes_of(&text(one));
            out.extend(bytes_of(&text(two)));
            out
        };
        prop_assert_eq!(bytes(&a, &b).cmp(&bytes(&c, &d)), (&a, &b).cmp(&(&c, &d)));
    }

    #[test]
    fn keys_read_back(content in prop::collection::vec(any::<u8>(), 0..12), rest in any::<u8>()) {
        let key = KeyValue::B(content);
        let mut bytes = bytes_of(&key);
        let length = bytes.len();
        bytes.push(rest);
        prop_assert_eq!(KeyValue::read(KeyType::B, &bytes), Some((key, length)));
    }

    #[test]
    fn a_prefix_is_a_prefix_of_the_bytes(whole in "[a\0b]{0,6}", prefix in "[a\0b]{0,3}") {
        let mut start = Vec::new();
        text(&prefix).write_prefix(&mut start);
        prop_assert_eq!(bytes_of(&text(&whole)).starts_with(&start), whole.starts_with(&prefix));
    }
}
