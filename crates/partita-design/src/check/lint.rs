//! Looks at a finished design for what is legal, and is not good or does not do what it seems to.
//!
//! | module | what it looks at |
//! |---|---|
//! | [`usage`] | keys and indexes that no pattern reads |
//! | [`followers`] | what follows other items: whether it can, and whether it ends |
//! | [`expiry`] | the table's `ttl` attribute |
//! | [`clashes`], [`positions`] | effects against each other, and positions against deletes |
//! | [`periods`], [`requirements`] | counters of periods, and what entities require |
//! | [`secrets`], [`unseen`], [`readable`] | secrets that are shown elsewhere, rows that no caller sees, views whose readers are undecidable |
//! | [`stale`] | rules that are decided on rows which may be old |
//! | [`unstored`] | what it costs to read values that are not stored |
//! | [`sizes`] | writes that take more actions than a transaction has |
//! | [`beyond`] | effects on items that the caller of their cause need not be allowed to see |
//! | [`self_made`] | roles and groups that callers could give themselves |
//! | [`accounts`] | whether what `[accounts]` names fits together, and who may write it |
//! | [`causes`] | how callers who are no administrators come to write something |
//! | [`provision`] | whether an account can be made of claims |
//! | [`sign_up`] | whether people can sign up, and sign in afterwards |
//! | [`files`] | names of files, and who keeps the files |
//! | [`paths`] | paths of URLs against each other |

pub(crate) mod accounts;
pub(crate) mod beyond;
pub(crate) mod causes;
pub(crate) mod clashes;
pub(crate) mod expiry;
pub(crate) mod files;
pub(crate) mod followers;
pub(crate) mod paths;
pub(crate) mod periods;
pub(crate) mod positions;
pub(crate) mod provision;
pub(crate) mod readable;
pub(crate) mod requirements;
pub(crate) mod secrets;
pub(crate) mod self_made;
pub(crate) mod sign_up;
pub(crate) mod sizes;
pub(crate) mod stale;
pub(crate) mod unseen;
pub(crate) mod unstored;
pub(crate) mod usage;

use crate::check::declare::symbols::Symbols;
use crate::design::Design;

/// Runs every lint over a design without errors.
pub(crate) fn lint(symbols: &Symbols, design: &Design) {
    readable::check(symbols, design);
    unseen::check(symbols, design);
    stale::check(symbols, design);
    usage::check(symbols, design);
    expiry::check(symbols, design);
    followers::check(symbols, design);
    clashes::check(symbols, design);
    paths::check(symbols, design);
    secrets::check(symbols, design);
    positions::check(symbols, design);
    periods::check(symbols, design);
    requirements::check(symbols, design);
    sizes::check(symbols, design);
    beyond::check(symbols, design);
    self_made::check(symbols, design);
    accounts::check(symbols, design);
    provision::check(symbols, design);
    sign_up::check(symbols, design);
    files::check(symbols, design);
    unstored::check(symbols, design);
}
