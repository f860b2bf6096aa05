//! How the items that refer to a target are found from it.
//!
//! A cascade, a cleared attribute and a copy go from the target back to the items that refer to
//! it. That takes a key, of those items or of a view of them, that begins with what the ref holds.
//! A list cannot be part of a key, so a ref over one takes a view that has a record for each element.
//!
//! The way back must find all of them, soft-deleted ones too. A view that exists only sometimes
//! does not, nor does an index from which an optional part or a condition keeps some of them.

use partita_core::expression::{Condition, Path};

use crate::check::declare::key::{Case, Key};
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::design::{Finder, IndexId, KeyCase, KeyValue, RefTarget};
use crate::document::Field;
use crate::expression::Expr;
use crate::syntax::Word;
use crate::template::{DELIMITER, Hole, Part, Template, dotted};

/// Which of the items that refer to a target a way back must find.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extent {
    All,
    /// For the message where there is no other.
    Some,
}

/// A way back over the keys of a record or one of its views, the record's own first.
pub(crate) fn find(
    record: &DeclaredRecord,
    by: Option<&Word>,
    target: &RefTarget,
    symbols: &Symbols,
    extent: Extent,
) -> Option<Finder> {
    if target.arguments.is_empty() {
        return None;
    }
    let holds = |when: Option<&Condition>| extent == Extent::Some || covers(when, target);
    // A view has no record of a soft-deleted item unless its condition asks for it.
    let is_softly_deleted = matches!(record.soft_delete, Field::Given(_));
    let has_all = extent == Extent::Some || !is_softly_deleted;
    let is_view_of = |other: &&DeclaredRecord| {
        let view = other.view.as_ref();
        view.is_some_and(|view| {
            let is_of_it = view.source == Some(record.id) && !view.history;
            is_of_it && has_all && holds(view.when.as_ref())
        })
    };
    let views = symbols.records.iter().filter(is_view_of);
    std::iter::once(record).chain(views).find_map(|holder| {
        let known = Known {
            arguments: arguments(target, holder)?,
            by: by.map(|(name, _)| name.as_str()),
            target,
            extent,
        };
        over_keys(holder, &known)
    })
}

/// Whether a view or a key exists for every item whose ref leads somewhere: always, or while what
/// the ref holds is there.
fn covers(when: Option<&Condition>, target: &RefTarget) -> bool {
    let is_held = |path: &Path| {
        let mut arguments = target.arguments.iter();
        arguments.any(|argument| argument.path == path.to_string())
    };
    match when {
        None => true,
        Some(Condition::All(parts)) => parts.iter().all(|part| covers(Some(part), target)),
        Some(Condition::Exists(path)) => is_held(path),
        Some(_) => false,
    }
}

/// What a ref holds.
struct Known<'r> {
    arguments: Vec<Held<'r>>,
    /// The attribute that chooses the target, whose value is known.
    by: Option<&'r str>,
    target: &'r RefTarget,
    extent: Extent,
}

/// One argument of a ref.
#[derive(Clone, Copy, PartialEq)]
struct Held<'r> {
    /// How the keys of the holder call it: a list has the name of its element there.
    name: &'r str,
    /// The attribute of the item that refers.
    path: &'r str,
}

impl<'r> Known<'r> {
    fn argument(&self, name: &str) -> Option<Held<'r>> {
        self.arguments.iter().find(|one| one.name == name).copied()
    }
}

/// The arguments under the names that a holder has for them; `None` if it has none for a list.
fn arguments<'r>(target: &'r RefTarget, holder: &'r DeclaredRecord) -> Option<Vec<Held<'r>>> {
    let view = holder.view.as_ref();
    let element = view.and_then(|view| view.element.as_ref());
    let held = target.arguments.iter().map(|argument| {
        let path = argument.path.as_str();
        let name = if argument.many {
            &element.filter(|element| element.list == path)?.name
        } else {
            path
        };
        Some(Held { name, path })
    });
    held.collect()
}

fn over_keys(holder: &DeclaredRecord, known: &Known<'_>) -> Option<Finder> {
    let primary = holder.keys.partition.as_ref().map(|partition| {
        let sort = holder.keys.sort.as_ref();
        (None, partition, sort)
    });
    let indexes = holder
        .indexes
        .iter()
        .map(|keys| (Some(keys.index), &keys.partition, keys.sort.as_ref()));
    primary
        .into_iter()
        .chain(indexes)
        .find_map(|(index, partition, sort)| over_key(holder, index, partition, sort, known))
}

fn over_key(
    holder: &DeclaredRecord,
    index: Option<IndexId>,
    partition: &Key,
    sort: Option<&Key>,
    known: &Known<'_>,
) -> Option<Finder> {
    let case = partition.only()?;
    let mut covered: Vec<Held<'_>> = Vec::new();
    let mut enumerate = Vec::new();
    for hole in &case.holes {
        let attribute = hole.attribute.as_deref()?;
        if let Some(argument) = known.argument(attribute) {
            covered.push(argument);
        } else if hole
            .kind
            .as_ref()
            .is_some_and(|kind| kind.words().is_some())
        {
            enumerate.push(attribute.to_owned());
        } else if known.by != Some(attribute) {
            return None;
        }
    }
    let is_whole = known.extent == Extent::All;
    if index.is_some() && is_whole && is_sparse([Some(partition), sort], known) {
        return None;
    }
    let prefix = sort
        .and_then(|sort| sort.only())
        .and_then(|sort| prefix(sort, known, &mut covered));
    if known
        .arguments
        .iter()
        .any(|argument| !covered.contains(argument))
    {
        return None;
    }
    let whole = match (&prefix, sort.and_then(Key::only)) {
        (Some(prefix), Some(sort)) => *prefix == sort.template,
        _ => false,
    };
    Some(Finder {
        record: holder.id,
        index,
        partition: if partition.native {
            KeyValue::Native(own_name(&partition.written, known))
        } else {
            KeyValue::Cases(vec![KeyCase {
                when: case.when.clone(),
                is: own_names(&case.template, known),
            }])
        },
        whole,
        prefix: prefix.map(|prefix| own_names(&prefix, known)),
        enumerate,
    })
}

/// Whether something other than what the ref holds keeps some items out of an index.
fn is_sparse(keys: [Option<&Key>; 2], known: &Known<'_>) -> bool {
    let mut cases = keys.into_iter().flatten().flat_map(|key| &key.cases);
    let is_kept_out = cases.any(|case| {
        let when = case.when.as_ref().map(|when| &when.tree);
        !covers(when, known.target)
    });
    let mut holes = keys.into_iter().flatten().flat_map(Key::holes);
    is_kept_out
        || holes.any(|hole| {
            let name = hole.attribute.as_deref();
            let is_held =
                name.is_some_and(|name| known.argument(name).is_some() || known.by == Some(name));
            hole.optional && !is_held
        })
}

/// The attribute of the item that refers, for a name in the keys of a holder.
fn own_name(name: &str, known: &Known<'_>) -> String {
    let path = known.argument(name).map(|argument| argument.path);
    path.unwrap_or(name).to_owned()
}

/// A template over the attributes of the item that refers.
fn own_names(template: &Template, known: &Known<'_>) -> Template {
    let parts = template.parts.iter().map(|part| match part {
        Part::Value(hole) => match hole.name().and_then(|name| known.argument(&name)) {
            Some(argument) => Part::Value(Hole {
                value: Expr::Path(dotted(argument.path)),
                ..hole.clone()
            }),
            None => part.clone(),
        },
        Part::Text(_) => part.clone(),
    });
    Template {
        parts: parts.collect(),
    }
}

/// The beginning of the sort key up to the first value that the ref does not hold.
fn prefix<'k>(sort: &Case, known: &Known<'k>, covered: &mut Vec<Held<'k>>) -> Option<Template> {
    let mut template = Template::default();
    for part in &sort.template.parts {
        match part {
            Part::Text(_) => template.parts.push(part.clone()),
            Part::Value(hole) => {
                let name = hole.name();
                match name.as_deref().and_then(|name| known.argument(name)) {
                    Some(argument) => covered.push(argument),
                    None if known.by == name.as_deref() => {}
                    None => break,
                }
                template.parts.push(part.clone());
            }
        }
    }
    // A prefix ends at a delimiter, or it would find neighbours.
    if let Some(Part::Text(text)) = template.parts.last_mut() {
        let end = text.rfind(DELIMITER).map_or(0, |end| end + 1);
        text.truncate(end);
    }
    template
        .parts
        .retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    (!template.parts.is_empty()).then_some(template)
}
