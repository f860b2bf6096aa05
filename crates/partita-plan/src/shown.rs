//! What readers are shown of an item. What follows from the design alone is worked out once for each
//! record, because every row of every list passes here.

use partita_core::expression::{Found, Scope as _};
use partita_core::limits::ITEM_BYTES_MAX;
use partita_core::{Map, Value};
use partita_design::Design;
use partita_design::design::{Attribute, Record, RecordId};
use partita_design::layout::Listed;
use partita_design::nested;
use partita_design::union::shown_name;

use crate::blueprint::Blueprint;
use crate::evaluate::ItemScope;
use crate::request::rules::Verdict;

/// What of a record's items is shown to those who may read them.
pub(crate) struct ShownForm {
    /// None for an open record, of which everything is shown.
    pub(crate) listed: Option<Listed>,
    secrets: Vec<String>,
    /// The positions of the attributes that are computed when they are read.
    computed: Vec<usize>,
    /// Attributes that callers know by another name than the one that they are stored under.
    renamed: Vec<(String, String)>,
}

/// How what a reader is shown differs from the item.
#[derive(Debug)]
pub(crate) struct Showing {
    pub(crate) record: RecordId,
    /// The positions of attributes that are computed, and their values.
    computed: Vec<(usize, Value)>,
    /// The positions of the rules for single attributes that do not let the caller read them.
    hiding: Vec<usize>,
}

impl ShownForm {
    pub(crate) fn of(design: &Design, record: &Record) -> ShownForm {
        let source = record.view.as_ref().map(|view| &design[view.of]);
        let is_open = record.open || source.is_some_and(|source| source.open);
        let discriminator = design[record.table].discriminator.as_deref();
        let attributes = &record.attributes;
        let secrets = attributes.iter().filter(|one| one.secret);
        let is_computed = |one: &Attribute| !one.secret && (one.is_virtual || one.per.is_some());
        let computed = attributes.iter().enumerate();
        let computed = computed.filter(|(_, one)| record.is_entity() && is_computed(one));
        let renamed = attributes.iter().filter_map(|one| {
            let name = shown_name(&one.name)?;
            Some((one.name.clone(), name.to_owned()))
        });
        ShownForm {
            listed: (!is_open).then(|| record.listed(discriminator)),
            secrets: secrets.map(|one| one.name.clone()).collect(),
            computed: computed.map(|(position, _)| position).collect(),
            renamed: renamed.collect(),
        }
    }

    fn remove_secrets(&self, item: &mut Map) {
        self.secrets
            .iter()
            .for_each(|name| nested::remove(item, name));
    }

    /// Gives an item the names that callers know.
    fn rename(&self, item: &mut Map) {
        for (stored, shown) in &self.renamed {
            if let Some(value) = nested::get(item, stored).cloned() {
                nested::remove(item, stored);
                nested::set(item, shown, value);
            }
        }
    }
}

impl Blueprint {
    /// An item as it is stored, without its secrets and without what its record does not list, under
    /// the names that callers know.
    pub(crate) fn without_secrets(&self, record: &Record, mut item: Map) -> Map {
        let form = self.shown_form(record);
        self.retain_listed(record, &mut item);
        form.remove_secrets(&mut item);
        form.rename(&mut item);
        item
    }
}

impl ItemScope<'_, '_> {
    /// The attributes that the caller may see, those that are not stored too.
    pub(crate) fn shown(&self) -> Map {
        self.showing().of(self.context.blueprint, self.item.clone())
    }

    /// The attributes that are no secrets, whoever asks.
    pub(crate) fn without_secrets(&self) -> Map {
        let showing = Showing {
            record: self.record.id,
            computed: self.computed(),
            hiding: Vec::new(),
        };
        showing.of(self.context.blueprint, self.item.clone())
    }

    /// How what the caller may see differs from the item.
    pub(crate) fn showing(&self) -> Showing {
        let rules = self.record.rules.by_attribute.iter().enumerate();
        let hiding =
            rules.filter(|(_, rule)| !rule.writes && self.decide(&rule.rule) != Verdict::Allowed);
        Showing {
            record: self.record.id,
            hiding: hiding.map(|(position, _)| position).collect(),
            computed: self.computed(),
        }
    }

    /// The values that are not stored, and those that have lapsed. Their texts are together no
    /// larger than an item may be; those beyond are left out.
    fn computed(&self) -> Vec<(usize, Value)> {
        let form = self.context.blueprint.shown_form(self.record);
        let mut room = ITEM_BYTES_MAX;
        let mut computed = Vec::new();
        for position in &form.computed {
            let attribute = &self.record.attributes[*position];
            let is_there =
                attribute.is_virtual || nested::get(self.item, &attribute.name).is_some();
            if is_there
                && let Found::Value(value) = self.find(&attribute.path())
                && let Some(left) = room.checked_sub(value.as_str().map_or(0, str::len))
            {
                room = left;
                computed.push((*position, value.into_owned()));
            }
        }
        computed
    }
}

impl Showing {
    /// What is shown of the item. Secrets are never shown.
    pub(crate) fn of(self, blueprint: &Blueprint, mut item: Map) -> Map {
        let record = &blueprint.design[self.record];
        let form = blueprint.shown_form(record);
        blueprint.retain_listed(record, &mut item);
        form.remove_secrets(&mut item);
        for (position, value) in self.computed {
            nested::set(&mut item, &record.attributes[position].name, value);
        }
        for position in self.hiding {
            let hidden = &record.rules.by_attribute[position].attributes;
            hidden
                .iter()
                .for_each(|name| nested::remove(&mut item, name));
        }
        form.rename(&mut item);
        item
    }
}
