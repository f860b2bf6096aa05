//! JSON Schema of the types of attributes, in the dialect that OpenAPI 3.1 takes.

use partita_core::{Number, Value, plain};
use partita_design::design::{Parameter, ParameterKind};
use partita_design::time::TimeForm;
use partita_design::types::{
    AttributeType, Bounds, Count, SetOf, Shape, States, StringType, TextFormat,
};
use serde_json::{Map, Value as Json, json};

/// A text that goes into a key: it is not empty, has no `#`, and is neither `.` nor `..`.
pub(super) const KEY_TEXT: &str = r"^([^#.]|\.{1,2}[^#.]|\.{3})[^#]*$";

const ULID: &str = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$";
const UUID: &str = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
const DAY: &str = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
const TIME: &str = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z";

/// The largest number of DynamoDB, and the largest integer that keeps all its digits.
const NUMBER_MAX: &str = "9.9999999999999999999999999999999999999E+125";
const INTEGER_MAX: &str = "99999999999999999999999999999999999999";

/// The schema of a type.
pub(crate) fn of(kind: &AttributeType) -> Json {
    match kind {
        AttributeType::String(string) => of_string(string),
        AttributeType::Enum(names) => json!({ "type": "string", "enum": names }),
        AttributeType::State(states) => json!({
            "type": "string",
            "enum": states.names,
            "description": steps(states),
        }),
        AttributeType::Ulid => json!({ "type": "string", "pattern": ULID }),
        AttributeType::Uuid => json!({ "type": "string", "format": "uuid", "pattern": UUID }),
        AttributeType::Id => {
            json!({ "type": "string", "anyOf": [{ "pattern": UUID }, { "pattern": ULID }] })
        }
        AttributeType::Time(form) => of_time(*form),
        AttributeType::Expiry => of_time(TimeForm::Epoch),
        AttributeType::Bool => json!({ "type": "boolean" }),
        AttributeType::Number(bounds) => bounded("number", NUMBER_MAX, bounds),
        AttributeType::Int(bounds) => bounded("integer", INTEGER_MAX, bounds),
        AttributeType::Counter | AttributeType::Version => {
            bounded("integer", INTEGER_MAX, &Bounds::default())
        }
        AttributeType::List { element, count } => {
            let mut schema = json!({ "type": "array", "items": of(element) });
            put_count(&mut schema, *count, ["minItems", "maxItems"]);
            schema
        }
        AttributeType::Set(of) => {
            let element = match of {
                SetOf::Strings => json!({ "type": "string" }),
                SetOf::Numbers => bounded("number", NUMBER_MAX, &Bounds::default()),
                SetOf::Binaries => base64(),
            };
            json!({ "type": "array", "items": element, "uniqueItems": true, "minItems": 1 })
        }
        AttributeType::Binary => base64(),
        AttributeType::Password => json!({ "type": "string", "format": "password" }),
        AttributeType::Map => json!({ "type": "object" }),
        AttributeType::Shape(shape) => of_shape(shape),
        AttributeType::Any => json!({}),
    }
}

/// The schema of something that a path, a query or a body gives for a parameter.
pub(crate) fn of_parameter(parameter: &Parameter) -> Json {
    match &parameter.kind {
        ParameterKind::Value(kind) => of(kind),
        ParameterKind::PrefixOf(kind) => json!({
            "type": "string",
            "description": format!("The beginning of {}.", kind.describe()),
        }),
    }
}

/// The schema of a value that goes into a key.
pub(super) fn in_key(mut schema: Json) -> Json {
    let is_free_text = schema["type"] == "string" && schema.get("enum").is_none();
    if is_free_text {
        match schema.get("pattern") {
            None => schema["pattern"] = KEY_TEXT.into(),
            // What ULIDs, UUIDs and times look like leaves no room for a `#`.
            Some(pattern) if [ULID, UUID].contains(&pattern.as_str().unwrap_or_default()) => {}
            Some(_) if schema.get("format").is_some() => {}
            Some(_) => schema["allOf"] = json!([{ "pattern": KEY_TEXT }]),
        }
    }
    schema
}

/// The schema, and null.
pub(super) fn or_null(mut schema: Json) -> Json {
    if let Some(kind) = schema.get("type").cloned() {
        schema["type"] = json!([kind, "null"]);
    }
    if let Some(Json::Array(choices)) = schema.get_mut("enum") {
        choices.push(Json::Null);
    }
    schema
}

fn of_string(string: &StringType) -> Json {
    let mut schema = json!({ "type": "string" });
    put_count(&mut schema, string.length, ["minLength", "maxLength"]);
    if let Some(pattern) = &string.pattern {
        schema["pattern"] = pattern.as_str().into();
    }
    match string.format {
        Some(TextFormat::Email) => schema["format"] = "email".into(),
        // Any scheme makes a URI, two of them a URL of the web. A host and no space must follow.
        Some(TextFormat::Url) => schema["pattern"] = "^https?://[^\\s]+$".into(),
        None => {}
    }
    schema
}

fn of_time(form: TimeForm) -> Json {
    // Exactly one spelling of every time, so that times in keys sort.
    let text = |format: &str, pattern: String| json!({ "type": "string", "format": format, "pattern": pattern });
    let count = |unit: &str, max: i64| {
        json!({
            "type": "integer",
            "minimum": -max,
            "maximum": max,
            "description": format!("{unit} since 1970."),
        })
    };
    match form {
        TimeForm::Timestamp => text("date-time", format!("^{DAY}T{TIME}$")),
        TimeForm::Date => text("date", format!("^{DAY}$")),
        TimeForm::Epoch => count("Seconds", i64::MAX / 1000),
        TimeForm::EpochMillis => count("Milliseconds", i64::MAX),
    }
}

fn of_shape(shape: &Shape) -> Json {
    let properties = shape.fields.iter();
    let properties = properties.map(|field| (field.name.clone(), of(&field.kind)));
    let required = shape.fields.iter().filter(|field| !field.optional);
    let required: Vec<_> = required.map(|field| field.name.as_str()).collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties.collect::<Map<_, _>>(),
        "additionalProperties": shape.open,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn bounded(kind: &str, max: &str, bounds: &Bounds) -> Json {
    if !bounds.choices.is_empty() {
        let choices: Vec<Json> = bounds.choices.iter().map(number).collect();
        return json!({ "type": kind, "enum": choices });
    }
    let largest = max
        .parse::<Number>()
        .unwrap_or_else(|_| Number::from(i64::MAX));
    let mut schema = json!({ "type": kind });
    match &bounds.min {
        Some(min) if bounds.above_min => schema["exclusiveMinimum"] = number(min),
        Some(min) => schema["minimum"] = number(min),
        None => schema["minimum"] = number(&-largest),
    }
    schema["maximum"] = number(bounds.max.as_ref().unwrap_or(&largest));
    schema
}

fn base64() -> Json {
    json!({ "type": "string", "contentEncoding": "base64" })
}

fn put_count(schema: &mut Json, count: Count, [min, max]: [&str; 2]) {
    if count.min > 0 {
        schema[min] = count.min.into();
    }
    if let Some(most) = count.max {
        schema[max] = most.into();
    }
}

fn number(number: &Number) -> Json {
    plain::to_json(&Value::N(*number))
}

/// Which state may follow which.
fn steps(states: &States) -> String {
    let name = |at: usize| states.names.get(at).map_or("", String::as_str);
    let steps = states.steps.iter();
    let steps = steps.map(|(from, to)| format!("`{}` to `{}`", name(*from), name(*to)));
    let steps: Vec<String> = steps.collect();
    if steps.is_empty() {
        "It never changes.".to_owned()
    } else {
        format!("It goes from {}.", steps.join(", from "))
    }
}
