//! What a filter leaves of the rows that a pattern finds.
//!
//! Texts in a filter may have parameters, as those of the keys: `status = '{status}'`.

use std::borrow::Cow;

use partita_core::Value;
use partita_core::expression::{Comparator, Condition, Found, Operand, Path, Scope, Step};

use super::asked::{Asked, check_holes, check_unformatted, declared, hole_template, hole_value};
use super::found::Found as FoundRecords;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::declare::table::Discriminator;
use crate::check::resolve::names::{Meaning, Names};
use crate::check::resolve::{condition, outcome};
use crate::codes::Code;
use crate::design::pattern::TEXTS;
use crate::design::{Parameter, ParameterKind};
use crate::document::Text;
use crate::expression::{Expr, Origin, Predicate};
use crate::syntax::template::{self, Piece};
use crate::template::{Part, Template};
use crate::types::AttributeType;

/// A filter as it is written.
pub(super) struct Parsed<'d> {
    text: Option<&'d Text>,
    tree: Option<Condition>,
    /// The texts with parameters.
    texts: Vec<Expr>,
}

/// A filter whose names are resolved.
pub(super) struct Compiled {
    pub(super) predicate: Option<Predicate>,
    pub(super) texts: Vec<Expr>,
    pub(super) parameters: Vec<Parameter>,
}

/// Parses the filter of a pattern, or the condition of a scan; `None` after a report.
pub(super) fn parse<'d>(asked: &Asked<'d>, filter: Option<&'d Text>) -> Option<Parsed<'d>> {
    if let (Some(_), Some(filter)) = (asked.scan, filter) {
        let message = "a scan says all that it asks";
        filter
            .report_here(Code::NeedlessKey, message)
            .help("write it behind `scan`, with `AND`");
        return None;
    }
    let Some(text) = asked.scan.or(filter) else {
        return Some(Parsed {
            text: None,
            tree: None,
            texts: Vec::new(),
        });
    };
    let tree = condition::parse(text)?;
    let mut texts = Vec::new();
    let tree = with_texts(tree, text, &mut texts)?;
    Some(Parsed {
        text: Some(text),
        tree: Some(tree),
        texts,
    })
}

/// Puts paths to texts in the place of texts with parameters; `None` after a report.
fn with_texts(tree: Condition, text: &Text, texts: &mut Vec<Expr>) -> Option<Condition> {
    let mut operand = |operand: Operand| -> Option<Operand> {
        let Operand::Value(Value::S(written), span) = &operand else {
            return Some(operand);
        };
        if !written.contains('{') {
            return Some(operand);
        }
        let inside = text.unquote(span.start..span.end);
        let pieces = template::parse(&inside)?;
        check_holes(pieces.iter(), text)?;
        check_unformatted(&pieces, text)?;
        let path = Path {
            root: TEXTS.into(),
            steps: vec![Step::Index(texts.len())],
            span: *span,
        };
        texts.push(parameters_text(&pieces)?);
        Some(Operand::Path(path))
    };
    Some(match tree {
        Condition::Compare(left, comparator, right) => {
            Condition::Compare(operand(left)?, comparator, operand(right)?)
        }
        Condition::Between(value, low, high) => {
            Condition::Between(operand(value)?, operand(low)?, operand(high)?)
        }
        Condition::In(value, list) => {
            let value = operand(value)?;
            let list: Option<Vec<_>> = list.into_iter().map(operand).collect();
            Condition::In(value, list?)
        }
        Condition::BeginsWith(value, prefix) => {
            Condition::BeginsWith(operand(value)?, operand(prefix)?)
        }
        Condition::Contains(value, part) => Condition::Contains(operand(value)?, operand(part)?),
        Condition::All(parts) => Condition::All(each(parts, text, texts)?),
        Condition::Any(parts) => Condition::Any(each(parts, text, texts)?),
        Condition::Not(inner) => Condition::Not(Box::new(with_texts(*inner, text, texts)?)),
        other => other,
    })
}

fn each(parts: Vec<Condition>, text: &Text, texts: &mut Vec<Expr>) -> Option<Vec<Condition>> {
    let parts = parts.into_iter().map(|part| with_texts(part, text, texts));
    parts.collect()
}

fn parameters_text(pieces: &[Piece]) -> Option<Expr> {
    if let [Piece::Hole(hole)] = pieces {
        return hole_value(&hole.value);
    }
    hole_template(pieces).map(Expr::Text)
}

impl Parsed<'_> {
    /// Whether the filter lets no item of the record through, as far as its keys and its
    /// discriminator tell.
    pub(super) fn excludes(&self, record: &DeclaredRecord, symbols: &Symbols) -> bool {
        let Some(tree) = &self.tree else { return false };
        let known = Keys {
            record,
            symbols,
            texts: &self.texts,
        };
        decide(tree, &known) == Some(false)
    }
}

/// What is known of every item of a record.
struct Keys<'k> {
    record: &'k DeclaredRecord,
    symbols: &'k Symbols,
    texts: &'k [Expr],
}

impl Keys<'_> {
    fn constant(&self, name: &str) -> Option<Value> {
        let table = self.symbols.table(self.record);
        if let (Discriminator::Named(attribute), Some((value, _))) =
            (&table.discriminator, &self.record.discriminator)
            && attribute == name
        {
            return Some(Value::from(value.as_str()));
        }
        let key = self.key(name)?;
        key.only()?.template.constant().map(Value::S)
    }

    /// How a text with parameters always begins.
    fn beginning(&self, path: &Path) -> Option<String> {
        let [Step::Index(index)] = path.steps.as_slice() else {
            return None;
        };
        match self.texts.get(*index).filter(|_| path.root == TEXTS)? {
            Expr::Text(template) => match template.parts.first()? {
                Part::Text(text) => Some(text.clone()),
                Part::Value(_) => None,
            },
            _ => None,
        }
    }

    fn key(&self, name: &str) -> Option<&crate::check::declare::key::Key> {
        let [partition, sort] = self.symbols.table(self.record).keys.as_ref()?;
        match name {
            _ if name == partition => self.record.keys.partition.as_ref(),
            _ if name == sort => self.record.keys.sort.as_ref(),
            _ => None,
        }
    }
}

impl Scope for Keys<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        let value = self.constant(&path.root).filter(|_| path.steps.is_empty());
        match value {
            Some(value) => Found::Value(Cow::Owned(value)),
            None => Found::Unknown,
        }
    }
}

/// Whether a condition holds of the items of a record: of none, of all, or of some.
fn decide(tree: &Condition, keys: &Keys<'_>) -> Option<bool> {
    let key = |path: &Path| keys.key(&path.root).filter(|_| path.steps.is_empty());
    match tree {
        Condition::All(parts) => {
            let decided: Vec<_> = parts.iter().map(|part| decide(part, keys)).collect();
            if decided.contains(&Some(false)) {
                Some(false)
            } else {
                decided.iter().all(|one| *one == Some(true)).then_some(true)
            }
        }
        Condition::Any(parts) => {
            let decided: Vec<_> = parts.iter().map(|part| decide(part, keys)).collect();
            if decided.contains(&Some(true)) {
                Some(true)
            } else {
                decided
                    .iter()
                    .all(|one| *one == Some(false))
                    .then_some(false)
            }
        }
        Condition::Not(inner) => decide(inner, keys).map(|truth| !truth),
        Condition::Compare(
            Operand::Path(path),
            Comparator::Equal,
            Operand::Value(Value::S(text), _),
        ) if key(path).is_some() => {
            let literal = Template {
                parts: vec![Part::Text(text.clone())],
            };
            let literal = crate::check::declare::key_shape::KeyShape::new(&literal, |_| None);
            let may = key(path).is_some_and(|key| key.shapes().any(|one| literal.may_equal(one)));
            if may { tree.decide(keys) } else { Some(false) }
        }
        Condition::BeginsWith(Operand::Path(path), prefix) if key(path).is_some() => {
            let text = match prefix {
                Operand::Value(Value::S(text), _) => text.clone(),
                Operand::Path(path) => keys.beginning(path)?,
                Operand::Value(..) | Operand::Size(_) => return None,
            };
            let may =
                key(path).is_some_and(|key| key.shapes().any(|one| one.may_start_with(&text)));
            if may { tree.decide(keys) } else { Some(false) }
        }
        other => other.decide(keys),
    }
}

/// Resolves a filter against every record that is found; `None` after a report.
pub(super) fn check(
    place: &str,
    parsed: &Parsed<'_>,
    found: &FoundRecords<'_>,
    params: &[Parameter],
    symbols: &Symbols,
) -> Option<Compiled> {
    let (Some(text), Some(tree)) = (parsed.text, &parsed.tree) else {
        return Some(Compiled {
            predicate: None,
            texts: Vec::new(),
            parameters: Vec::new(),
        });
    };
    let mut predicate = None;
    let mut judged = Vec::new();
    for record in &found.records {
        let mut names = Names {
            with_caller: false,
            with_old: false,
            with_refs: false,
            ..Names::of(symbols, record)
        };
        for name in key_names(record, symbols) {
            names = names.with(&name, Meaning::value(AttributeType::string(), Origin::Item));
        }
        let element = Meaning::value(AttributeType::Any, Origin::Parameter(TEXTS.to_owned()));
        let names = names.with(TEXTS, element);
        let resolved = condition::resolve(tree.clone(), text, &names)?;
        judged.push((record.title(), outcome::judge(&resolved, &names)));
        predicate = Some(resolved);
    }
    outcome::check_all(&judged, text, place);
    let parameters = parameters(parsed, tree, found, params);
    Some(Compiled {
        predicate,
        texts: parsed.texts.clone(),
        parameters,
    })
}

/// The keys and the discriminator, which filters may name though they are no attributes.
fn key_names(record: &DeclaredRecord, symbols: &Symbols) -> Vec<String> {
    let table = symbols.table(record);
    let is_attribute = |name: &str| record.find(name).is_some();
    let names = table.reserved().chain(table.index_keys());
    names
        .filter(|name| !is_attribute(name))
        .map(str::to_owned)
        .collect()
}

/// The parameters of a filter, with the types of the attributes that they are compared with.
fn parameters(
    parsed: &Parsed<'_>,
    tree: &Condition,
    found: &FoundRecords<'_>,
    params: &[Parameter],
) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for (index, text) in parsed.texts.iter().enumerate() {
        let compared = compared_with(tree, index);
        let record = found.records.first();
        let kind = compared.and_then(|path| {
            let name = path.to_string();
            record.and_then(|record| record.find(&name)?.kind.clone())
        });
        text.visit_paths(&mut |path| {
            let name = path.to_string();
            let known = declared(params, &name).cloned();
            let kind = known.or(kind.clone()).unwrap_or_else(AttributeType::string);
            if parameters.iter().all(|parameter| parameter.name != name) {
                parameters.push(Parameter {
                    name,
                    kind: ParameterKind::Value(kind),
                    optional: false,
                });
            }
        });
    }
    parameters
}

/// The path that a text is compared with.
fn compared_with(tree: &Condition, index: usize) -> Option<&Path> {
    let is_text = |operand: &Operand| match operand {
        Operand::Path(path) => path.root == TEXTS && path.steps == [Step::Index(index)],
        _ => false,
    };
    match tree {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().find_map(|part| compared_with(part, index))
        }
        Condition::Not(inner) => compared_with(inner, index),
        Condition::Compare(Operand::Path(path), _, other) if is_text(other) => Some(path),
        Condition::Compare(other, _, Operand::Path(path)) if is_text(other) => Some(path),
        Condition::Between(Operand::Path(path), low, high) if is_text(low) || is_text(high) => {
            Some(path)
        }
        Condition::In(Operand::Path(path), list) if list.iter().any(is_text) => Some(path),
        _ => None,
    }
}
