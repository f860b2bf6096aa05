//! What the rules say: of an item, and of what is known before it is read.
//!
//! A rule is decided where the rows are, by the evaluation that a write or a read makes anyway.

use partita_core::{Map, Value};
use partita_design::design::{Access, Action, AttributeRule, Pattern, Record, Rule, Rules};
use partita_design::expression::Predicate;
use serde::{Deserialize, Serialize};

use super::Request;
use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::evaluate::{Context, ItemScope};
use crate::operation::Caller;
use crate::planner::Planner;

/// What a rule is asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Asked<'a> {
    Access(Access),
    Action(&'a Action),
    /// A row that is found by a pattern, which has this rule.
    Finding(&'a Rule),
}

impl<'a> Asked<'a> {
    pub(crate) fn rule<'r>(self, rules: &'r Rules) -> &'r Rule
    where
        'a: 'r,
    {
        match self {
            Asked::Finding(rule) => rule,
            Asked::Access(access) => rules.get(access),
            Asked::Action(action) => rules.action(action.id),
        }
    }

    /// What rules call it.
    pub(crate) fn word(self) -> &'a str {
        match self {
            Asked::Access(access) => access.word(),
            Asked::Finding(_) => "find",
            Asked::Action(action) => &action.name,
        }
    }
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Yes.
    Allowed,
    /// No.
    Denied,
    /// It depends on an item that was not read, or that is not there.
    Open,
}

impl<'a> Planner<'a> {
    /// Refuses a write that the rules do not allow the caller, as far as the identity decides, and of
    /// a new item what is given so far.
    pub(crate) fn admit(&self, request: &Request<'a>) -> Result<(), PlanError> {
        match request {
            Request::Create { entity, given } => {
                // Of what is wrong by itself nothing is decided.
                let is_good = |name: &str, value: &Value| {
                    let attribute = entity.attribute(name);
                    attribute.is_some_and(|attribute| attribute.kind.check(value).is_ok())
                };
                let good = given.iter().filter(|(name, value)| is_good(name, value));
                let known: Map = good
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                let create = Asked::Access(Access::Create);
                self.demand_known(entity, &known, create).map(drop)
            }
            Request::Upsert { on, .. } => self.demand_upsert(on),
            Request::Change { on, asked, .. } => {
                self.demand_known(on.record, &on.identity, *asked).map(drop)
            }
            // The items decide, and which they are is not known yet.
            Request::Found { .. } | Request::Errands(_) => Ok(()),
        }
    }

    /// Refuses what the rules refuse whatever else an item has, and says what they decide so far.
    pub(crate) fn demand_known(
        &self,
        record: &'a Record,
        known: &Map,
        asked: Asked<'_>,
    ) -> Result<Verdict, PlanError> {
        let scope = self.unguarded(record, known).known_so_far();
        scope.demand_early(asked)?;
        Ok(scope.verdict(asked))
    }
}

impl ItemScope<'_, '_> {
    /// What the record's rule says of this.
    pub(crate) fn verdict(&self, asked: Asked<'_>) -> Verdict {
        self.decide(asked.rule(&self.record.rules))
    }

    pub(crate) fn decide(&self, rule: &Rule) -> Verdict {
        let signed_in = self.context.caller.id.is_some();
        match rule {
            Rule::Public => Verdict::Allowed,
            Rule::SignedIn if signed_in => Verdict::Allowed,
            Rule::SignedIn | Rule::Never => Verdict::Denied,
            Rule::When(rule) => match rule.tree.decide(&self.as_rules_see()) {
                Some(true) => Verdict::Allowed,
                Some(false) => Verdict::Denied,
                None if self.complete || (!signed_in && self.lacks_caller(rule)) => Verdict::Denied,
                None => Verdict::Open,
            },
        }
    }

    /// Whether nothing but the missing caller keeps the rule open: every attribute that it reads
    /// is known.
    fn lacks_caller(&self, rule: &Predicate) -> bool {
        let design = &self.context.blueprint.design;
        let mut all_known = true;
        rule.tree.visit_paths(&mut |path| {
            all_known &= rule.is_of_caller(design, path) || self.item.contains_key(&path.root);
        });
        all_known
    }

    /// Whether the caller may find the item by a pattern.
    pub(crate) fn is_found_by(&self, pattern: &Pattern) -> bool {
        let rule = pattern.rule(self.record.id);
        rule.is_none_or(|rule| self.decide(rule) == Verdict::Allowed)
    }

    /// Refuses what the rule certainly does not allow.
    pub(crate) fn demand(&self, asked: Asked<'_>) -> Result<(), PlanError> {
        let rule = asked.rule(&self.record.rules);
        match self.decide(rule) {
            Verdict::Denied => Err(self.refused(rule, asked.word().to_owned())),
            Verdict::Allowed | Verdict::Open => Ok(()),
        }
    }

    /// Refuses what is certain before the item is read. A refusal that depends on other items
    /// waits, because it would reveal that they exist.
    pub(crate) fn demand_early(&self, asked: Asked<'_>) -> Result<(), PlanError> {
        let Context {
            blueprint, caller, ..
        } = self.context;
        demand_token(blueprint, caller, self.record, asked)?;
        let (demanded, others) = self.with_others_read(|scope| scope.demand(asked));
        if others.is_empty() { demanded } else { Ok(()) }
    }

    pub(super) fn refused(&self, rule: &Rule, access: String) -> PlanError {
        refused(self.context.caller, self.record, rule, access)
    }

    /// Refuses what the rules for single attributes do not let the caller write.
    pub(crate) fn demand_attributes<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<(), PlanError> {
        for name in names {
            for rule in attribute_rules(self.record, true, name) {
                if self.decide(&rule.rule) == Verdict::Denied {
                    return Err(self.refused(&rule.rule, format!("write {name}")));
                }
            }
        }
        Ok(())
    }
}

/// Refuses a caller without a token what the rule allows only with one. The rule alone decides, so
/// that the refusal reveals nothing of any item.
pub(crate) fn demand_token(
    blueprint: &Blueprint,
    caller: &Caller,
    record: &Record,
    asked: Asked<'_>,
) -> Result<(), PlanError> {
    let rule = asked.rule(&record.rules);
    if caller.id.is_some() || !rule.needs_caller(&blueprint.design) {
        return Ok(());
    }
    Err(refused(caller, record, rule, asked.word().to_owned()))
}

/// The refusal of what a rule does not allow.
fn refused(caller: &Caller, record: &Record, rule: &Rule, access: String) -> PlanError {
    let entity = record.name.to_owned();
    if caller.id.is_none() && *rule != Rule::Never {
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
        afterwards: false,
    }
}

pub(crate) fn attribute_rules<'r>(
    record: &'r Record,
    writes: bool,
    name: &'r str,
) -> impl Iterator<Item = &'r AttributeRule> {
    let rules = record.rules.by_attribute.iter();
    rules.filter(move |rule| rule.writes == writes && rule.attributes.iter().any(|one| one == name))
}
