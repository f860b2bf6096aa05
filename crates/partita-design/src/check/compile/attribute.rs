//! Where the values of attributes come from.

mod clauses;

use std::collections::BTreeSet;

use partita_core::Value;
use partita_core::expression::Span;

use crate::check::all;
use crate::check::compile::aggregate;
use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord, Symbols};
use crate::check::resolve::condition;
use crate::check::resolve::names::Names;
use crate::check::resolve::value::{self, Values};
use crate::codes::Code;
use crate::design::{Attribute, Computed, RecordId, Source, Timing};
use crate::expression::{Expr, Formula, Origin, Reading};
use crate::syntax::attribute::{Head, LineValue, RawTiming};
use crate::types::AttributeType;
use clauses::agree;

/// Compiles the attributes of an entity; `None` after a report.
pub(crate) fn compile(
    record: &DeclaredRecord,
    symbols: &Symbols,
    assigned: &Assigned,
) -> Option<Vec<Attribute>> {
    let names = Names::of(symbols, record);
    all(record.attributes.iter().map(|declared| {
        if let Some(Head::Untyped) = declared.line.head {
            let message = "only a view's attribute can do without a type";
            symbols
                .report(Code::AttributeSyntax, declared.span, message)
                .help("write a type such as `string` before the `=`");
            return None;
        }
        one(declared, record, &names, assigned)
    }))
}

/// Compiles one attribute; `None` after a report.
pub(crate) fn one(
    declared: &DeclaredAttribute,
    record: &DeclaredRecord,
    names: &Names<'_>,
    assigned: &Assigned,
) -> Option<Attribute> {
    let line = &declared.line;
    let source = match line.head.as_ref()? {
        Head::Copy(path) => aggregate::copy(path, names).map(Source::Copy)?,
        Head::Aggregate(raw) => {
            aggregate::check(raw, record, names.symbols).map(Source::Aggregate)?
        }
        Head::Typed(_) | Head::Untyped => source(declared, names)?,
    };
    let is_good = agree(declared, record, names.symbols);
    // Where a ref leads nowhere there is nothing to copy.
    let is_loose_copy = matches!(&source, Source::Copy(reading) if reading.optional);
    let lasting = is_lasting(declared, record, &source, assigned);
    is_good.then_some(Attribute {
        name: declared.name.clone(),
        alias: declared.alias.as_ref().map(|(alias, _)| alias.clone()),
        was: line.was.iter().map(|(name, _)| name.clone()).collect(),
        kind: declared.kind.clone()?,
        optional: declared.optional || is_loose_copy,
        source,
        key_only: declared.key_only,
        inherited: false,
        implied: false,
        kept: false,
        fixed: line.fixed.is_some(),
        lasting,
        movable: line.movable.is_some(),
        secret: declared.secret,
        is_virtual: declared.is_virtual,
        rising: line.rising.is_some(),
        deprecated: line.deprecated.is_some(),
        file_in: line.file_in.as_ref().map(|(name, _)| name.clone()),
        elsewhere: line.elsewhere.is_some(),
        file_at: line.file_at.as_ref().map(|(name, _)| name.clone()),
        per: line
            .per
            .as_ref()
            .map(|(period, (name, _))| (*period, name.clone())),
    })
}

/// The attributes that actions and effects write, with their entities.
pub(crate) type Assigned = BTreeSet<(RecordId, String)>;

/// Whether nothing ever changes an attribute once its item is there.
fn is_lasting(
    declared: &DeclaredAttribute,
    record: &DeclaredRecord,
    source: &Source,
    assigned: &Assigned,
) -> bool {
    let is_stamped_once = matches!(
        source,
        Source::Computed(computed) if computed.timing == Timing::Create
    ) && !assigned.contains(&(record.id, declared.name.clone()));
    // An identity lasts also where it is movable: an item at its address has it.
    record.view.is_none()
        && (declared.line.fixed.is_some() || record.is_identity(&declared.name) || is_stamped_once)
}

fn source(declared: &DeclaredAttribute, names: &Names<'_>) -> Option<Source> {
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
            value::fits(kind, &typed, *span, names)?;
            let value = kind?.adopt(value.clone());
            let default = Some(Formula::plain(Expr::Literal(value), Vec::new()));
            Some(Source::Given { default })
        }
        LineValue::Computed(raw, timing) => {
            let mut values = Values::new(names);
            let typed = values.resolve(raw);
            let timing = self::timing(timing, declared, &values, *span, names);
            let (typed, timing) = (typed?, timing?);
            value::fits(kind, &typed, raw.span(), names)?;
            let formula = Formula::plain(typed.expr, values.reads);
            missing(declared, typed.optional, *span, &timing, names)?;
            let value = formula;
            Some(Source::Computed(Computed { value, timing }))
        }
        LineValue::CasesDefault(list) => {
            let (formula, _) = value::cases(&declared.name, list, kind, names)?;
            let default = Some(formula);
            Some(Source::Given { default })
        }
        LineValue::CasesComputed(list) => {
            let (formula, optional) = value::cases(&declared.name, list, kind, names)?;
            let timing = implied(&formula.reads);
            missing(declared, optional, *span, &timing, names)?;
            let value = formula;
            Some(Source::Computed(Computed { value, timing }))
        }
    }
}

/// The value of a new item where nothing is given.
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
    declared: &DeclaredAttribute,
    optional: bool,
    span: Span,
    timing: &Timing,
    names: &Names<'_>,
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
    names.report(Code::MissingValue, span, message).help(help);
    None
}

fn timing(
    raw: &RawTiming,
    declared: &DeclaredAttribute,
    values: &Values<'_, '_>,
    span: Span,
    names: &Names<'_>,
) -> Option<Timing> {
    match raw {
        RawTiming::Create => Some(Timing::Create),
        RawTiming::Write => Some(Timing::Write),
        RawTiming::Once(text) => {
            let condition = condition::check(text, names)?;
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
                names
                    .report(Code::MissingTiming, span, message)
                    .help("write `on create`, `on write` or `once condition` behind it");
                return None;
            }
            Some(implied(&values.reads))
        }
    }
}

/// When a value is computed where nothing says so.
fn implied(reads: &[Reading]) -> Timing {
    if reads.iter().any(|reading| !reading.hops.is_empty()) {
        Timing::Ref
    } else {
        Timing::Always
    }
}
