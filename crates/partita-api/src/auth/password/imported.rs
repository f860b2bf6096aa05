//! Hashes of passwords that were made elsewhere. They are compared once, and then replaced.
//!
//! A hash says itself what it costs, so that is bounded before it is computed.

use argon2::password_hash::phc::PasswordHash;
use partita_design::design::HashScheme;
use partita_plan::BCRYPT;
use sha2::{Sha256, Sha512};
use subtle::ConstantTimeEq as _;

/// The most that a hash may cost: about a second.
const BCRYPT_COST_MAX: u32 = 14;
const SCRYPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
const SCRYPT_LANES_MAX: u32 = 4;
const PBKDF2_ROUNDS_MAX: u32 = 1_000_000;

/// The scheme of a hash, if it is not ours.
pub(super) fn scheme_of(hash: &str) -> Option<HashScheme> {
    if BCRYPT.iter().any(|mark| hash.starts_with(mark)) {
        Some(HashScheme::Bcrypt)
    } else if hash.starts_with("$scrypt$") {
        Some(HashScheme::Scrypt)
    } else if hash.starts_with("$pbkdf2-") {
        Some(HashScheme::Pbkdf2)
    } else {
        None
    }
}

/// Whether a password is the one of a hash.
pub(super) fn is_right(scheme: HashScheme, password: &str, hash: &str) -> bool {
    if scheme == HashScheme::Bcrypt {
        let cost = hash.get(4..6).and_then(|cost| cost.parse::<u32>().ok());
        let is_bounded = cost.is_some_and(|cost| cost <= BCRYPT_COST_MAX);
        return is_bounded && bcrypt::verify(password, hash).unwrap_or(false);
    }
    let Ok(parsed) = PasswordHash::new(hash) else {
        return false;
    };
    let (Some(salt), Some(expected)) = (&parsed.salt, &parsed.hash) else {
        return false;
    };
    let mut found = vec![0; expected.as_bytes().len()];
    let is_computed = match scheme {
        HashScheme::Scrypt => scrypt(&parsed, password, salt, &mut found),
        _ => pbkdf2(&parsed, password, salt, &mut found),
    };
    is_computed.is_some() && bool::from(found.ct_eq(expected.as_bytes()))
}

fn scrypt(parsed: &PasswordHash, password: &str, salt: &[u8], found: &mut [u8]) -> Option<()> {
    let number = |name: &str| parsed.params.get_decimal(name);
    let (log_n, r, p) = (number("ln")?, number("r")?, number("p")?);
    let bytes = 1_u64
        .checked_shl(log_n)?
        .checked_mul(128)?
        .checked_mul(u64::from(r))?;
    if log_n >= 32 || bytes > SCRYPT_BYTES_MAX || p > SCRYPT_LANES_MAX {
        return None;
    }
    let params = scrypt::Params::new(u8::try_from(log_n).ok()?, r, p).ok()?;
    scrypt::scrypt(password.as_bytes(), salt, &params, found).ok()
}

fn pbkdf2(parsed: &PasswordHash, password: &str, salt: &[u8], found: &mut [u8]) -> Option<()> {
    let rounds = parsed.params.get_decimal("i")?;
    if !(1..=PBKDF2_ROUNDS_MAX).contains(&rounds) {
        return None;
    }
    let password = password.as_bytes();
    match parsed.algorithm.as_str() {
        "pbkdf2-sha256" => pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, rounds, found),
        "pbkdf2-sha512" => pbkdf2::pbkdf2_hmac::<Sha512>(password, salt, rounds, found),
        _ => return None,
    }
    Some(())
}

/// Hashes of "correct horse" that other programs made.
#[cfg(test)]
pub(super) const SAMPLES: [(HashScheme, &str); 4] = [
    (
        HashScheme::Bcrypt,
        "$2b$04$4xCTvIb7y2Y9i/pkgpzP0ur.7wSXxOpMq3R.OvX/vOXN8d7UIQWfa",
    ),
    (
        HashScheme::Scrypt,
        "$scrypt$ln=10,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$nfkj3u1fRTHCea+fVr03sWV770kp5wLOLoEakziKhqE",
    ),
    (
        HashScheme::Pbkdf2,
        "$pbkdf2-sha256$i=1000,l=32$AAECAwQFBgcICQoLDA0ODw$yRTMTwbMbo9G0VfjobWqerzuuxe7BETNTErBbKKumGQ",
    ),
    (
        HashScheme::Pbkdf2,
        "$pbkdf2-sha512$i=1000,l=64$AAECAwQFBgcICQoLDA0ODw$Xpx07WjVx4vCIvrmBRj8uOoVVtGqJqtUv2J5bhizSQs7osCteF7W4A61dZDqSIqQjO+dxO6p5FT/Uy7QRBXSXA",
    ),
];
