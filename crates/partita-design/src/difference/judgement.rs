//! What a change is to stored data, put together.

use super::{Class, Derived, Missing, RecordName, Subject, Touches, Work};

/// What a change is to stored data.
#[derive(Debug)]
pub(super) struct Judgement {
    pub(super) subject: Subject,
    pub(super) class: Class,
    pub(super) work: Work,
    pub(super) says: String,
    pub(super) touches: Touches,
    pub(super) is_reversible: bool,
    pub(super) missing: Option<Missing>,
}

impl Judgement {
    fn new(subject: &Subject, class: Class, work: Work, says: &str) -> Judgement {
        Judgement {
            subject: subject.clone(),
            class,
            work,
            says: says.to_owned(),
            touches: Touches::default(),
            is_reversible: !matches!(class, Class::Stated | Class::Dropping),
            missing: None,
        }
    }

    /// Stored data are right as they are.
    pub(super) fn free(subject: &Subject, says: &str) -> Judgement {
        Judgement::new(subject, Class::Free, Work::Nothing, says)
    }

    pub(super) fn derived(subject: &Subject, says: &str) -> Judgement {
        Judgement::new(subject, Class::Derived, Work::Derive, says)
    }

    pub(super) fn stated(subject: &Subject, work: Work, says: &str) -> Judgement {
        Judgement::new(subject, Class::Stated, work, says)
    }

    pub(super) fn narrowing(subject: &Subject, says: &str) -> Judgement {
        Judgement::new(subject, Class::Narrowing, Work::Look, says)
    }

    pub(super) fn dropping(subject: &Subject, says: &str) -> Judgement {
        Judgement::new(subject, Class::Dropping, Work::Drop, says)
    }

    pub(super) fn impossible(subject: &Subject, says: &str, advice: &str) -> Judgement {
        let missing = Some(Missing::Impossible(advice.to_owned()));
        Judgement {
            missing,
            ..Judgement::stated(subject, Work::Nothing, says)
        }
    }

    pub(super) fn reads(mut self, records: impl IntoIterator<Item = RecordName>) -> Judgement {
        for record in records {
            if !self.touches.reads.contains(&record) {
                self.touches.reads.push(record);
            }
        }
        self
    }

    pub(super) fn writes(mut self, records: impl IntoIterator<Item = RecordName>) -> Judgement {
        for record in records {
            if !self.touches.writes.contains(&record) {
                self.touches.writes.push(record);
            }
        }
        self
    }

    pub(super) fn adds(mut self, derived: impl IntoIterator<Item = Derived>) -> Judgement {
        self.touches.adds.extend(derived);
        self
    }

    pub(super) fn removes(mut self, derived: impl IntoIterator<Item = Derived>) -> Judgement {
        self.touches.removes.extend(derived);
        self
    }

    pub(super) fn with_work(self, work: Work) -> Judgement {
        Judgement { work, ..self }
    }

    pub(super) fn lacks(self, missing: Option<Missing>) -> Judgement {
        Judgement { missing, ..self }
    }
}

/// What the fingerprint says differs, in a form that this version does not take apart.
pub(super) fn unknown(subject: &Subject) -> Judgement {
    Judgement::impossible(
        subject,
        "what is stored would have to follow it",
        "go back to what the old design says here",
    )
}
