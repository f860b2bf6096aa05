//! Proposals: one function for each kind of write.

use partita_core::{Map, Value};
use partita_design::design::{
    Access, Action, ActionOn, Attribute, EachOver, Effect, EffectKind, EffectTarget, OnDelete,
    ParameterKind, PatternId, Record, RecordId, Ref, RefTo, Repeat, Rule, SoftDelete, Source,
};
use partita_design::types::AttributeType;
use partita_plan::{Caller, Operation};

use super::Generator;
use super::items::{is_given, may_change};
use crate::histories::scene::{Lead, Scene};
use crate::histories::values::Use;
use crate::histories::world::{Shape, identity_of, nested, set_nested};

type Write = (Caller, Operation);

impl<'a> Generator<'a> {
    pub(super) fn create(&mut self, entity: &'a Record) -> Option<Write> {
        let (actor, mut given) = self.beginning(entity)?;
        // What is found from the item by a pattern comes after it.
        let is_found_later = |reference: &&Ref| {
            reference.unchecked && reference.targets.iter().all(|one| one.via.is_some())
        };
        for reference in entity.refs.iter().filter(|one| !is_found_later(one)) {
            if self.bind(entity, reference, &actor, &mut given).is_none()
                && !may_lead_nowhere(entity, reference)
            {
                return None;
            }
        }
        for attribute in entity.attributes.iter().filter(|one| is_given(entity, one)) {
            let is_needed = !attribute.optional
                && !matches!(attribute.source, Source::Given { default: Some(_) });
            let is_state = matches!(attribute.kind, AttributeType::State(_));
            let is_bound = nested(&given, &attribute.name).is_some();
            // Optional arguments of refs are given above, with the item that they lead to.
            let leads = self.is_argument(entity, &attribute.name);
            if is_bound || is_state || (leads && attribute.optional) {
                continue;
            }
            if is_needed || self.random.u8(0..3) == 0 {
                let repeated = self.repeated(entity, &attribute.name, &given, &actor);
                let value = repeated.filter(|_| self.random.bool());
                let value = value.unwrap_or_else(|| self.value(entity, attribute, &given));
                set_nested(&mut given, &attribute.name, value);
            }
        }
        let shape = entity;
        let rule = entity.rules.get(Access::Create);
        let item = self.completed(entity, &given, &actor);
        let actor = if self.scene(shape, &item, &actor).allows(rule) {
            actor
        } else {
            // Some things only those with a rank may do.
            self.caller_for(rule, shape, &item, &[])?
        };
        let given = if self.is_careless {
            given
        } else {
            self.writable(entity, given, &actor)
        };
        let item = self.completed(entity, &given, &actor);
        let identity = identity_of(shape, &item);
        let is_there = identity.is_some_and(|one| self.world.get(&entity.name, &one).is_some());
        let is_refused = is_there && entity.repeat == Repeat::Refuse;
        if !self.is_careless && is_refused || !self.is_sound(entity, &item, &actor) {
            return None;
        }
        let operation = Operation::Create {
            entity: entity.name.clone(),
            attributes: given,
        };
        Some((actor, operation))
    }

    /// Who creates an item. Who signs up gives his own id.
    fn beginning(&mut self, entity: &'a Record) -> Option<(Caller, Map)> {
        let mut given = Map::new();
        let callers = self.callers();
        let is_there = |caller: &Caller| {
            let id = caller.id.as_slice();
            callers.is_none_or(|callers| self.world.get(callers, id).is_some())
        };
        let people = self.cast.people.iter();
        let is_signing_up = self.is_callers(entity);
        let mut able: Vec<&Caller> = if is_signing_up {
            people
                .filter(|caller| !is_there(caller) || self.is_careless)
                .collect()
        } else {
            people.filter(|caller| is_there(caller)).collect()
        };
        if !is_signing_up && self.random.u8(0..5) == 0 {
            able.extend(&self.cast.staff);
        }
        if able.is_empty() && !is_signing_up {
            able.extend(&self.cast.staff);
        }
        let actor = self.random.choice(able)?.clone();
        if is_signing_up {
            let id = Value::S(actor.id.clone()?);
            set_nested(&mut given, &entity.identity[0].attribute, id);
        }
        // Whatever is the caller's own begins as such.
        for attribute in entity.attributes.iter().filter(|one| is_given(entity, one)) {
            if self.is_owner(entity, attribute) && self.random.u8(0..10) > 0 {
                set_nested(&mut given, &attribute.name, Value::S(actor.id.clone()?));
            }
        }
        Some((actor, given))
    }

    /// What something that the item refers to has under the same name: an address that mail was
    /// sent to is mostly the user's.
    fn repeated(
        &self,
        entity: &'a Record,
        name: &str,
        item: &Map,
        actor: &Caller,
    ) -> Option<Value> {
        let scene = self.scene(entity, item, actor);
        let leads = entity.refs.iter().map(|reference| scene.lead(reference));
        let mut values = leads.filter_map(|lead| match lead {
            Lead::Record(target, identity) => {
                nested(self.world.get(&target.name, &identity)?, name).cloned()
            }
            Lead::Row(_) | Lead::Nowhere => None,
        });
        values.next()
    }

    /// Whether the rule for creating compares an attribute with the caller.
    fn is_owner(&self, entity: &Record, attribute: &Attribute) -> bool {
        let Rule::When(rule) = entity.rules.get(Access::Create) else {
            return false;
        };
        let compared = format!("{} = caller", attribute.name);
        let alias = attribute
            .alias
            .as_deref()
            .map(|alias| format!("{alias} = caller"));
        rule.text.contains(&compared) || alias.is_some_and(|alias| rule.text.contains(&alias))
    }

    fn is_argument(&self, entity: &Record, name: &str) -> bool {
        let targets = entity.refs.iter().flat_map(|reference| &reference.targets);
        let mut arguments = targets.flat_map(|target| &target.arguments);
        arguments.any(|argument| argument.path == name)
    }

    /// What of it the caller may write.
    fn writable(&self, entity: &'a Record, given: Map, caller: &Caller) -> Map {
        let item = self.completed(entity, &given, caller);
        let scene = self.scene(entity, &item, caller);
        let mut kept = Map::new();
        for attribute in &entity.attributes {
            let value = nested(&given, &attribute.name);
            if let Some(value) = value
                && self.may_write(entity, &attribute.name, &scene)
            {
                set_nested(&mut kept, &attribute.name, value.clone());
            }
        }
        kept
    }

    pub(super) fn update(&mut self, entity: &'a Record) -> Option<Write> {
        let shape = entity;
        let is_careless = self.is_careless;
        let (identity, item) =
            self.pick(&entity.name, |item| is_careless || !shape.is_deleted(item))?;
        let caller = self.caller_for(entity.rules.get(Access::Update), shape, item, &[])?;
        let scene = self.scene(shape, item, &caller);
        let attributes = entity
            .attributes
            .iter()
            .filter(|one| may_change(entity, one));
        let attributes = attributes.filter(|one| self.may_write(entity, &one.name, &scene));
        let mut attributes: Vec<_> = attributes.collect();
        self.random.shuffle(&mut attributes);
        let count = self.random.usize(1..4);
        let (mut changes, mut after) = (Map::new(), item.clone());
        for attribute in attributes.into_iter().take(count) {
            let Some(value) = self.new_value(entity, attribute, &after, &caller) else {
                continue;
            };
            if value != Value::Null {
                set_nested(&mut after, &attribute.name, value.clone());
            }
            set_nested(&mut changes, &attribute.name, value);
        }
        let after = self.changed(entity, &after, &caller);
        if changes.is_empty() || !self.is_sound(entity, &after, &caller) {
            return None;
        }
        let operation = Operation::Update {
            entity: entity.name.clone(),
            identity: identity.to_vec(),
            changes,
            with_deleted: shape.is_deleted(item),
            version: self.version(entity, item),
        };
        Some((caller, operation))
    }

    /// Another value for an attribute of an item; none where there is no legal one.
    fn new_value(
        &mut self,
        entity: &'a Record,
        attribute: &'a Attribute,
        item: &Map,
        caller: &Caller,
    ) -> Option<Value> {
        let now = nested(item, &attribute.name);
        if let AttributeType::State(states) = &attribute.kind {
            let now = now.and_then(Value::as_str).unwrap_or_default();
            let next = states.names.iter().filter(|name| {
                self.is_careless || (name.as_str() != now && states.allows(now, name))
            });
            let next: Vec<_> = next.collect();
            return self
                .random
                .choice(next)
                .map(|name| Value::from(name.as_str()));
        }
        if let Some(soft @ SoftDelete::Value { .. }) = &entity.soft_delete
            && soft.attribute() == attribute.name
        {
            return None;
        }
        if self.is_argument(entity, &attribute.name) {
            let references = entity.refs.iter();
            let mut references = references.filter(|reference| {
                let mut arguments = reference.targets.iter().flat_map(|one| &one.arguments);
                arguments.any(|argument| argument.path == attribute.name)
            });
            let reference = references.next()?;
            let mut without = item.clone();
            without.remove(&attribute.name);
            self.bind(entity, reference, caller, &mut without)?;
            return nested(&without, &attribute.name)
                .cloned()
                .or(Some(Value::Null));
        }
        if attribute.optional && now.is_some() && self.random.u8(0..6) == 0 {
            return Some(Value::Null);
        }
        Some(self.value(entity, attribute, item))
    }

    /// The version that a caller saw, a stale one now and then.
    fn version(&mut self, entity: &Record, item: &Map) -> Option<i64> {
        let version = nested(item, &entity.version()?.name)?
            .as_number()?
            .to_i64()?;
        let stale = i64::from(self.random.u8(0..20) == 0);
        self.random.bool().then_some(version - stale)
    }

    pub(super) fn delete(&mut self, entity: &'a Record) -> Option<Write> {
        let shape = entity;
        let counts = self.refusing(&entity.name);
        let is_careless = self.is_careless;
        let may = |item: &Map| {
            let is_free = |count: &String| {
                let count = nested(item, count).and_then(Value::as_number);
                count.is_none_or(|count| count.to_i64() == Some(0))
            };
            is_careless || (!shape.is_deleted(item) && counts.iter().all(is_free))
        };
        let (identity, item) = self.pick(&entity.name, may)?;
        let caller = self.caller_for(entity.rules.get(Access::Delete), shape, item, &[])?;
        let operation = Operation::Delete {
            entity: entity.name.clone(),
            identity: identity.to_vec(),
            version: self.version(entity, item),
        };
        Some((caller, operation))
    }

    /// The numbers of an entity's items that keep them from being deleted.
    fn refusing(&self, entity: &str) -> Vec<String> {
        let refs = self.world.design.entities().flat_map(|one| &one.refs);
        let targets = refs.flat_map(|reference| &reference.targets);
        let counts = targets.filter_map(|target| match (&target.to, &target.on_delete) {
            (RefTo::Record(to), OnDelete::Refuse { count }) => {
                let target = &self.world.design[*to];
                (target.name == entity).then(|| target.attributes[count.index()].name.clone())
            }
            _ => None,
        });
        counts.collect()
    }

    /// What would be a creation or a change, whichever it turns out to be.
    pub(super) fn upsert(&mut self, entity: &'a Record) -> Option<Write> {
        let write = if self.random.bool() {
            self.create(entity)
        } else {
            self.update(entity)
        };
        let (caller, operation) = write?;
        let (identity, attributes, version) = match operation {
            Operation::Create { mut attributes, .. } => {
                let identity = identity_of(entity, &attributes)?;
                for part in &entity.identity {
                    attributes.remove(&part.attribute);
                }
                (identity, attributes, None)
            }
            Operation::Update {
                identity,
                changes,
                version,
                ..
            } => (identity, changes, version),
            _ => return None,
        };
        let operation = Operation::Upsert {
            entity: entity.name.clone(),
            identity,
            attributes,
            version,
        };
        Some((caller, operation))
    }

    pub(super) fn restore(&mut self, entity: &'a Record) -> Option<Write> {
        let (caller, identity) = self.of_deleted(entity, Access::Restore)?;
        let operation = Operation::Restore {
            entity: entity.name.clone(),
            identity,
            version: None,
        };
        Some((caller, operation))
    }

    pub(super) fn purge(&mut self, entity: &'a Record) -> Option<Write> {
        let (caller, identity) = self.of_deleted(entity, Access::Purge)?;
        let operation = Operation::Purge {
            entity: entity.name.clone(),
            identity,
            version: None,
        };
        Some((caller, operation))
    }

    /// An item that is deleted softly, and somebody who may do this to it.
    fn of_deleted(&mut self, entity: &'a Record, access: Access) -> Option<(Caller, Vec<String>)> {
        let is_careless = self.is_careless;
        let is_meant = |item: &Map| is_careless || entity.is_deleted(item);
        let (identity, item) = self.pick(&entity.name, is_meant)?;
        let caller = self.caller_for(entity.rules.get(access), entity, item, &[])?;
        Some((caller, identity.to_vec()))
    }

    pub(super) fn act(&mut self, action: &'a Action, shape: Shape<'a>) -> Option<Write> {
        let (identity, item) = self.pick(&shape.name, |item| !shape.is_deleted(item))?;
        let (given, names) = self.given(action, shape, item)?;
        let has_rules = shape.view.as_ref().is_none_or(|view| view.has_rules);
        let rule = has_rules.then(|| shape.rules.action(action.id))?;
        let caller = self.caller_for(rule, shape, item, &names)?;
        let scene = Scene {
            names: &names,
            refs: &action.refs,
            ..self.scene(shape, item, &caller)
        };
        if !self.is_careless && !self.would_pass(action, shape, &scene) {
            return None;
        }
        let (entity, identity, given) = match (&action.on, pattern_of(action)) {
            (ActionOn::Items(_), _) => (Some(shape.name.clone()), identity.to_vec(), given),
            (_, Some(pattern)) => (None, Vec::new(), self.asked(pattern, item, given)?),
            (_, None) => return None,
        };
        let operation = Operation::Act {
            action: action.name.clone(),
            entity,
            identity,
            given,
            version: None,
        };
        Some((caller, operation))
    }

    /// What an action is given, and the same under the names that its expressions know.
    fn given(
        &mut self,
        action: &'a Action,
        shape: Shape<'a>,
        item: &Map,
    ) -> Option<(Map, Vec<(String, Value)>)> {
        let mut given = Map::new();
        for name in &action.input {
            if shape.is_entity() {
                let entity = shape;
                let value = self.value(entity, entity.attribute(name)?, item);
                set_nested(&mut given, name, value);
            }
        }
        let mut names = Vec::new();
        for parameter in &action.parameters {
            let kind = match &parameter.kind {
                ParameterKind::Value(kind) | ParameterKind::PrefixOf(kind) => kind,
            };
            let is_asked = self.is_asked(action, &parameter.name);
            let value = match self.parameter_of_ref(action, &parameter.name, item) {
                // A pattern that finds the item is asked for what the item has.
                _ if is_asked => nested(item, &parameter.name)?.clone(),
                Some(value) => value?,
                None => self.fitting(action, &parameter.name, kind),
            };
            given.insert(parameter.name.clone(), value.clone());
            names.push((parameter.name.clone(), value));
        }
        Some((given, names))
    }

    /// A value that the attribute accepts into which an effect puts the parameter.
    fn fitting(&mut self, action: &Action, name: &str, kind: &AttributeType) -> Value {
        let placeholder = format!("{{{name}}}");
        let effects = action.then.iter().filter_map(|effect| {
            let set = effect.changes.set.iter();
            let mut set = set.filter(|(_, formula)| {
                let mut cases = formula.cases.iter();
                cases.any(|case| case.is.to_string() == name || case.is.to_string() == placeholder)
            });
            Some((target_entity(effect)?, set.next()?.0.clone()))
        });
        let target = effects.into_iter().next();
        let attribute =
            target.and_then(|(entity, attribute)| self.world.design[entity].attribute(&attribute));
        match attribute {
            Some(attribute) if attribute.kind.stored_as() == kind.stored_as() => {
                let made = self.values().of(&attribute.kind, name, Use::Plain);
                match kind.check(&made) {
                    Ok(()) => made,
                    Err(_) => self.values().of(kind, name, Use::Plain),
                }
            }
            _ => self.values().of(kind, name, Use::Plain),
        }
    }

    /// A parameter through which a ref of the action leads: it must lead somewhere.
    fn parameter_of_ref(
        &mut self,
        action: &'a Action,
        name: &str,
        item: &Map,
    ) -> Option<Option<Value>> {
        for reference in &action.refs {
            let target = reference.targets.first()?;
            let mut arguments = target.arguments.iter();
            let Some(at) = arguments.position(|argument| argument.path == name) else {
                continue;
            };
            let RefTo::Record(record) = target.to else {
                continue;
            };
            let shape = &self.world.design[record];
            let fits = |found: &Map| {
                target
                    .arguments
                    .iter()
                    .enumerate()
                    .all(|(other, argument)| {
                        let known = nested(item, &argument.path);
                        let part = &shape.identity[other].attribute;
                        other == at || nested(found, part) == known
                    })
            };
            let found = self.pick(&shape.name, fits);
            let part = &shape.identity[at].attribute;
            return Some(found.and_then(|(_, found)| nested(found, part).cloned()));
        }
        None
    }

    /// Whether a parameter is one of the pattern that finds the items of an action.
    fn is_asked(&self, action: &Action, name: &str) -> bool {
        let pattern = pattern_of(action).map(|pattern| &self.world.design[pattern]);
        pattern.is_some_and(|pattern| pattern.parameters.iter().any(|one| one.name == name))
    }

    /// The parameters of the pattern that finds an item.
    fn asked(&self, pattern: PatternId, item: &Map, mut given: Map) -> Option<Map> {
        for parameter in &self.world.design[pattern].parameters {
            let value = nested(item, &parameter.name)?.clone();
            given.insert(parameter.name.clone(), value);
        }
        Some(given)
    }

    /// Whether an action would be accepted as things are.
    fn would_pass(&self, action: &'a Action, shape: Shape<'a>, scene: &Scene<'_>) -> bool {
        let require = action.require.as_ref();
        if require.is_some_and(|require| !require.holds(scene)) {
            return false;
        }
        let mut after = scene.item.clone();
        for (name, formula) in &action.changes.set {
            let kind = shape.attribute(name).map(|attribute| &attribute.kind);
            let value = formula.value(scene);
            if let (Some(AttributeType::State(states)), Some(next)) = (kind, &value) {
                let now = nested(scene.item, name).and_then(Value::as_str);
                let (now, next) = (now.unwrap_or_default(), next.as_str().unwrap_or_default());
                if now == next || !states.allows(now, next) {
                    return false;
                }
            }
            if let Some(value) = value {
                set_nested(&mut after, name, value);
            }
        }
        for (name, formula) in &action.changes.add {
            let now = nested(&after, name).and_then(Value::as_number).copied();
            let added = formula.value(scene);
            let added = added.as_ref().and_then(Value::as_number).copied();
            let sum = now
                .unwrap_or_default()
                .checked_add(added.unwrap_or_default());
            if let Ok(sum) = sum {
                set_nested(&mut after, name, Value::N(sum));
            }
        }
        let effects_pass = action
            .then
            .iter()
            .all(|effect| self.effect_passes(effect, scene));
        let is_sound = shape.view.is_some()
            || self.is_sound(
                shape,
                &self.changed(shape, &after, scene.caller),
                scene.caller,
            );
        effects_pass && is_sound
    }

    /// Whether what an effect changes is there.
    fn effect_passes(&self, effect: &'a Effect, scene: &Scene<'_>) -> bool {
        match (&effect.target, effect.kind) {
            (EffectTarget::Ref { name, .. }, EffectKind::Update) => {
                let mut refs = scene.shape.refs.iter();
                let reference = refs.find(|reference| reference.name == *name);
                reference.is_some_and(|reference| match scene.lead(reference) {
                    Lead::Record(target, identity) => {
                        self.world.get(&target.name, &identity).is_some()
                    }
                    Lead::Row(_) | Lead::Nowhere => false,
                })
            }
            _ => true,
        }
    }
}

/// The pattern that finds the items of an action.
fn pattern_of(action: &Action) -> Option<PatternId> {
    match &action.on {
        ActionOn::Items(_) => None,
        ActionOn::Found { pattern, .. } => Some(*pattern),
        ActionOn::Every(application) => match &application.each.over {
            EachOver::Pattern { pattern, .. } => Some(*pattern),
            EachOver::List { .. } => None,
        },
    }
}

fn target_entity(effect: &Effect) -> Option<RecordId> {
    effect.target.records().first().copied()
}

/// Whether a ref need lead to nothing, and callers need not say where it leads.
fn may_lead_nowhere(entity: &Record, reference: &Ref) -> bool {
    let targets = reference.targets.iter();
    let mut arguments = targets.flat_map(|target| &target.arguments);
    reference.unchecked
        && arguments.all(|argument| {
            let attribute = entity.attribute(&argument.path);
            attribute.is_some_and(|one| {
                one.optional || matches!(one.source, Source::Given { default: Some(_) })
            })
        })
}
