use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fruit {
    Apple,
    Pear,
}

impl Choice for Fruit {
    const NAMES: &'static [(&'static str, Self)] =
        &[("APPLE", Fruit::Apple), ("PEAR", Fruit::Pear)];
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn failures_are_reported_together() {
    let mut constraints = Constraints::default();
    constraints.required::<()>("one", &None);
    assert_eq!(constraints.choice::<Fruit>("two", &text("PLUM")), None);
    constraints.at_least("three", Some(0), 1);
    constraints.length("four", 3, 1..=2, || "abc".into());
    let refused = constraints.finish(()).unwrap_err();
    assert_eq!(
        refused.message.unwrap(),
        "4 validation errors detected: \
         Value null at 'one' failed to satisfy constraint: Member must not be null; \
         Value 'PLUM' at 'two' failed to satisfy constraint: Member must satisfy enum value set: [APPLE, PEAR]; \
         Value '0' at 'three' failed to satisfy constraint: Member must have value greater than or equal to 1; \
         Value 'abc' at 'four' failed to satisfy constraint: Member must have length less than or equal to 2"
    );
}

#[test]
fn what_satisfies_is_given_back() {
    let mut constraints = Constraints::default();
    constraints.required("one", &Some(1));
    assert_eq!(constraints.choice("two", &text("PEAR")), Some(Fruit::Pear));
    assert_eq!(constraints.choice::<Fruit>("two", &None), None);
    constraints.at_least("three", None, 1);
    constraints.length("four", 2, 1..=2, || unreachable!("only failures are shown"));
    assert_eq!(constraints.finish((Some(1), Some(2))), Ok((1, 2)));
}

#[test]
fn ten_failures_are_enough() {
    let mut constraints = Constraints::default();
    for _ in 0..1000 {
        constraints.required::<()>("x", &None);
    }
    let message = constraints.finish(()).unwrap_err().message.unwrap();
    assert!(message.starts_with("10 validation errors detected: "));
}
