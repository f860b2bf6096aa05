//! `[entity.X.refs]`: how another item is found from this one.

use partita_core::expression::Span;

use super::entity::Draft;
use super::{check_name, table};
use crate::codes::Code;
use crate::design::{IdentityPart, Ref};
use crate::diagnostic::Report;
use crate::document::{Content, Name, Node, section};
use crate::syntax::reference::{self, Line};

/// Reads the references of an entity; `None` after a report.
pub(crate) fn check(
    entity: &Draft<'_>,
    entities: &[Draft<'_>],
    table: &table::Draft,
    report: &mut Report,
) -> Option<Vec<Ref>> {
    let refs: Vec<_> = entity
        .refs
        .iter()
        .map(|(name, node)| one(name, node, entity, entities, table, report))
        .collect();
    refs.into_iter().collect()
}

fn one(
    name: &Name,
    node: &Node,
    entity: &Draft<'_>,
    entities: &[Draft<'_>],
    table: &table::Draft,
    report: &mut Report,
) -> Option<Ref> {
    check_name(&name.text, name.span, report);
    if let Some(attribute) = entity.scope.find(&name.text) {
        report
            .add(
                Code::DuplicateName,
                name.span,
                format!("`{}` is an attribute already", name.text),
            )
            .related(attribute.span, "the attribute");
    }
    let line = match &node.content {
        Content::Text(text) => reference::parse(text, report)?,
        Content::Table(_) => {
            report.not_supported(name.span, "a reference with several targets");
            return None;
        }
        other => {
            section::report_type(report, node.span, &name.text, "a string", other);
            return None;
        }
    };
    let (target_name, span) = &line.target;
    if table.elsewhere.constants.contains(target_name) {
        return None;
    }
    let Some(target) = entities.iter().find(|other| other.name == *target_name) else {
        report
            .add(
                Code::UnknownRecord,
                *span,
                format!("there is no entity `{target_name}`"),
            )
            .suggest(
                target_name,
                entities.iter().map(|other| other.name.as_str()),
            );
        return None;
    };
    if line.broken {
        return None;
    }
    let arguments = bind(&line, &target.identity()?, entity, node.span, report)?;
    if line.live && target.soft_delete.is_absent() {
        report
            .add(
                Code::NeedlessKey,
                node.span,
                format!("`live` has no effect, because `{target_name}` has no soft delete"),
            )
            .help("leave `live` out");
    }
    Some(Ref {
        name: name.text.clone(),
        target: target_name.clone(),
        arguments,
        live: line.live,
    })
}

/// For each part of the target's identity, the own attribute that holds it.
fn bind(
    line: &Line,
    identity: &[IdentityPart],
    entity: &Draft<'_>,
    span: Span,
    report: &mut Report,
) -> Option<Vec<String>> {
    let is_part = |part: &IdentityPart, name: &str| part.name == name || part.attribute == name;
    let mut is_good = true;
    for (index, ((part, part_span), (attribute, attribute_span))) in
        line.arguments.iter().enumerate()
    {
        let earlier = &line.arguments[..index];
        if earlier.iter().any(|((other, _), _)| other == part) {
            let message = format!("`{part}` is given twice");
            report.add(Code::RefSyntax, *part_span, message);
            is_good = false;
        }
        if !identity.iter().any(|known| is_part(known, part)) {
            let message = format!("`{part}` is no part of the identity of `{}`", line.target.0);
            report
                .add(Code::UnknownPart, *part_span, message)
                .suggest(part, identity.iter().map(|known| known.name.as_str()));
            is_good = false;
        }
        let found = entity.scope.resolve(attribute, *attribute_span, report);
        is_good &= found.is_some();
    }
    // With a wrong argument it is unknown which part it was meant for.
    if !is_good {
        return None;
    }
    let bound: Vec<_> = identity
        .iter()
        .map(|part| {
            let argument = line
                .arguments
                .iter()
                .find(|((name, _), _)| is_part(part, name));
            let attribute = argument.map_or(&part.name, |(_, (attribute, _))| attribute);
            let found = entity.scope.find(attribute);
            if found.is_none() && !entity.scope.is_broken {
                unbound(part, &line.target.0, span, report);
            }
            found.map(|attribute| attribute.name.clone())
        })
        .collect();
    bound.into_iter().collect()
}

fn unbound(part: &IdentityPart, target: &str, span: Span, report: &mut Report) {
    let name = &part.name;
    report
        .add(
            Code::UnboundPart,
            span,
            format!("nothing says which `{name}` of `{target}` is meant"),
        )
        .help(format!(
            "write `{target}({name} = …)` with an attribute of this entity, or give it an attribute `{name}`"
        ));
}
