//! Words of TypeScript: names, members, texts, comments.

use std::collections::BTreeSet;

use partita_core::printable;
use serde_json::Value as Json;

/// What a type of a design cannot be called: words of the language, and what the client needs of
/// the world around it.
const TAKEN: &str = "
    any as async await bigint boolean break case catch class const continue debugger default delete
    do else enum export extends false finally for function if implements import in instanceof
    interface let never new null number object of package private protected public return static
    string super switch symbol this throw true try type typeof undefined unknown var void while with
    yield
    AbortController AbortSignal Array AsyncGenerator AsyncIterable Blob BodyInit Boolean Error Headers
    JSON Map Math Number Object Partial Pick Promise Proxy RangeError Record Required Response
    ReturnType Set String Symbol SyntaxError TextDecoder TypeError URLSearchParams clearTimeout
    crypto encodeURIComponent fetch globalThis setTimeout";

/// The names of types: each is given out once.
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// All names but those that a text declares.
    pub(super) fn beside(runtime: &str) -> Names {
        let declared = runtime.lines().filter_map(declared);
        let taken = TAKEN.split_whitespace().chain(declared);
        Names {
            taken: taken.map(str::to_owned).collect(),
        }
    }

    /// The name, or one like it if it is taken.
    pub(super) fn give(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// The name that a line at the top level of a module declares.
fn declared(line: &str) -> Option<&str> {
    let words = ["export ", "async ", "function* ", "function "];
    let words = words
        .into_iter()
        .chain(["class ", "interface ", "type ", "const "]);
    let rest = words.fold(line, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
    let end = rest.find(|one: char| !(one.is_ascii_alphanumeric() || one == '_'))?;
    (rest.len() < line.len() && end > 0).then(|| &rest[..end])
}

/// A name with a capital letter: `markRead` is `MarkRead`.
pub(super) fn capital(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next();
    first
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Whether a text can stand as a name.
fn is_name(text: &str) -> bool {
    let is_letter = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '$';
    text.chars().all(is_letter)
        && !text.starts_with(|one: char| one.is_ascii_digit())
        && !text.is_empty()
}

/// The name of a member in a type.
pub(super) fn member(name: &str) -> String {
    if is_name(name) {
        name.to_owned()
    } else {
        text(name)
    }
}

/// The name of a member in an object. One name means something else there.
pub(super) fn entry(name: &str) -> String {
    if name == "__proto__" {
        return "['__proto__']".to_owned();
    }
    member(name)
}

/// A member of a value.
pub(super) fn of(value: &str, name: &str) -> String {
    if is_name(name) {
        format!("{value}.{name}")
    } else {
        format!("{value}[{}]", text(name))
    }
}

/// A text as a literal.
pub(super) fn text(text: &str) -> String {
    let json = Json::from(text).to_string();
    if json.len() == text.len() + 2 && !text.contains('\'') {
        return format!("'{}'", printable::json(text));
    }
    printable::json(&json).into_owned()
}

/// A comment in front of something, in lines that begin with `indent`; none if nothing is said.
pub(super) fn comment(said: &str, indent: &str) -> String {
    // INVARIANT: nothing that a design says ends the comment.
    let said = said.replace("*/", "* /");
    let lines: Vec<_> = said
        .trim()
        .lines()
        .map(str::trim_end)
        .map(printable::line)
        .collect();
    match lines.as_slice() {
        [] => String::new(),
        [one] => format!("{indent}/** {one} */\n"),
        several => {
            let several = several.iter().map(|line| match line.as_ref() {
                "" => format!("{indent} *\n"),
                line => format!("{indent} * {line}\n"),
            });
            format!("{indent}/**\n{}{indent} */\n", several.collect::<String>())
        }
    }
}
