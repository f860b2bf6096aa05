//! The class of each change of a ref, and of what is read through one.

use super::attribute;
use super::judge::{Judge, entity};
use super::judgement::{Judgement, unknown};
use super::{RecordName, RefAspect, Subject};
use crate::design::{Aggregate, Design, OnDelete, Record, Ref, RefTarget, Source, Timing};
use crate::fingerprint::target_form;

impl Judge<'_> {
    pub(super) fn new_ref(&self, subject: &Subject, reference: &Ref) -> Judgement {
        let Subject::Ref(name, own, _) = subject else {
            return unknown(subject);
        };
        if reference.unchecked && !is_counted(self.new, name, own) {
            return Judgement::free(subject, "its target need not exist");
        }
        self.must_lead(subject, name, reference)
    }

    pub(super) fn must_lead(&self, subject: &Subject, name: &str, reference: &Ref) -> Judgement {
        let targets = reference.records();
        let targets = targets.map(|target| RecordName::of(&self.new[target]));
        Judgement::narrowing(subject, "its target must exist for all stored items")
            .reads([entity(name)])
            .reads(targets)
    }

    pub(super) fn changed_ref(&self, subject: &Subject, old: &Ref, new: &Ref) -> Vec<Judgement> {
        let Subject::Ref(name, own, _) = subject else {
            return vec![unknown(subject)];
        };
        let about = |aspect| Subject::Ref(name.clone(), own.clone(), aspect);
        let must_exist = !new.unchecked || is_counted(self.new, name, own);
        let did_exist = !old.unchecked || is_counted(self.old, name, own);
        let mut found = Vec::new();
        let leads = |design: &Design, reference: &Ref| -> Vec<_> {
            let targets = reference.targets.iter();
            targets.map(|one| target_form(design, one)).collect()
        };
        let is_moved = (leads(self.old, old), &old.by) != (leads(self.new, new), &new.by);
        if is_moved {
            found.push(self.through(&about(RefAspect::Target), name, own));
        }
        if must_exist && (is_moved || !did_exist) {
            found.push(self.must_lead(&about(RefAspect::Existence), name, new));
        } else if old.unchecked != new.unchecked {
            let says = "its target need not exist any more";
            found.push(Judgement::free(&about(RefAspect::Existence), says));
        }
        let keeps = |reference: &Ref| {
            let mut targets = reference.targets.iter();
            targets.any(|target: &RefTarget| target.on_delete == OnDelete::Keep)
        };
        let on_delete = |reference: &Ref| -> Vec<OnDelete> {
            let targets = reference.targets.iter();
            targets.map(|one| one.on_delete.clone()).collect()
        };
        if on_delete(old) != on_delete(new) {
            let about = about(RefAspect::OnDelete);
            // What stayed when its target was deleted refers to nothing.
            found.push(if keeps(old) && !keeps(new) {
                self.must_lead(&about, name, new)
            } else {
                Judgement::free(&about, "it holds for what is deleted from now on")
            });
        }
        if old.live != new.live {
            let says = "it decides what is shown from now on";
            found.push(Judgement::free(&about(RefAspect::Live), says));
        }
        if found.is_empty() {
            // Only an id inside differs, such as the count that refuses a deletion.
            found.push(Judgement::free(subject, "stored items are as they were"));
        }
        found
    }

    /// Everything that is derived through a ref.
    pub(super) fn through(&self, subject: &Subject, name: &str, own: &str) -> Judgement {
        let mut judgement = Judgement::derived(
            subject,
            "numbers, copies and values that are read through it are computed anew",
        )
        .reads([entity(name)]);
        for record in &self.new.records {
            for attribute in &record.attributes {
                let is_read = match &attribute.source {
                    Source::Aggregate(Aggregate { of, by, .. }) => {
                        let counted = self.new.source(&self.new[*of]);
                        counted.name == name && self.new[(*of, *by)].name == own
                    }
                    Source::Computed(computed)
                        if !matches!(computed.timing, Timing::Always | Timing::Ref) =>
                    {
                        false
                    }
                    _ => attribute.reads().iter().any(|reading| {
                        let mut hops = reading.hops.iter();
                        hops.any(|hop| {
                            let of = hop.reference.map(|(record, _)| &self.new[record]);
                            let of = of.map(|record| &self.new.source(record).name);
                            hop.name == own && of.is_some_and(|of| of == name)
                        })
                    }),
                };
                if is_read {
                    judgement = judgement
                        .writes([RecordName::of(record)])
                        .adds(attribute::derived(record, attribute));
                }
            }
        }
        judgement
    }

    pub(super) fn constants(&self, subject: &Subject, name: &str) -> Judgement {
        let mut judgement =
            Judgement::derived(subject, "values that are read from it are computed anew");
        for entity in self.new.entities() {
            for reference in &entity.refs {
                let mut targets = reference.targets.iter();
                let leads = targets.any(|target| match target.to {
                    crate::design::RefTo::Constants(to) => self.new[to].name == name,
                    crate::design::RefTo::Record(_) => false,
                });
                if leads {
                    let through = self.through(subject, &entity.name, &reference.name);
                    judgement = judgement
                        .reads(through.touches.reads)
                        .writes(through.touches.writes)
                        .adds(through.touches.adds);
                }
            }
        }
        judgement
    }
}

/// Whether a number is kept over the items of an entity that refer by a ref.
fn is_counted(design: &Design, entity: &str, reference: &str) -> bool {
    let attributes = design.entities().flat_map(|one| &one.attributes);
    attributes.into_iter().any(|attribute| {
        let Source::Aggregate(Aggregate { of, by, .. }) = &attribute.source else {
            return false;
        };
        let counted: &Record = &design[*of];
        let by = &counted.refs[by.index()].name;
        by == reference && design.source(counted).name == entity
    })
}
