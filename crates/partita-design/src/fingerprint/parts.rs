//! The declarations of a design that stored data follow.

use std::collections::{BTreeMap, BTreeSet};

use partita_core::expression::Condition;
use serde_json::{Value as Json, json};

use super::form;
use crate::design::{
    Aggregate, Attribute, Bucket, Constants, Design, EachOver, Index, KeyValue, OnDelete, Prefix,
    Projection, Record, Ref, RefTarget, RefTo, SoftDelete, Source, Table, Timing, Unique, View,
};
use crate::difference::{AttributeAspect, RecordName, RefAspect, Subject, TableAspect};
use crate::expression::Reading;
use crate::types::{AttributeType, Shape};

/// One declaration.
#[derive(Clone, Debug)]
pub(crate) struct Part<'d> {
    pub(crate) subject: Subject,
    pub(crate) body: Body<'d>,
}

/// What a declaration says.
#[derive(Clone, Debug)]
pub(crate) enum Body<'d> {
    Table(&'d Table),
    Index(&'d Table, &'d Index),
    Entity(&'d Table),
    /// Its form and nothing else: a key, a condition.
    Plain(Json),
    /// An entity keeps attributes that are not listed.
    Open,
    Attribute(&'d Design, &'d Record, &'d Attribute),
    Ref(&'d Design, &'d Record, &'d Ref),
    Unique(&'d Unique),
    View(&'d Design, &'d View),
    /// The names of what a view repeats of its source.
    Keep(BTreeSet<&'d String>),
    Shape(&'d Shape),
    Constants(&'d Constants),
    Bucket(&'d Bucket),
    Prefix(&'d Prefix),
}

impl Part<'_> {
    pub(crate) fn form(&self) -> Json {
        match &self.body {
            Body::Table(table) => json!([
                "table",
                table.name,
                table.partition,
                table.sort,
                table.discriminator,
                table.ttl,
                table.settings.stream,
            ]),
            Body::Index(table, index) => index_form(table, index),
            Body::Entity(table) => json!(["entity", table.id]),
            Body::Plain(form) => form.clone(),
            Body::Open => json!(["open"]),
            Body::Attribute(design, record, attribute) if record.is_entity() => {
                attribute_form(design, attribute)
            }
            Body::Attribute(design, _, attribute) => {
                let form = match attribute.derived() {
                    Some(value) => {
                        let kind = form::kind(&attribute.kind);
                        json!(["derived", kind, attribute.optional, form::formula(value)])
                    }
                    None => attribute_form(design, attribute),
                };
                json!(["attribute", form])
            }
            Body::Keep(names) => json!(["keep", names]),
            Body::Ref(design, record, reference) => ref_form(design, record, reference),
            Body::Unique(unique) => json!(["unique", form::template(&unique.partition)]),
            Body::View(design, view) => json!(["view", design[view.of].name, view.history]),
            Body::Shape(shape) => form::shape(shape),
            Body::Constants(constants) => {
                let rows = constants.rows.iter();
                let rows = rows.map(|(name, row)| json!([name, form::map(row)]));
                json!(["constants", form::list(rows)])
            }
            Body::Bucket(bucket) => json!(["bucket", bucket.bucket]),
            Body::Prefix(prefix) => json!(["prefix", form::template(&prefix.path)]),
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
        let subject = Subject::Table(table.id.clone(), TableAspect::Whole);
        parts.add(subject, Body::Table(table));
        for index in &table.indexes {
            let subject = Subject::Index(index.name.clone());
            parts.add(subject, Body::Index(table, index));
        }
    }
    for entity in design.entities() {
        parts.entity(entity);
    }
    for (record, view) in design.views() {
        parts.view(record, view);
    }
    for bucket in &design.buckets {
        for prefix in &bucket.prefixes {
            let subject = Subject::Prefix(bucket.name.clone(), prefix.name.clone());
            parts.add(subject, Body::Prefix(prefix));
        }
        parts.add(Subject::Bucket(bucket.name.clone()), Body::Bucket(bucket));
    }
    if let Some(accounts) = &design.accounts
        && let Some(login) = accounts.login(design)
    {
        let (users, login) = (accounts.users(design), &login.name);
        // Stored logins are trimmed and in lower case.
        parts.plain(Subject::Login, "login", json!([users.name, login]));
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
    fn add(&mut self, subject: Subject, body: Body<'d>) {
        self.found.insert(subject.path(), Part { subject, body });
    }

    fn plain(&mut self, subject: Subject, tag: &str, form: Json) {
        self.add(subject, Body::Plain(json!([tag, form])));
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
        let name = || entity.name.clone();
        let table = &self.design[entity.table];
        self.add(Subject::Entity(name()), Body::Entity(table));
        self.keys(table, entity);
        if entity.open {
            self.add(Subject::Open(name()), Body::Open);
        }
        if let Some(soft_delete) = &entity.soft_delete {
            let form = form::soft_delete(soft_delete);
            self.plain(Subject::SoftDelete(name()), "soft-delete", form);
        }
        if let Some(require) = &entity.require {
            let form = form::predicate(require);
            self.plain(Subject::Require(name()), "require", form);
        }
        for attribute in &entity.attributes {
            self.attribute(entity, attribute);
        }
        for unique in &entity.unique {
            let subject = Subject::Guard(name(), unique.name.clone());
            self.add(subject, Body::Unique(unique));
        }
    }

    fn keys(&mut self, table: &Table, record: &'d Record) {
        let key = &record.key;
        for (name, template) in [(&table.partition, &key.partition), (&table.sort, &key.sort)] {
            let subject = Subject::PrimaryKey(RecordName::of(record), name.clone());
            self.plain(subject, "key", form::template(template));
        }
        for keys in &record.indexes {
            self.reads(&keys.reads);
            let index = &table.indexes[keys.index.index()];
            let partition = Some((&index.partition, &keys.partition));
            let sort = index.sort.as_ref().zip(keys.sort.as_ref());
            for (key, value) in partition.into_iter().chain(sort) {
                // A key that is an attribute of the entity follows that one and the index.
                if let KeyValue::Cases(cases) = value {
                    let subject = Subject::IndexKey(RecordName::of(record), key.name.clone());
                    self.plain(subject, "key", form::key_cases(cases));
                }
            }
        }
        if let (Some(name), Some(value)) = (&table.discriminator, &record.discriminator) {
            let subject = Subject::Discriminator(RecordName::of(record), name.clone());
            self.plain(subject, "discriminator", json!(value));
        }
    }

    fn attribute(&mut self, record: &'d Record, attribute: &'d Attribute) {
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
        self.add_attribute(record, attribute);
    }

    fn add_attribute(&mut self, record: &'d Record, attribute: &'d Attribute) {
        let record_name = RecordName::of(record);
        let aspect = AttributeAspect::Whole;
        let subject = Subject::Attribute(record_name, attribute.name.clone(), aspect);
        self.add(subject, Body::Attribute(self.design, record, attribute));
    }

    fn shapes(&mut self, kind: &'d AttributeType) {
        match kind {
            AttributeType::Shape(shape) => {
                let subject = Subject::Shape(shape.name.clone());
                if !self.found.contains_key(&subject.path()) {
                    self.add(subject, Body::Shape(shape));
                    shape.fields.iter().for_each(|one| self.shapes(&one.kind));
                }
            }
            AttributeType::List { element, .. } => self.shapes(element),
            _ => {}
        }
    }

    fn view(&mut self, record: &'d Record, view: &'d View) {
        let design = self.design;
        let name = || record.name.clone();
        self.add(Subject::View(name()), Body::View(design, view));
        self.keys(&design[record.table], record);
        if let Some(when) = &view.when {
            self.reads(&when.reads);
            let live = design[view.of].soft_delete.as_ref();
            if let Some(own) = besides(&when.tree, live.map(SoftDelete::live)) {
                self.plain(Subject::When(name()), "when", form::condition(&own));
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
            self.plain(Subject::Each(name()), "each", json!([each.name, over]));
        }
        if let Some(distinct) = &view.distinct {
            self.reads(&distinct.reads);
            let form = form::formula(distinct);
            self.plain(Subject::Distinct(name()), "distinct", form);
        }
        let keep = record.kept().filter(|one| !one.implied);
        let keep = keep.map(|one| &one.name).collect();
        self.add(Subject::Keep(name()), Body::Keep(keep));
        for attribute in record.attributes.iter().filter(|one| one.is_declared()) {
            if let Some(value) = attribute.derived() {
                self.reads(&value.reads);
            }
            self.add_attribute(record, attribute);
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
                let (name, own) = (entity.name.clone(), reference.name.clone());
                let subject = Subject::Ref(name, own, RefAspect::Whole);
                self.add(subject, Body::Ref(design, entity, reference));
                for target in reference.targets.iter().filter(|_| is_read) {
                    if let RefTo::Constants(constants) = target.to {
                        let rows = &design[constants];
                        let subject = Subject::Constants(rows.name.clone());
                        self.add(subject, Body::Constants(rows));
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

pub(crate) fn source_form(design: &Design, source: &Source) -> Json {
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
fn besides_type(design: &Design, attribute: &Attribute) -> Json {
    let per = attribute.per.as_ref();
    let per = per.map(|(period, name)| json!([form::period(*period), name]));
    let file_in = if attribute.elsewhere {
        json!([attribute.file_in, "elsewhere"])
    } else {
        json!(attribute.file_in)
    };
    json!([
        source_form(design, &attribute.source),
        attribute.key_only,
        attribute.is_virtual,
        file_in,
        attribute.file_at,
        per,
    ])
}

fn ref_form(design: &Design, record: &Record, reference: &Ref) -> Json {
    let targets = reference.targets.iter().map(|target| {
        let mut form = target_form(design, target);
        form.push(on_delete_form(design, record, target));
        Json::Array(form)
    });
    json!([
        "ref",
        reference.by,
        form::list(targets),
        reference.live,
        reference.unchecked,
    ])
}

/// Where a ref leads.
pub(crate) fn target_form(design: &Design, target: &RefTarget) -> Vec<Json> {
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
    vec![json!(target.when), to, form::list(arguments), json!(via)]
}

fn on_delete_form(design: &Design, record: &Record, target: &RefTarget) -> Json {
    match &target.on_delete {
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
    }
}
