//! What a request about accounts brings: a JSON object, or a form of one of our pages.

use axum::http::header;
use partita_core::{Map, Name, Value};
use partita_plan::{Fault, PlanError};
use secrecy::SecretString;

use super::identity::SameSite;
use super::password::PASSWORD_CHARS;
use crate::decode::body;
use crate::problem::Problem;
use crate::request::{self, Request};

/// Characters of a login or a mailed secret at most.
const TEXT_CHARS_MAX: usize = 320;

/// The values, of which each is taken once.
pub(super) struct Form {
    values: Map,
    faults: Vec<Fault>,
}

/// Whether a request is a form, and not JSON.
pub(super) fn is_form(request: &Request<'_>) -> bool {
    let kind = request.headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|value| value.split(';').next());
    kind.is_some_and(|kind| {
        kind.trim()
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    })
}

impl Form {
    pub(super) fn of(request: &Request<'_>) -> Result<Form, Problem> {
        let values = if is_form(request) {
            let text = std::str::from_utf8(request.body);
            let text = text.map_err(|_| Problem::bad_request("the form is not UTF-8"))?;
            let parameters = request::parameters(text)?.into_iter();
            parameters
                .map(|(name, value)| (Name::from(name.as_str()), Value::S(value)))
                .collect()
        } else {
            body::object(request)?
        };
        Ok(Form {
            values,
            faults: Vec::new(),
        })
    }

    /// A text that must be there, and not empty.
    pub(super) fn text(&mut self, name: &str) -> String {
        match self.values.remove(name) {
            Some(Value::S(text)) if text.is_empty() => {
                self.refuse(name, "must not be empty");
                text
            }
            Some(Value::S(text)) if text.chars().count() <= TEXT_CHARS_MAX => text,
            Some(Value::S(_)) => {
                let message = format!("must have at most {TEXT_CHARS_MAX} characters");
                self.refuse(name, message);
                String::new()
            }
            Some(_) => {
                self.refuse(name, "must be a string");
                String::new()
            }
            None => {
                self.refuse(name, "is required");
                String::new()
            }
        }
    }

    /// A password that somebody has.
    pub(super) fn password(&mut self, name: &str) -> SecretString {
        SecretString::from(self.text(name))
    }

    /// A password that somebody is to have.
    pub(super) fn new_password(&mut self, name: &str) -> SecretString {
        let text = self.text(name);
        if !text.is_empty() && !PASSWORD_CHARS.contains(&text.chars().count()) {
            let (least, most) = (PASSWORD_CHARS.start(), PASSWORD_CHARS.end());
            self.refuse(name, format!("must have {least} to {most} characters"));
        }
        SecretString::from(text)
    }

    /// Whether a session is wanted as a cookie: `true`, or `"strict"`.
    pub(super) fn cookie(&mut self) -> Option<SameSite> {
        match self.values.remove("cookie") {
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(SameSite::Lax),
            Some(Value::S(word)) if word == "strict" => Some(SameSite::Strict),
            Some(_) => {
                self.refuse("cookie", "must be true, false or \"strict\"");
                None
            }
        }
    }

    /// What is left, and what was wrong so far.
    pub(super) fn into_parts(self) -> (Map, Vec<Fault>) {
        (self.values, self.faults)
    }

    /// Refuses what was wrong, and what nobody asked for.
    pub(super) fn finish(mut self) -> Result<(), Problem> {
        let names: Vec<String> = self
            .values
            .keys()
            .map(|name| name.as_str().to_owned())
            .collect();
        for name in names {
            self.refuse(&name, "is not taken here");
        }
        let faults = self.faults;
        if faults.is_empty() {
            return Ok(());
        }
        Err(PlanError::Invalid { faults }.into())
    }

    fn refuse(&mut self, name: &str, message: impl Into<String>) {
        self.faults.push(Fault::new(name, message));
    }
}
