//! Examples of whole bodies: of new items, of changes, of answers, of what actions take.

use partita_design::Design;
use partita_design::design::{Action, ActionOn, EachOver, Record};
use serde_json::{Map, Value as Json};

use super::{example, object, record};

/// An example of a new item: what must be given, or else something that may be.
pub(super) fn given(design: &Design, entity: &Record, but: &[&str]) -> Option<Json> {
    let is_elsewhere = |name: &str, alias: Option<&str>| {
        but.contains(&name) || alias.is_some_and(|alias| but.contains(&alias))
    };
    let mut required = Map::new();
    let mut first_optional = None;
    let object = record::new(design, entity, but).schema(entity.open);
    for attribute in record::given(entity) {
        if is_elsewhere(&attribute.name, attribute.alias.as_deref()) {
            continue;
        }
        if is_required(&object, &attribute.name) {
            let example = example::of_attribute(design, attribute)?;
            object::put(&mut required, &attribute.name, example);
        } else if first_optional.is_none() {
            first_optional = example::of_attribute(design, attribute)
                .map(|example| (attribute.name.clone(), example));
        }
    }
    if let (true, Some((name, example))) = (required.is_empty(), first_optional) {
        object::put(&mut required, &name, example);
    }
    Some(Json::Object(required))
}

/// Whether a schema requires the member of this name, which has dots if it is inside maps.
fn is_required(schema: &Json, name: &str) -> bool {
    let (first, rest) = match name.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (name, None),
    };
    let mut required = schema["required"].as_array().into_iter().flatten();
    let is_required = required.any(|one| one == first);
    match rest {
        None => is_required,
        Some(rest) => is_required && self::is_required(&schema["properties"][first], rest),
    }
}

/// An example of a change: the first attribute that may be changed.
pub(super) fn changed(design: &Design, entity: &Record) -> Option<Json> {
    let schema = record::changes(design, entity);
    let attributes = record::given(entity).filter(|attribute| {
        let root = attribute.name.split('.').next().unwrap_or_default();
        schema["properties"].get(root).is_some()
    });
    let mut examples = attributes.filter_map(|attribute| {
        let example = example::of_attribute(design, attribute)?;
        Some((attribute.name.clone(), example))
    });
    let mut map = Map::new();
    let (name, example) = examples.next()?;
    object::put(&mut map, &name, example);
    Some(Json::Object(map))
}

/// An example of an item as it is answered.
pub(super) fn answered(design: &Design, entity: &Record) -> Option<Json> {
    let mut map = Map::new();
    for attribute in entity.attributes.iter().filter(|one| !one.secret) {
        match example::of_attribute(design, attribute) {
            Some(example) => object::put(&mut map, &attribute.name, example),
            None if attribute.optional => {}
            None => return None,
        }
    }
    Some(Json::Object(map))
}

/// An example of what an action takes.
pub(super) fn action_example(design: &Design, action: &Action) -> Option<Json> {
    let mut map = Map::new();
    let (pattern, own) = match &action.on {
        ActionOn::Items(_) => (None, action),
        ActionOn::Found { pattern, .. } => (Some(&design[*pattern]), action),
        ActionOn::Every(application) => {
            let pattern = match &application.each.over {
                EachOver::Pattern { pattern, .. } => Some(&design[*pattern]),
                EachOver::List { .. } => None,
            };
            (pattern, &design[application.apply])
        }
    };
    for parameter in pattern.into_iter().flat_map(|one| &one.parameters) {
        map.insert(parameter.name.clone(), example::of_parameter(parameter)?);
    }
    let mut records = own.on.records().iter().map(|record| &design[*record]);
    let entity = records.find(|record| record.is_entity());
    for name in &own.input {
        let attribute = entity.and_then(|entity| entity.attribute(name))?;
        object::put(&mut map, name, example::of_attribute(design, attribute)?);
    }
    for parameter in &own.parameters {
        map.insert(parameter.name.clone(), example::of_parameter(parameter)?);
    }
    Some(Json::Object(map))
}
