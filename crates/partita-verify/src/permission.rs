//! What a repair may do: what it would write, who agrees to that, and what is never its to remove.

use std::collections::{BTreeMap, BTreeSet};

use partita_design::Design;
use partita_design::design::OnDelete;
use serde::{Deserialize, Serialize};

use crate::report::{Drift, VerifyError};

/// What a repair would write, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Intent {
    /// Items that it would remove, by their records.
    pub removed: BTreeMap<String, u64>,
    /// Values that it would remove, by `Record.attribute`.
    pub cleared: BTreeMap<String, u64>,
    /// Values and items that it would write, by their records.
    pub written: BTreeMap<String, u64>,
}

impl Intent {
    /// Whether it would write nothing.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.cleared.is_empty() && self.written.is_empty()
    }

    /// Whether all of another intent is within this one, by kind and number.
    pub fn includes(&self, other: &Intent) -> bool {
        let kinds = [
            (&self.removed, &other.removed),
            (&self.cleared, &other.cleared),
            (&self.written, &other.written),
        ];
        kinds
            .into_iter()
            .all(|(agreed, asked)| is_within(agreed, asked))
    }

    pub(crate) fn add(&mut self, drift: &Drift) {
        let (kinds, name) = match (&drift.attribute, &drift.expected) {
            (None, None) => (&mut self.removed, drift.record.clone()),
            (Some(name), None) => (&mut self.cleared, format!("{}.{name}", drift.record)),
            (_, Some(_)) => (&mut self.written, drift.record.clone()),
        };
        *kinds.entry(name).or_default() += 1;
    }

    /// Whether no more is removed than was agreed to, of any kind. What is written is worked out
    /// from what is there, and can be worked out again.
    pub(crate) fn covers(&self, wanted: &Intent) -> bool {
        let kinds = [
            (&self.removed, &wanted.removed),
            (&self.cleared, &wanted.cleared),
        ];
        kinds
            .into_iter()
            .all(|(agreed, wanted)| is_within(agreed, wanted))
    }

    /// Takes what is written from what was agreed to.
    pub fn subtract(&mut self, written: &Intent) {
        let kinds = [
            (&mut self.removed, &written.removed),
            (&mut self.cleared, &written.cleared),
            (&mut self.written, &written.written),
        ];
        for (agreed, written) in kinds {
            for (name, count) in written {
                if let Some(left) = agreed.get_mut(name) {
                    *left = left.saturating_sub(*count);
                }
            }
        }
    }
}

fn is_within(agreed: &BTreeMap<String, u64>, asked: &BTreeMap<String, u64>) -> bool {
    let mut asked = asked.iter();
    asked.all(|(name, count)| agreed.get(name).is_some_and(|most| count <= most))
}

/// Who decides whether a repair writes, and what it may remove besides what is derived.
pub struct Permission<'p> {
    decide: Box<dyn FnMut(&Intent) -> bool + Send + 'p>,
    named: BTreeSet<String>,
    holder: String,
    #[cfg(feature = "testing")]
    mistake: Option<Mistake>,
}

/// A mistake that tests plant in a repair, to see that they notice it.
#[cfg(feature = "testing")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// What looks left behind is removed, whatever else is in the table.
    ForgetsTheUnrecognised,
    /// What callers gave is removed with what it referred to, without being named.
    RemovesSources,
    /// A derived value is removed while what it is derived from is missing or of another type.
    BelievesBrokenSources,
    /// A record is written over any item in its place.
    TakesPlaces,
    /// A value is mended while what it is derived from is wrong.
    MendsInAnyOrder,
}

impl<'p> Permission<'p> {
    /// Everything that is derived may be written and removed.
    pub fn granted() -> Permission<'p> {
        Permission::asked(|_| true)
    }

    /// Nothing may be written: the repair only says what it would do.
    pub fn denied() -> Permission<'p> {
        Permission::asked(|_| false)
    }

    /// Somebody is shown what would be written, before every pass that writes, and decides.
    pub fn asked(decide: impl FnMut(&Intent) -> bool + Send + 'p) -> Permission<'p> {
        Permission {
            decide: Box::new(decide),
            named: BTreeSet::new(),
            holder: "another process".to_owned(),
            #[cfg(feature = "testing")]
            mistake: None,
        }
    }

    /// The same, with a mistake.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_mistake(mut self, mistake: Mistake) -> Permission<'p> {
        self.mistake = Some(mistake);
        self
    }

    /// What is left behind here may be removed though it is no derived data: the records of a view
    /// with `history-of` (`view.LetterVersion`), or what a ref says `on delete`
    /// (`entity.Comment.refs.post`), or the time of expiry that a caller gave an item of an open
    /// entity (`entity.Note.open`). While the table has unrecognised items it stays all the same.
    #[must_use]
    pub fn to_remove(mut self, place: impl Into<String>) -> Permission<'p> {
        self.named.insert(place.into());
        self
    }

    /// The same, for somebody who is named to those that try to repair meanwhile: `the operator`.
    #[must_use]
    pub fn held_by(mut self, holder: impl Into<String>) -> Permission<'p> {
        self.holder = holder.into();
        self
    }

    pub(crate) fn holder(&self) -> &str {
        &self.holder
    }

    pub(crate) fn allows(&mut self, intent: &Intent) -> bool {
        (self.decide)(intent)
    }

    /// What a repair may remove, where there are unrecognised items or not. All places that were
    /// named must be such that can be.
    pub(crate) fn rights(&self, design: &Design, is_held: bool) -> Result<Rights, VerifyError> {
        let removable = removable(design);
        if let Some(place) = self.named.difference(&removable).next() {
            let place = place.clone();
            return Err(VerifyError::NotRemovable { place });
        }
        Ok(Rights {
            is_held,
            named: self.named.clone(),
            #[cfg(feature = "testing")]
            mistake: self.mistake,
        })
    }
}

/// What an operator may name.
fn removable(design: &Design) -> BTreeSet<String> {
    let views = design.views().filter(|(_, view)| view.history);
    let views = views.map(|(record, _)| format!("view.{}", record.name));
    let mut places: BTreeSet<String> = views.collect();
    for entity in design.entities() {
        // What an open entity was given under the name of the `ttl`.
        if entity.open && design[entity.table].ttl.is_some() {
            places.insert(format!("entity.{}.open", entity.name));
        }
        let releases = entity.refs.iter().filter(|reference| {
            let mut targets = reference.targets.iter();
            targets.any(|one| matches!(one.on_delete, OnDelete::Cascade | OnDelete::Clear(_)))
        });
        places.extend(releases.map(|one| format!("entity.{}.refs.{}", entity.name, one.name)));
    }
    places
}

/// What a pass knows about what may be removed.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    /// Whether there are items that the design does not recognise, in any of its tables.
    pub(crate) is_held: bool,
    /// Places of the design whose leftovers an operator has named.
    named: BTreeSet<String>,
    #[cfg(feature = "testing")]
    mistake: Option<Mistake>,
}

impl Rights {
    /// Whether an operator has asked for the removal of what is left behind here.
    pub(crate) fn is_named(&self, says: &str) -> bool {
        #[cfg(feature = "testing")]
        if self.mistake == Some(Mistake::RemovesSources) {
            return true;
        }
        self.named.contains(says)
    }

    /// Whether what looks left behind may belong to an item that the design does not recognise. Such
    /// an item may be in another table than the design says.
    pub(crate) fn is_held(&self) -> bool {
        #[cfg(feature = "testing")]
        if self.mistake == Some(Mistake::ForgetsTheUnrecognised) {
            return false;
        }
        self.is_held
    }

    /// Whether a value that should be missing may be removed, where its sources say so or not.
    pub(crate) fn may_clear(&self, is_said: bool) -> bool {
        #[cfg(feature = "testing")]
        if self.mistake == Some(Mistake::BelievesBrokenSources) {
            return true;
        }
        is_said
    }

    /// Whether a value may be mended, which is derived from right values or not.
    pub(crate) fn may_mend(&self, is_root: bool) -> bool {
        #[cfg(feature = "testing")]
        if self.mistake == Some(Mistake::MendsInAnyOrder) {
            return true;
        }
        is_root
    }

    /// Whether a record may be written over an item, one of its view or not.
    pub(crate) fn may_write_over(&self, is_of_view: bool) -> bool {
        #[cfg(feature = "testing")]
        if self.mistake == Some(Mistake::TakesPlaces) {
            return true;
        }
        is_of_view
    }
}
