//! Who follows what: callers of the cast, and questions about what a history has made.

use std::collections::{BTreeMap, BTreeSet};

use partita_core::Value;
use partita_design::Design;
use partita_design::design::{ParameterKind, Pattern};
use partita_design::types::AttributeType;
use partita_plan::feed::no_feed;
use partita_plan::{Caller, Operation};
use partita_store::Store;
use partita_store::request::Scan;

use crate::histories::cast::Cast;
use crate::histories::world::World;

/// The values that attributes have, by their names and aliases.
pub(super) struct Values(BTreeMap<String, BTreeSet<String>>);

impl Values {
    pub(super) async fn of(design: &Design, store: &dyn Store) -> Values {
        let world = World::new(design.clone());
        let table = design.tables[0].name.parse().unwrap();
        let page = store.scan(Scan::new(table)).await.unwrap().answer;
        let mut values = Values(BTreeMap::new());
        for item in page.into_parts().unwrap().items {
            let Some((record, attributes)) = world.recognise(&item) else {
                continue;
            };
            for attribute in &record.attributes {
                let found = partita_design::nested::get(&attributes, &attribute.name);
                let Some(value) = found else { continue };
                values.add(&attribute.name, value);
                if let Some(alias) = &attribute.alias {
                    values.add(alias, value);
                }
                if let Value::L(elements) = value {
                    for element in elements {
                        // A pattern asks for one tag of several.
                        values.add(attribute.name.trim_end_matches('s'), element);
                    }
                }
            }
            for (name, value) in attributes.iter() {
                values.add(name, value);
            }
        }
        values
    }

    fn add(&mut self, name: &str, value: &Value) {
        let text = match value {
            Value::S(text) => text.clone(),
            Value::N(number) => number.to_string(),
            Value::Bool(is) => is.to_string(),
            _ => return,
        };
        if !text.is_empty() && !text.contains('#') {
            self.0.entry(name.to_owned()).or_default().insert(text);
        }
    }

    /// Those of an attribute, or any that could be one. A pattern is followed before the first item
    /// of its kind is there, so every word of an enum can be asked for.
    fn fitting<'a>(&'a self, name: &str, kind: Option<&'a AttributeType>) -> Vec<&'a String> {
        let fits = |text: &&String| kind.is_none_or(|kind| kind.from_text(text).is_ok());
        let named = self.0.get(name).into_iter().flatten();
        let known: Vec<&String> = named.filter(fits).collect();
        if known.is_empty()
            && let Some(AttributeType::Enum(words)) = kind
        {
            return words.iter().collect();
        }
        if known.is_empty() && kind.is_some() {
            return self.0.values().flatten().filter(fits).collect();
        }
        known
    }
}

pub(super) struct Draw<'a> {
    pub(super) design: &'a Design,
    pub(super) cast: &'a Cast,
    pub(super) values: &'a Values,
    pub(super) random: &'a mut fastrand::Rng,
}

impl Draw<'_> {
    /// Somebody who asks for an item.
    pub(super) fn get(&mut self) -> Option<(Caller, Operation)> {
        let caller = self.caller();
        let entities = self.design.entities();
        let entities: Vec<_> = entities
            .filter(|one| no_feed(self.design, &Pattern::of_item(one, false)).is_none())
            .collect();
        let entity = self.random.choice(&entities)?;
        let parts = entity.identity.iter();
        let identity: Option<Vec<String>> = parts
            .map(|part| self.value(&caller, &part.attribute, None))
            .collect();
        let operation = Operation::Get {
            entity: entity.name.clone(),
            identity: identity?,
            with_deleted: false,
        };
        Some((caller, operation))
    }

    /// Somebody who asks a pattern.
    pub(super) fn query(&mut self, pattern: &Pattern) -> Option<(Caller, Operation)> {
        let caller = self.caller();
        let mut parameters = BTreeMap::new();
        for parameter in &pattern.parameters {
            let kind = parameter.kind.attribute_type();
            let mut value = self.value(&caller, &parameter.name, Some(kind))?;
            if let ParameterKind::PrefixOf(_) = parameter.kind {
                value.truncate(4);
            }
            parameters.insert(parameter.name.clone(), value);
        }
        let operation = Operation::Query {
            pattern: pattern.name.clone(),
            parameters,
            limit: None,
            cursor: None,
        };
        Some((caller, operation))
    }

    fn caller(&mut self) -> Caller {
        let people: Vec<&Caller> = self.cast.people.iter().chain(&self.cast.staff).collect();
        match self.random.usize(..people.len() + 1) {
            0 => Caller::anonymous(),
            at => people[at - 1].clone(),
        }
    }

    fn value(
        &mut self,
        caller: &Caller,
        name: &str,
        kind: Option<&AttributeType>,
    ) -> Option<String> {
        let known = self.values.fitting(name, kind);
        // Who follows something mostly follows his own.
        if let Some(id) = &caller.id
            && known.contains(&id)
            && self.random.bool()
        {
            return Some(id.clone());
        }
        Some((*self.random.choice(&known)?).clone())
    }
}
