//! Updates: SET, REMOVE, ADD and DELETE.
//!
//! Every clause reads the item as it was before the update, so the order of clauses never
//! matters: `REMOVE l[0], l[1]` removes the first two elements.

use super::parser::Parsed;
use super::path_tree::PathTree;
use super::{Bindings, ExpressionError, Path, Step};
use crate::{Item, Map, NumberError, Value};

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
    /// What stands at a path; it must exist.
    Path(Path),
    /// A value.
    Value(Value),
    /// `if_not_exists(path, otherwise)`.
    IfNotExists(Path, Box<SetOperand>),
    /// `list_append(a, b)`.
    ListAppend(Box<SetOperand>, Box<SetOperand>),
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
        let mut writes = Vec::new();
        let mut removals: Vec<_> = self.remove.iter().collect();
        for (path, value) in &self.set {
            writes.push((path, value.evaluate(before)?));
        }
        for (path, value) in &self.add {
            writes.push((path, sum(path.find(before), value)?));
        }
        for (path, value) in &self.delete {
            match difference(path.find(before), value)? {
                Some(rest) => writes.push((path, rest)),
                None => removals.push(path),
            }
        }
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

impl SetValue {
    fn evaluate(&self, item: &Map) -> Result<Value, UpdateError> {
        let number = |operand: &SetOperand| match operand.evaluate(item)? {
            Value::N(number) => Ok(number),
            _ => Err(UpdateError::WrongType),
        };
        Ok(match self {
            SetValue::Is(operand) => operand.evaluate(item)?,
            SetValue::Plus(left, right) => Value::N(number(left)?.checked_add(number(right)?)?),
            SetValue::Minus(left, right) => Value::N(number(left)?.checked_sub(number(right)?)?),
        })
    }
}

impl SetOperand {
    fn evaluate(&self, item: &Map) -> Result<Value, UpdateError> {
        match self {
            SetOperand::Path(path) => path.find(item).cloned().ok_or(UpdateError::MissingOperand),
            SetOperand::Value(value) => Ok(value.clone()),
            SetOperand::IfNotExists(path, otherwise) => match path.find(item) {
                Some(value) => Ok(value.clone()),
                None => otherwise.evaluate(item),
            },
            SetOperand::ListAppend(front, back) => {
                match (front.evaluate(item)?, back.evaluate(item)?) {
                    (Value::L(mut front), Value::L(back)) => {
                        front.extend(back);
                        Ok(Value::L(front))
                    }
                    _ => Err(UpdateError::WrongType),
                }
            }
        }
    }
}

/// ADD: a missing number counts as 0, a missing set as empty.
fn sum(old: Option<&Value>, value: &Value) -> Result<Value, UpdateError> {
    match (old, value) {
        (None, Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_)) => Ok(value.clone()),
        (Some(Value::N(old)), Value::N(more)) => Ok(Value::N(old.checked_add(*more)?)),
        (Some(Value::Ss(old)), Value::Ss(more)) => Ok(Value::Ss(old | more)),
        (Some(Value::Ns(old)), Value::Ns(more)) => Ok(Value::Ns(old | more)),
        (Some(Value::Bs(old)), Value::Bs(more)) => Ok(Value::Bs(old | more)),
        _ => Err(UpdateError::WrongType),
    }
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
