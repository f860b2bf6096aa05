//! What expressions see of a stored item: its attributes, and what its refs lead to.
//!
//! There is no caller and no write here, so `caller`, `now` and `old` are unknown.
//! Values that read them are not recomputed.

use std::borrow::Cow;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Map, Value};
use partita_design::design::pattern::TEXTS;
use partita_design::design::{Attribute, Pattern, PatternId, Record, Ref, RefTarget};
use partita_design::resolve::{Identities, Lead};
use partita_design::stored;
use partita_design::template::dotted;
use partita_store::request::ItemAddress;
use partita_store::table::TableName;

use crate::layout::{Layout, Stored};
use crate::reads::{Known, Listing, Reads};
use partita_design::nested;

/// The design, and what was read.
#[derive(Clone, Copy)]
pub(crate) struct ReadState<'s, 'd> {
    pub(crate) layout: &'s Layout<'d>,
    pub(crate) reads: &'s Reads,
}

/// One item, and everything that can be seen from it.
#[derive(Clone, Copy)]
pub(crate) struct StoredScope<'s, 'd> {
    pub(crate) state: ReadState<'s, 'd>,
    pub(crate) record: &'d Record,
    pub(crate) item: &'s Map,
    /// Names that are no attributes: an element, a view's own values.
    pub(crate) names: &'s [(String, Option<Value>)],
}

/// Where a ref leads.
pub(crate) enum RefEnd<'d> {
    /// To these items, which may be there or not.
    To(Vec<Target<'d>>),
    /// To a row of constants.
    Constants(&'d Map),
    /// Nowhere: it is not set.
    Nowhere,
    /// A pattern should find its target, and finds none.
    Lost,
    /// Not known before something else is read.
    Unknown,
}

/// The item that a ref leads to.
pub(crate) struct Target<'d> {
    pub(crate) record: &'d Record,
    pub(crate) address: ItemAddress,
    pub(crate) identity: Map,
}

impl Scope for StoredScope<'_, '_> {
    fn find(&self, path: &Path) -> Found<'_> {
        let (root, steps) = (path.root.as_str(), path.steps.as_slice());
        if let Some((_, value)) = self.names.iter().find(|(name, _)| name == root) {
            return found(
                value
                    .as_ref()
                    .and_then(|value| stored::inside(value, steps)),
            );
        }
        match root {
            "now" | "caller" | "old" => Found::Unknown,
            _ => self.inside(self.record, self.item, root, steps),
        }
    }
}

impl<'d> StoredScope<'_, 'd> {
    /// Where a ref of the item leads.
    pub(crate) fn resolve(&self, reference: &'d Ref) -> RefEnd<'d> {
        self.resolve_from(self.record, self.item, reference)
    }

    fn inside<'f>(
        &'f self,
        record: &'d Record,
        item: &'f Map,
        root: &str,
        steps: &[Step],
    ) -> Found<'f> {
        if !item.contains_key(root)
            && let Some(reference) = record.refs.iter().find(|one| one.name == root)
        {
            return self.through(self.resolve_from(record, item, reference), steps);
        }
        let attribute = record.declared(root, steps);
        // A counter that starts again with every day has no value without a day.
        if attribute.is_some_and(|attribute| attribute.per.is_some()) {
            return Found::Unknown;
        }
        if let Some(value) = item.get(root).and_then(|one| stored::inside(one, steps)) {
            return Found::Value(Cow::Borrowed(value));
        }
        let value = attribute.and_then(|one| self.unstored(record, item, one, steps));
        value.map_or(Found::Missing, |value| Found::Value(Cow::Owned(value)))
    }

    /// What is read of an attribute that is not stored: it is computed where it is needed, from
    /// the item that has it, or reads as its default.
    fn unstored(
        &self,
        record: &'d Record,
        item: &Map,
        attribute: &Attribute,
        steps: &[Step],
    ) -> Option<Value> {
        // The attribute is stored, and has nothing at the path inside of it.
        if nested::get(item, &attribute.name).is_some() {
            return None;
        }
        let scope = StoredScope {
            record,
            item,
            names: &[],
            state: self.state,
        };
        if attribute.is_virtual {
            return attribute.virtual_value(&scope);
        }
        let value = attribute.when_missing(&scope)?;
        stored::inside(&value, attribute.steps_inside(steps)?).cloned()
    }

    /// The value behind a ref.
    fn through(&self, end: RefEnd<'d>, steps: &[Step]) -> Found<'_> {
        let Some((Step::Field(next), rest)) = steps.split_first() else {
            return Found::Missing;
        };
        let target = match end {
            RefEnd::Unknown => return Found::Unknown,
            RefEnd::Nowhere | RefEnd::Lost => return Found::Missing,
            RefEnd::Constants(row) => {
                let value = row.get(next).and_then(|value| stored::inside(value, rest));
                return match value {
                    Some(value) => Found::Value(Cow::Owned(value.clone())),
                    None => Found::Missing,
                };
            }
            RefEnd::To(targets) => match targets.into_iter().next() {
                Some(target) => target,
                None => return Found::Missing,
            },
        };
        if let (Some(value), true) = (target.identity.get(next), rest.is_empty()) {
            return Found::Value(Cow::Owned(value.clone()));
        }
        match self.state.reads.item(&target.address) {
            Known::Unread => Found::Unknown,
            Known::Missing => Found::Missing,
            Known::Found(stored) => {
                let layout = self.state.layout;
                let item = layout.attributes(target.record, &target.address.table, stored);
                let Some(item) = item else {
                    return Found::Missing;
                };
                // What is found is the caller's to keep: the attributes are not.
                match self.inside(target.record, &item, next, rest) {
                    Found::Value(value) => Found::Value(Cow::Owned(value.into_owned())),
                    Found::Missing => Found::Missing,
                    Found::Unknown => Found::Unknown,
                }
            }
        }
    }

    /// Which of the targets of a ref is meant.
    pub(crate) fn chosen(&self, reference: &'d Ref) -> Option<&'d RefTarget> {
        let Some(by) = &reference.by else {
            return reference.targets.first();
        };
        match self.argument(self.record, self.item, by) {
            Found::Value(value) => reference.chosen_by(&value),
            Found::Missing | Found::Unknown => None,
        }
    }

    fn resolve_from(&self, from: &'d Record, item: &Map, reference: &'d Ref) -> RefEnd<'d> {
        let layout = self.state.layout;
        let lead = layout
            .design
            .lead(reference, |path| self.argument(from, item, path));
        let (record, identities) = match lead {
            Lead::Unknown => return RefEnd::Unknown,
            Lead::Nowhere => return RefEnd::Nowhere,
            Lead::Constants(row) => return RefEnd::Constants(row),
            Lead::Via {
                record,
                pattern,
                parameters,
            } => return self.resolve_via(record, pattern, &parameters),
            Lead::Items {
                record, identities, ..
            } => (record, identities),
        };
        let identities = match identities {
            Identities::One(values) => vec![values],
            Identities::Each(all) => all,
        };
        let targets = identities.into_iter().filter_map(|values| {
            let parts = record.identity.iter().map(|part| part.attribute.clone());
            let identity: Map = parts.zip(values.into_iter().map(Cow::into_owned)).collect();
            let address = layout.address(record, &identity)?;
            Some(Target {
                record,
                address,
                identity,
            })
        });
        RefEnd::To(targets.collect())
    }

    /// The item that a pattern of one finds.
    fn resolve_via(&self, record: &'d Record, pattern: PatternId, values: &Map) -> RefEnd<'d> {
        let layout = self.state.layout;
        let pattern = &layout.design[pattern];
        let Some(listing) = self.listing(pattern, values) else {
            return RefEnd::Nowhere;
        };
        let Some(rows) = self.state.reads.list(&listing) else {
            return RefEnd::Unknown;
        };
        for row in rows {
            let (Stored::Record(found, item), Some(address)) = (
                layout.recognise(&listing.table, row),
                layout.address_of(&listing.table, row),
            ) else {
                continue;
            };
            if found.id != record.id || !self.passes(pattern, values, record, &item, row) {
                continue;
            }
            let identity = record.identity_of(&item).unwrap_or_default();
            return RefEnd::To(vec![Target {
                record,
                address,
                identity,
            }]);
        }
        RefEnd::Lost
    }

    /// Whether a row passes the filter of a pattern, which may also speak of keys.
    fn passes(
        &self,
        pattern: &Pattern,
        values: &Map,
        record: &'d Record,
        item: &Map,
        row: &Map,
    ) -> bool {
        let Some(filter) = &pattern.filter else {
            return true;
        };
        let texts = pattern.texts.iter();
        let texts = texts.map(|text| text.value(values).unwrap_or(Value::Null));
        let mut names = vec![(TEXTS.to_owned(), Some(Value::L(texts.collect())))];
        let keys = row.iter().filter(|(name, _)| !item.contains_key(name));
        names.extend(keys.map(|(name, value)| (name.to_string(), Some(value.clone()))));
        filter.holds(&StoredScope {
            state: self.state,
            record,
            item,
            names: &names,
        })
    }

    /// The query that a pattern is with these parameters; none while one is missing.
    fn listing(&self, pattern: &Pattern, values: &Map) -> Option<Listing> {
        let layout = self.state.layout;
        let home = &layout.design[pattern.table];
        let table: &TableName = layout.names().nth(pattern.table.index())?;
        let keys = pattern.keys(home, values).ok()??;
        let index = pattern.read.index();
        let index = index.map(|index| home.indexes[index.index()].name.clone());
        Some(Listing {
            table: table.clone(),
            index,
            keys,
        })
    }

    /// The value of a ref's argument: an attribute, or something behind another ref.
    fn argument<'f>(&'f self, record: &'d Record, item: &'f Map, path: &str) -> Found<'f> {
        let path = dotted(path);
        let named = self.names.iter().find(|(name, _)| *name == path.root);
        if let (Some((_, value)), true) = (named, std::ptr::eq(item, self.item)) {
            return found(
                value
                    .as_ref()
                    .and_then(|value| stored::inside(value, &path.steps)),
            );
        }
        self.inside(record, item, &path.root, &path.steps)
    }
}

fn found(value: Option<&Value>) -> Found<'_> {
    value.map_or(Found::Missing, |value| Found::Value(Cow::Borrowed(value)))
}
