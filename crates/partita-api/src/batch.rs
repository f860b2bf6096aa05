//! `POST batch`: several writes in one transaction, all of them or none.
//!
//! ```json
//! { "operations": [
//!     { "method": "PATCH", "path": "stories/01JG…", "body": { "title": "Dune" }, "ifMatch": "\"3\"" },
//!     { "method": "POST", "path": "users/ann/votes", "body": { … } } ] }
//! ```
//!
//! The answer lists what each came to: `{ "results": [{ "status": 200, "etag": "\"4\"", "body": { … } }, …] }`.

use axum::http::{Method, StatusCode};
use partita_core::{Map, Value, excerpt};
use partita_design::Design;
use partita_plan::{Answer, BATCH_OPERATIONS_MAX, Operation, PlanError};
use serde_json::json;

use crate::decode::conditions::Conditions;
use crate::decode::wish::Wish;
use crate::decode::{self, Brought, Content, body};
use crate::encode::Outcome;
use crate::problem::Problem;
use crate::request::{self, Request};
use crate::routes::{Routes, Target, Verb};

/// What an operation of a batch may say.
const MEMBERS: [&str; 5] = ["method", "path", "body", "ifMatch", "ifNoneMatch"];

/// The operations of a batch, understood.
pub(crate) struct Batch {
    entries: Vec<Entry>,
}

struct Entry {
    verb: Verb,
    conditions: Conditions,
    operation: Operation,
}

impl Batch {
    /// The batch in the body of a request. Every operation that cannot be understood is told, not
    /// only the first.
    pub(crate) fn of(
        request: &Request<'_>,
        design: &Design,
        routes: &Routes,
    ) -> Result<Self, Problem> {
        let mut members = body::object(request)?;
        let Some(Value::L(operations)) = members.remove("operations") else {
            let detail = "a batch has `operations`: a list of objects with `method` and `path`";
            return Err(Problem::bad_request(detail));
        };
        if let Some(name) = members.keys().next() {
            let name = excerpt::name(name);
            return Err(Problem::bad_request(format!("a batch has no `{name}`")));
        }
        let count = operations.len();
        if count > BATCH_OPERATIONS_MAX {
            return Err(PlanError::BatchSize { count }.into());
        }
        let mut entries = Vec::new();
        let mut problems = Vec::new();
        for (position, operation) in operations.into_iter().enumerate() {
            match entry(operation, design, routes) {
                Ok(entry) => entries.push(entry),
                Err(problem) => problems.push((position, problem)),
            }
        }
        match problems.is_empty() {
            true => Ok(Batch { entries }),
            false => Err(Problem::of_batch(problems)),
        }
    }

    /// What is to be carried out.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let entries = self.entries.iter();
        entries.map(|entry| entry.operation.clone()).collect()
    }

    /// What they came to, in their order.
    pub(crate) fn results(
        &self,
        design: &Design,
        answers: &[Answer],
        wish: &Wish,
    ) -> Result<Outcome, Problem> {
        let mut results = Vec::new();
        for (entry, answer) in self.entries.iter().zip(answers) {
            let is_creation = matches!(entry.operation, Operation::Create { .. });
            let outcome = Outcome::of(design, is_creation, answer, wish)?;
            results.push(outcome.into_json());
        }
        Ok(Outcome {
            status: StatusCode::OK,
            location: None,
            etag: None,
            body: Some(json!({ "results": results })),
            is_minimal: wish.minimal,
        })
    }

    /// Why nothing was carried out, with the operations that are the reason.
    pub(crate) fn refused(&self, design: &Design, refusal: PlanError) -> Problem {
        let PlanError::Batch { refusals } = refusal else {
            return refusal.into();
        };
        let problems = refusals.into_iter().map(|refused| {
            let problem = match self.entries.get(refused.position) {
                Some(entry) => {
                    Problem::of_refusal(refused.error, design, &entry.verb, &entry.conditions)
                }
                None => refused.error.into(),
            };
            (refused.position, problem)
        });
        Problem::of_batch(problems.collect())
    }
}

fn entry(operation: Value, design: &Design, routes: &Routes) -> Result<Entry, Problem> {
    let Value::M(mut members) = operation else {
        let detail = "an operation is an object with `method` and `path`";
        return Err(Problem::bad_request(detail));
    };
    if let Some(name) = members
        .keys()
        .find(|name| !MEMBERS.contains(&name.as_str()))
    {
        let detail = format!("an operation has no `{}`", excerpt::name(name));
        return Err(Problem::bad_request(detail));
    }
    let method = text(&mut members, "method")?.unwrap_or_default();
    let method = Method::from_bytes(method.as_bytes())
        .map_err(|_| Problem::bad_request("an operation has a `method`, such as `POST`"))?;
    let path = text(&mut members, "path")?
        .ok_or_else(|| Problem::bad_request("an operation has a `path`, such as `stories/1`"))?;
    if path.len() > request::HEAD_BYTES_MAX {
        let bytes_max = request::HEAD_BYTES_MAX;
        let detail = format!("the `path` of an operation has at most {bytes_max} bytes");
        return Err(Problem::bad_request(detail));
    }
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let parts = request::segments(path)?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let found = routes.find(&method, &parts)?;
    let verb = match &found.route.target {
        Target::Operation(verb) if !verb.is_read() => verb,
        _ => {
            return Err(Problem::bad_request(
                "a batch only writes; ask for this by itself",
            ));
        }
    };
    let only_if = text(&mut members, "ifMatch")?;
    let unless = text(&mut members, "ifNoneMatch")?;
    let brought = Brought {
        parameters: request::parameters(query)?,
        conditions: Conditions::new(only_if.as_deref(), unless.as_deref())?,
        content: Content::Given(match members.remove("body") {
            None | Some(Value::Null) => None,
            Some(Value::M(body)) => Some(body),
            Some(_) => return Err(Problem::bad_request("a `body` is an object")),
        }),
    };
    let operation = decode::operation(design, verb, &found, &brought)
        .map_err(|problem| problem.about(design, verb))?;
    Ok(Entry {
        verb: verb.clone(),
        conditions: brought.conditions,
        operation,
    })
}

fn text(members: &mut Map, name: &str) -> Result<Option<String>, Problem> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::S(text)) => Ok(Some(text)),
        Some(_) => Err(Problem::bad_request(format!("`{name}` is a text"))),
    }
}
