//! What the rules refuse whatever is given: asked before anybody reads what that is.

use partita_core::{Map, Value};
use partita_design::design::{Access, Record};

use super::Planner;
use super::request::Request;
use crate::access::Asked;
use crate::error::PlanError;

impl<'a> Planner<'a> {
    /// Refuses a write that the rules do not allow the caller, as far as the identity tells, and of
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
                self.demand_of(entity, &known, Asked::Access(Access::Create))
            }
            Request::Upsert { entity, on, .. } if entity.takes_identity() => self.demand_either(on),
            Request::Upsert { on, .. } => {
                self.demand_of(on.shape, &on.identity, Asked::Access(Access::Update))
            }
            Request::Change { on, change } => {
                self.demand_of(on.shape, &on.identity, change.asked())
            }
            // The items decide, and nobody knows yet which they are.
            Request::Found { .. } => Ok(()),
        }
    }

    fn demand_of(&self, shape: &'a Record, known: &Map, asked: Asked<'a>) -> Result<(), PlanError> {
        let known = self.unguarded(shape, known).known_so_far();
        known.demand_early(asked)
    }
}
