//! The part of a foreign text that a message shows: enough to recognise it.

use std::borrow::Cow;

/// Characters of a name or a value in an error.
pub const NAME_CHARS_MAX: usize = 100;

/// The beginning of a name or a value, and `…` where it goes on.
///
/// An error that repeats all that was sent would be as large as the request.
///
/// ```
/// use partita_core::excerpt;
///
/// assert_eq!(excerpt::name("title"), "title");
/// let long = excerpt::name(&"x".repeat(1_000_000)).into_owned();
/// assert_eq!(long.chars().count(), excerpt::NAME_CHARS_MAX);
/// ```
pub fn name(text: &str) -> Cow<'_, str> {
    of(text, NAME_CHARS_MAX)
}

/// The beginning of a text, with at most so many characters, `…` included.
pub fn of(text: &str, chars_max: usize) -> Cow<'_, str> {
    // A character has at least a byte, so most texts need not be counted.
    if text.len() <= chars_max || text.chars().nth(chars_max).is_none() {
        return Cow::Borrowed(text);
    }
    let beginning = text.chars().take(chars_max.saturating_sub(1));
    Cow::Owned(beginning.chain(['…']).collect())
}

/// [`of`] a text that need not be copied.
pub fn of_owned(text: String, chars_max: usize) -> String {
    match of(&text, chars_max) {
        Cow::Borrowed(_) => text,
        Cow::Owned(beginning) => beginning,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_shortened_between_characters() {
        for (text, expected) in [
            ("", ""),
            ("abcd", "abcd"),
            ("abcde", "abc…"),
            ("äöüß", "äöüß"),
            ("äöüßx", "äöü…"),
        ] {
            assert_eq!(of(text, 4), expected);
            assert_eq!(of_owned(text.to_owned(), 4), expected);
        }
    }
}
