//! `If-Match` and `If-None-Match`: what must be so of an item before a request is carried out.
//!
//! The version of an item is its entity tag: `ETag: "3"`.

use crate::problem::Problem;
use crate::request::Request;

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
    /// Those of these versions.
    Versions(Vec<i64>),
}

impl Tags {
    /// Whether an item with this version, if it has one, is meant.
    pub fn include(&self, version: Option<i64>) -> bool {
        match self {
            Tags::Any => true,
            Tags::Versions(versions) => version.is_some_and(|one| versions.contains(&one)),
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
            Some(Tags::Versions(versions)) => match versions.as_slice() {
                [version] => Ok(Some(*version)),
                _ => Err(Problem::bad_request("`If-Match` takes one version here")),
            },
        }
    }

    /// Refuses conditions where nobody would look at them.
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

/// `*`, or versions in quotes: `"3", "4"`.
fn tags(header: &str, text: &str) -> Result<Tags, Problem> {
    if text.trim() == "*" {
        return Ok(Tags::Any);
    }
    let versions: Option<Vec<i64>> = text.split(',').map(version).collect();
    let versions = versions.ok_or_else(|| {
        let detail = format!("`{header}` must be `*` or a version as in `ETag`: \"3\"");
        Problem::bad_request(detail)
    })?;
    Ok(Tags::Versions(versions))
}

/// A proxy that compresses an answer makes its tag a weak one, `W/"3"`. It is the same version.
fn version(text: &str) -> Option<i64> {
    let text = text.trim();
    let text = text.strip_prefix("W/").unwrap_or(text);
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    text.parse().ok()
}
