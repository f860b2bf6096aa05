//! PartiQL: statements with the trees that expressions have.

use std::collections::BTreeSet;

use super::bind::Binder;
use super::parser::{self, Parsed, Parser, RawSelect, RawStatement};
use super::path_tree::PathTree;
use super::syntax::Node;
use super::token::Dialect;
use super::{Condition, ExpressionError, Path, Span, Step, Update};
use crate::{Item, Value};

/// One statement of PartiQL, as DynamoDB knows them.
///
/// ```
/// use partita_core::Value;
/// use partita_core::expression::Statement;
///
/// let parameters = vec![Value::from("ann")];
/// let statement = Statement::parse(r#"SELECT title FROM "notes" WHERE pk = ?"#, parameters)?;
/// assert_eq!(statement.source().table, "notes");
/// # Ok::<(), partita_core::expression::ExpressionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Reads items.
    Select(Select),
    /// Asks whether there is an item; in transactions only.
    Exists(Select),
    /// Writes an item that must not be there.
    Insert {
        /// Where it is written.
        source: SelectSource,
        /// The item.
        item: Item,
    },
    /// Changes an item that must be there.
    Update {
        /// Where it is.
        source: SelectSource,
        /// What changes.
        update: Update,
        /// Its key, and what else must hold.
        condition: Option<Condition>,
        /// What is answered.
        returning: Option<Returning>,
    },
    /// Removes an item.
    Delete {
        /// Where it is.
        source: SelectSource,
        /// Its key, and what else must hold.
        condition: Option<Condition>,
        /// What is answered.
        returning: Option<Returning>,
    },
}

/// A read of a table or an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Where items are read.
    pub source: SelectSource,
    /// The names under which parts of the items are answered; all attributes without.
    pub columns: Option<Vec<(String, Path)>>,
    /// Which items.
    pub condition: Option<Condition>,
    /// Attributes by which the answer is sorted, and whether each descends.
    pub order: Vec<(String, bool)>,
}

/// A table, and perhaps one of its indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectSource {
    /// The table's name.
    pub table: String,
    /// The index's name.
    pub index: Option<String>,
}

/// What a write answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returning {
    /// The whole item, and not only what was modified.
    pub is_whole: bool,
    /// As it is after the write, and not before.
    pub is_new: bool,
}

impl Statement {
    /// Reads a statement. Each `?` takes the next of the parameters.
    ///
    /// # Errors
    ///
    /// Fails with DynamoDB's message.
    pub fn parse(text: &str, parameters: Vec<Value>) -> Result<Statement, ExpressionError> {
        let grammar = |parser: &mut Parser<'_>| parser::statement(parser, parameters);
        match Parser::new(text, Dialect::PartiQl).finish(grammar)? {
            RawStatement::Select(raw) => Ok(Statement::Select(select(raw)?)),
            RawStatement::Exists(raw) => Ok(Statement::Exists(select(raw)?)),
            RawStatement::Insert(source, item) => Ok(Statement::Insert { source, item }),
            RawStatement::Update(source, clauses, node, returning) => Ok(Statement::Update {
                source,
                update: binder().update(&clauses)?,
                condition: condition(node)?,
                returning,
            }),
            RawStatement::Delete(source, node, returning) => Ok(Statement::Delete {
                source,
                condition: condition(node)?,
                returning,
            }),
        }
    }

    /// The table or index that it is about.
    pub fn source(&self) -> &SelectSource {
        match self {
            Statement::Select(select) | Statement::Exists(select) => &select.source,
            Statement::Insert { source, .. }
            | Statement::Update { source, .. }
            | Statement::Delete { source, .. } => source,
        }
    }
}

fn binder() -> Binder<'static> {
    Binder::new(None, None)
}

/// The condition of a WHERE clause. Its operands are checked here, because the service refuses
/// them before it looks for the table.
fn condition(node: Option<Node>) -> Parsed<Option<Condition>> {
    let Some(node) = node else {
        return Ok(None);
    };
    let condition = binder().condition(&node)?;
    condition.check()?;
    Ok(Some(condition))
}

fn select(raw: RawSelect) -> Parsed<Select> {
    let columns = raw.columns.map(|columns| -> Parsed<_> {
        let mut names = BTreeSet::new();
        let mut tree = PathTree::default();
        let mut named = Vec::new();
        for column in &columns {
            let path = binder().path(column)?;
            let name = label(&path);
            if !names.insert(name.clone()) {
                let message = format!("Duplicate identifiers in select clause: {name}");
                return Err(ExpressionError::new(message, Span::default()));
            }
            tree.insert(&path)?;
            named.push((name, path));
        }
        Ok(named)
    });
    Ok(Select {
        source: raw.source,
        columns: columns.transpose()?,
        condition: condition(raw.condition)?,
        order: raw.order,
    })
}

/// The name under which what is at a path is answered: the last one, with the positions that
/// follow it.
fn label(path: &Path) -> String {
    let mut label = path.root.to_string();
    for step in &path.steps {
        match step {
            Step::Field(name) => label = name.to_string(),
            Step::Index(index) => label += &format!("[{index}]"),
        }
    }
    label
}
