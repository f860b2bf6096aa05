//! How often something may be tried. Limits slow down new attempts, and end no session.

use partita_plan::AttemptLimit;

const QUARTER: u64 = 15 * 60;
const HOUR: u64 = 3_600;

/// Wrong passwords for one login.
pub(super) const PASSWORDS: AttemptLimit = AttemptLimit {
    name: "passwords of an account",
    count: 10,
    window_seconds: QUARTER,
};

/// Wrong passwords from one address.
pub(super) const GUESSES: AttemptLimit = AttemptLimit {
    name: "passwords from an address",
    count: 100,
    window_seconds: QUARTER,
};

/// Sign-ups and requests for mails from one address.
pub(super) const ASKED: AttemptLimit = AttemptLimit {
    name: "accounts and mails from an address",
    count: 300,
    window_seconds: HOUR,
};

/// Links for a new password to one address. Others, who can ask for mails to it, do not use them up.
pub(super) const RESETS: AttemptLimit = AttemptLimit {
    name: "links for a new password",
    count: 5,
    window_seconds: HOUR,
};

/// Other mails to one address.
pub(super) const MAILS: AttemptLimit = AttemptLimit {
    name: "mails to an address",
    count: 5,
    window_seconds: HOUR,
};
