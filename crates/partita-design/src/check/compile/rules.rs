//! `[entity.X.allow]`: who may do what.

use partita_core::expression::Span;

use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::resolve::condition;
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::design::reference::CALLER;
use crate::design::rules::EVERY;
use crate::design::{
    Access, Action, ActionId, AttributeRule, PatternRule, RecordId, Rule, RuleLine, Rules,
};
use crate::document::{Name, Node, Section, Text};
use crate::expression::Predicate;

/// Whom a rule is for.
enum Subject {
    Every,
    Access(Access),
    Action(ActionId),
    Attributes {
        writes: bool,
        attributes: Vec<String>,
        words: String,
    },
}

/// Reads the rules of a view, which are for reading and for actions; `None` after a report, and
/// `Some(None)` when it has none of its own.
pub(crate) fn of_view(
    view: &mut Section<'_>,
    record: &DeclaredRecord,
    symbols: &Symbols,
    actions: &[Option<Action>],
) -> Option<Option<Rules>> {
    let Some(span) = view.key_span("allow") else {
        view.touch(&["allow"]);
        return Some(None);
    };
    let rules = check(view, record, symbols, actions)?;
    let has_every = rules.lines.iter().any(|line| line.words == EVERY);
    let mut written = rules.by_access.iter();
    let written = written.find(|(access, _)| {
        let is_in_every = has_every && access.is_in_every();
        *access != Access::Read && !is_in_every
    });
    if let Some((access, _)) = written {
        let message = format!(
            "a view follows its source, so there is nothing to {}",
            access.word()
        );
        view.report(Code::NoSuchOperation, span, message)
            .help("write rules for `read` and for the view's actions");
        return None;
    }
    Some(Some(rules))
}

/// Reads the rules of an entity; `None` after a report.
pub(crate) fn check(
    entity: &mut Section<'_>,
    record: &DeclaredRecord,
    symbols: &Symbols,
    actions: &[Option<Action>],
) -> Option<Rules> {
    let allow = entity.section("allow");
    // Something under this name that is no section was reported.
    if allow.is_none() && entity.key_span("allow").is_some() {
        return None;
    }
    let entries = allow.map_or(&[][..], |mut allow| allow.all());
    if entries.is_empty() {
        closed(record);
        return Some(Rules::default());
    }
    let mut rules: Vec<(Subject, Rule)> = Vec::new();
    let mut lines = Vec::new();
    let mut is_good = true;
    for (name, node) in entries {
        let subject = subject(name, record, symbols);
        stray(name, subject.as_ref(), record, actions);
        let rule = rule(name, node, record, symbols);
        lines.push(RuleLine {
            words: name.text.clone(),
            line: symbols.lines.of(name.span),
        });
        match subject.zip(rule) {
            Some((subject, rule)) => {
                rules.push((subject, rule));
            }
            None => is_good = false,
        }
    }
    is_good.then(|| Rules {
        lines,
        ..expand(rules, &of_record(record.id, actions))
    })
}

/// The actions that are done to items of a record. One that could not be read may be.
fn of_record(record: RecordId, actions: &[Option<Action>]) -> Vec<ActionId> {
    let is_of = |action: &Option<Action>| {
        let action = action.as_ref();
        action.is_none_or(|action| action.on.all_records().contains(&record))
    };
    let actions = actions.iter().enumerate();
    let found = actions.filter(|(_, action)| is_of(action));
    found.map(|(at, _)| ActionId::new(at)).collect()
}

/// Reports a rule for an action of other records.
fn stray(
    name: &Name,
    subject: Option<&Subject>,
    record: &DeclaredRecord,
    actions: &[Option<Action>],
) {
    if let Some(Subject::Action(action)) = subject
        && !of_record(record.id, actions).contains(action)
    {
        let message = format!("`{}` is no action of `{}`", name.text, record.title());
        record
            .report(Code::NoSuchOperation, name.span, message)
            .help("leave this rule out");
    }
}

fn closed(record: &DeclaredRecord) {
    let place = &record.place;
    record
        .report(
            Code::ClosedEntity,
            record.span,
            format!("`{place}` has no rules, so nobody may use it"),
        )
        .help(format!("write `[{place}.allow]`"))
        .acceptable(vec![vec![place.clone()]]);
}

fn subject(name: &Name, record: &DeclaredRecord, symbols: &Symbols) -> Option<Subject> {
    let word = name.text.as_str();
    if word == EVERY {
        return Some(Subject::Every);
    }
    if let Some((access, _)) = Access::WORDS.iter().find(|(_, known)| *known == word) {
        if matches!(access, Access::Restore | Access::Purge) && record.soft_delete.is_absent() {
            let message = format!("nothing can be {word}d here, because a delete removes the item");
            symbols
                .report(Code::NoSuchOperation, name.span, message)
                .help("write `soft-delete = \"deleted\"`, or leave this rule out");
            return None;
        }
        return Some(Subject::Access(*access));
    }
    if let Some(action) = symbols.action(word) {
        return Some(Subject::Action(action));
    }
    let mut words = word.split_whitespace();
    let writes = match words.next() {
        Some("read") => Some(false),
        Some("write") => Some(true),
        _ => None,
    };
    let attributes: Vec<&str> = words.collect();
    if let Some(writes) = writes.filter(|_| !attributes.is_empty()) {
        let resolved: Vec<_> = attributes
            .iter()
            .map(|attribute| record.resolve(attribute, name.span))
            .collect();
        let secret = resolved.iter().flatten().find(|found| found.secret);
        if let Some(secret) = secret.filter(|_| !writes) {
            let message = format!("`{}` is secret, and no rule shows it", secret.name);
            symbols
                .report(Code::NoSuchOperation, name.span, message)
                .help("leave this rule out, or leave out `secret`")
                .related(secret.span, "declared here");
            return None;
        }
        let attributes = resolved.into_iter().map(|found| Some(found?.name.clone()));
        let attributes = attributes.collect::<Option<_>>()?;
        return Some(Subject::Attributes {
            writes,
            attributes,
            words: word.to_owned(),
        });
    }
    let known = Access::WORDS.iter().map(|(_, word)| *word).chain([EVERY]);
    let actions = symbols.actions.iter().map(|(action, _)| action.as_str());
    let (code, known) = (Code::UnknownWord, known.chain(actions));
    let report = &symbols.report;
    report.unknown(code, name.span, "operation", word, known);
    None
}

fn rule(name: &Name, node: &Node, record: &DeclaredRecord, symbols: &Symbols) -> Option<Rule> {
    rule_in(node.text(&name.text)?, record, symbols)
}

/// Who may find rows by a pattern; `None` after a report.
pub(crate) fn of_pattern(
    text: &Text,
    records: &[&DeclaredRecord],
    symbols: &Symbols,
) -> Option<PatternRule> {
    let rules = records.iter().map(|record| rule_in(text, record, symbols));
    Some(PatternRule {
        rules: rules.collect::<Option<_>>()?,
        line: symbols.lines.of(text.span()),
    })
}

fn rule_in(text: &Text, record: &DeclaredRecord, symbols: &Symbols) -> Option<Rule> {
    if let Some(rule) = Rule::find(text.as_str()) {
        return Some(rule);
    }
    // A view's record leads where its source does.
    let source = record.view.as_ref().and_then(|view| view.source);
    let source = source.map(|source| &symbols[source]);
    let names = Names {
        with_old: false,
        refs: source.map_or(&[], |source| &source.refs),
        view: source.map(|_| record.id),
        ..Names::of(symbols, record)
    };
    let predicate = condition::check(text, &names)?;
    if let Some(source) = source {
        demand_arguments(&predicate, record, source, text.span(), symbols)?;
    }
    let far = predicate.reads.iter().find(|reading| {
        let last = usize::from(reading.by_key);
        reading.hops.len() > 1 + last
    });
    if let Some(reading) = far {
        let message = format!(
            "a rule follows one ref, and `{}` follows more",
            reading.path
        );
        symbols
            .report(Code::PathNotHere, text.span(), message)
            .help("keep what the rule needs in the item between");
        return None;
    }
    Some(Rule::When(Box::new(predicate)))
}

/// A view has what the refs of its source are made of that its rules follow; `None` after a report.
fn demand_arguments(
    rule: &Predicate,
    view: &DeclaredRecord,
    source: &DeclaredRecord,
    span: Span,
    symbols: &Symbols,
) -> Option<()> {
    let mut is_good = true;
    for reading in rule.reads.iter().filter(|reading| !reading.hops.is_empty()) {
        for name in source.names_read(reading, symbols) {
            if view.find(&name).is_some() {
                continue;
            }
            let message = format!(
                "`{}` is found by `{name}`, which `{}` does not have",
                reading.path, view.place
            );
            symbols
                .report(Code::UnreadableView, span, message)
                .help(format!("add \"{name}\" to `keep`"));
            is_good = false;
        }
    }
    is_good.then_some(())
}

/// Who administrates, as `[caller]` says it. There is no item that could be asked.
pub(crate) fn administrators(caller: Option<Section<'_>>, symbols: &Symbols) -> Option<Rule> {
    let text = caller?.text("administrators").given()?;
    if let Some(rule) = Rule::find(text.as_str()) {
        open_administrators(text, &rule);
        return Some(rule);
    }
    let tree = condition::parse(text)?;
    let mut other = None;
    tree.visit_paths(&mut |path| {
        if path.root != CALLER && other.is_none() {
            other = Some((path.to_string(), text.locate(path.span)));
        }
    });
    if let Some((path, span)) = other {
        let message = format!("`{path}` is not of the caller, and there is no item here");
        text.report(Code::PathNotHere, span, message)
            .help("write `caller.role = 'admin'`, or `contains(caller.groups, 'admin')`");
        return None;
    }
    let rule = condition::resolve(tree, text, &Names::of_caller(symbols))?;
    Some(Rule::When(Box::new(rule)))
}

/// Reports a rule that leaves out nobody. Administrators see items past all other rules.
fn open_administrators(text: &Text, rule: &Rule) {
    let whose = match rule {
        Rule::Public => "everybody",
        Rule::SignedIn => "everybody with a token",
        Rule::Never | Rule::When(_) => return,
    };
    let message = format!("{whose} is an administrator, and sees all items past the other rules");
    text.report_here(Code::OpenAdministrators, message)
        .help("write `caller.role = 'admin'`, or `contains(caller.groups, 'admin')`")
        .acceptable(vec![vec!["caller.administrators".to_owned()]]);
}

/// Puts the rule for every operation in the place of those that have none of their own.
fn expand(rules: Vec<(Subject, Rule)>, actions: &[ActionId]) -> Rules {
    let mut expanded = Rules::default();
    let named: Vec<Access> = rules
        .iter()
        .filter_map(|(subject, _)| match subject {
            Subject::Access(access) => Some(*access),
            _ => None,
        })
        .collect();
    let named_actions: Vec<ActionId> = rules
        .iter()
        .filter_map(|(subject, _)| match subject {
            Subject::Action(action) => Some(*action),
            _ => None,
        })
        .collect();
    for (subject, rule) in rules {
        match subject {
            Subject::Access(access) => expanded.by_access.push((access, rule)),
            Subject::Action(action) => expanded.by_action.push((action, rule)),
            Subject::Attributes {
                writes,
                attributes,
                words,
            } => expanded.by_attribute.push(AttributeRule {
                writes,
                attributes,
                words,
                rule,
            }),
            Subject::Every => {
                let others = Access::WORDS.iter().map(|(access, _)| *access);
                let others =
                    others.filter(|access| access.is_in_every() && !named.contains(access));
                expanded
                    .by_access
                    .extend(others.map(|access| (access, rule.clone())));
                let others = actions
                    .iter()
                    .filter(|action| !named_actions.contains(action));
                expanded
                    .by_action
                    .extend(others.map(|action| (*action, rule.clone())));
            }
        }
    }
    expanded
}
