//! What a caller would like to see of the answer.

use super::Brought;
use super::conditions::Tags;
use crate::problem::Problem;
use crate::request::Request;
use crate::routes::Verb;

/// What the answer is to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Nothing but that it is done: `Prefer: return=minimal`.
    pub minimal: bool,
    /// The keys of the table, too: `?keys=true`.
    pub with_keys: bool,
    /// Nothing, if the caller has this state of the item already.
    pub unless: Option<Tags>,
    /// A refusal, unless it is this state of the item.
    pub only_if: Option<Tags>,
}

impl Wish {
    /// The wish of a request; the parameters that it takes are no longer in what is brought.
    pub fn of(
        request: &Request<'_>,
        verb: Verb,
        brought: &mut Brought<'_>,
    ) -> Result<Self, Problem> {
        if !verb.is_read() {
            return Ok(Wish::of_write(request));
        }
        let with_keys = match brought.parameters.remove("keys").as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(Problem::bad_request("`keys` is `true` or `false`")),
        };
        Ok(Wish {
            minimal: false,
            with_keys,
            unless: brought.conditions.unless.clone(),
            only_if: brought.conditions.only_if.clone(),
        })
    }

    /// The wish of a request that writes.
    pub fn of_write(request: &Request<'_>) -> Self {
        Wish {
            minimal: prefers_minimal(request),
            ..Wish::default()
        }
    }
}

/// `Prefer` may be sent several times, with several preferences each; the first of two
/// contradictory ones counts.
fn prefers_minimal(request: &Request<'_>) -> bool {
    let values = request.headers.get_all("prefer").iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut preferences = texts.flat_map(|text| text.split(','));
    let returned = preferences.find_map(|preference| {
        let preference = preference.split(';').next()?;
        let (name, value) = preference.split_once('=')?;
        let is_return = name.trim().eq_ignore_ascii_case("return");
        is_return.then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    });
    returned.as_deref() == Some("minimal")
}
