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
fn a_store_shows_its_commits() {
    let writes = Histogram::new(&[1, 2]);
    writes.observe(2);
    let meters = Meters {
        commit_writes: writes.read(),
        commit_micros: Histogram::new(&[1_000]).read(),
        commit_bytes: 7,
        waiting: 3,
        stopped: Some("the disk is on fire".to_owned()),
    };
    let mut text = Exposition::default();
    text.store(&meters);
    let expected = "\
# HELP partita_commit_writes Writes that shared a commit.
# TYPE partita_commit_writes histogram
partita_commit_writes_bucket{le=\"1\"} 0
partita_commit_writes_bucket{le=\"2\"} 1
partita_commit_writes_bucket{le=\"+Inf\"} 1
partita_commit_writes_sum 2
partita_commit_writes_count 1
# HELP partita_commit_seconds How long commits took.
# TYPE partita_commit_seconds histogram
partita_commit_seconds_bucket{le=\"0.001\"} 0
partita_commit_seconds_bucket{le=\"+Inf\"} 0
partita_commit_seconds_sum 0
partita_commit_seconds_count 0
# HELP partita_commit_bytes_total Bytes that commits wrote, keys and values.
# TYPE partita_commit_bytes_total counter
partita_commit_bytes_total 7
# HELP partita_writes_waiting Writes that wait for their commit.
# TYPE partita_writes_waiting gauge
partita_writes_waiting 3
# HELP partita_takes_writes 1 while writes are taken, 0 while they are not.
# TYPE partita_takes_writes gauge
partita_takes_writes 0
";
    assert_eq!(text.into_text(), expected);
}

#[test]
fn every_fault_has_its_own_place() {
    for (at, fault) in Fault::ALL.iter().enumerate() {
        assert_eq!(*fault as usize, at);
    }
}
