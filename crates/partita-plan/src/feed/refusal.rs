//! What cannot be followed, whoever asks and whatever is stored.

use partita_design::Design;
use partita_design::design::{Access, Pattern, Read, Record, Rule};
use partita_design::expression::Predicate;

/// Why a pattern has no feed: no event would say what has happened to its rows.
pub fn no_feed(design: &Design, pattern: &Pattern) -> Option<String> {
    let timed = depends_on_time(design, pattern);
    let timed = timed
        .map(|what| format!("{what} compares with `now`, and the passing of time is no event"));
    timed.or_else(|| {
        // Of one row there is nothing to tell apart.
        let is_one = pattern.one || matches!(pattern.read, Read::Get(_));
        let (record, part) = shown(design, pattern)
            .filter(|_| !is_one)
            .find_map(|record| Some((record, hidden_part(record)?)))?;
        Some(format!(
            "`{part}` tells items of `{}` apart, and is not shown; so nobody could tell which of them an event is about",
            record.name
        ))
    })
}

/// The records that the rows of a pattern are shown as.
fn shown<'d>(design: &'d Design, pattern: &'d Pattern) -> impl Iterator<Item = &'d Record> {
    let rows = pattern.returns.iter().map(|id| &design[*id]);
    rows.flat_map(|row| match pattern.followed(row) {
        None => vec![row],
        Some(reference) => reference.records().map(|id| &design[id]).collect(),
    })
}

/// A part of a record's identity that is secret, or not for everybody who may read the record.
fn hidden_part(record: &Record) -> Option<&str> {
    let secrets = record.attributes.iter().filter(|one| one.secret);
    let secrets = secrets.map(|one| one.name.as_str());
    let rules = record.rules.by_attribute.iter();
    let rules = rules.filter(|one| !one.writes && one.rule != Rule::Public);
    let ruled = rules.flat_map(|one| one.attributes.iter().map(String::as_str));
    let hidden: Vec<&str> = secrets.chain(ruled).collect();
    let is_in = |attribute: &str, hidden: &str| {
        let rest = attribute.strip_prefix(hidden);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut parts = record.identity.iter();
    let part = parts.find(|part| hidden.iter().any(|name| is_in(&part.attribute, name)))?;
    Some(&part.attribute)
}

/// What of a pattern depends on the time, and not on items alone.
fn depends_on_time(design: &Design, pattern: &Pattern) -> Option<String> {
    if pattern.filter.as_ref().is_some_and(is_timed) {
        return Some(format!("the filter of `{}`", pattern.name));
    }
    // A row that leads to another item is decided on by the rules of both.
    let rows = pattern.returns.iter().map(|id| &design[*id]);
    let mut records = rows.chain(shown(design, pattern));
    let timed = records.find(|record| {
        let shown = record.rules.by_attribute.iter().filter(|one| !one.writes);
        let rules = shown.map(|one| &one.rule);
        let mut rules = rules.chain([record.rules.get(Access::Read)]);
        rules.any(|rule| matches!(rule, Rule::When(rule) if is_timed(rule)))
    });
    let mut found = pattern.allow.iter().flat_map(|allow| &allow.rules);
    if found.any(|rule| matches!(rule, Rule::When(rule) if is_timed(rule))) {
        return Some(format!("the rule of `{}`", pattern.name));
    }
    timed.map(|record| format!("the rule for reading `{}`", record.name))
}

fn is_timed(predicate: &Predicate) -> bool {
    let mut is_timed = false;
    predicate
        .tree
        .visit_paths(&mut |path| is_timed |= path.root == "now");
    is_timed
}
