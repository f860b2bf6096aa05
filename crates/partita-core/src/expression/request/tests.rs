use std::thread;

use proptest::prelude::*;

use super::*;

/// One line of a corpus: an expression, names and values, and DynamoDB's answer.
struct Case {
    line: &'static str,
    text: &'static str,
    names: Option<AttributeNames>,
    values: Option<AttributeValues>,
    expected: &'static str,
}

fn cases(corpus: &'static str) -> impl Iterator<Item = Case> {
    let lines = corpus.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.map(|line| {
        let (input, expected) = line.split_once("=> ").expect("a case has `=> `");
        let mut parts = input.trim_end().splitn(3, " | ");
        let text = parts.next().unwrap_or_default();
        let mut json = || parts.next().unwrap_or("null");
        Case {
            line,
            text,
            names: serde_json::from_str(json()).expect("names are JSON"),
            values: serde_json::from_str(json()).expect("values are JSON"),
            expected,
        }
    })
}

fn answer(
    cache: &ExpressionCache,
    kind: ExpressionKind,
    text: &str,
    names: Option<&AttributeNames>,
    values: Option<&AttributeValues>,
) -> Result<(), ExpressionError> {
    let mut expressions = RequestExpressions::new(cache, names, values)?;
    let mut keys = None;
    match kind {
        ExpressionKind::Condition => drop(expressions.condition(text)?),
        ExpressionKind::Filter => drop(expressions.filter(text)?),
        ExpressionKind::KeyCondition => keys = Some(expressions.key_condition(text)?),
        ExpressionKind::Update => drop(expressions.update(text)?),
        ExpressionKind::Projection => drop(expressions.projection(text)?),
    }
    expressions.finish()?;
    keys.map_or(Ok(()), |keys| keys.resolve().map(drop))
}

fn said(result: Result<(), ExpressionError>) -> String {
    result.map_or_else(|error| error.message, |()| "ok".to_owned())
}

fn check(kind: ExpressionKind, corpus: &'static str) {
    let cache = ExpressionCache::default();
    for case in cases(corpus) {
        // Twice, because the second time the tree comes from the cache.
        for _ in 0..2 {
            let (names, values) = (case.names.as_ref(), case.values.as_ref());
            let got = said(answer(&cache, kind, case.text, names, values));
            assert_eq!(got, case.expected, "{}", case.line);
        }
    }
}

/// A few bytes of an expression mention a large value hundreds of times, and each is a copy.
#[test]
fn a_large_value_is_not_copied_without_end() {
    let cache = ExpressionCache::default();
    let large = Value::L(vec![Value::from(""); 20_000]);
    let mentions = |each: &dyn Fn(usize) -> String, by: &str| {
        let all: Vec<_> = (0..100).map(each).collect();
        all.join(by)
    };
    let sets = format!("SET {}", mentions(&|at| format!("z{at}=:v"), ","));
    let equal = mentions(&|at| format!("z{at}=:v"), " OR ");
    let among = format!("z IN ({})", mentions(&|_| ":v".to_owned(), ","));
    for (kind, text) in [
        (ExpressionKind::Update, sets),
        (ExpressionKind::Condition, equal.clone()),
        (ExpressionKind::Filter, equal),
        (ExpressionKind::Condition, among),
    ] {
        for (value, is_refused) in [(large.clone(), true), (Value::from("small"), false)] {
            let values = AttributeValues::from([(":v".to_owned(), value.into())]);
            let said = said(answer(&cache, kind, &text, None, Some(&values)));
            let refusal = format!(
                "Invalid {kind}: The expression attribute values are too large to be used that often; attribute value: :v"
            );
            let expected = if is_refused { &*refusal } else { "ok" };
            assert_eq!(said, expected, "{text:.40}");
        }
    }
}

#[test]
fn conditions() {
    let corpus = include_str!("../../../tests/corpus/request/condition.txt");
    check(ExpressionKind::Condition, corpus);
}

#[test]
fn filters() {
    let corpus = include_str!("../../../tests/corpus/request/filter.txt");
    check(ExpressionKind::Filter, corpus);
}

#[test]
fn key_conditions() {
    let corpus = include_str!("../../../tests/corpus/request/key.txt");
    check(ExpressionKind::KeyCondition, corpus);
}

#[test]
fn updates() {
    let corpus = include_str!("../../../tests/corpus/request/update.txt");
    check(ExpressionKind::Update, corpus);
}

#[test]
fn projections() {
    let corpus = include_str!("../../../tests/corpus/request/projection.txt");
    check(ExpressionKind::Projection, corpus);
}

#[test]
fn names_and_values() {
    let cache = ExpressionCache::default();
    for case in cases(include_str!("../../../tests/corpus/request/request.txt")) {
        let (kind, text) = case.text.split_once(": ").unwrap_or(("condition", ""));
        let kind = match kind {
            "key" => ExpressionKind::KeyCondition,
            "update" => ExpressionKind::Update,
            "projection" => ExpressionKind::Projection,
            _ => ExpressionKind::Condition,
        };
        let (names, values) = (case.names.as_ref(), case.values.as_ref());
        let got = said(answer(&cache, kind, text, names, values));
        assert_eq!(got, case.expected, "{}", case.line);
    }
}

fn said_of(kind: ExpressionKind, text: &str) -> String {
    said(answer(&ExpressionCache::default(), kind, text, None, None))
}

#[test]
fn limits() {
    let condition = |text: &str| said_of(ExpressionKind::Condition, text);
    let update = |text: &str| said_of(ExpressionKind::Update, text);
    let joined = |part: &str, count: usize, word: &str| vec![part; count].join(word);

    let operators = "Invalid ConditionExpression: The expression contains too many operators; operator count: 301";
    assert_eq!(condition(&joined("a=b", 150, " OR ")), "ok");
    assert_eq!(condition(&joined("a=b", 151, " OR ")), operators);
    assert_eq!(condition(&("NOT ".repeat(299) + "a=b")), "ok");
    assert_eq!(condition(&("NOT ".repeat(300) + "a=b")), operators);
    assert_eq!(condition(&joined("size(a)=b", 100, " OR ")), "ok");
    assert_eq!(condition(&joined("a IN (b,c)", 151, " OR ")), operators);
    let sums: Vec<_> = (0..301).map(|n| format!("a{n}=b+c")).collect();
    let refused = update(&format!("SET {}", sums.join(",")));
    assert_eq!(refused, operators.replace("Condition", "Update"));

    let list = |count| format!("a IN ({})", joined("b", count, ","));
    assert_eq!(condition(&list(100)), "ok");
    assert_eq!(
        condition(&list(101)),
        "Invalid ConditionExpression: The IN operator is provided with too many operands; number of operands: 101"
    );

    let long = |bytes: usize| format!("{}=b", "a".repeat(bytes - 2));
    assert_eq!(condition(&long(4096)), "ok");
    assert_eq!(
        condition(&long(4097)),
        "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; expression size: 4097"
    );
    assert_eq!(
        update(&format!("SET {}", long(4097))),
        "Invalid UpdateExpression: Expression size has exceeded the maximum allowed size;"
    );

    // Two of the bytes are the placeholder's.
    let large = |bytes: usize| {
        let value = Value::from("z".repeat(bytes));
        let values = AttributeValues::from([(":a".to_owned(), value.into())]);
        let cache = ExpressionCache::default();
        let checked = RequestExpressions::new(&cache, None, Some(&values));
        checked.map(drop).map_err(|error| error.message)
    };
    assert_eq!(large(2_097_150), Ok(()));
    let refused = "ExpressionAttributeValues exceeds max size";
    assert_eq!(large(2_097_151), Err(refused.to_owned()));

    let deep = |levels| joined("a", levels, ".");
    assert_eq!(said_of(ExpressionKind::Projection, &deep(32)), "ok");
    assert_eq!(
        said_of(ExpressionKind::Projection, &deep(33)),
        "Invalid ProjectionExpression: The document path has too many nesting levels; nesting levels: 33"
    );
}

#[test]
fn long_names_and_placeholders() {
    let said_of = |key: &str, name: &str| {
        let names = AttributeNames::from([(key.to_owned(), name.to_owned())]);
        let text = format!("{key} = b");
        let cache = ExpressionCache::default();
        let condition = ExpressionKind::Condition;
        said(answer(&cache, condition, &text, Some(&names), None))
    };
    assert_eq!(said_of("#a", &"a".repeat(65_535)), "ok");
    assert!(
        said_of("#a", &"a".repeat(65_536)).ends_with("must be less than 65536 bytes for key #a")
    );
    let key = format!("#{}", "a".repeat(254));
    assert_eq!(said_of(&key, "a"), "ok");
    assert!(said_of(&(key + "a"), "a").ends_with("a key that is too long; size of key: 256"));
}

#[test]
fn presence() {
    use ExpressionKind::{Condition, Filter, KeyCondition, Projection, Update};
    let names = AttributeNames::from([("#a".to_owned(), "a".to_owned())]);
    let values = AttributeValues::from([(":a".to_owned(), Value::Null.into())]);
    let check = |with_names, with_values, kinds: &[(ExpressionKind, bool)]| {
        let names = Some(&names).filter(|_| with_names);
        let values = Some(&values).filter(|_| with_values);
        said(RequestExpressions::check_presence(names, values, kinds))
    };
    let only = "can only be specified when using expressions";
    assert_eq!(check(true, true, &[(Condition, true)]), "ok");
    assert_eq!(
        check(true, true, &[(Condition, false)]),
        format!("ExpressionAttributeNames {only}")
    );
    assert_eq!(
        check(false, true, &[(Condition, false)]),
        format!("ExpressionAttributeValues {only}: ConditionExpression is null")
    );
    assert_eq!(
        check(false, true, &[(Update, false), (Condition, false)]),
        format!(
            "ExpressionAttributeValues {only}: UpdateExpression and ConditionExpression are null"
        )
    );
    let query = [(Filter, false), (KeyCondition, false), (Projection, true)];
    assert_eq!(
        check(true, true, &query),
        format!(
            "ExpressionAttributeValues {only}: FilterExpression and KeyConditionExpression are null"
        )
    );
    assert_eq!(check(false, true, &[(Projection, false)]), "ok");
}

#[test]
fn hostile_texts_fit_in_a_small_stack() {
    let texts = [
        "(".repeat(4096),
        "NOT ".repeat(1024),
        "(NOT ".repeat(299) + "a=b" + &")".repeat(299),
        "(a=b OR ".repeat(149) + "a=b" + &")".repeat(149),
        "size(".repeat(800),
        "size(".repeat(600) + "a" + &")".repeat(600) + "=b",
        "SET a=".to_owned() + &"if_not_exists(b,".repeat(200) + "c" + &")".repeat(200),
        "SET a=".to_owned() + &"(".repeat(4090),
        "a[".repeat(2048),
        "a.".repeat(2048),
        "\u{1F600}".repeat(1024),
        "a=b ".repeat(1024),
        ",".repeat(4096),
    ];
    let run = move || {
        for text in &texts {
            for kind in [
                ExpressionKind::Condition,
                ExpressionKind::Update,
                ExpressionKind::Projection,
            ] {
                let _ = said_of(kind, text);
            }
            let cache = ExpressionCache::default();
            let mut expressions = RequestExpressions::new(&cache, None, None).unwrap();
            if let Ok(condition) = expressions.condition(text) {
                condition.check().unwrap();
                let _ = condition.holds(&crate::Item::new());
                let _ = crate::expression::Renderer::default().condition(&condition);
            }
        }
    };
    let thread = thread::Builder::new().stack_size(768 * 1024);
    thread.spawn(run).unwrap().join().unwrap();
}

#[test]
fn the_cache_is_bounded() {
    let cache = ExpressionCache::new(64, 1 << 20);
    for n in 0..10_000 {
        let text = format!("a{n} = b");
        answer(&cache, ExpressionKind::Condition, &text, None, None).unwrap();
    }
    assert!(!cache.is_empty() && cache.len() <= 64, "{}", cache.len());
    let cache = ExpressionCache::new(1_000_000, 1 << 20);
    for n in 0..500 {
        let text = format!("{}{n} = b", "a".repeat(4000));
        answer(&cache, ExpressionKind::Condition, &text, None, None).unwrap();
    }
    assert!(cache.len() < 16, "{}", cache.len());
    let before = cache.len();
    let refused = answer(&cache, ExpressionKind::Condition, "a =", None, None);
    assert!(refused.is_err() && cache.len() == before);
}

/// Words that expressions are made of, in any order.
fn soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "a",
        "b",
        "#a",
        ":a",
        "(",
        ")",
        ",",
        ".",
        "[",
        "]",
        "0",
        "17",
        "=",
        "<>",
        "<",
        "+",
        "-",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "SET",
        "REMOVE",
        "ADD",
        "DELETE",
        "size",
        "contains",
        "if_not_exists",
        "list_append",
        "status",
        "é",
        "'",
        "#",
        ":",
        "\u{1F600}",
        "\n",
    ]);
    prop::collection::vec(words, 0..24).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn any_text_is_answered(text in prop_oneof![soup(), any::<String>()]) {
        let names = AttributeNames::from([("#a".to_owned(), "a".to_owned())]);
        let values = AttributeValues::from([(":a".to_owned(), Value::Null.into())]);
        let cache = ExpressionCache::default();
        for kind in [
            ExpressionKind::Condition,
            ExpressionKind::KeyCondition,
            ExpressionKind::Update,
            ExpressionKind::Projection,
        ] {
            let first = said(answer(&cache, kind, &text, Some(&names), Some(&values)));
            let second = said(answer(&cache, kind, &text, Some(&names), Some(&values)));
            prop_assert_eq!(first, second);
        }
    }
}
