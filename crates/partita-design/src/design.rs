//! A compiled design: plain data, in the order of the file.
//!
//! All names are resolved. A placeholder, a path or a `keep` list may call an attribute by its
//! alias in the file; here every one of them has the name under which the attribute is stored.
//! An attribute inside a map has its way down as its name: `stats.reads`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`ids`] | typed positions: what one part of a design says of another |
//! | [`table`] | tables, indexes, buckets, constants |
//! | [`record`] | entities and views |
//! | [`attribute`] | attributes, and where values come from |
//! | [`reference`](mod@reference) | how one item is found from another |
//! | [`rules`] | who may do what, and how often |
//! | [`accounts`] | people who sign in |
//! | [`effect`] | actions and triggers: what one write causes |
//! | [`schedule`] | what is done at certain times |
//! | [`evolution`] | what is said of data that earlier designs left |
//! | [`pattern`] | named reads |
//! | [`path`] | paths of URLs |

use std::ops::Index as At;

use crate::expression::Hop;

pub mod accounts;
pub mod attribute;
pub mod effect;
pub mod evolution;
pub mod ids;
pub mod path;
pub mod pattern;
pub mod record;
pub mod reference;
pub mod rules;
pub mod schedule;
pub mod table;

pub use accounts::{
    AccountLink, AccountMails, AccountSession, Accounts, ActiveMark, ClaimSource, HashScheme,
    MailText, Provision, SignIn,
};
pub use attribute::{Aggregate, Attribute, Computed, Period, Source, Timing};
pub use effect::{
    Action, ActionOn, Application, Assignments, Each, EachOver, Effect, EffectKind, EffectTarget,
    Event, EventKind, MailForm, Trigger,
};
pub use evolution::{Earlier, Fill, Rows};
pub use ids::{
    ActionId, AttributeId, ConstantsId, EffectId, IndexId, PatternId, RecordId, RefId, ReferrerId,
    TableId, TriggerId, UniqueId,
};
pub use path::{PathTemplate, Segment};
pub use pattern::{
    Follow, KeyBound, LIMIT_DEFAULT, LIMIT_MAX, ONE_ROWS_MAX, PageReads, Parameter, ParameterKind,
    Pattern, PatternRule, QueryRead, Read, SortOrder, SortRange, WHOLE_MAX,
};
pub use record::{IdentityPart, Record, Repeat, SoftDelete, Unique, View};
pub use reference::{Argument, Finder, OnDelete, Ref, RefTarget, RefTo};
pub use rules::{
    Access, AttributeRule, CallerSource, Callers, Limit, LimitRecord, Rule, RuleLine, Rules,
};
pub use schedule::{Chore, Every, Schedule, ScheduleOver};
pub use table::{
    Bucket, Constants, Encryption, Index, IndexKey, KeyCase, KeyTemplates, KeyValue, Prefix,
    Projection, RecordIndex, Settings, Table,
};

use crate::kernel::Reactions;
use crate::origin::Origin;

/// A whole design.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Its name, which is the first part of its URLs.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// Its tables. Records are in the first unless they name another.
    pub tables: Vec<Table>,
    /// Who callers are.
    pub callers: Callers,
    /// Values that are written in the design.
    pub constants: Vec<Constants>,
    /// Its entities, and behind them its views.
    pub records: Vec<Record>,
    /// What callers can do beyond creating, changing and deleting.
    pub actions: Vec<Action>,
    /// What writes cause.
    pub triggers: Vec<Trigger>,
    /// What is done once in every period.
    pub schedules: Vec<Schedule>,
    /// Its access patterns.
    pub patterns: Vec<Pattern>,
    /// How often callers may do something.
    pub limits: Vec<Limit>,
    /// Where the windows of the limits are kept.
    pub limit_record: Option<LimitRecord>,
    /// People who sign in, if some do.
    pub accounts: Option<Accounts>,
    /// Where files are kept.
    pub buckets: Vec<Bucket>,
    /// Rows of an older layout, and what becomes of them.
    pub rows: Vec<Rows>,
    /// Everything that writes cause, lowered from all of the above.
    pub reactions: Reactions,
    /// The text that it was compiled from.
    pub origin: Origin,
}

macro_rules! tables {
    ($($id:ident $table:ident $row:ident)*) => {$(
        impl At<$id> for Design {
            type Output = $row;

            fn index(&self, id: $id) -> &$row {
                &self.$table[id.index()]
            }
        }
    )*};
}

tables! {
    TableId tables Table
    ConstantsId constants Constants
    RecordId records Record
    ActionId actions Action
    TriggerId triggers Trigger
    PatternId patterns Pattern
}

macro_rules! parts {
    ($($id:ident $table:ident $row:ident)*) => {$(
        impl At<(RecordId, $id)> for Design {
            type Output = $row;

            fn index(&self, (record, id): (RecordId, $id)) -> &$row {
                &self[record].$table[id.index()]
            }
        }
    )*};
}

parts! {
    AttributeId attributes Attribute
    RefId refs Ref
    UniqueId unique Unique
}

impl At<EffectId> for Design {
    type Output = Effect;

    fn index(&self, id: EffectId) -> &Effect {
        match id {
            EffectId::Trigger(trigger) => &self[trigger].effect,
            EffectId::Action(action, position) => &self[action].then[position],
        }
    }
}

impl Design {
    /// The entities.
    pub fn entities(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.is_entity())
    }

    /// The refs by which items of entities refer to those of a record.
    pub fn referrers(&self, target: RecordId) -> Vec<ReferrerId> {
        let mut found = Vec::new();
        for entity in self.entities() {
            for (at, reference) in entity.refs.iter().enumerate() {
                let targets = reference.targets.iter().enumerate();
                let meant = targets.filter(|(_, one)| one.to == RefTo::Record(target));
                found.extend(meant.map(|(position, _)| ReferrerId {
                    record: entity.id,
                    reference: RefId::new(at),
                    target: position,
                }));
            }
        }
        found
    }

    /// The views, each with what makes it one.
    pub fn views(&self) -> impl Iterator<Item = (&Record, &View)> {
        let records = self.records.iter();
        records.filter_map(|record| Some((record, record.view.as_ref()?)))
    }

    /// The views of an entity, each with what makes it one.
    pub fn views_of(&self, entity: RecordId) -> impl Iterator<Item = (&Record, &View)> {
        self.views().filter(move |(_, view)| view.of == entity)
    }

    /// The entity that a view is of; an entity itself.
    pub fn source<'d>(&'d self, record: &'d Record) -> &'d Record {
        record.view.as_ref().map_or(record, |view| &self[view.of])
    }

    /// The record that decides who may use a record: itself, or the source of a view without rules.
    pub fn ruling<'d>(&'d self, record: &'d Record) -> &'d Record {
        match &record.view {
            Some(view) if !view.has_rules => &self[view.of],
            _ => record,
        }
    }

    /// The index in which a record has keys.
    pub fn index_of(&self, record: &Record, index: IndexId) -> &Index {
        &self[record.table].indexes[index.index()]
    }

    /// The ref that a path follows; `None` for one over the parameters of an action.
    pub fn reference(&self, hop: &Hop) -> Option<&Ref> {
        hop.reference.map(|reference| &self[reference])
    }

    /// The record of that name, as a caller or a file gives it.
    pub fn find_record(&self, name: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.name == name)
    }

    /// The entity of that name, as a caller or a file gives it.
    pub fn find_entity(&self, name: &str) -> Option<&Record> {
        self.entities().find(|record| record.name == name)
    }

    /// The pattern of that name, as a caller or a file gives it.
    pub fn find_pattern(&self, name: &str) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.name == name)
    }

    /// The action of that name, as a caller or a file gives it.
    pub fn find_action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// The schedule of that name, as a file gives it.
    pub fn find_schedule(&self, name: &str) -> Option<&Schedule> {
        self.schedules.iter().find(|schedule| schedule.name == name)
    }

    /// The name of the trigger or action that has an effect.
    pub fn effect_name(&self, effect: EffectId) -> &str {
        match effect {
            EffectId::Trigger(trigger) => &self[trigger].name,
            EffectId::Action(action, _) => &self[action].name,
        }
    }

    /// The numbers of an entity over items that may stay when one of its items is deleted: their
    /// refs neither cascade nor are cleared.
    pub fn kept_numbers<'d>(&'d self, entity: &'d Record) -> impl Iterator<Item = &'d Attribute> {
        entity.attributes.iter().filter(|attribute| {
            let Source::Aggregate(aggregate) = &attribute.source else {
                return false;
            };
            let counted = &self[aggregate.of];
            let mut targets = self[(aggregate.of, aggregate.by)].targets.iter();
            let stays =
                |target: &RefTarget| target.record() == Some(entity.id) && target.may_stay(entity);
            counted.is_entity() && targets.any(stays)
        })
    }
}
