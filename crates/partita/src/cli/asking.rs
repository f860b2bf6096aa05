//! The flags of commands that speak for a caller: `token`, `admin grant`, `can`, `plan`.

use clap::Args;
use partita_design::template::check_part;

use super::{CheckFormat, DoorFlags, StoreFlags, VariableFlags};

#[derive(Debug, Args)]
pub(crate) struct TokenFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// The id of the user
    #[arg(long, value_parser = user)]
    pub(crate) user: String,

    /// The role of the user; void where the design takes roles from items (`role` in `[caller]`)
    #[arg(long)]
    pub(crate) role: Option<String>,

    /// The groups that the user is in, with commas between them or one at a time
    #[arg(long, visible_alias = "groups", value_delimiter = ',')]
    pub(crate) group: Vec<String>,

    /// How long the token is good for: seconds, or 15m, 12h, 7d
    #[arg(
        long = "expires",
        visible_alias = "lifetime",
        value_name = "TIME",
        default_value = "1d",
        value_parser = lifetime
    )]
    pub(crate) lifetime: u32,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ConsoleFlags {
    /// A file or the name of a shipped design: the one that the console opens with
    pub(crate) design: String,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

#[derive(Debug, Args)]
pub(crate) struct GrantFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// The id of the user, or what the user signs in with
    pub(crate) user: String,

    /// The role; a group, in a design that keeps groups and no roles
    pub(crate) role: String,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

/// An operation on a design, as a caller would ask for it.
#[derive(Debug, Args)]
pub(crate) struct AskFlags {
    /// A file or the name of a shipped design
    pub(crate) design: String,

    /// create, read, update, upsert, delete, restore, purge, query, or the name of an action
    pub(crate) operation: String,

    /// The entity and the parts of its identity, or the pattern of a query and its parameters as
    /// NAME=VALUE; nothing for an action that finds its items itself
    #[arg(value_name = "ENTITY KEY")]
    pub(crate) on: Vec<String>,

    /// Attributes of a create, an update or an upsert, or what an action takes, as a JSON object; -
    /// reads it from standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) with: Option<String>,

    /// The id of the caller; somebody without a token if there is none
    #[arg(long, value_name = "ID", value_parser = user)]
    pub(crate) caller: Option<String>,

    /// The role of the caller
    #[arg(long, requires = "caller")]
    pub(crate) role: Option<String>,

    /// A group that the caller is in; may be given more than once
    #[arg(long, requires = "caller")]
    pub(crate) group: Vec<String>,

    /// The form of the answer
    #[arg(long, default_value = "text")]
    pub(crate) format: CheckFormat,

    #[command(flatten)]
    pub(crate) door: DoorFlags,

    #[command(flatten)]
    pub(crate) place: StoreFlags,

    #[command(flatten)]
    pub(crate) variables: VariableFlags,
}

/// Refuses ids that cannot be part of a key: such a user could do nothing.
fn user(text: &str) -> Result<String, String> {
    match check_part("user", &text.into()) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) => Err(error.problem.to_string()),
    }
}

/// A span of time: seconds, or a number and `s`, `m`, `h` or `d`.
pub(super) fn lifetime(text: &str) -> Result<u32, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        _ => None,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let Some(unit) = unit.filter(|_| is_number) else {
        return Err("write seconds, or 15m, 12h, 7d".to_owned());
    };
    let count = digits.parse::<u32>().ok();
    match count.and_then(|count| count.checked_mul(unit)) {
        Some(0) => Err("that is no time at all".to_owned()),
        Some(seconds) => Ok(seconds),
        None => Err(format!("that is too long: at most {}d", u32::MAX / 86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::lifetime;

    #[test]
    fn lifetimes_are_spans_of_time() {
        assert_eq!(lifetime("15m"), Ok(900));
        assert_eq!(lifetime("49710d"), Ok(4_294_944_000));
        for long in ["49711d", "9999999d", "99999999999"] {
            let refused = lifetime(long).unwrap_err();
            assert!(refused.contains("too long"), "{refused}");
        }
        for odd in ["", "d", "-1d", "1w", "1.5h"] {
            assert!(lifetime(odd).unwrap_err().starts_with("write"), "{odd}");
        }
    }
}
