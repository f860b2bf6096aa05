//! DynamoDB's first check of a request: what the model of its API asks of each parameter by
//! itself. All that fails is reported together:
//! `2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: …; …`.

use crate::messages;
use crate::refusal::Refusal;

/// How many failures the service reports at once.
const FAILURES_MAX: usize = 10;

/// The failures found so far.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    failures: Vec<String>,
}

/// A parameter that names one of a few things.
pub(crate) trait Choice: Copy + 'static {
    /// The names in the order of the service's messages.
    const NAMES: &'static [(&'static str, Self)];
}

impl Constraints {
    /// The parameter must be there.
    pub(crate) fn required<T>(&mut self, at: &str, value: &Option<T>) {
        if value.is_none() {
            self.fail(messages::constraint(None, at, messages::NOT_NULL));
        }
    }

    /// The parameter names one of these things.
    pub(crate) fn choice<T: Choice>(&mut self, at: &str, text: &Option<String>) -> Option<T> {
        let text = text.as_deref()?;
        let found = T::NAMES.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let names: Vec<_> = T::NAMES.iter().map(|(name, _)| *name).collect();
            let constraint = messages::enum_value_set(&names);
            self.fail(messages::constraint(Some(text), at, &constraint));
        }
        found.map(|(_, choice)| *choice)
    }

    /// The number is not smaller.
    pub(crate) fn at_least(&mut self, at: &str, value: Option<i64>, least: i64) {
        if let Some(value) = value
            && value < least
        {
            let constraint = messages::at_least(least);
            self.fail(messages::constraint(
                Some(&value.to_string()),
                at,
                &constraint,
            ));
        }
    }

    /// The number is not larger.
    pub(crate) fn at_most(&mut self, at: &str, value: Option<i64>, most: i64) {
        if let Some(value) = value
            && value > most
        {
            let constraint = messages::at_most(most);
            self.fail(messages::constraint(
                Some(&value.to_string()),
                at,
                &constraint,
            ));
        }
    }

    /// The text or list is not shorter and not longer; `shown` is the value as Java prints it.
    pub(crate) fn length(
        &mut self,
        at: &str,
        length: usize,
        bounds: std::ops::RangeInclusive<usize>,
        shown: impl FnOnce() -> String,
    ) {
        let constraint = if length < *bounds.start() {
            messages::length_at_least(*bounds.start())
        } else if length > *bounds.end() {
            messages::length_at_most(*bounds.end())
        } else {
            return;
        };
        self.fail(messages::constraint(Some(&shown()), at, &constraint));
    }

    /// A failure that was found elsewhere.
    pub(crate) fn fail(&mut self, failure: String) {
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(failure);
        }
    }

    /// Everything that failed, as one error; otherwise the required parameters.
    pub(crate) fn finish<T: Required>(self, required: T) -> Result<T::Present, Refusal> {
        let refusal = || Refusal::validation(messages::validation_errors(&self.failures));
        if self.failures.is_empty() {
            required.present().ok_or_else(refusal)
        } else {
            Err(refusal())
        }
    }
}

/// Parameters that are there once no constraint has failed.
pub(crate) trait Required {
    type Present;
    fn present(self) -> Option<Self::Present>;
}

impl Required for () {
    type Present = ();
    fn present(self) -> Option<()> {
        Some(())
    }
}

impl<A> Required for Option<A> {
    type Present = A;
    fn present(self) -> Option<A> {
        self
    }
}

impl<A, B> Required for (Option<A>, Option<B>) {
    type Present = (A, B);
    fn present(self) -> Option<(A, B)> {
        self.0.zip(self.1)
    }
}

#[cfg(test)]
mod tests;
