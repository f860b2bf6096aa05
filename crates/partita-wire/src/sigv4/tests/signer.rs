//! Requests that are hard to sign, signed by AWS's own crate as the test runs: both have the same
//! canonical form.
//!
//! Tabs in headers are left out: this signer keeps them, others turn them into spaces, and a server
//! cannot know which signer a client uses.

use std::time::{Duration, UNIX_EPOCH};

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign as aws_sign};
use aws_sigv4::sign::v4::SigningParams;

use super::*;

/// A request before it is signed.
#[derive(Clone, Copy)]
struct Draft<'a> {
    method: &'a str,
    path: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: &'a [u8],
    session_token: Option<&'a str>,
}

const PLAIN: Draft<'static> = Draft {
    method: "POST",
    path: "/",
    headers: &[],
    body: b"{}",
    session_token: None,
};

impl Draft<'_> {
    /// The request as it arrives once AWS's own crate has signed it for DynamoDB.
    fn signed(self, (id, secret): (&str, &str)) -> Parts {
        let token = self.session_token.map(str::to_owned);
        let identity = aws_credential_types::Credentials::new(id, secret, token, None, "test");
        let identity = identity.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region("eu-central-1")
            .name("dynamodb")
            .time(UNIX_EPOCH + Duration::from_secs(MOMENT as u64))
            .settings(SigningSettings::default())
            .build()
            .unwrap()
            .into();
        let mut request = self.request();
        let headers = request.headers().iter();
        let signable = SignableRequest::new(
            self.method,
            request.uri().to_string(),
            headers.map(|(name, value)| (name.as_str(), value.to_str().unwrap())),
            SignableBody::Bytes(self.body),
        );
        let (instructions, _) = aws_sign(signable.unwrap(), &params).unwrap().into_parts();
        instructions.apply_to_request_http1x(&mut request);
        // A server sees the path only.
        *request.uri_mut() = self.path.parse().unwrap();
        request.into_parts().0
    }

    fn request(self) -> Request<()> {
        let mut request = Request::builder()
            .method(self.method)
            .uri(format!("http://localhost:8000{}", self.path))
            .header("host", "localhost:8000")
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", "DynamoDB_20120810.ListTables");
        for (name, value) in self.headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }
}

/// A plain request that AWS's own crate has signed.
pub(super) fn signed(credentials: (&str, &str), path: &str, body: &str) -> Parts {
    let body = body.as_bytes();
    Draft {
        path,
        body,
        ..PLAIN
    }
    .signed(credentials)
}

/// Refuses or accepts what `AKID` has signed with `secret`.
fn verified(head: &Parts, body: &[u8]) -> Result<(), Refusal> {
    let credentials = Credentials::new("AKID", "secret".into());
    authenticate(Some(&credentials), head, body, MOMENT * 1000).map(drop)
}

/// Accepted as it was signed, and no longer with another body or a second operation.
fn check_draft(draft: Draft<'_>) {
    let mut head = draft.signed(("AKID", "secret"));
    let shown = format!("{} {} {:?}", draft.method, draft.path, head.headers);
    assert_eq!(verified(&head, draft.body), Ok(()), "{shown}");
    let longer = [draft.body, b" "].concat();
    assert!(verified(&head, &longer).is_err(), "{shown}");
    head.headers
        .append("x-amz-target", HeaderValue::from_static("another"));
    assert!(verified(&head, draft.body).is_err(), "{shown}");
}

#[test]
fn odd_paths_are_signed_alike() {
    for path in [
        "/",
        "//",
        "/.",
        "/./",
        "/..",
        "/a/..",
        "/a/../",
        "/a/b/../../c",
        "/a/./b/",
        "//a//b//",
        "/../../a",
        "/a/...",
        "/.a/b.",
        "/some/path%20with%2Fslash",
        "/%E2%98%83",
        "/%e2%98%83",
        "/a%2e%2e/b",
        "/a+b",
        "/a;b=c",
        "/a:b@c",
        "/~a-b_c.d",
        "/$a!b*c'(d)",
        "/a%25b",
    ] {
        check_draft(Draft { path, ..PLAIN });
    }
}

#[test]
fn odd_queries_are_signed_alike() {
    for path in [
        "/?a",
        "/?a=",
        "/?a=b&A=%20&c",
        "/?b=1&a=2&a=1",
        "/?a=2&a=10&a=1",
        "/?a-b=1&a=2&aa=3",
        "/?A=1&a=2&B=3",
        "/?a=b=c",
        "/?a=%2F/&b=%3d",
        "/?a=~-_.",
        "/?%C3%BC=%E2%98%83",
        "/?%c3%bc=%e2%98%83",
        "/?a=%25",
        "/?a=b&&c=d",
        "/a/../b?c=d",
    ] {
        check_draft(Draft { path, ..PLAIN });
    }
}

#[test]
fn odd_headers_are_signed_alike() {
    let cases: [&[(&str, &str)]; 9] = [
        &[("my-header", "value")],
        &[("My-Header", "Value")],
        &[("my-header", "")],
        &[("my-header", "b"), ("my-header", "a"), ("my-header", "b")],
        &[("z-header", "1"), ("a-header", "2"), ("my-header", "3")],
        &[("my-header", "a   b    c")],
        &[("my-header", "\"a   b\"")],
        // A folded line arrives as one, with the spaces of its margin.
        &[("my-header", "first        second"), ("my-header", "third")],
        &[("my-header", "a,b, c"), ("my-header", "d;e=f")],
    ];
    for headers in cases {
        check_draft(Draft { headers, ..PLAIN });
    }
}

#[test]
fn odd_bodies_methods_and_tokens_are_signed_alike() {
    for body in ["", " ", "{}", "{\"é\":\"☃ 🂡\"}", "\r\n\0"] {
        let body = body.as_bytes();
        check_draft(Draft { body, ..PLAIN });
    }
    let body = &[0xff, 0xfe, 0x00];
    check_draft(Draft { body, ..PLAIN });
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        check_draft(Draft { method, ..PLAIN });
    }
    for session_token in ["token", "a/b+c==", "with, comma"] {
        let session_token = Some(session_token);
        check_draft(Draft {
            session_token,
            ..PLAIN
        });
    }
}

/// Whose token it is, is under the signature too.
#[test]
fn a_session_token_cannot_be_exchanged() {
    let session_token = Some("token");
    let draft = Draft {
        session_token,
        ..PLAIN
    };
    let mut head = draft.signed(("AKID", "secret"));
    let other = HeaderValue::from_static("other");
    head.headers.insert("x-amz-security-token", other);
    assert!(verified(&head, draft.body).is_err());
}
