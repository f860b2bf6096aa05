//! Which name was probably meant.

use strsim::osa_distance;

/// The longest word, in bytes, for which a name is suggested.
const WORD_MAX: usize = 100;

/// The most similar of the names, if one is similar enough to be suggested.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // Nobody misspells a name that long, and the search would take its square in time.
    if word.len() > WORD_MAX {
        return None;
    }
    let lower = word.to_lowercase();
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    names
        .into_iter()
        .map(|name| (osa_distance(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= allowed && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Names in backticks, with commas and an "and".
pub fn list<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<_> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions() {
        let names = ["title", "deleted", "userId", "id"];
        for (word, expected) in [
            ("titel", Some("title")),
            ("userid", Some("userId")),
            ("delted", Some("deleted")),
            ("owner", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
    }

    #[test]
    fn lists() {
        assert_eq!(list::<&str>(&[]), "");
        assert_eq!(list(&["a"]), "`a`");
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
