//! Secrets of sessions and mailed links: 256 random bits, of which only a digest is stored.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{NO_PAD, STANDARD_NO_PAD, URL_SAFE_NO_PAD as BASE64};
use partita_store::Entropy;
use sha2::{Digest as _, Sha256};

/// Bytes of a secret.
const SECRET_BYTES: usize = 32;

/// A secret as its holder has it.
pub(super) fn new(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; SECRET_BYTES];
    entropy.fill(&mut bytes);
    BASE64.encode(bytes)
}

/// What is stored of a secret. A text that is no secret has none.
pub(super) fn digest(secret: &str) -> Option<String> {
    let bytes = BASE64.decode(secret).ok()?;
    let is_whole = bytes.len() == SECRET_BYTES;
    is_whole.then(|| BASE64.encode(Sha256::digest(&bytes)))
}

/// A short digest of some texts, which tells nothing of them. `purpose` keeps digests for different
/// uses apart.
pub(crate) fn bound(purpose: &str, texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in std::iter::once(&purpose).chain(texts) {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    BASE64.encode(&hash.finalize()[..16])
}

/// The same within an era, if there is one: what was bound before it is bound to something else.
pub(super) fn bound_in(purpose: &str, texts: &[&str], era: Option<&str>) -> String {
    match era {
        None => bound(purpose, texts),
        Some(era) => bound(purpose, &[texts, &[era]].concat()),
    }
}

/// What stands for a password in sessions and links: its salt. A password that is hashed anew under
/// its salt is still the same; another one has another salt.
pub(super) fn mark(password: Option<&str>) -> String {
    let password = password.unwrap_or_default();
    match salt_of(password) {
        Some(salt) => BASE64.encode(salt),
        None => password.to_owned(),
    }
}

/// The salt in the hash of a password: of a PHC string, or of bcrypt.
pub fn salt_of(hash: &str) -> Option<Vec<u8>> {
    let (before, last) = hash.rsplit_once('$')?;
    if BCRYPT.iter().any(|mark| hash.starts_with(mark)) {
        let bcrypt = GeneralPurpose::new(
            &alphabet::BCRYPT,
            NO_PAD.with_decode_allow_trailing_bits(true),
        );
        return bcrypt.decode(last.get(..BCRYPT_SALT_CHARS)?).ok();
    }
    let (_, salt) = before.rsplit_once('$')?;
    STANDARD_NO_PAD.decode(salt).ok()
}

/// What hashes of bcrypt begin with.
pub const BCRYPT: [&str; 3] = ["$2a$", "$2b$", "$2y$"];
const BCRYPT_SALT_CHARS: usize = 22;

#[cfg(test)]
mod tests {
    use super::*;
    use partita_store::surroundings::SeededEntropy;

    #[test]
    fn only_whole_secrets_have_a_digest() {
        let secret = new(&SeededEntropy::new(1));
        assert_eq!(secret.len(), 43);
        assert_eq!(digest(&secret).unwrap().len(), 43);
        assert_ne!(digest(&secret).unwrap(), secret);
        assert_eq!(digest(&secret[1..]), None);
        assert_eq!(digest("ann"), None);
    }

    #[test]
    fn a_password_is_known_by_its_salt() {
        let mark = |hash: &str| mark(Some(hash));
        let one = mark("$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2Fs$aGFzaA");
        assert_eq!(
            one,
            mark("$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2Fs$b3RoZXI")
        );
        assert_ne!(
            one,
            mark("$argon2id$v=19$m=8,t=1,p=1$b3RoZXJzYWx0b3RoZXJz$aGFzaA")
        );
        let bcrypt = "$2b$04$zVHmKQtGGQob.b/Nc7l9NO8UlrYcW05FiuCj/SxsFO/ZtiN9.mNzy";
        assert_eq!(salt_of(bcrypt).unwrap().len(), 16);
        assert_eq!(salt_of("nothing"), None);
        assert_ne!(mark("!one"), mark("!two"));
        assert_eq!(super::mark(None), "");
    }

    #[test]
    fn digests_do_not_run_together() {
        assert_ne!(bound("a", &["bc", ""]), bound("a", &["b", "c"]));
        assert_ne!(bound("ab", &["c"]), bound("a", &["bc"]));
    }
}
