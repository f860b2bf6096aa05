//! What a string may look like.

use regex_lite::Regex;

/// A regular expression.
#[derive(Clone, Debug)]
pub struct TextPattern {
    regex: Regex,
}

impl TextPattern {
    /// The pattern of this text; the error says what is wrong with it.
    pub fn new(text: &str) -> Result<TextPattern, String> {
        match Regex::new(text) {
            Ok(regex) => Ok(TextPattern { regex }),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The expression as it is written.
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// Whether the text matches.
    pub fn accepts(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// A form of strings that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// An address of mail.
    Email,
    /// An address of the web.
    Url,
}

impl TextFormat {
    /// The forms and their names.
    pub const WORDS: [(TextFormat, &'static str); 2] =
        [(TextFormat::Email, "email"), (TextFormat::Url, "url")];

    /// The form of that name.
    pub fn find(word: &str) -> Option<TextFormat> {
        let found = Self::WORDS.iter().find(|(_, known)| *known == word);
        found.map(|(format, _)| *format)
    }

    /// Whether the text has this form. Whether mail arrives there is not a question of form. An
    /// address is bare: with quotes, comments or a name around it one mailbox would have any number
    /// of spellings.
    pub fn accepts(self, text: &str) -> bool {
        let has_space = text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        let rest = match self {
            TextFormat::Email => match text.rsplit_once('@') {
                Some((name, host)) if is_bare(name) && !host.contains(AROUND) => host,
                _ => return false,
            },
            TextFormat::Url => {
                let schemes = ["https://", "http://"];
                match schemes.iter().find_map(|scheme| text.strip_prefix(scheme)) {
                    Some(rest) => rest,
                    None => return false,
                }
            }
        };
        !has_space && !rest.is_empty()
    }

    pub(super) fn describe(self) -> &'static str {
        match self {
            TextFormat::Email => "an e-mail address",
            TextFormat::Url => "a URL that begins with https:// or http://",
        }
    }
}

/// What is around addresses, or quotes a part of one.
const AROUND: [char; 11] = ['<', '>', '(', ')', '[', ']', '\\', ',', ';', ':', '"'];

/// Whether a text can be what is before the `@` of an address.
fn is_bare(name: &str) -> bool {
    let has_dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    !name.is_empty() && !has_dots && !name.contains(AROUND) && !name.contains('@')
}
