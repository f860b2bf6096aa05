use super::*;

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn found(text: &str) -> Result<Option<Bytes>, StorageError> {
    Ok(Some(bytes(text)))
}

fn unread() -> Result<Option<Bytes>, StorageError> {
    panic!("it should be known")
}

#[test]
fn what_was_read_is_known() {
    let cache = Cache::new(1_000_000);
    assert_eq!(cache.get(b"a", || found("1")).unwrap(), Some(bytes("1")));
    assert_eq!(cache.get(b"a", unread).unwrap(), Some(bytes("1")));
    cache.forget(b"a");
    assert_eq!(cache.get(b"a", || found("2")).unwrap(), Some(bytes("2")));
}

#[test]
fn what_is_missing_or_fails_is_read_again() {
    let cache = Cache::new(1_000_000);
    let failed = || Err(StorageError::Failed("the disk is on fire".into()));
    assert!(cache.get(b"a", failed).is_err());
    assert_eq!(cache.get(b"a", || Ok(None)).unwrap(), None);
    assert_eq!(cache.get(b"a", || found("1")).unwrap(), Some(bytes("1")));
}

/// The read began before a commit and ends after it.
#[test]
fn a_value_that_was_overtaken_is_not_kept() {
    let cache = Cache::new(1_000_000);
    let overtaken = || {
        cache.forget(b"a");
        found("old")
    };
    assert_eq!(cache.get(b"a", overtaken).unwrap(), Some(bytes("old")));
    assert_eq!(
        cache.get(b"a", || found("new")).unwrap(),
        Some(bytes("new"))
    );
    assert_eq!(cache.get(b"a", unread).unwrap(), Some(bytes("new")));
}

/// As above, and somebody else has read the new value meanwhile, or is about to.
#[test]
fn a_later_reader_is_not_overwritten() {
    let cache = Cache::new(1_000_000);
    let overtaken = || {
        cache.forget(b"a");
        cache.get(b"a", || found("new")).unwrap();
        found("old")
    };
    assert_eq!(cache.get(b"a", overtaken).unwrap(), Some(bytes("old")));
    assert_eq!(cache.get(b"a", unread).unwrap(), Some(bytes("new")));
    cache.forget(b"a");
    let two_at_once = || {
        cache.forget(b"a");
        cache
            .get(b"a", || {
                assert_eq!(
                    cache.get(b"a", || found("newest")).unwrap(),
                    Some(bytes("newest"))
                );
                found("new")
            })
            .unwrap();
        found("old")
    };
    assert_eq!(cache.get(b"a", two_at_once).unwrap(), Some(bytes("old")));
    assert_eq!(cache.get(b"a", unread).unwrap(), Some(bytes("new")));
}

#[test]
fn the_bytes_are_bounded() {
    let cache = Cache::new(100_000);
    for number in 0..10_000_u32 {
        let key = number.to_be_bytes();
        cache.get(&key, || found(&"x".repeat(1_000))).unwrap();
    }
    assert!(cache.0.weight() <= 100_000, "{}", cache.0.weight());
    assert!(cache.0.len() > 50, "{}", cache.0.len());
}
