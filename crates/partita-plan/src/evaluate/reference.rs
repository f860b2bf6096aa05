//! Where references lead.

use std::borrow::Cow;
use std::sync::Arc;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Item, Map, Value};
use partita_design::design::reference::CALLER;
use partita_design::design::{IdentityPart, PatternId, Record, Ref};
use partita_design::nested;
use partita_design::resolve::{Identities, Lead};
use partita_design::stored::is_path;
use partita_design::template::dotted;

use super::context::Context;
use super::path::{Subject, Whose, found};
use super::reads::Known;
use super::row::AskedPattern;
use super::scope::ItemScope;
use crate::pattern::{READ_BYTES_MAX, ReadBound, rows_max, too_large};
use crate::place::Address;

/// A resolved reference.
pub(crate) enum Resolved<'a> {
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
    pub(crate) record: &'a Record,
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
    fn new(record: &'a Record, values: impl Into<Arc<[Value]>>) -> Self {
        Identity {
            parts: &record.identity,
            values: values.into(),
        }
    }

    /// The identity of an item, if its attributes have it.
    fn of(record: &'a Record, item: &Map) -> Option<Self> {
        let parts = record.identity.iter();
        let values = parts.map(|part| nested::get(item, &part.attribute).cloned());
        Some(Identity::new(record, values.collect::<Option<Vec<_>>>()?))
    }

    pub(super) fn get(&self, root: &str, steps: &[Step]) -> Option<&Value> {
        let mut parts = self.parts.iter().zip(&*self.values);
        let (_, value) = parts.find(|(part, _)| is_path(&part.attribute, root, steps))?;
        Some(value)
    }
}

impl Target<'_> {
    /// Whether the item is deleted or gone, so that it hides what has a live ref to it.
    pub(crate) fn is_hiding(&self, context: &Context<'_>) -> bool {
        match context.item(&self.address) {
            Known::Found(item) => self.record.is_deleted(item),
            Known::Missing => true,
            Known::Unread => false,
        }
    }
}

impl Scope for Identity<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        found(self.get(&path.root, &path.steps))
    }
}

impl<'a> ItemScope<'_, 'a> {
    /// The targets of live refs, each with the ref that leads there.
    pub(crate) fn live_targets(&self) -> Vec<(&'a Ref, Target<'a>)> {
        let live = self.record.refs.iter().filter(|one| one.live);
        let targets = live.flat_map(|reference| match self.resolve(reference) {
            Resolved::To(targets) => targets.into_iter().map(|one| (reference, one)).collect(),
            _ => Vec::new(),
        });
        targets.collect()
    }

    /// Has the targets of live refs read with the item.
    pub(crate) fn need_live_targets(&self) {
        for (_, target) in self.live_targets() {
            self.context.reads.need(target.address);
        }
    }

    /// Whether a live ref hides the item: its target is deleted or gone.
    pub(crate) fn is_hidden(&self) -> bool {
        // Every target is looked at, so that all of them are read at once.
        let targets = self.live_targets().into_iter();
        let hidden = targets.filter(|(_, target)| target.is_hiding(&self.context));
        hidden.count() > 0
    }

    /// Where a ref of the item leads.
    pub(crate) fn resolve(&self, reference: &'a Ref) -> Resolved<'a> {
        self.resolve_from(self.subject(), reference)
    }

    pub(super) fn resolve_from(
        &self,
        subject: Subject<'_, '_, 'a>,
        reference: &'a Ref,
    ) -> Resolved<'a> {
        let design = &self.context.blueprint.design;
        match design.lead(reference, |path| self.argument(subject, path)) {
            Lead::Unknown => Resolved::Unknown,
            Lead::Nowhere => Resolved::Nowhere,
            Lead::Constants(row) => Resolved::Constants(row),
            Lead::Via {
                record,
                pattern,
                parameters,
            } => self.resolve_via(record, pattern, &parameters),
            Lead::Items {
                target,
                record,
                identities: Identities::One(values),
            } => match self.target(record, &values) {
                Some(found) => Resolved::To(vec![Target {
                    is_callers: target.is_callers(),
                    ..found
                }]),
                None => Resolved::Nowhere,
            },
            Lead::Items {
                record,
                identities: Identities::Each(all),
                ..
            } => {
                let targets = all.iter().filter_map(|values| self.target(record, values));
                Resolved::To(targets.collect())
            }
        }
    }

    /// The item of an identity. A value that cannot be part of a key is refused where it is given.
    fn target(&self, record: &'a Record, values: &[Cow<'_, Value>]) -> Option<Target<'a>> {
        let reads = self.context.reads;
        let (address, identity) = match reads.led_to(record.id, values) {
            Some((address, values)) => (address, Identity::new(record, values)),
            None => {
                let values: Vec<Value> = values.iter().map(|value| (**value).clone()).collect();
                let identity = Identity::new(record, values);
                let address = self.context.blueprint.address(record, &identity).ok()?;
                reads.remember(record.id, &identity.values, &address);
                (address, identity)
            }
        };
        Some(Target {
            record,
            address,
            identity,
            is_callers: false,
        })
    }

    /// The item that a pattern of one finds.
    fn resolve_via(&self, record: &'a Record, pattern: PatternId, values: &Map) -> Resolved<'a> {
        let blueprint = self.context.blueprint;
        let asked = &blueprint.design[pattern];
        let Ok(Some(listing)) = blueprint.listing(asked, values) else {
            return Resolved::Nowhere;
        };
        if self.context.reads.reads_only_own() {
            return Resolved::Unknown;
        }
        let question = AskedPattern {
            pattern: asked,
            values,
            listing: &listing,
            with_deleted: true,
        };
        let Some(listed) = self.list(&listing) else {
            return Resolved::Unknown;
        };
        let mut rows = listed.rows.iter().enumerate();
        let found = rows.find_map(|(at, row)| Some((at, self.row_meant(record, question, row)?)));
        match found {
            Some((at, target)) => {
                self.context.read_on(&listing.table, &listed.rows, at);
                Resolved::To(vec![target])
            }
            // It may be among those that were not read.
            None if listed.has_more => {
                let bound = if listed.rows.len() < rows_max(asked) {
                    ReadBound::Bytes(READ_BYTES_MAX)
                } else {
                    ReadBound::Items(rows_max(asked))
                };
                self.context.reads.give_up(too_large(asked, bound));
                Resolved::Unknown
            }
            None => Resolved::Nowhere,
        }
    }

    /// The item of a row, if the pattern of a ref means it.
    fn row_meant(
        &self,
        record: &'a Record,
        asked: AskedPattern<'_, 'a>,
        row: &Item,
    ) -> Option<Target<'a>> {
        let blueprint = self.context.blueprint;
        let address = blueprint.keys.place(&asked.listing.table, row);
        let item = blueprint.attributes(record, row).ok()?;
        let scope = ItemScope {
            others: self.others,
            reads: self.reads,
            ..ItemScope::unguarded(self.context, record, &item)
        };
        let known = self.context.peek(&address);
        let found = scope.meant(asked, row, address, known)?;
        // What a write depends on is guarded, for which the item must be read.
        if self.reads.is_some() && asked.looks_inside() {
            self.context.reads.need(found.address.clone());
        }
        Some(Target {
            record,
            identity: Identity::of(record, &found.item)?,
            address: found.address,
            is_callers: false,
        })
    }

    /// The value of a ref's argument: an attribute, a parameter, or behind another ref.
    fn argument<'f>(&'f self, subject: Subject<'f, '_, 'a>, path: &str) -> Found<'f> {
        if path == CALLER {
            return self.caller(&[]);
        }
        // Hardly any has dots.
        if !path.bytes().any(|byte| byte == b'.') {
            return match subject.whose {
                Whose::Own => self.look(path, &[]),
                _ => self.inside(subject, path, &[]),
            };
        }
        let path = dotted(path);
        match subject.whose {
            Whose::Own => self.find(&path),
            _ => self.inside(subject, &path.root, &path.steps),
        }
    }
}
