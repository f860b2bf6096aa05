//! Rules, decided where the rows are.

use std::borrow::Cow;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Map, Value};
use partita_design::design::{Access, Entity, Rule};

use crate::error::PlanError;
use crate::operation::Caller;

/// What a rule is decided on.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) attributes: &'a Map,
    /// Whether these are all attributes, or only those known before the item is read.
    pub(crate) complete: bool,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Denied,
    /// It depends on the item.
    Open,
}

impl Scope for Subject<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        if path.root == "caller" {
            return self.find_caller(path);
        }
        match self.attributes.find(path) {
            Found::Missing if !self.complete && !self.attributes.contains_key(&path.root) => {
                Found::Unknown
            }
            found => found,
        }
    }
}

impl Subject<'_> {
    /// Without a caller nothing is known of one, so that no comparison with it holds, `<>`
    /// included.
    fn find_caller(&self, path: &Path) -> Found<'_> {
        let text = match (&self.caller.id, path.steps.as_slice()) {
            (None, _) => return Found::Unknown,
            (Some(id), []) => Some(id),
            (Some(_), [Step::Field(name)]) if name == "role" => self.caller.role.as_ref(),
            _ => None,
        };
        match text {
            Some(text) => Found::Value(Cow::Owned(Value::S(text.clone()))),
            None => Found::Missing,
        }
    }

    /// What the entity's rule says of this access.
    pub(crate) fn verdict(&self, entity: &Entity, access: Access) -> Verdict {
        let signed_in = self.caller.id.is_some();
        match entity.rules.get(access) {
            Rule::Public => Verdict::Allowed,
            Rule::SignedIn if signed_in => Verdict::Allowed,
            Rule::SignedIn | Rule::Never => Verdict::Denied,
            Rule::When(rule) => match rule.tree.decide(self) {
                Some(true) => Verdict::Allowed,
                Some(false) => Verdict::Denied,
                None if self.complete || (!signed_in && self.needs_caller(entity, access)) => {
                    Verdict::Denied
                }
                None => Verdict::Open,
            },
        }
    }

    /// Whether nothing but the missing caller keeps the rule open: every attribute that it reads
    /// is known.
    fn needs_caller(&self, entity: &Entity, access: Access) -> bool {
        let Rule::When(rule) = entity.rules.get(access) else {
            return false;
        };
        let mut all_known = true;
        rule.tree.visit_paths(&mut |path| {
            all_known &= path.root == "caller" || self.attributes.contains_key(&path.root);
        });
        all_known
    }

    /// Refuses what the rule certainly does not allow.
    pub(crate) fn demand(&self, entity: &Entity, access: Access) -> Result<(), PlanError> {
        match self.verdict(entity, access) {
            Verdict::Denied => Err(self.refusal(entity, access)),
            Verdict::Allowed | Verdict::Open => Ok(()),
        }
    }

    fn refusal(&self, entity: &Entity, access: Access) -> PlanError {
        let rule = entity.rules.get(access);
        let access = access.word();
        let entity = entity.name.clone();
        if self.caller.id.is_none() && *rule != Rule::Never {
            return PlanError::Unauthenticated { access, entity };
        }
        let rule = match rule {
            Rule::When(rule) => rule.text.clone(),
            Rule::SignedIn => "signed-in".to_owned(),
            Rule::Public | Rule::Never => "never".to_owned(),
        };
        PlanError::Forbidden {
            access,
            entity,
            rule,
        }
    }
}

/// The attributes that a rule reads, which a write that it allowed is guarded by.
pub(crate) fn attributes_read(entity: &Entity, access: Access) -> Vec<&str> {
    let mut names = Vec::new();
    if let Rule::When(rule) = entity.rules.get(access) {
        rule.tree.visit_paths(&mut |path| {
            if path.root != "caller" {
                names.push(path.root.as_str());
            }
        });
    }
    names
}
