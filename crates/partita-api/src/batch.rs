//! `POST batch`: several writes in one transaction, all of them or none.
//!
//! ```json
//! { "operations": [
//!     { "method": "PATCH", "path": "stories/01JG…", "body": { "title": "Dune" }, "ifMatch": "\"3\"" },
//!     { "method": "POST", "path": "users/ann/votes", "body": { … } } ] }
//! ```
//!
//! The answer lists what each came to: `{ "results": [{ "status": 200, "etag": "\"4\"", "body": { …
//! } }, …] }`.

use axum::http::{Method, StatusCode};
use partita_core::{Map, Value, excerpt, plain};
use partita_design::Design;
use partita_plan::{Answer, BATCH_OPERATIONS_MAX, Caller, Operation, Partita, PlanError, Refused};

use crate::admission::{self, Refusal};
use crate::decode::conditions::Conditions;
use crate::decode::wish::Wish;
use crate::decode::{self, BodyContent, Brought, body};
use crate::encode::Outcome;
use crate::problem::Problem;
use crate::request::{self, Request};
use crate::routes::{Routes, Target, Verb};

/// The operations of a batch that are understood, and those that are not.
pub(crate) struct Batch {
    entries: Vec<BatchEntry>,
    malformed: Vec<(usize, Problem)>,
}

struct BatchEntry {
    /// Where it is among the operations of the request.
    position: usize,
    verb: Verb,
    conditions: Conditions,
    operation: Operation,
}

impl Batch {
    /// The batch in the body of a request. Operations that the rules refuse come before those that
    /// cannot be understood.
    pub(crate) fn of(
        partita: &Partita,
        caller: &Caller,
        request: &Request<'_>,
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
        let (mut ruled, mut malformed) = (Vec::new(), Vec::new());
        for (position, operation) in operations.into_iter().enumerate() {
            match entry(partita, caller, position, operation, routes) {
                Ok(entry) => entries.push(entry),
                Err(Refusal::Ruled(problem)) => ruled.push((position, problem)),
                Err(Refusal::Malformed(problem)) => malformed.push((position, problem)),
            }
        }
        if !ruled.is_empty() {
            return Err(Problem::of_batch(ruled));
        }
        Ok(Batch { entries, malformed })
    }

    /// Refuses a batch with operations that cannot be understood. The others are planned, so that
    /// the problem names all that are refused.
    pub(crate) async fn demand_understood(
        mut self,
        partita: &Partita,
        caller: &Caller,
    ) -> Result<Self, Problem> {
        if self.malformed.is_empty() {
            return Ok(self);
        }
        let mut problems = std::mem::take(&mut self.malformed);
        let planned = partita.admit_all(caller, self.operations()).await;
        if let Err(PlanError::Batch { refusals }) = planned {
            problems.extend(self.problems(partita.design(), refusals));
        }
        problems.sort_by_key(|(position, _)| *position);
        Err(Problem::of_batch(problems))
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
        let entries = self.entries.iter().zip(answers);
        let outcomes: Result<Vec<_>, _> = entries
            .map(|(entry, answer)| Outcome::of(design, answer, entry.operation.identity(), wish))
            .collect();
        let mut results = Vec::from(b"{\"results\":");
        plain::write_list(&outcomes?, &mut results, Outcome::write_part);
        results.push(b'}');
        Ok(Outcome {
            status: StatusCode::OK,
            location: None,
            etag: None,
            body: Some(results),
            is_minimal: wish.minimal,
        })
    }

    /// Why nothing was carried out, with the operations that are the reason.
    pub(crate) fn refused(&self, design: &Design, refusal: PlanError) -> Problem {
        let PlanError::Batch { refusals } = refusal else {
            return refusal.into();
        };
        Problem::of_batch(self.problems(design, refusals))
    }

    /// The problems of refused operations, by their positions in the request.
    fn problems(&self, design: &Design, refusals: Vec<Refused>) -> Vec<(usize, Problem)> {
        let problems = refusals.into_iter().map(|refused| {
            let Some(entry) = self.entries.get(refused.position) else {
                return (refused.position, refused.error.into());
            };
            let (verb, conditions) = (entry.verb, &entry.conditions);
            let problem = Problem::of_refusal(refused.error, design, verb, conditions);
            (entry.position, problem)
        });
        problems.collect()
    }
}

/// An operation, understood and admitted. The rules are asked as soon as its route is known.
fn entry(
    partita: &Partita,
    caller: &Caller,
    position: usize,
    operation: Value,
    routes: &Routes,
) -> Result<BatchEntry, Refusal> {
    let Value::M(mut members) = operation else {
        let detail = "an operation is an object with `method` and `path`";
        return Err(Refusal::Malformed(Problem::bad_request(detail)));
    };
    let (method, path) = line(&mut members).map_err(Refusal::Malformed)?;
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let parts = request::segments(path).map_err(Refusal::Malformed)?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let found = routes.find(&method, &parts);
    let found = found.map_err(|miss| Refusal::Malformed(miss.into()))?;
    let verb = match &found.route.target {
        Target::Operation(verb) if !verb.is_read() => *verb,
        _ => {
            let detail = "a batch only writes; ask for this by itself";
            return Err(Refusal::Malformed(Problem::bad_request(detail)));
        }
    };
    let head = head(&mut members, query);
    let head = admission::admit(partita, caller, verb, &found, head)?;
    let brought = Brought {
        content: content(members).map_err(Refusal::Malformed)?,
        ..head
    };
    let design = partita.design();
    let operation = decode::operation(design, verb, &found, &brought)
        .map_err(|problem| Refusal::Malformed(problem.about(design, verb)))?;
    Ok(BatchEntry {
        position,
        verb,
        conditions: brought.conditions,
        operation,
    })
}

/// What an operation does, and to what.
fn line(members: &mut Map) -> Result<(Method, String), Problem> {
    let method = text(members, "method")?.unwrap_or_default();
    let method = Method::from_bytes(method.as_bytes())
        .map_err(|_| Problem::bad_request("an operation has a `method`, such as `POST`"))?;
    let path = text(members, "path")?
        .ok_or_else(|| Problem::bad_request("an operation has a `path`, such as `stories/1`"))?;
    if path.len() > request::HEAD_BYTES_MAX {
        let bytes_max = request::HEAD_BYTES_MAX;
        let detail = format!("the `path` of an operation has at most {bytes_max} bytes");
        return Err(Problem::bad_request(detail));
    }
    Ok((method, path))
}

/// What a single request has in its query string and its headers.
fn head(members: &mut Map, query: &str) -> Result<Brought<'static>, Problem> {
    let only_if = text(members, "ifMatch")?;
    let unless = text(members, "ifNoneMatch")?;
    Ok(Brought {
        parameters: request::parameters(query)?,
        conditions: Conditions::new(only_if.as_deref(), unless.as_deref())?,
        content: BodyContent::Awaited,
    })
}

/// The body of an operation, which is all that is left of it.
fn content(mut members: Map) -> Result<BodyContent<'static>, Problem> {
    let body = members.remove("body");
    if let Some(name) = members.keys().next() {
        let detail = format!("an operation has no `{}`", excerpt::name(name));
        return Err(Problem::bad_request(detail));
    }
    match body {
        None | Some(Value::Null) => Ok(BodyContent::Given(None)),
        Some(Value::M(body)) => Ok(BodyContent::Given(Some(body))),
        Some(_) => Err(Problem::bad_request("a `body` is an object")),
    }
}

fn text(members: &mut Map, name: &str) -> Result<Option<String>, Problem> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::S(text)) => Ok(Some(text)),
        Some(_) => Err(Problem::bad_request(format!("`{name}` is a text"))),
    }
}
