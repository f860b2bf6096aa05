//! What a pattern's parameters alone decide, before anything is read.

use partita_core::{Map, Value};
use partita_design::design::{
    Access, KeyValue, ParameterKind, Pattern, QueryRead, Read, Record, RecordId, SortRange,
};
use partita_design::template::{Part, Template};

use super::PatternRead;
use crate::error::PlanError;
use crate::evaluate::ItemScope;
use crate::request::rules::{Asked, Verdict};

/// What is decided for every row of one record.
enum Early {
    /// The rule allows all of them, or it rests on each.
    Open {
        /// The record, where the rule allows all of them.
        allowed: Option<RecordId>,
    },
    /// It refuses all of them.
    Refused(PlanError),
}

impl PatternRead<'_> {
    /// Refuses at once what the parameters and the caller's own records show to be refused for
    /// every row, and remembers what they allow for every row.
    pub(super) async fn demand(&mut self) -> Result<(), PlanError> {
        let asked = Asked::Access(Access::Read);
        let pattern = self.pattern;
        let decided = self.early(|scope| {
            let found = pattern.rule(scope.record.id).map(Asked::Finding);
            let demanded = scope
                .demand_early(asked)
                .and_then(|()| found.map_or(Ok(()), |found| scope.demand_early(found)));
            match demanded {
                Err(refusal) => Early::Refused(refusal),
                Ok(()) => Early::Open {
                    allowed: (scope.verdict(asked) == Verdict::Allowed).then_some(scope.record.id),
                },
            }
        });
        let mut refused = None;
        let mut is_open = false;
        for early in decided.await? {
            match early {
                Early::Open { allowed } => {
                    is_open = true;
                    self.allowed.extend(allowed);
                }
                Early::Refused(error) => {
                    refused.get_or_insert(error);
                }
            }
        }
        match refused {
            Some(error) if !is_open => Err(error),
            _ => Ok(()),
        }
    }

    /// Looks at each record that may come back, as far as the parameters tell it. Of what is stored
    /// only the caller's own records are read.
    pub(super) async fn early<T>(
        &mut self,
        look: impl Fn(&ItemScope<'_, '_>) -> T,
    ) -> Result<Vec<T>, PlanError> {
        let moment = self.moment();
        let mut reads = self.partita.reads(&moment).with_only_own();
        let looked = self.runner.settle(&mut reads, |reads| {
            let context = self.partita.context(self.caller, reads, &moment);
            let records = self.pattern.returns.iter();
            let looked = records.map(|id| {
                let record = &self.blueprint().design[*id];
                let attributes = known_attributes(self.pattern, &self.values, record);
                look(&ItemScope::unguarded(context, record, &attributes).known_so_far())
            });
            Ok(looked.collect())
        });
        let looked = looked.await?;
        self.own = reads.into_items();
        Ok(looked)
    }
}

/// The attributes of a record that the parameters of a pattern fix.
pub(crate) fn known_attributes(pattern: &Pattern, values: &Map, record: &Record) -> Map {
    let whole_value = |name: &str| whole_value(pattern, values, name);
    let mut known = Map::new();
    let mut learn = |asked: &Template, key: Option<&Template>| {
        let parts = key.map_or(&[][..], |key| &key.parts);
        for parts in asked.parts.iter().zip(parts) {
            match parts {
                (Part::Value(parameter), Part::Value(attribute)) => {
                    let value = parameter.name().and_then(|name| whole_value(&name));
                    if let (Some(name), Some(value)) = (attribute.name(), value) {
                        known.insert(name, value.clone());
                    }
                }
                (Part::Text(asked), Part::Text(key)) if asked == key => {}
                // From here on the two are not alike.
                _ => break,
            }
        }
    };
    match &pattern.read {
        Read::Get(asked) => {
            learn(&asked.partition, Some(&record.key.partition));
            learn(&asked.sort, Some(&record.key.sort));
        }
        Read::Query(QueryRead {
            index,
            partition,
            sort,
        }) => {
            let (own_partition, own_sort) = match index {
                None => (Some(&record.key.partition), Some(&record.key.sort)),
                Some(index) => {
                    let keys = record.indexes.iter().find(|keys| keys.index == *index);
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
fn whole_value<'v>(pattern: &Pattern, values: &'v Map, name: &str) -> Option<&'v Value> {
    let mut parameters = pattern.parameters.iter();
    let parameter = parameters.find(|parameter| parameter.name == name)?;
    match parameter.kind {
        ParameterKind::Value(_) => values.get(name),
        ParameterKind::PrefixOf(_) => None,
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
