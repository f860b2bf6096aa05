//! What stored data follow of a design, declaration by declaration, as text that never changes
//! with the program.
//!
//! Items that are stored have the keys, derived values and types that a design gave them. Another
//! design on the same table must agree in all of these. So each declaration that stored data
//! follow has a *form*: JSON made of arrays, texts, whole numbers, booleans and nulls, with the
//! tag of its kind first. Names are resolved in it and nothing of the file's layout is left. Its
//! *print* is the first half of the SHA-256 of that JSON without spaces, in hexadecimal digits.
//!
//! | declaration | what its form has |
//! |---|---|
//! | `table`, `table.NAME` | name, keys, discriminator, TTL attribute, stream |
//! | `index.NAME` | table, keys with their types, projection |
//! | `entity.E` | its table; `entity.E.open`, `.soft-delete` and `.require` where they are given |
//! | `entity.E.KEY`, `view.V.KEY` | the template of a key, or its cases |
//! | `entity.E.attributes.A` | type, whether it may be missing, where its value comes from, files |
//! | `entity.E.refs.R` | targets, arguments, `on delete`; unchecked refs only if derived data read them |
//! | `entity.E.unique.U` | the key of the guard |
//! | `view.V` | its source, and whether it is a history; `.when`, `.each`, `.distinct`, `.keep`, `.attributes.A` |
//! | `shape.S` | its fields |
//! | `constants.C` | its rows, if derived data read them |
//! | `accounts.login` | the entity and attribute whose values are in lower case; nothing else of `[accounts]` |
//! | `bucket.B`, `bucket.B.prefix.P` | its name; the path of the prefix |
//!
//! Rules, patterns, actions, triggers, limits, paths, descriptions, the steps of states, `fixed`,
//! `movable`, `secret` and `repeat` are not in it: they say what may be done from now on, and no
//! stored item follows them.
//!
//! INVARIANT: forms are stored with data. A change to them makes every stored design differ, so it
//! needs another [`VERSION`]; `tests/it/snapshots` holds the prints of the shipped designs.

mod form;
mod parts;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::design::Design;
pub(crate) use parts::{Body, Part, parts, source_form, target_form};

/// The version of the forms.
pub const VERSION: u32 = 1;

/// The print of each declaration that stored data follow, by the path of the declaration.
pub type Prints = BTreeMap<String, String>;

/// The prints of a design.
pub fn prints(design: &Design) -> Prints {
    let parts = parts(design).into_iter();
    parts
        .map(|(name, part)| (name, print(&part.form().to_string())))
        .collect()
}

fn print(form: &str) -> String {
    let digest = Sha256::digest(form.as_bytes());
    let mut text = String::with_capacity(32);
    for byte in &digest[..16] {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
