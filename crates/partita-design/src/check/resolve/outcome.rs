//! Conditions that do not say what they seem to: those with one outcome only, and `<>` with
//! something that may be missing.

use partita_core::Value;
use partita_core::expression::{Comparator, Condition, Operand, Path};

use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::document::Text;
use crate::expression::{Origin, Predicate, Reading};
use crate::types::AttributeType;

/// Warns of what a condition says, once its names are known. `place` is where it can be accepted.
pub(crate) fn check(predicate: &Predicate, text: &Text, place: &str, names: &Names<'_>) {
    let judgement = judge(predicate, names);
    match judgement.outcome {
        Some(outcome) => warn_of_outcome(outcome, "", text, place),
        None => warn_of_missing(&judgement.missing, text, place),
    }
}

/// As [`check`], for a condition over items of several records, each with its own names.
///
/// A part that always holds of one record may be there for the other. One that never holds of a
/// record leaves none of its items, and `<>` is as loose as in the loosest of them.
pub(crate) fn check_all(judged: &[(&str, Judgement)], text: &Text, place: &str) {
    let mut outcomes = judged.iter().map(|(_, judgement)| judgement.outcome);
    if let Some(Some(first)) = outcomes.next()
        && outcomes.all(|outcome| outcome == Some(first))
    {
        return warn_of_outcome(first, "", text, place);
    }
    let mut missing: Vec<Path> = Vec::new();
    for (title, judgement) in judged {
        if judgement.outcome == Some(false) {
            let of = format!(" of `{title}`");
            warn_of_outcome(false, &of, text, place);
        }
        for path in &judgement.missing {
            if !missing.contains(path) {
                missing.push(path.clone());
            }
        }
    }
    warn_of_missing(&missing, text, place);
}

/// What can be said of a condition over the items of one record.
pub(crate) struct Judgement {
    /// What it always is.
    outcome: Option<bool>,
    /// The operands of `<>` that may be missing.
    missing: Vec<Path>,
}

/// Judges a condition whose names are known.
pub(crate) fn judge(predicate: &Predicate, names: &Names<'_>) -> Judgement {
    let outcome = outcome(&predicate.tree, &predicate.reads);
    let mut found = Vec::new();
    if outcome.is_none() {
        missing(&predicate.tree, &[], predicate, names, &mut found);
    }
    Judgement {
        outcome,
        missing: found,
    }
}

fn warn_of_outcome(outcome: bool, of: &str, text: &Text, place: &str) {
    let (message, help) = if outcome {
        ("this always holds", "leave it out, or compare with less")
    } else {
        (
            "this never holds",
            "write `OR` where one of the two is meant",
        )
    };
    text.report_here(Code::OneOutcome, format!("{message}{of}"))
        .help(help)
        .acceptable(vec![vec![place.to_owned()]]);
}

fn warn_of_missing(paths: &[Path], text: &Text, place: &str) {
    for path in paths {
        let message = format!("`{path}` may be missing, and what is missing is different too");
        text.report(Code::MissingOperand, text.locate(path.span), message)
            .help(format!(
                "write `attribute_exists({path}) AND …`, or `attribute_not_exists({path}) OR …`"
            ))
            .acceptable(vec![vec![place.to_owned()]]);
    }
}

/// The operands of `<>` that may be missing, where nothing beside them says what happens then.
fn missing(
    condition: &Condition,
    beside: &[&Condition],
    whole: &Predicate,
    names: &Names<'_>,
    found: &mut Vec<Path>,
) {
    match condition {
        Condition::All(parts) => {
            for part in parts {
                let others = parts.iter().filter(|other| !std::ptr::eq(*other, part));
                let beside: Vec<_> = beside.iter().copied().chain(others).collect();
                missing(part, &beside, whole, names, found);
            }
        }
        Condition::Any(parts) => {
            let told = |path: &Path| {
                let is_it = |part: &Condition| matches!(part, Condition::NotExists(it) if it.to_string() == path.to_string());
                parts.iter().any(is_it)
            };
            let mut inner = Vec::new();
            for part in parts {
                missing(part, beside, whole, names, &mut inner);
            }
            inner.retain(|path| !told(path));
            found.append(&mut inner);
        }
        Condition::Compare(left, Comparator::NotEqual, right) => {
            let sides = [left, right].map(|side| reading(side, &whole.reads));
            let is_silent = |one: &Option<&Reading>| {
                one.is_some_and(|one| matches!(one.origin, Origin::Old | Origin::Caller))
            };
            // A missing `old` value is different, which is meant; without a caller nothing is compared.
            if sides.iter().any(is_silent) {
                return;
            }
            let known = Predicate {
                tree: Condition::All(beside.iter().map(|one| (*one).clone()).collect()),
                ..whole.clone()
            };
            let names = names.clone().given([&known]);
            for side in sides.into_iter().flatten().filter(|side| side.optional) {
                // The path was resolved before, so that this reports nothing.
                let again = names.find_silently(&side.path);
                if again.is_none_or(|reading| reading.optional) {
                    found.push(path_of([left, right], side));
                }
            }
        }
        _ => {}
    }
}

fn reading<'r>(operand: &Operand, reads: &'r [Reading]) -> Option<&'r Reading> {
    match operand {
        Operand::Path(path) => reads.iter().find(|reading| reading.path == *path),
        _ => None,
    }
}

/// The path with its own place in the text.
fn path_of(sides: [&Operand; 2], reading: &Reading) -> Path {
    let mut paths = sides.into_iter().filter_map(|side| match side {
        Operand::Path(path) if *path == reading.path => Some(path.clone()),
        _ => None,
    });
    paths.next().unwrap_or_else(|| reading.path.clone())
}

/// What the condition always is, where that can be seen from one attribute.
fn outcome(condition: &Condition, reads: &[Reading]) -> Option<bool> {
    match condition {
        Condition::All(parts) => {
            let known: Vec<_> = parts.iter().map(|part| outcome(part, reads)).collect();
            if known.contains(&Some(false)) {
                return Some(false);
            }
            // INVARIANT: a part with one outcome is never right, so that it is reported too.
            known
                .into_iter()
                .flatten()
                .next()
                .or_else(|| excluded(parts, reads).then_some(false))
        }
        Condition::Any(parts) => {
            let known: Vec<_> = parts.iter().map(|part| outcome(part, reads)).collect();
            if known.contains(&Some(true)) {
                return Some(true);
            }
            let opposites: Vec<_> = parts.iter().map(opposite).collect();
            let first = known.into_iter().flatten().next();
            first.or_else(|| excluded(&opposites, reads).then_some(true))
        }
        Condition::Not(inner) => outcome(inner, reads).map(|known| !known),
        Condition::Compare(Operand::Path(one), comparator, Operand::Path(two)) => {
            let is_there = reads.iter().any(|it| it.path == *one && !it.optional);
            (one == two && is_there).then_some(matches!(
                comparator,
                Comparator::Equal | Comparator::LessOrEqual | Comparator::GreaterOrEqual
            ))
        }
        _ => None,
    }
}

fn opposite(condition: &Condition) -> Condition {
    match condition {
        Condition::Exists(path) => Condition::NotExists(path.clone()),
        Condition::NotExists(path) => Condition::Exists(path.clone()),
        Condition::Not(inner) => (**inner).clone(),
        Condition::Compare(left, comparator, right) if *comparator == Comparator::Equal => {
            Condition::Compare(left.clone(), Comparator::NotEqual, right.clone())
        }
        Condition::Compare(left, comparator, right) if *comparator == Comparator::NotEqual => {
            Condition::Compare(left.clone(), Comparator::Equal, right.clone())
        }
        other => Condition::Not(Box::new(other.clone())),
    }
}

/// Whether no value of one attribute satisfies all the parts.
fn excluded(parts: &[Condition], reads: &[Reading]) -> bool {
    reads.iter().any(|reading| {
        let claims: Vec<Claim<'_>> = parts
            .iter()
            .filter_map(|part| claim(part, &reading.path))
            .collect();
        is_contradiction(&claims, reading)
    })
}

/// What a part of a condition says of one attribute.
#[derive(PartialEq)]
enum Claim<'c> {
    Is(&'c Value),
    IsNot(&'c Value),
    Above(&'c Value, bool),
    Below(&'c Value, bool),
    Exists,
    Missing,
}

fn claim<'c>(condition: &'c Condition, path: &Path) -> Option<Claim<'c>> {
    match condition {
        Condition::Exists(it) => (it == path).then_some(Claim::Exists),
        Condition::NotExists(it) => (it == path).then_some(Claim::Missing),
        Condition::Compare(Operand::Path(it), comparator, Operand::Value(value, _))
            if it == path =>
        {
            Some(match comparator {
                Comparator::Equal => Claim::Is(value),
                Comparator::NotEqual => Claim::IsNot(value),
                Comparator::Less => Claim::Below(value, false),
                Comparator::LessOrEqual => Claim::Below(value, true),
                Comparator::Greater => Claim::Above(value, false),
                Comparator::GreaterOrEqual => Claim::Above(value, true),
            })
        }
        _ => None,
    }
}

fn is_contradiction(claims: &[Claim<'_>], reading: &Reading) -> bool {
    let pairs = claims.iter().enumerate().any(|(index, one)| {
        claims[index + 1..]
            .iter()
            .any(|two| exclude(one, two) || exclude(two, one))
    });
    let denied = |value: &Value| claims.contains(&Claim::IsNot(value));
    let all_denied = match &reading.kind {
        _ if reading.optional => false,
        AttributeType::Bool => denied(&Value::Bool(true)) && denied(&Value::Bool(false)),
        AttributeType::Enum(words) => words.iter().all(|word| denied(&Value::from(word.as_str()))),
        AttributeType::State(states) => {
            let mut names = states.names.iter();
            names.all(|word| denied(&Value::from(word.as_str())))
        }
        _ => false,
    };
    pairs || all_denied
}

fn exclude(one: &Claim<'_>, two: &Claim<'_>) -> bool {
    match (one, two) {
        (Claim::Is(one), Claim::Is(two)) => one != two,
        (Claim::Is(one), Claim::IsNot(two)) => one == two,
        (Claim::Exists | Claim::Is(_) | Claim::Above(..) | Claim::Below(..), Claim::Missing) => {
            true
        }
        (Claim::Above(low, from), Claim::Below(high, to)) => match (low, high) {
            (Value::N(low), Value::N(high)) => low > high || low == high && !(*from && *to),
            (Value::S(low), Value::S(high)) => low > high || low == high && !(*from && *to),
            _ => false,
        },
        (Claim::Is(Value::N(is)), Claim::Above(Value::N(low), from)) => {
            is < low || is == low && !from
        }
        (Claim::Is(Value::N(is)), Claim::Below(Value::N(high), to)) => {
            is > high || is == high && !to
        }
        _ => false,
    }
}
