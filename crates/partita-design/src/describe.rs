//! A compiled design as JSON: what other tools want to know of it.

use serde_json::{Map, Value as Json, json};

use crate::design::{
    Attribute, Design, Entity, KeyTemplates, KeyValue, Parameter, ParameterKind, Pattern, Read,
    RecordIndex, Ref, Rule, Rules, SortRange, Source, Table, TargetName, Timing, View,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::{self, Write};

/// The design: tables, entities, views, patterns, actions, triggers, and the size of every write.
pub fn describe(design: &Design) -> Json {
    json!({
        "design": design.name,
        "about": design.about,
        "tables": design.tables().map(table).collect::<Vec<_>>(),
        "entities": design.entities.iter().map(|one| entity(design, one)).collect::<Vec<_>>(),
        "views": design.views.iter().map(|one| view(design, one)).collect::<Vec<_>>(),
        "patterns": design.patterns.iter().map(pattern).collect::<Vec<_>>(),
        "actions": design.actions.iter().map(|action| json!({
            "name": action.name,
            "about": action.about,
            "input": action.input,
            "parameters": action.parameters.iter().map(parameter).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "triggers": design.triggers.iter().map(|trigger| json!({
            "name": trigger.name,
            "of": trigger.on.of.as_str(),
        })).collect::<Vec<_>>(),
        "transactions": kernel::sizes(design).iter().map(|size| json!({
            "of": match &size.write {
                Write::Access(_, entity) => entity,
                Write::Action(action) => action,
            },
            "write": match &size.write {
                Write::Access(access, _) => access.word(),
                Write::Action(_) => "action",
            },
            "actions": size.actions,
            "jobs": size.has_jobs,
            "parts": size.parts.iter().map(|part| json!({
                "cause": part.cause,
                "actions": part.actions,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

/// Diagnostics, with their lines and columns in the file.
pub fn diagnostics(source: &str, diagnostics: &[Diagnostic]) -> Json {
    let place = |offset: usize| {
        let before = source.get(..offset).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        json!({ "line": line, "column": column, "offset": offset })
    };
    let found = diagnostics.iter().map(|found| {
        json!({
            "code": found.code.as_str(),
            "severity": found.severity.word(),
            "message": found.message,
            "help": found.help,
            "start": place(found.span.start),
            "end": place(found.span.end),
            "related": found.related.iter().map(|related| json!({
                "message": related.message,
                "start": place(related.span.start),
                "end": place(related.span.end),
            })).collect::<Vec<_>>(),
        })
    });
    found.collect()
}

fn table(table: &Table) -> Json {
    let indexes = table.indexes.iter().map(|index| {
        let key = std::iter::once(&index.partition).chain(&index.sort);
        let key = key.map(
            |key| json!({ "name": key.name, "type": key.kind.letters(), "native": key.native }),
        );
        json!({ "name": index.name, "key": key.collect::<Vec<_>>() })
    });
    json!({
        "name": table.name,
        "key": [table.partition, table.sort],
        "discriminator": table.discriminator,
        "ttl": table.ttl,
        "indexes": indexes.collect::<Vec<_>>(),
    })
}

fn entity(design: &Design, entity: &Entity) -> Json {
    let table = design.table_of(entity);
    json!({
        "name": entity.name,
        "about": entity.about,
        "path": entity.path.as_ref().map(ToString::to_string),
        "table": table.name,
        "identity": entity.identity.iter().map(|part| &part.name).collect::<Vec<_>>(),
        "keys": keys(table, &entity.key, &entity.indexes).into_iter().collect::<Map<_, _>>(),
        "discriminator": entity.discriminator,
        "attributes": entity.attributes.iter().map(attribute).collect::<Vec<_>>(),
        "refs": entity.refs.iter().map(reference).collect::<Vec<_>>(),
        "unique": entity.unique.iter().map(|one| json!({ "name": one.name, "key": one.partition.to_string() })).collect::<Vec<_>>(),
        "softDelete": entity.soft_delete.as_ref().map(|one| one.attribute()),
        "open": entity.open,
        "rules": rules(&entity.rules),
    })
}

/// The key attributes and their templates.
pub(crate) fn keys(
    table: &Table,
    key: &KeyTemplates,
    indexes: &[RecordIndex],
) -> Vec<(String, Json)> {
    let mut keys = vec![
        (table.partition.clone(), key.partition.to_string().into()),
        (table.sort.clone(), key.sort.to_string().into()),
    ];
    for record in indexes {
        let Some(index) = table
            .indexes
            .iter()
            .find(|index| index.name == record.index)
        else {
            continue;
        };
        keys.push((index.partition.name.clone(), key_value(&record.partition)));
        if let (Some(key), Some(value)) = (&index.sort, &record.sort) {
            keys.push((key.name.clone(), key_value(value)));
        }
    }
    keys
}

fn key_value(value: &KeyValue) -> Json {
    match value {
        KeyValue::Native(name) => format!("{{{name}}}").into(),
        KeyValue::Cases(cases) => match cases.as_slice() {
            [case] => case.is.to_string().into(),
            cases => {
                let cases = cases.iter().map(|case| {
                    let when = case.when.as_ref().map(|when| &when.text);
                    json!({ "when": when, "is": case.is.to_string() })
                });
                cases.collect()
            }
        },
    }
}

fn attribute(attribute: &Attribute) -> Json {
    json!({
        "name": attribute.name,
        "alias": attribute.alias,
        "type": attribute.kind.describe(),
        "optional": attribute.optional,
        "value": value(&attribute.source),
        "keyOnly": attribute.key_only,
        "secret": attribute.secret,
        "fixed": attribute.fixed,
    })
}

/// Where a value comes from, in a few words.
pub fn value(source: &Source) -> Option<String> {
    Some(match source {
        Source::Given { default: None } => return None,
        Source::Given {
            default: Some(default),
        } => match default.cases.as_slice() {
            [case] => format!("default {}", case.is),
            _ => "default, by cases".to_owned(),
        },
        Source::Generated => "generated".to_owned(),
        Source::Copy(reading) => format!("copy {}", reading.path),
        Source::Aggregate(aggregate) => {
            let of = aggregate.of.as_str();
            let what = match &aggregate.sum {
                Some(sum) => format!("sum of {sum} of {of}"),
                None => format!("count of {of}"),
            };
            let only = aggregate
                .only
                .as_ref()
                .map(|only| format!(" where {}", only.text));
            format!("{what} by {}{}", aggregate.by, only.unwrap_or_default())
        }
        Source::Computed(computed) => {
            let value = match computed.value.cases.as_slice() {
                [case] => format!("= {}", case.is),
                _ => "= by cases".to_owned(),
            };
            match &computed.timing {
                Timing::Always | Timing::Ref => value,
                Timing::Create => format!("{value} on create"),
                Timing::Write => format!("{value} on write"),
                Timing::Once(when) => format!("{value} once {}", when.text),
            }
        }
    })
}

fn reference(reference: &Ref) -> Json {
    let targets = reference.targets.iter().map(|target| {
        let to = match &target.to {
            TargetName::Record(name) => name.as_str(),
            TargetName::Constants(name) => name,
        };
        json!({
            "to": to,
            "when": target.when,
            "via": target.via,
            "arguments": target.arguments.iter().map(|one| (one.part.clone(), Json::from(one.path.clone()))).collect::<Map<_, _>>(),
        })
    });
    json!({ "name": reference.name, "by": reference.by, "targets": targets.collect::<Vec<_>>() })
}

fn rules(rules: &Rules) -> Json {
    let access = rules
        .by_access
        .iter()
        .map(|(access, one)| (access.word().to_owned(), rule(one)));
    let actions = rules
        .by_action
        .iter()
        .map(|(action, one)| (action.clone(), rule(one)));
    let attributes = rules.by_attribute.iter().map(|one| {
        let verb = if one.writes { "write" } else { "read" };
        (
            format!("{verb} {}", one.attributes.join(" ")),
            rule(&one.rule),
        )
    });
    Json::Object(access.chain(actions).chain(attributes).collect())
}

fn rule(rule: &Rule) -> Json {
    rule.text().into()
}

fn view(design: &Design, view: &View) -> Json {
    let table = design
        .entity(&view.of)
        .map_or(&design.table, |of| design.table_of(of));
    json!({
        "name": view.name,
        "about": view.about,
        "of": view.of,
        "history": view.history,
        "when": view.when.as_ref().map(|when| &when.text),
        "each": view.each.as_ref().map(|each| &each.name),
        "keys": keys(table, &view.key, &view.indexes).into_iter().collect::<Map<_, _>>(),
        "keep": view.keep,
        "attributes": view.attributes.iter().map(|one| json!({ "name": one.name(), "type": one.kind().describe() })).collect::<Vec<_>>(),
    })
}

fn pattern(pattern: &Pattern) -> Json {
    let (kind, index) = match &pattern.read {
        Read::Get(_) => ("get", None),
        Read::Query(query) => ("query", query.index.as_ref()),
        Read::Scan { index } => ("scan", index.as_ref()),
    };
    let sort = match &pattern.read {
        Read::Query(query) => match &query.sort {
            SortRange::All => "all",
            SortRange::Equals(_) => "equals",
            SortRange::BeginsWith(_) => "begins-with",
            SortRange::Compared(..) | SortRange::Between(..) => "range",
        },
        _ => "all",
    };
    json!({
        "name": pattern.name,
        "about": pattern.about,
        "path": pattern.path.as_ref().map(ToString::to_string),
        "read": kind,
        "index": index,
        "condition": pattern.text,
        "sort": sort,
        "filter": pattern.filter.as_ref().map(|filter| &filter.text),
        "parameters": pattern.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "returns": pattern.returns.iter().map(|record| record.as_str()).collect::<Vec<_>>(),
        "follow": pattern.follow,
        "one": pattern.one,
        "descending": pattern.descending,
        "limit": pattern.limit,
    })
}

fn parameter(parameter: &Parameter) -> Json {
    let kind = match &parameter.kind {
        ParameterKind::Value(kind) => kind.describe(),
        ParameterKind::PrefixOf(kind) => format!("the beginning of {}", kind.describe()),
    };
    json!({ "name": parameter.name, "type": kind, "optional": parameter.optional })
}
