//! Which keys a template can give.
//!
//! A value in a key is never empty and never has the delimiter `#`: that is refused when a key is
//! rendered. A key therefore falls into segments at its delimiters, with at most one value in
//! each, and two templates are compared segment by segment. Free strings as parts of a key need
//! no diagnostic for the same reason.

use crate::template::{DELIMITER, Format, Part, Template};
use crate::time::TimeForm;
use crate::types::AttributeType;

/// A template, segment by segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeyShape {
    pub(crate) segments: Vec<KeySegment>,
}

/// The text between two delimiters: `before{hole}after`, or only `before`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeySegment {
    before: String,
    hole: Option<KeyHole>,
    after: String,
}

/// A place for a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyHole {
    /// What it reads, as it is written.
    pub(crate) name: String,
    /// What the values may be, where it is known.
    pub(crate) kind: Option<AttributeType>,
    /// How they are written.
    pub(crate) format: Format,
}

/// How a segment of a pattern finds a segment of a record.
pub(crate) enum Fit<'s> {
    /// By its text.
    Text,
    /// By a parameter in the place of a value of that type.
    Parameter(&'s str, &'s AttributeType),
    /// Not, because a parameter is in the place of this text.
    Misplaced(&'s str, &'s str),
    /// Not at all.
    No,
}

impl KeyShape {
    /// The shape of a template whose values are of these types.
    pub(crate) fn new(
        template: &Template,
        mut kind_of: impl FnMut(&str) -> Option<AttributeType>,
    ) -> KeyShape {
        let mut segments = vec![KeySegment::default()];
        for part in &template.parts {
            match part {
                Part::Text(text) => {
                    let mut pieces = text.split(DELIMITER);
                    let first = pieces.next().unwrap_or_default();
                    if let Some(last) = segments.last_mut() {
                        last.push(first);
                    }
                    segments.extend(pieces.map(|piece| KeySegment {
                        before: piece.to_owned(),
                        ..KeySegment::default()
                    }));
                }
                Part::Value(hole) => {
                    if let Some(last) = segments.last_mut() {
                        let name = hole.name().unwrap_or_else(|| hole.to_string());
                        last.hole = Some(KeyHole {
                            kind: kind_of(&name),
                            name,
                            format: hole.format.clone(),
                        });
                    }
                }
            }
        }
        KeyShape { segments }
    }

    /// The shape of a key that is always this text.
    pub(crate) fn of_text(text: &str) -> KeyShape {
        let parts = vec![Part::Text(text.to_owned())];
        KeyShape::new(&Template { parts }, |_| None)
    }

    /// The same shape with other types.
    pub(crate) fn with_kinds(&self, kind_of: impl Fn(&str) -> Option<AttributeType>) -> KeyShape {
        let mut shape = self.clone();
        for segment in &mut shape.segments {
            if let Some(hole) = &mut segment.hole {
                hole.kind = kind_of(&hole.name);
            }
        }
        shape
    }

    /// The shape of a prefix: that of its whole segments. `None` when it ends inside of one.
    pub(crate) fn prefix(mut self) -> Option<KeyShape> {
        let last = self.segments.pop()?;
        (last == KeySegment::default()).then_some(self)
    }

    /// Whether some values give the same key in both.
    pub(crate) fn may_equal(&self, other: &KeyShape) -> bool {
        self.segments.len() == other.segments.len() && self.agrees(other)
    }

    /// Whether a key of this shape, and a delimiter, can be the beginning of one of the other.
    pub(crate) fn may_begin(&self, other: &KeyShape) -> bool {
        self.segments.len() < other.segments.len() && self.agrees(other)
    }

    /// Whether the two are the same but for the names of their values.
    pub(crate) fn is_like(&self, other: &KeyShape) -> bool {
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
    pub(crate) fn fits<'s>(&'s self, record: &'s KeyShape) -> impl Iterator<Item = Fit<'s>> {
        let pairs = self.segments.iter().zip(&record.segments);
        pairs.map(|(own, record)| own.fit(record))
    }

    fn agrees(&self, other: &KeyShape) -> bool {
        self.segments
            .iter()
            .zip(&other.segments)
            .all(|(one, two)| one.may_equal(two))
    }
}

impl KeyHole {
    /// Whether no text is a value of both: ids and times of different widths, different words.
    fn is_apart(&self, other: &KeyHole) -> bool {
        let (Some(one), Some(two)) = (&self.kind, &other.kind) else {
            return false;
        };
        if let (Some(one), Some(two)) = (one.words(), two.words()) {
            return one.iter().all(|word| !two.contains(word));
        }
        let accepts = |kind: &AttributeType, words: Vec<String>| {
            words.iter().any(|word| kind.from_text(word).is_ok())
        };
        match (one.words(), two.words()) {
            (Some(words), None) => return !accepts(two, words),
            (None, Some(words)) => return !accepts(one, words),
            _ => {}
        }
        match (self.width(), other.width()) {
            (Some(one), Some(two)) => one != two,
            _ => false,
        }
    }

    /// How many characters every value has, where that is always the same.
    fn width(&self) -> Option<usize> {
        match (&self.format, self.kind.as_ref()?) {
            (Format::Padded { width } | Format::Decimal { width, .. }, _) => Some(*width),
            (Format::Plain, AttributeType::Ulid) => Some(26),
            (Format::Plain, AttributeType::Uuid) => Some(36),
            (Format::Plain, AttributeType::Time(TimeForm::Timestamp)) => Some(24),
            (Format::Plain, AttributeType::Time(TimeForm::Date)) => Some(10),
            _ => None,
        }
    }

    /// The smallest and the largest beginning of its values, where that is known.
    fn extent(&self) -> Option<(String, String)> {
        let digits = Some(("0".to_owned(), "9".to_owned()));
        match (&self.format, self.kind.as_ref()?) {
            (Format::Padded { .. } | Format::Decimal { .. }, _) => digits,
            (Format::Plain, AttributeType::Time(TimeForm::Timestamp | TimeForm::Date)) => digits,
            (Format::Plain, AttributeType::Ulid) => Some(("0".to_owned(), "7".to_owned())),
            (Format::Plain, AttributeType::Uuid | AttributeType::Id) => {
                Some(("0".to_owned(), "f".to_owned()))
            }
            (Format::Plain, kind) => {
                let words = kind.words()?;
                Some((words.iter().min()?.clone(), words.iter().max()?.clone()))
            }
            _ => None,
        }
    }
}

impl KeyShape {
    /// Texts between which all keys of this shape are: none is smaller than the first, and none
    /// is larger than everything that begins with the second.
    pub(crate) fn extent(&self) -> (String, String) {
        let (mut low, mut high) = (String::new(), String::new());
        let last = self.segments.len().saturating_sub(1);
        for (index, segment) in self.segments.iter().enumerate() {
            low.push_str(&segment.before);
            high.push_str(&segment.before);
            if let Some(hole) = &segment.hole {
                match hole.extent() {
                    Some((least, most)) => {
                        low.push_str(&least);
                        high.push_str(&most);
                    }
                    // Behind such a value anything may come.
                    None => high.push(char::MAX),
                }
                break;
            }
            if index < last {
                low.push(DELIMITER);
                high.push(DELIMITER);
            }
        }
        (low, high)
    }

    /// Whether it has no values in it.
    pub(crate) fn is_constant(&self) -> bool {
        self.segments.iter().all(|segment| segment.hole.is_none())
    }

    /// Whether some key of this shape begins with the text.
    pub(crate) fn may_start_with(&self, text: &str) -> bool {
        let (low, high) = self.extent();
        let common = |one: &str| one.starts_with(text) || text.starts_with(one);
        let is_between = low.as_str() <= text && (text <= high.as_str() || text.starts_with(&high));
        common(&low) || common(&high) || is_between
    }
}

impl KeySegment {
    /// The value in this segment.
    pub(crate) fn hole(&self) -> Option<&KeyHole> {
        self.hole.as_ref()
    }

    fn push(&mut self, text: &str) {
        match self.hole {
            Some(_) => self.after.push_str(text),
            None => self.before.push_str(text),
        }
    }

    fn may_equal(&self, other: &KeySegment) -> bool {
        match (&self.hole, &other.hole) {
            (None, None) => self.before == other.before,
            (Some(hole), None) => self.may_be(hole, &other.before),
            (None, Some(hole)) => other.may_be(hole, &self.before),
            (Some(one), Some(two)) => {
                let starts = self.before.starts_with(&other.before)
                    || other.before.starts_with(&self.before);
                let ends = self.after.ends_with(&other.after) || other.after.ends_with(&self.after);
                let is_bare =
                    |segment: &KeySegment| segment.before.is_empty() && segment.after.is_empty();
                let apart = is_bare(self) && is_bare(other) && one.is_apart(two);
                starts && ends && !apart
            }
        }
    }

    /// Whether this segment's value can make it this text.
    fn may_be(&self, hole: &KeyHole, text: &str) -> bool {
        let value = text
            .strip_prefix(self.before.as_str())
            .and_then(|rest| rest.strip_suffix(self.after.as_str()));
        let kind = hole.kind.as_ref();
        value.is_some_and(|value| {
            let is_written_so = match &hole.format {
                Format::Plain => true,
                Format::Padded { width } | Format::Decimal { width, .. } => value.len() == *width,
                Format::Time { .. } => return true,
            };
            is_written_so
                && !value.is_empty()
                && kind.is_none_or(|kind| kind.from_text(value).is_ok())
        })
    }

    fn fit<'s>(&'s self, record: &'s KeySegment) -> Fit<'s> {
        match (&self.hole, &record.hole) {
            (None, None) if self.before == record.before => Fit::Text,
            (None, Some(hole)) if record.may_be(hole, &self.before) => Fit::Text,
            (
                Some(own),
                Some(KeyHole {
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
