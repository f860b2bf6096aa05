use super::*;

fn grant() -> Grant<'static> {
    Grant {
        method: "PUT",
        design: "albums",
        bucket: "files",
        name: "temp/ä b/01.jpg",
        media_type: "image/jpeg",
        size: SizeLimit::Exactly(1000),
        caller: Some("ann"),
        expires: 5000,
    }
}

fn signed_by(byte: u8) -> Signer {
    Signer::new(Arc::new(KeyRing::new(key(&[byte; 32]))))
}

fn signer() -> Signer {
    signed_by(1)
}

fn split(url: &str) -> (String, String) {
    let (path, query) = url.split_once('?').unwrap();
    (path.to_owned(), query.to_owned())
}

#[test]
fn a_signed_url_says_what_it_allows() {
    let (path, query) = split(&signer().url(&grant()));
    assert_eq!(path, "/albums/files/temp/%C3%A4%20b/01.jpg");
    assert!(!query.contains("ann"), "{query}");
    let signed = signer().verify("PUT", "albums", "temp/ä b/01.jpg", &query);
    let signed = signed.unwrap();
    assert_eq!(signed.bucket, "files");
    assert_eq!(signed.media_type, "image/jpeg");
    assert_eq!(
        (signed.size, signed.expires),
        (SizeLimit::Exactly(1000), 5000)
    );
    assert!(signer().is_for(&signed, Some("ann")));
    assert!(!signer().is_for(&signed, Some("bob")));
    assert!(!signer().is_for(&signed, None));
}

#[test]
fn nothing_of_it_can_be_changed() {
    let (_, query) = split(&signer().url(&grant()));
    let verify = |method, design, name, query: &str| signer().verify(method, design, name, query);
    let name = grant().name;
    assert!(verify("PUT", "albums", name, &query).is_some());
    assert!(verify("GET", "albums", name, &query).is_none());
    assert!(verify("PUT", "others", name, &query).is_none());
    assert!(verify("PUT", "albums", "temp/ä b/02.jpg", &query).is_none());
    for (from, to) in [
        ("bucket=files", "bucket=other"),
        ("type=image%2Fjpeg", "type=text%2Fhtml"),
        ("size=1000", "size=1001"),
        ("expires=5000", "expires=6000"),
        ("for=", "for=x"),
        ("signature=", "signature=x"),
        ("signature=", "more=1&signature="),
        ("size=1000", "size=1000&size=1000"),
        ("size=1000&", ""),
    ] {
        let altered = query.replace(from, to);
        assert_ne!(altered, query);
        assert!(
            verify("PUT", "albums", name, &altered).is_none(),
            "{altered}"
        );
    }
    let cut = &query[..query.len() - 1];
    assert!(verify("PUT", "albums", name, cut).is_none());
    let other = signed_by(2);
    assert!(other.verify("PUT", "albums", name, &query).is_none());
}

#[test]
fn parts_cannot_be_shifted() {
    let moved = Grant {
        bucket: "filestemp",
        name: "/ä b/01.jpg",
        ..grant()
    };
    let signature = |grant| {
        split(&signer().url(&grant))
            .1
            .split("signature=")
            .last()
            .map(str::to_owned)
    };
    assert_ne!(signature(moved), signature(grant()));
}
