//! Bodies that are small to send and large to read.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use partita_design::time;
use partita_store::Clock as _;
use partita_store::surroundings::SystemClock;
use serde_json::Value as Json;

use super::{Answer, connect, exchange, get, post};
use crate::endpoint::KEY_ID;
use crate::server::{Server, token};

/// A few of the largest bodies, and the server itself, which is not optimised here.
const MEGABYTES_MAX: u64 = 400;

/// More than there are threads that answer requests.
const AT_A_TIME: usize = 6;

/// Bodies of up to two megabytes that took gigabytes or minutes once.
fn hostile() -> Vec<(&'static str, String)> {
    let long = "k".repeat(400_000);
    let attributes = |value: &str| {
        let all: Vec<_> = (0..60_000)
            .map(|at| format!(r#""a{at}":{value}"#))
            .collect();
        format!("{{{}}}", all.join(","))
    };
    let operations =
        |one: &str, count: usize| format!(r#"{{"operations":[{}]}}"#, vec![one; count].join(","));
    vec![
        (
            "doubled names",
            format!(
                r#"{{"{long}":[{}]}}"#,
                vec![r#"{"a":0,"a":0}"#; 110_000].join(",")
            ),
        ),
        (
            "empty lists",
            format!(r#"{{"{long}":[{}]}}"#, vec!["[]"; 480_000].join(",")),
        ),
        (
            "deep lists",
            format!(
                r#"{{"a":[{}]}}"#,
                vec![format!("{}{}", "[".repeat(100), "]".repeat(100)); 9_000].join(",")
            ),
        ),
        (
            "bad numbers",
            format!(r#"{{"{long}":[{}]}}"#, vec!["1e999"; 200_000].join(",")),
        ),
        (
            "numbers",
            format!(r#"{{"a":[{}]}}"#, vec!["0"; 950_000].join(",")),
        ),
        (
            "objects",
            format!(r#"{{"a":[{}]}}"#, vec![r#"{"a":0}"#; 230_000].join(",")),
        ),
        ("attributes", attributes("0")),
        ("attributes that are removed", attributes("null")),
        (
            "one long name",
            format!(r#"{{"{}":0}}"#, "k".repeat(1_900_000)),
        ),
        (
            "one long text",
            format!(r#"{{"title":"{}"}}"#, "k".repeat(1_900_000)),
        ),
        ("operations", operations("{}", 600_000)),
        (
            "a hundred bad operations",
            operations(r#"{"method":"POST","path":"x","body":{"a":1e999}}"#, 100),
        ),
        (
            "a long path of an operation",
            operations(
                &format!(r#"{{"method":"GET","path":"{}"}}"#, "/a".repeat(900_000)),
                1,
            ),
        ),
    ]
}

fn check(what: &str, path: &str, answer: &Answer) {
    let Answer { status, body, .. } = answer;
    let problem: Json = serde_json::from_str(body).unwrap_or_default();
    let is_problem = problem["type"].is_string();
    assert!(
        (400..500).contains(status) && is_problem,
        "{what} to {path}: {status} {body:.300}"
    );
    assert!(
        body.len() < 100_000,
        "{what} to {path}: {} bytes",
        body.len()
    );
}

#[test]
fn no_body_kills_the_server_or_keeps_others_waiting() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory", "stories", "mediahub"]);
    let ann = format!("Authorization: Bearer {}\r\n", token(data.path(), "ann"));
    let nobody = String::new();
    let (_, slow) = &hostile()[1];
    let slow_request = post("/mediahub/auth/sign-up", "", slow);
    let is_over = AtomicBool::new(false);
    let answered = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(get(server.address(), "/healthz", "").status, 200);
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
        for (what, body) in hostile() {
            let calls = if body.starts_with(r#"{"operations""#) {
                [("/stories/batch", &nobody), ("/stories/batch", &ann)]
            } else {
                [("/stories/Node", &ann), ("/mediahub/auth/sign-up", &nobody)]
            };
            for (path, headers) in calls {
                let request = post(path, headers, &body);
                let answer = exchange(&mut connect(server.address()), &request);
                check(what, path, &answer);
            }
            // A request that needs a token is refused before anything is read.
            let request = post("/stories/Node", &nobody, &body);
            let answer = exchange(&mut connect(server.address()), &request);
            assert_eq!(answer.status, 401, "{what}");
            let peak = server.peak_megabytes();
            assert!(peak < MEGABYTES_MAX, "{what}: {peak} MB");
        }
        // All of one kind at once, on more connections than there are threads.
        let senders = [(); AT_A_TIME]
            .map(|()| scope.spawn(|| exchange(&mut connect(server.address()), &slow_request)));
        for sender in senders {
            check(
                "many at once",
                "/mediahub/auth/sign-up",
                &sender.join().unwrap(),
            );
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(answered.into_inner() > 0);
    let peak = server.peak_megabytes();
    assert!(peak < MEGABYTES_MAX, "{peak} MB");
}

/// An open entity takes as many attributes as fit, in a time that grows with them.
#[test]
fn many_attributes_are_taken_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--memory", "stories"]);
    let ann = format!("Authorization: Bearer {}\r\n", token(data.path(), "ann"));
    let mut stream = connect(server.address());
    let mut ask = |method: &str, path: &str, body: &str| {
        let request = String::from_utf8(post(path, &ann, body)).unwrap();
        let request = request.replacen("POST", method, 1);
        let answer = exchange(&mut stream, request.as_bytes());
        assert!(
            answer.status < 300,
            "{} {:.300}",
            answer.status,
            answer.body
        );
        serde_json::from_str::<Json>(&answer.body).unwrap()
    };
    let story = "01JGFJJZ00000000000000DVNE";
    let new = format!(r#"{{"userId":"ann","id":"{story}","title":"Dune"}}"#);
    ask("POST", "/stories/Story", &new);
    let many = |value: &str| {
        let all: Vec<_> = (0..40_000)
            .map(|at| format!(r#""a{at}":{value}"#))
            .collect();
        all.join(",")
    };
    let node = format!(r#"{{"userId":"ann","storyId":"{story}",{}}}"#, many("0"));
    let created = ask("POST", "/stories/Node", &node);
    assert_eq!(created["a39999"], 0);
    let id = created["id"].as_str().unwrap();
    let path = format!("/stories/Node/ann/{story}/{id}");
    let left = ask("PATCH", &path, &format!("{{{}}}", many("null")));
    assert!(left.get("a0").is_none() && left["id"] == id, "{left}");
}

/// Requests whose last bytes never come, from senders who are not known: they fill no memory, and
/// those who are known are answered.
#[test]
fn bodies_of_unknown_senders_fill_no_memory() {
    let data = tempfile::tempdir().unwrap();
    let credentials = data.path().join("credentials");
    std::fs::write(&credentials, format!("{KEY_ID}\nsecret\n")).unwrap();
    let flags = [
        "--memory",
        "stories",
        "mediahub",
        "--bodies-mb",
        "64",
        "--credentials-file",
    ];
    let flags = [&flags[..], &[credentials.to_str().unwrap()]].concat();
    let server = Server::start(data.path(), &flags);
    let before = server.peak_megabytes();

    let large = " ".repeat(15 * 1_048_576);
    let target = "x-amz-target: DynamoDB_20120810.ListTables\r\n";
    let unsigned = post("/", target, &large);
    let answer = exchange(&mut connect(server.address()), &unsigned);
    assert_eq!(answer.status, 400, "{}", answer.head);
    assert!(
        answer.body.contains("MissingAuthenticationToken"),
        "{}",
        answer.body
    );
    let elsewhere = post("/", &(target.to_owned() + &signed("AKIDELSEWHERE")), &large);
    let answer = exchange(&mut connect(server.address()), &elsewhere);
    assert!(
        answer.body.contains("UnrecognizedClient"),
        "{}",
        answer.body
    );

    // What may be signed is read as far as there is room.
    let forged = post("/", &(target.to_owned() + &signed(KEY_ID)), &large);
    let cut = &forged[..forged.len() - 1];
    let mut waiting = Vec::new();
    let mut busy = 0;
    for _ in 0..30 {
        let mut stream = connect(server.address());
        let _ = stream.write_all(cut);
        waiting.push(stream);
    }
    let small = post("/mediahub/auth/sign-up", "", "{}");
    for _ in 0..20 {
        // Small ones of others share the room, and are refused until there is room again.
        let answer = exchange(&mut connect(server.address()), &small);
        if answer.status == 503 {
            assert_eq!(answer.header("retry-after"), Some("1"));
            busy += 1;
        }
    }
    // Which of them had room is up to the scheduler; the wrong signature shows which.
    for mut stream in waiting.split_off(3) {
        let _ = stream.write_all(b" ");
        let answer = super::read_answer(&mut stream);
        if answer.status == 503 {
            assert_eq!(answer.header("retry-after"), Some("1"));
            busy += 1;
        } else {
            assert!(answer.body.contains("InvalidSignature"), "{}", answer.body);
        }
    }
    assert!(busy > 0);

    let ann = format!("Authorization: Bearer {}\r\n", token(data.path(), "ann"));
    let story = post("/stories/Story", &ann, r#"{"userId":"ann","title":"Dune"}"#);
    let answer = exchange(&mut connect(server.address()), &story);
    assert_eq!(answer.status, 201, "{}", answer.body);
    let taken = server.peak_megabytes().saturating_sub(before);
    assert!(taken < 150, "{taken} MB");

    // Afterwards there is room again.
    drop(waiting);
    let mut attempts = (0..1_000).map(|_| exchange(&mut connect(server.address()), &small).status);
    assert!(attempts.any(|status| status == 422));
}

/// A head that is well formed, fresh and of that key, and whose signature is not.
pub(super) fn signed(key: &str) -> String {
    let now = now();
    let day = &now[..8];
    format!(
        "x-amz-date: {now}\r\nAuthorization: AWS4-HMAC-SHA256 Credential={key}/{day}/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature={}\r\n",
        "0".repeat(64)
    )
}

/// The time as signatures have it.
fn now() -> String {
    let millis = SystemClock.now_millis();
    let text = time::format_millis(millis);
    let digits: String = text.chars().filter(|it| !"-:".contains(*it)).collect();
    format!(
        "{}Z",
        digits.split('.').next().unwrap().trim_end_matches('Z')
    )
}
