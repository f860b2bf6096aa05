//! Two designs as one: the served one, and beside it what another one derives.
//!
//! While a design changes under its data, every write keeps the derived data of both designs. The
//! union is a design of its own, so that whoever plans, sizes or verifies needs to know nothing of
//! there being two. It is the served design with what only the other one declares appended to its
//! tables. So every id of the served design means the same in the union, and what is *aside*, of
//! the other design alone, is known by its position.
//!
//! Rules, triggers, actions, schedules, limits, patterns and histories are the served design's
//! alone. What is aside is never shown: its attributes are secret in the union.
//!
//! What the newer design states of stored items is derived in the union, so that nobody has to know
//! of it either. An attribute that has another name is a value that repeats the one of the served
//! design, whichever of them is served; an attribute with a `fill` is computed by that until its
//! design is served.
//!
//! Both must agree on what a name means, because expressions find attributes and refs by name. Where
//! they do not, and where two records could have one key, the designs do not go together, and
//! [`union`] says why.
//!
//! | module | what it holds |
//! |---|---|
//! | `union` | what is aside, and what is appended |
//! | `union::interim` | the new design with other names for what both declare otherwise |
//! | `union::moved` | items that have another primary key in the other design |
//! | `union::names` | the other design in the names of the served one |
//! | `union::renumber` | the ids of the other design, as the union has them |
//! | `union::keyspace` | whether two key templates can spell the same key |

mod interim;
mod keyspace;
mod moved;
mod names;
mod renumber;

use std::collections::{BTreeMap, BTreeSet};

use crate::design::{
    Attribute, Computed, Design, Index, Record, RecordId, RecordIndex, Ref, Rules, Source, Table,
    Timing, Unique,
};
use crate::difference::{Renamed, Subject, between};
use crate::expression::Predicate;
use crate::kernel::{Does, Reaction, lower};
pub use interim::{interim, shown_name};
use keyspace::{may_collide, may_equal};
use renumber::Renumber;

/// Which of an old and a new design is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The old one: the new one is gone to.
    Old,
    /// The new one: the old one can be gone back to.
    New,
}

/// The union of two designs.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// The served design and what the other one derives.
    pub design: Design,
    /// What of it is the other one's alone.
    pub aside: Aside,
    /// What the other design demands of items beyond the served one.
    pub demands: Vec<Demand>,
}

/// What another design demands of the items of an entity, in the names of the served one.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The entity in the union.
    pub record: RecordId,
    /// Attributes that it says something else of.
    pub attributes: Vec<Attribute>,
    /// What always holds of an item.
    pub require: Option<Predicate>,
}

/// What of a union is the other design's alone: whatever is behind the served design's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    records: usize,
    /// For each record of the served design, how many of each it has.
    own: Vec<Counts>,
    /// For each table of the served design, how many indexes it has.
    indexes: Vec<usize>,
    /// The views of the served design whose records hold more for the other one.
    wider_views: BTreeSet<RecordId>,
    /// For each entity that has other keys in the other design, the record of its items there.
    moved: BTreeMap<RecordId, RecordId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    attributes: usize,
    indexes: usize,
    unique: usize,
}

/// Why two designs have no union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The declaration: `entity.Story.refs.author`.
    pub place: String,
    /// What is wrong, behind its place.
    pub message: String,
}

/// Puts beside the served one of two designs what the other one derives.
pub fn union(old: &Design, new: &Design, served: Served) -> Result<Union, Vec<Disagreement>> {
    let (other, mirrors) = names::in_served_names(old, new, served)?;
    let own = match served {
        Served::Old => old,
        Served::New => new,
    };
    let mut merge = Merge {
        numbers: Renumber::of(own, &other, &moved_views(old, new)),
        design: own.clone(),
        aside: Aside::of(own),
        other: &other,
        served,
        demands: Vec::new(),
        others_finders: Vec::new(),
        wrong: Vec::new(),
    };
    merge.tables();
    merge.records();
    merge.marks();
    merge.mirrors(&mirrors);
    merge.collisions();
    merge.moved();
    merge.widen();
    let Merge {
        mut design,
        aside,
        demands,
        wrong,
        ..
    } = merge;
    if !wrong.is_empty() {
        return Err(wrong);
    }
    design.reactions = lower(&design);
    Ok(Union {
        design,
        aside,
        demands,
    })
}

impl Aside {
    fn of(served: &Design) -> Aside {
        let own = served.records.iter().map(|record| Counts {
            attributes: record.attributes.len(),
            indexes: record.indexes.len(),
            unique: record.unique.len(),
        });
        Aside {
            records: served.records.len(),
            own: own.collect(),
            indexes: served.tables.iter().map(|one| one.indexes.len()).collect(),
            wider_views: BTreeSet::new(),
            moved: BTreeMap::new(),
        }
    }

    /// The record that the items of an entity are kept as under the key of the other design, if they
    /// have another one there.
    pub fn moved(&self, entity: RecordId) -> Option<RecordId> {
        self.moved.get(&entity).copied()
    }

    /// Whether a record is.
    pub fn has_record(&self, record: RecordId) -> bool {
        record.index() >= self.records
    }

    fn own(&self, record: &Record) -> Counts {
        self.own.get(record.id.index()).copied().unwrap_or_default()
    }

    /// The attributes of a record that are; all of a record that is.
    pub fn attributes<'d>(&self, record: &'d Record) -> &'d [Attribute] {
        &record.attributes[self.own(record).attributes..]
    }

    /// Whether an attribute of a record is.
    pub fn has_attribute(&self, record: &Record, name: &str) -> bool {
        self.attributes(record).iter().any(|one| one.name == name)
    }

    /// The outermost maps of a record that only such attributes are inside of.
    pub fn maps<'d>(&self, record: &'d Record) -> BTreeSet<&'d str> {
        let outermost = |one: &'d Attribute| one.name.split('.').next();
        let (own, aside) = record.attributes.split_at(self.own(record).attributes);
        let own: BTreeSet<&str> = own.iter().filter_map(outermost).collect();
        let inside = aside.iter().filter(|one| one.name.contains('.'));
        let maps = inside.filter_map(outermost);
        maps.filter(|map| !own.contains(map)).collect()
    }

    /// The keys of a record in indexes that are.
    pub fn keys<'d>(&self, record: &'d Record) -> &'d [RecordIndex] {
        &record.indexes[self.own(record).indexes..]
    }

    /// The unique values of a record that are.
    pub fn unique<'d>(&self, record: &'d Record) -> &'d [Unique] {
        &record.unique[self.own(record).unique..]
    }

    /// The indexes of a table, by its position in the union, that are.
    pub fn indexes<'d>(&self, table: &'d Table, position: usize) -> &'d [Index] {
        let own = self.indexes.get(position).copied().unwrap_or_default();
        &table.indexes[own..]
    }

    /// Whether a reaction keeps something that is.
    pub fn has_reaction(&self, reaction: &Reaction) -> bool {
        let is_attribute = |record: RecordId, at: usize| match self.own.get(record.index()) {
            Some(own) => at >= own.attributes,
            None => true,
        };
        match &reaction.does {
            Does::Add { to, .. } | Does::Copy { to, .. } => is_attribute(to.0, to.1.index()),
            Does::Keep(view) => self.has_record(*view) || self.wider_views.contains(view),
            Does::Archive(view) => self.has_record(*view),
            Does::Guard(unique) => match self.own.get(reaction.record.index()) {
                Some(own) => unique.index() >= own.unique,
                None => true,
            },
            Does::Release | Does::Operate(_) => false,
        }
    }

    /// Whether stored items need nothing for what is aside.
    pub fn is_empty(&self, design: &Design) -> bool {
        let tables = design.tables.iter().enumerate();
        let mut indexes = tables.flat_map(|(at, table)| self.indexes(table, at));
        indexes.next().is_none()
            && design.records.iter().all(|record| {
                !self.has_record(record.id)
                    && self.attributes(record).is_empty()
                    && self.keys(record).is_empty()
                    && self.unique(record).is_empty()
            })
    }

    /// The names of what the records of a view hold only for what is aside.
    pub fn held<'d>(&self, design: &'d Design, view: &'d Record) -> Vec<&'d str> {
        let attributes = self.attributes(view).iter();
        let attributes = attributes.map(|one| one.name.as_str());
        attributes.chain(self.made_keys(design, view)).collect()
    }

    /// The declarations that are, as their places in a file: `entity.Story.attributes.likes`.
    pub fn places(&self, design: &Design) -> BTreeSet<String> {
        let mut places = BTreeSet::new();
        for record in &design.records {
            if !record.is_entity() {
                if self.has_record(record.id) || self.wider_views.contains(&record.id) {
                    places.insert(format!("view.{}", record.name));
                }
                continue;
            }
            let place = format!("entity.{}", record.name);
            let attributes = self.attributes(record).iter();
            places.extend(attributes.map(|one| format!("{place}.attributes.{}", one.name)));
            let unique = self.unique(record).iter();
            places.extend(unique.map(|one| format!("{place}.unique.{}", one.name)));
            for name in self.made_keys(design, record) {
                places.insert(format!("{place}.{name}"));
            }
            let native = self.native_keys(design, record);
            places.extend(native.map(|name| format!("{place}.attributes.{name}")));
        }
        places
    }

    /// The attributes of a record that only an index which is aside holds by themselves.
    fn native_keys<'d>(
        &self,
        design: &'d Design,
        record: &Record,
    ) -> impl Iterator<Item = &'d str> {
        let indexes = self.indexes(&design[record.table], record.table.index());
        let keys = indexes.iter();
        let keys = keys.flat_map(|index| [Some(&index.partition), index.sort.as_ref()]);
        let native = keys.flatten().filter(|key| key.native);
        native.map(|key| key.name.as_str())
    }

    /// The names of the keys that are made for a record only where what is aside is kept.
    pub fn made_keys<'d>(&self, design: &'d Design, record: &'d Record) -> BTreeSet<&'d str> {
        let names = |index: &'d RecordIndex| design.index_of(record, index.index).made_keys();
        let own = &record.indexes[..self.own(record).indexes];
        let own: BTreeSet<&str> = own.iter().flat_map(names).collect();
        let aside = self.keys(record).iter().flat_map(names);
        aside.filter(|name| !own.contains(name)).collect()
    }
}

/// The work of putting two designs together.
struct Merge<'d> {
    /// The other design, in the names of the served one.
    other: &'d Design,
    served: Served,
    design: Design,
    aside: Aside,
    demands: Vec<Demand>,
    numbers: Renumber<'d>,
    /// The targets of refs that are found by the keys of the other design: the record, and the
    /// positions of the ref and the target.
    others_finders: Vec<(RecordId, usize, usize)>,
    wrong: Vec<Disagreement>,
}

impl Merge<'_> {
    fn disagree(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.wrong.push(Disagreement {
            place: place.into(),
            message: message.into(),
        });
    }

    fn tables(&mut self) {
        for table in &self.other.tables {
            let known = self.design.tables.iter_mut().find(|one| one.id == table.id);
            let Some(known) = known else {
                self.design.tables.push(table.clone());
                continue;
            };
            if is_other_table(known, table) {
                let place = place_of_table(table);
                self.disagree(place, "is another table, or has other keys");
                continue;
            }
            let mut changed = Vec::new();
            for index in &table.indexes {
                match known.indexes.iter().find(|one| one.name == index.name) {
                    None => known.indexes.push(index.clone()),
                    Some(one) if one == index => {}
                    Some(_) => changed.push(format!("index.{}", index.name)),
                }
            }
            for place in changed {
                self.disagree(place, "has other keys or holds other attributes");
            }
        }
    }

    fn records(&mut self) {
        for record in &self.other.records {
            let Some(id) = self.numbers.record(record.id) else {
                continue;
            };
            if self.aside.has_record(id) {
                let made = self.renumbered(record, id);
                self.design.records.push(made);
            } else {
                self.extend(record, id);
                self.demand(record, id);
            }
        }
    }

    /// Items that the other design marks otherwise may have either mark.
    fn marks(&mut self) {
        for other in &self.other.records {
            let id = self.numbers.record(other.id);
            let Some(id) = id.filter(|id| !self.aside.has_record(*id)) else {
                continue;
            };
            let known = &self.design[id];
            if known.discriminator == other.discriminator {
                continue;
            }
            let mark = self.design[known.table].discriminator.clone();
            let place = format!(
                "{}.{}",
                place_of(known),
                mark.as_deref().unwrap_or_default()
            );
            if let Some(why) = self.unmarked(known, mark.as_deref(), other) {
                self.disagree(place, why);
            } else {
                let known = &mut self.design.records[id.index()];
                known.also_marked.clone_from(&other.discriminator);
            }
        }
    }

    /// Why items of a record cannot have either of two marks.
    fn unmarked(&self, known: &Record, mark: Option<&str>, other: &Record) -> Option<&'static str> {
        let mut keys = self.design[known.table]
            .indexes
            .iter()
            .flat_map(Index::keys);
        if keys.any(|key| Some(key.name.as_str()) == mark) {
            return Some("is a key of an index, where items have one of the two marks");
        }
        let mut records = self.design.records.iter();
        let is_anothers = records.any(|one| {
            let marks = [&one.discriminator, &one.also_marked];
            one.id != known.id
                && one.table == known.table
                && marks.contains(&&other.discriminator)
                && may_collide(&one.key, &known.key)
        });
        is_anothers.then_some("is the mark of another record with such keys")
    }

    /// What the new design demands of stored items: whoever writes has to heed it until it is served.
    fn demand(&mut self, record: &Record, id: RecordId) {
        if self.served == Served::New || !record.is_entity() {
            return;
        }
        let known = &self.design.records[id.index()];
        let differs = |one: &&Attribute| {
            let known = known.stored(&one.name);
            known.is_some_and(|known| known.kind != one.kind || known.optional != one.optional)
        };
        let attributes: Vec<Attribute> =
            record.attributes.iter().filter(differs).cloned().collect();
        let mut require = record.require.clone();
        let text = |require: &Option<Predicate>| require.as_ref().map(|one| one.text.clone());
        if text(&require) == text(&known.require) {
            require = None;
        }
        self.numbers.in_condition(require.as_mut());
        if !attributes.is_empty() || require.is_some() {
            self.demands.push(Demand {
                record: id,
                attributes,
                require,
            });
        }
    }

    /// Notes the views whose records hold more than the served design says.
    fn widen(&mut self) {
        let views = self.design.records.iter().filter(|one| !one.is_entity());
        let wider = views.filter(|view| {
            let is_history = view.view.as_ref().is_some_and(|view| view.history);
            !is_history && !self.aside.held(&self.design, view).is_empty()
        });
        self.aside.wider_views = wider.map(|view| view.id).collect();
    }

    /// A record that only the other design has.
    fn renumbered(&mut self, record: &Record, id: RecordId) -> Record {
        let mut made = record.clone();
        made.id = id;
        made.rules = Rules::default();
        made.path = None;
        self.numbers.in_record(&mut made);
        for reference in &mut made.refs {
            let place = place_of_ref(record, reference);
            if let Err(message) = self.numbers.in_ref(&self.design, reference) {
                self.wrong.push(Disagreement { place, message });
            }
        }
        made
    }

    /// What the other design has of a record that both have.
    fn extend(&mut self, record: &Record, id: RecordId) {
        self.refs(record, id);
        let is_view = !record.is_entity();
        for attribute in &record.attributes {
            let known = &mut self.design.records[id.index()];
            if known.stored(&attribute.name).is_some() {
                continue;
            }
            let place = format!("{}.attributes.{}", place_of(record), attribute.name);
            // What a view has of its source follows the source.
            if is_view && attribute.is_virtual {
                continue;
            }
            let is_ref = known.refs.iter().any(|one| one.name == attribute.name);
            let alias = known.attribute(&attribute.name);
            let is_alias = alias.is_some_and(|one| shown_name(&one.name).is_none());
            let is_history = record.view.as_ref().is_some_and(|view| view.history);
            if is_history {
                // It keeps what is replaced while its design is served.
                continue;
            }
            if is_view && attribute.key_only {
                self.disagree(place, "is new in the key of a view that both designs have");
            } else if is_view && attribute.is_declared() && attribute.derived().is_none() {
                self.disagree(place, "is new in a view that both designs have, as its own");
            } else if is_ref || is_alias {
                self.disagree(place, "is the name of something else in the other design");
            } else if known.open {
                self.disagree(
                    place,
                    "may be in items already, because the entity is `open`",
                );
            } else {
                let made = self.aside_attribute(record, attribute);
                self.design.records[id.index()].attributes.push(made);
            }
        }
        self.keys(record, id);
        self.unique(record, id);
    }

    /// The unique values of the other design. One that says something else has guards of its own.
    fn unique(&mut self, record: &Record, id: RecordId) {
        for unique in &record.unique {
            let known = &self.design.records[id.index()];
            let same = known.unique.iter().find(|one| one.name == unique.name);
            match same {
                Some(same) if same == unique => {}
                Some(same) if may_equal(&same.partition, &unique.partition) => {
                    let place = format!("{}.unique.{}", place_of(record), unique.name);
                    let message = "can have the guards that it has in the other design: give it a \
                                   partition key that begins otherwise";
                    self.disagree(place, message);
                }
                _ => self.design.records[id.index()].unique.push(unique.clone()),
            }
        }
    }

    fn aside_attribute(&self, record: &Record, attribute: &Attribute) -> Attribute {
        let mut made = attribute.clone();
        self.numbers.in_source(&mut made.source);
        let mut fills = record.fill.iter();
        let fill = fills.find(|fill| fill.attribute == attribute.name);
        if let Some(fill) = fill.filter(|_| self.served == Served::Old) {
            let mut value = fill.value.over_stored();
            self.numbers.in_formula(&mut value);
            let timing = Timing::Always;
            made.source = Source::Computed(Computed { value, timing });
        }
        // Nobody can give it, and nobody is shown it, until its design is served.
        made.secret = true;
        made.alias = None;
        made.optional |=
            matches!(made.source, Source::Given { default: None }) && !made.begins_with_zero();
        made
    }

    fn keys(&mut self, record: &Record, id: RecordId) {
        for keys in &record.indexes {
            let mut made = keys.clone();
            made.index = self.numbers.index(record.table, keys.index);
            let known = &self.design.records[id.index()];
            if known.indexes.iter().any(|one| one.index == made.index) {
                continue;
            }
            let name = self.design.index_of(known, made.index).name.clone();
            let shares = |one: &RecordIndex| {
                let taken: Vec<&str> = self.design.index_of(known, one.index).made_keys().collect();
                let mut wanted = self.design.index_of(known, made.index).made_keys();
                wanted.any(|key| taken.contains(&key))
            };
            if known.indexes.iter().any(shares) {
                let place = format!("{}.{name}", place_of(record));
                self.disagree(place, "shares a key with another index of the record");
                continue;
            }
            self.numbers.in_keys(&mut made);
            self.design.records[id.index()].indexes.push(made);
        }
    }

    fn refs(&mut self, record: &Record, id: RecordId) {
        for reference in &record.refs {
            let known = &self.design.records[id.index()];
            let found = known.refs.iter().find(|one| one.name == reference.name);
            let mut made = reference.clone();
            let fits = self.numbers.in_ref(&self.design, &mut made);
            let place = place_of_ref(record, reference);
            let Some(found) = found else {
                if let Err(message) = fits {
                    self.disagree(place, message);
                } else if known.stored(&reference.name).is_some() {
                    self.disagree(place, "is the name of something else in the other design");
                } else {
                    let at = known.refs.len();
                    let targets = (0..made.targets.len()).map(|target| (id, at, target));
                    self.others_finders.extend(targets);
                    self.design.records[id.index()].refs.push(made);
                }
                continue;
            };
            if !leads_alike(found, &made) {
                self.disagree(place, "leads elsewhere");
                continue;
            }
            let at = known.refs.iter().position(|one| one.name == reference.name);
            let Some(at) = at else { continue };
            let targets = &mut self.design.records[id.index()].refs[at].targets;
            for (target, (known, made)) in targets.iter_mut().zip(made.targets).enumerate() {
                // Something that only the other design has needs to find who refers.
                if known.finder.is_none() && made.finder.is_some() {
                    known.finder = made.finder;
                    self.others_finders.push((id, at, target));
                }
            }
        }
    }

    /// No record of one design may have a key of a record that only the other one has.
    fn collisions(&mut self) {
        let (own, aside) = self.design.records.split_at(self.aside.records);
        let mut wrong = Vec::new();
        for one in aside {
            let others = own.iter().filter(|two| two.table == one.table);
            for two in others.filter(|two| may_collide(&one.key, &two.key)) {
                wrong.push(Disagreement {
                    place: place_of(one),
                    message: format!(
                        "can have the key of `{}` in the other design",
                        place_of(two)
                    ),
                });
            }
        }
        self.wrong.extend(wrong);
    }
}

/// The views that have their records under other keys, or for others, by their names.
fn moved_views(old: &Design, new: &Design) -> BTreeSet<String> {
    let renamed = Renamed::between(old, new).records;
    let changes = between(old, new).into_iter();
    let moved = changes.filter(|one| !one.is_free());
    let moved = moved.filter_map(|one| match one.subject {
        Subject::PrimaryKey(record, _) if record.is_view => Some(record.name),
        Subject::When(name) | Subject::Each(name) | Subject::Distinct(name) => Some(name),
        _ => None,
    });
    // Either name, whichever design is served.
    let names = moved.flat_map(|name| renamed.get(&name).cloned().into_iter().chain([name]));
    names.collect()
}

/// Whether two tables of one name in their designs are not one table.
fn is_other_table(one: &Table, two: &Table) -> bool {
    one.name != two.name
        || one.partition != two.partition
        || one.sort != two.sort
        || one.discriminator != two.discriminator
        || one.ttl != two.ttl
}

/// Whether two refs lead to the same items.
fn leads_alike(one: &Ref, two: &Ref) -> bool {
    let targets = || one.targets.iter().zip(&two.targets);
    one.by == two.by
        && one.live == two.live
        && one.targets.len() == two.targets.len()
        && targets().all(|(one, two)| {
            one.when == two.when
                && one.to == two.to
                && one.arguments == two.arguments
                && one.via == two.via
        })
}

fn place_of(record: &Record) -> String {
    let kind = if record.is_entity() { "entity" } else { "view" };
    format!("{kind}.{}", record.name)
}

fn place_of_ref(record: &Record, reference: &Ref) -> String {
    format!("{}.refs.{}", place_of(record), reference.name)
}

fn place_of_table(table: &Table) -> String {
    match table.id.as_str() {
        "" => "table".to_owned(),
        id => format!("table.{id}"),
    }
}

#[cfg(test)]
mod tests;
