//! What a request asks for. Pure: nothing here reads a socket.
//!
//! [`Routes`](crate::routes::Routes) say what a path means; the query string, headers and the body
//! are read here.
//!
//! | module | what it reads |
//! |---|---|
//! | [`body`] | the body: a JSON object without repeated names |
//! | [`conditions`] | `If-Match` and `If-None-Match` |
//! | [`wish`] | `Prefer` and `?keys=true`: what the answer is to hold |

pub mod body;
pub mod conditions;
pub mod wish;

use partita_core::wording::one;
use partita_core::{Map, Value, excerpt};
use partita_design::Design;
use partita_design::design::{Action, Pattern, Read, Record, RecordId, Repeat};
use partita_plan::{Fault, Operation};

use crate::problem::Problem;
use crate::request::{Parameters, Request};
use crate::routes::{Found, Verb};
use conditions::{Conditions, Tags};

/// What a request brings besides its method and path.
#[derive(Clone, Debug)]
pub struct Brought<'a> {
    /// The query string.
    pub parameters: Parameters,
    /// What must be so.
    pub conditions: Conditions,
    /// The body.
    pub content: BodyContent<'a>,
}

/// Where the body of a request comes from.
#[derive(Clone, Debug)]
pub enum BodyContent<'a> {
    /// From the socket. It is read only when it is needed.
    Sent(&'a Request<'a>),
    /// From within another body.
    Given(Option<Map>),
    /// It has not been read, because nothing has depended on it.
    Awaited,
}

impl<'a> Brought<'a> {
    /// What a request from the socket brings.
    pub fn of(request: &'a Request<'a>) -> Result<Self, Problem> {
        Ok(Brought {
            parameters: request.parameters()?,
            conditions: Conditions::of(request)?,
            content: BodyContent::Sent(request),
        })
    }

    pub(crate) fn attributes(&self) -> Result<Map, Problem> {
        match &self.content {
            BodyContent::Sent(request) => body::object(request),
            BodyContent::Given(Some(object)) => Ok(object.clone()),
            BodyContent::Given(None) => Err(Problem::bad_request("a body is missing")),
            BodyContent::Awaited => Ok(Map::new()),
        }
    }

    /// Most actions need nothing but their name.
    fn attributes_if_any(&self) -> Result<Map, Problem> {
        match &self.content {
            BodyContent::Sent(request) if request.body.is_empty() => Ok(Map::new()),
            BodyContent::Given(None) => Ok(Map::new()),
            BodyContent::Sent(_) | BodyContent::Given(Some(_)) | BodyContent::Awaited => {
                self.attributes()
            }
        }
    }

    pub(crate) fn no_parameters(&self) -> Result<(), Problem> {
        match self.parameters.keys().next() {
            None => Ok(()),
            Some(name) => Err(no_such_parameter(name)),
        }
    }

    /// `?deleted=include` shows what is soft-deleted, too.
    fn with_deleted(&self) -> Result<bool, Problem> {
        let mut others = self.parameters.keys().filter(|name| *name != "deleted");
        if let Some(name) = others.next() {
            return Err(no_such_parameter(name));
        }
        match self.parameters.get("deleted").map(String::as_str) {
            None => Ok(false),
            Some("include") => Ok(true),
            Some(_) => Err(Problem::bad_request("`deleted` can only be `include`")),
        }
    }
}

/// `?redirect=true` asks for the way to a file instead of its URL.
pub(crate) fn redirects(parameters: &Parameters) -> Result<bool, Problem> {
    let mut others = parameters.keys().filter(|name| *name != "redirect");
    if let Some(name) = others.next() {
        return Err(no_such_parameter(name));
    }
    match parameters.get("redirect").map(String::as_str) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Problem::bad_request("`redirect` is `true` or `false`")),
    }
}

fn no_such_parameter(name: &str) -> Problem {
    let name = excerpt::name(name);
    Problem::bad_request(format!("there is no parameter `{name}` here"))
}

/// The operation that a request asks of a design.
pub fn operation(
    design: &Design,
    verb: Verb,
    found: &Found<'_>,
    brought: &Brought<'_>,
) -> Result<Operation, Problem> {
    let identity = |entity: RecordId| identity(&design[entity], found);
    let name = |entity: RecordId| design[entity].name.clone();
    match verb {
        Verb::Create(entity) => {
            brought.no_parameters()?;
            brought.conditions.none()?;
            Ok(Operation::Create {
                attributes: with_values(brought.attributes()?, &design[entity], found)?,
                entity: name(entity),
            })
        }
        Verb::Get(entity) => Ok(Operation::Get {
            identity: identity(entity),
            entity: name(entity),
            with_deleted: brought.with_deleted()?,
        }),
        Verb::Update(entity) => Ok(Operation::Update {
            identity: identity(entity),
            entity: name(entity),
            changes: brought.attributes()?,
            with_deleted: brought.with_deleted()?,
            version: brought.conditions.version()?,
        }),
        Verb::Upsert(entity) => {
            brought.no_parameters()?;
            upsert(&design[entity], found, brought)
        }
        Verb::Delete(entity) => {
            brought.no_parameters()?;
            Ok(Operation::Delete {
                identity: identity(entity),
                entity: name(entity),
                version: brought.conditions.version()?,
            })
        }
        Verb::Restore(entity) => {
            brought.no_parameters()?;
            Ok(Operation::Restore {
                identity: identity(entity),
                entity: name(entity),
                version: brought.conditions.version()?,
            })
        }
        Verb::Purge(entity) => {
            brought.no_parameters()?;
            Ok(Operation::Purge {
                identity: identity(entity),
                entity: name(entity),
                version: brought.conditions.version()?,
            })
        }
        Verb::Act { action, on } => {
            let on = on.map(|record| &design[record]);
            act(&design[action], on, found, brought)
        }
        Verb::Query(pattern) => query(&design[pattern], found, brought),
    }
}

/// A PUT creates or changes. `If-None-Match: *` leaves only the creation, `If-Match` the change.
fn upsert(entity: &Record, found: &Found<'_>, brought: &Brought<'_>) -> Result<Operation, Problem> {
    let conditions = &brought.conditions;
    let attributes = with_values(brought.attributes()?, entity, found)?;
    let identity = identity(entity, found);
    let name = entity.name.clone();
    match (&conditions.only_if, &conditions.unless) {
        (None, Some(Tags::Any)) => {
            if entity.repeat != Repeat::Refuse {
                let detail = format!(
                    "creating {} again is no mistake, so `If-None-Match` has no meaning here",
                    one(&name)
                );
                return Err(Problem::bad_request(detail));
            }
            Ok(Operation::Create {
                entity: name,
                attributes,
            })
        }
        (Some(Tags::Any), None) => Ok(Operation::Update {
            changes: without_values(attributes, entity),
            entity: name,
            identity,
            with_deleted: false,
            version: None,
        }),
        _ => Ok(Operation::Upsert {
            entity: name,
            identity,
            attributes,
            version: conditions.version()?,
        }),
    }
}

/// What can change of an item, without the parts of its identity.
fn without_values(mut attributes: Map, entity: &Record) -> Map {
    for part in &entity.identity {
        attributes.remove(&part.name);
        attributes.remove(&part.attribute);
    }
    attributes
}

/// The values in the path that identify an item, in the order of its identity.
fn identity(record: &Record, found: &Found<'_>) -> Vec<String> {
    let parts = record.identity.iter();
    let values = parts.filter_map(|part| found.value(&part.name));
    values.map(str::to_owned).collect()
}

/// The attributes of a new item, with those from the path.
fn with_values(mut attributes: Map, entity: &Record, found: &Found<'_>) -> Result<Map, Problem> {
    let mut faults = Vec::new();
    for (name, text) in found.values() {
        let Some(attribute) = entity.attribute(name) else {
            continue;
        };
        // What is not of the attribute's type is refused with everything else that is wrong.
        let value = attribute.kind.from_text(text);
        let value = value.unwrap_or_else(|_| Value::from(text));
        let given = attributes.get(&attribute.name).or(attributes.get(name));
        match given {
            None => {
                attributes.insert(attribute.name.as_str(), value);
            }
            Some(given) if *given == value => {}
            Some(_) => {
                let text = excerpt::name(text);
                faults.push(Fault::new(name, format!("is `{text}` in the path")));
            }
        }
    }
    body::refuse(faults)?;
    Ok(attributes)
}

fn act(
    action: &Action,
    on: Option<&Record>,
    found: &Found<'_>,
    brought: &Brought<'_>,
) -> Result<Operation, Problem> {
    brought.no_parameters()?;
    let Some(record) = on else {
        // It may be done to many items, each with a version of its own.
        brought.conditions.none()?;
        return Ok(Operation::Act {
            action: action.name.clone(),
            entity: None,
            identity: Vec::new(),
            given: brought.attributes_if_any()?,
            version: None,
        });
    };
    Ok(Operation::Act {
        action: action.name.clone(),
        identity: identity(record, found),
        entity: Some(record.name.clone()),
        given: brought.attributes_if_any()?,
        version: brought.conditions.version()?,
    })
}

fn query(
    pattern: &Pattern,
    found: &Found<'_>,
    brought: &Brought<'_>,
) -> Result<Operation, Problem> {
    // One item has a version, a list has none.
    let is_one = pattern.one || matches!(pattern.read, Read::Get(_));
    if !is_one {
        brought.conditions.none()?;
    }
    let mut parameters = brought.parameters.clone();
    let limit = parameters.remove("limit");
    let limit = limit.map(|text| text.parse::<usize>()).transpose();
    let limit = limit.map_err(|_| Problem::bad_request("`limit` must be a whole number"))?;
    let cursor = parameters.remove("cursor");
    for (name, value) in found.values() {
        let another = parameters.insert(name.to_owned(), value.to_owned());
        if another.is_some() {
            let detail = format!("`{name}` stands in the path already");
            return Err(Problem::bad_request(detail));
        }
    }
    Ok(Operation::Query {
        pattern: pattern.name.clone(),
        parameters,
        limit,
        cursor,
    })
}

#[cfg(test)]
mod tests;
