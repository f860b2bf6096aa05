//! The declarations of a design that stored data follow.

use std::collections::{BTreeMap, BTreeSet};

use partita_core::expression::Condition;
use serde_json::{Value as Json, json};

use super::form;
use crate::design::{
    Aggregate, Attribute, Bucket, Constants, Design, EachOver, Index, KeyValue, OnDelete, Prefix,
    Projection, Record, Ref, RefTo, SoftDelete, Source, Table, Timing, Unique, View,
};
use crate::expression::Reading;
use crate::types::{AttributeType, Shape};

/// One declaration.
#[derive(Clone, Debug)]
pub(crate) enum Part<'d> {
    Table(&'d Table),
    Index(&'d Table, &'d Index),
    Entity(&'d Table),
    /// A part of an entity or a view that is its form and nothing else: a key, a condition.
    Plain(Json),
    /// An entity keeps attributes that are not listed.
    Open,
    Require(Json),
    Attribute(&'d Design, &'d Record, &'d Attribute),
    Ref(&'d Design, &'d Record, &'d Ref),
    Unique(&'d Unique),
    View(&'d Design, &'d View),
    Shape(&'d Shape),
    Constants(&'d Constants),
    Bucket(&'d Bucket),
    Prefix(&'d Prefix),
}

impl Part<'_> {
    pub(crate) fn form(&self) -> Json {
        match self {
            Part::Table(table) => json!([
                "table",
                table.name,
                table.partition,
                table.sort,
                table.discriminator,
                table.ttl,
                table.settings.stream,
            ]),
            Part::Index(table, index) => index_form(table, index),
            Part::Entity(table) => json!(["entity", table.id]),
            Part::Plain(form) => form.clone(),
            Part::Open => json!(["open"]),
            Part::Require(condition) => json!(["require", condition]),
            Part::Attribute(design, _, attribute) => attribute_form(design, attribute),
            Part::Ref(design, record, reference) => ref_form(design, record, reference),
            Part::Unique(unique) => json!(["unique", form::template(&unique.partition)]),
            Part::View(design, view) => json!(["view", design[view.of].name, view.history]),
            Part::Shape(shape) => form::shape(shape),
            Part::Constants(constants) => {
                let rows = constants.rows.iter();
                let rows = rows.map(|(name, row)| json!([name, form::map(row)]));
                json!(["constants", form::list(rows)])
            }
            Part::Bucket(bucket) => json!(["bucket", bucket.bucket]),
            Part::Prefix(prefix) => json!(["prefix", form::template(&prefix.path)]),
        }
    }
}

/// The declarations that stored data follow, by their paths in the file.
pub(crate) fn parts(design: &Design) -> BTreeMap<String, Part<'_>> {
    let mut parts = Parts {
        design,
        found: BTreeMap::new(),
        hops: BTreeSet::new(),
    };
    for table in &design.tables {
        let name = match table.id.as_str() {
            "" => "table".to_owned(),
            id => format!("table.{id}"),
        };
        parts.add(name, Part::Table(table));
        for index in &table.indexes {
            parts.add(format!("index.{}", index.name), Part::Index(table, index));
        }
    }
    for entity in design.entities() {
        parts.entity(entity);
    }
    for (record, view) in design.views() {
        parts.view(record, view);
    }
    for bucket in &design.buckets {
        let name = format!("bucket.{}", bucket.name);
        for prefix in &bucket.prefixes {
            let name = format!("{name}.prefix.{}", prefix.name);
            parts.add(name, Part::Prefix(prefix));
        }
        parts.add(name, Part::Bucket(bucket));
    }
    parts.refs();
    parts.found
}

/// The declarations so far, and the refs that derived data are read through.
struct Parts<'d> {
    design: &'d Design,
    found: BTreeMap<String, Part<'d>>,
    /// Entities and names of their refs.
    hops: BTreeSet<(&'d str, &'d str)>,
}

impl<'d> Parts<'d> {
    fn add(&mut self, name: String, part: Part<'d>) {
        self.found.insert(name, part);
    }

    fn plain(&mut self, name: String, tag: &str, form: Json) {
        self.add(name, Part::Plain(json!([tag, form])));
    }

    fn reads(&mut self, reads: &'d [Reading]) {
        for hop in reads.iter().flat_map(|reading| &reading.hops) {
            if let Some((record, _)) = hop.reference {
                self.hop(&self.design[record], &hop.name);
            }
        }
    }

    /// Notes that a ref is followed, and the refs through which its own arguments are read.
    fn hop(&mut self, record: &'d Record, reference: &str) -> Option<&'d Record> {
        let design = self.design;
        // A view's record has the refs of its source.
        let entity = design.source(record);
        let found = entity.refs.iter().find(|one| one.name == reference)?;
        if self.hops.insert((&entity.name, &found.name)) {
            self.behind(record, found);
        }
        found.single().map(|(target, _)| &design[target])
    }

    fn behind(&mut self, record: &'d Record, reference: &'d Ref) {
        for target in &reference.targets {
            for argument in &target.arguments {
                let mut steps = argument.path.split('.');
                let mut at = Some(record);
                while let (Some(record), Some(step)) = (at, steps.next()) {
                    at = self.hop(record, step);
                }
            }
            let pattern = target.via.map(|pattern| &self.design[pattern]);
            if let Some(pattern) = pattern
                && let Some(follow) = &pattern.follow
            {
                for record in &pattern.returns {
                    self.hop(&self.design[*record], &follow.name);
                }
            }
        }
    }

    fn entity(&mut self, entity: &'d Record) {
        let place = format!("entity.{}", entity.name);
        let table = &self.design[entity.table];
        self.add(place.clone(), Part::Entity(table));
        self.keys(&place, table, entity);
        if entity.open {
            self.add(format!("{place}.open"), Part::Open);
        }
        if let Some(soft_delete) = &entity.soft_delete {
            let form = form::soft_delete(soft_delete);
            self.plain(format!("{place}.soft-delete"), "soft-delete", form);
        }
        if let Some(require) = &entity.require {
            let form = form::predicate(require);
            self.add(format!("{place}.require"), Part::Require(form));
        }
        for attribute in &entity.attributes {
            self.attribute(&place, entity, attribute);
        }
        for unique in &entity.unique {
            let name = format!("{place}.unique.{}", unique.name);
            self.add(name, Part::Unique(unique));
        }
    }

    fn keys(&mut self, place: &str, table: &Table, record: &'d Record) {
        let key = &record.key;
        for (name, template) in [(&table.partition, &key.partition), (&table.sort, &key.sort)] {
            self.plain(format!("{place}.{name}"), "key", form::template(template));
        }
        for keys in &record.indexes {
            self.reads(&keys.reads);
            let index = &table.indexes[keys.index.index()];
            let partition = Some((&index.partition, &keys.partition));
            let sort = index.sort.as_ref().zip(keys.sort.as_ref());
            for (key, value) in partition.into_iter().chain(sort) {
                // A key that is an attribute of the entity follows that one and the index.
                if let KeyValue::Cases(cases) = value {
                    let name = format!("{place}.{}", key.name);
                    self.plain(name, "key", form::key_cases(cases));
                }
            }
        }
        if let (Some(name), Some(value)) = (&table.discriminator, &record.discriminator) {
            self.plain(format!("{place}.{name}"), "discriminator", json!(value));
        }
    }

    fn attribute(&mut self, place: &str, entity: &'d Record, attribute: &'d Attribute) {
        match &attribute.source {
            Source::Given { default: None } | Source::Generated => {}
            Source::Given {
                default: Some(value),
            } => self.reads(&value.reads),
            Source::Computed(computed) => {
                self.reads(&computed.value.reads);
                if let Timing::Once(when) = &computed.timing {
                    self.reads(&when.reads);
                }
            }
            Source::Aggregate(aggregate) => {
                let counted = &self.design[aggregate.of];
                self.hop(counted, &counted.refs[aggregate.by.index()].name);
                if let Some(only) = &aggregate.only {
                    self.reads(&only.reads);
                }
            }
            Source::Copy(reading) => self.reads(std::slice::from_ref(reading)),
            Source::Derived(value) => self.reads(&value.reads),
        }
        self.shapes(&attribute.kind);
        let name = format!("{place}.attributes.{}", attribute.name);
        self.add(name, Part::Attribute(self.design, entity, attribute));
    }

    fn shapes(&mut self, kind: &'d AttributeType) {
        match kind {
            AttributeType::Shape(shape) => {
                let name = format!("shape.{}", shape.name);
                if !self.found.contains_key(&name) {
                    self.add(name, Part::Shape(shape));
                    shape.fields.iter().for_each(|one| self.shapes(&one.kind));
                }
            }
            AttributeType::List { element, .. } => self.shapes(element),
            _ => {}
        }
    }

    fn view(&mut self, record: &'d Record, view: &'d View) {
        let design = self.design;
        let place = format!("view.{}", record.name);
        self.add(place.clone(), Part::View(design, view));
        self.keys(&place, &design[record.table], record);
        if let Some(when) = &view.when {
            self.reads(&when.reads);
            let live = design[view.of].soft_delete.as_ref();
            if let Some(own) = besides(&when.tree, live.map(SoftDelete::live)) {
                self.plain(format!("{place}.when"), "when", form::condition(&own));
            }
        }
        if let Some(each) = &view.each {
            let over = match &each.over {
                EachOver::List { reading, .. } => {
                    self.reads(std::slice::from_ref(&**reading));
                    form::reading(reading)
                }
                EachOver::Pattern {
                    pattern,
                    parameters,
                } => {
                    let parameters = parameters.iter();
                    let given = parameters.map(|(name, one)| json!([name, form::reading(one)]));
                    let pattern = &design[*pattern].name;
                    json!(["pattern", pattern, form::list(given)])
                }
            };
            self.plain(format!("{place}.each"), "each", json!([each.name, over]));
        }
        if let Some(distinct) = &view.distinct {
            self.reads(&distinct.reads);
            let form = form::formula(distinct);
            self.plain(format!("{place}.distinct"), "distinct", form);
        }
        let keep = record.kept().filter(|one| !one.implied);
        let keep: BTreeSet<&String> = keep.map(|one| &one.name).collect();
        self.plain(format!("{place}.keep"), "keep", json!(keep));
        for attribute in record.attributes.iter().filter(|one| one.is_declared()) {
            let name = format!("{place}.attributes.{}", attribute.name);
            let form = match attribute.derived() {
                Some(value) => {
                    self.reads(&value.reads);
                    let kind = form::kind(&attribute.kind);
                    json!(["derived", kind, attribute.optional, form::formula(value)])
                }
                None => attribute_form(design, attribute),
            };
            self.plain(name, "attribute", form);
        }
    }

    /// Refs are followed by all data that are read through them. An unchecked ref that only rules
    /// and effects use is followed by nothing that is stored.
    fn refs(&mut self) {
        let design = self.design;
        for entity in design.entities() {
            for reference in &entity.refs {
                let hop = (entity.name.as_str(), reference.name.as_str());
                let is_read = self.hops.contains(&hop);
                if !is_read && reference.unchecked {
                    continue;
                }
                let name = format!("entity.{}.refs.{}", entity.name, reference.name);
                self.add(name, Part::Ref(design, entity, reference));
                for target in reference.targets.iter().filter(|_| is_read) {
                    if let RefTo::Constants(constants) = target.to {
                        let rows = &design[constants];
                        self.add(format!("constants.{}", rows.name), Part::Constants(rows));
                    }
                }
            }
        }
    }
}

/// The condition of a view without that of its source's soft delete, which is a declaration of its
/// own.
fn besides(when: &Condition, live: Option<Condition>) -> Option<Condition> {
    let parts = |condition: Condition| match condition {
        Condition::All(parts) => parts,
        one => vec![one],
    };
    let live = live.map(parts).unwrap_or_default();
    let own = parts(when.clone()).into_iter();
    own.filter(|part| !live.contains(part))
        .reduce(Condition::and)
}

fn index_form(table: &Table, index: &Index) -> Json {
    let projection = match &index.projection {
        Projection::All => json!("all"),
        Projection::KeysOnly => json!("keys-only"),
        Projection::Include(names) => json!(names.iter().collect::<BTreeSet<_>>()),
    };
    let keys = std::iter::once(&index.partition).chain(&index.sort);
    let keys = keys.map(|key| json!([key.name, key.kind.letters(), key.native]));
    json!(["index", table.id, form::list(keys), projection])
}

fn source_form(design: &Design, source: &Source) -> Json {
    match source {
        // Both are given once and stay as they are; how a new one is made is a matter of that write.
        Source::Given { default: None } | Source::Generated => json!(["given"]),
        Source::Given {
            default: Some(value),
        } => json!(["default", form::formula(value)]),
        Source::Computed(computed) => json!([
            "computed",
            form::formula(&computed.value),
            form::timing(&computed.timing),
        ]),
        Source::Aggregate(Aggregate { sum, of, by, only }) => {
            let only = only.as_ref().map(form::predicate);
            let counted = &design[*of];
            let by = &counted.refs[by.index()].name;
            json!(["aggregate", sum, counted.name, by, only])
        }
        Source::Copy(reading) => json!(["copy", form::reading(reading)]),
        Source::Derived(value) => json!(["derived", form::formula(value)]),
    }
}

fn attribute_form(design: &Design, attribute: &Attribute) -> Json {
    json!([
        "attribute",
        form::kind(&attribute.kind),
        attribute.optional,
        besides_type(design, attribute),
    ])
}

/// What is said of an attribute besides which values it may have.
pub(crate) fn besides_type(design: &Design, attribute: &Attribute) -> Json {
    let per = attribute.per.as_ref();
    let per = per.map(|(period, name)| json!([form::period(*period), name]));
    json!([
        source_form(design, &attribute.source),
        attribute.key_only,
        attribute.is_virtual,
        attribute.file_in,
        attribute.file_at,
        per,
    ])
}

fn ref_form(design: &Design, record: &Record, reference: &Ref) -> Json {
    let targets = reference.targets.iter().map(|target| {
        let to = match target.to {
            RefTo::Record(record) => {
                let record = &design[record];
                let kind = if record.is_entity() { "entity" } else { "view" };
                json!([kind, record.name])
            }
            RefTo::Constants(constants) => json!(["constants", design[constants].name]),
        };
        let arguments = target.arguments.iter();
        let arguments = arguments.map(|one| json!([one.part, one.path, one.many]));
        let via = target
            .via
            .map(|pattern| form::pattern(design, &design[pattern]));
        let on_delete = match &target.on_delete {
            OnDelete::Keep => json!("keep"),
            OnDelete::Cascade => json!("cascade"),
            OnDelete::Refuse { count } => {
                let count = target.record().map(|to| &design[(to, *count)].name);
                json!(["refuse", count])
            }
            OnDelete::Clear(attributes) => {
                let names = attributes.iter().map(|one| &design[(record.id, *one)].name);
                json!(["clear", names.collect::<Vec<_>>()])
            }
        };
        json!([target.when, to, form::list(arguments), via, on_delete])
    });
    json!([
        "ref",
        reference.by,
        form::list(targets),
        reference.live,
        reference.unchecked,
    ])
}
