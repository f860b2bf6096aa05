//! `[entity.X.allow]`: who may do what.

use super::entity::Scope;
use super::{condition, table};
use crate::codes::Code;
use crate::design::{Access, Rule, Rules};
use crate::diagnostic::Report;
use crate::document::{Content, Field, Name, Node, Section, section};

const EVERY: &str = "*";

/// Reads the rules of an entity; `None` after a report.
pub(crate) fn check(
    allow: Option<Section<'_>>,
    scope: &Scope,
    soft_delete: &Field<String>,
    table: &table::Draft,
    entity: &Section<'_>,
    report: &mut Report,
) -> Option<Rules> {
    // Something under this name that is no section was reported.
    if allow.is_none() && entity.key_span("allow").is_some() {
        return None;
    }
    let entries = allow.map_or(&[][..], |mut allow| allow.all());
    if entries.is_empty() {
        closed(entity, report);
        return Some(Rules::default());
    }
    let mut rules: Vec<(Option<Access>, Rule)> = Vec::new();
    let mut is_good = true;
    for (name, node) in entries {
        let access = access(name, soft_delete, &table.elsewhere.actions, report);
        let rule = rule(name, node, scope, report);
        match access.zip(rule) {
            Some(pair) => rules.push(pair),
            None => is_good = false,
        }
    }
    is_good.then(|| Rules {
        by_access: expand(&rules),
    })
}

fn closed(entity: &Section<'_>, report: &mut Report) {
    report
        .add(
            Code::ClosedEntity,
            entity.span,
            format!("`{}` has no rules, so nobody may use it", entity.place),
        )
        .help(format!("write `[{}.allow]`", entity.place))
        .acceptable(vec![vec![entity.place.clone()]]);
}

/// The operation of a rule, `Some(None)` being every one; `None` after a report.
fn access(
    name: &Name,
    soft_delete: &Field<String>,
    actions: &[String],
    report: &mut Report,
) -> Option<Option<Access>> {
    let word = name.text.as_str();
    if word == EVERY {
        return Some(None);
    }
    let known = Access::WORDS.iter().find(|(_, known)| *known == word);
    let Some((access, _)) = known else {
        if actions.contains(&name.text) {
            return None;
        }
        if word.contains(' ') {
            report.not_supported(name.span, "a rule for one attribute");
            return None;
        }
        let words = Access::WORDS.iter().map(|(_, word)| *word).chain([EVERY]);
        report
            .add(
                Code::UnknownWord,
                name.span,
                format!("there is no operation `{word}`"),
            )
            .suggest(word, words);
        return None;
    };
    if *access == Access::Restore && soft_delete.is_absent() {
        report
            .add(
                Code::NoSuchOperation,
                name.span,
                "nothing can be restored here, because a delete removes the item",
            )
            .help("write `soft-delete = \"deleted\"`, or leave this rule out");
        return None;
    }
    Some(Some(*access))
}

fn rule(name: &Name, node: &Node, scope: &Scope, report: &mut Report) -> Option<Rule> {
    let text = match &node.content {
        Content::Text(text) => text,
        other => {
            section::report_type(report, node.span, &name.text, "a string", other);
            return None;
        }
    };
    Some(match text.as_str().trim() {
        "public" => Rule::Public,
        "signed-in" => Rule::SignedIn,
        "never" => Rule::Never,
        _ => Rule::When {
            condition: Box::new(condition::check(text, Some(scope), true, report)?),
            text: text.as_str().to_owned(),
        },
    })
}

/// Puts the rule for every operation in the place of those that have none of their own.
fn expand(rules: &[(Option<Access>, Rule)]) -> Vec<(Access, Rule)> {
    let named: Vec<_> = rules.iter().filter_map(|(access, _)| *access).collect();
    let mut expanded = Vec::new();
    for (access, rule) in rules {
        match access {
            Some(access) => expanded.push((*access, rule.clone())),
            None => {
                let others = Access::WORDS.iter().map(|(access, _)| *access);
                let others = others.filter(|access| !named.contains(access));
                expanded.extend(others.map(|access| (access, rule.clone())));
            }
        }
    }
    expanded
}
