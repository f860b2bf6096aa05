//! How callers who are no administrators come to write an attribute or an item.
//!
//! A rule lets them; or an action or an item of theirs has an effect; or the value follows another
//! that they write. What cannot be shown to be closed to them counts as open.
//!
//! | module | what it holds |
//! |---|---|
//! | [`ordinary`] | the callers who are no administrators, and which rules may allow them something |

mod ordinary;

use std::cell::RefCell;
use std::collections::HashSet;

use crate::design::{
    Access, Accounts, Action, Aggregate, Attribute, AttributeId, Design, Effect, EffectKind, Event,
    OnDelete, Record, RecordId, RefTo, Repeat, Rule, Schedule, ScheduleOver, Source, Timing,
};
use crate::expression::{Formula, Origin, Predicate, Reading};
use ordinary::Ordinary;

/// How an ordinary caller writes something.
pub(super) struct Way {
    /// What the caller uses: an operation, an action, a trigger, a schedule.
    pub(super) by: String,
    /// Whether it does so by an effect, past the rules of what is written.
    pub(super) is_effect: bool,
    /// What is written by it, if the value only follows that.
    pub(super) through: Option<String>,
}

impl Way {
    fn by(by: impl Into<String>) -> Way {
        Way {
            by: by.into(),
            is_effect: false,
            through: None,
        }
    }

    fn by_effect(by: impl Into<String>) -> Way {
        Way {
            is_effect: true,
            ..Way::by(by)
        }
    }

    fn through(self, what: &str) -> Way {
        Way {
            through: self.through.or_else(|| Some(what.to_owned())),
            ..self
        }
    }
}

/// What has been looked at: what leads to itself only is closed.
#[derive(PartialEq, Eq, Hash)]
enum Seen {
    Attribute(RecordId, String),
    Event(RecordId, Access),
}

pub(super) struct Causes<'d> {
    design: &'d Design,
    ordinary: Ordinary<'d>,
    seen: RefCell<HashSet<Seen>>,
}

impl<'d> Causes<'d> {
    pub(super) fn new(design: &'d Design) -> Causes<'d> {
        Causes {
            design,
            ordinary: Ordinary::of(design),
            seen: RefCell::default(),
        }
    }

    /// Whether a rule may allow something to a caller who is no administrator.
    pub(super) fn may_hold(&self, rule: &Rule) -> bool {
        self.ordinary.may_hold(rule)
    }

    /// How an ordinary caller writes an attribute of a record.
    pub(super) fn of_attribute(&self, record: &Record, attribute: &Attribute) -> Option<Way> {
        self.seen.borrow_mut().clear();
        self.written(record, attribute)
    }

    /// How an ordinary caller makes what a value is computed from, if it is computed.
    pub(super) fn of_value(&self, record: &Record, attribute: &Attribute) -> Option<Way> {
        self.seen.borrow_mut().clear();
        self.followed(record, attribute)
    }

    /// How an ordinary caller causes an effect on items of a record.
    pub(super) fn of_effects_on(&self, record: RecordId) -> Option<Way> {
        self.seen.borrow_mut().clear();
        self.effect(&|effect| effect.target.records().contains(&record))
    }

    /// How an ordinary caller brings about what a trigger waits for.
    pub(super) fn of_event(&self, event: &Event) -> Option<Way> {
        self.seen.borrow_mut().clear();
        let mut accesses = Access::WORDS.into_iter().map(|(access, _)| access);
        accesses.find_map(|one| {
            let is_meant = event.kind.includes(one);
            is_meant.then(|| self.event(event.of, one)).flatten()
        })
    }

    /// Whether ordinary callers decide a value that an effect of a write to a record sets.
    pub(super) fn decide(&self, record: &Record, value: &Formula) -> bool {
        let mut reads = value.reads.iter();
        reads.any(|reading| {
            self.seen.borrow_mut().clear();
            self.read(record, reading).is_some()
        })
    }

    fn is_seen(&self, seen: Seen) -> bool {
        !self.seen.borrow_mut().insert(seen)
    }

    fn written(&self, record: &Record, attribute: &Attribute) -> Option<Way> {
        if self.is_seen(Seen::Attribute(record.id, attribute.name.clone())) {
            return None;
        }
        let name = &attribute.name;
        self.by_rule(record, attribute)
            .or_else(|| self.by_action(record, name))
            .or_else(|| {
                self.effect(&|effect| {
                    let mut names = effect.changes.names();
                    effect.target.records().contains(&record.id) && names.any(|one| one == name)
                })
            })
            .or_else(|| self.by_schedule(record, name))
            .or_else(|| self.by_clearing(record, name))
            .or_else(|| self.followed(record, attribute))
    }

    fn by_rule(&self, record: &Record, attribute: &Attribute) -> Option<Way> {
        let rules = &record.rules;
        let is_mark = record.soft_delete.as_ref();
        let is_mark = is_mark.is_some_and(|mark| mark.attribute() == attribute.name);
        if is_mark && self.may_hold(rules.get(Access::Restore)) {
            return Some(Way::by(Access::Restore.word()));
        }
        let is_given = matches!(attribute.source, Source::Given { .. } | Source::Generated);
        if !is_given || attribute.is_virtual || !self.is_writable(record, attribute) {
            return None;
        }
        let mut accesses = [Access::Create, Access::Update].into_iter();
        let access = accesses.find(|access| {
            let may_change = *access == Access::Create || !attribute.lasting;
            may_change && self.may_hold(rules.get(*access))
        })?;
        Some(Way::by(access.word()))
    }

    /// Whether the rules for the attribute itself may allow it.
    pub(super) fn is_writable(&self, record: &Record, attribute: &Attribute) -> bool {
        let rules = record.rules.by_attribute.iter();
        let mut rules =
            rules.filter(|rule| rule.writes && rule.attributes.contains(&attribute.name));
        rules.all(|rule| self.may_hold(&rule.rule))
    }

    fn by_action(&self, record: &Record, name: &str) -> Option<Way> {
        let writes = |action: &Action| {
            action.changes.names().any(|one| one == name)
                || action.input.iter().any(|one| one == name)
        };
        let mut actions = self.design.actions.iter();
        let action = actions.find(|action| {
            action.on.all_records().contains(&record.id)
                && self.may_hold(record.rules.action(action.id))
                && self.done(action).into_iter().any(writes)
        })?;
        Some(Way::by(&action.name))
    }

    /// An action, and the one that it applies to every item of a pattern.
    fn done(&self, action: &'d Action) -> Vec<&'d Action> {
        let mut done = vec![action];
        let mut last = action;
        while let crate::design::ActionOn::Every(application) = &last.on {
            last = &self.design[application.apply];
            if done.iter().any(|one| one.id == last.id) {
                break;
            }
            done.push(last);
        }
        done
    }

    /// What a schedule does.
    fn done_by(&self, schedule: &Schedule) -> Vec<&'d Action> {
        let action = schedule.action().map(|action| &self.design[action]);
        action.map_or_else(Vec::new, |action| self.done(action))
    }

    /// Who causes such an effect.
    fn effect(&self, is_such: &dyn Fn(&Effect) -> bool) -> Option<Way> {
        let has_such = |action: &'d Action| {
            let mut done = self.done(action).into_iter();
            done.any(|action| action.then.iter().any(is_such))
        };
        let is_open = |action: &&Action| {
            let mut records = action.on.all_records().iter();
            records.any(|id| self.may_hold(self.design[*id].rules.action(action.id)))
        };
        let mut actions = self.design.actions.iter().filter(is_open);
        if let Some(action) = actions.find(|action| has_such(action)) {
            return Some(Way::by_effect(&action.name));
        }
        let mut triggers = self.design.triggers.iter();
        let trigger = triggers.find(|trigger| {
            is_such(&trigger.effect) && {
                let mut accesses = Access::WORDS.into_iter().map(|(access, _)| access);
                let is_event = |access: &Access| trigger.on.kind.includes(*access);
                accesses.any(|one| is_event(&one) && self.event(trigger.on.of, one).is_some())
            }
        });
        if let Some(trigger) = trigger {
            return Some(Way::by_effect(format!("trigger.{}", trigger.name)));
        }
        let mut schedules = self.design.schedules.iter();
        let schedule = schedules.find(|schedule| {
            // Items that callers create are among those that it is done to.
            let record = schedule.over.record();
            schedule
                .action()
                .is_some_and(|action| has_such(&self.design[action]))
                && (self.event(record, Access::Create).is_some() || self.is_steered(schedule))
        })?;
        Some(Way::by_effect(format!("schedule.{}", schedule.name)))
    }

    fn by_schedule(&self, record: &Record, name: &str) -> Option<Way> {
        let mut schedules = self.design.schedules.iter();
        let schedule = schedules.find(|schedule| {
            let mut done = self.done_by(schedule).into_iter();
            schedule.over.record() == record.id
                && done.any(|action| action.changes.names().any(|one| one == name))
                && self.is_steered(schedule)
        })?;
        Some(Way::by_effect(format!("schedule.{}", schedule.name)))
    }

    /// Whether callers decide to which items a schedule does something, or what.
    fn is_steered(&self, schedule: &Schedule) -> bool {
        let record = &self.design[schedule.over.record()];
        // What a pattern finds depends on keys, which hold what callers write.
        if matches!(schedule.over, ScheduleOver::Pattern { .. }) {
            return true;
        }
        let done = self.done_by(schedule);
        let required = done.iter().filter_map(|action| action.require.as_ref());
        let mut asked = schedule
            .when
            .iter()
            .chain(required)
            .flat_map(|one| &one.reads);
        let mut set = done.iter().flat_map(|action| {
            let changes = action.changes.set.iter().chain(&action.changes.add);
            changes.flat_map(|(_, value)| &value.reads)
        });
        asked.any(|reading| self.read(record, reading).is_some())
            || set.any(|reading| self.read(record, reading).is_some())
    }

    /// What a ref holds is cleared when its target is deleted.
    fn by_clearing(&self, record: &Record, name: &str) -> Option<Way> {
        let targets = record.refs.iter().flat_map(|one| &one.targets);
        let mut cleared = targets.filter(|target| match &target.on_delete {
            OnDelete::Clear(cleared) => cleared
                .iter()
                .any(|id| self.design[(record.id, *id)].name == *name),
            _ => false,
        });
        cleared.find_map(|target| self.event(target.record()?, Access::Delete))
    }

    /// What a value is computed from, by default or always.
    fn followed(&self, record: &Record, attribute: &Attribute) -> Option<Way> {
        if let Source::Aggregate(aggregate) = &attribute.source {
            return self.counted(aggregate);
        }
        let once: Option<&Predicate> = match &attribute.source {
            Source::Computed(computed) => match &computed.timing {
                Timing::Once(when) => Some(when),
                _ => None,
            },
            _ => None,
        };
        let once = once.into_iter().flat_map(|when| &when.reads);
        let mut reads = attribute.reads().iter().chain(once);
        reads.find_map(|reading| self.read(record, reading))
    }

    fn counted(&self, aggregate: &Aggregate) -> Option<Way> {
        let accesses = [Access::Create, Access::Update, Access::Delete];
        let mut ways = accesses.into_iter();
        let way = ways.find_map(|access| self.event(aggregate.of, access))?;
        Some(way.through(&self.design[aggregate.of].name))
    }

    /// How an ordinary caller decides what is read.
    fn read(&self, record: &Record, reading: &Reading) -> Option<Way> {
        match reading.origin {
            Origin::Now => return None,
            Origin::Item | Origin::Old => {}
            Origin::Caller | Origin::Parameter(_) | Origin::Element(_) => {
                return Some(Way::by("caller").through(&reading.path.to_string()));
            }
        }
        let mut ends = vec![record.id];
        for hop in &reading.hops {
            let unknown = || Some(Way::by("caller").through(&reading.path.to_string()));
            let (Some((of, _)), Some(reference)) = (hop.reference, self.design.reference(hop))
            else {
                return unknown();
            };
            ends.clear();
            let by = reference.by.iter();
            let arguments = reference.targets.iter().flat_map(|one| &one.arguments);
            let mut names = by.chain(arguments.map(|argument| &argument.path));
            let way = names.find_map(|name| self.named(&self.design[of], name));
            if way.is_some() {
                return way;
            }
            for target in &reference.targets {
                let RefTo::Record(id) = target.to else {
                    continue;
                };
                // Who makes the item there, or has it found by what it holds, decides what is read.
                let accesses = [Access::Create, Access::Delete];
                let found_by = target.via.map(|_| Access::Update);
                let mut accesses = accesses.into_iter().chain(found_by);
                if let Some(way) = accesses.find_map(|access| self.event(id, access)) {
                    return Some(way.through(&self.design[id].name));
                }
                ends.push(id);
            }
        }
        let mut ends = ends.into_iter();
        ends.find_map(|id| self.named(&self.design[id], &reading.attribute))
    }

    /// The attribute of that name, those inside it, or the one that it is inside of.
    fn named(&self, record: &Record, name: &str) -> Option<Way> {
        let is_inside = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let attributes = record.attributes.iter();
        let mut found = attributes
            .filter(|one| is_inside(&one.name, name) || is_inside(name, &one.name))
            .peekable();
        if found.peek().is_none() {
            return Some(Way::by("caller").through(name));
        }
        found.find_map(|attribute| {
            let way = self.by_account(record, attribute);
            let way = way.or_else(|| self.written(record, attribute))?;
            Some(way.through(&attribute.name))
        })
    }

    /// A new account has the login and the attributes that its owner wants, and claims of a token.
    fn by_account(&self, record: &Record, attribute: &Attribute) -> Option<Way> {
        let accounts = self.accounts_of(record.id)?;
        let id = |id: AttributeId| &self.design[(record.id, id)].name;
        let is_claimed = accounts.provision.as_ref().is_some_and(|provision| {
            let mut values = provision.values.iter();
            values.any(|(one, _)| *id(*one) == attribute.name)
        });
        let is_signed_up = accounts.sign_in.as_ref().is_some_and(|sign_in| {
            let mut mapped = accounts.mapped();
            let mut new = accounts.new.iter().map(|(one, _)| *one);
            let mut ours = self.design.callers.attributes(record);
            let is_ours = mapped.any(|one| *id(one) == attribute.name)
                || new.any(|one| *id(one) == attribute.name)
                || ours.any(|one| one.name == attribute.name);
            let is_given = matches!(attribute.source, Source::Given { .. });
            *id(sign_in.login) == attribute.name
                || is_given && !is_ours && self.is_writable(record, attribute)
        });
        (is_claimed || is_signed_up).then(|| Way::by("/auth/"))
    }

    fn accounts_of(&self, record: RecordId) -> Option<&'d Accounts> {
        let accounts = self.design.accounts.as_ref()?;
        (accounts.entity == record).then_some(accounts)
    }

    /// How an ordinary caller creates, changes or deletes an item of a record.
    fn event(&self, id: RecordId, access: Access) -> Option<Way> {
        if self.is_seen(Seen::Event(id, access)) {
            return None;
        }
        let record = &self.design[id];
        let accounts = self.design.accounts.as_ref();
        let is_auth = accounts.is_some_and(|one| one.entity == id || one.kept().any(|k| k == id));
        if is_auth {
            return Some(Way::by("/auth/"));
        }
        let is_limit = self.design.limit_record.as_ref();
        if is_limit.is_some_and(|limits| limits.entity == id) {
            return Some(Way::by("limit"));
        }
        self.by_access(record, access)
            .or_else(|| self.by_effect(id, access))
            .or_else(|| self.by_cascade(record, access))
            .or_else(|| self.by_change(record, access))
            .or_else(|| {
                let view = record.view.as_ref()?;
                let accesses = [Access::Create, Access::Update, Access::Delete];
                accesses
                    .into_iter()
                    .find_map(|one| self.event(view.of, one))
            })
    }

    fn by_access(&self, record: &Record, access: Access) -> Option<Way> {
        let rules = &record.rules;
        let is_soft = record.soft_delete.is_some();
        // What is deleted softly is changed, and so is what is created once more.
        let also: &[Access] = match access {
            Access::Update if is_soft => &[Access::Delete, Access::Restore],
            Access::Update if record.repeat == Repeat::Update => &[Access::Create],
            _ => &[],
        };
        let mut accesses = std::iter::once(access).chain(also.iter().copied());
        if let Some(open) = accesses.find(|one| self.may_hold(rules.get(*one))) {
            return Some(Way::by(open.word()));
        }
        let does = |action: &Action| match access {
            Access::Delete => action.delete,
            Access::Update => !action.delete || is_soft,
            _ => false,
        };
        let mut actions = self.design.actions.iter();
        let action = actions.find(|action| {
            action.on.all_records().contains(&record.id)
                && self.may_hold(rules.action(action.id))
                && self.done(action).into_iter().any(does)
        })?;
        Some(Way::by(&action.name))
    }

    fn by_effect(&self, id: RecordId, access: Access) -> Option<Way> {
        self.effect(&|effect| {
            let is_such = match effect.kind {
                EffectKind::Create => access == Access::Create,
                EffectKind::Upsert => matches!(access, Access::Create | Access::Update),
                EffectKind::Update => access == Access::Update,
                EffectKind::Delete => matches!(access, Access::Delete | Access::Update),
                EffectKind::Mail | EffectKind::Send => false,
            };
            is_such && effect.target.records().contains(&id)
        })
    }

    fn by_cascade(&self, record: &Record, access: Access) -> Option<Way> {
        let targets = record.refs.iter().flat_map(|one| &one.targets);
        let mut targets = targets.filter(|target| match target.on_delete {
            OnDelete::Cascade => matches!(access, Access::Delete | Access::Update),
            OnDelete::Clear(_) => access == Access::Update,
            OnDelete::Keep | OnDelete::Refuse { .. } => false,
        });
        targets.find_map(|target| {
            let target = target.record()?;
            let deleted = self.event(target, Access::Delete);
            deleted.or_else(|| self.event(target, Access::Purge))
        })
    }

    /// Values that follow other items change theirs; and callers may decide when an item expires.
    fn by_change(&self, record: &Record, access: Access) -> Option<Way> {
        match access {
            Access::Update => {
                let mut attributes = record.attributes.iter();
                attributes.find_map(|attribute| self.followed(record, attribute))
            }
            Access::Delete => self.written(record, record.expiry()?),
            _ => None,
        }
    }
}
