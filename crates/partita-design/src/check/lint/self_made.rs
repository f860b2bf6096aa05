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
use crate::design::{Access, Action, Attribute, CallerSource, Design, Record, Rule, Source};
use crate::expression::{Formula, Origin};

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
        let mut ways = ways.filter_map(|(value, by)| Some((self.way(&value)?, value, by)));
        let Some((way, value, by)) = ways.next() else {
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

    /// The values that rules ask for, each with who asks.
    fn relied_on(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut add = |rule: &Rule, by: String| {
            if let Rule::When(rule) = rule {
                let mut values = Vec::new();
                self.values_asked(&rule.tree, &mut values);
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

    /// The texts that `caller.role` is compared with, or that `caller.groups` must contain.
    fn values_asked(&self, condition: &Condition, values: &mut Vec<String>) {
        let is_asked =
            |operand: &Operand| matches!(operand, Operand::Path(path) if self.is_relied_on(path));
        let mut add = |operand: &Operand| {
            if let Operand::Value(Value::S(text), _) = operand {
                values.push(text.clone());
            }
        };
        match condition {
            Condition::All(parts) | Condition::Any(parts) => {
                parts
                    .iter()
                    .for_each(|part| self.values_asked(part, values));
            }
            Condition::Compare(one, Comparator::Equal, other) | Condition::Contains(one, other) => {
                if is_asked(one) {
                    add(other);
                } else if is_asked(other) {
                    add(one);
                }
            }
            Condition::In(one, others) if is_asked(one) => others.iter().for_each(add),
            _ => {}
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
        let Source::Given { default } = &self.attribute.source else {
            return None;
        };
        let default = default.as_ref().and_then(Formula::literal);
        if default == Some(&value) {
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
