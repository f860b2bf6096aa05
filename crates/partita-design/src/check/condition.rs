//! The conditions of rules and views: names resolved, types compared.

use partita_core::expression::{Bindings, Comparator, Condition, Operand, Path, Span, Step};
use partita_core::{Type, Value};

use super::entity::Scope;
use super::noun;
use crate::codes::Code;
use crate::diagnostic::Report;
use crate::document::Text;
use crate::types::AttributeType;

/// Reads a condition over the attributes of `scope`; `None` after a report. Without a scope,
/// because the view's source is unknown, it is only parsed. `caller` is known only where
/// `with_caller` is set.
pub(crate) fn check(
    text: &Text,
    scope: Option<&Scope>,
    with_caller: bool,
    report: &mut Report,
) -> Option<Condition> {
    let condition = parse(text, report)?;
    let scope = scope?;
    let mut checker = Checker {
        text,
        scope,
        with_caller,
        report,
        is_good: true,
    };
    let condition = checker.condition(condition);
    checker.is_good.then_some(condition)
}

fn parse(text: &Text, report: &mut Report) -> Option<Condition> {
    let error = match Condition::parse(text.as_str(), &Bindings::Literals) {
        Ok(condition) => return Some(condition),
        Err(error) => error,
    };
    let span = text.locate(error.span);
    match text.as_str().get(error.span.start..error.span.end) {
        Some("changed") => report.not_supported(span, "`changed`"),
        _ => {
            report.add(Code::ConditionSyntax, span, error.message);
        }
    }
    None
}

/// Whether the condition can hold only while the attribute exists.
pub(crate) fn implies_existence(condition: &Condition, attribute: &str) -> bool {
    let is = |path: &Path| path.root == attribute;
    match condition {
        Condition::All(parts) => parts.iter().any(|part| implies_existence(part, attribute)),
        Condition::Any(parts) => {
            !parts.is_empty() && parts.iter().all(|part| implies_existence(part, attribute))
        }
        Condition::Exists(path) | Condition::HasType(path, _) => is(path),
        Condition::Compare(Operand::Path(path), comparator, _) => {
            *comparator != Comparator::NotEqual && is(path)
        }
        Condition::Between(Operand::Path(path), ..)
        | Condition::In(Operand::Path(path), _)
        | Condition::BeginsWith(Operand::Path(path), _)
        | Condition::Contains(Operand::Path(path), _) => is(path),
        _ => false,
    }
}

/// What is known of an operand.
enum Known {
    /// A value that stands in the text.
    Literal(Value, Span),
    /// Values of a type; the name is for messages.
    Kind(AttributeType, String),
    /// Nothing.
    Nothing,
}

struct Checker<'c> {
    text: &'c Text,
    scope: &'c Scope,
    with_caller: bool,
    report: &'c mut Report,
    is_good: bool,
}

impl Checker<'_> {
    fn condition(&mut self, condition: Condition) -> Condition {
        match condition {
            Condition::All(parts) => Condition::All(self.each(parts)),
            Condition::Any(parts) => Condition::Any(self.each(parts)),
            Condition::Not(inner) => Condition::Not(Box::new(self.condition(*inner))),
            Condition::Compare(left, comparator, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                let is_equality = matches!(comparator, Comparator::Equal | Comparator::NotEqual);
                self.comparable(&left, &right, is_equality);
                Condition::Compare(left, comparator, right)
            }
            Condition::Between(value, low, high) => {
                let [value, low, high] = [value, low, high].map(|side| self.operand(side));
                self.comparable(&value, &low, false);
                self.comparable(&value, &high, false);
                Condition::Between(value, low, high)
            }
            Condition::In(value, list) => {
                let value = self.operand(value);
                let list: Vec<_> = list.into_iter().map(|side| self.operand(side)).collect();
                for side in &list {
                    self.comparable(&value, side, true);
                }
                Condition::In(value, list)
            }
            Condition::Exists(path) => Condition::Exists(self.path(path)),
            Condition::NotExists(path) => Condition::NotExists(self.path(path)),
            Condition::HasType(path, kind) => Condition::HasType(self.path(path), kind),
            Condition::BeginsWith(value, prefix) => {
                let (value, prefix) = (self.operand(value), self.operand(prefix));
                self.comparable(&value, &prefix, false);
                Condition::BeginsWith(value, prefix)
            }
            Condition::Contains(value, part) => {
                Condition::Contains(self.operand(value), self.operand(part))
            }
        }
    }

    fn each(&mut self, parts: Vec<Condition>) -> Vec<Condition> {
        parts.into_iter().map(|part| self.condition(part)).collect()
    }

    fn operand(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Path(path) => Operand::Path(self.path(path)),
            Operand::Size(path) => Operand::Size(self.path(path)),
            value => value,
        }
    }

    /// The path with the name under which its attribute is stored.
    fn path(&mut self, mut path: Path) -> Path {
        if path.root == "caller" && self.with_caller {
            self.caller(&path);
            return path;
        }
        let root = Span::new(path.span.start, path.span.start + path.root.len());
        let root = self.text.locate(root);
        if self.scope.refs.contains(&path.root) && self.scope.find(&path.root).is_none() {
            self.report
                .not_supported(root, "a path through a reference");
            self.is_good = false;
            return path;
        }
        match self.scope.resolve(&path.root, root, self.report) {
            None => self.is_good = false,
            Some(attribute) => {
                let has_parts = matches!(
                    attribute.kind,
                    None | Some(AttributeType::Any | AttributeType::List(_))
                );
                if !path.steps.is_empty() && !has_parts {
                    let message = format!("`{}` has no parts", path.root);
                    let span = self.text.locate(path.span);
                    self.report.add(Code::UnknownAttribute, span, message);
                    self.is_good = false;
                }
                path.root.clone_from(&attribute.name);
            }
        }
        path
    }

    fn caller(&mut self, path: &Path) {
        let span = self.text.locate(path.span);
        match path.steps.as_slice() {
            [] => return,
            [Step::Field(name)] if name == "role" => return,
            [Step::Field(name)] if name == "groups" => {
                self.report.not_supported(span, "`caller.groups`");
            }
            _ => {
                self.report
                    .add(
                        Code::UnknownAttribute,
                        span,
                        format!("there is no `{path}`"),
                    )
                    .help("write `caller` for the caller's id, or `caller.role`");
            }
        }
        self.is_good = false;
    }

    fn known(&self, operand: &Operand) -> Known {
        match operand {
            Operand::Value(value, span) => Known::Literal(value.clone(), *span),
            Operand::Size(path) => Known::Kind(AttributeType::Number, format!("size({path})")),
            Operand::Path(path) if path.root == "caller" && self.with_caller => {
                let text = AttributeType::String { min: 0, max: None };
                Known::Kind(text, path.to_string())
            }
            Operand::Path(path) if path.steps.is_empty() => match self.scope.kind(&path.root) {
                Some(AttributeType::Any) | None => Known::Nothing,
                Some(kind) => Known::Kind(kind, path.to_string()),
            },
            Operand::Path(_) => Known::Nothing,
        }
    }

    /// Reports two sides that can never be equal, or never be ordered.
    fn comparable(&mut self, left: &Operand, right: &Operand, is_equality: bool) {
        let (span, message) = match (self.known(left), self.known(right)) {
            (Known::Kind(kind, name), Known::Literal(value, span))
            | (Known::Literal(value, span), Known::Kind(kind, name)) => {
                let fits = match is_equality {
                    true => kind.check(&value).is_ok(),
                    // `CreatedAt > '2026'` compares with the beginning of a time.
                    false => stored_as(&kind) == value.kind(),
                };
                if fits {
                    return;
                }
                let message = format!("`{name}` is never this: it is {}", noun(&kind));
                (self.text.locate(span), message)
            }
            (Known::Kind(one, left_name), Known::Kind(two, right_name))
                if stored_as(&one) != stored_as(&two) =>
            {
                let (one, two) = (noun(&one), noun(&two));
                let message = format!("`{left_name}` is {one}, but `{right_name}` is {two}");
                (self.operand_span(right), message)
            }
            _ => return,
        };
        self.report.add(Code::ComparisonType, span, message);
        self.is_good = false;
    }

    fn operand_span(&self, operand: &Operand) -> Span {
        match operand {
            Operand::Path(path) | Operand::Size(path) => self.text.locate(path.span),
            Operand::Value(_, span) => self.text.locate(*span),
        }
    }
}

/// The DynamoDB type of an attribute's values. `Any` does not come here.
fn stored_as(kind: &AttributeType) -> Type {
    match kind {
        AttributeType::Bool => Type::Bool,
        AttributeType::Number => Type::N,
        AttributeType::List(_) => Type::L,
        _ => Type::S,
    }
}
