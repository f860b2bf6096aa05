//! JSON Schema of the OpenAPI document as types.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::words::{comment, member, text};

/// What the schemas among the components are called as types.
pub(super) type Known = BTreeMap<String, String>;

/// Writes types.
pub(super) struct Types<'a> {
    pub(super) known: &'a Known,
}

impl Types<'_> {
    /// A declaration of a type with its comment.
    pub(super) fn declare(
        &self,
        name: &str,
        schema: &Json,
        is_fixed: &dyn Fn(&str) -> bool,
    ) -> String {
        let about = comment(schema["description"].as_str().unwrap_or_default(), "");
        let members = self.object(schema, "", is_fixed);
        match members {
            Some(members) if members.starts_with('{') => {
                format!("{about}export interface {name} {members}\n")
            }
            _ => format!("{about}export type {name} = {};\n", self.of(schema, "")),
        }
    }

    /// The type of a schema; what is nested in it begins with `indent`.
    pub(super) fn of(&self, schema: &Json, indent: &str) -> String {
        if let Some(target) = schema["$ref"].as_str() {
            let name = target.rsplit('/').next().unwrap_or_default();
            return self
                .known
                .get(name)
                .map_or("unknown", String::as_str)
                .to_owned();
        }
        if let Some(value) = schema.get("const") {
            return literal(value);
        }
        if let Some(choices) = schema["enum"].as_array() {
            return union(choices.iter().map(literal));
        }
        match &schema["type"] {
            Json::String(kind) => self.of_kind(kind, schema, indent),
            Json::Array(kinds) => {
                let kinds = kinds.iter().filter_map(Json::as_str);
                union(kinds.map(|kind| self.of_kind(kind, schema, indent)))
            }
            _ => match schema["anyOf"].as_array() {
                Some(choices) => union(choices.iter().map(|one| self.of(one, indent))),
                None => "unknown".to_owned(),
            },
        }
    }

    fn of_kind(&self, kind: &str, schema: &Json, indent: &str) -> String {
        match kind {
            "string" => "string".to_owned(),
            "number" | "integer" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => {
                let element = self.of(&schema["items"], indent);
                if element.contains(['|', '{']) {
                    format!("Array<{element}>")
                } else {
                    format!("{element}[]")
                }
            }
            "object" => {
                let object = self.object(schema, indent, &|_| false);
                object.unwrap_or_else(|| "Record<string, unknown>".to_owned())
            }
            _ => "unknown".to_owned(),
        }
    }

    /// The members of an object in braces; none if the schema lists none.
    pub(super) fn object(
        &self,
        schema: &Json,
        indent: &str,
        is_fixed: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        let properties = schema["properties"].as_object()?;
        let inner = format!("{indent}  ");
        let required: Vec<&str> = strings(&schema["required"]).collect();
        let members = ordered(schema, properties).map(|(name, schema)| {
            let is_sure = required.contains(&name.as_str());
            let fixed = if is_fixed(name) { "readonly " } else { "" };
            let question = if is_sure { "" } else { "?" };
            let also = if is_sure { "" } else { " | undefined" };
            let said = comment(&said_of(schema), &inner);
            let (name, kind) = (member(name), self.of(schema, &inner));
            format!("{said}{inner}{fixed}{name}{question}: {kind}{also};\n")
        });
        let mut members: String = members.collect();
        if schema["additionalProperties"] == true {
            members += &format!("{inner}[name: string]: unknown;\n");
        }
        Some(match members.as_str() {
            "" => "Record<string, never>".to_owned(),
            members => format!("{{\n{members}{indent}}}"),
        })
    }
}

/// Members in the order of the design.
fn ordered<'s>(
    schema: &'s Json,
    properties: &'s Map<String, Json>,
) -> impl Iterator<Item = (&'s String, &'s Json)> {
    let order: Vec<&str> = strings(&schema["x-partita-order"]).collect();
    let mut members: Vec<_> = properties.iter().collect();
    members.sort_by_key(|(name, _)| order.iter().position(|one| one == name));
    members.into_iter()
}

fn strings(list: &Json) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
}

/// What is said of a member: where its value comes from, how large it may be, what it is by default.
fn said_of(schema: &Json) -> String {
    let mut said: Vec<String> = Vec::new();
    said.extend(schema["description"].as_str().map(str::to_owned));
    if schema["writeOnly"] == true {
        said.push("Secret: it is given, and never answered.".to_owned());
    }
    let bound = |least: &str, most: &str, unit: &str| match (schema.get(least), schema.get(most)) {
        (Some(least), Some(most)) => Some(format!("{least} to {most} {unit}.")),
        (Some(least), None) => Some(format!("At least {least} {unit}.")),
        (None, Some(most)) => Some(format!("At most {most} {unit}.")),
        (None, None) => None,
    };
    said.extend(bound("minLength", "maxLength", "characters"));
    said.extend(bound("minItems", "maxItems", "elements"));
    if let Some(default) = schema.get("default") {
        said.push(format!("`{default}` if it is not given."));
    }
    if schema["deprecated"] == true {
        said.push("\n@deprecated".to_owned());
    }
    said.join(" ").replace(" \n", "\n")
}

fn literal(value: &Json) -> String {
    match value {
        Json::String(value) => text(value),
        value => value.to_string(),
    }
}

/// Each type once.
fn union(types: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for one in types {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if all.is_empty() {
        "never".to_owned()
    } else {
        all.join(" | ")
    }
}
