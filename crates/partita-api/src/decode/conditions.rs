//! `If-Match` and `If-None-Match`: what must be so of an item before a request is carried out.
//!
//! They name states of an item by their entity tags; see [`Tag`].

use crate::problem::Problem;
use crate::request::Request;
use crate::tag::Tag;

/// The conditions of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Only if the item is one of these.
    pub only_if: Option<Tags>,
    /// Only if it is none of these.
    pub unless: Option<Tags>,
}

/// Which states of an item are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tags {
    /// Every one: that it is there.
    Any,
    /// Those with these tags.
    These(Vec<Tag>),
}

impl Tags {
    /// Whether an item with this tag, if it has one, has one of the versions that are meant.
    pub fn have_version_of(&self, tag: Option<&Tag>) -> bool {
        match self {
            Tags::Any => true,
            Tags::These(tags) => {
                let mut tags = tags.iter();
                tag.is_some_and(|tag| tags.any(|one| one.version == tag.version))
            }
        }
    }

    /// Whether an item with this tag, if it has one, is in one of the states that are meant.
    pub fn include(&self, tag: Option<&Tag>) -> bool {
        match self {
            Tags::Any => true,
            Tags::These(tags) => tag.is_some_and(|tag| tags.contains(tag)),
        }
    }
}

impl Conditions {
    /// Those in the headers of a request.
    pub fn of(request: &Request<'_>) -> Result<Self, Problem> {
        Conditions::new(
            request.header("If-Match")?,
            request.header("If-None-Match")?,
        )
    }

    /// Those that are written so.
    pub fn new(only_if: Option<&str>, unless: Option<&str>) -> Result<Self, Problem> {
        Ok(Conditions {
            only_if: only_if.map(|text| tags("If-Match", text)).transpose()?,
            unless: unless.map(|text| tags("If-None-Match", text)).transpose()?,
        })
    }

    /// The version that the caller saw, for a change of an item that must be there anyway.
    pub(super) fn version(&self) -> Result<Option<i64>, Problem> {
        self.no_unless()?;
        match &self.only_if {
            None | Some(Tags::Any) => Ok(None),
            Some(Tags::These(tags)) => match tags.as_slice() {
                [tag] => Ok(Some(tag.version)),
                _ => Err(Problem::bad_request("`If-Match` takes one version here")),
            },
        }
    }

    /// Refuses conditions on requests that ignore them.
    pub(super) fn none(&self) -> Result<(), Problem> {
        self.no_unless()?;
        match &self.only_if {
            None => Ok(()),
            Some(_) => Err(Problem::bad_request("`If-Match` has no meaning here")),
        }
    }

    fn no_unless(&self) -> Result<(), Problem> {
        match &self.unless {
            None => Ok(()),
            Some(_) => Err(Problem::bad_request("`If-None-Match` has no meaning here")),
        }
    }
}

/// `*`, or tags: `"3", "4"`.
fn tags(header: &str, text: &str) -> Result<Tags, Problem> {
    if text.trim() == "*" {
        return Ok(Tags::Any);
    }
    let tags: Option<Vec<Tag>> = text.split(',').map(Tag::parse).collect();
    let tags = tags.ok_or_else(|| {
        let detail = format!("`{header}` must be `*` or a version as in `ETag`: \"3\"");
        Problem::bad_request(detail)
    })?;
    Ok(Tags::These(tags))
}
