//! Who may do what, and how often.

use partita_core::Value;
use partita_core::expression::{Comparator, Condition, Operand, Path, Step};

use super::reference::CALLER;
use super::{ActionId, Attribute, AttributeId, Design, Record, RecordId, RefTarget};
use crate::expression::{Hop, Predicate};

/// What a caller does to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Create an item.
    Create,
    /// Read one, alone or in a list.
    Read,
    /// Change one.
    Update,
    /// Delete one.
    Delete,
    /// Restore a soft-deleted one.
    Restore,
    /// Remove a soft-deleted one for good.
    Purge,
}

impl Access {
    /// Every kind of access, with the word that rules use for it.
    pub const WORDS: [(Access, &'static str); 6] = [
        (Access::Create, "create"),
        (Access::Read, "read"),
        (Access::Update, "update"),
        (Access::Delete, "delete"),
        (Access::Restore, "restore"),
        (Access::Purge, "purge"),
    ];

    /// The word that rules use.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize].1
    }

    /// Whether the rule for everything is the rule for this. What is purged is gone for good, so
    /// nobody may purge unless a rule of that name says so.
    pub fn is_in_every(self) -> bool {
        self != Access::Purge
    }

    /// Whether the item may be gone afterwards.
    pub fn removes(self) -> bool {
        matches!(self, Access::Delete | Access::Purge)
    }
}

/// When a caller may do something.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Rule {
    /// Anybody, also without a token.
    Public,
    /// Anybody with a token.
    SignedIn,
    /// Nobody.
    #[default]
    Never,
    /// Whoever this holds for; `caller` is the caller's id, `caller.role` the role.
    When(Box<Predicate>),
}

impl Rule {
    /// The rule that is one word.
    pub(crate) fn find(word: &str) -> Option<Rule> {
        let words = [Rule::Public, Rule::SignedIn, Rule::Never];
        words.into_iter().find(|rule| rule.text() == word.trim())
    }

    /// The rule as the file has it.
    pub fn text(&self) -> &str {
        match self {
            Rule::Public => "public",
            Rule::SignedIn => "signed-in",
            Rule::Never => "never",
            Rule::When(rule) => &rule.text,
        }
    }

    /// Whether it allows nothing to somebody without a token, whatever the items are.
    pub fn needs_caller(&self, design: &Design) -> bool {
        match self {
            Rule::Public => false,
            Rule::SignedIn | Rule::Never => true,
            Rule::When(rule) => asks_caller(design, rule, &rule.tree),
        }
    }
}

/// Whether a condition cannot hold without a caller.
fn asks_caller(design: &Design, rule: &Predicate, condition: &Condition) -> bool {
    match condition {
        Condition::All(parts) => parts.iter().any(|part| asks_caller(design, rule, part)),
        Condition::Any(parts) => parts.iter().all(|part| asks_caller(design, rule, part)),
        // Without a caller, conditions on `caller` are undecided, negated ones too.
        other => {
            let mut is_asked = false;
            other.visit_paths(&mut |path| is_asked |= rule.is_of_caller(design, path));
            is_asked
        }
    }
}

impl Predicate {
    /// Whether a path of the condition begins with the caller, or goes through a record that is
    /// found by who calls.
    pub fn is_of_caller(&self, design: &Design, path: &Path) -> bool {
        let mut reads = self.reads.iter().filter(|one| one.path == *path);
        let is_own = |hop: &Hop| {
            let reference = design.reference(hop);
            reference.is_some_and(|one| one.targets.iter().all(RefTarget::is_callers))
        };
        path.root == CALLER || reads.any(|one| one.hops.iter().any(is_own))
    }
}

/// The word for every operation and action that has no rule of its own.
pub const EVERY: &str = "*";

/// The rules of an entity. What no rule allows is refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The rules in the order of the file; `"*"` is expanded to each kind of access that it is for.
    pub by_access: Vec<(Access, Rule)>,
    /// The rules of its actions.
    pub by_action: Vec<(ActionId, Rule)>,
    /// Rules for some attributes, beside those for the whole item.
    pub by_attribute: Vec<AttributeRule>,
    /// The lines of the rules, in the order of the file.
    pub lines: Vec<RuleLine>,
}

/// The line of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// What it is for, as the file has it: `update`, `*`, `write role plan`.
    pub words: String,
    /// The line of the file, from 1.
    pub line: usize,
}

/// A rule for some attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeRule {
    /// Whether it is for writing; otherwise for reading.
    pub writes: bool,
    /// The attributes.
    pub attributes: Vec<String>,
    /// Both as the file has it: `write role plan`.
    pub words: String,
    /// The rule.
    pub rule: Rule,
}

impl Rules {
    /// The rule for a kind of access.
    pub fn get(&self, access: Access) -> &Rule {
        let found = self.by_access.iter().find(|(of, _)| *of == access);
        found.map_or(&Rule::Never, |(_, rule)| rule)
    }

    /// The rule for an action.
    pub fn action(&self, action: ActionId) -> &Rule {
        let found = self.by_action.iter().find(|(of, _)| *of == action);
        found.map_or(&Rule::Never, |(_, rule)| rule)
    }

    /// The line of the rule for an operation, an action or some attributes: one of its own,
    /// or in that for everything.
    pub fn line(&self, words: &str) -> Option<&RuleLine> {
        let line = |words: &str| self.lines.iter().find(|line| line.words == words);
        let is_in_every = words != Access::Purge.word();
        line(words).or_else(|| line(EVERY).filter(|_| is_in_every))
    }

    /// Every rule.
    pub fn all(&self) -> impl Iterator<Item = &Rule> {
        let access = self.by_access.iter().map(|(_, rule)| rule);
        let actions = self.by_action.iter().map(|(_, rule)| rule);
        let attributes = self.by_attribute.iter().map(|one| &one.rule);
        access.chain(actions).chain(attributes)
    }
}

/// Who callers are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Callers {
    /// The entity whose items are the callers, if `[caller]` names one.
    pub entity: Option<RecordId>,
    /// The roles that there are; any if there are none.
    pub roles: Vec<String>,
    /// Where `caller.role` comes from.
    pub role: CallerSource,
    /// Where `caller.groups` comes from.
    pub groups: CallerSource,
    /// Who sees what belongs to no item: keys, and jobs. It is said of the caller alone.
    pub administrators: Rule,
}

impl Callers {
    /// The attributes of a caller's item that are the role and the groups.
    pub fn attributes<'r>(&self, users: &'r Record) -> impl Iterator<Item = &'r Attribute> {
        let is_of = self.entity == Some(users.id);
        let sources = [&self.role, &self.groups].into_iter();
        let names: Vec<&str> = sources
            .filter_map(|source| match source {
                CallerSource::Attribute(name) => Some(name.as_str()),
                CallerSource::Token => None,
            })
            .filter(|_| is_of)
            .collect();
        let found: Vec<&Attribute> = names
            .into_iter()
            .filter_map(|name| users.stored(name))
            .collect();
        found.into_iter()
    }

    /// The role or the group that `administrators` asks for, where it asks for one.
    pub fn administrator_mark(&self) -> Option<&str> {
        let Rule::When(rule) = &self.administrators else {
            return None;
        };
        let is_callers = |operand: &Operand, word: &str| {
            matches!(operand, Operand::Path(path)
                if path.root == CALLER && matches!(&path.steps[..], [Step::Field(name)] if *name == *word))
        };
        let (word, value) = match &rule.tree {
            Condition::Compare(path, Comparator::Equal, value) if is_callers(path, "role") => {
                (path, value)
            }
            Condition::Contains(path, value) if is_callers(path, "groups") => (path, value),
            _ => return None,
        };
        match (word, value) {
            (Operand::Path(_), Operand::Value(Value::S(text), _)) => Some(text),
            _ => None,
        }
    }
}

/// Where something about a caller comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallerSource {
    /// From the token.
    #[default]
    Token,
    /// From this attribute of the caller's item.
    Attribute(String),
}

/// How often a caller may do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The word in `[limit.X]`, which refusals name.
    pub name: String,
    /// What is limited: creating an item of this entity, or an action.
    pub of: LimitOf,
    /// How often.
    pub count: u64,
    /// In so many seconds.
    pub window_seconds: u64,
}

/// What a limit limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitOf {
    /// A kind of access to an entity.
    Access(Access, RecordId),
    /// An action.
    Action(ActionId),
}

/// The record that keeps the windows of limits, and its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRecord {
    /// The entity.
    pub entity: RecordId,
    /// Who is limited.
    pub caller: AttributeId,
    /// The name of the limit.
    pub limit: AttributeId,
    /// How often in this window.
    pub count: AttributeId,
    /// When the window began.
    pub start: AttributeId,
    /// When it ends.
    pub end: AttributeId,
}
