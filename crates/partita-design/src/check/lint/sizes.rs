//! Writes that take more actions than a transaction has.

use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_core::wording::one;

use crate::Design;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::Access;
use crate::kernel::{self, Size, Write};

/// Reports them: for each entity the largest of its writes, and every action.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let mut sizes = kernel::sizes(design);
    sizes.retain(|size| size.actions > TRANSACTION_ACTIONS_MAX);
    let same = |one: &Size, two: &Size| match (&one.write, &two.write) {
        (Write::Access(_, one), Write::Access(_, two)) => one == two,
        _ => false,
    };
    for size in &sizes {
        let is_smaller = |other: &Size| same(size, other) && other.actions > size.actions;
        if !sizes.iter().any(is_smaller) {
            too_large(symbols, design, size);
        }
    }
}

fn too_large(symbols: &Symbols, design: &Design, size: &Size) {
    let (what, span) = match &size.write {
        Write::Access(access, entity) => {
            let found = symbols[*entity].span;
            let entity = &design[*entity].name;
            let what = match access {
                Access::Create => "creating",
                Access::Delete => "deleting",
                Access::Purge => "purging",
                _ => "updating",
            };
            (format!("{what} {}", one(entity)), found)
        }
        Write::Action(action) => {
            let (name, span) = &symbols[*action];
            (format!("`{name}`"), *span)
        }
    };
    let parts: Vec<String> = size
        .parts
        .iter()
        .filter(|part| part.actions > 1)
        .take(3)
        .map(|part| format!("{} for `{}`", part.actions, part.cause))
        .collect();
    let message = format!(
        "{what} takes up to {} actions, and a transaction has {TRANSACTION_ACTIONS_MAX}",
        size.actions
    );
    symbols
        .report(Code::TransactionSize, span, message)
        .help(format!(
            "lower a bound, or let an `each` go over a pattern, which makes it a job: {}",
            parts.join(", ")
        ));
}
