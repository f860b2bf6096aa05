//! Updates: SET, REMOVE, ADD and DELETE.
//!
//! Every clause reads the item as it was before the update, so the order of clauses never
//! matters: `REMOVE l[0], l[1]` removes the first two elements.

use std::borrow::Cow;

use super::parser::Parsed;
use super::path_tree::PathTree;
use super::{Bindings, ExpressionError, Path, Step};
use crate::limits::ITEM_BYTES_MAX;
use crate::size::value_bytes;
use crate::{Item, Map, NumberError, Type, Value};

/// A whole update expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Update {
    /// `SET path = value`.
    pub set: Vec<(Path, SetValue)>,
    /// `REMOVE path`.
    pub remove: Vec<Path>,
    /// `ADD path value`: numbers are added, sets are joined.
    pub add: Vec<(Path, Value)>,
    /// `DELETE path value`: the members leave the set.
    pub delete: Vec<(Path, Value)>,
}

/// The right side of an assignment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SetValue {
    /// One operand.
    Is(SetOperand),
    /// `a + b`
    Plus(SetOperand, SetOperand),
    /// `a - b`
    Minus(SetOperand, SetOperand),
}

/// One operand of an assignment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SetOperand {
    /// The value at a path; it must exist.
    Path(Path),
    /// A value.
    Value(Value),
    /// `if_not_exists(path, otherwise)`.
    IfNotExists(Path, Box<SetOperand>),
    /// `list_append(a, b)`.
    ListAppend(Box<SetOperand>, Box<SetOperand>),
}

impl SetOperand {
    fn visit_paths<'a>(&'a self, visit: &mut impl FnMut(&'a Path)) {
        match self {
            SetOperand::Path(path) => visit(path),
            SetOperand::Value(_) => {}
            SetOperand::IfNotExists(path, otherwise) => {
                visit(path);
                otherwise.visit_paths(visit);
            }
            SetOperand::ListAppend(front, back) => {
                front.visit_paths(visit);
                back.visit_paths(visit);
            }
        }
    }
}

/// Why an update does not fit the item it is applied to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// A path's parent is missing or of the wrong type.
    #[error("The document path provided in the update expression is invalid for update")]
    InvalidPath,
    /// An operand of SET is missing.
    #[error("The provided expression refers to an attribute that does not exist in the item")]
    MissingOperand,
    /// An operand's type does not fit its operator.
    #[error("An operand in the update expression has an incorrect data type")]
    WrongType,
    /// What is written has more bytes than an item may have.
    #[error("Item size to update has exceeded the maximum allowed size")]
    TooLarge,
    /// Arithmetic out of range.
    #[error(transparent)]
    Number(#[from] NumberError),
}

impl Update {
    /// Reads an update.
    pub fn parse(text: &str, bindings: &Bindings<'_>) -> Parsed<Update> {
        bindings.update(text)
    }

    /// Adds `SET name = value`.
    #[must_use]
    pub fn setting(mut self, path: Path, value: impl Into<Value>) -> Self {
        let value = SetValue::Is(SetOperand::Value(value.into()));
        self.set.push((path, value));
        self
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.paths().next().is_none()
    }

    /// Whether all that the update does is to remove something. Amazon DynamoDB creates no item
    /// for such an update, although it does for one that does nothing.
    pub fn only_removes(&self) -> bool {
        self.set.is_empty() && self.add.is_empty() && !self.is_empty()
    }

    /// Every path that the update writes.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let set = self.set.iter().map(|(path, _)| path);
        let add = self.add.iter().map(|(path, _)| path);
        let delete = self.delete.iter().map(|(path, _)| path);
        set.chain(&self.remove).chain(add).chain(delete)
    }

    /// Calls `visit` with every path that the update writes or reads.
    pub fn visit_paths<'a>(&'a self, visit: &mut impl FnMut(&'a Path)) {
        self.paths().for_each(&mut *visit);
        for (_, value) in &self.set {
            match value {
                SetValue::Is(operand) => operand.visit_paths(visit),
                SetValue::Plus(left, right) | SetValue::Minus(left, right) => {
                    left.visit_paths(visit);
                    right.visit_paths(visit);
                }
            }
        }
    }

    /// What can be wrong without an item: two paths that touch each other.
    pub fn check(&self) -> Result<(), ExpressionError> {
        let paths: Vec<_> = self.paths().collect();
        let mut tree = PathTree::default();
        // From the last to the first, as DynamoDB does.
        paths
            .into_iter()
            .rev()
            .try_for_each(|path| tree.insert(path))
    }

    /// Applies the update; on an error the item is as it was.
    pub fn apply(&self, item: &mut Item) -> Result<(), UpdateError> {
        let before = &*item;
        let mut writes = Writes::default();
        let mut removals: Vec<_> = self.remove.iter().collect();
        for (path, value) in &self.set {
            writes.add(path, value.evaluate(before))?;
        }
        for (path, value) in &self.add {
            writes.add(path, sum(path.find(before), value))?;
        }
        for (path, value) in &self.delete {
            match difference(path.find(before), value)? {
                Some(rest) => writes.add(path, Ok(Cow::Owned(rest)))?,
                None => removals.push(path),
            }
        }
        let mut writes = writes.finish()?;
        let mut after = before.clone();
        // From the front of a list to its end, so that elements beyond the end arrive in order.
        writes.sort_by(|(one, _), (two, _)| one.steps.cmp(&two.steps));
        for (path, value) in writes {
            write(&mut after, path, value)?;
        }
        // From the end to the front, so that the positions of earlier elements stay true.
        removals.sort_by(|one, two| two.steps.cmp(&one.steps));
        for path in removals {
            erase(&mut after, path)?;
        }
        *item = after;
        Ok(())
    }
}

/// The values that an update writes. All of them are in the item that it leaves, so that no more is
/// kept than an item may have.
#[derive(Default)]
struct Writes<'u> {
    values: Vec<(&'u Path, Value)>,
    bytes: usize,
}

impl<'u> Writes<'u> {
    /// Keeps a value. One that is too large is refused at the end, because every other mistake is
    /// reported before it.
    fn add(
        &mut self,
        path: &'u Path,
        value: Result<Cow<'_, Value>, UpdateError>,
    ) -> Result<(), UpdateError> {
        let value = match value {
            Err(UpdateError::TooLarge) => {
                self.bytes = usize::MAX;
                return Ok(());
            }
            value => value?,
        };
        self.bytes = self.bytes.saturating_add(value_bytes(&value));
        if self.bytes <= ITEM_BYTES_MAX {
            self.values.push((path, value.into_owned()));
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<(&'u Path, Value)>, UpdateError> {
        if self.bytes > ITEM_BYTES_MAX {
            return Err(UpdateError::TooLarge);
        }
        Ok(self.values)
    }
}

impl SetValue {
    fn evaluate<'v>(&'v self, item: &'v Map) -> Result<Cow<'v, Value>, UpdateError> {
        let number = |operand: &SetOperand| match &*operand.evaluate(item)? {
            Value::N(number) => Ok(*number),
            _ => Err(UpdateError::WrongType),
        };
        let sum = match self {
            SetValue::Is(operand) => return operand.evaluate(item),
            SetValue::Plus(left, right) => {
                number(left)?.checked_add(number(right)?).map_err(of_sum)?
            }
            SetValue::Minus(left, right) => {
                number(left)?.checked_sub(number(right)?).map_err(of_sum)?
            }
        };
        Ok(Cow::Owned(Value::N(sum)))
    }
}

impl SetOperand {
    fn evaluate<'v>(&'v self, item: &'v Map) -> Result<Cow<'v, Value>, UpdateError> {
        match self {
            SetOperand::Path(path) => {
                let found = path.find(item).map(Cow::Borrowed);
                found.ok_or(UpdateError::MissingOperand)
            }
            SetOperand::Value(value) => Ok(Cow::Borrowed(value)),
            SetOperand::IfNotExists(path, otherwise) => match path.find(item) {
                Some(value) => Ok(Cow::Borrowed(value)),
                None => otherwise.evaluate(item),
            },
            SetOperand::ListAppend(front, back) => {
                append(front.evaluate(item)?, back.evaluate(item)?)
            }
        }
    }
}

/// The service calls a sum of too many digits an overflow, as ScyllaDB's test_number.py records.
fn of_sum(error: NumberError) -> NumberError {
    match error {
        NumberError::TooManyDigits => NumberError::Overflow,
        error => error,
    }
}

/// Both lists as one, unless that is larger than an item.
fn append<'v>(front: Cow<'_, Value>, back: Cow<'_, Value>) -> Result<Cow<'v, Value>, UpdateError> {
    if front.kind() != Type::L || back.kind() != Type::L {
        return Err(UpdateError::WrongType);
    }
    if value_bytes(&front) + value_bytes(&back) > ITEM_BYTES_MAX {
        return Err(UpdateError::TooLarge);
    }
    match (front.into_owned(), back.into_owned()) {
        (Value::L(mut front), Value::L(back)) => {
            front.extend(back);
            Ok(Cow::Owned(Value::L(front)))
        }
        _ => Err(UpdateError::WrongType),
    }
}

/// ADD: a missing number counts as 0, a missing set as empty.
fn sum<'v>(old: Option<&Value>, value: &'v Value) -> Result<Cow<'v, Value>, UpdateError> {
    Ok(Cow::Owned(match (old, value) {
        (None, Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_)) => {
            return Ok(Cow::Borrowed(value));
        }
        (Some(Value::N(old)), Value::N(more)) => Value::N(old.checked_add(*more).map_err(of_sum)?),
        (Some(Value::Ss(old)), Value::Ss(more)) => Value::Ss(old | more),
        (Some(Value::Ns(old)), Value::Ns(more)) => Value::Ns(old | more),
        (Some(Value::Bs(old)), Value::Bs(more)) => Value::Bs(old | more),
        _ => return Err(UpdateError::WrongType),
    }))
}

/// DELETE: a set that loses its last member disappears.
fn difference(old: Option<&Value>, value: &Value) -> Result<Option<Value>, UpdateError> {
    let rest = match (old, value) {
        (None, Value::Ss(_) | Value::Ns(_) | Value::Bs(_)) => return Ok(None),
        (Some(Value::Ss(old)), Value::Ss(less)) => Value::Ss(old - less),
        (Some(Value::Ns(old)), Value::Ns(less)) => Value::Ns(old - less),
        (Some(Value::Bs(old)), Value::Bs(less)) => Value::Bs(old - less),
        _ => return Err(UpdateError::WrongType),
    };
    let is_empty = match &rest {
        Value::Ss(set) => set.is_empty(),
        Value::Ns(set) => set.is_empty(),
        Value::Bs(set) => set.is_empty(),
        _ => false,
    };
    Ok((!is_empty).then_some(rest))
}

/// The container that a path's last step leads into; `None` for a top-level attribute.
fn parent<'a>(item: &'a mut Map, path: &Path) -> Result<Option<&'a mut Value>, UpdateError> {
    let Some((_, way)) = path.steps.split_last() else {
        return Ok(None);
    };
    let mut value = item.get_mut(&path.root).ok_or(UpdateError::InvalidPath)?;
    for step in way {
        let inner = match (step, value) {
            (Step::Field(name), Value::M(map)) => map.get_mut(name),
            (Step::Index(index), Value::L(list)) => list.get_mut(*index),
            _ => None,
        };
        value = inner.ok_or(UpdateError::InvalidPath)?;
    }
    Ok(Some(value))
}

fn write(item: &mut Map, path: &Path, new: Value) -> Result<(), UpdateError> {
    match (parent(item, path)?, path.steps.last()) {
        (None, _) => {
            item.insert(path.root.clone(), new);
        }
        (Some(Value::M(map)), Some(Step::Field(name))) => {
            map.insert(name.clone(), new);
        }
        (Some(Value::L(list)), Some(Step::Index(index))) => match list.get_mut(*index) {
            Some(element) => *element = new,
            // Beyond the end means at the end.
            None => list.push(new),
        },
        _ => return Err(UpdateError::InvalidPath),
    }
    Ok(())
}

fn erase(item: &mut Map, path: &Path) -> Result<(), UpdateError> {
    match (parent(item, path)?, path.steps.last()) {
        (None, _) => {
            item.remove(&path.root);
        }
        (Some(Value::M(map)), Some(Step::Field(name))) => {
            map.remove(name);
        }
        (Some(Value::L(list)), Some(Step::Index(index))) => {
            if *index < list.len() {
                list.remove(*index);
            }
        }
        _ => return Err(UpdateError::InvalidPath),
    }
    Ok(())
}
