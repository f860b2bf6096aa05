//! The form of a file with secrets.
//!
//! One secret is the file as it is, at least 32 bytes. Several are lines of text:
//!
//! ```text
//! partita secrets
//! signs   BASE64
//! next    BASE64
//! earlier BASE64
//! ```
//!
//! All are accepted. `next` signs after the next rotation, and is there so that every server can
//! accept it before.

use anyhow::{Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use partita_api::secret::name_of;

/// The first line of a file with several secrets.
const HEAD: &str = "partita secrets";

/// Earlier secrets that are kept at most. Each is tried on everything that is not signed by those
/// before it.
pub(crate) const EARLIER_MAX: usize = 8;

/// The secrets of an installation, each with what it is for. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretList {
    pub(crate) signs: Vec<u8>,
    pub(crate) next: Option<Vec<u8>>,
    /// The latest first.
    pub(crate) earlier: Vec<Vec<u8>>,
}

impl SecretList {
    /// The secrets in the bytes of a file.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<SecretList> {
        let Some(lines) = several(&bytes) else {
            return Ok(SecretList {
                signs: bytes,
                next: None,
                earlier: Vec::new(),
            });
        };
        let (mut signs, mut next, mut earlier) = (None, None, Vec::new());
        for (at, line) in lines.lines().enumerate().skip(1) {
            let number = at + 1;
            let mut words = line.split_ascii_whitespace();
            let (Some(word), secret, None) = (words.next(), words.next(), words.next()) else {
                bail!("line {number} is not a word and a secret in base64");
            };
            let secret = secret.and_then(|secret| BASE64.decode(secret).ok());
            let secret = secret.ok_or_else(|| anyhow!("line {number} has no secret in base64"))?;
            let earlier_one = match word {
                "signs" => signs.replace(secret),
                "next" => next.replace(secret),
                "earlier" => {
                    earlier.push(secret);
                    None
                }
                _ => bail!("line {number} begins with none of `signs`, `next` and `earlier`"),
            };
            if earlier_one.is_some() {
                bail!("line {number} is a second `{word}`");
            }
        }
        if earlier.len() > EARLIER_MAX {
            bail!("there are more than {EARLIER_MAX} earlier secrets: remove the last lines");
        }
        Ok(SecretList {
            signs: signs.ok_or_else(|| anyhow!("no line begins with `signs`"))?,
            next,
            earlier,
        })
    }

    /// Every secret that is accepted. The first signs.
    pub(crate) fn accepted(&self) -> Vec<Vec<u8>> {
        let first = [&self.signs].into_iter();
        first
            .chain(&self.next)
            .chain(&self.earlier)
            .cloned()
            .collect()
    }

    /// The names of the accepted secrets, in their order. A secret that is too short has none.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let accepted = self.accepted();
        let names = accepted.iter().map(|secret| Ok(name_of(secret)?));
        names.collect()
    }

    /// The bytes of a file with them.
    pub(crate) fn to_text(&self) -> String {
        let line = |word: &str, secret: &Vec<u8>| format!("{word} {}\n", BASE64.encode(secret));
        let mut text = format!("{HEAD}\n{}", line("signs", &self.signs));
        text.extend(self.next.iter().map(|secret| line("next", secret)));
        text.extend(self.earlier.iter().map(|secret| line("earlier", secret)));
        text
    }
}

/// The text of a file with several secrets.
fn several(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (text.lines().next()? == HEAD).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let list = SecretList {
            signs: vec![1; 32],
            next: Some(vec![2; 32]),
            earlier: vec![vec![3; 32], vec![4; 40]],
        };
        let read = SecretList::parse(list.to_text().into_bytes()).unwrap();
        assert!(read == list);
        assert_eq!(read.accepted()[0], vec![1; 32]);
        assert_eq!(read.accepted().len(), 4);
    }

    #[test]
    fn any_other_file_is_one_secret() {
        for bytes in [vec![0xff; 32], b"partita secretsX and more bytes".to_vec()] {
            let read = SecretList::parse(bytes.clone()).unwrap();
            assert_eq!(read.accepted(), [bytes]);
        }
    }

    #[test]
    fn a_line_that_is_wrong_is_named_without_what_is_in_it() {
        for (text, wrong) in [
            ("", "no line begins with `signs`"),
            ("signs !!", "line 2 has no secret in base64"),
            ("signs", "line 2 has no secret in base64"),
            (
                "signs QUJD QUJD",
                "line 2 is not a word and a secret in base64",
            ),
            ("signs QUJD\nsigns QUJD", "line 3 is a second `signs`"),
            (
                "signs QUJD\nold QUJD",
                "line 3 begins with none of `signs`, `next` and `earlier`",
            ),
        ] {
            let read = SecretList::parse(format!("{HEAD}\n{text}").into_bytes());
            assert_eq!(read.err().unwrap().to_string(), wrong, "{text}");
        }
    }
}
