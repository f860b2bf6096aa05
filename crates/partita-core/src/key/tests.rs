use proptest::prelude::*;

use super::*;

fn bytes_of(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(write_key(value, &mut out));
    out
}

#[test]
fn a_list_is_no_key() {
    assert!(!write_key(&Value::L(Vec::new()), &mut Vec::new()));
    assert!(!write_prefix(&Value::from(1_i64), &mut Vec::new()));
}

proptest! {
    #[test]
    fn composite_strings_sort_as_tuples(
        a in "[a\0b]{0,4}", b in "[a\0b]{0,4}", c in "[a\0b]{0,4}", d in "[a\0b]{0,4}",
    ) {
        let bytes = |one: &str, two: &str| {
            let mut out = bytes_of(&Value::from(one));
            out.extend(bytes_of(&Value::from(two)));
            out
        };
        prop_assert_eq!(bytes(&a, &b).cmp(&bytes(&c, &d)), (&a, &b).cmp(&(&c, &d)));
    }

    #[test]
    fn keys_read_back(content in prop::collection::vec(any::<u8>(), 0..12), rest in any::<u8>()) {
        let value = Value::B(content);
        let mut bytes = bytes_of(&value);
        let length = bytes.len();
        bytes.push(rest);
        prop_assert_eq!(read_key(Type::B, &bytes), Some((value, length)));
    }

    #[test]
    fn a_prefix_is_a_prefix_of_the_bytes(text in "[a\0b]{0,6}", prefix in "[a\0b]{0,3}") {
        let mut start = Vec::new();
        prop_assert!(write_prefix(&Value::from(prefix.as_str()), &mut start));
        prop_assert_eq!(
            bytes_of(&Value::from(text.as_str())).starts_with(&start),
            text.starts_with(&prefix)
        );
    }
}
