//! Conditions: names resolved, types compared.

use partita_core::expression::{Bindings, Comparator, Condition, Operand, Path, Span};
use partita_core::{Type, Value};

use crate::check::resolve::names::Names;
use crate::check::resolve::outcome;
use crate::codes::Code;
use crate::document::Text;
use crate::expression::{Predicate, Reading};
use crate::types::AttributeType;

/// Reads a condition over names; `None` after a report.
pub(crate) fn check(text: &Text, names: &Names<'_>) -> Option<Predicate> {
    let place = names.record.map_or("", |record| &record.place);
    check_at(place, text, names)
}

/// As [`check`], for a condition that does not belong to the record whose names it uses.
pub(crate) fn check_at(place: &str, text: &Text, names: &Names<'_>) -> Option<Predicate> {
    let tree = parse(text)?;
    let predicate = resolve(tree, text, names)?;
    outcome::check(&predicate, text, place, names);
    Some(predicate)
}

/// Parses a condition; `None` after a report.
pub(crate) fn parse(text: &Text) -> Option<Condition> {
    match Condition::parse(text.as_str(), &Bindings::Literals) {
        Ok(condition) => Some(condition),
        Err(error) => {
            let span = text.locate(error.span);
            text.report(Code::ConditionSyntax, span, error.message);
            None
        }
    }
}

/// Resolves the names of a condition; `None` after a report, also one elsewhere.
pub(crate) fn resolve(tree: Condition, text: &Text, names: &Names<'_>) -> Option<Predicate> {
    let mut checker = Checker {
        text,
        names,
        reads: Vec::new(),
        is_good: true,
    };
    let tree = checker.condition(tree);
    let reads = checker.reads;
    checker.is_good.then(|| Predicate {
        tree,
        reads,
        text: text.as_str().trim().to_owned(),
    })
}

/// Whether the condition can hold only while the attribute exists.
pub(crate) fn implies_existence(condition: &Condition, attribute: &str) -> bool {
    let is = |path: &Path| path.to_string() == attribute;
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
    /// A literal.
    Literal(Value, Span),
    /// Values of a type; the name is for messages.
    Kind(AttributeType, String),
    /// Nothing.
    Nothing,
}

struct Checker<'c, 'w> {
    text: &'c Text,
    names: &'c Names<'w>,
    reads: Vec<Reading>,
    is_good: bool,
}

impl Checker<'_, '_> {
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

    /// The path with the names under which attributes are stored.
    fn path(&mut self, path: Path) -> Path {
        let span = self.text.locate(path.span);
        match self.names.resolve(&path, span) {
            Some(reading) => {
                let path = reading.path.clone();
                if !self.reads.contains(&reading) {
                    self.reads.push(reading);
                }
                path
            }
            None => {
                self.is_good = false;
                path
            }
        }
    }

    fn known(&self, operand: &Operand) -> Known {
        match operand {
            Operand::Value(value, span) => Known::Literal(value.clone(), *span),
            Operand::Size(path) => Known::Kind(
                AttributeType::Number(Default::default()),
                format!("size({path})"),
            ),
            Operand::Path(path) => {
                let found = self.reads.iter().find(|reading| reading.path == *path);
                match found.map(|reading| reading.kind.clone()) {
                    Some(AttributeType::Any) | None => Known::Nothing,
                    Some(kind) => Known::Kind(kind, path.to_string()),
                }
            }
        }
    }

    /// Reports two sides that can never be equal, or never be ordered.
    fn comparable(&mut self, left: &Operand, right: &Operand, is_equality: bool) {
        let (span, message, help) = match (self.known(left), self.known(right)) {
            (Known::Kind(kind, name), Known::Literal(value, span))
            | (Known::Literal(value, span), Known::Kind(kind, name)) => {
                let fits = if is_equality {
                    kind.check(&value).is_ok() || value == Value::Null
                } else {
                    // `CreatedAt > '2026'` compares with the beginning of a time.
                    kind.stored_as() == Some(value.kind())
                };
                if fits {
                    return;
                }
                let message = format!("`{name}` is never this: it is {}", kind.noun());
                (self.text.locate(span), message, self.meant(&kind, &value))
            }
            (Known::Kind(one, left_name), Known::Kind(two, right_name))
                if differ(one.stored_as(), two.stored_as()) =>
            {
                let (one, two) = (one.noun(), two.noun());
                let message = format!("`{left_name}` is {one}, but `{right_name}` is {two}");
                (self.operand_span(right), message, None)
            }
            _ => return,
        };
        let finding = self.text.report(Code::ComparisonType, span, message);
        if let Some(help) = help {
            finding.help(help);
        }
        self.is_good = false;
    }

    /// The word that was probably meant.
    fn meant(&self, kind: &AttributeType, value: &Value) -> Option<String> {
        let words = kind.words().filter(|_| kind.stored_as() == Some(Type::S))?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let nearest = crate::spelling::nearest(value.as_str()?, words.iter().copied());
        Some(match nearest {
            Some(nearest) => format!("did you mean `'{nearest}'`?"),
            None => format!("it is one of {}", crate::spelling::list(&words)),
        })
    }

    fn operand_span(&self, operand: &Operand) -> Span {
        match operand {
            Operand::Path(path) | Operand::Size(path) => self.text.locate(path.span),
            Operand::Value(_, span) => self.text.locate(*span),
        }
    }
}

fn differ(one: Option<Type>, two: Option<Type>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => one != two,
        _ => false,
    }
}
