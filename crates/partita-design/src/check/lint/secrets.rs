//! Secrets that could be learned in a roundabout way.
//!
//! A secret attribute is never shown. What is computed from one is, unless it is secret too; and
//! a caller who may filter or sort by one can find out its value by asking often enough.

use partita_core::expression::Span;

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Assignments, Design, Pattern, RecordId};
use crate::expression::Reading;

/// Warns of everything that would reveal a secret.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let secrets = Secrets { symbols };
    for record in &design.records {
        let attributes = record.attributes.iter();
        for attribute in attributes.filter(|one| one.is_declared()) {
            secrets.value(record.id, &attribute.name, attribute.reads());
        }
    }
    for trigger in &design.triggers {
        let place = format!("trigger.{}", trigger.name);
        let span = symbols[trigger.id].1;
        let effect = &trigger.effect;
        secrets.changes(&place, span, effect.target.records(), &effect.changes);
    }
    for action in &design.actions {
        let place = format!("action.{}", action.name);
        let span = symbols[action.id].1;
        secrets.changes(&place, span, action.on.all_records(), &action.changes);
        for effect in &action.then {
            secrets.changes(&place, span, effect.target.records(), &effect.changes);
        }
    }
    for pattern in &design.patterns {
        secrets.pattern(pattern);
    }
}

struct Secrets<'s> {
    symbols: &'s Symbols,
}

impl Secrets<'_> {
    /// A value that is stored under a name of a record.
    fn value(&self, record: RecordId, name: &str, reads: &[Reading]) {
        let record = &self.symbols[record];
        let declared = record.find(name);
        let Some(declared) = declared.filter(|declared| !declared.secret) else {
            return;
        };
        let place = format!("{}.{name}", record.place);
        if let Some(secret) = reads.iter().find(|reading| reading.secret) {
            let message = format!("`{}` is secret, and `{name}` shows it", secret.path);
            self.warn(message, "make it `secret` too", place, declared.span);
        }
    }

    /// What an effect writes into some attributes.
    fn changes(&self, place: &str, span: Span, records: &[RecordId], changes: &Assignments) {
        for (name, formula) in changes.set.iter().chain(&changes.add) {
            let is_hidden = records.iter().all(|record| {
                let declared = self.symbols[*record].find(name);
                declared.is_some_and(|declared| declared.secret)
            });
            let secret = formula.reads.iter().find(|reading| reading.secret);
            if let Some(secret) = secret.filter(|_| !is_hidden) {
                let message = format!(
                    "`{}` is secret, and this writes it into `{name}`",
                    secret.path
                );
                let help = format!("make `{name}` secret too");
                self.warn(message, &help, place.to_owned(), span);
            }
        }
    }

    /// What a reader can find out by asking.
    fn pattern(&self, pattern: &Pattern) {
        let place = format!("pattern.{}", pattern.name);
        let span = self.symbols[pattern.id].1;
        let mut reads = pattern.filter.iter().flat_map(|filter| &filter.reads);
        // A filter without parameters asks one thing only.
        let asked = reads.find(|reading| reading.secret && !pattern.texts.is_empty());
        let sorted = pattern.sort.iter().find(|order| {
            pattern.returns.iter().any(|record| {
                let declared = self.symbols[*record].find(&order.attribute);
                declared.is_some_and(|declared| declared.secret)
            })
        });
        let name = asked
            .map(|reading| reading.path.to_string())
            .or(sorted.map(|order| order.attribute.clone()));
        if let Some(name) = name {
            let message = format!("`{name}` is secret, and this tells which rows have which");
            let help = "compare it where the caller cannot ask, in a rule or a `require`";
            self.warn(message, help, place, span);
        }
    }

    fn warn(&self, message: String, help: &str, place: String, span: Span) {
        self.symbols
            .report(Code::RevealedSecret, span, message)
            .help(help)
            .acceptable(vec![vec![place]]);
    }
}
