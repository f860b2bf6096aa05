//! What a ref is made of: the parts of its target's identity, or the parameters of a pattern.

use partita_core::expression::Span;

use crate::check::declare::symbols::DeclaredRecord;
use crate::check::resolve::names::Names;
use crate::check::resolve::value::Values;
use crate::codes::Code;
use crate::design::{Argument, IdentityPart, Pattern, PatternId, Read};
use crate::expression::Reading;
use crate::syntax::reference::Line;

/// The one argument of a ref to constants: which row.
pub(super) fn constant_argument(line: &Line, names: &Names<'_>) -> Option<Vec<Argument>> {
    let [argument] = line.arguments.as_slice() else {
        let (name, span) = &line.target;
        let message = "a row of constants is found by one value";
        names
            .report(Code::RefSyntax, *span, message)
            .help(format!("write `{name}(attribute)`"));
        return None;
    };
    let mut values = Values::new(names);
    values.path(&argument.path)?;
    let reading = values.reads.pop()?;
    Some(vec![Argument {
        part: argument.part.0.clone(),
        path: reading.path.to_string(),
        many: false,
    }])
}

/// For each part of the target's identity, what holds it; `None` after a report.
pub(crate) fn bind(
    line: &Line,
    identity: &[IdentityPart],
    to: &DeclaredRecord,
    names: &Names<'_>,
    span: Span,
) -> Option<Vec<Argument>> {
    let bound = bind_readings(line, identity, to, names, span)?;
    let arguments = bound.into_iter().map(|(part, reading, many)| Argument {
        part,
        path: reading.path.to_string(),
        many,
    });
    Some(arguments.collect())
}

/// For each part of an identity: the part, what holds it, and whether that is a list.
pub(crate) fn bind_readings(
    line: &Line,
    identity: &[IdentityPart],
    to: &DeclaredRecord,
    names: &Names<'_>,
    span: Span,
) -> Option<Vec<(String, Reading, bool)>> {
    let is_part = |part: &IdentityPart, name: &str| part.name == name || part.attribute == name;
    let title = to.title();
    let mut is_good = true;
    for (index, argument) in line.arguments.iter().enumerate() {
        let (part, part_span) = &argument.part;
        let earlier = &line.arguments[..index];
        if earlier.iter().any(|other| other.part.0 == *part) {
            let message = format!("`{part}` is given twice");
            names.report(Code::RefSyntax, *part_span, message);
            is_good = false;
        }
        if !identity.iter().any(|known| is_part(known, part)) {
            let message = format!("`{part}` is no part of the identity of `{title}`");
            names
                .report(Code::UnknownPart, *part_span, message)
                .suggest(part, identity.iter().map(|known| known.name.as_str()));
            is_good = false;
        }
    }
    let mut bound = Vec::new();
    for part in identity {
        let argument = line
            .arguments
            .iter()
            .find(|argument| is_part(part, &argument.part.0));
        let mut values = Values::new(names);
        let (reading, many, at) = match argument {
            Some(argument) => {
                let found = values.path(&argument.path);
                is_good &= found.is_some();
                (values.reads.pop(), argument.many, argument.path.span)
            }
            None => {
                let found = by_name(part, names);
                // With a wrong argument it is unknown which part it was meant for.
                if found.is_none() && is_good && names.record.is_some_and(|one| !one.is_broken) {
                    unbound(&part.name, title, span, names);
                }
                is_good &= found.is_some();
                (found, false, span)
            }
        };
        if let Some(reading) = reading {
            is_good &= is_same_type(part, to, &reading, many, at);
            bound.push((part.attribute.clone(), reading, many));
        }
    }
    is_good.then_some(bound)
}

/// The attribute or alias of the same name as a part.
fn by_name(part: &IdentityPart, names: &Names<'_>) -> Option<Reading> {
    let path = crate::template::dotted(&part.name);
    let found = names.find_silently(&path);
    found.or_else(|| {
        let path = crate::template::dotted(&part.attribute);
        // An alias of the target says what the name `id` alone does not.
        let is_alias = part.name != part.attribute;
        if is_alias {
            None
        } else {
            names.find_silently(&path)
        }
    })
}

/// What refers to an identity must be of the identity's type.
fn is_same_type(
    part: &IdentityPart,
    to: &DeclaredRecord,
    reading: &Reading,
    many: bool,
    span: Span,
) -> bool {
    let Some(expected) = to.find(&part.attribute).and_then(|one| one.kind.as_ref()) else {
        return true;
    };
    let given = match (&reading.kind, many) {
        (crate::types::AttributeType::List { element, .. }, true) => element,
        (kind, false) => kind,
        (kind, true) => {
            let message = format!("`{}` is {}, not a list", reading.path, kind.noun());
            to.report(Code::RefType, span, message);
            return false;
        }
    };
    let (one, two) = (expected.stored_as(), given.stored_as());
    if one == two || one.is_none() || two.is_none() {
        return true;
    }
    let message = format!(
        "`{}` is {}, but `{}` of `{}` is {}",
        reading.path,
        given.noun(),
        part.name,
        to.title(),
        expected.noun()
    );
    to.report(Code::RefType, span, message)
        .help("give the two attributes one type");
    false
}

fn unbound(name: &str, target: &str, span: Span, names: &Names<'_>) {
    let message = format!("nothing says which `{name}` of `{target}` is meant");
    names.report(Code::UnboundPart, span, message).help(format!(
        "write `{target}({name} = …)` with an attribute of this entity, or give it an attribute `{name}`"
    ));
}

/// For each parameter of the pattern that finds a ref's target, what holds it; `None` after a report.
pub(super) fn bind_pattern(
    line: &Line,
    via: PatternId,
    to: &DeclaredRecord,
    names: &Names<'_>,
    patterns: &[Option<Pattern>],
    span: Span,
) -> Option<Vec<Argument>> {
    let pattern = patterns[via.index()].as_ref()?;
    let is_one = pattern.one || matches!(pattern.read, Read::Get(_));
    if !is_one || pattern.returns != [to.id] {
        let message = format!("`{}` does not find one `{}`", pattern.name, line.target.0);
        let at = line.via.as_ref().map_or(span, |(_, span)| *span);
        names.report(Code::UnknownPattern, at, message).help(
            "a ref is found by a `get`, or by a pattern with `one = true`, that returns its target",
        );
        return None;
    }
    let mut bound = Vec::new();
    for parameter in &pattern.parameters {
        let mut arguments = line.arguments.iter();
        let given = arguments.find(|argument| argument.part.0 == parameter.name);
        let path = match given {
            Some(argument) => argument.path.names.join("."),
            None => parameter.name.clone(),
        };
        let path = crate::template::dotted(&path);
        let Some(reading) = names.find_silently(&path) else {
            unbound(&parameter.name, &line.target.0, span, names);
            return None;
        };
        bound.push(Argument {
            part: parameter.name.clone(),
            path: reading.path.to_string(),
            many: false,
        });
    }
    Some(bound)
}
