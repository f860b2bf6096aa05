//! What records look like: as they are answered, and as they are given.

use partita_core::plain;
use partita_design::design::{
    Action, ActionOn, Attribute, EachOver, KeyValue, Pattern, PatternId, Record, RecordId, RefTo,
    Repeat, Rule, Rules, SoftDelete, Source, Table,
};
use partita_design::expression::{Expr, Formula};
use partita_design::types::AttributeType;
use partita_design::{Design, describe};
use serde_json::{Value as Json, json};

use super::object::Object;
use super::schema;

/// An entity's item as it is answered. What rules hide from some callers may be missing.
pub(super) fn of_entity(design: &Design, entity: &Record) -> Json {
    let mut object = Object::default();
    for attribute in entity.attributes.iter().filter(|one| !one.secret) {
        let is_sure = !attribute.optional && !attribute.is_virtual;
        let is_shown = is_sure && !is_hidden(&entity.rules, &attribute.name);
        object.add(&attribute.name, described(design, attribute), is_shown);
    }
    add_table_keys(&mut object, design, entity);
    about(object.schema(entity.open), entity.about.as_deref())
}

/// A view's record as it is answered.
pub(super) fn of_view(design: &Design, view: &Record) -> Json {
    let mut object = Object::default();
    // What is in the key can be read from it, and counts as an attribute.
    for part in &view.identity {
        let kind = identity_kind(view, &part.attribute);
        object.add(&part.attribute, schema::of(&kind), false);
    }
    let shown = |attribute: &&Attribute| !attribute.secret;
    for attribute in view.kept().filter(shown) {
        let is_sure = !attribute.optional && !is_hidden(&view.rules, &attribute.name);
        object.add(&attribute.name, described(design, attribute), is_sure);
    }
    let declared = view.attributes.iter().filter(|one| one.is_declared());
    for attribute in declared.filter(shown) {
        let is_sure = !attribute.optional && !is_hidden(&view.rules, &attribute.name);
        object.add(&attribute.name, schema::of(&attribute.kind), is_sure);
    }
    add_table_keys(&mut object, design, view);
    about(object.schema(false), view.about.as_deref())
}

/// What a new item takes; `but` has what comes from elsewhere, such as the path.
pub(super) fn new(design: &Design, entity: &Record, but: &[&str]) -> Object {
    let mut object = Object::default();
    for attribute in given(entity) {
        let name = &attribute.name;
        let alias = attribute.alias.as_deref().unwrap_or(name);
        if but.contains(&name.as_str()) || but.contains(&alias) {
            continue;
        }
        let has_value = matches!(
            attribute.source,
            Source::Generated | Source::Given { default: Some(_) }
        );
        // A state begins with its first, a flag of another kind has to be given.
        let is_state = matches!(attribute.kind, AttributeType::State(_));
        let is_required = !attribute.optional && !has_value && !is_state;
        let mut schema = input(design, entity, attribute);
        if let AttributeType::State(states) = &attribute.kind
            && entity.repeat == Repeat::Refuse
        {
            let null = attribute.optional.then_some(Json::Null);
            let first = states.names.first().map(|first| Json::from(first.as_str()));
            schema["enum"] = first.into_iter().chain(null).collect();
        }
        object.add(name, schema, is_required);
    }
    object
}

/// What an update takes: any of the attributes that may change; a null removes one.
pub(super) fn changes(design: &Design, entity: &Record) -> Json {
    let mut object = Object::default();
    for attribute in given(entity).filter(|one| may_change(entity, one)) {
        let mut schema = input(design, entity, attribute);
        // A default is for new items.
        if let Json::Object(schema) = &mut schema {
            schema.remove("default");
        }
        object.add(&attribute.name, schema, false);
    }
    object.schema(entity.open)
}

/// What takes the place of an item, or of nothing: all that a new one takes, but for its identity.
/// What is there need not be given, so nothing is required.
pub(super) fn replacement(design: &Design, entity: &Record) -> Json {
    let mut object = Object::default();
    for attribute in given(entity).filter(|one| !entity.is_identified_by(&one.name)) {
        object.add(&attribute.name, input(design, entity, attribute), false);
    }
    object.schema(entity.open)
}

/// What an action takes on a record of this kind.
pub(super) fn action_input(design: &Design, action: &Action) -> Object {
    let mut object = Object::default();
    let add_pattern = |object: &mut Object, pattern: PatternId| {
        for parameter in &design[pattern].parameters {
            let schema = schema::in_key(schema::of_parameter(parameter));
            object.add(&parameter.name, schema, !parameter.optional);
        }
    };
    match &action.on {
        ActionOn::Items(records) => add_own_input(&mut object, design, action, records),
        ActionOn::Found { pattern, record } => {
            add_pattern(&mut object, *pattern);
            let record = std::slice::from_ref(record);
            add_own_input(&mut object, design, action, record);
        }
        ActionOn::Every(application) => {
            if let EachOver::Pattern { pattern, .. } = &application.each.over {
                add_pattern(&mut object, *pattern);
            }
            let applied = &design[application.apply];
            let record = std::slice::from_ref(&application.record);
            add_own_input(&mut object, design, applied, record);
        }
    }
    object
}

/// The records that a pattern answers with.
pub(crate) fn found<'d>(design: &'d Design, pattern: &'d Pattern) -> Vec<&'d str> {
    let mut found: Vec<&str> = Vec::new();
    for row in &pattern.returns {
        let targets: Vec<RecordId> = match pattern.followed(&design[*row]) {
            None => vec![*row],
            Some(reference) => reference.records().collect(),
        };
        for target in targets
            .into_iter()
            .map(|target| design[target].name.as_str())
        {
            if !found.contains(&target) {
                found.push(target);
            }
        }
    }
    found
}

/// The type of a part of a record's identity.
pub(super) fn identity_kind(record: &Record, attribute: &str) -> AttributeType {
    let attribute = record.attribute(attribute);
    attribute.map_or_else(AttributeType::string, |one| one.kind.clone())
}

/// The attributes that callers give. What is never to be written is left out.
pub(super) fn given(entity: &Record) -> impl Iterator<Item = &Attribute> {
    let flag = match &entity.soft_delete {
        Some(SoftDelete::Flag(name) | SoftDelete::Time(name)) => Some(name.as_str()),
        Some(SoftDelete::Value { .. }) | None => None,
    };
    entity.attributes.iter().filter(move |attribute| {
        let is_input = matches!(attribute.source, Source::Given { .. } | Source::Generated);
        let is_counted = matches!(
            attribute.kind,
            AttributeType::Version | AttributeType::Counter | AttributeType::Password
        );
        let mut rules = entity.rules.by_attribute.iter();
        let is_never = rules.any(|rule| {
            rule.writes && rule.rule == Rule::Never && rule.attributes.contains(&attribute.name)
        });
        is_input && !is_counted && !is_never && flag != Some(attribute.name.as_str())
    })
}

/// Whether creating an item that is there answers with what is there.
pub(super) fn is_repeatable(entity: &Record) -> bool {
    entity.repeat != Repeat::Refuse
}

fn may_change(entity: &Record, attribute: &Attribute) -> bool {
    attribute.movable || !(entity.is_identified_by(&attribute.name) || attribute.fixed)
}

/// The schema of an attribute as callers give it.
fn input(design: &Design, entity: &Record, attribute: &Attribute) -> Json {
    let mut schema = described(design, attribute);
    if in_some_key(entity, &attribute.name) {
        schema = schema::in_key(schema);
    }
    if attribute.optional {
        schema = schema::or_null(schema);
    }
    if let Source::Given {
        default: Some(default),
    } = &attribute.source
        && let Some(value) = literal(default)
    {
        schema["default"] = value;
    }
    if attribute.secret {
        schema["writeOnly"] = true.into();
    }
    schema
}

fn add_own_input(object: &mut Object, design: &Design, action: &Action, records: &[RecordId]) {
    for name in &action.input {
        let mut entities = records.iter().map(|record| &design[*record]);
        let attribute = entities.find_map(|record| {
            let attribute = record.attribute(name).filter(|_| record.is_entity())?;
            Some((input(design, record, attribute), !attribute.optional))
        });
        let (schema, is_required) = attribute.unwrap_or_else(|| (json!({}), true));
        object.add(name, schema, is_required);
    }
    for parameter in &action.parameters {
        let schema = schema::of_parameter(parameter);
        let schema = if parameter.optional {
            schema::or_null(schema)
        } else {
            schema
        };
        object.add(&parameter.name, schema, !parameter.optional);
    }
}

/// The schema of an attribute, with where its value comes from.
fn described(design: &Design, attribute: &Attribute) -> Json {
    let mut schema = schema::of(&attribute.kind);
    let mut sentences: Vec<String> = Vec::new();
    if let Some(text) = schema.get("description").and_then(Json::as_str) {
        sentences.push(text.to_owned());
    }
    let derived = !matches!(attribute.source, Source::Given { .. });
    if let Some(words) =
        partita_design::describe::value(design, &attribute.source).filter(|_| derived)
    {
        sentences.push(format!("`{words}`"));
    }
    if let Some(prefix) = &attribute.file_in {
        sentences.push(format!("The name of a file of `{prefix}`."));
    }
    if attribute.fixed {
        sentences.push("It never changes.".to_owned());
    }
    if !sentences.is_empty() {
        schema["description"] = sentences.join(" ").into();
    }
    if attribute.deprecated {
        schema["deprecated"] = true.into();
    }
    schema
}

/// What is added to every record: the discriminator, and the table's keys if an administrator asks.
fn add_table_keys(object: &mut Object, design: &Design, record: &Record) {
    let table = &design[record.table];
    if let (Some(name), Some(value)) = (&table.discriminator, &record.discriminator) {
        // Lists leave it out.
        object.add(name, json!({ "const": value }), false);
    }
    let templates = describe::keys(table, record);
    for name in table_keys(table, record) {
        let spelled = templates.iter().find(|(known, _)| known == name);
        let spelled = spelled.and_then(|(_, template)| template.as_str());
        let spelled = spelled.map_or(String::new(), |text| format!("`{text}`: "));
        let description =
            format!("{spelled}a key of the table, for administrators with `keys=true`.");
        let schema = json!({ "type": ["string", "number"], "description": description });
        object.add(name, schema, false);
    }
}

/// The keys of the table that are no attributes of a record.
pub(crate) fn table_keys<'d>(table: &'d Table, record: &Record) -> Vec<&'d str> {
    let indexes = table.indexes.iter();
    let made = indexes.flat_map(|index| std::iter::once(&index.partition).chain(&index.sort));
    let made = made.filter(|key| !key.native).map(|key| &key.name);
    let names = [&table.partition, &table.sort].into_iter().chain(made);
    let names = names.filter(|name| record.attribute(name).is_none());
    names.map(String::as_str).collect()
}

/// Whether some callers do not see the attribute.
fn is_hidden(rules: &Rules, name: &str) -> bool {
    let mut reading = rules.by_attribute.iter().filter(|rule| !rule.writes);
    reading.any(|rule| rule.attributes.iter().any(|one| one == name))
}

/// Whether an attribute goes into a key of its item, in the table or an index, into a guard, or
/// into the key of an item that the item refers to.
fn in_some_key(entity: &Record, name: &str) -> bool {
    let mut templates = vec![&entity.key.partition, &entity.key.sort];
    for keys in &entity.indexes {
        for key in std::iter::once(&keys.partition).chain(&keys.sort) {
            if let KeyValue::Cases(cases) = key {
                templates.extend(cases.iter().map(|case| &case.is));
            }
        }
    }
    templates.extend(entity.unique.iter().map(|guard| &guard.partition));
    let mut names = templates.into_iter().flat_map(|template| template.names());
    let targets = entity.refs.iter().flat_map(|one| &one.targets);
    let targets = targets.filter(|target| matches!(target.to, RefTo::Record(_)));
    let mut arguments = targets.flat_map(|target| &target.arguments);
    names.any(|one| one == name) || arguments.any(|one| !one.many && one.path == name)
}

fn literal(formula: &Formula) -> Option<Json> {
    match formula.cases.as_slice() {
        [case] if case.when.is_none() => match &case.is {
            Expr::Literal(value) => Some(plain::to_json(value)),
            _ => None,
        },
        _ => None,
    }
}

fn about(mut schema: Json, about: Option<&str>) -> Json {
    if let Some(about) = about {
        schema["description"] = about.into();
    }
    schema
}
