//! Values against the part of JSON Schema that the documents use.
//!
//! It is small on purpose: whatever a schema says that is not known here is a failure, and not
//! passed over.

use std::cell::RefCell;
use std::collections::HashMap;

use regex_lite::Regex;
use serde_json::{Map, Value as Json};

/// Words that say nothing about values.
const WORDS_FOR_PEOPLE: [&str; 7] = [
    "description",
    "x-partita-order",
    "default",
    "deprecated",
    "writeOnly",
    "contentEncoding",
    "format",
];

/// Holds values against schemas of one document.
pub(crate) struct Judge<'d> {
    pub(crate) document: &'d Json,
}

impl Judge<'_> {
    /// Everything in which the value differs from the schema, with the place in the value.
    pub(crate) fn faults(&self, value: &Json, schema: &Json) -> Vec<String> {
        let mut faults = Vec::new();
        self.look(value, schema, "", &mut faults);
        faults
    }

    /// What a reference leads to.
    pub(crate) fn resolve<'j>(&'j self, object: &'j Json) -> &'j Json {
        match object.get("$ref").and_then(Json::as_str) {
            None => object,
            Some(target) => {
                let pointer = target.trim_start_matches('#');
                let found = self.document.pointer(pointer);
                self.resolve(found.unwrap_or_else(|| panic!("`{target}` leads nowhere")))
            }
        }
    }

    fn look(&self, value: &Json, schema: &Json, at: &str, faults: &mut Vec<String>) {
        let schema = self.resolve(schema);
        let words = schema.as_object().expect("a schema is an object");
        for (word, says) in words {
            if WORDS_FOR_PEOPLE.contains(&word.as_str()) {
                continue;
            }
            let fits = match word.as_str() {
                "allOf" => {
                    each(says).for_each(|part| self.look(value, part, at, faults));
                    true
                }
                "anyOf" => each(says).any(|choice| self.faults(value, choice).is_empty()),
                "properties" | "required" | "additionalProperties" => {
                    if let (Json::Object(members), "properties") = (value, word.as_str()) {
                        self.members(members, words, at, faults);
                    }
                    required(value, word, says, words)
                }
                "items" => {
                    for (index, element) in each(value).enumerate() {
                        self.look(element, says, &format!("{at}/{index}"), faults);
                    }
                    true
                }
                "propertyNames" => {
                    for name in value.as_object().into_iter().flat_map(Map::keys) {
                        self.look(&name.as_str().into(), says, at, faults);
                    }
                    true
                }
                word => fits(value, word, says),
            };
            if !fits {
                faults.push(format!("{at}: {value} is not as `{word}: {says}` says"));
            }
        }
    }

    fn members(
        &self,
        members: &Map<String, Json>,
        schema: &Map<String, Json>,
        at: &str,
        faults: &mut Vec<String>,
    ) {
        let is_open = schema.get("additionalProperties") != Some(&Json::Bool(false));
        for (name, member) in members {
            match schema["properties"].get(name) {
                Some(schema) => self.look(member, schema, &format!("{at}/{name}"), faults),
                None if is_open => {}
                None => faults.push(format!("{at}: there should be no `{name}`")),
            }
        }
    }
}

/// Whether an object has what it must have. Without `properties`, nothing else may be said of one.
fn required(value: &Json, word: &str, says: &Json, schema: &Map<String, Json>) -> bool {
    assert!(
        schema.contains_key("properties") || word == "required",
        "{word}"
    );
    match (value, word) {
        (Json::Object(members), "required") => {
            each(says).all(|name| members.contains_key(name.as_str().expect("a name")))
        }
        _ => true,
    }
}

/// Whether a value meets one keyword of a schema. Keywords for another type do not apply to it.
fn fits(value: &Json, word: &str, says: &Json) -> bool {
    let text = value.as_str();
    let number = value.as_f64();
    let bound = || says.as_f64().expect("a number");
    let count = || usize::try_from(says.as_u64().expect("a count")).expect("a small one");
    match word {
        "type" if says.is_array() => each(says).any(|one| is_of_type(value, one)),
        "type" => is_of_type(value, says),
        "const" => value == says,
        "enum" => each(says).any(|choice| choice == value),
        "minLength" => text.is_none_or(|text| text.chars().count() >= count()),
        "maxLength" => text.is_none_or(|text| text.chars().count() <= count()),
        "pattern" => text.is_none_or(|text| is_like(text, says.as_str().expect("a pattern"))),
        "minimum" => number.is_none_or(|number| number >= bound()),
        "exclusiveMinimum" => number.is_none_or(|number| number > bound()),
        "maximum" => number.is_none_or(|number| number <= bound()),
        "minItems" => value.as_array().is_none_or(|list| list.len() >= count()),
        "maxItems" => value.as_array().is_none_or(|list| list.len() <= count()),
        "uniqueItems" => value.as_array().is_none_or(|list| {
            let mut rest = list.iter().enumerate();
            rest.all(|(index, one)| !list[..index].contains(one))
        }),
        other => panic!("nobody knows what `{other}` says"),
    }
}

/// Whether a text matches a pattern. Each is read once, because that takes longer than to match.
fn is_like(text: &str, pattern: &str) -> bool {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, Regex>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        let read = || Regex::new(pattern).expect("a pattern");
        known
            .entry(pattern.to_owned())
            .or_insert_with(read)
            .is_match(text)
    })
}

fn is_of_type(value: &Json, name: &Json) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => panic!("there is no type {name}"),
    }
}

fn each(list: &Json) -> impl Iterator<Item = &Json> {
    list.as_array().into_iter().flatten()
}
