//! `[entity.X.attributes]`: declarations, and where values come from.

mod clauses;

use std::collections::BTreeSet;

use partita_core::Value;
use partita_core::expression::Span;

use super::aggregate;
use super::check_name;
use super::condition;
use super::names::Names;
use super::table;
use super::value::{self, Values};
use super::world::{Declared, Record, World};
use crate::codes::Code;
use crate::design::{Attribute, Computed, Source, Timing};
use crate::diagnostic::Report;
use crate::document::{Content, Name, Node, Section, section};
use crate::expression::{Expr, Formula, Origin};
use crate::syntax::attribute::{self, Head, Line, LineValue, RawTiming};
use crate::types::AttributeType;
use clauses::agree;

/// Maps inside one another. Far beyond what anybody writes.
const DEPTH_MAX: usize = 16;

/// Attributes as they are declared, with the cases of their values.
pub(crate) struct Declarations<'d> {
    pub(crate) declared: Vec<Declared>,
    /// The cases of the attributes that have them, by their names.
    pub(crate) cases: Vec<(String, &'d [Node])>,
}

/// Reads the attributes of a section. Names of the table are refused.
pub(crate) fn declare<'d>(
    section: &mut Section<'d>,
    table: &table::Draft,
    shapes: &[String],
    report: &mut Report,
) -> Declarations<'d> {
    let mut declarations = Declarations {
        declared: Vec::new(),
        cases: Vec::new(),
    };
    for (name, node) in section.all() {
        if table.reserved().any(|reserved| reserved == name.text) {
            let message = format!("`{}` belongs to the table", name.text);
            report
                .add(Code::DuplicateName, name.span, message)
                .help("give the attribute another name");
        } else {
            check_name(&name.text, name.span, report);
        }
        entry(
            name.text.clone(),
            name,
            node,
            0,
            shapes,
            &mut declarations,
            report,
        );
    }
    declarations
}

fn entry<'d>(
    whole: String,
    name: &Name,
    node: &'d Node,
    depth: usize,
    shapes: &[String],
    declarations: &mut Declarations<'d>,
    report: &mut Report,
) {
    let line = match &node.content {
        Content::Text(text) => attribute::parse(text, false, shapes, report),
        Content::List(list) => match list.as_slice() {
            [
                Node {
                    content: Content::Text(text),
                    ..
                },
                cases @ ..,
            ] if !cases.is_empty() => {
                declarations.cases.push((whole.clone(), cases));
                attribute::parse(text, true, shapes, report)
            }
            _ => {
                report
                    .add(
                        Code::AttributeSyntax,
                        node.span,
                        "an attribute with cases is a list: its line, then the cases",
                    )
                    .help("write `[\"enum image | video default\", { when = \"…\", is = \"image\" }, { is = \"video\" }]`");
                Line::default()
            }
        },
        // INVARIANT: recursion ends here, so hostile input cannot exhaust the stack.
        Content::Table(_) if depth == DEPTH_MAX => {
            let message = format!("maps nest at most {DEPTH_MAX} deep");
            report.add(Code::AttributeSyntax, name.span, message);
            Line::default()
        }
        Content::Table(entries) => {
            for (inner, node) in entries {
                check_name(&inner.text, inner.span, report);
                let whole = format!("{whole}.{}", inner.text);
                entry(whole, inner, node, depth + 1, shapes, declarations, report);
            }
            return;
        }
        other => {
            section::report_type(report, node.span, &name.text, "a string", other);
            Line::default()
        }
    };
    declarations.declared.push(declared(whole, name.span, line));
}

/// A declaration from its line.
pub(crate) fn declared(name: String, span: Span, line: Line) -> Declared {
    let kind = match &line.head {
        Some(Head::Typed(kind)) => Some(kind.clone()),
        Some(Head::Aggregate(raw)) if raw.sum.is_none() => Some(AttributeType::Counter),
        Some(Head::Aggregate(_)) => Some(AttributeType::Number(Default::default())),
        Some(Head::Untyped | Head::Copy(_)) | None => None,
    };
    Declared {
        name,
        span,
        kind,
        optional: line.optional,
        key_only: line.key_only.is_some(),
        is_virtual: line.is_virtual.is_some(),
        secret: line.secret.is_some(),
        is_own: true,
        alias: line.alias.clone(),
        line,
    }
}

/// One name means one thing: an attribute, an alias or a reference.
pub(crate) fn unique_names(attributes: &[Declared], report: &mut Report) {
    for (index, one) in attributes.iter().enumerate() {
        let Some((alias, span)) = &one.alias else {
            continue;
        };
        check_name(alias, *span, report);
        let named = attributes.iter().find(|other| other.name == *alias);
        let earlier = attributes[..index]
            .iter()
            .filter_map(|other| other.alias.as_ref())
            .find(|(other, _)| other == alias);
        let taken = named
            .map(|other| other.span)
            .or(earlier.map(|(_, span)| *span));
        if let Some(taken) = taken {
            let message = format!("`{alias}` is the name of two attributes");
            report
                .add(Code::DuplicateName, *span, message)
                .related(taken, "the other one");
        }
    }
}

/// A key-only attribute is stored in the primary key or nowhere.
pub(crate) fn lost(record: &Record, report: &mut Report) {
    if record.keys.both().is_none() {
        return;
    }
    for declared in &record.attributes {
        let Some(span) = declared.line.key_only else {
            continue;
        };
        if !record.is_identity(&declared.name) {
            let name = &declared.name;
            let message = format!("`{name}` stands in no key, so its value would be lost");
            report.add(Code::LostAttribute, span, message).help(format!(
                "write `{{{name}}}` into a key, or leave `key-only` out"
            ));
        }
    }
}

/// Compiles the attributes of an entity; `None` after a report.
pub(crate) fn compile(
    record: &Record,
    cases: &[(String, &[Node])],
    world: &World,
    assigned: &Assigned,
    report: &mut Report,
) -> Option<Vec<Attribute>> {
    let names = Names::of(world, record);
    let compiled: Vec<_> = record
        .attributes
        .iter()
        .map(|declared| {
            let cases = cases.iter().find(|(name, _)| *name == declared.name);
            let cases = cases.map(|(_, list)| *list);
            if let Some(Head::Untyped) = declared.line.head {
                let message = "only a view's attribute can do without a type";
                report
                    .add(Code::AttributeSyntax, declared.span, message)
                    .help("write a type such as `string` before the `=`");
                return None;
            }
            one(declared, cases, record, &names, assigned, report)
        })
        .collect();
    compiled.into_iter().collect()
}

/// Compiles one attribute; `None` after a report.
pub(crate) fn one(
    declared: &Declared,
    cases: Option<&[Node]>,
    record: &Record,
    names: &Names<'_>,
    assigned: &Assigned,
    report: &mut Report,
) -> Option<Attribute> {
    let line = &declared.line;
    let source = match line.head.as_ref()? {
        Head::Copy(path) => aggregate::copy(path, names, report).map(Source::Copy)?,
        Head::Aggregate(raw) => {
            aggregate::check(raw, record, names.world, report).map(Source::Aggregate)?
        }
        Head::Typed(_) | Head::Untyped => source(declared, cases, names, report)?,
    };
    let is_good = agree(declared, record, names.world, report);
    let lasting = is_lasting(declared, record, &source, assigned);
    // Where a ref leads nowhere there is nothing to copy.
    let is_loose_copy = matches!(&source, Source::Copy(reading) if reading.optional);
    is_good.then_some(Attribute {
        name: declared.name.clone(),
        alias: declared.alias.as_ref().map(|(alias, _)| alias.clone()),
        kind: declared.kind.clone()?,
        optional: declared.optional || is_loose_copy,
        source,
        key_only: declared.key_only,
        inherited: false,
        kept: false,
        fixed: line.fixed.is_some(),
        lasting,
        movable: line.movable.is_some(),
        secret: declared.secret,
        is_virtual: declared.is_virtual,
        rising: line.rising.is_some(),
        deprecated: line.deprecated.is_some(),
        file_in: line.file_in.as_ref().map(|(name, _)| name.clone()),
        file_at: line.file_at.as_ref().map(|(name, _)| name.clone()),
        per: line
            .per
            .as_ref()
            .map(|(period, (name, _))| (*period, name.clone())),
    })
}

/// The names of the attributes that actions and effects write, whichever record they are in.
pub(crate) type Assigned = BTreeSet<String>;

/// Whether nothing ever changes an attribute once its item is there.
fn is_lasting(declared: &Declared, record: &Record, source: &Source, assigned: &Assigned) -> bool {
    let is_stamped_once = matches!(
        source,
        Source::Computed(computed) if computed.timing == Timing::Create
    ) && !assigned.contains(&declared.name);
    // An identity lasts also where it is movable: whatever stands at its address has it.
    record.view.is_none()
        && (declared.line.fixed.is_some() || record.is_identity(&declared.name) || is_stamped_once)
}

fn source(
    declared: &Declared,
    cases: Option<&[Node]>,
    names: &Names<'_>,
    report: &mut Report,
) -> Option<Source> {
    let line = &declared.line;
    let kind = declared.kind.as_ref();
    if line.generated.is_some() {
        return Some(Source::Generated);
    }
    let Some((value, span)) = &line.value else {
        let default = initial(kind?, declared.optional);
        let default = default.map(|value| Formula::plain(Expr::Literal(value), Vec::new()));
        return Some(Source::Given { default });
    };
    match value {
        LineValue::Broken => None,
        LineValue::Default(value) => {
            let typed = value::Typed {
                expr: Expr::Literal(value.clone()),
                sort: value::Sort::Unknown,
                optional: false,
            };
            value::fits(kind, &typed, *span, report)?;
            let value = kind?.adopt(value.clone());
            let default = Some(Formula::plain(Expr::Literal(value), Vec::new()));
            Some(Source::Given { default })
        }
        LineValue::Computed(raw, timing) => {
            let mut values = Values::new(names);
            let typed = values.resolve(raw, report);
            let timing = self::timing(timing, declared, &values, *span, names, report);
            let (typed, timing) = (typed?, timing?);
            value::fits(kind, &typed, raw.span(), report)?;
            let formula = Formula::plain(typed.expr, values.reads);
            missing(declared, typed.optional, *span, &timing, report)?;
            let value = formula;
            Some(Source::Computed(Computed { value, timing }))
        }
        LineValue::CasesDefault | LineValue::CasesComputed => {
            let list = cases?;
            let (formula, optional) = value::cases(&declared.name, list, kind, names, report)?;
            if matches!(value, LineValue::CasesDefault) {
                let default = Some(formula);
                return Some(Source::Given { default });
            }
            let timing = implied(&formula);
            missing(declared, optional, *span, &timing, report)?;
            let value = formula;
            Some(Source::Computed(Computed { value, timing }))
        }
    }
}

/// What a type begins with when nobody says anything.
fn initial(kind: &AttributeType, optional: bool) -> Option<Value> {
    match kind {
        _ if optional => None,
        AttributeType::Counter => Some(Value::N(0.into())),
        AttributeType::Version => Some(Value::N(1.into())),
        AttributeType::State(states) => states.names.first().map(|name| Value::from(name.as_str())),
        _ => None,
    }
}

/// A required attribute needs a value that is always there.
fn missing(
    declared: &Declared,
    optional: bool,
    span: Span,
    timing: &Timing,
    report: &mut Report,
) -> Option<()> {
    let name = &declared.name;
    let (message, help) = match timing {
        _ if declared.optional => return Some(()),
        Timing::Once(_) => (
            format!("`{name}` is missing until its condition holds, but it is required"),
            "write `?` behind the type",
        ),
        _ if optional => (
            format!("`{name}` is required, but its value may be missing"),
            "write what to take then, such as `| 0`, or `?` behind the type",
        ),
        _ => return Some(()),
    };
    report.add(Code::MissingValue, span, message).help(help);
    None
}

fn timing(
    raw: &RawTiming,
    declared: &Declared,
    values: &Values<'_, '_>,
    span: Span,
    names: &Names<'_>,
    report: &mut Report,
) -> Option<Timing> {
    match raw {
        RawTiming::Create => Some(Timing::Create),
        RawTiming::Write => Some(Timing::Write),
        RawTiming::Once(text) => {
            let condition = condition::check(text, names, report)?;
            Some(Timing::Once(Box::new(condition)))
        }
        RawTiming::Unsaid => {
            let is_moment = |origin: &Origin| matches!(origin, Origin::Now | Origin::Caller);
            let has_moment = values
                .reads
                .iter()
                .any(|reading| is_moment(&reading.origin));
            // A record of history is written once.
            let is_record = names.record.is_some_and(|record| record.view.is_some());
            if has_moment && is_record {
                return Some(Timing::Create);
            }
            if has_moment && !declared.is_virtual {
                let message = "nothing says when this is taken";
                report
                    .add(Code::MissingTiming, span, message)
                    .help("write `on create`, `on write` or `once condition` behind it");
                return None;
            }
            Some(
                match values.reads.iter().any(|reading| !reading.hops.is_empty()) {
                    true => Timing::Ref,
                    false => Timing::Always,
                },
            )
        }
    }
}

fn implied(formula: &Formula) -> Timing {
    match formula.reads.iter().any(|reading| !reading.hops.is_empty()) {
        true => Timing::Ref,
        false => Timing::Always,
    }
}
