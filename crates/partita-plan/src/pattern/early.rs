//! What a pattern's parameters alone decide, before anything is read.

use partita_core::{Map, Value};
use partita_design::design::{Access, KeyValue, ParameterKind, QueryRead, Read, SortRange};
use partita_design::template::{Part, Template};

use super::Asked;
use super::row::scene;
use crate::access::Asked as AskedFor;
use crate::error::PlanError;
use crate::scene::{Scene, Trace};
use crate::shape::Shape;

impl Asked<'_> {
    /// Refuses at once what the parameters alone show to be refused for every row.
    pub(super) fn demand(&self) -> Result<(), PlanError> {
        let mut refused = None;
        let mut is_open = false;
        self.early(
            &mut |scene| match scene.demand_early(AskedFor::Access(Access::Read)) {
                Ok(()) => is_open = true,
                Err(error) => {
                    refused.get_or_insert(error);
                }
            },
        );
        match refused {
            Some(error) if !is_open => Err(error),
            _ => Ok(()),
        }
    }

    /// Looks at each record that may come back, as far as the parameters tell it.
    pub(super) fn early(&self, look: &mut dyn FnMut(&Scene<'_, '_>)) {
        let moment = self.partita.moment();
        let nothing = self.partita.reads(&moment);
        let context = self.partita.context(self.caller, &nothing, &moment);
        for name in &self.pattern.returns {
            let Some(shape) = self.blueprint().shape(name) else {
                continue;
            };
            let attributes = self.known_attributes(shape);
            let trace = Trace::default();
            look(&Scene {
                complete: false,
                ..scene(context, shape, &attributes, &trace)
            });
        }
    }

    /// The attributes of a record that the parameters fix.
    fn known_attributes(&self, shape: Shape<'_>) -> Map {
        let mut known = Map::new();
        let mut learn = |asked: &Template, record: Option<&Template>| {
            let parts = record.map_or(&[][..], |record| &record.parts);
            for parts in asked.parts.iter().zip(parts) {
                match parts {
                    (Part::Value(parameter), Part::Value(attribute)) => {
                        let value = parameter.name().and_then(|name| self.whole_value(&name));
                        if let (Some(name), Some(value)) = (attribute.name(), value) {
                            known.insert(name, value.clone());
                        }
                    }
                    (Part::Text(asked), Part::Text(record)) if asked == record => {}
                    // From here on the two are not alike.
                    _ => break,
                }
            }
        };
        match &self.pattern.read {
            Read::Get(asked) => {
                learn(&asked.partition, Some(&shape.key().partition));
                learn(&asked.sort, Some(&shape.key().sort));
            }
            Read::Query(QueryRead {
                index,
                partition,
                sort,
            }) => {
                let (own_partition, own_sort) = match index {
                    None => (Some(&shape.key().partition), Some(&shape.key().sort)),
                    Some(index) => {
                        let keys = shape.indexes().iter().find(|keys| keys.index == *index);
                        let partition = keys.map(|keys| &keys.partition);
                        let sort = keys.and_then(|keys| keys.sort.as_ref());
                        (only_template(partition), only_template(sort))
                    }
                };
                learn(&partition.value, own_partition);
                if let SortRange::BeginsWith(prefix) | SortRange::Equals(prefix) = sort {
                    learn(&prefix.value, own_sort);
                }
            }
            Read::Scan { .. } => {}
        }
        known
    }

    /// The value of a parameter that is not only the beginning of one.
    fn whole_value(&self, name: &str) -> Option<&Value> {
        let mut parameters = self.pattern.parameters.iter();
        let parameter = parameters.find(|parameter| parameter.name == name)?;
        match parameter.kind {
            ParameterKind::Value(_) => self.values.get(name),
            ParameterKind::PrefixOf(_) => None,
        }
    }
}

/// The template of a key that has no cases.
fn only_template(key: Option<&KeyValue>) -> Option<&Template> {
    match key? {
        KeyValue::Cases(cases) => match cases.as_slice() {
            [case] if case.when.is_none() => Some(&case.is),
            _ => None,
        },
        KeyValue::Native(_) => None,
    }
}
