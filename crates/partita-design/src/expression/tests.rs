use partita_core::Map;

use super::*;

fn number(value: i64) -> Value {
    Value::N(Number::from(value))
}

fn path(name: &str) -> Expr {
    Expr::Path(Path::attribute(name))
}

fn item() -> Map {
    Map::from([
        ("earned".to_owned(), number(10)),
        ("spent".to_owned(), number(4)),
        ("tag".to_owned(), Value::from("  Beach ")),
        ("now".to_owned(), Value::from("2026-01-02T03:04:05.678Z")),
        ("seconds".to_owned(), number(1_767_323_045)),
    ])
}

#[test]
fn arithmetic() {
    let both = |left: &str, right: &str| (Box::new(path(left)), Box::new(path(right)));
    let (left, right) = both("earned", "spent");
    assert_eq!(Expr::Minus(left, right).value(&item()), Some(number(6)));
    let (left, right) = both("earned", "missing");
    let sum = Expr::Plus(left, right);
    assert_eq!(sum.value(&item()), None);
    let first = Expr::First(vec![sum, Expr::Literal(number(0))]);
    assert_eq!(first.value(&item()), Some(number(0)));
    let negative = Expr::Negative(Box::new(path("spent")));
    assert_eq!(negative.value(&item()), Some(number(-4)));
    let least = Expr::Call(Function::Min, vec![path("earned"), path("spent")]);
    assert_eq!(least.value(&item()), Some(number(4)));
}

#[test]
fn texts() {
    let trimmed = Expr::Call(Function::Trim, vec![path("tag")]);
    let lower = Expr::Call(Function::Lower, vec![trimmed]);
    assert_eq!(lower.value(&item()), Some(Value::from("beach")));
}

#[test]
fn the_time_of_a_ulid() {
    let time = |text: &str| {
        let ulid = Expr::Literal(Value::from(text));
        Expr::Call(Function::Time, vec![ulid]).value(&item())
    };
    let expected = Value::from("2026-01-01T03:04:05.678Z");
    assert_eq!(time("01KDVR6CSE0000000000000000"), Some(expected));
    let expected = Value::from("1970-01-01T00:00:00.000Z");
    assert_eq!(time("0000000000ZZZZZZZZZZZZZZZZ"), Some(expected));
    for odd in ["", "01KDVR6CSE", "01KDVR6CSI0000000000000000"] {
        assert_eq!(time(odd), None, "{odd}");
    }
}

#[test]
fn times() {
    let month = Expr::Call(Function::Days, vec![Expr::Literal(number(30))]);
    let later = Expr::Plus(Box::new(path("now")), Box::new(month.clone()));
    let expected = Value::from("2026-02-01T03:04:05.678Z");
    assert_eq!(later.value(&item()), Some(expected));
    let stored = Expr::Time(Box::new(path("seconds")), TimeForm::Epoch);
    let later = Expr::Plus(Box::new(stored), Box::new(month));
    let expected = Value::from("2026-02-01T03:04:05.000Z");
    assert_eq!(later.value(&item()), Some(expected));
}
