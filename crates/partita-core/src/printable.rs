//! Foreign text for a terminal or a log: what it is shown as is what it is.
//!
//! Keys and values are callers' text. Printed as it is, one could clear the screen, ring, or forge
//! another line of a report that an operator is about to agree to.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A text on one line: control characters, line breaks and characters that reorder or hide others
/// are spelled out.
///
/// ```
/// use partita_core::printable;
///
/// assert_eq!(printable::line("Zürich 🙂"), "Zürich 🙂");
/// assert_eq!(printable::line("a\u{1b}[2J\nb\u{202e}c"), r"a\u{1b}[2J\u{a}b\u{202e}c");
/// ```
pub fn line(text: &str) -> Cow<'_, str> {
    spelled(text, is_hidden)
}

/// The same for a text of several lines, whose line breaks are its own.
pub fn lines(text: &str) -> Cow<'_, str> {
    spelled(text, |one| one != '\n' && is_hidden(one))
}

/// JSON with such characters as escapes of JSON, so that it is the same document. Line breaks stay.
///
/// ```
/// use partita_core::printable;
///
/// assert_eq!(printable::json("{\n  \"a\": \"\u{202e}\u{9b}\"\n}"), "{\n  \"a\": \"\\u202e\\u009b\"\n}");
/// ```
pub fn json(text: &str) -> Cow<'_, str> {
    let is_escaped = |one: char| one != '\n' && is_hidden(one);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for one in text.chars() {
        if is_escaped(one) {
            for unit in one.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(one);
        }
    }
    Cow::Owned(escaped)
}

/// The same text with as many bytes, in which such characters are question marks. Line breaks and
/// tabs stay.
pub fn masked(text: &str) -> Cow<'_, str> {
    let is_masked = |one: char| !matches!(one, '\n' | '\r' | '\t') && is_hidden(one);
    if !text.contains(is_masked) {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    for one in text.chars() {
        if is_masked(one) {
            masked.extend(std::iter::repeat_n('?', one.len_utf8()));
        } else {
            masked.push(one);
        }
    }
    Cow::Owned(masked)
}

fn spelled(text: &str, is_spelled: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_spelled) {
        return Cow::Borrowed(text);
    }
    let mut spelled = String::with_capacity(text.len() + 16);
    for one in text.chars() {
        if is_spelled(one) {
            // Writing to a string does not fail.
            let _ = write!(spelled, "{}", one.escape_unicode());
        } else {
            spelled.push(one);
        }
    }
    Cow::Owned(spelled)
}

/// Whether a character acts on its surroundings instead of being seen. Joiners stay: letters and
/// emoji are written with them.
fn is_hidden(one: char) -> bool {
    one.is_control()
        || matches!(
            one,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_spelled_out() {
        for (text, shown) in [
            ("\u{7}", r"\u{7}"),
            ("\u{9b}31m", r"\u{9b}31m"),
            ("\r\n", r"\u{d}\u{a}"),
            ("a\u{2028}b", r"a\u{2028}b"),
            ("\u{2066}x\u{2069}", r"\u{2066}x\u{2069}"),
            ("👩\u{200d}🚀", "👩\u{200d}🚀"),
        ] {
            assert_eq!(line(text), shown);
        }
        assert_eq!(lines("a\nb\u{1b}"), "a\nb\\u{1b}");
    }

    #[test]
    fn json_stays_the_same_document() {
        let text = "\u{7f}\u{85}\u{9b}\u{2066}\u{feff}\u{e0041}Zürich 🙂\u{200d}";
        let document = format!("{:#}", serde_json::json!({ "text": text }));
        let printed = json(&document);
        assert!(!printed.contains(|one| one != '\n' && is_hidden(one)));
        assert!(printed.contains(r"\udb40\udc41Zürich 🙂"), "{printed}");
        let read: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(read["text"], text);
    }

    #[test]
    fn a_masked_text_keeps_its_places() {
        let text = "a\u{1b}b\u{202e}c\u{9b}\n\td";
        let masked = masked(text);
        assert_eq!(masked, "a?b???c??\n\td");
        assert_eq!(masked.len(), text.len());
    }
}
