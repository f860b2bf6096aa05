use super::*;

fn refused(body: &str) -> Problem {
    parse(body.as_bytes()).unwrap_err()
}

fn faults(problem: &Problem) -> usize {
    problem.members["faults"].as_array().unwrap().len()
}

#[test]
fn values_are_those_that_were_sent() {
    let body = r#"{"b": [1, "x", [], {"d": null}, {}], "a": {"c": 1.50, "b": true}, "e": -0.1e2}"#;
    let map = parse(body.as_bytes()).unwrap();
    let text = serde_json::Value::Object(partita_core::plain::map_to_json(&map)).to_string();
    let expected = r#"{"a":{"b":true,"c":1.5},"b":[1,"x",[],{"d":null},{}],"e":-10}"#;
    assert_eq!(text, expected);
}

#[test]
fn numbers_that_cannot_be_are_told_with_their_place() {
    let problem = refused(r#"{"a": [1, {"n": 1e999}], "b": 1e-999}"#);
    let detail = problem.detail;
    assert!(
        detail.starts_with("`a[1].n` has a bad number: "),
        "{detail}"
    );
    assert!(detail.contains("; `b` has a bad number: "), "{detail}");
}

#[test]
fn the_parsers_mark_is_nobodys_elses() {
    for name in [MARK, r"\u0024serde_json::private::Number"] {
        for body in [
            format!(r#"{{"a": {{"{name}": "1", "b": 2}}}}"#),
            format!(r#"{{"a": {{"{name}": 7}}}}"#),
            format!(r#"{{"a": "$", "b": {{"{name}": {{}}}}}}"#),
        ] {
            assert_eq!(refused(&body).kind, ProblemKind::BadRequest, "{body}");
        }
    }
}

#[test]
fn a_text_may_have_the_parsers_mark() {
    for text in [
        MARK.to_owned(),
        format!("`{MARK}`: its mark"),
        format!(r#"\"{MARK}\": 1"#),
    ] {
        let body = format!(r#"{{"a": "{text}"}}"#);
        let map = parse(body.as_bytes()).unwrap();
        let text = text.replace('\\', "");
        assert_eq!(map["a"].as_str(), Some(text.as_str()), "{body}");
    }
}

#[test]
fn a_refusal_is_short_whatever_was_sent() {
    let long = "k".repeat(400_000);
    let doubled = [r#"{"a":0,"a":0}"#; 1_000].join(",");
    let numbers = ["1e999"; 1_000].join(",");
    let names: Vec<_> = (0..1_000).map(|at| format!(r#""{long}{at}":0"#)).collect();
    let names = [&names[..2], &names[..2]].concat().join(",");
    for (body, count) in [
        (format!(r#"{{"{long}": [{doubled}]}}"#), FAULTS_MAX),
        (format!(r#"{{"{long}": [{numbers}]}}"#), FAULTS_MAX),
        (format!("{{{names}}}"), 2),
    ] {
        let problem = refused(&body);
        assert_eq!(problem.kind, ProblemKind::Invalid);
        assert_eq!(faults(&problem), count);
        let document = problem.to_json("1").to_string();
        assert!(document.len() < 60_000, "{} bytes", document.len());
    }
    let problem = refused(&format!(r#"{{"a": [{doubled}]}}"#));
    let end = "; and there is more that is wrong";
    assert!(problem.detail.ends_with(end), "{}", problem.detail);
}

#[test]
fn values_are_counted() {
    let list = |count: usize| format!(r#"{{"a": [{}]}}"#, vec!["0"; count].join(","));
    // The object and the list are values, too.
    assert!(parse(list(VALUES_MAX - 2).as_bytes()).is_ok());
    let problem = refused(&list(VALUES_MAX - 1));
    assert_eq!(problem.kind, ProblemKind::BadRequest);
    assert!(problem.detail.contains("more than 409600 values"));
}

/// Only what is wrong is put into words, and every element is allocated once.
#[test]
fn a_list_is_as_large_as_what_is_in_it() {
    let body = format!(r#"{{"a": [{}]}}"#, vec![r#"{"b":[]}"#; 10_000].join(","));
    let map = parse(body.as_bytes()).unwrap();
    let Some(Value::L(list)) = map.get("a") else {
        panic!("it was a list")
    };
    assert_eq!((list.len(), list.capacity()), (10_000, 10_000));
}
