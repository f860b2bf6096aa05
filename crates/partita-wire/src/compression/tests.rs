use std::io::Read as _;

use flate2::read::{GzDecoder, ZlibDecoder};

use super::*;

fn asked(text: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(text))])
}

#[test]
fn the_client_prefers() {
    let (gzip, deflate) = (Some(Encoding::Gzip), Some(Encoding::Deflate));
    for (text, expected) in [
        ("gzip", gzip),
        ("deflate", deflate),
        ("identity", None),
        ("", None),
        ("br", None),
        ("x-gzip", None),
        ("gzip, deflate", gzip),
        ("br, identity, deflate, gzip", deflate),
        ("GZIP, identity", gzip),
        ("dog, gzip ,, cat", gzip),
        ("gzip;q=0.8, deflate;q=0.5", gzip),
        ("br, gzip;q=0, deflate; q = 0.5 , identity;q=0", deflate),
        ("*", gzip),
        ("*, deflate;q=0.5", gzip),
        ("*, deflate", deflate),
        ("*, identity", gzip),
        ("*, gzip;q=0.5", deflate),
        ("gzip ;q=0", None),
        ("gzip;q=none", None),
    ] {
        assert_eq!(preferred(&asked(text)), expected, "{text}");
    }
    assert_eq!(preferred(&HeaderMap::new()), None);
}

#[test]
fn large_answers_are_compressed_and_unfold() {
    let plain = Bytes::from(vec![b'x'; BYTES_MIN]);
    let (packed, encoding) = compressed(&asked("gzip"), plain.clone());
    assert_eq!(encoding.unwrap(), "gzip");
    let mut unfolded = Vec::new();
    GzDecoder::new(&*packed).read_to_end(&mut unfolded).unwrap();
    assert_eq!(unfolded, plain);
    let (packed, encoding) = compressed(&asked("deflate"), plain.clone());
    assert_eq!(encoding.unwrap(), "deflate");
    let mut unfolded = Vec::new();
    ZlibDecoder::new(&*packed)
        .read_to_end(&mut unfolded)
        .unwrap();
    assert_eq!(unfolded, plain);
}

#[test]
fn small_answers_and_those_that_nobody_asked_for_are_not() {
    let small = Bytes::from(vec![b'x'; BYTES_MIN - 1]);
    assert_eq!(compressed(&asked("gzip"), small.clone()), (small, None));
    let large = Bytes::from(vec![b'x'; BYTES_MIN]);
    assert_eq!(compressed(&HeaderMap::new(), large.clone()), (large, None));
}
