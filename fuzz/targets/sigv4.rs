//! A request's head and body: method and path, headers, an empty line, the body.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use partita_fuzz::{endpoint, send};
use partita_wire::Credentials;

fuzz_target!(|bytes: &[u8]| {
    let Some((head, body)) = parse(bytes) else { return };
    let endpoint = endpoint(Some(Credentials::new("AKID", "secret".into())));
    let answer = send(&endpoint, &head, Bytes::copy_from_slice(body));
    // A health check is nobody's secret.
    if answer.status() == 200 && head.method != http::Method::GET {
        let other = [body, b" "].concat();
        let answer = send(&endpoint, &head, other.into());
        assert_ne!(answer.status(), 200, "another body under the same signature");
    }
});

/// What a server's HTTP would let through, if it does.
fn parse(bytes: &[u8]) -> Option<(http::request::Parts, &[u8])> {
    let end = bytes.windows(2).position(|two| two == b"\n\n")?;
    let (head, body) = (&bytes[..end], &bytes[end + 2..]);
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = std::str::from_utf8(lines.next()?).ok()?;
    let (method, path) = first.split_once(' ')?;
    let mut request = http::Request::builder().method(method).uri(path);
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        request = request.header(&line[..colon], line[colon + 1..].trim_ascii());
    }
    Some((request.body(()).ok()?.into_parts().0, body))
}
