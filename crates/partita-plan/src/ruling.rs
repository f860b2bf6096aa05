//! Whether a caller may do something, and which rule decides, without doing it.
//!
//! Rules are decided by the same evaluation as in a write or a read (`request::rules`); here they are
//! only asked, and the answer says where each is in the design.

mod write;

use partita_core::Map;
use partita_design::design::{Pattern, Record, Rule};
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::evaluate::ItemScope;
use crate::operation::{Caller, Operation};
use crate::partita::Partita;
use crate::planner::Planner;
use crate::request::rules::{Asked, Verdict, attribute_rules};
use crate::running::Running;

/// Whether a caller may do something, and what decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Whether the rules let the operation pass. Of a pattern: whether it may be asked at all.
    pub is_allowed: bool,
    /// The rules that were asked, the one for the operation first. Those for reading single
    /// attributes hide them, and do not refuse the item.
    pub rulings: Vec<Ruling>,
    /// The items that are decided on one by one: the rows of a pattern, or those that an action
    /// finds.
    pub rows: Vec<Row>,
}

/// One item of several.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The entity or view that it is.
    pub record: String,
    /// The attributes that identify it.
    pub identity: Map,
    /// The rules that were asked; the caller gets the item if all of them allow it.
    pub rulings: Vec<Ruling>,
}

/// One rule, asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// Whose rule it is. A view without rules follows its source's.
    pub record: String,
    /// What was asked: `update`, `approve`, `write title`.
    pub asked: String,
    /// What the rule says.
    pub verdict: Verdict,
    /// The rule; what none speaks of is denied.
    pub rule: Option<WrittenRule>,
}

/// A rule as the design has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenRule {
    /// The line of the file, from 1.
    pub line: usize,
    /// What it is for: `update`, `*`, `write role plan`.
    pub words: String,
    /// When it allows it: `authorId = caller`.
    pub text: String,
}

impl Decision {
    /// Every rule must allow it, for the operation and for each item.
    pub(crate) fn of_all(rulings: Vec<Ruling>, rows: Vec<Row>) -> Decision {
        Decision {
            is_allowed: rulings.iter().all(Ruling::is_allowed) && rows.iter().all(Row::is_allowed),
            rulings,
            rows,
        }
    }
}

impl Row {
    /// An item with what its rules say.
    pub(crate) fn new(record: &Record, item: &Map, rulings: Vec<Ruling>) -> Row {
        Row {
            record: record.name.to_owned(),
            identity: record.identity_of(item).unwrap_or_default(),
            rulings,
        }
    }

    /// Whether all rules allow it.
    pub fn is_allowed(&self) -> bool {
        self.rulings.iter().all(Ruling::is_allowed)
    }
}

impl Ruling {
    /// Whether the rule certainly allows it.
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allowed
    }
}

impl ItemScope<'_, '_> {
    /// What the record's rule says of this, and where the rule is in the design.
    pub(crate) fn ruling(&self, asked: Asked<'_>) -> Ruling {
        let word = asked.word();
        self.ruling_by(asked.rule(&self.record.rules), word, word.to_owned())
    }

    /// What the rule of a pattern says of finding this by it, where it has one.
    pub(crate) fn ruling_of_pattern(&self, pattern: &Pattern) -> Option<Ruling> {
        let (rule, line) = (pattern.rule(self.record.id)?, pattern.allow.as_ref()?.line);
        Some(Ruling {
            record: self.record.name.clone(),
            asked: "find".to_owned(),
            verdict: self.decide(rule),
            rule: Some(WrittenRule {
                line,
                words: "allow".to_owned(),
                text: rule.text().to_owned(),
            }),
        })
    }

    fn ruling_by(&self, rule: &Rule, words: &str, asked: String) -> Ruling {
        let line = self.record.rules.line(words);
        Ruling {
            record: self
                .context
                .blueprint
                .design
                .ruling(self.record)
                .name
                .clone(),
            asked,
            verdict: self.decide(rule),
            rule: line.map(|line| WrittenRule {
                line: line.line,
                words: line.words.clone(),
                text: rule.text().to_owned(),
            }),
        }
    }

    /// What the rules for writing an attribute say.
    pub(crate) fn write_rulings<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> impl Iterator<Item = Ruling> {
        names.flat_map(move |name| {
            let rules = attribute_rules(self.record, true, name);
            let rulings: Vec<Ruling> = rules
                .map(|rule| self.ruling_by(&rule.rule, &rule.words, format!("write {name}")))
                .collect();
            rulings
        })
    }

    /// What the rules for reading single attributes say.
    pub(crate) fn read_rulings(&self) -> impl Iterator<Item = Ruling> {
        let rules = self.record.rules.by_attribute.iter();
        let rules = rules.filter(|rule| !rule.writes);
        rules.map(move |rule| self.ruling_by(&rule.rule, &rule.words, rule.words.clone()))
    }
}

impl Partita {
    /// Says whether a caller may do something, and which rules decide. Nothing is changed.
    ///
    /// Only rules are asked: whether what is given is complete, and whether the item is in the right
    /// state, is for the operation itself. Where a rule depends on the item, it is read; without it
    /// there is no answer, but [`PlanError::NotFound`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # use std::sync::Arc;
    /// # use partita_plan::{Caller, Operation, Partita};
    /// # let (design, _) = partita_design::check(partita_design::shipped::find("stories").unwrap().source, &|_| None);
    /// # let store = Arc::new(partita_store::ModelStore::default());
    /// # let partita = Partita::open(design.unwrap(), store).await?;
    /// let delete = |user: &str| Operation::Delete {
    ///     entity: "Story".to_owned(),
    ///     identity: vec![user.to_owned(), "01JGFJJZ00000000000000DVNE".to_owned()],
    ///     version: None,
    /// };
    /// let decision = partita.can(&Caller::user("bob"), delete("ann")).await?;
    /// assert!(!decision.is_allowed);
    /// let rule = decision.rulings[0].rule.as_ref().unwrap();
    /// assert_eq!((rule.words.as_str(), rule.text.as_str()), ("delete", "userId = caller"));
    /// # Ok::<(), partita_plan::PlanError>(()) }).unwrap();
    /// ```
    pub fn can<'a>(&'a self, caller: &'a Caller, operation: Operation) -> Running<'a, Decision> {
        Box::pin(self.decide(caller, operation))
    }

    async fn decide(&self, caller: &Caller, operation: Operation) -> Result<Decision, PlanError> {
        if let Operation::Query {
            pattern,
            parameters,
            limit,
            ..
        } = &operation
        {
            let rows = self.rule_on_rows(caller, pattern, parameters, *limit);
            return rows.await;
        }
        let moment = self.moment();
        let mut reads = self.reads(&moment).with_whole_lists();
        if let Operation::Get {
            entity, identity, ..
        } = &operation
        {
            let on = self.named_item(entity, identity)?;
            let decision = self.runner.settle(&mut reads, |reads| {
                let context = self.context(caller, reads, &moment);
                Planner::new(context, &moment).rule_on_read(&on)
            });
            return decision.await;
        }
        let Some(request) = self.request(operation)? else {
            return Ok(Decision::of_all(Vec::new(), Vec::new()));
        };
        let decision = self.runner.settle(&mut reads, |reads| {
            let context = self.context(caller, reads, &moment);
            Planner::new(context, &moment).rule_on(&request)
        });
        decision.await
    }
}

#[cfg(test)]
mod tests;
