use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn value(name: &str) -> Part {
    Part::Value(name.to_owned())
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
    let values: BTreeMap<_, _> = values.iter().cloned().collect();
    template.render(|name| values.get(name).map(Cow::Borrowed))
}

#[test]
fn rendering() {
    let rendered = |user: Value| render(&story(), &[("user", user), ("story", Value::from("s"))]);
    assert_eq!(rendered("a".into()), Ok(Some("USER#a#STORY#s".into())));
    assert_eq!(rendered(7_i64.into()), Ok(Some("USER#7#STORY#s".into())));
    for (refused, problem) in [
        (Value::from(""), PartProblem::Empty),
        (Value::from("a#STORY#b"), PartProblem::Delimiter),
        (Value::Bool(true), PartProblem::Type),
    ] {
        let error = rendered(refused).unwrap_err();
        assert_eq!((error.name.as_str(), error.problem), ("user", problem));
    }
    assert_eq!(render(&story(), &[("user", "a".into())]), Ok(None));
}

#[test]
fn reading() {
    let template = story();
    assert_eq!(
        template.read("USER#a#STORY#s"),
        Some(vec![("user", "a"), ("story", "s")])
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
    assert_eq!(twice.read("a#a"), Some(vec![("id", "a"), ("id", "a")]));
    assert_eq!(twice.read("a#b"), None);
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
        let expected = vec![("user", one.0.as_str()), ("story", one.1.as_str())];
        prop_assert_eq!(template.read(&first), Some(expected));
    }
}
