//! What something is done for each of: the elements of a list, the items of a pattern.

use partita_core::expression::{Found, Scope as _};
use partita_core::{Map, Value};
use partita_design::design::{EachOver, Effect, PatternId, Record};
use partita_design::expression::Reading;
use sha2::{Digest as _, Sha256};

use super::effect::EffectCause;
use crate::error::PlanError;
use crate::evaluate::{Context, ItemScope, Known, ListedItem};
use crate::place::Address;
use crate::planner::Planner;
use crate::sidecar;

/// One element of an `each`.
pub(crate) enum Element<'a> {
    Value(Value),
    Item(ListedItem<'a>),
}

/// The elements that something was done for so far: of those that agree only the first counts.
#[derive(Default)]
pub(crate) struct DistinctElements {
    texts: Vec<String>,
    /// Where a job records those of the chunks before.
    partition: Option<String>,
    /// Those that are new to the job.
    pub(crate) marks: Vec<Address>,
}

impl DistinctElements {
    pub(crate) fn of_job(job: &str, task: usize) -> DistinctElements {
        DistinctElements {
            partition: Some(format!("DONE#{job}#{task}")),
            ..DistinctElements::default()
        }
    }

    /// Adds the element that an effect is evaluated for. Says whether it is the first of those that
    /// agree.
    pub(super) fn insert_element(
        &mut self,
        effect: &Effect,
        element: Option<&(&Record, Address)>,
        scope: &ItemScope<'_, '_>,
    ) -> bool {
        let text = match (&effect.distinct, element) {
            (Some(distinct), _) => {
                serde_json::to_string(&distinct.value(scope)).unwrap_or_default()
            }
            (None, Some((_, address))) if self.partition.is_some() => spelled_key(address),
            _ => return true,
        };
        self.insert(text, &scope.context)
    }

    /// Adds a text that elements agree in. Says whether it is new.
    pub(crate) fn insert(&mut self, text: String, context: &Context<'_>) -> bool {
        if self.texts.contains(&text) {
            return false;
        }
        let mark = self.partition.as_ref().map(|partition| {
            let digest = Sha256::digest(text.as_bytes());
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            sidecar::address(&context.blueprint.sidecar, partition, &digest)
        });
        self.texts.push(text);
        let Some(mark) = mark else {
            return true;
        };
        let is_new = !matches!(context.item(&mark), Known::Found(_));
        self.marks.extend(is_new.then_some(mark));
        is_new
    }
}

/// What distinguishes an item from others.
pub(crate) fn spelled_key(address: &Address) -> String {
    format!("{}\n{}", address.partition, address.sort)
}

impl<'a> Planner<'a> {
    /// The elements that an effect is done for; none where a job does it for them.
    pub(super) fn elements(
        &mut self,
        cause: EffectCause<'_, 'a>,
        over: &'a EachOver,
    ) -> Result<Vec<Element<'a>>, PlanError> {
        match over {
            EachOver::List { reading, .. } => {
                let list = self.values_for(cause, [("", &**reading)])?;
                let elements = list.values().flat_map(members);
                Ok(elements.map(Element::Value).collect())
            }
            EachOver::Pattern {
                pattern,
                parameters,
            } => {
                let readings = parameters.iter();
                let readings = readings.map(|(name, reading)| (name.as_str(), reading));
                let parameters = self.values_for(cause, readings)?;
                if self.defer_effect(cause, &parameters) {
                    return Ok(Vec::new());
                }
                self.items_of(*pattern, &parameters)
            }
        }
    }

    /// What the cause of an effect has at some paths, each under a name.
    fn values_for(
        &mut self,
        cause: EffectCause<'_, 'a>,
        readings: impl IntoIterator<Item = (&'a str, &'a Reading)>,
    ) -> Result<Map, PlanError> {
        let values = self.evaluate_cause(cause, |scope| {
            let mut values = Map::new();
            for (name, reading) in readings {
                if let Found::Value(value) = scope.find(&reading.path) {
                    values.insert(name, value.into_owned());
                }
            }
            values
        })?;
        Ok(values.unwrap_or_default())
    }

    /// The items of a pattern, if a plan can go through them.
    fn items_of(
        &mut self,
        pattern: PatternId,
        parameters: &Map,
    ) -> Result<Vec<Element<'a>>, PlanError> {
        let blueprint = self.context.blueprint;
        let pattern = &blueprint.design[pattern];
        let Some(listing) = blueprint.listing(pattern, parameters)? else {
            return Ok(Vec::new());
        };
        let Some(listed) = self.draft.list(&self.context, &listing) else {
            return Ok(Vec::new());
        };
        if listed.has_more {
            let what = format!("every item of `{}` is meant", pattern.name);
            return Err(PlanError::TooMuch { what });
        }
        let items = self.meant_among(pattern, parameters, &listed.rows)?;
        Ok(items.into_iter().map(Element::Item).collect())
    }
}

/// The members of a list or a set.
pub(super) fn members(value: &Value) -> impl Iterator<Item = Value> + use<> {
    let members: Vec<Value> = match value {
        Value::L(list) => list.clone(),
        Value::Ss(set) => set.iter().map(|text| Value::S(text.clone())).collect(),
        Value::Ns(set) => set.iter().map(|number| Value::N(*number)).collect(),
        _ => Vec::new(),
    };
    members.into_iter()
}
