//! What the names of a demo stand for, and what is drawn: all of it from one seed.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use partita_design::time;
use serde_json::{Value as Json, json};
use ulid::Ulid;

use super::expression::{Expression, Piece, Range, Template, Text, TimeForm};

/// How much one statement may make of what is named: no item holds more than a part of it.
const STATEMENT_BYTES_MAX: usize = 16_000_000;
/// Values inside one another. As deep as an item may be, and far below what the stack holds.
const DEPTH_MAX: usize = 32;
/// How much the names may stand for.
const NAMES_BYTES_MAX: usize = 64_000_000;

/// Names, randomness and the time.
pub(super) struct Draw {
    random: fastrand::Rng,
    names: BTreeMap<String, Json>,
    /// How much the names stand for.
    named_bytes: usize,
    /// How much the statement may still make.
    room_bytes: usize,
    now_millis: i64,
}

impl Draw {
    pub(super) fn new(seed: u64, now_millis: i64) -> Draw {
        Draw {
            random: fastrand::Rng::with_seed(seed),
            names: BTreeMap::new(),
            named_bytes: 0,
            room_bytes: STATEMENT_BYTES_MAX,
            now_millis,
        }
    }

    pub(super) fn set_now(&mut self, millis: i64) {
        self.now_millis = millis;
    }

    /// A statement begins.
    pub(super) fn begin(&mut self) {
        self.room_bytes = STATEMENT_BYTES_MAX;
    }

    /// From here on the name stands for the value.
    pub(super) fn name(&mut self, name: &str, value: Json) -> Result<()> {
        ensure!(
            depth(&value) <= DEPTH_MAX,
            "a value nests at most {DEPTH_MAX} deep"
        );
        self.named_bytes += weight(&value);
        let before = self.names.insert(name.to_owned(), value);
        self.named_bytes -= before.as_ref().map_or(0, weight);
        self.check_names()
    }

    fn check_names(&self) -> Result<()> {
        ensure!(
            self.named_bytes <= NAMES_BYTES_MAX,
            "the names of a demo stand for at most {NAMES_BYTES_MAX} bytes"
        );
        Ok(())
    }

    /// Adds to a list, which need not be there.
    pub(super) fn append(&mut self, list: &str, value: Json) -> Result<()> {
        self.named_bytes += weight(&value);
        self.check_names()?;
        let list_ = self
            .names
            .entry(list.to_owned())
            .or_insert_with(|| json!([]));
        let list_ = list_.as_array_mut();
        list_
            .with_context(|| format!("`{list}` is no list"))?
            .push(value);
        Ok(())
    }

    pub(super) fn number(&mut self, range: Range) -> i64 {
        self.random.i64(range.from..=range.to)
    }

    /// 0 to 99.
    pub(super) fn percent(&mut self) -> u8 {
        self.random.u8(0..100)
    }

    pub(super) fn value(&mut self, expression: &Expression) -> Result<Json> {
        Ok(match expression {
            Expression::Written(template) => self.filled(template)?,
            Expression::Named(path) => self.named(path)?,
            Expression::Any(list) => {
                let elements = self.elements(list)?;
                ensure!(!elements.is_empty(), "the list is empty");
                let at = self.random.usize(..elements.len());
                elements.into_iter().nth(at).unwrap_or_default()
            }
            Expression::Some(range, list) => {
                let mut elements = self.elements(list)?;
                self.random.shuffle(&mut elements);
                let count = self.number(*range);
                elements.truncate(usize::try_from(count).unwrap_or(0));
                Json::Array(elements)
            }
            Expression::Except(list, without) => {
                let (mut elements, without) = (self.elements(list)?, self.value(without)?);
                elements.retain(|element| *element != without);
                Json::Array(elements)
            }
            Expression::Number(range) => self.number(*range).into(),
            Expression::Time(form, offset) => {
                let millis = self.now_millis + offset;
                match form {
                    TimeForm::Now => time::format_millis(millis).into(),
                    TimeForm::Today => time::format_millis(millis)[..10].into(),
                    TimeForm::Seconds => millis.div_euclid(1000).into(),
                }
            }
            Expression::Uuid => uuid(self.random.u128(..)).into(),
            Expression::Ulid => {
                let millis = u64::try_from(self.now_millis).unwrap_or(0);
                let id = Ulid::from_parts(millis, self.random.u128(..));
                id.to_string().into()
            }
        })
    }

    pub(super) fn elements(&mut self, expression: &Expression) -> Result<Vec<Json>> {
        match self.value(expression)? {
            Json::Array(elements) => Ok(elements),
            other => bail!("`{other}` is no list"),
        }
    }

    fn named(&mut self, path: &[String]) -> Result<Json> {
        let mut names = path.iter();
        let first = names.next().map(String::as_str).unwrap_or_default();
        let mut value = self
            .names
            .get(first)
            .with_context(|| format!("nothing is called `{first}`"))?;
        for name in names {
            let inside = match value {
                Json::Array(elements) => name.parse().ok().and_then(|at: usize| elements.get(at)),
                value => value.get(name),
            };
            value = inside.with_context(|| format!("`{first}` has no `{name}`"))?;
        }
        let bytes = weight(value);
        ensure!(
            bytes <= self.room_bytes,
            "a statement makes at most {STATEMENT_BYTES_MAX} bytes of values"
        );
        let value = value.clone();
        self.room_bytes -= bytes;
        Ok(value)
    }

    /// A template with everything filled in.
    pub(super) fn filled(&mut self, template: &Template) -> Result<Json> {
        Ok(match template {
            Template::Text(text) => match text.0.as_slice() {
                // Alone it keeps its type.
                [Piece::Value(value)] => self.value(value)?,
                _ => self.text(text)?.into(),
            },
            Template::List(elements) => {
                let elements = elements.iter().map(|element| self.filled(element));
                Json::Array(elements.collect::<Result<_>>()?)
            }
            Template::Object(members) => {
                let members = members.iter();
                let members = members.map(|(name, value)| Ok((name.clone(), self.filled(value)?)));
                Json::Object(members.collect::<Result<_>>()?)
            }
            Template::Other(json) => json.clone(),
        })
    }

    pub(super) fn text(&mut self, text: &Text) -> Result<String> {
        let mut whole = String::new();
        for piece in &text.0 {
            match piece {
                Piece::Plain(plain) => whole += plain,
                Piece::Value(value) => match self.value(value)? {
                    Json::String(text) => whole += &text,
                    other => whole += &other.to_string(),
                },
            }
        }
        Ok(whole)
    }
}

fn depth(value: &Json) -> usize {
    let inner = match value {
        Json::Array(elements) => elements.iter().map(depth).max(),
        Json::Object(members) => members.values().map(depth).max(),
        _ => None,
    };
    inner.map_or(0, |inner| inner + 1)
}

/// About how many bytes a value takes.
fn weight(value: &Json) -> usize {
    const EACH: usize = 16;
    EACH + match value {
        Json::String(text) => text.len(),
        Json::Array(elements) => elements.iter().map(weight).sum(),
        Json::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| name.len() + weight(value))
                .sum()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

/// Random bits as a UUID of version 4.
fn uuid(bits: u128) -> String {
    let bits =
        bits & !(0xf000_u128 << 64 | 0xc000_u128 << 48) | 0x4000_u128 << 64 | 0x8000_u128 << 48;
    let hex = format!("{bits:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw() -> Draw {
        let mut draw = Draw::new(7, 1_767_261_600_000);
        draw.name("people", json!(["ann", "bob", "eve"])).unwrap();
        let story = json!({"id": 3, "tags": ["a", "b"]});
        draw.name("story", story).unwrap();
        draw
    }

    fn drawn(text: &str) -> Json {
        draw().value(&Expression::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        for text in ["any people", "1..1000000", "uuid", "ulid", "2 of people"] {
            assert_eq!(drawn(text), drawn(text), "{text}");
        }
        assert_ne!(draw().random.u64(..), Draw::new(8, 0).random.u64(..));
    }

    #[test]
    fn values_keep_their_types_alone_and_are_text_among_text() {
        assert_eq!(drawn("$story.id"), json!(3));
        assert_eq!(drawn("$story.tags.1"), json!("b"));
        assert_eq!(
            drawn(r#"{"a": "$story.id", "b": "<$story.id>"}"#),
            json!({"a": 3, "b": "<3>"})
        );
        assert_eq!(drawn("now + 1d"), json!("2026-01-02T10:00:00.000Z"));
        assert_eq!(drawn("today"), json!("2026-01-01"));
        assert_eq!(drawn("seconds"), json!(1_767_261_600));
    }

    #[test]
    fn some_are_distinct_and_no_more_than_there_are() {
        let mut some: Vec<String> = serde_json::from_value(drawn("9 of people")).unwrap();
        some.sort();
        assert_eq!(some, ["ann", "bob", "eve"]);
        let rest = drawn("9 of people except \"bob\"");
        assert_eq!(rest.as_array().unwrap().len(), 2, "{rest}");
        let uuid = drawn("uuid");
        let uuid = uuid.as_str().unwrap();
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
    }

    #[test]
    fn values_do_not_grow_without_end() {
        let check = |text: &str, expected: &str| {
            let mut draw = draw();
            draw.name("a", "x".repeat(1_000).into()).unwrap();
            let again = Expression::parse(text).unwrap();
            let error = (0..100).find_map(|_| {
                draw.begin();
                let value = draw.value(&again);
                value.and_then(|value| draw.name("a", value)).err()
            });
            assert_eq!(error.unwrap().to_string(), expected, "{text}");
        };
        let expected = "a statement makes at most 16000000 bytes of values";
        check(r#""$a$a$a$a""#, expected);
        check(r#"["$a", "$a", "$a", "$a"]"#, expected);
        check(r#"["$a"]"#, "a value nests at most 32 deep");
        let mut draw = draw();
        let error = (0..100).find_map(|at| {
            let value = "x".repeat(1_000_000).into();
            draw.name(&format!("a{at}"), value).err()
        });
        let expected = "the names of a demo stand for at most 64000000 bytes";
        assert_eq!(error.unwrap().to_string(), expected);
    }

    #[test]
    fn what_is_not_there_is_told() {
        let check = |text: &str, expected: &str| {
            let error = draw().value(&Expression::parse(text).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text}");
        };
        check("$storey", "nothing is called `storey`");
        check("$story.title", "`story` has no `title`");
        check("any $story.id", "`3` is no list");
    }
}
