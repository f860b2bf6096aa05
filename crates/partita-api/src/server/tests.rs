use super::*;

#[test]
fn a_request_is_for_one_host() {
    for (version, hosts, expected) in [
        (Version::HTTP_11, &["localhost"][..], true),
        (Version::HTTP_11, &["127.0.0.1:8000"], true),
        (Version::HTTP_11, &["[::1]:8000"], true),
        (Version::HTTP_11, &[""], true),
        (Version::HTTP_11, &[], false),
        (Version::HTTP_11, &["a", "b"], false),
        (Version::HTTP_11, &["a", "a"], false),
        (Version::HTTP_11, &["a b"], false),
        (Version::HTTP_11, &["a/b"], false),
        (Version::HTTP_11, &["user@a"], false),
        (Version::HTTP_10, &[], true),
        (Version::HTTP_10, &["a"], true),
        (Version::HTTP_10, &["a", "b"], false),
    ] {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        assert_eq!(has_one_host(version, &headers), expected, "{hosts:?}");
    }
}
