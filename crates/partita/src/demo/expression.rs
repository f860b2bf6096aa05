//! Values in a demo: written down, referred to, or drawn.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value as Json;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    /// `{"title": "$(any titles)"}`
    Written(Template),
    /// `$story.storyId`: a name, and the way into it.
    Named(Vec<String>),
    /// `any titles`: one of a list.
    Any(Box<Expression>),
    /// `2..4 of people`: some of a list, each once.
    Some(Range, Box<Expression>),
    /// `people except $author`.
    Except(Box<Expression>, Box<Expression>),
    /// `1..40`: a whole number.
    Number(Range),
    /// `now`, `now + 3d`, `today - 1d`, `seconds + 1h`.
    Time(TimeForm, i64),
    Uuid,
    Ulid,
}

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeForm {
    /// `2026-01-02T03:04:05.678Z`
    Now,
    /// `2026-01-02`
    Today,
    /// Seconds since 1970.
    Seconds,
}

/// From a number to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: i64,
    pub(super) to: i64,
}

/// A JSON value with texts that are filled in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Template {
    Text(Text),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
    /// A number, a truth or a null.
    Other(Json),
}

/// A text with values in it: `Letter to $aunt, $(1..9) pages`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text(pub(super) Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Plain(String),
    Value(Expression),
}

/// Values inside one another.
const DEPTH_MAX: usize = 16;
/// A hundred years: any time from then to now can be written down.
const SPAN_MILLIS_MAX: i64 = 36_525 * 86_400_000;

const UNITS: [(&str, i64); 4] = [
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

impl Expression {
    pub(super) fn parse(text: &str) -> Result<Expression> {
        Expression::parse_in(text, 0)
    }

    fn parse_in(text: &str, depth: usize) -> Result<Expression> {
        // INVARIANT: recursion ends here, so that no script exhausts the stack.
        ensure!(depth <= DEPTH_MAX, "a value nests at most {DEPTH_MAX} deep");
        let inner = depth + 1;
        let text = text.trim();
        if let Some(list) = text.strip_prefix("any ") {
            return Ok(Expression::Any(Box::new(Expression::list_in(list, inner)?)));
        }
        if let Some((range, list)) = text.split_once(" of ")
            && let Ok(range) = Range::parse(range)
        {
            let list = Expression::list_in(list, inner)?;
            return Ok(Expression::Some(range, Box::new(list)));
        }
        if let Some((list, without)) = text.rsplit_once(" except ") {
            let list = Expression::list_in(list, inner)?;
            let without = Expression::parse_in(without, inner)?;
            return Ok(Expression::Except(Box::new(list), Box::new(without)));
        }
        match text {
            "uuid" => return Ok(Expression::Uuid),
            "ulid" => return Ok(Expression::Ulid),
            _ => {}
        }
        if text.contains("..")
            && let Ok(range) = Range::parse(text)
        {
            return Ok(Expression::Number(range));
        }
        if let Some(time) = time(text)? {
            return Ok(time);
        }
        if let Some(name) = text.strip_prefix('$')
            && let (path, "") = path(name)
        {
            return Ok(Expression::Named(path));
        }
        Ok(Expression::Written(Template::parse_in(text, inner)?))
    }

    /// Where a list is expected its name alone will do.
    pub(super) fn list(text: &str) -> Result<Expression> {
        Expression::list_in(text, 0)
    }

    fn list_in(text: &str, depth: usize) -> Result<Expression> {
        let text = text.trim();
        match path(text) {
            (name, "") if !name.is_empty() => Ok(Expression::Named(name)),
            _ => Expression::parse_in(text, depth),
        }
    }
}

impl Range {
    /// `3` or `2..5`.
    pub(super) fn parse(text: &str) -> Result<Range> {
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let number = |text: &str| {
            let number = text.trim().parse::<i64>();
            number.with_context(|| format!("`{text}` is no whole number"))
        };
        Range::new(number(from)?, number(to)?)
    }

    /// `20m..6h`, in milliseconds.
    pub(super) fn parse_span(text: &str) -> Result<Range> {
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        Range::new(span(from)?, span(to)?)
    }

    fn new(from: i64, to: i64) -> Result<Range> {
        ensure!(from <= to, "{from} is more than {to}");
        Ok(Range { from, to })
    }
}

/// `90s`, `20m`, `6h`, `3d`, in milliseconds.
pub(super) fn span(text: &str) -> Result<i64> {
    let text = text.trim();
    let known = UNITS.iter().find_map(|(unit, millis)| {
        let number = text.strip_suffix(unit)?.trim().parse::<i64>().ok()?;
        let millis = number.checked_mul(*millis)?;
        (millis.abs() <= SPAN_MILLIS_MAX).then_some(millis)
    });
    known.with_context(|| format!("write a time such as 90s, 20m, 6h or 3d, not `{text}`"))
}

fn time(text: &str) -> Result<Option<Expression>> {
    let forms = [
        ("now", TimeForm::Now),
        ("today", TimeForm::Today),
        ("seconds", TimeForm::Seconds),
    ];
    for (word, form) in forms {
        let Some(rest) = text.strip_prefix(word) else {
            continue;
        };
        let rest = rest.trim();
        let offset = match rest.split_at_checked(1) {
            None => 0,
            Some(("+", later)) => span(later)?,
            Some(("-", earlier)) => -span(earlier)?,
            Some(_) => continue,
        };
        return Ok(Some(Expression::Time(form, offset)));
    }
    Ok(None)
}

/// `story.storyId` at the beginning of a text, and the rest.
fn path(text: &str) -> (Vec<String>, &str) {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let is_word = |one: char| one.is_ascii_alphanumeric() || one == '_';
        let end = rest.find(|one| !is_word(one)).unwrap_or(rest.len());
        if end == 0 {
            return (names, rest);
        }
        names.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix('.') {
            Some(next) if next.starts_with(is_word) => rest = next,
            _ => return (names, rest),
        }
    }
}

impl Template {
    /// A JSON value.
    pub(super) fn parse(text: &str) -> Result<Template> {
        Template::parse_in(text, 0)
    }

    fn parse_in(text: &str, depth: usize) -> Result<Template> {
        let json = serde_json::from_str(text).with_context(|| format!("`{text}` is no value"))?;
        Template::of_in(json, depth)
    }

    pub(super) fn of(json: Json) -> Result<Template> {
        Template::of_in(json, 0)
    }

    /// JSON's own parser bounds how deep it is.
    fn of_in(json: Json, depth: usize) -> Result<Template> {
        Ok(match json {
            Json::String(text) => Template::Text(Text::parse_in(&text, depth)?),
            Json::Array(elements) => {
                let elements = elements.into_iter();
                let elements = elements.map(|element| Template::of_in(element, depth));
                Template::List(elements.collect::<Result<_>>()?)
            }
            Json::Object(members) => {
                let members = members.into_iter();
                let members =
                    members.map(|(name, value)| Ok((name, Template::of_in(value, depth)?)));
                Template::Object(members.collect::<Result<_>>()?)
            }
            other => Template::Other(other),
        })
    }
}

impl Text {
    /// A text in which `$name.name` and `$(expression)` stand for values. Any other `$` is one.
    pub(super) fn parse(text: &str) -> Result<Text> {
        Text::parse_in(text, 0)
    }

    fn parse_in(text: &str, depth: usize) -> Result<Text> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            plain += before;
            let (value, behind) = match after.strip_prefix('(') {
                Some(inside) => {
                    let end = closing(inside)
                        .with_context(|| format!("`{text}` has a `$(` without its `)`"))?;
                    let value = Expression::parse_in(&inside[..end], depth + 1)?;
                    (Some(value), &inside[end + 1..])
                }
                None if after.starts_with(|one: char| one.is_ascii_alphabetic()) => {
                    let (name, behind) = path(after);
                    (Some(Expression::Named(name)), behind)
                }
                None => (None, after),
            };
            match value {
                None => plain.push('$'),
                Some(value) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Plain(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Value(value));
                }
            }
            rest = behind;
        }
        plain += rest;
        if !plain.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        Ok(Text(pieces))
    }
}

/// Where the parenthesis ends that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, one) in text.char_indices() {
        match one {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The name of a variable, alone.
pub(super) fn name(text: &str) -> Result<String> {
    match path(text.trim()) {
        (mut names, "") if names.len() == 1 => Ok(names.remove(0)),
        _ => bail!("`{text}` is no name"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn named(path: &[&str]) -> Expression {
        Expression::Named(path.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn values_are_drawn_named_or_written() {
        let check = |text: &str, expected: Expression| {
            assert_eq!(Expression::parse(text).unwrap(), expected, "{text}");
        };
        check("any people", Expression::Any(Box::new(named(&["people"]))));
        check("$story.id", named(&["story", "id"]));
        let range = Range { from: 2, to: 4 };
        check("2..4", Expression::Number(range));
        let people = || Box::new(named(&["people"]));
        check("2..4 of people", Expression::Some(range, people()));
        let without = Box::new(named(&["author"]));
        let rest = Expression::Except(people(), without);
        check("people except $author", rest.clone());
        let one = Expression::Any(Box::new(rest));
        check("any people except $author", one);
        check("now", Expression::Time(TimeForm::Now, 0));
        check(
            "today - 2d",
            Expression::Time(TimeForm::Today, -172_800_000),
        );
        check(
            "seconds + 1h",
            Expression::Time(TimeForm::Seconds, 3_600_000),
        );
        check("7", Expression::Written(Template::Other(json!(7))));
    }

    #[test]
    fn a_text_holds_values() {
        let text = Text::parse("$a.b, $(1..3) for $5.").unwrap();
        let number = Expression::Number(Range { from: 1, to: 3 });
        let expected = vec![
            Piece::Value(named(&["a", "b"])),
            Piece::Plain(", ".to_owned()),
            Piece::Value(number),
            Piece::Plain(" for $5.".to_owned()),
        ];
        assert_eq!(text.0, expected);
    }

    #[test]
    fn mistakes_are_told() {
        let check = |text: &str, expected: &str| {
            let error = Expression::parse(text).unwrap_err();
            assert!(format!("{error:#}").contains(expected), "{text}: {error:#}");
        };
        check("people", "is no value");
        check("now + soon", "write a time such as");
        check("\"$(any\"", "without its `)`");
    }
}
