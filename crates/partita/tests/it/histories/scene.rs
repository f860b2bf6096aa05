//! What an expression of a design sees of the world: an item, what its refs lead to, who calls.
//!
//! Written once more, without the planner and without `partita-verify`, so that neither can share
//! a mistake with the tests.

use std::borrow::Cow;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Map, Value};
use partita_design::design::{CallerSource, Ref, RefTarget, RefTo, Rule, Source};
use partita_design::template::dotted;
use partita_design::time;
use partita_design::types::AttributeType;
use partita_plan::Caller;

use super::world::{Identity, Shape, World, nested};

/// One item, and everything that can be seen from it.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) world: &'a World,
    pub(crate) shape: Shape<'a>,
    pub(crate) item: &'a Map,
    pub(crate) old: Option<&'a Map>,
    pub(crate) caller: &'a Caller,
    pub(crate) now_millis: i64,
    /// Parameters of an action, or the element of an `each`.
    pub(crate) names: &'a [(String, Value)],
    /// References over parameters.
    pub(crate) refs: &'a [Ref],
}

/// Where a ref leads.
pub(crate) enum Lead<'a> {
    Record(Shape<'a>, Identity),
    Row(&'a Map),
    Nowhere,
}

impl Scope for Scene<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        let value = match (path.root.as_str(), path.steps.as_slice()) {
            ("now", []) => Some(Value::S(time::format_millis(self.now_millis))),
            ("caller", _) if self.caller.id.is_none() => return Found::Unknown,
            ("caller", steps) => self.caller(steps),
            ("old", [Step::Field(first), rest @ ..]) => match self.old {
                Some(old) => self.inside(self.shape, old, first, rest),
                None => return Found::Unknown,
            },
            (root, steps) => match self.names.iter().find(|(name, _)| name == root) {
                Some((_, value)) => descend(value, steps).cloned(),
                None => self.inside(self.shape, self.item, root, steps),
            },
        };
        value.map_or(Found::Missing, |value| Found::Value(Cow::Owned(value)))
    }
}

impl<'a> Scene<'a> {
    /// The same item under other names.
    pub(crate) fn with(self, names: &'a [(String, Value)]) -> Scene<'a> {
        Scene { names, ..self }
    }

    /// Whether a rule lets the caller do it.
    pub(crate) fn allows(&self, rule: &Rule) -> bool {
        match rule {
            Rule::Public => true,
            Rule::SignedIn => self.caller.id.is_some(),
            Rule::Never => false,
            Rule::When(condition) => condition.holds(self),
        }
    }

    /// Where a ref of the item leads; the first target, where there are several.
    pub(crate) fn lead(&self, reference: &'a Ref) -> Lead<'a> {
        self.lead_from(self.shape, self.item, reference)
    }

    fn caller(&self, steps: &[Step]) -> Option<Value> {
        let id = self.caller.id.as_ref()?;
        let callers = &self.world.design.callers;
        let stored = |name: &str| {
            let entity = &self.world.design[callers.entity?].name;
            let item = self.world.get(entity, std::slice::from_ref(id))?;
            nested(item, name).cloned()
        };
        match steps {
            [] => Some(Value::S(id.clone())),
            [Step::Field(name)] if name == "role" => match &callers.role {
                CallerSource::Token => self.caller.role.clone().map(Value::S),
                CallerSource::Attribute(name) => stored(name),
            },
            [Step::Field(name)] if name == "groups" => match &callers.groups {
                CallerSource::Token => {
                    let groups = self.caller.groups.iter().cloned();
                    Some(Value::L(groups.map(Value::S).collect()))
                }
                CallerSource::Attribute(name) => stored(name),
            },
            _ => None,
        }
    }

    fn inside(&self, shape: Shape<'a>, item: &Map, root: &str, steps: &[Step]) -> Option<Value> {
        if let (Some(reference), false) = (self.reference(shape, root), item.contains_key(root)) {
            let (Step::Field(first), rest) = steps.split_first()? else {
                return None;
            };
            return match self.lead_from(shape, item, reference) {
                Lead::Record(target, identity) => {
                    let found = self.world.get(&target.name, &identity);
                    let part = || {
                        let at = target.identity.iter();
                        let at = at.zip(&identity).find(|(part, _)| part.attribute == *first);
                        at.map(|(_, text)| Value::S(text.clone()))
                    };
                    match found {
                        Some(found) => self.inside(target, found, first, rest),
                        None => part(),
                    }
                }
                Lead::Row(row) => row.get(first).and_then(|one| descend(one, rest)).cloned(),
                Lead::Nowhere => None,
            };
        }
        let stored = item.get(root).and_then(|value| descend(value, steps));
        stored
            .cloned()
            .or_else(|| self.unstored(shape, item, root, steps))
    }

    /// The value of an attribute that is not stored: one that is computed when it is read, or a
    /// number, which is absent while it is 0.
    fn unstored(&self, shape: Shape<'a>, item: &Map, root: &str, steps: &[Step]) -> Option<Value> {
        let name = steps.iter().fold(root.to_owned(), |name, step| match step {
            Step::Field(field) => format!("{name}.{field}"),
            Step::Index(_) => name,
        });
        let attribute = shape.attribute(&name)?;
        match &attribute.source {
            Source::Computed(computed) if attribute.is_virtual => computed.value.value(&Scene {
                shape,
                item,
                old: None,
                ..*self
            }),
            Source::Aggregate(_) => Some(Value::from(0_i64)),
            Source::Given { .. } if attribute.kind == AttributeType::Counter => {
                Some(Value::from(0_i64))
            }
            _ => None,
        }
    }

    fn reference(&self, shape: Shape<'a>, name: &str) -> Option<&'a Ref> {
        let over_parameters = self.refs.iter();
        let mut all = over_parameters.chain(&shape.refs);
        all.find(|reference| reference.name == name)
    }

    fn lead_from(&self, shape: Shape<'a>, item: &Map, reference: &'a Ref) -> Lead<'a> {
        let target = match &reference.by {
            None => reference.targets.first(),
            Some(by) => {
                let by = nested(item, by).and_then(Value::as_str);
                let mut targets = reference.targets.iter();
                targets.find(|target| target.when.as_deref() == by)
            }
        };
        let lead = target.and_then(|target| self.lead_to(shape, item, target));
        lead.unwrap_or(Lead::Nowhere)
    }

    fn lead_to(&self, shape: Shape<'a>, item: &Map, target: &'a RefTarget) -> Option<Lead<'a>> {
        let mut values = Vec::new();
        for argument in &target.arguments {
            let path = dotted(&argument.path);
            let named = self.names.iter().find(|(name, _)| *name == argument.path);
            let value = match named {
                Some((_, value)) => value.clone(),
                None => self.inside(shape, item, &path.root, &path.steps)?,
            };
            let value = match value {
                Value::L(list) if argument.many => list.first()?.clone(),
                value => value,
            };
            values.push((argument.part.as_str(), value));
        }
        let record = match target.to {
            RefTo::Constants(constants) => {
                let rows = &self.world.design[constants];
                return rows.rows.get(values.first()?.1.as_str()?).map(Lead::Row);
            }
            RefTo::Record(record) => &self.world.design[record],
        };
        if target.via.is_some() {
            let fits = |found: &Map| {
                let mut values = values.iter();
                values.all(|(name, value)| nested(found, name) == Some(value))
            };
            let mut all = self.world.all(&record.name);
            let (identity, _) = all.find(|(_, found)| fits(found))?;
            return Some(Lead::Record(record, identity.clone()));
        }
        let texts = values.iter().map(|(_, value)| match value {
            Value::S(text) => Some(text.clone()),
            Value::N(number) => Some(number.to_string()),
            _ => None,
        });
        Some(Lead::Record(record, texts.collect::<Option<_>>()?))
    }
}

fn descend<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    let mut value = value;
    for step in steps {
        value = match (step, value) {
            (Step::Field(name), Value::M(map)) => map.get(name)?,
            (Step::Index(index), Value::L(list)) => list.get(*index)?,
            _ => return None,
        };
    }
    Some(value)
}
