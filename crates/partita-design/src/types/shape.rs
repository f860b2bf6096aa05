//! Maps with named fields.

use partita_core::Map;

use super::AttributeType;

/// A map with named fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Its name in the design.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Whether it may have others.
    pub open: bool,
}

/// A field of a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The member of the map.
    pub name: String,
    /// What it may hold.
    pub kind: AttributeType,
    /// Whether it may be missing.
    pub optional: bool,
    /// The prefix of a bucket that its value names an object of.
    pub file_in: Option<String>,
}

impl Shape {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(super) fn check(&self, map: &Map) -> Result<(), String> {
        let wrong = |what: String| Err(format!("a map of the shape `{}`: {what}", self.name));
        for field in &self.fields {
            match map.get(&field.name) {
                None if field.optional => {}
                None => return wrong(format!("`{}` is missing", field.name)),
                Some(value) => {
                    if let Err(expected) = field.kind.check(value) {
                        return wrong(format!("`{}` must be {expected}", field.name));
                    }
                }
            }
        }
        let unknown = map.keys().find(|name| self.field(name).is_none());
        match unknown.filter(|_| !self.open) {
            Some(name) => wrong(format!("it has no field `{name}`")),
            None => Ok(()),
        }
    }
}
