//! Paths of URLs, and the words in them that designs cannot use as names.

use std::fmt;

/// First parts of paths that have a meaning in every design.
pub const RESERVED_SEGMENTS: [&str; 8] = [
    "action",
    "admin",
    "auth",
    "batch",
    "docs",
    "files",
    "openapi.json",
    "query",
];

/// Paths at which a server answers itself, whichever designs it serves. No design has such a name.
pub const SERVER_PATHS: [&str; 4] = ["console", "healthz", "readyz", "metrics"];

/// The path of something in URLs: `stories/{storyId}/chapters/{nodeId}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathTemplate {
    /// Its parts, which slashes divide.
    pub segments: Vec<Segment>,
}

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A part that is always the same.
    Literal(String),
    /// A placeholder, by its name.
    Parameter(String),
}

impl PathTemplate {
    /// A path of parts that are always the same.
    pub fn literal<'s>(parts: impl IntoIterator<Item = &'s str>) -> Self {
        let segments = parts.into_iter().map(|part| Segment::Literal(part.into()));
        PathTemplate {
            segments: segments.collect(),
        }
    }

    /// This path with a part behind it that is always the same.
    #[must_use]
    pub fn below(&self, part: &str) -> Self {
        let mut below = self.clone();
        below.segments.push(Segment::Literal(part.to_owned()));
        below
    }

    /// This path with a value behind it.
    #[must_use]
    pub fn with(&self, parameter: &str) -> Self {
        let mut with = self.clone();
        let segment = Segment::Parameter(parameter.to_owned());
        with.segments.push(segment);
        with
    }

    /// The path of an item without the values at its end: where such items are created.
    #[must_use]
    pub fn collection(&self) -> Self {
        let is_value = |segment: &&Segment| matches!(segment, Segment::Parameter(_));
        let values = self.segments.iter().rev().take_while(is_value).count();
        PathTemplate {
            segments: self.segments[..self.segments.len() - values].to_vec(),
        }
    }

    /// The names of the values in it, in their order.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Literal(_) => None,
            Segment::Parameter(name) => Some(name.as_str()),
        })
    }

    /// Whether there is a path that both describe. A value may be any text, also one that stands
    /// as a fixed part in the other.
    pub fn overlaps(&self, other: &PathTemplate) -> bool {
        let meets = |(one, other): (&Segment, &Segment)| match (one, other) {
            (Segment::Literal(one), Segment::Literal(other)) => one == other,
            _ => true,
        };
        self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(meets)
    }
}

impl fmt::Display for PathTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.segments.iter().enumerate() {
            if at > 0 {
                f.write_str("/")?;
            }
            match segment {
                Segment::Literal(text) => f.write_str(text)?,
                Segment::Parameter(name) => write!(f, "{{{name}}}")?,
            }
        }
        Ok(())
    }
}
