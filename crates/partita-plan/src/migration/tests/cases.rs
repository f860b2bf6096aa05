//! The changes of `tests/evolution`, as pairs of designs.

use partita_design::Design;

/// A change, as the texts of both designs.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) old: String,
    pub(super) new: String,
}

pub(super) fn cases() -> Vec<Case> {
    let old = include_str!("../../../tests/evolution/press.toml");
    let text = include_str!("../../../tests/evolution/press.changes");
    let mut cases: Vec<Case> = Vec::new();
    let mut old_lines: Vec<&str> = Vec::new();
    let mut lines = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .peekable();
    while let Some(line) = lines.next() {
        if let Some(base) = line.strip_prefix("= ") {
            let base = cases.iter().find(|one| one.name == base);
            let base = base.expect("it comes before").new.clone();
            let case = cases.last_mut().expect("a name comes first");
            (case.old, case.new) = (base.clone(), base);
        } else if let Some(replaced) = line.strip_prefix("- ") {
            old_lines.push(replaced);
        } else if let Some(first) = line.strip_prefix('+') {
            let mut added = vec![first.strip_prefix(' ').unwrap_or(first)];
            while let Some(more) = lines.peek().and_then(|next| next.strip_prefix('+')) {
                added.push(more.strip_prefix(' ').unwrap_or(more));
                lines.next();
            }
            let case = cases.last_mut().expect("a name comes first");
            if old_lines.is_empty() {
                case.new = format!("{}\n{}\n", case.new, added.join("\n"));
            } else {
                let replaced = format!("{}\n", std::mem::take(&mut old_lines).join("\n"));
                assert_eq!(
                    case.new.matches(&replaced).count(),
                    1,
                    "{}: {replaced}",
                    case.name
                );
                // What is replaced ends with the line; what comes at the end of the file begins anew.
                let (sections, rest) = split_sections(&added);
                case.new = case.new.replacen(&replaced, &format!("{sections}\n"), 1);
                case.new.push_str(&rest);
            }
        } else if !line.trim().is_empty() {
            cases.push(Case {
                name: line.to_owned(),
                old: old.to_owned(),
                new: old.to_owned(),
            });
        }
    }
    for case in &cases {
        compiled(&case.new);
    }
    cases
}

/// Lines in the place of others, and the new sections behind them, which belong at the end of the
/// file unless the replaced line began one.
fn split_sections(added: &[&str]) -> (String, String) {
    let is_head = |line: &&str| line.starts_with('[');
    let begins_section = added.first().is_some_and(is_head);
    let end = added.iter().position(is_head).filter(|_| !begins_section);
    let (here, rest) = added.split_at(end.unwrap_or(added.len()));
    let rest = rest.join("\n");
    let rest = if rest.is_empty() {
        rest
    } else {
        format!("\n{rest}\n")
    };
    (here.join("\n"), rest)
}

/// Whether a change takes a migration, and can be carried out without naming what goes.
pub(super) fn is_possible(from: &str, to: &str) -> bool {
    let changes = crate::migration::changes::changes(&compiled(from), &compiled(to), &[]);
    !changes.is_empty() && changes.iter().all(|one| one.obstacle.is_none())
}

/// Whether it can be taken back after the switch.
pub(super) fn is_reversible(from: &str, to: &str) -> bool {
    let changes = crate::migration::changes::changes(&compiled(from), &compiled(to), &[]);
    changes.iter().all(|one| one.change.is_reversible)
}

/// What callers gave and a change drops.
pub(super) fn dropped(from: &Design, to: &Design) -> Vec<String> {
    use partita_design::difference::{Class, between};
    let changes = between(from, to).into_iter();
    let dropped = changes.filter(|one| one.class == Class::Dropping);
    dropped.map(|one| one.name()).collect()
}

pub(super) fn compiled(text: &str) -> Design {
    let (design, diagnostics) = partita_design::check(text, &|_| None);
    design.unwrap_or_else(|| panic!("{diagnostics:#?}\n{text}"))
}
