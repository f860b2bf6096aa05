//! Which keys a template can give.
//!
//! A value in a key is never empty and never has the delimiter `#`: that is refused when a key is
//! rendered. A key therefore falls into segments at its delimiters, with at most one value in
//! each, and two templates are compared segment by segment. Free strings as parts of a key need
//! no diagnostic for the same reason.

use crate::template::{DELIMITER, Part, Template};
use crate::types::AttributeType;

/// A template, segment by segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    pub(crate) segments: Vec<Segment>,
}

/// What stands between two delimiters: `before{hole}after`, or only `before`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Segment {
    before: String,
    hole: Option<Hole>,
    after: String,
}

/// A place for a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hole {
    pub(crate) name: String,
    /// What the values may be, where it is known.
    pub(crate) kind: Option<AttributeType>,
}

/// How a segment of a pattern finds a segment of a record.
pub(crate) enum Fit<'s> {
    /// By its text.
    Text,
    /// By a parameter that stands where the record has a value of that type.
    Parameter(&'s str, &'s AttributeType),
    /// Not, because a parameter stands where the record has this text.
    Misplaced(&'s str, &'s str),
    /// Not at all.
    No,
}

impl Shape {
    /// The shape of a template whose values are of these types.
    pub(crate) fn new(
        template: &Template,
        kind_of: impl Fn(&str) -> Option<AttributeType>,
    ) -> Shape {
        let mut segments = vec![Segment::default()];
        for part in &template.parts {
            match part {
                Part::Text(text) => {
                    let mut pieces = text.split(DELIMITER);
                    let first = pieces.next().unwrap_or_default();
                    if let Some(last) = segments.last_mut() {
                        last.push(first);
                    }
                    segments.extend(pieces.map(|piece| Segment {
                        before: piece.to_owned(),
                        ..Segment::default()
                    }));
                }
                Part::Value(name) => {
                    if let Some(last) = segments.last_mut() {
                        last.hole = Some(Hole {
                            name: name.clone(),
                            kind: kind_of(name),
                        });
                    }
                }
            }
        }
        Shape { segments }
    }

    /// The same shape with other types.
    pub(crate) fn with_kinds(&self, kind_of: impl Fn(&str) -> Option<AttributeType>) -> Shape {
        let mut shape = self.clone();
        for segment in &mut shape.segments {
            if let Some(hole) = &mut segment.hole {
                hole.kind = kind_of(&hole.name);
            }
        }
        shape
    }

    /// The shape of a prefix: that of its whole segments. `None` when it ends inside of one.
    pub(crate) fn prefix(mut self) -> Option<Shape> {
        let last = self.segments.pop()?;
        (last == Segment::default()).then_some(self)
    }

    /// Whether some values give the same key in both.
    pub(crate) fn may_equal(&self, other: &Shape) -> bool {
        self.segments.len() == other.segments.len() && self.agrees(other)
    }

    /// Whether a key of this shape, and a delimiter, can be the beginning of one of the other.
    pub(crate) fn may_begin(&self, other: &Shape) -> bool {
        self.segments.len() < other.segments.len() && self.agrees(other)
    }

    /// Whether the two are the same but for the names of their values.
    pub(crate) fn is_like(&self, other: &Shape) -> bool {
        self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(|(one, two)| {
                let same_hole = match (&one.hole, &two.hole) {
                    (Some(one), Some(two)) => one.kind == two.kind,
                    (None, None) => true,
                    _ => false,
                };
                one.before == two.before && one.after == two.after && same_hole
            })
    }

    /// How the segments of a pattern's key find those of a record's, as far as both reach.
    pub(crate) fn fits<'s>(&'s self, record: &'s Shape) -> impl Iterator<Item = Fit<'s>> {
        let pairs = self.segments.iter().zip(&record.segments);
        pairs.map(|(own, record)| own.fit(record))
    }

    fn agrees(&self, other: &Shape) -> bool {
        self.segments
            .iter()
            .zip(&other.segments)
            .all(|(one, two)| one.may_equal(two))
    }
}

impl Segment {
    /// The value in this segment.
    pub(crate) fn hole(&self) -> Option<&Hole> {
        self.hole.as_ref()
    }

    fn push(&mut self, text: &str) {
        match self.hole {
            Some(_) => self.after.push_str(text),
            None => self.before.push_str(text),
        }
    }

    fn may_equal(&self, other: &Segment) -> bool {
        match (&self.hole, &other.hole) {
            (None, None) => self.before == other.before,
            (Some(hole), None) => self.may_be(hole, &other.before),
            (None, Some(hole)) => other.may_be(hole, &self.before),
            (Some(one), Some(two)) => {
                let starts = self.before.starts_with(&other.before)
                    || other.before.starts_with(&self.before);
                let ends = self.after.ends_with(&other.after) || other.after.ends_with(&self.after);
                // A ULID and a timestamp have different widths; any other two types share values.
                let kinds = [&one.kind, &two.kind];
                let apart = [AttributeType::Ulid, AttributeType::Timestamp]
                    .iter()
                    .all(|kind| kinds.contains(&&Some(kind.clone())));
                let is_bare =
                    |segment: &Segment| segment.before.is_empty() && segment.after.is_empty();
                starts && ends && !(apart && is_bare(self) && is_bare(other))
            }
        }
    }

    /// Whether this segment's value can make it this text.
    fn may_be(&self, hole: &Hole, text: &str) -> bool {
        let value = text
            .strip_prefix(self.before.as_str())
            .and_then(|rest| rest.strip_suffix(self.after.as_str()));
        let kind = hole.kind.as_ref();
        value.is_some_and(|value| {
            !value.is_empty() && kind.is_none_or(|kind| kind.from_text(value).is_ok())
        })
    }

    fn fit<'s>(&'s self, record: &'s Segment) -> Fit<'s> {
        match (&self.hole, &record.hole) {
            (None, None) if self.before == record.before => Fit::Text,
            (None, Some(hole)) if record.may_be(hole, &self.before) => Fit::Text,
            (
                Some(own),
                Some(Hole {
                    kind: Some(kind), ..
                }),
            ) if self.before == record.before && self.after == record.after => {
                Fit::Parameter(&own.name, kind)
            }
            (Some(own), None) => Fit::Misplaced(&own.name, &record.before),
            _ => Fit::No,
        }
    }
}

#[cfg(test)]
mod tests;
