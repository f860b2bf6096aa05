//! Whether two key templates can spell the same key.
//!
//! A value in a key never has the character that separates its parts. So two keys are equal only
//! if they have as many parts, and each part can be the other's.

use crate::design::KeyTemplates;
use crate::template::{DELIMITER, Part, Template};

/// Whether an item of one record can have the key of one of another.
pub(super) fn may_collide(one: &KeyTemplates, two: &KeyTemplates) -> bool {
    may_equal(&one.partition, &two.partition) && may_equal(&one.sort, &two.sort)
}

/// Whether two templates can spell the same text.
pub(super) fn may_equal(one: &Template, two: &Template) -> bool {
    let (one, two) = (segments(one), segments(two));
    one.len() == two.len() && one.iter().zip(&two).all(|(one, two)| one.may_equal(two))
}

/// What is between two separators.
#[derive(Debug, Default)]
struct Segment {
    /// How it begins.
    begins: String,
    /// How it ends, behind its last value.
    ends: String,
    has_value: bool,
}

impl Segment {
    fn may_equal(&self, other: &Segment) -> bool {
        match (self.has_value, other.has_value) {
            (false, false) => self.begins == other.begins,
            (true, false) => self.may_spell(&other.begins),
            (false, true) => other.may_spell(&self.begins),
            (true, true) => {
                is_either(&self.begins, &other.begins, |one, two| one.starts_with(two))
                    && is_either(&self.ends, &other.ends, |one, two| one.ends_with(two))
            }
        }
    }

    fn may_spell(&self, text: &str) -> bool {
        // A value in a key is not empty.
        text.len() > self.begins.len() + self.ends.len()
            && text.starts_with(&self.begins)
            && text.ends_with(&self.ends)
    }
}

fn is_either(one: &str, two: &str, holds: impl Fn(&str, &str) -> bool) -> bool {
    holds(one, two) || holds(two, one)
}

fn segments(template: &Template) -> Vec<Segment> {
    let mut all = vec![Segment::default()];
    for part in &template.parts {
        match part {
            Part::Value(_) => {
                let last = all.last_mut().expect("there is always one");
                last.has_value = true;
                last.ends.clear();
            }
            Part::Text(text) => {
                for (at, piece) in text.split(DELIMITER).enumerate() {
                    if at > 0 {
                        all.push(Segment::default());
                    }
                    let last = all.last_mut().expect("there is always one");
                    let end = if last.has_value {
                        &mut last.ends
                    } else {
                        &mut last.begins
                    };
                    end.push_str(piece);
                }
            }
        }
    }
    all
}
