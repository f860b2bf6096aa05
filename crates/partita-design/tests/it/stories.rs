//! The shipped design `stories`, and what it is compiled to.

use std::fmt::Write as _;

use partita_core::expression::{Condition, Renderer};
use partita_design::design::{
    Computed, Design, KeyTemplates, QueryRead, Read, Rule, SortRange, Source,
};
use partita_design::{check, shipped};

#[test]
fn compiles() {
    let source = shipped::find("stories").unwrap().source;
    let (design, diagnostics) = check(source, &|_| None);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    insta::assert_snapshot!(outline(&design.unwrap()));
}

#[test]
fn the_table_has_the_name_that_a_variable_says() {
    let source = shipped::find("stories").unwrap().source;
    let name = |name: &str| (name == "TABLE_NAME").then(|| "prod-stories".to_owned());
    assert_eq!(
        check(source, &name).0.unwrap().tables[0].name,
        "prod-stories"
    );
}

#[test]
fn designs_are_found_by_the_name_that_they_give_themselves() {
    for shipped in shipped::all() {
        let (design, diagnostics) = check(shipped.source, &|_| None);
        assert!(diagnostics.is_empty(), "{diagnostics:#?}");
        assert_eq!(design.unwrap().name, shipped.name);
    }
    assert_eq!(shipped::find("nothing"), None);
}

/// A compiled design as a page that fits on a screen.
fn outline(design: &Design) -> String {
    let mut page = String::new();
    let table = &design.tables[0];
    writeln!(
        page,
        "{}: table {} ({}, {}) told apart by {:?}",
        design.name, table.name, table.partition, table.sort, table.discriminator
    )
    .unwrap();
    for entity in design.entities() {
        writeln!(page, "\nentity {} {}", entity.name, key(&entity.key)).unwrap();
        writeln!(
            page,
            "  discriminator {:?}, open {}, soft delete {:?}",
            entity.discriminator, entity.open, entity.soft_delete
        )
        .unwrap();
        for part in &entity.identity {
            writeln!(page, "  identity {} = {}", part.name, part.attribute).unwrap();
        }
        for attribute in &entity.attributes {
            let optional = if attribute.optional { "?" } else { "" };
            let key_only = if attribute.key_only { " key-only" } else { "" };
            let alias = attribute.alias.as_ref();
            let alias = alias.map_or(String::new(), |alias| format!(" as {alias}"));
            let source = match &attribute.source {
                Source::Given { default: None } => String::new(),
                Source::Given {
                    default: Some(default),
                } => format!(" default {}", default.cases[0].is),
                Source::Computed(Computed { value, timing }) => {
                    format!(" = {} {timing:?}", value.cases[0].is)
                }
                other => format!(" {other:?}"),
            };
            writeln!(
                page,
                "  {}: {:?}{optional}{source}{key_only}{alias}",
                attribute.name, attribute.kind
            )
            .unwrap();
        }
        for reference in &entity.refs {
            let live = if reference.live { " live" } else { "" };
            let (_, target) = reference.single().unwrap();
            let arguments: Vec<_> = target
                .arguments
                .iter()
                .map(|one| one.path.as_str())
                .collect();
            writeln!(
                page,
                "  ref {}: {}({}){live}",
                reference.name,
                design[reference.single().unwrap().0].name,
                arguments.join(", ")
            )
            .unwrap();
        }
        for (access, rule) in &entity.rules.by_access {
            let rule = match rule {
                Rule::When(rule) => format!("{} [{}]", rule.text, condition(&rule.tree)),
                other => format!("{other:?}"),
            };
            writeln!(page, "  allow {}: {rule}", access.word()).unwrap();
        }
    }
    for (record, view) in design.views() {
        let keep: Vec<_> = record.kept().map(|one| &one.name).collect();
        writeln!(
            page,
            "\nview {} of {} {}",
            record.name,
            design[view.of].name,
            key(&record.key)
        )
        .unwrap();
        let when = view.when.as_ref().map(|when| condition(&when.tree));
        writeln!(
            page,
            "  discriminator {:?}, when {when:?}, keep {keep:?}",
            record.discriminator
        )
        .unwrap();
    }
    for pattern in &design.patterns {
        let read = match &pattern.read {
            Read::Get(keys) => format!("get {}", key(keys)),
            Read::Query(QueryRead {
                partition, sort, ..
            }) => match sort {
                SortRange::BeginsWith(prefix) => {
                    format!("query {} / {}…", partition.value, prefix.value)
                }
                _ => format!("query {}", partition.value),
            },
            Read::Scan { .. } => "scan".to_owned(),
        };
        writeln!(page, "\npattern {}: {read}", pattern.name).unwrap();
        for parameter in &pattern.parameters {
            writeln!(page, "  {}: {:?}", parameter.name, parameter.kind).unwrap();
        }
        let returns: Vec<_> = pattern
            .returns
            .iter()
            .map(|record| design[*record].name.as_str())
            .collect();
        writeln!(
            page,
            "  returns {}, sort {:?}, whole {:?}, descending {}, limit {}",
            returns.join(" and "),
            pattern.sort,
            pattern.whole,
            pattern.descending,
            pattern.limit
        )
        .unwrap();
    }
    page
}

fn key(key: &KeyTemplates) -> String {
    format!("{} / {}", key.partition, key.sort)
}

fn condition(condition: &Condition) -> String {
    let mut renderer = Renderer::default();
    let mut text = renderer.condition(condition);
    let (names, values) = renderer.into_bindings();
    for (placeholder, name) in &names {
        text = text.replace(placeholder.as_str(), name);
    }
    for (placeholder, value) in &values {
        text = text.replace(placeholder.as_str(), &format!("{value:?}"));
    }
    text
}
