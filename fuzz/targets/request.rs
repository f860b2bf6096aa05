//! Requests to the endpoint, one on each line: an operation and its body.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use partita_fuzz::{endpoint, send};

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=any/20150830/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any";
/// More would only be slow.
const REQUESTS_MAX: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let endpoint = endpoint(None);
    for line in bytes.split(|byte| *byte == b'\n').take(REQUESTS_MAX) {
        let space = line.iter().position(|byte| *byte == b' ');
        let (operation, body) = line.split_at(space.unwrap_or(line.len()));
        let target = match operation {
            b"ListStreams" | b"DescribeStream" | b"GetShardIterator" | b"GetRecords" => {
                [b"DynamoDBStreams_20120810.", operation].concat()
            }
            _ => [b"DynamoDB_20120810.", operation].concat(),
        };
        let request = http::Request::post("/")
            .header("host", "localhost")
            .header("x-amz-target", target)
            .header("x-amz-date", "20150830T123600Z")
            .header("authorization", AUTHORIZATION);
        // An operation of control characters never gets past the server's HTTP.
        let Ok(request) = request.body(()) else { return };
        send(&endpoint, &request.into_parts().0, Bytes::copy_from_slice(body));
    }
});
