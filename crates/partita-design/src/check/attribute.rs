//! `[entity.X.attributes]`: declarations, and where values come from.

use partita_core::Value;
use partita_core::expression::Span;

use super::aggregate;
use super::check_name;
use super::condition;
use super::names::Names;
use super::table;
use super::value::{self, Values};
use super::world::{Declared, Record, Uses, World};
use crate::codes::Code;
use crate::design::{Attribute, Computed, Construct, Source, Timing};
use crate::diagnostic::Report;
use crate::document::{Content, Name, Node, Section, section};
use crate::expression::{Expr, Formula, Origin};
use crate::syntax::attribute::{self, Head, Line, LineValue, RawTiming};
use crate::types::AttributeType;

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
    uses: &mut Uses,
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
            one(declared, cases, record, &names, uses, report)
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
    uses: &mut Uses,
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
    note(declared, &source, record, uses);
    is_good.then_some(Attribute {
        name: declared.name.clone(),
        alias: declared.alias.as_ref().map(|(alias, _)| alias.clone()),
        kind: declared.kind.clone()?,
        optional: declared.optional,
        source,
        key_only: declared.key_only,
        fixed: line.fixed.is_some(),
        movable: line.movable.is_some(),
        secret: declared.secret,
        is_virtual: declared.is_virtual,
        rising: line.rising.is_some(),
        deprecated: line.deprecated.is_some(),
        file_in: line.file_in.as_ref().map(|(name, _)| name.clone()),
        per: line
            .per
            .as_ref()
            .map(|(period, (name, _))| (*period, name.clone())),
    })
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

/// Holds the parts of a line against each other.
fn agree(declared: &Declared, record: &Record, world: &World, report: &mut Report) -> bool {
    let line = &declared.line;
    let before = report.findings().len();
    generated(declared, report);
    let kind = declared.kind.as_ref();
    let is_counter = matches!(kind, Some(AttributeType::Counter | AttributeType::Version));
    let is_state = matches!(kind, Some(AttributeType::State(_)));
    let is_typed = matches!(line.head, Some(Head::Typed(_)));
    let is_computed = matches!(
        line.value,
        Some((LineValue::Computed(..) | LineValue::CasesComputed, _))
    );
    let value_span = line.value.as_ref().map(|(_, span)| *span);
    let exclusive: [(Option<Span>, bool, &str); 7] = [
        (
            line.fixed,
            line.movable.is_some(),
            "what is `fixed` is not `movable`",
        ),
        (
            value_span,
            is_typed && is_counter,
            "a counter or version starts by itself and changes by itself",
        ),
        (
            value_span,
            is_state && !is_computed,
            "a state begins with its first name",
        ),
        (
            line.is_virtual,
            !is_computed,
            "only a computed value is `virtual`",
        ),
        (
            line.key_only,
            line.is_virtual.is_some(),
            "what is `virtual` is not stored in a key",
        ),
        (
            line.rising,
            kind.is_none_or(|kind| kind.time_form().is_none()) || !is_computed,
            "only a computed time is `rising`",
        ),
        (
            line.per.as_ref().map(|(_, (_, span))| *span),
            kind != Some(&AttributeType::Counter),
            "only a counter starts again",
        ),
    ];
    for (span, is_wrong, message) in exclusive {
        if let Some(span) = span.filter(|_| is_wrong) {
            report.add(Code::ConflictingClauses, span, message);
        }
    }
    if let Some((_, (name, span))) = &line.per
        && let Some(time) = record.resolve(name, *span, report)
        && time
            .kind
            .as_ref()
            .is_some_and(|kind| kind.time_form().is_none())
    {
        let message = format!("`{name}` is no time");
        report
            .add(Code::ValueType, *span, message)
            .related(time.span, "declared here");
    }
    if let Some((prefix, span)) = &line.file_in
        && !world.prefixes.contains(prefix)
        && !world.is_broken
    {
        let message = format!("no bucket has a prefix `{prefix}`");
        report
            .add(Code::UnknownRecord, *span, message)
            .suggest(prefix, world.prefixes.iter().map(String::as_str));
    }
    report.findings().len() == before
}

fn generated(declared: &Declared, report: &mut Report) {
    let Some(span) = declared.line.generated else {
        return;
    };
    let kind = declared.kind.as_ref();
    if !matches!(kind, Some(AttributeType::Ulid | AttributeType::Uuid) | None) {
        report
            .add(
                Code::CannotGenerate,
                span,
                "only a `ulid` or a `uuid` can be generated",
            )
            .help(match kind.and_then(AttributeType::time_form) {
                Some(_) => "write `timestamp = now on create`",
                None => "write `ulid, generated`, or leave `generated` out",
            });
    } else if let Some((_, value)) = &declared.line.value {
        report
            .add(
                Code::ConflictingClauses,
                span,
                "a generated value has no default and is not computed",
            )
            .related(*value, "the other value");
    }
}

/// Notes the parts of the language that an attribute uses.
fn note(declared: &Declared, source: &Source, record: &Record, uses: &mut Uses) {
    let line = &declared.line;
    let name = &declared.name;
    let span = declared.span;
    let mut note =
        |construct, words: &str| uses.note(construct, format!("{words} (`{name}`)"), span);
    if name.contains('.') {
        note(Construct::NestedAttribute, "an attribute inside a map");
    }
    match &declared.kind {
        Some(AttributeType::State(_)) => note(Construct::State, "`state`"),
        Some(AttributeType::Version) => note(Construct::Version, "`version`"),
        Some(AttributeType::Expiry) => note(Construct::Expiry, "`expiry`"),
        Some(AttributeType::Counter) if matches!(line.head, Some(Head::Typed(_))) => {
            note(Construct::Counter, "`counter`");
        }
        Some(AttributeType::Uuid) if line.generated.is_some() => {
            note(Construct::GeneratedUuid, "a generated `uuid`");
        }
        _ => {}
    }
    match source {
        Source::Aggregate(_) => note(Construct::Aggregate, "`count of` or `sum of`"),
        Source::Copy(_) => note(Construct::Copy, "`copy`"),
        Source::Computed(Computed { value, timing }) => {
            let is_plain = value.is_now()
                && matches!(timing, Timing::Create | Timing::Write)
                && declared.kind == Some(AttributeType::timestamp());
            if !is_plain {
                note(Construct::ComputedValue, "a computed value");
            }
        }
        Source::Given {
            default: Some(default),
        } if default.literal().is_none() => {
            note(Construct::ComputedDefault, "a default with cases");
        }
        _ => {}
    }
    let is_part = record.is_identity(name);
    let flags = [
        (line.fixed.filter(|_| !is_part), Construct::Fixed, "`fixed`"),
        (line.movable, Construct::Movable, "`movable`"),
        (line.secret, Construct::Secret, "`secret`"),
        (line.is_virtual, Construct::Virtual, "`virtual`"),
        (
            line.file_in.as_ref().map(|(_, span)| *span),
            Construct::File,
            "`file in`",
        ),
        (line.per.as_ref().map(|_| span), Construct::Period, "`per`"),
    ];
    for (span, construct, words) in flags {
        if span.is_some() {
            note(construct, words);
        }
    }
}
