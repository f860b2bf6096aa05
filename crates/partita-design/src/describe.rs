//! A compiled design as JSON: what other tools want to know of it.

use serde_json::{Map, Value as Json, json};

use crate::design::{
    Attribute, Design, KeyTemplates, KeyValue, Parameter, ParameterKind, Pattern, Read, Record,
    Ref, RefTo, Rule, Rules, SortRange, Source, Table, Timing, View,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::{self, Write};

/// The design: tables, entities, views, patterns, actions, triggers, and the size of every write.
pub fn describe(design: &Design) -> Json {
    json!({
        "design": design.name,
        "about": design.about,
        "tables": design.tables.iter().map(table).collect::<Vec<_>>(),
        "entities": design.entities().map(|one| entity(design, one)).collect::<Vec<_>>(),
        "views": design.views().map(|(record, of)| view(design, record, of)).collect::<Vec<_>>(),
        "patterns": design.patterns.iter().map(|one| pattern(design, one)).collect::<Vec<_>>(),
        "actions": design.actions.iter().map(|action| json!({
            "name": action.name,
            "about": action.about,
            "input": action.input,
            "parameters": action.parameters.iter().map(parameter).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "triggers": design.triggers.iter().map(|trigger| json!({
            "name": trigger.name,
            "of": design[trigger.on.of].name,
        })).collect::<Vec<_>>(),
        "transactions": kernel::sizes(design).iter().map(|size| json!({
            "of": match &size.write {
                Write::Access(_, entity) => &design[*entity].name,
                Write::Action(action) => &design[*action].name,
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

fn entity(design: &Design, entity: &Record) -> Json {
    let table = &design[entity.table];
    json!({
        "name": entity.name,
        "about": entity.about,
        "path": entity.path.as_ref().map(ToString::to_string),
        "table": table.name,
        "identity": entity.identity.iter().map(|part| &part.name).collect::<Vec<_>>(),
        "keys": keys(table, entity).into_iter().collect::<Map<_, _>>(),
        "discriminator": entity.discriminator,
        "attributes": entity.attributes.iter().map(|one| attribute(design, one)).collect::<Vec<_>>(),
        "refs": entity.refs.iter().map(|one| reference(design, one)).collect::<Vec<_>>(),
        "unique": entity.unique.iter().map(|one| json!({ "name": one.name, "key": one.partition.to_string() })).collect::<Vec<_>>(),
        "softDelete": entity.soft_delete.as_ref().map(|one| one.attribute()),
        "open": entity.open,
        "rules": rules(design, &entity.rules),
    })
}

/// The key attributes and their templates.
pub(crate) fn keys(table: &Table, record: &Record) -> Vec<(String, Json)> {
    let KeyTemplates { partition, sort } = &record.key;
    let mut keys = vec![
        (table.partition.clone(), partition.to_string().into()),
        (table.sort.clone(), sort.to_string().into()),
    ];
    for keys_in in &record.indexes {
        let index = &table.indexes[keys_in.index.index()];
        keys.push((index.partition.name.clone(), key_value(&keys_in.partition)));
        if let (Some(key), Some(value)) = (&index.sort, &keys_in.sort) {
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

fn attribute(design: &Design, attribute: &Attribute) -> Json {
    json!({
        "name": attribute.name,
        "alias": attribute.alias,
        "type": attribute.kind.describe(),
        "optional": attribute.optional,
        "value": value(design, &attribute.source),
        "keyOnly": attribute.key_only,
        "secret": attribute.secret,
        "fixed": attribute.fixed,
    })
}

/// Where a value comes from, in a few words.
pub fn value(design: &Design, source: &Source) -> Option<String> {
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
            let counted = &design[aggregate.of];
            let of = &counted.name;
            let what = match &aggregate.sum {
                Some(sum) => format!("sum of {sum} of {of}"),
                None => format!("count of {of}"),
            };
            let only = aggregate
                .only
                .as_ref()
                .map(|only| format!(" where {}", only.text));
            let by = &counted.refs[aggregate.by.index()].name;
            format!("{what} by {by}{}", only.unwrap_or_default())
        }
        Source::Derived(value) => match value.cases.as_slice() {
            [case] => format!("= {}", case.is),
            _ => "= by cases".to_owned(),
        },
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

fn reference(design: &Design, reference: &Ref) -> Json {
    let targets = reference.targets.iter().map(|target| {
        let to = match target.to {
            RefTo::Record(record) => &design[record].name,
            RefTo::Constants(constants) => &design[constants].name,
        };
        json!({
            "to": to,
            "when": target.when,
            "via": target.via.map(|pattern| &design[pattern].name),
            "arguments": target.arguments.iter().map(|one| (one.part.clone(), Json::from(one.path.clone()))).collect::<Map<_, _>>(),
        })
    });
    json!({ "name": reference.name, "by": reference.by, "targets": targets.collect::<Vec<_>>() })
}

fn rules(design: &Design, rules: &Rules) -> Json {
    let access = rules
        .by_access
        .iter()
        .map(|(access, one)| (access.word().to_owned(), rule(one)));
    let actions = rules
        .by_action
        .iter()
        .map(|(action, one)| (design[*action].name.clone(), rule(one)));
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

fn view(design: &Design, record: &Record, view: &View) -> Json {
    let table = &design[record.table];
    let own = record.attributes.iter().filter(|one| one.is_declared());
    let own = own.map(|one| json!({ "name": one.name, "type": one.kind.describe() }));
    json!({
        "name": record.name,
        "about": record.about,
        "of": design[view.of].name,
        "history": view.history,
        "when": view.when.as_ref().map(|when| &when.text),
        "each": view.each.as_ref().map(|each| &each.name),
        "keys": keys(table, record).into_iter().collect::<Map<_, _>>(),
        "keep": record.kept().map(|one| &one.name).collect::<Vec<_>>(),
        "attributes": own.collect::<Vec<_>>(),
    })
}

fn pattern(design: &Design, pattern: &Pattern) -> Json {
    let kind = match &pattern.read {
        Read::Get(_) => "get",
        Read::Query(_) => "query",
        Read::Scan { .. } => "scan",
    };
    let indexes = &design[pattern.table].indexes;
    let index = pattern
        .read
        .index()
        .map(|index| &indexes[index.index()].name);
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
        "returns": pattern.returns.iter().map(|record| &design[*record].name).collect::<Vec<_>>(),
        "follow": pattern.follow.as_ref().map(|follow| &follow.name),
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
