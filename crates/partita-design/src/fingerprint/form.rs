//! The forms of templates, values, conditions and types.

use partita_core::expression::{Condition, Operand, Path, Step};
use partita_core::{Map, Value};
use serde_json::{Value as Json, json};

use crate::design::{
    Design, IndexId, KeyBound, KeyCase, Pattern, Period, Read, SoftDelete, SortRange, Timing,
};
use crate::expression::{Expr, Formula, Origin, Predicate, Reading};
use crate::template::{Format, Part, Template};
use crate::time::TimeForm;
use crate::types::{AttributeType, Bounds, Count, SetOf, Shape, TextFormat};

pub(super) fn list(forms: impl Iterator<Item = Json>) -> Json {
    Json::Array(forms.collect())
}

/// In an order that does not depend on the file.
fn sorted<'t>(texts: impl Iterator<Item = &'t String>) -> Json {
    let mut texts: Vec<_> = texts.collect();
    texts.sort();
    json!(texts)
}

pub(super) fn template(template: &Template) -> Json {
    list(template.parts.iter().map(|part| match part {
        Part::Text(text) => json!(text),
        Part::Value(hole) => {
            let written = match &hole.format {
                Format::Plain => json!(null),
                Format::Padded { width } => json!(["padded", width]),
                Format::Decimal { width, decimals } => json!(["decimal", width, decimals]),
                Format::Time { written, stored } => json!(["time", written, time(*stored)]),
            };
            json!([expr(&hole.value), written])
        }
    }))
}

pub(super) fn key_cases(cases: &[KeyCase]) -> Json {
    list(cases.iter().map(|case| {
        let when = case.when.as_ref().map(predicate);
        json!([when, template(&case.is)])
    }))
}

pub(super) fn formula(formula: &Formula) -> Json {
    list(formula.cases.iter().map(|case| {
        let when = case.when.as_ref().map(predicate);
        json!([when, expr(&case.is)])
    }))
}

fn expr(value: &Expr) -> Json {
    let all = |arguments: &[Expr]| list(arguments.iter().map(expr));
    match value {
        Expr::Literal(literal) => json!(["literal", stored(literal)]),
        Expr::Path(place) => json!(["path", path(place)]),
        Expr::Negative(inner) => json!(["negative", expr(inner)]),
        Expr::Plus(left, right) => json!(["plus", expr(left), expr(right)]),
        Expr::Minus(left, right) => json!(["minus", expr(left), expr(right)]),
        Expr::Call(function, arguments) => json!(["call", function.word(), all(arguments)]),
        Expr::First(choices) => json!(["first", all(choices)]),
        Expr::Time(inner, form) => json!(["time", expr(inner), time(*form)]),
        Expr::Text(text) => json!(["text", template(text)]),
    }
}

pub(super) fn path(path: &Path) -> Json {
    let steps = path.steps.iter().map(|step| match step {
        Step::Field(name) => json!(name.as_str()),
        Step::Index(index) => json!(index),
    });
    list(std::iter::once(json!(path.root.as_str())).chain(steps))
}

pub(super) fn predicate(predicate: &Predicate) -> Json {
    condition(&predicate.tree)
}

pub(super) fn condition(tree: &Condition) -> Json {
    let all = |parts: &[Condition]| list(parts.iter().map(condition));
    match tree {
        Condition::All(parts) => json!(["and", all(parts)]),
        Condition::Any(parts) => json!(["or", all(parts)]),
        Condition::Not(inner) => json!(["not", condition(inner)]),
        Condition::Compare(left, comparator, right) => {
            json!([comparator.symbol(), operand(left), operand(right)])
        }
        Condition::Between(value, low, high) => {
            json!(["between", operand(value), operand(low), operand(high)])
        }
        Condition::In(value, choices) => {
            json!(["in", operand(value), list(choices.iter().map(operand))])
        }
        Condition::Exists(place) => json!(["attribute_exists", path(place)]),
        Condition::NotExists(place) => json!(["attribute_not_exists", path(place)]),
        Condition::HasType(place, kind) => json!(["attribute_type", path(place), kind.letters()]),
        Condition::BeginsWith(value, prefix) => {
            json!(["begins_with", operand(value), operand(prefix)])
        }
        Condition::Contains(value, element) => {
            json!(["contains", operand(value), operand(element)])
        }
    }
}

fn operand(operand: &Operand) -> Json {
    match operand {
        Operand::Path(place) => json!(["path", path(place)]),
        Operand::Value(value, _) => json!(["value", stored(value)]),
        Operand::Size(place) => json!(["size", path(place)]),
    }
}

/// A value with DynamoDB's letters for its type.
pub(super) fn stored(value: &Value) -> Json {
    let content = match value {
        Value::S(text) => json!(text),
        Value::N(number) => json!(number.to_string()),
        Value::B(bytes) => json!(bytes),
        Value::Bool(truth) => json!(truth),
        Value::Null => json!(null),
        Value::L(elements) => list(elements.iter().map(stored)),
        Value::M(inner) => map(inner),
        Value::Ss(texts) => json!(texts),
        Value::Ns(numbers) => list(numbers.iter().map(|number| json!(number.to_string()))),
        Value::Bs(all) => json!(all),
    };
    json!([value.kind().letters(), content])
}

pub(super) fn map(map: &Map) -> Json {
    let entries = map.iter();
    list(entries.map(|(name, value)| json!([name.as_str(), stored(value)])))
}

pub(super) fn reading(reading: &Reading) -> Json {
    let origin = match &reading.origin {
        Origin::Item => json!("item"),
        Origin::Old => json!("old"),
        Origin::Now => json!("now"),
        Origin::Caller => json!("caller"),
        Origin::Parameter(name) => json!(["parameter", name]),
        Origin::Element(name) => json!(["element", name]),
    };
    let hops = list(reading.hops.iter().map(|hop| json!(hop.name)));
    json!([origin, hops, reading.attribute, path(&reading.path)])
}

pub(super) fn timing(timing: &Timing) -> Json {
    match timing {
        Timing::Always => json!("always"),
        Timing::Ref => json!("ref"),
        Timing::Create => json!("create"),
        Timing::Write => json!("write"),
        Timing::Once(when) => json!(["once", predicate(when)]),
    }
}

pub(super) fn period(period: Period) -> &'static str {
    match period {
        Period::Day => "day",
        Period::Month => "month",
    }
}

pub(super) fn soft_delete(soft_delete: &SoftDelete) -> Json {
    match soft_delete {
        SoftDelete::Flag(attribute) => json!(["flag", attribute]),
        SoftDelete::Time(attribute) => json!(["time", attribute]),
        // What a restore writes is a matter of that write.
        SoftDelete::Value {
            attribute, deleted, ..
        } => json!(["value", attribute, stored(deleted)]),
    }
}

/// What a pattern finds, for refs that follow it.
pub(super) fn pattern(design: &Design, pattern: &Pattern) -> Json {
    let indexes = &design[pattern.table].indexes;
    let index = |index: IndexId| &indexes[index.index()].name;
    let bound = |bound: &KeyBound| json!([bound.attribute, template(&bound.value)]);
    let read = match &pattern.read {
        Read::Get(key) => json!(["get", template(&key.partition), template(&key.sort)]),
        Read::Query(query) => {
            let sort = match &query.sort {
                SortRange::All => json!("all"),
                SortRange::Equals(one) => json!(["=", bound(one)]),
                SortRange::BeginsWith(one) => json!(["begins_with", bound(one)]),
                SortRange::Compared(one, comparator) => json!([comparator.symbol(), bound(one)]),
                SortRange::Between(one, two) => json!(["between", bound(one), bound(two)]),
            };
            let index = query.index.map(index);
            json!(["query", index, bound(&query.partition), sort])
        }
        Read::Scan { index: of } => json!(["scan", of.map(index)]),
    };
    let sort = pattern.sort.iter();
    let sort = sort.map(|order| json!([order.attribute, order.descending]));
    json!([
        read,
        pattern.filter.as_ref().map(predicate),
        list(pattern.texts.iter().map(expr)),
        pattern.follow.as_ref().map(|follow| &follow.name),
        list(sort),
        pattern.descending,
        pattern.with_deleted,
        pattern.with_expired,
    ])
}

pub(super) fn kind(kind: &AttributeType) -> Json {
    match kind {
        AttributeType::String(string) => json!([
            "string",
            count(string.length),
            string.pattern.as_ref().map(|pattern| pattern.as_str()),
            string.format.map(text_format),
        ]),
        AttributeType::Enum(names) => json!(["enum", sorted(names.iter())]),
        AttributeType::State(states) => {
            json!(["state", states.names.first(), sorted(states.names.iter())])
        }
        AttributeType::Ulid => json!(["ulid"]),
        AttributeType::Uuid => json!(["uuid"]),
        AttributeType::Id => json!(["id"]),
        AttributeType::Time(form) => json!(["time", time(*form)]),
        AttributeType::Expiry => json!(["expiry"]),
        AttributeType::Bool => json!(["bool"]),
        AttributeType::Number(range) => json!(["number", bounds(range)]),
        AttributeType::Int(range) => json!(["int", bounds(range)]),
        AttributeType::Counter => json!(["counter"]),
        AttributeType::Version => json!(["version"]),
        AttributeType::List {
            element,
            count: length,
        } => json!(["list", self::kind(element), count(*length)]),
        AttributeType::Set(SetOf::Strings) => json!(["set", "strings"]),
        AttributeType::Set(SetOf::Numbers) => json!(["set", "numbers"]),
        AttributeType::Set(SetOf::Binaries) => json!(["set", "binaries"]),
        AttributeType::Binary => json!(["binary"]),
        // What is stored is a text, whoever made it: a design may begin to keep accounts in it.
        AttributeType::Password => self::kind(&AttributeType::string()),
        AttributeType::Map => json!(["map"]),
        // Its fields are a declaration of their own.
        AttributeType::Shape(shape) => json!(["shape", shape.name]),
        AttributeType::Any => json!(["any"]),
    }
}

pub(super) fn shape(shape: &Shape) -> Json {
    let mut fields: Vec<_> = shape.fields.iter().collect();
    fields.sort_by(|one, other| one.name.cmp(&other.name));
    let fields = fields.into_iter();
    let fields = fields.map(|one| json!([one.name, kind(&one.kind), one.optional, one.file_in]));
    json!(["shape", shape.open, list(fields)])
}

fn count(count: Count) -> Json {
    json!([count.min, count.max])
}

fn bounds(bounds: &Bounds) -> Json {
    let text = |number: &partita_core::Number| number.to_string();
    let mut choices: Vec<_> = bounds.choices.iter().collect();
    choices.sort();
    json!([
        bounds.min.as_ref().map(text),
        bounds.above_min,
        bounds.max.as_ref().map(text),
        list(choices.into_iter().map(|number| json!(text(number)))),
    ])
}

fn time(form: TimeForm) -> &'static str {
    match form {
        TimeForm::Timestamp => "timestamp",
        TimeForm::Date => "date",
        TimeForm::Epoch => "epoch",
        TimeForm::EpochMillis => "epoch-ms",
    }
}

fn text_format(format: TextFormat) -> &'static str {
    match format {
        TextFormat::Email => "email",
        TextFormat::Url => "url",
    }
}
