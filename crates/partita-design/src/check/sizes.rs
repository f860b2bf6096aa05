//! Writes that take more actions than a transaction has.

use partita_core::limits::TRANSACTION_ACTIONS_MAX;

use super::world::World;
use crate::Design;
use crate::codes::Code;
use crate::design::Access;
use crate::diagnostic::Report;
use crate::kernel::{self, Size, Write};

/// Reports them: for each entity the largest of its writes, and every action.
pub(crate) fn check(world: &World, design: &Design, report: &mut Report) {
    let mut sizes = kernel::sizes(design);
    sizes.retain(|size| size.actions > TRANSACTION_ACTIONS_MAX);
    let same = |one: &Size, two: &Size| match (&one.write, &two.write) {
        (Write::Access(_, one), Write::Access(_, two)) => one == two,
        _ => false,
    };
    for size in &sizes {
        let is_smaller = |other: &Size| same(size, other) && other.actions > size.actions;
        if !sizes.iter().any(is_smaller) {
            too_large(world, design, size, report);
        }
    }
}

fn too_large(world: &World, design: &Design, size: &Size, report: &mut Report) {
    let (what, span) = match &size.write {
        Write::Access(access, entity) => {
            let found = Some(world[*entity].span);
            let entity = &design[*entity].name;
            let what = match access {
                Access::Create => "creating",
                Access::Delete => "deleting",
                _ => "updating",
            };
            (format!("{what} a `{entity}`"), found)
        }
        Write::Action(action) => {
            let found = world.actions.get(action.index());
            let name = &design[*action].name;
            (format!("`{name}`"), found.map(|(_, span)| *span))
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
    report
        .add(Code::TransactionSize, span.unwrap_or_default(), message)
        .help(format!(
            "lower a bound, or let an `each` go over a pattern, which makes it a job: {}",
            parts.join(", ")
        ));
}
