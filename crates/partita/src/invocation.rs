//! Commands to be printed, such that they work as they are printed: with this very binary, and
//! with the flags that it was given.

use std::fmt::Write as _;
use std::path::Path;

use crate::cli::{DATA_DEFAULT, SecretFlags, VariableFlags};
use crate::door::DoorFlags;
use crate::store::StoreFlags;

/// `partita token DESIGN --user USER`, for a server with these secrets.
pub(crate) fn token(
    design: &str,
    user: &str,
    role: Option<&str>,
    secret: &SecretFlags,
    variables: &VariableFlags,
) -> String {
    let role = role.map(|role| format!(" --role {}", quoted(role)));
    format!(
        "{} token {} --user {}{}{}{}",
        program(),
        quoted(design),
        quoted(user),
        role.unwrap_or_default(),
        secrets(secret),
        settings(variables)
    )
}

/// `partita serve DESIGN`, on the same data.
pub(crate) fn serve(design: &str, secret: &SecretFlags, variables: &VariableFlags) -> String {
    let (design, program) = (quoted(design), program());
    format!(
        "{program} serve {design}{}{}",
        secrets(secret),
        settings(variables)
    )
}

/// A design and the flags that name the same data in another command. A token is not repeated: a
/// screen is no place for it.
pub(crate) fn same_data(
    design: &str,
    door: &DoorFlags,
    place: &StoreFlags,
    variables: &VariableFlags,
) -> String {
    let server = door.server.as_deref();
    let server = server.map(|url| format!(" --server {}", quoted(url)));
    format!(
        "{}{}{}{}{}",
        quoted(design),
        server.unwrap_or_default(),
        place.spelled(),
        secrets(&door.secret),
        settings(variables)
    )
}

/// A request with the token that a command prints, or without one.
pub(crate) fn curl(token: Option<&str>, url: &str) -> String {
    match token {
        Some(token) => format!(
            "curl -H \"Authorization: Bearer $({token})\" {}",
            quoted(url)
        ),
        None => format!("curl {}", quoted(url)),
    }
}

/// This binary, as it was called.
fn program() -> String {
    let called = std::env::args().next();
    quoted(&called.unwrap_or_else(|| "partita".to_owned()))
}

/// The flags that `token` and `serve` need to use the same secret and data.
pub(crate) fn secrets(flags: &SecretFlags) -> String {
    let mut text = String::new();
    let mut add = |flag: &str, path: &Path| {
        // Writing to a text cannot fail.
        let _ = write!(text, " {flag} {}", quoted(&path.display().to_string()));
    };
    if flags.data.as_os_str() != DATA_DEFAULT {
        add("--data", &flags.data);
    }
    if let Some(file) = &flags.secret_file {
        add("--secret-file", file);
    }
    text
}

fn settings(flags: &VariableFlags) -> String {
    let settings = flags.set.iter();
    let settings =
        settings.map(|(name, value)| format!(" --set {}", quoted(&format!("{name}={value}"))));
    settings.collect()
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_./:=@%+,".contains(one);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quoted("designs/a.toml"), "designs/a.toml");
        assert_eq!(quoted("it's mine"), r"'it'\''s mine'");
        assert_eq!(quoted("$HOME?a=b&c"), "'$HOME?a=b&c'");
        assert_eq!(quoted(""), "''");
    }
}
