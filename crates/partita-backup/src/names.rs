//! What the objects of a target are called. Numbers have as many digits as they can have, so that
//! names sort as numbers do.

use std::fmt;

use crate::files::Content;

/// Below it are all objects.
pub(crate) const ALL: &str = "chains/";

/// What the name of a whole placing ends in.
const WHOLE: &str = "-whole";

/// A chain, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChainName(pub(crate) u32);

impl fmt::Display for ChainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALL}{:06}", self.0)
    }
}

impl ChainName {
    pub(crate) fn head(self) -> String {
        format!("{self}/chain.json")
    }

    pub(crate) fn segment(self, first: u64) -> String {
        format!("{self}/segments/{first:020}")
    }

    pub(crate) fn base(self, first: u64, random: u32) -> String {
        format!("{self}/bases/{first:020}-{random:08x}")
    }

    pub(crate) fn placing(self, number: u64, is_whole: bool) -> String {
        let whole = if is_whole { WHOLE } else { "" };
        format!("{self}/placings/{number:020}{whole}")
    }

    pub(crate) fn part(self, content: &Content, number: u64) -> String {
        let Content {
            shipped_with,
            sha256,
        } = content;
        format!("{self}/files/{shipped_with:020}-{sha256}/{number:06}")
    }

    pub(crate) fn secret(self) -> String {
        format!("{self}/secret")
    }
}

pub(crate) fn piece(base: &str, number: usize) -> String {
    format!("{base}/{number:06}")
}

pub(crate) fn manifest(base: &str) -> String {
    format!("{base}/base")
}

/// What an object of a chain is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Head,
    Secret,
    Segment { first: u64 },
    Placing { number: u64, is_whole: bool },
    Part { content: Content },
    Piece { base: String },
    Manifest { base: String, first: u64 },
}

/// Reads a name; none if it is not one of ours.
pub(crate) fn parse(name: &str) -> Option<(ChainName, Kind)> {
    let (number, rest) = name.strip_prefix(ALL)?.split_once('/')?;
    // A chain has one name.
    let chain = ChainName(number.parse().ok().filter(|_| number.len() == 6)?);
    let kind = match rest.split_once('/') {
        None if rest == "chain.json" => Kind::Head,
        None if rest == "secret" => Kind::Secret,
        Some(("segments", first)) => Kind::Segment {
            first: first.parse().ok()?,
        },
        Some(("placings", name)) => {
            let number = name.strip_suffix(WHOLE);
            Kind::Placing {
                number: number.unwrap_or(name).parse().ok()?,
                is_whole: number.is_some(),
            }
        }
        Some(("files", rest)) => {
            let (content, number) = rest.split_once('/')?;
            number.parse::<u64>().ok()?;
            let (shipped_with, sha256) = content.split_once('-')?;
            Kind::Part {
                content: Content {
                    shipped_with: shipped_with.parse().ok()?,
                    sha256: sha256.to_owned(),
                },
            }
        }
        Some(("bases", rest)) => {
            let (base, object) = rest.split_once('/')?;
            let (first, _) = base.split_once('-')?;
            let first = first.parse().ok()?;
            let base = format!("{chain}/bases/{base}");
            if object == "base" {
                Kind::Manifest { base, first }
            } else {
                object.parse::<usize>().ok()?;
                Kind::Piece { base }
            }
        }
        _ => return None,
    };
    Some((chain, kind))
}

/// Bytes of an object of this name at most, far above what is written. Whoever can write to a target
/// could otherwise have a restore fill the memory.
pub(crate) fn bytes_max(name: &str) -> u64 {
    const MB: u64 = 1_048_576;
    match parse(name) {
        Some((_, Kind::Head | Kind::Secret | Kind::Manifest { .. })) => MB,
        Some((_, Kind::Piece { .. } | Kind::Part { .. })) => 32 * MB,
        _ => 1_024 * MB,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let chain = ChainName(7);
        let base = chain.base(42, 0x9f3a_61c2);
        let content = Content {
            shipped_with: 5,
            sha256: "ab".to_owned(),
        };
        let placing = |is_whole| Kind::Placing {
            number: 5,
            is_whole,
        };
        assert_eq!(base, "chains/000007/bases/00000000000000000042-9f3a61c2");
        for (name, kind) in [
            (chain.head(), Kind::Head),
            (chain.secret(), Kind::Secret),
            (chain.segment(43), Kind::Segment { first: 43 }),
            (chain.placing(5, false), placing(false)),
            (chain.placing(5, true), placing(true)),
            (chain.part(&content, 1), Kind::Part { content }),
            (piece(&base, 3), Kind::Piece { base: base.clone() }),
            (
                manifest(&base),
                Kind::Manifest {
                    base: base.clone(),
                    first: 42,
                },
            ),
        ] {
            assert_eq!(parse(&name), Some((chain, kind)), "{name}");
        }
        for name in [
            "",
            "chains/x/secret",
            "chains/1/what",
            "chains/1/segments/x",
            "notes",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
