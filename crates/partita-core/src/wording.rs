//! Names of a design in sentences.

/// The article of a name: `a` or `an`.
///
/// ```
/// use partita_core::wording::article;
///
/// assert_eq!((article("Story"), article("Alert")), ("a", "an"));
/// assert_eq!((article("User"), article("Upload")), ("a", "an"));
/// ```
pub fn article(name: &str) -> &'static str {
    // Names that begin with the sound of `you`, or of `w`.
    const CONSONANTS: [&str; 7] = ["eu", "one", "uni", "ur", "us", "ut", "uu"];
    let name = name.to_lowercase();
    let is_vowel = name.starts_with(['a', 'e', 'i', 'o', 'u']);
    if is_vowel && !CONSONANTS.iter().any(|start| name.starts_with(start)) {
        "an"
    } else {
        "a"
    }
}

/// A name with its article: an `Alert`.
pub fn one(name: &str) -> String {
    format!("{} `{name}`", article(name))
}
