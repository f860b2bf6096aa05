//! Access patterns: one item, or a page of a list.

use partita_design::Design;
use partita_design::design::{LIMIT_MAX, Pattern, Read};
use serde_json::{Value as Json, json};

use super::operation::Described;
use super::parts::{answer, one, query_parameter, refer};
use super::{example, record, schema};
use crate::routes::Route;

pub(super) fn query(design: &Design, route: &Route, pattern: &Pattern) -> Described {
    let found = record::found(design, pattern);
    let records: Vec<Json> = found.iter().map(|name| refer(name)).collect();
    let record = match records.as_slice() {
        [one] => one.clone(),
        several => json!({ "anyOf": several }),
    };
    let is_one = pattern.one || matches!(pattern.read, Read::Get(_));
    let in_path: Vec<&str> = route.path.parameters().collect();
    let asked = pattern.parameters.iter();
    let asked = asked.filter(|parameter| !in_path.contains(&parameter.name.as_str()));
    let mut parameters: Vec<Json> = asked
        .map(|parameter| {
            let schema = schema::in_key(schema::of_parameter(parameter));
            let mut asked = json!({
                "name": parameter.name,
                "in": "query",
                "required": !parameter.optional,
                "schema": schema,
            });
            if let Some(example) = example::of_parameter(parameter) {
                asked["example"] = example;
            }
            asked
        })
        .collect();
    if !is_one {
        let mut limit = query_parameter("limit");
        limit["schema"]["default"] = pattern.limit.into();
        parameters.extend([limit, query_parameter("cursor")]);
        let is_query = matches!(pattern.read, Read::Query(_)) && pattern.sort.is_empty();
        if is_query && pattern.parameters.iter().all(|own| own.name != "order") {
            let mut order = query_parameter("order");
            let own = if pattern.descending { "desc" } else { "asc" };
            order["schema"]["default"] = own.into();
            parameters.push(order);
        }
    }
    let is_own = pattern
        .parameters
        .iter()
        .any(|own| own.name == "consistency");
    if !is_own && !pattern.fresh && design.withdrawable(pattern).is_none() {
        parameters.push(query_parameter("consistency"));
    }
    parameters.push(query_parameter("keys"));
    let (means, schema) = if is_one {
        ("The item.", record)
    } else {
        ("A page of items.", page(&record))
    };
    Described {
        summary: match &pattern.about {
            Some(about) => about.clone(),
            None => format!("Read `{}`", pattern.name),
        },
        about: Some(format!("`{}`", pattern.text)),
        tag: found.first().map_or("patterns", |name| name).to_owned(),
        parameters,
        body: None,
        answers: one("200", answer(means, schema, None)),
        refusals: if is_one { vec![404, 422] } else { vec![422] },
    }
}

/// A page of a list.
fn page(record: &Json) -> Json {
    json!({
        "type": "object",
        "required": ["items"],
        "additionalProperties": false,
        "properties": {
            "items": { "type": "array", "items": record, "maxItems": LIMIT_MAX },
            "cursor": { "type": "string", "description": "Where to go on; the end is reached when there is none." },
        },
    })
}
