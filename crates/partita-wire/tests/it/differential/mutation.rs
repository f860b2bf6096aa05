//! What can be wrong with a request.
//!
//! Left out is what DynamoDB Local does not look at or answers with an internal error, so that it
//! says nothing: JSON of the wrong type, base64 that is none, texts longer than their bounds,
//! unknown choices for ReturnConsumedCapacity. The corpus has such cases (`wrong_types.txt`,
//! `base64.txt`, `bounds.txt`).

use fastrand::Rng;
use serde_json::{Value as Json, json};

use super::Request;
use super::attribute::{any, pick};

/// Puts a mistake into a request.
pub(super) fn spoil(random: &mut Rng, request: &mut Request) {
    let before = request.body.clone();
    // Not every kind of mistake can be made in every request.
    while request.body == before {
        match request.operation {
            "TransactGetItems" | "TransactWriteItems" => {
                spoil_transaction(random, &mut request.body);
            }
            "BatchGetItem" | "BatchWriteItem" => spoil_batch(random, &mut request.body),
            _ => spoil_one(random, &mut request.body),
        }
    }
}

fn spoil_one(random: &mut Rng, body: &mut Json) {
    match random.u8(..8) {
        0 => remove(random, body),
        1 => odd_choice(random, body),
        2 => unused(random, body),
        3 | 4 => garble(random, body),
        5 => another_value(random, body),
        6 => odd_value(random, body),
        _ => odd_name(random, body),
    }
}

fn spoil_batch(random: &mut Rng, body: &mut Json) {
    match random.u8(..7) {
        0 => remove(random, body),
        1 => repeat(random, body),
        2 => unused(random, body),
        3 => garble(random, body),
        4 => another_value(random, body),
        5 => odd_value(random, body),
        _ => odd_name(random, body),
    }
}

/// Keys are not touched: DynamoDB Local refuses the request for one that does not fit, or cancels
/// it, where here it is always a reason of the transaction. The corpus has such cases.
fn spoil_transaction(random: &mut Rng, body: &mut Json) {
    match random.u8(..6) {
        0 => {
            let names = ["Get", "TableName", "Key", "Item", "UpdateExpression"];
            let has_one = |_: &str, json: &Json| names.iter().any(|it| json.get(it).is_some());
            if let Some(Json::Object(map)) = place(random, body, &has_one) {
                map.remove(pick(random, &names));
            }
        }
        1 => repeat(random, body),
        2 => unused(random, body),
        3 | 4 => garble(random, body),
        _ => odd_name(random, body),
    }
}

/// All places in a document for which `is_it` holds.
fn places(json: &Json, is_it: &dyn Fn(&str, &Json) -> bool) -> Vec<String> {
    fn visit(at: &str, json: &Json, is_it: &dyn Fn(&str, &Json) -> bool, found: &mut Vec<String>) {
        if is_it(at, json) {
            found.push(at.to_owned());
        }
        match json {
            Json::Object(map) => {
                for (name, inner) in map {
                    visit(&format!("{at}/{name}"), inner, is_it, found);
                }
            }
            Json::Array(list) => {
                for (position, inner) in list.iter().enumerate() {
                    visit(&format!("{at}/{position}"), inner, is_it, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    visit("", json, is_it, &mut found);
    found
}

/// One of those places, if there are any.
fn place<'a>(
    random: &mut Rng,
    json: &'a mut Json,
    is_it: &dyn Fn(&str, &Json) -> bool,
) -> Option<&'a mut Json> {
    let found = places(json, is_it);
    if found.is_empty() {
        return None;
    }
    let at = &found[random.usize(..found.len())];
    json.pointer_mut(at)
}

/// Leaves out a parameter or a part of one.
fn remove(random: &mut Rng, body: &mut Json) {
    let is_full = |_: &str, json: &Json| json.as_object().is_some_and(|map| !map.is_empty());
    if let Some(Json::Object(map)) = place(random, body, &is_full) {
        let names: Vec<_> = map.keys().cloned().collect();
        map.remove(&names[random.usize(..names.len())]);
    }
}

/// A choice that there is not, or a number out of its range.
fn odd_choice(random: &mut Rng, body: &mut Json) {
    let (name, value) = match random.u8(..6) {
        0 => ("ReturnValues", json!("SOME")),
        1 => ("ReturnValues", json!("ALL_NEW")),
        2 => ("Select", json!("SPECIFIC_ATTRIBUTES")),
        3 => ("Limit", json!(0)),
        4 => ("IndexName", json!("missing")),
        _ => ("Segment", json!(3)),
    };
    body[name] = value;
}

/// A name or a value that no expression uses.
fn unused(random: &mut Rng, body: &mut Json) {
    let (map, key, value) = if random.bool() {
        ("ExpressionAttributeNames", "#unused", json!("unused"))
    } else {
        ("ExpressionAttributeValues", ":unused", json!({"S": ""}))
    };
    // Batches and transactions have expressions inside, others on the outside.
    let holds_names = |at: &str, json: &Json| {
        let is_outside = at.is_empty() && json.get("TableName").is_some();
        is_outside || json.get("Keys").is_some() || (!at.is_empty() && json.get("Key").is_some())
    };
    if let Some(place) = place(random, body, &holds_names) {
        place[map][key] = value;
    }
}

/// Spoils the text of an expression.
fn garble(random: &mut Rng, body: &mut Json) {
    let is_expression = |at: &str, json: &Json| at.ends_with("Expression") && json.is_string();
    let Some(Json::String(text)) = place(random, body, &is_expression) else {
        return;
    };
    let mut words: Vec<&str> = text.split(' ').collect();
    let at = random.usize(..words.len());
    match random.u8(..5) {
        0 => drop(words.remove(at)),
        1 => words.insert(at, words[random.usize(..words.len())]),
        2 => words.insert(at, pick(random, &["AND", ")", "(", ",", "=", "x", "size"])),
        3 => {
            words[at] = pick(
                random,
                &["#missing", ":missing", "status", "pk", "1", "a.b[0]"],
            )
        }
        _ => {
            let other = random.usize(..words.len());
            words.swap(at, other);
        }
    }
    *text = words.join(" ");
}

/// Whether this is an attribute value: `{"S": "text"}`.
fn is_value(_: &str, json: &Json) -> bool {
    let types = super::attribute::TYPES;
    let has_type = |map: &serde_json::Map<String, Json>| {
        map.len() == 1 && map.keys().all(|key| types.contains(&key.as_str()))
    };
    json.as_object().is_some_and(has_type)
}

/// A value of any type in place of one: often a key's, or an operand.
fn another_value(random: &mut Rng, body: &mut Json) {
    let other = any(random);
    if let Some(place) = place(random, body, &is_value) {
        *place = other;
    }
}

/// A value that there cannot be.
fn odd_value(random: &mut Rng, body: &mut Json) {
    let values = [
        json!({"S": ""}),
        json!({"B": ""}),
        json!({"N": ""}),
        json!({"N": "one"}),
        json!({"N": " 1"}),
        json!({"N": "1234567890123456789012345678901234567890.5"}),
        json!({"N": "1E126"}),
        json!({"N": "1E-131"}),
        json!({"SS": []}),
        json!({"SS": ["a", "a"]}),
        json!({"NS": ["1", "1.0"]}),
        json!({"NS": ["x"]}),
        json!({"NULL": false}),
        json!({}),
        json!({"S": "a", "N": "1"}),
    ];
    let value = values[random.usize(..values.len())].clone();
    if let Some(place) = place(random, body, &is_value) {
        *place = value;
    }
}

/// A table that there is not, a name that may not be, an attribute too many in a key.
fn odd_name(random: &mut Rng, body: &mut Json) {
    match random.u8(..4) {
        0 => {
            let is_table = |at: &str, json: &Json| at.ends_with("TableName") && json.is_string();
            if let Some(place) = place(random, body, &is_table) {
                *place = "missing".into();
            } else if let Some(map) = body["RequestItems"].as_object_mut() {
                let name = map.keys().next().cloned().unwrap_or_default();
                if let Some(items) = map.remove(&name) {
                    map.insert("missing".to_owned(), items);
                }
            }
        }
        1 => {
            let is_key = |at: &str, json: &Json| {
                at.ends_with("Key") && json.is_object() && !at.contains("TransactItems")
            };
            if let Some(place) = place(random, body, &is_key) {
                place["extra"] = json!({"S": "x"});
            }
        }
        2 => {
            let names = |at: &str, json: &Json| at.ends_with("AttributeNames") && json.is_object();
            if let Some(place) = place(random, body, &names) {
                place["name"] = json!("x");
            }
        }
        _ => {
            let values =
                |at: &str, json: &Json| at.ends_with("AttributeValues") && json.is_object();
            if let Some(place) = place(random, body, &values) {
                place["#value"] = json!({"S": "x"});
            }
        }
    }
}

/// The same twice in a list, or nothing in it.
fn repeat(random: &mut Rng, body: &mut Json) {
    let is_list = |at: &str, json: &Json| {
        let names = ["Keys", "TransactItems"];
        let is_batch = at.starts_with("/RequestItems/") && at.matches('/').count() == 2;
        json.is_array() && (is_batch || names.iter().any(|name| at.ends_with(name)))
    };
    let Some(Json::Array(list)) = place(random, body, &is_list) else {
        return;
    };
    match (list.first().cloned(), random.u8(..3)) {
        // DynamoDB Local asks conditions first, and then who asks them twice.
        (Some(first), 0 | 1) if !first.to_string().contains("ConditionExpression") => {
            list.push(first);
        }
        _ => list.clear(),
    }
}
