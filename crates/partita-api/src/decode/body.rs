//! Bodies: JSON objects in which every name stands once.

use std::collections::HashSet;
use std::fmt;

use axum::http::header;
use partita_core::{Map, plain};
use partita_plan::{Fault, PlanError};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::Request;
use crate::problem::{Kind, Problem};

/// The parser's own mark of a number that keeps its digits; nobody else may write it.
const MARK: &[u8] = b"$serde_json::private";

/// The object that a request brings.
pub(crate) fn object(request: &Request<'_>) -> Result<serde_json::Map<String, Json>, Problem> {
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
        return Err(Problem::new(Kind::NotJson, detail));
    }
    parse(request.body)
}

/// The attributes that a request brings.
pub(super) fn attributes(request: &Request<'_>) -> Result<Map, Problem> {
    to_attributes(object(request)?)
}

/// The attributes in a JSON object.
pub(crate) fn to_attributes(object: serde_json::Map<String, Json>) -> Result<Map, Problem> {
    let mut attributes = Map::new();
    let mut faults = Vec::new();
    for (name, json) in object {
        match plain::from_json(json) {
            Err(error) => faults.push(Fault::new(name, format!("has a bad number: {error}"))),
            Ok(value) => {
                attributes.insert(name, value);
            }
        }
    }
    refuse(faults)?;
    Ok(attributes)
}

/// Refuses what has faults.
pub(super) fn refuse(faults: Vec<Fault>) -> Result<(), Problem> {
    match faults.is_empty() {
        true => Ok(()),
        false => Err(PlanError::Invalid { faults }.into()),
    }
}

fn parse(body: &[u8]) -> Result<serde_json::Map<String, Json>, Problem> {
    if body.windows(MARK.len()).any(|window| window == MARK) {
        return Err(Problem::bad_request("the body has a name that is reserved"));
    }
    let not_json = |error| {
        let detail = format!("the body is not a JSON object: {error}");
        Problem::bad_request(detail)
    };
    let object = serde_json::from_slice(body).map_err(not_json)?;
    // The parser keeps the last of two values of one name. Whoever sent both meant one of them,
    // and nobody knows which.
    let mut doubled = Vec::new();
    let names = Names {
        path: String::new(),
        doubled: &mut doubled,
    };
    names
        .deserialize(&mut serde_json::Deserializer::from_slice(body))
        .map_err(not_json)?;
    let faults = doubled.into_iter();
    refuse(
        faults
            .map(|name| Fault::new(name, "is given twice"))
            .collect(),
    )?;
    Ok(object)
}

/// Finds names that stand twice in one object, at any depth.
struct Names<'f> {
    /// Where this value stands: `media.pages[2]`.
    path: String,
    doubled: &'f mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    // A number arrives as a map with the parser's mark, which stands in it once.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let path = match self.path.as_str() {
                "" => name.clone(),
                outer => format!("{outer}.{name}"),
            };
            if !seen.insert(name) {
                self.doubled.push(path.clone());
            }
            map.next_value_seed(Names {
                path,
                doubled: self.doubled,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut at = 0;
        loop {
            let element = list.next_element_seed(Names {
                path: format!("{}[{at}]", self.path),
                doubled: self.doubled,
            });
            if element?.is_none() {
                return Ok(());
            }
            at += 1;
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
