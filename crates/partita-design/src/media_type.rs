//! Media types of files, by what their names end with.
//!
//! A name says what a file is: stores that keep nothing but bytes, a directory for one, have no
//! other place for it. Each type has one ending of its own, the first in the table.

/// What names end with, and the type that this means. The first ending of a type is the one
/// that new names get.
const ENDINGS: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("webp", "image/webp"),
    ("avi", "video/x-msvideo"),
    ("m4v", "video/x-m4v"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp4", "video/mp4"),
    ("mpg", "video/mpeg"),
    ("mpeg", "video/mpeg"),
    ("ogv", "video/ogg"),
    ("webm", "video/webm"),
    ("aac", "audio/aac"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/opus"),
    ("wav", "audio/wav"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("md", "text/markdown"),
    ("txt", "text/plain"),
    ("json", "application/json"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
];

/// The ending of names of files of a type that the table does not have.
const OTHER: &str = "bin";

/// The type of a file by its name; `None` if the ending is not known.
pub fn of_name(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    let found = ENDINGS.iter().find(|(known, _)| *known == ending);
    found.map(|(_, kind)| *kind)
}

/// What the name of a file of this type ends with.
pub fn ending(kind: &str) -> &'static str {
    let found = ENDINGS.iter().find(|(_, known)| *known == kind);
    found.map_or(OTHER, |(ending, _)| ending)
}

/// Whether a type is one of those that are taken: `image/png`, `image/*`, `*/*`; all if there are
/// none.
pub fn is_accepted(accepts: &[String], kind: &str) -> bool {
    let fits = |accepted: &String| match accepted.strip_suffix('*') {
        Some("*/") => true,
        Some(family) => kind.starts_with(family),
        None => accepted == kind,
    };
    accepts.is_empty() || accepts.iter().any(fits)
}

/// A type as it is compared: lower-case, without parameters. `None` if it is not of the form
/// `image/png`, of the characters that RFC 6838 allows.
pub fn normal(text: &str) -> Option<String> {
    let kind = text.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    let (family, name) = kind.split_once('/')?;
    let is_word = |word: &str| {
        let is_letter =
            |letter: char| letter.is_ascii_alphanumeric() || "!#$&-^_.+".contains(letter);
        (1..=127).contains(&word.len()) && word.chars().all(is_letter)
    };
    (is_word(family) && is_word(name)).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_an_ending_that_leads_back_to_it() {
        for (_, kind) in ENDINGS {
            assert_eq!(of_name(&format!("a.{}", ending(kind))), Some(*kind));
        }
        assert_eq!(ending("application/x-strange"), "bin");
        assert_eq!(of_name("a.JPEG"), Some("image/jpeg"));
        assert_eq!(of_name("jpg"), None);
    }

    #[test]
    fn what_is_accepted() {
        let accepts = |list: &[&str], kind| {
            let list: Vec<String> = list.iter().map(|one| (*one).to_owned()).collect();
            is_accepted(&list, kind)
        };
        assert!(accepts(&[], "text/html"));
        assert!(accepts(&["image/*"], "image/png"));
        assert!(!accepts(&["image/*"], "imagery/png"));
        assert!(!accepts(&["application/pdf"], "application/pdfx"));
        assert!(accepts(&["*/*"], "a/b"));
    }

    #[test]
    fn types_are_compared_without_parameters() {
        assert_eq!(normal("Text/HTML; charset=utf-8"), Some("text/html".into()));
        for nonsense in [
            "",
            "image",
            "image/",
            "/png",
            "a/b/c",
            "image/p ng",
            "image/png\r\nx: y",
        ] {
            assert_eq!(normal(nonsense), None, "{nonsense:?}");
        }
    }
}
