//! Roles and groups that callers could give themselves.
//!
//! `[caller]` can take `caller.role` and `caller.groups` from the caller's own item. Whoever may
//! write that attribute there decides what all rules say that ask for it. What counts is whether the
//! rules can allow it to an ordinary caller: one who has no role yet, or the default one.

use std::borrow::Cow;

use partita_core::Value;
use partita_core::expression::{self, Comparator, Condition, Found, Operand, Path, Step};

use super::causes::Causes;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::reference::CALLER;
use crate::design::{
    Access, Action, Attribute, CallerSource, Design, Effect, Record, RecordId, Rule, Source,
};
use crate::expression::{Expr, Formula, Origin};
use crate::types::AttributeType;

/// The id of a caller, as good as any.
const ID: &str = "a caller";

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let Some(record) = design.callers.entity.map(|entity| &design[entity]) else {
        return;
    };
    let sources = [
        ("role", &design.callers.role),
        ("groups", &design.callers.groups),
    ];
    for (word, source) in sources {
        let CallerSource::Attribute(name) = source else {
            continue;
        };
        let Some(attribute) = record.stored(name) else {
            continue;
        };
        let lint = SelfMade {
            design,
            record,
            word,
            attribute,
        };
        lint.report(symbols);
        // With `[accounts]` it is an error, which is reported there.
        if design.accounts.is_none() {
            lint.report_followed(symbols);
            lint.report_caused(symbols);
        }
    }
}

/// An attribute of callers' items that rules rely on as `caller.role` or `caller.groups`.
struct SelfMade<'d> {
    design: &'d Design,
    record: &'d Record,
    word: &'static str,
    attribute: &'d Attribute,
}

/// A value that a rule asks for.
struct Asked {
    /// The value, or one that will do.
    value: String,
    /// Any value but this one will do.
    not: Option<String>,
}

impl Asked {
    fn is_met_by(&self, text: &str) -> bool {
        match &self.not {
            Some(not) => text != not,
            None => text == self.value,
        }
    }
}

/// How a caller comes by a value.
struct Way {
    /// The rule that allows it.
    allowed_by: String,
    /// The rule that would not.
    mended_by: String,
}

impl SelfMade<'_> {
    fn report(&self, symbols: &Symbols) {
        let ways = self.relied_on().into_iter();
        let mut ways = ways.filter_map(|(asked, by)| Some((self.way(&asked.value)?, asked, by)));
        let Some((way, Asked { value, .. }, by)) = ways.next() else {
            return;
        };
        let (title, name) = (&self.record.name, &self.attribute.name);
        let declared = &symbols[self.record.id];
        let message = format!(
            "{by} relies on `{name}`, which a caller can set to `{value}` in a `{title}` of its own: the rule for `{}` allows it",
            way.allowed_by
        );
        let value = value.replace('\'', "''");
        let rule = match self.word {
            "groups" => format!("contains(caller.groups, '{value}')"),
            _ => format!("caller.role = '{value}'"),
        };
        declared
            .report(Code::SelfMadeRole, declared.span_of(name), message)
            .help(format!(
                "write `\"{}\" = \"{rule}\"` in `[{}.allow]`",
                way.mended_by, declared.place
            ))
            .acceptable(vec![vec![format!("{}.{name}", declared.place)]]);
    }

    /// Reports a value that is computed from what callers write.
    fn report_followed(&self, symbols: &Symbols) {
        let way = Causes::new(self.design).of_value(self.record, self.attribute);
        let (Some(way), Some((_, by))) = (way, self.relied_on().into_iter().next()) else {
            return;
        };
        let name = &self.attribute.name;
        let declared = &symbols[self.record.id];
        let what = way.through.as_ref().unwrap_or(name);
        let message = format!(
            "{by} relies on `{name}`, which follows `{what}`: `{}` lets callers decide that",
            way.by
        );
        declared
            .report(Code::SelfMadeRole, declared.span_of(name), message)
            .help(format!(
                "leave `{what}` out of its value, or let only administrators write that"
            ))
            .acceptable(vec![vec![format!("{}.{name}", declared.place)]]);
    }

    /// Reports a value that an effect sets, if callers cause it.
    fn report_caused(&self, symbols: &Symbols) {
        let causes = Causes::new(self.design);
        let mut asked = self.relied_on().into_iter();
        let found = asked.find_map(|(asked, by)| Some((self.caused(&causes, &asked)?, asked, by)));
        let Some((effect, asked, by)) = found else {
            return;
        };
        let name = &self.attribute.name;
        let declared = &symbols[self.record.id];
        let message = format!(
            "{by} relies on `{name}`, which `{effect}` can set to `{}`: others than administrators can cause that",
            asked.value
        );
        declared
            .report(Code::SelfMadeRole, declared.span_of(name), message)
            .help(format!(
                "let only administrators cause `{effect}`, or leave `{name}` out of what it sets"
            ))
            .acceptable(vec![vec![format!("{}.{name}", declared.place)]]);
    }

    /// An effect that gives items of callers such a value, and that ordinary callers cause.
    fn caused(&self, causes: &Causes<'_>, asked: &Asked) -> Option<String> {
        let sets = |effect: &Effect, of: RecordId| self.sets(causes, effect, of, asked);
        let mut triggers = self.design.triggers.iter();
        let trigger = triggers.find(|trigger| {
            let turns = trigger.turns.as_ref();
            turns.is_none_or(|turns| causes.may_hold(&Rule::When(Box::new(turns.clone()))))
                && sets(&trigger.effect, trigger.on.of)
                && causes.of_event(&trigger.on).is_some()
        });
        if let Some(trigger) = trigger {
            return Some(format!("trigger.{}", trigger.name));
        }
        let mut actions = self.design.actions.iter();
        let action = actions.find(|action| {
            let mut records = action.on.records().iter();
            records.any(|id| {
                let mut effects = action.then.iter();
                causes.may_hold(self.design[*id].rules.action(action.id))
                    && effects.any(|effect| sets(effect, *id))
            })
        })?;
        Some(format!("action.{}", action.name))
    }

    /// Whether an effect of a write to a record sets the attribute to what is asked for, or to what
    /// ordinary callers decide.
    fn sets(&self, causes: &Causes<'_>, effect: &Effect, of: RecordId, asked: &Asked) -> bool {
        let conditions = effect.when.iter().chain(&effect.require);
        let mut conditions = conditions.map(|one| Rule::When(Box::new(one.clone())));
        let mut set = effect.changes.set.iter();
        let value = set.find(|(name, _)| *name == self.attribute.name);
        effect.target.records().contains(&self.record.id)
            && conditions.all(|one| causes.may_hold(&one))
            && value.is_some_and(|(_, value)| {
                self.can_be(value, asked) || causes.decide(&self.design[of], value)
            })
    }

    /// Whether a value has a case that is what is asked for.
    fn can_be(&self, value: &Formula, asked: &Asked) -> bool {
        let mut literals = value.cases.iter().filter_map(|case| match &case.is {
            Expr::Literal(value) => Some(value),
            _ => None,
        });
        literals.any(|value| match value {
            Value::S(text) => asked.is_met_by(text),
            Value::L(values) => values.iter().any(|one| match one {
                Value::S(text) => asked.is_met_by(text),
                _ => false,
            }),
            _ => false,
        })
    }

    /// The values that rules ask for, each with who asks.
    fn relied_on(&self) -> Vec<(Asked, String)> {
        let mut found = Vec::new();
        let mut add = |rule: &Rule, by: String| {
            if let Rule::When(rule) = rule {
                let mut values = Vec::new();
                self.values_asked(&rule.tree, true, &mut values);
                found.extend(values.into_iter().map(|value| (value, by.clone())));
            }
        };
        add(
            &self.design.callers.administrators,
            "`administrators`".to_owned(),
        );
        for record in &self.design.records {
            for rule in record.rules.all() {
                add(rule, format!("a rule of `{}`", record.name));
            }
        }
        found
    }

    /// What a condition, or that it does not hold, asks of `caller.role` or `caller.groups`.
    fn values_asked(&self, condition: &Condition, holds: bool, asked: &mut Vec<Asked>) {
        let is_asked =
            |operand: &Operand| matches!(operand, Operand::Path(path) if self.is_relied_on(path));
        let mut add = |operand: &Operand, is_equal: bool| {
            if let Operand::Value(Value::S(text), _) = operand {
                asked.extend(self.asked(text, is_equal));
            }
        };
        match condition {
            Condition::All(parts) | Condition::Any(parts) => {
                let parts = parts.iter();
                parts.for_each(|part| self.values_asked(part, holds, asked));
            }
            Condition::Not(inner) => self.values_asked(inner, !holds, asked),
            Condition::Compare(one, comparator, other) => {
                let is_equal = match comparator {
                    Comparator::Equal => holds,
                    Comparator::NotEqual => !holds,
                    _ => return,
                };
                if is_asked(one) {
                    add(other, is_equal);
                } else if is_asked(other) {
                    add(one, is_equal);
                }
            }
            Condition::Contains(one, other) if is_asked(one) => add(other, holds),
            Condition::Contains(one, other) if is_asked(other) => add(one, holds),
            Condition::In(one, others) if is_asked(one) => {
                others.iter().for_each(|other| add(other, holds));
            }
            _ => {}
        }
    }

    /// A text that is asked for, or anything but that.
    fn asked(&self, text: &str, is_equal: bool) -> Option<Asked> {
        if is_equal {
            return Some(Asked {
                value: text.to_owned(),
                not: None,
            });
        }
        // To be outside of a group is nothing that is given.
        if self.word == "groups"
            || self
                .default()
                .is_some_and(|value| *value != Value::from(text))
        {
            return None;
        }
        let other = match &self.attribute.kind {
            AttributeType::Enum(words) => words.iter().find(|word| *word != text)?.clone(),
            _ if text == "admin" => "other".to_owned(),
            _ => "admin".to_owned(),
        };
        Some(Asked {
            value: other,
            not: Some(text.to_owned()),
        })
    }

    /// What an item has that is created without the attribute.
    fn default(&self) -> Option<&Value> {
        match &self.attribute.source {
            Source::Given { default } => default.as_ref().and_then(Formula::literal),
            _ => None,
        }
    }

    fn is_relied_on(&self, path: &Path) -> bool {
        path.root == CALLER && matches!(&path.steps[..], [Step::Field(name)] if *name == *self.word)
    }

    /// How an ordinary caller gives the attribute of its own item this value; none if no rule
    /// allows it.
    fn way(&self, value: &str) -> Option<Way> {
        let value = match self.word {
            "groups" => Value::L(vec![Value::from(value)]),
            _ => Value::from(value),
        };
        let is_given = matches!(self.attribute.source, Source::Given { .. });
        let default = self.default();
        if !is_given || default == Some(&value) {
            return None;
        }
        let ordinary = [None, default];
        ordinary
            .into_iter()
            .find_map(|now| self.way_from(now, &value))
    }

    /// The same of a caller who has this role or these groups now.
    fn way_from(&self, now: Option<&Value>, value: &Value) -> Option<Way> {
        let rules = &self.record.rules;
        let mut attribute_rules = rules
            .by_attribute
            .iter()
            .filter(|rule| rule.writes && rule.attributes.contains(&self.attribute.name));
        let scope = |becomes| OwnItem {
            lint: self,
            now,
            becomes,
        };
        let new = scope(Some(value));
        let may_create = new.may_hold(rules.get(Access::Create))
            && attribute_rules.clone().all(|rule| new.may_hold(&rule.rule));
        if may_create {
            return Some(self.way_past(Access::Create));
        }
        // Rules for changes look at the item as it is.
        let old = scope(None);
        let may_update = !self.attribute.fixed
            && old.may_hold(rules.get(Access::Update))
            && attribute_rules.all(|rule| old.may_hold(&rule.rule));
        if may_update {
            return Some(self.way_past(Access::Update));
        }
        let mut actions = self.design.actions.iter();
        let action = actions.find(|action| self.may_act(&old, action, value))?;
        Some(Way {
            allowed_by: action.name.clone(),
            mended_by: action.name.clone(),
        })
    }

    fn way_past(&self, access: Access) -> Way {
        Way {
            allowed_by: access.word().to_owned(),
            mended_by: format!("write {}", self.attribute.name),
        }
    }

    /// Whether an action that the caller may use on the item sets the attribute to this value, or to
    /// one of the caller's choice.
    fn may_act(&self, item: &OwnItem<'_>, action: &Action, value: &Value) -> bool {
        let name = &self.attribute.name;
        let mut set = action.changes.set.iter().filter(|(set, _)| set == name);
        let is_chosen = |formula: &Formula| {
            let mut reads = formula.reads.iter();
            reads.any(|reading| matches!(reading.origin, Origin::Parameter(_)))
        };
        let sets = action.input.contains(name)
            || set.any(|(_, formula)| formula.literal() == Some(value) || is_chosen(formula));
        let require = action.require.as_ref();
        sets && action.on.records().contains(&self.record.id)
            && item.may_hold(self.record.rules.action(action.id))
            && require.is_none_or(|require| require.tree.decide(item) != Some(false))
    }
}

/// The item of a caller, as rules see it.
struct OwnItem<'l> {
    lint: &'l SelfMade<'l>,
    /// The role or the groups of the caller.
    now: Option<&'l Value>,
    /// What the attribute of the item is to be; unknown while it is as it was.
    becomes: Option<&'l Value>,
}

impl OwnItem<'_> {
    fn may_hold(&self, rule: &Rule) -> bool {
        match rule {
            Rule::Public | Rule::SignedIn => true,
            Rule::Never => false,
            Rule::When(rule) => rule.tree.decide(self) != Some(false),
        }
    }
}

impl expression::Scope for OwnItem<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        let known = |value: Option<&'_ Value>| match value {
            Some(value) => Found::Value(Cow::Owned(value.clone())),
            None => Found::Missing,
        };
        if path.root == CALLER {
            return match &path.steps[..] {
                [] => Found::Value(Cow::Owned(Value::from(ID))),
                _ if self.lint.is_relied_on(path) => known(self.now),
                // An ordinary caller has nothing else either.
                _ => Found::Missing,
            };
        }
        let name = path.to_string();
        let record = self.lint.record;
        if record.is_identified_by(&name) {
            return Found::Value(Cow::Owned(Value::from(ID)));
        }
        match self.becomes {
            Some(value) if name == self.lint.attribute.name => known(Some(value)),
            _ => Found::Unknown,
        }
    }
}
