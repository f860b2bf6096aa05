//! A compiled design: plain data, in the order of the file.
//!
//! All names are resolved. A placeholder, a path or a `keep` list may call an attribute by its
//! alias in the file; here every one of them has the name under which the attribute is stored.
//! An attribute inside a map has its way down as its name: `stats.reads`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`table`] | tables, indexes, buckets, constants |
//! | [`entity`] | entities, their attributes and where values come from |
//! | [`reference`](mod@reference) | how one item is found from another |
//! | [`rules`] | who may do what, and how often |
//! | [`view`] | records derived from items |
//! | [`effect`] | actions and triggers: what one write causes |
//! | [`pattern`] | named reads |
//! | [`path`] | paths of URLs |

use crate::expression::Hop;

pub mod effect;
pub mod entity;
pub mod path;
pub mod pattern;
pub mod reference;
pub mod rules;
pub mod table;
pub mod view;

pub use effect::{
    Action, ActionOn, Application, Assignments, Each, EachOver, Effect, EffectKind, EffectTarget,
    Event, EventKind, Trigger,
};
pub use entity::{
    Aggregate, Attribute, Computed, Entity, IdentityPart, Period, Repeat, SoftDelete, Source,
    Timing, Unique,
};
pub use path::{PathTemplate, Segment};
pub use pattern::{
    KeyBound, LIMIT_DEFAULT, LIMIT_MAX, ONE_ROWS_MAX, Parameter, ParameterKind, Pattern, QueryRead,
    Read, SortOrder, SortRange, WHOLE_MAX,
};
pub use reference::{Argument, Finder, OnDelete, Ref, RefTarget, TargetName};
pub use rules::{
    Access, AttributeRule, CallerSource, Callers, Limit, LimitRecord, Rule, RuleLine, Rules,
};
pub use table::{
    Bucket, Constants, Index, IndexKey, KeyCase, KeyTemplates, KeyValue, Prefix, Projection,
    RecordIndex, Settings, Table,
};
pub use view::{View, ViewAttribute};

use crate::origin::Origin;

/// A whole design.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Its name, which is the first part of its URLs.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// Its table, or the first of them.
    pub table: Table,
    /// Further tables.
    pub other_tables: Vec<Table>,
    /// Who callers are.
    pub callers: Callers,
    /// Values that are written in the design.
    pub constants: Vec<Constants>,
    /// Its entities.
    pub entities: Vec<Entity>,
    /// The records that are kept for its entities.
    pub views: Vec<View>,
    /// What callers can do beyond creating, changing and deleting.
    pub actions: Vec<Action>,
    /// What writes cause.
    pub triggers: Vec<Trigger>,
    /// Its access patterns.
    pub patterns: Vec<Pattern>,
    /// How often callers may do something.
    pub limits: Vec<Limit>,
    /// Where the windows of the limits are kept.
    pub limit_record: Option<LimitRecord>,
    /// Where files are kept.
    pub buckets: Vec<Bucket>,
    /// The text that it was compiled from.
    pub origin: Origin,
}

/// The name of a record: an entity's or a view's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordName {
    /// An entity.
    Entity(String),
    /// A view.
    View(String),
}

impl RecordName {
    /// The name alone.
    pub fn as_str(&self) -> &str {
        match self {
            RecordName::Entity(name) | RecordName::View(name) => name,
        }
    }
}

impl Design {
    /// The entity of that name.
    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The view of that name.
    pub fn view(&self, name: &str) -> Option<&View> {
        self.views.iter().find(|view| view.name == name)
    }

    /// The pattern of that name.
    pub fn pattern(&self, name: &str) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.name == name)
    }

    /// The action of that name.
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// The ref that a path follows. A view's record has those of its source.
    pub fn reference(&self, hop: &Hop) -> Option<&Ref> {
        let entity = match &hop.record {
            RecordName::Entity(name) => name,
            RecordName::View(name) => &self.view(name)?.of,
        };
        self.entity(entity)?.reference(&hop.reference)
    }

    /// The views of an entity.
    pub fn views_of(&self, entity: &str) -> impl Iterator<Item = &View> {
        self.views.iter().filter(move |view| view.of == entity)
    }

    /// The numbers of an entity over items that may stay when one of its items is deleted: their
    /// refs neither cascade nor are cleared.
    pub fn kept_numbers<'d>(&'d self, entity: &'d Entity) -> impl Iterator<Item = &'d Attribute> {
        entity.attributes.iter().filter(|attribute| {
            let Source::Aggregate(aggregate) = &attribute.source else {
                return false;
            };
            let reference = match &aggregate.of {
                RecordName::Entity(of) => self.entity(of),
                RecordName::View(_) => None,
            };
            let reference = reference.and_then(|of| of.reference(&aggregate.by));
            let mut targets = reference.into_iter().flat_map(|one| &one.targets);
            targets.any(|target| target.leads_to(&entity.name) && target.may_stay(entity))
        })
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        std::iter::once(&self.table).chain(&self.other_tables)
    }

    /// The table that an entity lives in.
    pub fn table_of(&self, entity: &Entity) -> &Table {
        let named = |table: &&Table| Some(&table.id) == entity.table.as_ref();
        self.tables().find(named).unwrap_or(&self.table)
    }
}
