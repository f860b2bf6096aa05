use partita_core::Map;
use proptest::prelude::*;

use super::*;

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn value(name: &str) -> Part {
    Part::Value(Hole::attribute(name))
}

fn formatted(name: &str, format: Format) -> Part {
    Part::Value(Hole {
        format,
        ..Hole::attribute(name)
    })
}

fn story() -> Template {
    let parts = vec![
        text("USER#"),
        value("user"),
        text("#STORY#"),
        value("story"),
    ];
    Template { parts }
}

fn render(template: &Template, values: &[(&str, Value)]) -> Result<Option<String>, PartError> {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    template.key(&values.collect::<Map>())
}

fn number(text: &str) -> Value {
    Value::N(text.parse().unwrap())
}

#[test]
fn rendering() {
    let rendered = |user: Value| render(&story(), &[("user", user), ("story", Value::from("s"))]);
    assert_eq!(rendered("a".into()), Ok(Some("USER#a#STORY#s".into())));
    assert_eq!(rendered(7_i64.into()), Ok(Some("USER#7#STORY#s".into())));
    assert_eq!(
        rendered(Value::Bool(true)),
        Ok(Some("USER#true#STORY#s".into()))
    );
    for (refused, problem) in [
        (Value::from(""), PartProblem::Empty),
        (Value::from("a#STORY#b"), PartProblem::Delimiter),
        (Value::L(Vec::new()), PartProblem::Type),
    ] {
        let error = rendered(refused).unwrap_err();
        assert_eq!((error.name.as_str(), error.problem), ("user", problem));
    }
    assert_eq!(render(&story(), &[("user", "a".into())]), Ok(None));
}

#[test]
fn formats() {
    let padded = Format::Padded { width: 5 };
    let decimal = Format::Decimal {
        width: 9,
        decimals: 2,
    };
    let day = Format::Time {
        written: "%Y/%m/%d".to_owned(),
        stored: TimeForm::Epoch,
    };
    for (format, value, expected) in [
        (&padded, "42", Ok("00042")),
        (&padded, "0", Ok("00000")),
        (&padded, "123456", Err(PartProblem::Digits)),
        (&padded, "-1", Err(PartProblem::Digits)),
        (&padded, "1.5", Err(PartProblem::Digits)),
        (&decimal, "1250.5", Ok("001250.50")),
        (&decimal, "0", Ok("000000.00")),
        (&decimal, "0.005", Err(PartProblem::Digits)),
        (&day, "1767323045", Ok("2026/01/02")),
    ] {
        let found = format.text(&number(value));
        assert_eq!(found, expected.map(str::to_owned), "{format:?} {value}");
    }
}

#[test]
fn reading() {
    let template = story();
    let pair = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        template.read("USER#a#STORY#s"),
        Some(vec![pair("user", "a"), pair("story", "s")])
    );
    for other in [
        "USER#a",
        "USER##STORY#s",
        "USER#a#STORY#",
        "USER#a#STORY#s#x",
        "",
        "user#a#STORY#s",
    ] {
        assert_eq!(template.read(other), None, "{other}");
    }
    let twice = Template {
        parts: vec![value("id"), text("#"), value("id")],
    };
    assert_eq!(
        twice.read("a#a"),
        Some(vec![pair("id", "a"), pair("id", "a")])
    );
    assert_eq!(twice.read("a#b"), None);
    let padded = Template {
        parts: vec![formatted("order", Format::Padded { width: 3 })],
    };
    assert_eq!(padded.read("007"), Some(vec![pair("order", "7")]));
    assert_eq!(padded.read("000"), Some(vec![pair("order", "0")]));
    assert_eq!(padded.read("7"), None);
}

proptest! {
    #[test]
    fn different_values_give_different_keys_that_read_back(
        one in ("[a-zA-Z0-9_-]{1,4}", "[a-zA-Z0-9_-]{1,4}"),
        two in ("[a-zA-Z0-9_-]{1,4}", "[a-zA-Z0-9_-]{1,4}"),
    ) {
        let template = story();
        let key = |(user, story): &(String, String)| {
            let values = [("user", Value::from(user.as_str())), ("story", Value::from(story.as_str()))];
            render(&template, &values).unwrap().unwrap()
        };
        let (first, second) = (key(&one), key(&two));
        prop_assert_eq!(first == second, one == two);
        let expected = vec![("user".to_owned(), one.0.as_str()), ("story".to_owned(), one.1.as_str())];
        prop_assert_eq!(template.read(&first), Some(expected));
    }

    #[test]
    fn padded_numbers_sort_as_their_values(one in 0_u64.., two in 0_u64..) {
        let format = Format::Padded { width: 20 };
        let text = |number: u64| format.text(&Value::N(Number::from(number))).unwrap();
        prop_assert_eq!(text(one).cmp(&text(two)), one.cmp(&two));
    }

    #[test]
    fn padded_decimals_sort_as_their_values(one in 0_i64..100_000_000, two in 0_i64..100_000_000) {
        let format = Format::Decimal { width: 23, decimals: 2 };
        let text = |cents: i64| {
            let number = format!("{}.{:02}", cents / 100, cents % 100);
            format.text(&self::number(&number)).unwrap()
        };
        prop_assert_eq!(text(one).cmp(&text(two)), one.cmp(&two));
    }

    #[test]
    fn times_sort_as_their_values(one in 0_i64..4_000_000_000_000, two in 0_i64..4_000_000_000_000) {
        for form in [TimeForm::Timestamp, TimeForm::Date] {
            let text = |millis: i64| Format::Plain.text(&form.write(millis)).unwrap();
            let (first, second) = (form.read(&form.write(one)), form.read(&form.write(two)));
            prop_assert_eq!(text(one).cmp(&text(two)), first.cmp(&second));
        }
    }
}
