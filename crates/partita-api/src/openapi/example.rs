//! Examples that fit their types.
//!
//! An example is made of the name of its attribute, and checked against the type like a caller's
//! value. Where nothing fits, as for an unusual pattern, there is no example rather than a wrong
//! one.

use partita_core::{Map, Number, Value, plain};
use partita_design::Design;
use partita_design::design::{Attribute, Parameter, ParameterKind};
use partita_design::time::TimeForm;
use partita_design::types::{AttributeType, Bounds, SetOf, Shape, StringType, TextFormat};
use serde_json::Value as Json;

const ULID: &str = "01JGFJJZ00000000000000DVNE";
const UUID: &str = "4b8c1f2e-9a01-4c5d-8e3f-0123456789ab";
/// 2026-01-02T03:04:05.678Z
const MILLIS: i64 = 1_767_323_045_678;

/// Texts that patterns of real designs ask for: tags, codes of languages and countries, numbers.
const TEXTS: [&str; 6] = ["pose:standing", "en", "EN", "users", "1", "a"];

/// An example of an attribute.
pub(super) fn of_attribute(design: &Design, attribute: &Attribute) -> Option<Json> {
    let mut value = of(&attribute.name, &attribute.kind)?;
    if let Some(prefix) = &attribute.file_in {
        let name = file_name(design, prefix)?;
        value = match value {
            Json::Array(_) => Json::Array(vec![name.into()]),
            _ => name.into(),
        };
    }
    Some(value)
}

/// An example of a parameter.
pub(super) fn of_parameter(parameter: &Parameter) -> Option<Json> {
    let name = &parameter.name;
    match &parameter.kind {
        ParameterKind::Value(kind) => of(name, kind),
        ParameterKind::PrefixOf(kind) => match of(name, kind)? {
            Json::String(text) => Some(text.chars().take(4).collect::<String>().into()),
            _ => None,
        },
    }
}

/// An example of a type, for something of this name.
pub(super) fn of(name: &str, kind: &AttributeType) -> Option<Json> {
    value(name, kind).map(|value| plain::to_json(&value))
}

fn value(name: &str, kind: &AttributeType) -> Option<Value> {
    let value = match kind {
        AttributeType::String(string) => return text(name, string),
        AttributeType::Enum(names) => Value::from(names.first()?.as_str()),
        AttributeType::State(states) => Value::from(states.names.first()?.as_str()),
        AttributeType::Ulid => Value::from(ULID),
        AttributeType::Uuid | AttributeType::Id => Value::from(UUID),
        AttributeType::Time(form) => form.write(MILLIS),
        AttributeType::Expiry => TimeForm::Epoch.write(MILLIS),
        AttributeType::Bool => Value::Bool(true),
        AttributeType::Number(bounds) | AttributeType::Int(bounds) => Value::N(number(bounds)),
        AttributeType::Counter | AttributeType::Version => Value::N(Number::from(1_i64)),
        AttributeType::List { element, count } => {
            let element = value(name, element)?;
            Value::L(vec![element; count.min.max(1)])
        }
        AttributeType::Set(SetOf::Strings) => Value::Ss([words(name)].into()),
        AttributeType::Set(SetOf::Numbers) => Value::Ns([Number::from(1_i64)].into()),
        AttributeType::Set(SetOf::Binaries) => Value::Bs([b"partita".to_vec()].into()),
        AttributeType::Binary => Value::B(b"partita".to_vec()),
        AttributeType::Password => return None,
        AttributeType::Map => Value::M(Map::new()),
        AttributeType::Shape(shape) => of_shape(shape)?,
        AttributeType::Any => Value::from(words(name)),
    };
    kind.check(&value).is_ok().then_some(value)
}

fn text(name: &str, string: &StringType) -> Option<Value> {
    let first = match string.format {
        Some(TextFormat::Email) => "ann@example.org".to_owned(),
        Some(TextFormat::Url) => format!("https://example.org/{name}"),
        None if is_somebody(name) => "ann".to_owned(),
        None => words(name),
    };
    let fitted = match string.length.max {
        Some(max) => first.chars().take(max).collect(),
        None => first,
    };
    let filled = format!("{fitted:x<width$}", width = string.length.min);
    let kind = AttributeType::String(string.clone());
    let others = TEXTS.iter().map(|text| (*text).to_owned());
    let mut texts = std::iter::once(filled).chain(others);
    texts
        .find(|text| kind.check(&Value::from(text.as_str())).is_ok())
        .map(Value::from)
}

/// Whether a text is likely the id of a person: `authorId`, `user_id`, `addedBy`.
fn is_somebody(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = [
        "userid",
        "user_id",
        "authorid",
        "senderid",
        "creatorid",
        "uploaderid",
        "by",
    ];
    ends.iter().any(|end| name.ends_with(end)) || name.starts_with("participant")
}

/// `displayName` is "display name".
fn words(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    let mut words = String::new();
    for letter in last.chars() {
        match letter {
            '_' | '-' => words.push(' '),
            upper if upper.is_uppercase() && !words.is_empty() => {
                words.push(' ');
                words.extend(upper.to_lowercase());
            }
            other => words.push(other),
        }
    }
    words
}

fn number(bounds: &Bounds) -> Number {
    let one = Number::from(1_i64);
    let choices = bounds.choices.iter().cloned();
    let ends = bounds.min.iter().chain(&bounds.max).cloned();
    let above = bounds
        .min
        .iter()
        .filter_map(|min| min.checked_add(one).ok());
    let mut candidates = std::iter::once(one).chain(choices).chain(ends).chain(above);
    candidates
        .find(|candidate| bounds.accepts(candidate))
        .unwrap_or(one)
}

fn of_shape(shape: &Shape) -> Option<Value> {
    let mut map = Map::new();
    for field in shape.fields.iter().filter(|field| !field.optional) {
        map.insert(field.name.clone(), value(&field.name, &field.kind)?);
    }
    Some(Value::M(map))
}

/// The name of a file where a bucket keeps such; none where the way there depends on the item.
fn file_name(design: &Design, prefix: &str) -> Option<String> {
    let prefixes = design.buckets.iter().flat_map(|bucket| &bucket.prefixes);
    let mut prefixes = prefixes.filter(|known| known.name == prefix);
    let path = prefixes.next()?.path.constant()?;
    Some(format!("{path}example"))
}
