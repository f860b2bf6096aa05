use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::Request;

use super::*;

fn plain_of(encoding: &str, body: Vec<u8>) -> Result<Bytes, Refusal> {
    let head = Request::post("/").header("content-encoding", encoding);
    plain(&head.body(()).unwrap().into_parts().0, body.into())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_bodies_are_unfolded() {
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::fast());
    deflate.write_all(b"{}").unwrap();
    assert_eq!(plain_of("gzip", gzip(b"{}")).unwrap(), "{}");
    assert_eq!(
        plain_of("deflate", deflate.finish().unwrap()).unwrap(),
        "{}"
    );
    assert_eq!(plain_of("identity", b"{}".to_vec()).unwrap(), "{}");
}

#[test]
fn what_cannot_be_unfolded_is_refused() {
    let mut cut = gzip(b"{}");
    cut.truncate(12);
    for (encoding, body) in [
        ("gzip", b"{}".to_vec()),
        ("gzip", cut),
        ("br", b"{}".to_vec()),
    ] {
        let refused = plain_of(encoding, body).unwrap_err();
        assert_eq!(refused.fault, Fault::Serialization, "{encoding}");
    }
}

#[test]
fn sixteen_megabytes_are_the_bound_on_both_sides() {
    let most = vec![b' '; BODY_BYTES_MAX];
    assert_eq!(
        plain_of("identity", most.clone()).unwrap().len(),
        BODY_BYTES_MAX
    );
    assert_eq!(plain_of("gzip", gzip(&most)).unwrap().len(), BODY_BYTES_MAX);
    let more = vec![b' '; BODY_BYTES_MAX + 1];
    for refused in [
        plain_of("gzip", gzip(&more)).map(drop),
        check_size(&more.into()),
    ] {
        assert_eq!(refused.unwrap_err().fault, Fault::RequestTooLarge);
    }
}
