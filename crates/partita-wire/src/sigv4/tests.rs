mod signer;

use http::{HeaderName, HeaderValue, Request, Uri};
use proptest::prelude::*;

use self::signer::signed;
use super::*;

/// 2015-08-30T12:36:00Z, the moment of every signature here.
const MOMENT: i64 = 1_440_938_160;

fn check(head: &Parts, body: &str, now_seconds: i64) -> Result<(), Refusal> {
    let credentials = Credentials::new("AKID", "secret".into());
    authenticate(
        Some(&credentials),
        head,
        body.as_bytes(),
        now_seconds * 1000,
    )
    .map(drop)
}

fn fault(result: Result<(), Refusal>) -> Option<Fault> {
    result.err().map(|refusal| refusal.fault)
}

#[test]
fn another_key_and_another_secret_are_refused() {
    let head = signed(("AKID", "guess"), "/", "{}");
    assert_eq!(
        fault(check(&head, "{}", MOMENT)),
        Some(Fault::InvalidSignature)
    );
    let head = signed(("DIKA", "secret"), "/", "{}");
    assert_eq!(
        fault(check(&head, "{}", MOMENT)),
        Some(Fault::UnrecognizedClient)
    );
}

/// What is known from the head before there is a body.
#[test]
fn a_head_is_known_by_the_hash_that_it_names() {
    let credentials = Credentials::new("AKID", "secret".into());
    let admitted = |mut head: Parts, hash: Option<&str>| {
        if let Some(hash) = hash {
            let hash = HeaderValue::from_str(hash).unwrap();
            head.headers.insert(BODY_HASH, hash);
        }
        let admission = admit(Some(&credentials), &head, MOMENT * 1000);
        admission.map_err(|refusal| refusal.fault)
    };
    let right = || signed(("AKID", "secret"), "/", "{}");
    let hash = sha256_hex(b"{}");
    assert_eq!(admitted(right(), Some(&hash)), Ok(Admission::Known));
    for other in [None, Some("UNSIGNED-PAYLOAD"), Some(&sha256_hex(b""))] {
        assert_eq!(admitted(right(), other), Ok(Admission::Unknown));
    }
    let guess = signed(("AKID", "guess"), "/", "{}");
    assert_eq!(admitted(guess, Some(&hash)), Ok(Admission::Unknown));
    let stranger = signed(("DIKA", "secret"), "/", "{}");
    assert_eq!(
        admitted(stranger, Some(&hash)),
        Err(Fault::UnrecognizedClient)
    );
    // A body that was not signed is found out when it is there.
    assert_eq!(
        fault(check(&right(), "{ }", MOMENT)),
        Some(Fault::InvalidSignature)
    );
    // Without credentials there is nothing to wait for.
    let without = |host: &'static str| {
        let mut head = right();
        head.headers.insert("host", HeaderValue::from_static(host));
        admit(None, &head, 0).map_err(|refusal| refusal.fault)
    };
    assert_eq!(without("localhost"), Ok(Admission::Known));
    assert_eq!(without("example.org"), Err(Fault::AccessDenied));
}

#[test]
fn fifteen_minutes_are_granted_either_way() {
    let head = signed(("AKID", "secret"), "/", "{}");
    for (late, expected) in [
        (-901, Some(Fault::InvalidSignature)),
        (-900, None),
        (900, None),
        (901, Some(Fault::InvalidSignature)),
    ] {
        assert_eq!(fault(check(&head, "{}", MOMENT + late)), expected, "{late}");
    }
}

#[test]
fn malformed_authorizations_say_what_they_lack() {
    let cases = [
        (
            None,
            Fault::MissingAuthenticationToken,
            messages::MISSING_AUTHENTICATION_TOKEN,
        ),
        (
            Some("Bearer x"),
            Fault::MissingAuthenticationToken,
            messages::MISSING_AUTHENTICATION_TOKEN,
        ),
        (
            Some("AWS4-HMAC-SHA256 Credential=a"),
            Fault::IncompleteSignature,
            "Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. Authorization=AWS4-HMAC-SHA256",
        ),
    ];
    for (authorization, fault, message) in cases {
        let mut request = Request::post("/");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let head = request.body(()).unwrap().into_parts().0;
        let refused = authenticate(None, &head, b"", 0).unwrap_err();
        assert_eq!(refused, Refusal::new(fault, message));
    }
}

/// Every step of the verification, each with a request that fails just there.
#[test]
fn each_check_refuses() {
    let scope = "20150830/us-east-1/dynamodb/aws4_request";
    let cases = [
        (
            "20150830",
            "AWS4-HMAC-SHA256",
            scope,
            "host;x-amz-date;x-amz-target",
            "Date must be",
        ),
        (
            "20150830T123600Z",
            "AWS4-HMAC-SHA256",
            scope,
            "x-amz-date;x-amz-target",
            "'Host' must",
        ),
        (
            "20150830T123600Z",
            "AWS4-HMAC-SHA256",
            scope,
            "host;x-amz-target",
            "'x-amz-date' must",
        ),
        (
            "20150830T123600Z",
            "AWS4-HMAC-SHA256",
            scope,
            "host;x-amz-date",
            "'x-amz-target' must",
        ),
        (
            "20150830T123600Z",
            "AWS4-ECDSA",
            scope,
            "host;x-amz-date;x-amz-target",
            "Unsupported AWS",
        ),
        (
            "20150830T123600Z",
            "AWS4-HMAC-SHA256",
            "a/b",
            "host;x-amz-date;x-amz-target",
            "Credential must",
        ),
        (
            "20150830T123600Z",
            "AWS4-HMAC-SHA256",
            "20150830/a/s3/aws4_request",
            "host;x-amz-date;x-amz-target",
            "Credential should be scoped to correct service",
        ),
        (
            "20150830T123600Z",
            "AWS4-HMAC-SHA256",
            "20150830/a/dynamodb/x",
            "host;x-amz-date;x-amz-target",
            "Credential should be scoped with",
        ),
        (
            "20150830T123600Z",
            "AWS4-HMAC-SHA256",
            "20150831/a/dynamodb/aws4_request",
            "host;x-amz-date;x-amz-target",
            "Date in Credential",
        ),
        (
            "20150830T123600Z",
            "AWS4-HMAC-SHA256",
            scope,
            "host;x-amz-date;x-amz-target;x-absent",
            "The request signature",
        ),
    ];
    for (date, algorithm, scope, signed, message) in cases {
        let head = Request::post("/")
            .header("host", "localhost")
            .header("x-amz-date", date)
            .header("x-amz-target", "DynamoDB_20120810.ListTables")
            .header(
                "authorization",
                format!("{algorithm} Credential=AKID/{scope}, SignedHeaders={signed}, Signature=0"),
            );
        let head = head.body(()).unwrap().into_parts().0;
        let refused = check(&head, "", MOMENT).unwrap_err().message.unwrap();
        assert!(refused.starts_with(message), "{refused}");
    }
}

#[test]
fn dates_are_spelled_in_one_way() {
    let head = signed(("AKID", "secret"), "/", "{}");
    for date in [
        "2015-08-30T12:36:00Z",
        "20151330T123600Z",
        "20150830T123660Z",
        "+0150830T123600Z",
        "é",
    ] {
        let mut head = head.clone();
        let value = HeaderValue::from_bytes(date.as_bytes()).unwrap();
        head.headers.insert("x-amz-date", value);
        assert!(check(&head, "{}", MOMENT).is_err(), "{date}");
    }
}

#[test]
fn secrets_are_not_printed() {
    let printed = format!("{:?}", Credentials::new("AKID", "hush".into()));
    assert!(
        printed.contains("AKID") && !printed.contains("hush"),
        "{printed}"
    );
}

/// One character replaced by another that is as well allowed there.
fn flipped(text: &str, at: prop::sample::Index, with: prop::sample::Index) -> String {
    let at = at.index(text.len());
    let old = text.as_bytes()[at];
    let letters: Vec<u8> = (b'0'..=b'9')
        .chain(b'a'..=b'z')
        .filter(|it| *it != old)
        .collect();
    let mut bytes = text.as_bytes().to_vec();
    bytes[at] = letters[with.index(letters.len())];
    String::from_utf8(bytes).unwrap()
}

proptest! {
    #[test]
    fn any_changed_byte_is_refused(
        place in 0..6_usize,
        at: prop::sample::Index,
        with: prop::sample::Index,
    ) {
        let body = r#"{"TableName":"notes","Key":{"pk":{"S":"a"}}}"#;
        let mut head = signed(("AKID", "secret"), "/path?query=x", body);
        let mut sent = body.to_owned();
        prop_assert_eq!(check(&head, &sent, MOMENT), Ok(()));
        let header = |head: &mut Parts, name: &'static str| {
            let old = head.headers[name].to_str().unwrap();
            let new = flipped(old, at, with).parse().unwrap();
            head.headers.insert(HeaderName::from_static(name), new);
        };
        match place {
            0 => sent = flipped(body, at, with),
            1 => header(&mut head, "x-amz-date"),
            2 => header(&mut head, "x-amz-target"),
            3 => header(&mut head, "host"),
            4 => {
                let old = head.uri.to_string();
                let new = format!("/{}", flipped(&old[1..], at, with));
                head.uri = new.parse::<Uri>().unwrap();
            }
            _ => {
                let old = head.headers["authorization"].to_str().unwrap();
                let (front, signature) = old.rsplit_once('=').unwrap();
                let new = format!("{front}={}", flipped(signature, at, with));
                head.headers.insert("authorization", new.parse().unwrap());
            }
        }
        prop_assert!(check(&head, &sent, MOMENT).is_err());
    }

    #[test]
    fn no_authorization_panics(text in "\\PC*", date in "\\PC*") {
        let mut head = signed(("AKID", "secret"), "/", "{}");
        for (name, text) in [("authorization", format!("AWS4-{text}")), ("x-amz-date", date)] {
            if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
                head.headers.insert(name, value);
            }
        }
        let result = check(&head, "{}", MOMENT);
        prop_assert!(result.is_err());
    }
}
