//! Objects with members inside maps: `stats.upvotes` is a member of the map `stats`.

use serde_json::{Map, Value as Json, json};

/// The schema of an object, member by member.
#[derive(Debug, Default)]
pub(super) struct Object {
    members: Vec<(String, Member)>,
    required: Vec<String>,
}

#[derive(Debug)]
enum Member {
    Value(Json),
    Inside(Object),
}

impl Object {
    /// Adds a member; a name with dots is inside maps. A map is required as soon as something in it
    /// is.
    pub(super) fn add(&mut self, name: &str, schema: Json, is_required: bool) {
        let (first, rest) = match name.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (name, None),
        };
        if is_required && !self.required.iter().any(|known| known == first) {
            self.required.push(first.to_owned());
        }
        let at = self.members.iter().position(|(known, _)| known == first);
        match (rest, at) {
            (None, Some(at)) => self.members[at].1 = Member::Value(schema),
            (None, None) => {
                let member = (first.to_owned(), Member::Value(schema));
                self.members.push(member);
            }
            (Some(rest), at) => {
                let at = at.unwrap_or_else(|| {
                    let inside = Member::Inside(Object::default());
                    self.members.push((first.to_owned(), inside));
                    self.members.len() - 1
                });
                if let Member::Inside(object) = &mut self.members[at].1 {
                    object.add(rest, schema, is_required);
                }
            }
        }
    }

    /// Whether nothing has to be given.
    pub(super) fn is_optional(&self) -> bool {
        self.required.is_empty()
    }

    /// Whether there is no member.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The schema; an open one takes further members.
    pub(super) fn schema(self, is_open: bool) -> Json {
        // Members of a JSON object have no order; people look for that of the design.
        let order: Vec<String> = self.members.iter().map(|(name, _)| name.clone()).collect();
        let members = self.members.into_iter().map(|(name, member)| {
            let schema = match member {
                Member::Value(schema) => schema,
                Member::Inside(object) => object.schema(false),
            };
            (name, schema)
        });
        let mut schema = json!({
            "type": "object",
            "properties": members.collect::<Map<_, _>>(),
            "additionalProperties": is_open,
        });
        if is_open {
            // Whatever it is called, it has a name.
            schema["propertyNames"] = json!({ "minLength": 1 });
        }
        if order.len() > 1 {
            schema["x-partita-order"] = json!(order);
        }
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        schema
    }
}

/// Puts a value into a map, inside others where its name has dots.
pub(super) fn put(map: &mut Map<String, Json>, name: &str, value: Json) {
    match name.split_once('.') {
        None => {
            map.insert(name.to_owned(), value);
        }
        Some((first, rest)) => {
            let inside = map
                .entry(first.to_owned())
                .or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(inside) = inside {
                put(inside, rest, value);
            }
        }
    }
}
