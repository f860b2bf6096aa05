//! Bodies: JSON objects without repeated names.
//!
//! A body is read once, into the values that the planner takes, in time and memory that grow with
//! its length and nothing else: places are written down only for faults, and only for the first
//! faults.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use axum::http::header;
use partita_core::limits::ITEM_BYTES_MAX;
use partita_core::{Map, Name, Value, excerpt};
use partita_plan::{FAULTS_MAX, Fault, PlanError};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::Request;
use crate::problem::{Problem, ProblemKind};

/// The parser's own mark of a number that keeps its digits; a client must not send it.
const MARK: &str = "$serde_json::private::Number";

/// Values in a body, those inside others included. No item has more values than bytes.
pub const VALUES_MAX: usize = ITEM_BYTES_MAX;

/// The object that a request brings.
pub(crate) fn object(request: &Request<'_>) -> Result<Map, Problem> {
    let content_type = request.headers.get(header::CONTENT_TYPE);
    let media_type = content_type
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.split(';').next())
        .map(|text| text.trim().to_ascii_lowercase());
    let is_json = matches!(
        media_type.as_deref(),
        Some("application/json" | "application/merge-patch+json")
    );
    if !is_json {
        let detail = "send it with `Content-Type: application/json`";
        return Err(Problem::new(ProblemKind::NotJson, detail));
    }
    parse(request.body)
}

/// Refuses what has faults.
pub(super) fn refuse(faults: Vec<Fault>) -> Result<(), Problem> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(PlanError::Invalid { faults }.into())
}

fn parse(body: &[u8]) -> Result<Map, Problem> {
    if has_mark(body) {
        return Err(Problem::bad_request("the body has a name that is reserved"));
    }
    let not_json = |error: serde_json::Error| {
        let detail = format!("the body is not a JSON object: {error}");
        Problem::bad_request(detail)
    };
    let mut reading = BodyReading::default();
    let mut json = serde_json::Deserializer::from_slice(body);
    let seed = OneValue(&mut reading);
    let value = seed.deserialize(&mut json).map_err(not_json)?;
    json.end().map_err(not_json)?;
    let Value::M(object) = value else {
        return Err(Problem::bad_request("the body is not a JSON object"));
    };
    refuse(reading.faults)?;
    Ok(object)
}

/// Whether the parser's mark is a name in a body: a text with a colon behind it. One that is
/// written with escapes is read as a number or refused, and does no harm.
fn has_mark(body: &[u8]) -> bool {
    let mut rest = body;
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix(MARK.as_bytes())
            && let Some(behind) = behind.strip_prefix(b"\"")
            && behind.trim_ascii_start().starts_with(b":")
        {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// A body that is being read.
#[derive(Default)]
struct BodyReading {
    /// The path to the value that is being read.
    path: Vec<PathStep>,
    values: usize,
    faults: Vec<Fault>,
    /// Elements and entries of the lists and maps that are still open: each takes its own at its
    /// end, so that nothing is allocated that is not filled.
    elements: Vec<Value>,
    entries: Vec<(Name, Value)>,
}

/// One step into a value.
enum PathStep {
    Name(Name),
    Position(usize),
}

impl BodyReading {
    /// Notes a fault of the value that is being read, unless there are enough.
    fn fault(&mut self, message: impl FnOnce() -> String) {
        if self.faults.len() <= FAULTS_MAX {
            let place = self.place();
            self.faults.push(Fault::new(place, message()));
        }
    }

    /// The path to the value: `media.pages[2]`.
    fn place(&self) -> String {
        let mut place = String::new();
        for step in &self.path {
            // Writing to a text cannot fail.
            let _ = match step {
                PathStep::Name(name) if place.is_empty() => {
                    write!(place, "{}", excerpt::name(name))
                }
                PathStep::Name(name) => write!(place, ".{}", excerpt::name(name)),
                PathStep::Position(at) => write!(place, "[{at}]"),
            };
        }
        place
    }

    /// Takes the entries of the map that ends here. The parser would keep the last of two values of
    /// one name; which of them the client meant is unknown, so both are refused.
    fn close_map(&mut self, begun: usize) -> Map {
        let entries = self.entries.split_off(begun);
        for name in repeated(&entries) {
            self.path.push(PathStep::Name(name));
            self.fault(|| "is given twice".to_owned());
            self.path.pop();
        }
        entries.into_iter().collect()
    }
}

/// The names that occur more than once, as often as they do beside the first, in their order; no
/// more than are reported.
fn repeated(entries: &[(Name, Value)]) -> Vec<Name> {
    let mut names: Vec<&Name> = entries.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    if names.windows(2).all(|pair| pair[0] != pair[1]) {
        return Vec::new();
    }
    let mut seen = HashSet::new();
    let again = entries.iter().filter(|(name, _)| !seen.insert(name));
    let again = again.map(|(name, _)| name.clone());
    again.take(FAULTS_MAX + 1).collect()
}

/// Reads one value, with everything inside it.
struct OneValue<'r>(&'r mut BodyReading);

impl<'de> DeserializeSeed<'de> for OneValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.0.values += 1;
        if self.0.values > VALUES_MAX {
            let message = format!("it has more than {VALUES_MAX} values");
            return Err(D::Error::custom(message));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OneValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let reading = self.0;
        let begun = reading.entries.len();
        while let Some(name) = map.next_key::<Name>()? {
            // A number arrives as a map with the parser's mark.
            if name == MARK && reading.entries.len() == begun {
                let digits = map.next_value::<String>()?;
                return Ok(number(reading, &digits));
            }
            reading.path.push(PathStep::Name(name));
            let value = map.next_value_seed(OneValue(reading))?;
            if let Some(PathStep::Name(name)) = reading.path.pop() {
                reading.entries.push((name, value));
            }
        }
        Ok(Value::M(reading.close_map(begun)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let reading = self.0;
        let begun = reading.elements.len();
        for at in 0.. {
            reading.path.push(PathStep::Position(at));
            let element = list.next_element_seed(OneValue(reading))?;
            reading.path.pop();
            match element {
                Some(element) => reading.elements.push(element),
                None => break,
            }
        }
        Ok(Value::L(reading.elements.split_off(begun)))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::N(number.into()))
    }

    fn visit_u64<E>(self, digits: u64) -> Result<Value, E> {
        Ok(number(self.0, &digits.to_string()))
    }

    fn visit_f64<E>(self, digits: f64) -> Result<Value, E> {
        Ok(number(self.0, &digits.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::S(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::S(text))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

/// A number of these digits; what is no number here is a fault.
fn number(reading: &mut BodyReading, digits: &str) -> Value {
    match digits.parse() {
        Ok(number) => Value::N(number),
        Err(error) => {
            reading.fault(|| format!("has a bad number: {error}"));
            Value::Null
        }
    }
}

#[cfg(test)]
mod tests;
