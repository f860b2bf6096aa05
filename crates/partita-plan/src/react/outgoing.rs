//! Effects that leave the system: mails and events, recorded in the outbox.

use partita_core::{Map, Value, plain};
use partita_design::design::{Effect, EffectTarget, MailForm, Record};
use partita_design::expression::Formula;
use partita_design::nested;

use super::each::DistinctElements;
use super::effect::EffectCause;
use super::holds;
use crate::error::PlanError;
use crate::evaluate::ItemScope;
use crate::outbox::{Content, Event, Mail};
use crate::place::Address;
use crate::planner::Planner;

impl<'a> Planner<'a> {
    /// Records what an effect sends, for one element or once.
    pub(super) fn send_out(
        &mut self,
        cause: EffectCause<'_, 'a>,
        element: Option<&(&'a Record, Address)>,
        distinct: &mut DistinctElements,
    ) -> Result<(), PlanError> {
        let design = &self.context.blueprint.design;
        let (effect, name) = (&design[cause.effect], design.effect_name(cause.effect));
        let record = self.entry(cause.at).record;
        let kind = format!("{}.{}.{name}", design.name, record.name);
        let made = self.evaluate_cause(cause, |scope| {
            let is_wanted =
                holds(cause.reaction, &scope) && distinct.insert_element(effect, element, &scope);
            is_wanted.then(|| {
                let require = effect.require.as_ref();
                let refused = require.filter(|require| !require.holds(&scope));
                (refused, content(&scope, effect, &kind))
            })
        })?;
        let Some((refused, content)) = made.flatten() else {
            return Ok(());
        };
        if let Some(require) = refused.filter(|_| self.context.reads.is_complete()) {
            return Err(PlanError::Requires {
                name: name.to_owned(),
                rule: require.text.clone(),
            });
        }
        if let Some(content) = content {
            self.post(cause.at, name, content);
        }
        Ok(())
    }
}

/// What leaves; nothing where a mail has no address.
fn content(scope: &ItemScope<'_, '_>, effect: &Effect, kind: &str) -> Option<Content> {
    match &effect.target {
        EffectTarget::Mail(mail) => mail_of(scope, mail).map(Content::Mail),
        EffectTarget::Receiver { name, with } => Some(Content::Event {
            receiver: name.clone(),
            event: Event {
                kind: kind.to_owned(),
                subject: subject_of(scope.record, scope.item),
                data: plain::to_json(&Value::M(data_of(scope, with))),
            },
        }),
        _ => None,
    }
}

fn mail_of(scope: &ItemScope<'_, '_>, mail: &MailForm) -> Option<Mail> {
    let text = |formula: &Formula| match formula.value(scope)? {
        Value::S(text) => Some(text),
        Value::N(number) => Some(number.to_string()),
        _ => None,
    };
    let to = text(&mail.to).filter(|to| !to.trim().is_empty())?;
    let subject = text(&mail.subject)?;
    Some(Mail::new(to, &subject, text(&mail.text)?))
}

/// What a receiver is told: the values that are named, or the item without its secrets.
fn data_of(scope: &ItemScope<'_, '_>, with: &[(String, Formula)]) -> Map {
    if with.is_empty() {
        let blueprint = scope.context.blueprint;
        return blueprint.without_secrets(scope.record, scope.item.clone());
    }
    let named = with.iter();
    named
        .filter_map(|(name, value)| Some((name.clone(), value.value(scope)?)))
        .collect()
}

/// The item in the form of a path, without the secret parts of its identity.
pub(crate) fn subject_of(record: &Record, item: &Map) -> String {
    let mut path = record.name.clone();
    for part in &record.identity {
        let attribute = record.stored(&part.attribute);
        let text = match nested::get(item, &part.attribute) {
            _ if attribute.is_some_and(|one| one.secret) => "*".to_owned(),
            Some(Value::S(text)) => text.clone(),
            Some(Value::N(number)) => number.to_string(),
            _ => continue,
        };
        path = format!("{path}/{text}");
    }
    path
}
