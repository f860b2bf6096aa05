//! The attributes of a proposed item: what refs need, what callers give, what follows from it.

use partita_core::{Map, Value};
use partita_design::design::{
    Attribute, AttributeRule, Record, Ref, RefTarget, RefTo, SoftDelete, Source, Timing,
};
use partita_design::types::AttributeType;
use partita_plan::Caller;

use super::Generator;
use crate::histories::scene::Scene;
use crate::histories::values::Use;
use crate::histories::world::{Shape, nested, set_nested};

/// Whether callers can give an attribute at all.
pub(super) fn is_given(entity: &Record, attribute: &Attribute) -> bool {
    let is_flag = match &entity.soft_delete {
        Some(SoftDelete::Value { .. }) | None => false,
        Some(soft) => soft.attribute() == attribute.name,
    };
    let is_source = matches!(attribute.source, Source::Given { .. } | Source::Generated);
    let is_counted = matches!(
        attribute.kind,
        AttributeType::Counter | AttributeType::Version
    );
    is_source && !is_counted && !is_flag
}

/// Whether callers can change an attribute.
pub(super) fn may_change(entity: &Record, attribute: &Attribute) -> bool {
    let is_part = entity
        .identity
        .iter()
        .any(|part| part.attribute == attribute.name);
    is_given(entity, attribute) && !attribute.fixed && (!is_part || attribute.movable)
}

fn is_scarce(entity: &Record, attribute: &Attribute) -> bool {
    let is_part = entity
        .identity
        .iter()
        .any(|part| part.attribute == attribute.name);
    let mut unique = entity.unique.iter();
    is_part || unique.any(|one| one.attributes.contains(&attribute.name))
}

impl<'a> Generator<'a> {
    /// Makes a ref lead to something that exists, and to the caller's own where it can; `None` if
    /// there is nothing.
    pub(super) fn bind(
        &mut self,
        entity: &'a Record,
        reference: &'a Ref,
        actor: &Caller,
        item: &mut Map,
    ) -> Option<()> {
        let arguments = reference
            .targets
            .iter()
            .flat_map(|target| &target.arguments);
        let mut given = arguments.filter_map(|argument| entity.attribute(&argument.path));
        if given.any(|attribute| attribute.optional) && self.random.bool() {
            return Some(());
        }
        let target = match &reference.by {
            None => reference.targets.first()?,
            Some(by) => {
                let fits = |target: &&RefTarget| {
                    let given = nested(item, by).and_then(Value::as_str);
                    given.is_none_or(|given| target.when.as_deref() == Some(given))
                };
                let fitting: Vec<_> = reference.targets.iter().filter(fits).collect();
                let target = *fitting.get(self.random.usize(0..fitting.len().max(1)))?;
                set_nested(item, by, Value::from(target.when.as_deref()?));
                target
            }
        };
        match target.to {
            RefTo::Constants(constants) => {
                let rows = &self.world.design[constants];
                let at = self.random.usize(0..rows.rows.len());
                let row = rows.rows.keys().nth(at)?;
                let argument = target.arguments.first()?;
                set_nested(item, &argument.path, Value::from(row.as_str()));
                Some(())
            }
            RefTo::Record(record) => {
                let shape = &self.world.design[record];
                self.bind_record(entity, (reference, target, shape), actor, item)
            }
        }
    }

    fn bind_record(
        &mut self,
        entity: &'a Record,
        (reference, target, shape): (&'a Ref, &'a RefTarget, Shape<'a>),
        actor: &Caller,
        item: &mut Map,
    ) -> Option<()> {
        // What is computed is not given; where it leads shows when it is computed.
        let settable = |path: &str| {
            let attribute = entity.attribute(path);
            attribute.is_some_and(|attribute| is_given(entity, attribute))
        };
        let mut arguments = target.arguments.iter();
        if !arguments.all(|argument| settable(&argument.path)) {
            return Some(());
        }
        if let Some(many) = target.arguments.iter().find(|argument| argument.many) {
            let list = self.several(shape, actor);
            set_nested(item, &many.path, Value::L(list));
            return Some(());
        }
        // A pattern that finds the target takes attributes under their own names.
        let part = |at: usize| match target.via {
            Some(_) => target.arguments[at].part.as_str(),
            None => shape.identity[at].attribute.as_str(),
        };
        let own = actor.id.clone().filter(|_| self.random.u8(0..4) > 0);
        let fits = |found: &Map| {
            let is_live = !reference.live || !shape.is_deleted(found);
            is_live
                && target.arguments.iter().enumerate().all(|(at, argument)| {
                    let known = nested(item, &argument.path);
                    known.is_none_or(|known| nested(found, part(at)) == Some(known))
                })
        };
        let is_caller = self.is_callers(shape);
        let mine =
            own.filter(|_| is_caller && self.favourite.is_none_or(|(name, _)| name != shape.name));
        let mine = mine.and_then(|id| self.world.get(&shape.name, &[id]));
        let mine = mine.filter(|found| fits(found));
        let found = mine.or_else(|| self.pick(&shape.name, fits).map(|(_, found)| found))?;
        for (at, argument) in target.arguments.iter().enumerate() {
            let value = nested(found, part(at))?.clone();
            set_nested(item, &argument.path, value);
        }
        Some(())
    }

    /// The identities of several records, the caller's among them where callers are such.
    fn several(&mut self, shape: Shape<'a>, actor: &Caller) -> Vec<Value> {
        let own = actor.id.iter().filter(|_| self.is_callers(shape));
        let mut list: Vec<String> = own.cloned().collect();
        for _ in 0..self.random.usize(1..4) {
            if let Some((identity, _)) = self.pick(&shape.name, |_| true) {
                list.extend(identity.first().cloned());
            }
        }
        list.dedup();
        list.into_iter().map(Value::S).collect()
    }

    /// A value for an attribute.
    pub(super) fn value(&mut self, entity: &Record, attribute: &Attribute, item: &Map) -> Value {
        let name = &attribute.name;
        match (&attribute.file_in, &attribute.kind) {
            (Some(prefix), AttributeType::List { .. }) => {
                Value::L(vec![self.values().file(prefix, item)])
            }
            (Some(prefix), _) => self.values().file(prefix, item),
            (None, kind) => {
                let used = if is_scarce(entity, attribute) {
                    Use::Scarce
                } else {
                    Use::Plain
                };
                self.values().of(kind, name, used)
            }
        }
    }

    /// The item with its defaults and with what is computed.
    pub(super) fn completed(&self, entity: &'a Record, given: &Map, caller: &Caller) -> Map {
        let mut item = given.clone();
        for _ in 0..2 {
            for attribute in &entity.attributes {
                if nested(&item, &attribute.name).is_some() {
                    continue;
                }
                let scene = self.scene(entity, &item, caller);
                let value = match (&attribute.source, &attribute.kind) {
                    (_, AttributeType::State(states)) => {
                        Some(Value::from(states.names[0].as_str()))
                    }
                    (_, AttributeType::Counter) => Some(Value::from(0_i64)),
                    (Source::Given { default }, _) => {
                        default.as_ref().and_then(|formula| formula.value(&scene))
                    }
                    (Source::Computed(computed), _) => match computed.timing {
                        Timing::Once(_) => None,
                        _ => computed.value.value(&scene),
                    },
                    (Source::Aggregate(_), _) => Some(Value::from(0_i64)),
                    (Source::Generated | Source::Copy(_) | Source::Derived(_), _) => None,
                };
                if let Some(value) = value {
                    let value = attribute.kind.adopt(value);
                    set_nested(&mut item, &attribute.name, value);
                }
            }
        }
        item
    }

    /// The item after a change, with what is computed from its own attributes.
    pub(super) fn changed(&self, entity: &'a Record, item: &Map, caller: &Caller) -> Map {
        let mut item = item.clone();
        for attribute in &entity.attributes {
            if let Source::Computed(computed) = &attribute.source
                && computed.timing == Timing::Always
            {
                let scene = self.scene(entity, &item, caller);
                if let Some(value) = computed.value.value(&scene) {
                    let value = attribute.kind.adopt(value);
                    set_nested(&mut item, &attribute.name, value);
                }
            }
        }
        item
    }

    /// Whether all values are what their attributes may hold, and what is required holds.
    pub(super) fn is_sound(&self, entity: &'a Record, item: &Map, caller: &Caller) -> bool {
        let fits = |attribute: &Attribute| {
            let value = nested(item, &attribute.name);
            value.is_none_or(|value| attribute.kind.check(value).is_ok())
        };
        let scene = self.scene(entity, item, caller);
        let require = entity.require.as_ref();
        self.is_careless
            || entity.attributes.iter().all(fits) && require.is_none_or(|one| one.holds(&scene))
    }

    /// Whether the rules let the caller write an attribute of an item.
    pub(super) fn may_write(&self, entity: &'a Record, name: &str, scene: &Scene<'_>) -> bool {
        let hands_off = self.notes.hands_off.iter();
        let mut hands_off = hands_off.filter(|(of, _)| *of == entity.name);
        let speaks = |rule: &&AttributeRule| {
            rule.writes && rule.attributes.iter().any(|attribute| attribute == name)
        };
        let mut rules = entity.rules.by_attribute.iter().filter(speaks);
        rules.all(|rule| scene.allows(&rule.rule)) && !hands_off.any(|(_, one)| *one == name)
    }
}
