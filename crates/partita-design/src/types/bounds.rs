//! Ranges of numbers.

use partita_core::Number;

/// Which numbers are accepted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The smallest.
    pub min: Option<Number>,
    /// Whether the smallest itself is left out, as in `>0`.
    pub above_min: bool,
    /// The largest.
    pub max: Option<Number>,
    /// The only ones, where they are listed, as in `5 | 8 | 10`.
    pub choices: Vec<Number>,
}

impl Bounds {
    /// The numbers from zero on.
    pub fn from_zero() -> Bounds {
        Bounds {
            min: Some(Number::from(0_i64)),
            ..Bounds::default()
        }
    }

    /// Whether the number is one of them.
    pub fn accepts(&self, number: &Number) -> bool {
        let is_large = self.min.as_ref().is_none_or(|min| {
            if self.above_min {
                number > min
            } else {
                number >= min
            }
        });
        let is_small = self.max.as_ref().is_none_or(|max| number <= max);
        let is_chosen = self.choices.is_empty() || self.choices.contains(number);
        is_large && is_small && is_chosen
    }

    /// Whether there is no such number.
    pub fn is_empty(&self) -> bool {
        match (&self.min, &self.max) {
            (Some(min), Some(max)) => max < min || (self.above_min && max == min),
            _ => false,
        }
    }

    /// The range in words, behind "a number".
    pub(super) fn words(&self) -> String {
        if !self.choices.is_empty() {
            let choices: Vec<_> = self.choices.iter().map(ToString::to_string).collect();
            return format!(", one of {}", choices.join(", "));
        }
        match (&self.min, &self.max) {
            (None, None) => String::new(),
            (Some(min), None) if self.above_min => format!(" above {min}"),
            (Some(min), None) => format!(", at least {min}"),
            (None, Some(max)) => format!(", at most {max}"),
            (Some(min), Some(max)) => format!(" from {min} to {max}"),
        }
    }
}
