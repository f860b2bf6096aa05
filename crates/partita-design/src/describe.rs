//! A compiled design as JSON: what other tools want to know of it.

use serde_json::{Map, Value as Json, json};

use crate::design::{
    ActionOn, Attribute, CallerSource, Design, Effect, EffectKind, EffectTarget, Event, EventKind,
    KeyTemplates, KeyValue, Parameter, ParameterKind, Pattern, Read, Record, Ref, RefTo, Rule,
    Rules, SortRange, Source, Table, Timing, View,
};
use crate::diagnostic::Diagnostic;
use crate::expression::Formula;
use crate::kernel::{self, Write};
use crate::types::AttributeType;

/// The design: tables, entities, views, patterns, actions, triggers, and the size of every write.
pub fn describe(design: &Design) -> Json {
    json!({
        "design": design.name,
        "about": design.about,
        "callers": callers(design),
        "accounts": design.accounts.is_some(),
        "tables": design.tables.iter().map(table).collect::<Vec<_>>(),
        "entities": design.entities().map(|one| entity(design, one)).collect::<Vec<_>>(),
        "views": design.views().map(|(record, of)| view(design, record, of)).collect::<Vec<_>>(),
        "patterns": design.patterns.iter().map(|one| pattern(design, one)).collect::<Vec<_>>(),
        "actions": design.actions.iter().map(|action| json!({
            "name": action.name,
            "about": action.about,
            "line": design.origin.line(&format!("action.{}", action.name)),
            "on": match &action.on {
                ActionOn::Items(records) => records.iter().map(|record| design[*record].name.clone()).collect(),
                _ => Vec::new(),
            },
            "input": action.input,
            "parameters": action.parameters.iter().map(parameter).collect::<Vec<_>>(),
            "then": action.then.iter().map(|one| described(design, one)).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "triggers": design.triggers.iter().map(|trigger| json!({
            "name": trigger.name,
            "about": trigger.about,
            "of": design[trigger.on.of].name,
            "on": event(design, &trigger.on),
            "turns": trigger.turns.as_ref().map(|turns| &turns.text),
            "effect": described(design, &trigger.effect),
        })).collect::<Vec<_>>(),
        "schedules": design.schedules.iter().map(|schedule| json!({
            "name": schedule.name,
            "about": schedule.about,
            "line": design.origin.line(&format!("schedule.{}", schedule.name)),
            "every": schedule.every.to_string(),
            "when": schedule.condition(),
            "of": design[schedule.over.record()].name,
            "apply": schedule.action().map_or("purge", |action| &design[action].name),
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

/// A kind of write, as a trigger names it.
pub(crate) fn event(design: &Design, event: &Event) -> String {
    let mut words = EventKind::WORDS.into_iter();
    let word = words.find(|(kind, _)| *kind == event.kind);
    let word = word.map_or("write", |(_, word)| word);
    format!("{word} {}", design[event.of].name)
}

/// What an effect does, and to what.
pub(crate) fn effect(design: &Design, effect: &Effect) -> (&'static str, String) {
    let mut words = EffectKind::WORDS.into_iter();
    let word = words.find(|(kind, _)| *kind == effect.kind);
    let target = match &effect.target {
        EffectTarget::Entity(record)
        | EffectTarget::Element(record)
        | EffectTarget::Identity { record, .. } => design[*record].name.clone(),
        EffectTarget::Ref { name, .. } | EffectTarget::Receiver { name, .. } => name.clone(),
        EffectTarget::Mail(mail) => match mail.to.cases.as_slice() {
            [case] => case.is.to_string(),
            _ => "by cases".to_owned(),
        },
    };
    (word.map_or("", |(_, word)| word), target)
}

fn described(design: &Design, one: &Effect) -> Json {
    let (word, target) = effect(design, one);
    json!({
        "does": word,
        "to": target,
        "each": one.each.as_ref().map(|each| &each.name),
        "when": one.when.as_ref().map(|when| &when.text),
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
        "line": design.origin.line(&format!("entity.{}", entity.name)),
        "path": entity.path.as_ref().map(ToString::to_string),
        "table": table.name,
        "identity": entity.identity.iter().map(|part| &part.name).collect::<Vec<_>>(),
        "keys": keys(table, entity).into_iter().collect::<Map<_, _>>(),
        "discriminator": entity.discriminator,
        "attributes": entity.attributes.iter().map(|one| attribute(design, entity, one)).collect::<Vec<_>>(),
        "refs": entity.refs.iter().map(|one| reference(design, one)).collect::<Vec<_>>(),
        "unique": entity.unique.iter().map(|one| json!({ "name": one.name, "key": one.partition.to_string() })).collect::<Vec<_>>(),
        "softDelete": entity.soft_delete.as_ref().map(|one| one.attribute()),
        "open": entity.open,
        "rules": rules(design, &entity.rules),
        "ruleLines": rule_lines(design, entity),
    })
}

/// Who callers are, and who administrates.
fn callers(design: &Design) -> Json {
    let callers = &design.callers;
    let of = |source: &CallerSource| match source {
        CallerSource::Token => "token",
        CallerSource::Attribute(_) => "item",
    };
    json!({
        "entity": callers.entity.map(|entity| &design[entity].name),
        "roles": callers.roles,
        "roleFrom": of(&callers.role),
        "groupsFrom": of(&callers.groups),
        "administrators": rule(&callers.administrators),
        "administratorMark": callers.administrator_mark(),
    })
}

/// The key attributes and their templates.
pub fn keys(table: &Table, record: &Record) -> Vec<(String, Json)> {
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

fn attribute(design: &Design, entity: &Record, attribute: &Attribute) -> Json {
    let place = format!("entity.{}.attributes.{}", entity.name, attribute.name);
    json!({
        "name": attribute.name,
        "line": design.origin.line(&place),
        "alias": attribute.alias,
        "type": attribute.kind.describe(),
        "optional": attribute.optional,
        "value": value(design, &attribute.source),
        "source": match attribute.kind {
            AttributeType::Counter => json!({ "kind": "counter" }),
            AttributeType::Version => json!({ "kind": "version" }),
            _ => source(design, &attribute.source),
        },
        "movable": attribute.movable,
        "keyOnly": attribute.key_only,
        "secret": attribute.secret,
        "fixed": attribute.fixed,
    })
}

/// Where a value comes from, part by part.
fn source(design: &Design, source: &Source) -> Json {
    let cases = |formula: &Formula| {
        let cases = formula.cases.iter().map(|case| {
            let when = case.when.as_ref().map(|when| &when.text);
            json!({ "when": when, "is": case.is.to_string() })
        });
        cases.collect::<Vec<_>>()
    };
    match source {
        Source::Given { default } => {
            json!({ "kind": "given", "default": default.as_ref().map(&cases) })
        }
        Source::Generated => json!({ "kind": "generated" }),
        Source::Copy(reading) => json!({ "kind": "copy", "path": reading.path.to_string() }),
        Source::Aggregate(aggregate) => {
            let of = &design[aggregate.of];
            json!({
                "kind": "number",
                "sum": aggregate.sum,
                "of": of.name,
                "by": of.refs[aggregate.by.index()].name,
                "where": aggregate.only.as_ref().map(|only| &only.text),
            })
        }
        Source::Derived(value) => json!({ "kind": "computed", "cases": cases(value) }),
        Source::Computed(computed) => {
            let timing = match &computed.timing {
                Timing::Always | Timing::Ref => "always",
                Timing::Create => "create",
                Timing::Write => "write",
                Timing::Once(_) => "once",
            };
            json!({ "kind": "computed", "cases": cases(&computed.value), "timing": timing })
        }
    }
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
    json!({ "name": reference.name, "by": reference.by, "optional": reference.optional, "targets": targets.collect::<Vec<_>>() })
}

fn rules(design: &Design, rules: &Rules) -> Json {
    let rules = named_rules(design, rules).into_iter();
    Json::Object(rules.map(|(name, one)| (name, rule(one))).collect())
}

/// The lines of the rules in the file.
fn rule_lines(design: &Design, entity: &Record) -> Json {
    let rules = named_rules(design, &entity.rules).into_iter();
    let lines = rules.map(|(name, _)| {
        let line = design
            .origin
            .line(&format!("entity.{}.allow.{name}", entity.name));
        (name, Json::from(line))
    });
    Json::Object(lines.collect())
}

fn named_rules<'d>(design: &Design, rules: &'d Rules) -> Vec<(String, &'d Rule)> {
    let access = rules.by_access.iter();
    let access = access.map(|(access, one)| (access.word().to_owned(), one));
    let actions = rules.by_action.iter();
    let actions = actions.map(|(action, one)| (design[*action].name.clone(), one));
    let attributes = rules.by_attribute.iter().map(|one| {
        let verb = if one.writes { "write" } else { "read" };
        (format!("{verb} {}", one.attributes.join(" ")), &one.rule)
    });
    access.chain(actions).chain(attributes).collect()
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
        "line": design.origin.line(&format!("view.{}", record.name)),
        "table": table.name,
        "identity": record.identity.iter().map(|part| &part.name).collect::<Vec<_>>(),
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
    let reads = pattern.page_reads();
    json!({
        "name": pattern.name,
        "about": pattern.about,
        "line": design.origin.line(&format!("pattern.{}", pattern.name)),
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
        "fresh": pattern.fresh,
        "allow": pattern.allow.as_ref().and_then(|allow| Some(allow.rules.first()?.text())),
        "reads": { "rows": reads.rows, "items": reads.items },
    })
}

fn parameter(parameter: &Parameter) -> Json {
    let kind = match &parameter.kind {
        ParameterKind::Value(kind) => kind.describe(),
        ParameterKind::PrefixOf(kind) => format!("the beginning of {}", kind.describe()),
    };
    json!({ "name": parameter.name, "type": kind, "optional": parameter.optional })
}
