//! Where refs lead.

use std::borrow::Cow;
use std::sync::Arc;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Map, Value};
use partita_design::design::reference::CALLER;
use partita_design::design::{Argument, IdentityPart, PatternId, Record, Ref, RefTarget, RefTo};
use partita_design::template::dotted;

use super::{Place, Scene, Trace, found};
use crate::pattern::{self, READ_BYTES_MAX, ReadBound, passes, rows_max, too_large};
use crate::place::Address;
use partita_design::nested;
use partita_design::stored::is_path;

/// Where a ref leads.
pub(crate) enum Lead<'a> {
    /// To these items.
    To(Vec<Target<'a>>),
    /// To a row of constants.
    Constants(&'a Map),
    /// Nowhere: one of its arguments is missing.
    Nowhere,
    /// Not known before something else is read.
    Unknown,
}

/// The item that a ref leads to.
#[derive(Clone)]
pub(crate) struct Target<'a> {
    pub(crate) shape: &'a Record,
    pub(crate) address: Address,
    pub(super) identity: Identity<'a>,
    /// Whether it is found by who calls, so that it is the caller's own.
    pub(super) is_callers: bool,
}

/// The parts of an identity, and the value of each.
#[derive(Clone)]
pub(super) struct Identity<'a> {
    parts: &'a [IdentityPart],
    values: Arc<[Value]>,
}

impl<'a> Identity<'a> {
    fn new(shape: &'a Record, values: impl Into<Arc<[Value]>>) -> Self {
        Identity {
            parts: &shape.identity,
            values: values.into(),
        }
    }

    /// The identity of an item, if its attributes have it.
    fn of(shape: &'a Record, item: &Map) -> Option<Self> {
        let parts = shape.identity.iter();
        let values = parts.map(|part| nested::get(item, &part.attribute).cloned());
        Some(Identity::new(shape, values.collect::<Option<Vec<_>>>()?))
    }

    pub(super) fn get(&self, root: &str, steps: &[Step]) -> Option<&Value> {
        let mut parts = self.parts.iter().zip(&*self.values);
        let (_, value) = parts.find(|(part, _)| is_path(&part.attribute, root, steps))?;
        Some(value)
    }
}

impl Scope for Identity<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        found(self.get(&path.root, &path.steps))
    }
}

impl<'a> Scene<'_, 'a> {
    /// Where a ref of the item leads.
    pub(crate) fn lead(&self, reference: &'a Ref) -> Lead<'a> {
        self.lead_from(self.shape, self.item, Place::Own, reference)
    }

    pub(super) fn lead_from(
        &self,
        shape: &'a Record,
        item: &Map,
        place: Place<'_>,
        reference: &'a Ref,
    ) -> Lead<'a> {
        let chosen = match &reference.by {
            None => reference.targets.first(),
            Some(by) => match self.argument(shape, item, place, by) {
                Found::Unknown => return Lead::Unknown,
                Found::Missing => None,
                Found::Value(value) => {
                    let mut targets = reference.targets.iter();
                    targets.find(|target| target.when.as_deref() == value.as_str())
                }
            },
        };
        match chosen {
            Some(target) => self.lead_to(shape, item, place, target),
            None => Lead::Nowhere,
        }
    }

    fn lead_to(
        &self,
        shape: &'a Record,
        item: &Map,
        place: Place<'_>,
        target: &'a RefTarget,
    ) -> Lead<'a> {
        let mut values: Vec<Cow<'_, Value>> = Vec::with_capacity(target.arguments.len());
        for argument in &target.arguments {
            match self.argument(shape, item, place, &argument.path) {
                Found::Unknown => return Lead::Unknown,
                Found::Missing => return Lead::Nowhere,
                Found::Value(value) => values.push(value),
            }
        }
        let blueprint = self.context.blueprint;
        let shape = match target.to {
            RefTo::Record(record) => &blueprint.design[record],
            RefTo::Constants(constants) => {
                let key = values.first().and_then(|key| key.as_str());
                let row = key.and_then(|key| blueprint.design[constants].rows.get(key));
                return row.map_or(Lead::Nowhere, Lead::Constants);
            }
        };
        if let Some(pattern) = target.via {
            let values = values.into_iter().map(Cow::into_owned);
            return self.lead_via(shape, pattern, &target.arguments, values);
        }
        let mut arguments = target.arguments.iter().zip(&values);
        let list = arguments.find_map(|(argument, value)| match &**value {
            Value::L(list) if argument.many => Some(list.len()),
            _ => None,
        });
        match list {
            None => match self.target(shape, &values) {
                Some(found) => Lead::To(vec![Target {
                    is_callers: target.is_callers(),
                    ..found
                }]),
                None => Lead::Nowhere,
            },
            Some(count) => {
                let targets = (0..count).map(|at| {
                    let arguments = target.arguments.iter().zip(&values);
                    let values = arguments.map(|(argument, value)| match &**value {
                        Value::L(list) if argument.many => list.get(at).map(Cow::Borrowed),
                        value => Some(Cow::Borrowed(value)),
                    });
                    self.target(shape, &values.collect::<Option<Vec<_>>>()?)
                });
                Lead::To(targets.flatten().collect())
            }
        }
    }

    /// The item of an identity. A value that cannot be part of a key is refused where it is given.
    fn target(&self, shape: &'a Record, values: &[Cow<'_, Value>]) -> Option<Target<'a>> {
        let reads = self.context.reads;
        let (address, identity) = match reads.led_to(shape.id, values) {
            Some((address, values)) => (address, Identity::new(shape, values)),
            None => {
                let values: Vec<Value> = values.iter().map(|value| (**value).clone()).collect();
                let identity = Identity::new(shape, values);
                let address = self.context.blueprint.address(shape, &identity).ok()?;
                reads.remember(shape.id, &identity.values, &address);
                (address, identity)
            }
        };
        Some(Target {
            shape,
            address,
            identity,
            is_callers: false,
        })
    }

    /// The item that a pattern of one finds.
    fn lead_via(
        &self,
        shape: &'a Record,
        pattern: PatternId,
        arguments: &[Argument],
        values: impl Iterator<Item = Value>,
    ) -> Lead<'a> {
        let blueprint = self.context.blueprint;
        let names = arguments.iter().map(|argument| argument.part.clone());
        let values: Map = names.zip(values).collect();
        let asked = &blueprint.design[pattern];
        let Ok(Some(listing)) = blueprint.listing(asked, &values) else {
            return Lead::Nowhere;
        };
        if self.context.reads.reads_only_own() {
            return Lead::Unknown;
        }
        let Some(listed) = self.list(&listing) else {
            return Lead::Unknown;
        };
        let found = listed.rows.iter().find_map(|row| {
            let item = blueprint.attributes(shape, row).ok()?;
            let unwatched = Trace::default();
            let scene = Scene {
                others: self.others,
                ..pattern::scene(self.context, shape, &item, &unwatched)
            };
            let identity = Identity::of(shape, &item)?;
            passes(asked, &values, &scene, row).then(|| Target {
                shape,
                address: blueprint.keys.place(&listing.table, row),
                identity,
                is_callers: false,
            })
        });
        match found {
            Some(target) => Lead::To(vec![target]),
            // It may be among those that were not read.
            None if listed.has_more => {
                let bound = match listed.rows.len() < rows_max(asked) {
                    true => ReadBound::Bytes(READ_BYTES_MAX),
                    false => ReadBound::Items(rows_max(asked)),
                };
                self.context.reads.give_up(too_large(asked, bound));
                Lead::Unknown
            }
            None => Lead::Nowhere,
        }
    }

    /// The value of a ref's argument: an attribute, a parameter, or behind another ref.
    fn argument<'f>(
        &'f self,
        shape: &'a Record,
        item: &'f Map,
        place: Place<'_>,
        path: &str,
    ) -> Found<'f> {
        // Whose item it is does not matter to who calls.
        if path == CALLER {
            return self.caller(&[]);
        }
        // Hardly any has dots.
        if !path.bytes().any(|byte| byte == b'.') {
            return match place {
                Place::Own => self.look(path, &[]),
                _ => self.inside(shape, item, place, path, &[]),
            };
        }
        let path = dotted(path);
        match place {
            Place::Own => self.find(&path),
            _ => self.inside(shape, item, place, &path.root, &path.steps),
        }
    }
}
