//! What a target need not keep any more.
//!
//! Every moment since a time stays. So of each chain the newest base that comes to a moment before
//! that time stays, with all segments since its first commit; what is older goes. A chain that ended
//! before that time goes as a whole, unless no other one ends later. Before anything goes, what
//! stays is looked at: where its pieces or segments are not complete, nothing is removed.
//!
//! The object that makes a base whole goes first, then its pieces, then segments, the oldest first;
//! last the bytes of files, and what says which files there were.
//! So however a removal ends, what is left is a backup with fewer moments, not one with a gap.

use std::sync::Arc;

use crate::catalog::{BaseInfo, Catalog, Chain, ChainObjects, Plain};
use crate::error::BackupError;
use crate::files;
use crate::names::{self, Kind};
use crate::restoring::Reach;
use crate::sealing::BackupKey;
use crate::target::Target;

/// Removes what is needed for no moment of a store since this time, in milliseconds since 1970. How
/// many objects are gone. Chains of other stores, and those that do not say of which they are, stay.
/// Others may ship meanwhile; the chain that is being written does not go as a whole, however old its
/// last commit is.
pub async fn remove_before(
    target: &dyn Target,
    keys: &[Arc<BackupKey>],
    store: &str,
    millis: i64,
    written: Option<u32>,
) -> Result<usize, BackupError> {
    let catalog = Catalog::read(target).await?;
    let mut chains = Vec::new();
    for (number, objects) in &catalog.chains {
        let chain = match Chain::open(target, *number, keys, Plain::Taken).await {
            Ok(chain) => chain,
            // Of a chain that cannot be read nothing is known.
            Err(BackupError::Key(_)) => continue,
            Err(error) => return Err(error),
        };
        if chain.head.store.as_deref() != Some(store) {
            continue;
        }
        let reach = Reach::of(&chain, target, objects).await?;
        chains.push((chain, objects, reach));
    }
    // A chain that was begun by hand may end before an older one does.
    chains.sort_by_key(|(chain, _, reach)| (reach.last.time_millis, reach.last.number, chain.name));
    let mut removed = 0;
    // The last base of the chain that ends last.
    let mut newer: Option<(Chain, &ChainObjects, BaseInfo)> = None;
    for (chain, objects, reach) in chains.into_iter().rev() {
        let surplus = match &newer {
            Some((newer, theirs, base))
                if written != Some(chain.name.0) && has_ended(&chain, &reach, millis) =>
            {
                demand_whole(newer, target, theirs, base).await?;
                whole(objects)
            }
            _ => older(&chain, target, objects, &reach, millis).await?,
        };
        for name in &surplus {
            target.remove(name).await?;
        }
        removed += surplus.len();
        // INVARIANT: what nobody vouches for takes the place of nothing.
        let is_vouched_for = keys.is_empty() || chain.head.key.is_some();
        if newer.is_none()
            && is_vouched_for
            && let Some(base) = reach.bases.last()
        {
            newer = Some((chain, objects, base.clone()));
        }
    }
    Ok(removed)
}

/// Whether a chain has no moment since a time.
fn has_ended(chain: &Chain, reach: &Reach, millis: i64) -> bool {
    chain.head.began_millis.max(reach.last.time_millis) < millis
}

/// All objects of a chain; what says that there is one goes last.
fn whole(objects: &ChainObjects) -> Vec<String> {
    let is_head = |name: &String| matches!(names::parse(name), Some((_, Kind::Head)));
    let (heads, mut names): (Vec<_>, Vec<_>) = in_order(objects.names.clone())
        .into_iter()
        .partition(is_head);
    names.extend(heads);
    names
}

/// The objects of a chain that come before the base that stays.
async fn older(
    chain: &Chain,
    target: &dyn Target,
    objects: &ChainObjects,
    reach: &Reach,
    millis: i64,
) -> Result<Vec<String>, BackupError> {
    let bases = reach.bases.iter().rev();
    let in_time = bases.clone().find(|base| base.last.time_millis <= millis);
    let Some(kept) = in_time else {
        return Ok(Vec::new());
    };
    let begin = kept.first.number + 1;
    let covering = objects.segments.partition_point(|first| *first <= begin);
    let first_kept = covering.checked_sub(1).map_or(0, |at| objects.segments[at]);
    let is_older = |name: &String| match names::parse(name) {
        Some((_, Kind::Manifest { base, .. } | Kind::Piece { base })) => base < kept.name,
        Some((_, Kind::Segment { first })) => first < first_kept,
        _ => false,
    };
    let names: Vec<String> = objects
        .names
        .iter()
        .filter(|name| is_older(name))
        .cloned()
        .collect();
    let commit = kept.last.number;
    let placings = files::unneeded_placings(chain, target, objects, commit).await?;
    // What stays is read only when something goes: once for each base, not each time.
    if names.is_empty() && placings.is_empty() {
        return Ok(names);
    }
    demand_whole(chain, target, objects, kept).await?;
    let mut names = in_order(names);
    names.extend(files::unneeded_parts(chain, target, objects, commit).await?);
    names.extend(placings);
    Ok(names)
}

/// The objects that make bases whole first, then pieces, then the rest in the order of their names.
fn in_order(mut names: Vec<String>) -> Vec<String> {
    names.sort_by_cached_key(|name| {
        let order = match names::parse(name) {
            Some((_, Kind::Manifest { .. })) => 0,
            Some((_, Kind::Piece { .. })) => 1,
            _ => 2,
        };
        (order, name.clone())
    });
    names
}

/// Reads a base and the segments that it needs, and refuses one of which something is missing or
/// damaged.
async fn demand_whole(
    chain: &Chain,
    target: &dyn Target,
    objects: &ChainObjects,
    base: &BaseInfo,
) -> Result<(), BackupError> {
    for number in 0..base.pieces {
        let name = names::piece(&base.name, number);
        chain.seal.open(&name, &target.get(&name).await?)?;
    }
    let begin = base.first.number + 1;
    let covering = objects.segments.partition_point(|first| *first <= begin);
    let mut last = base.first.number;
    for first in &objects.segments[covering.saturating_sub(1)..] {
        if last >= base.last.number {
            break;
        }
        if *first > last + 1 {
            break;
        }
        last = chain.segment(target, *first).await?.last().number.max(last);
    }
    if last < base.last.number {
        return Err(BackupError::Gap {
            chain: chain.name.to_string(),
            first: last + 1,
            last: base.last.number,
        });
    }
    Ok(())
}
