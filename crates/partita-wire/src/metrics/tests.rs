use super::*;

#[test]
fn requests_are_counted_by_operation_and_outcome() {
    let meters = RequestMeters::default();
    meters.count("DynamoDB_20120810.GetItem", &Ok(()), 80);
    meters.count("DynamoDB_20120810.GetItem", &Ok(()), 3_000);
    let refused: Result<(), _> = Err(Refusal::validation("no"));
    meters.count("DynamoDB_20120810.GetItem", &refused, -5);
    let unknown: Result<(), _> = Err(Refusal::silent(Fault::UnknownOperation));
    meters.count("anything\"\n", &unknown, 0);
    let mut text = Exposition::default();
    meters.expose(&mut text);
    let text = text.into_text();
    for line in [
        r#"partita_requests_total{operation="GetItem",outcome="ok"} 2"#,
        r#"partita_requests_total{operation="GetItem",outcome="ValidationException"} 1"#,
        r#"partita_requests_total{operation="unknown",outcome="UnknownOperationException"} 1"#,
        r#"partita_request_seconds_bucket{operation="GetItem",le="0.0001"} 2"#,
        r#"partita_request_seconds_bucket{operation="GetItem",le="0.005"} 3"#,
        r#"partita_request_seconds_bucket{operation="GetItem",le="+Inf"} 3"#,
        r#"partita_request_seconds_sum{operation="GetItem"} 0.00308"#,
        r#"partita_request_seconds_count{operation="GetItem"} 3"#,
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
    }
    assert!(!text.contains("PutItem"));
}

#[test]
fn every_fault_has_its_own_place() {
    for (at, fault) in Fault::ALL.iter().enumerate() {
        assert_eq!(*fault as usize, at);
    }
}
