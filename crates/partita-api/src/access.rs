//! Who may do what, worked out from the rules of a design: the access matrix.
//!
//! Six callers are held against every route. A rule speaks of the item, of the caller, or of both;
//! what it says of each of the six is worked out as far as it goes without an item, and what is left
//! is a condition on the item:
//!
//! | rule | no token | stranger | owner | administrator |
//! |---|---|---|---|---|
//! | `authorId = caller` | no | no | yes | no |
//! | `status <> 'DRAFT' OR authorId = caller` | if `status <> 'DRAFT'` | the same | yes | the same |
//!
//! *Owner* is whoever the rule compares `caller` with: the author, say, or one of the participants.
//! The *administrator* has the role and the group `admin`, and is a stranger otherwise. A token that
//! has expired or is forged opens nothing, not even what is open to everybody: whoever sends one is
//! told.

mod narrow;
mod page;
mod print;

use partita_design::Design;
use partita_design::design::{Access, ActionOn, Pattern, RecordId, Rule};
use partita_plan::files::write_rule;

use crate::admin::Allowed;
use crate::auth::{self, AuthRequest};
use crate::routes::{Route, Routes, Target, Verb};
use narrow::narrow;
pub use page::page;

/// Somebody who sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persona {
    /// Without a token.
    Nobody,
    /// With a good token, and nothing to do with the item.
    Stranger,
    /// With a token whose time is over.
    Expired,
    /// With a token that somebody else has signed.
    Forged,
    /// With a good token: the one that the item names.
    Owner,
    /// With a good token, the role `admin` and the group `admin`.
    Admin,
}

impl Persona {
    /// All of them, in the order of the matrix.
    pub const ALL: [Persona; 6] = [
        Persona::Nobody,
        Persona::Stranger,
        Persona::Expired,
        Persona::Forged,
        Persona::Owner,
        Persona::Admin,
    ];

    /// What the matrix calls them.
    pub fn word(self) -> &'static str {
        match self {
            Persona::Nobody => "no token",
            Persona::Stranger => "stranger",
            Persona::Expired => "expired token",
            Persona::Forged => "forged token",
            Persona::Owner => "owner",
            Persona::Admin => "administrator",
        }
    }
}

/// What a caller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rules let the request pass.
    Yes,
    /// They do not.
    No,
    /// They do, for items of which this holds.
    If(String),
}

impl Outcome {
    /// The outcome as the matrix has it.
    pub fn words(&self) -> String {
        match self {
            Outcome::Yes => "yes".to_owned(),
            Outcome::No => "no".to_owned(),
            Outcome::If(condition) => format!("if {condition}"),
        }
    }
}

/// One route, and what each caller is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'r> {
    /// The route.
    pub route: &'r Route,
    /// The rules that decide, as the design has them.
    pub rules: Vec<String>,
    /// What each of [`Persona::ALL`] is told.
    pub outcomes: [Outcome; 6],
}

impl Row<'_> {
    /// What a caller is told.
    pub fn outcome(&self, persona: Persona) -> &Outcome {
        &self.outcomes[persona as usize]
    }

    /// Whether nobody at all may do this.
    pub fn is_closed(&self) -> bool {
        self.rules.iter().all(|rule| rule == Rule::Never.text()) && !self.rules.is_empty()
    }
}

/// The matrix of a design: a row for every route.
pub fn matrix<'r>(design: &Design, routes: &'r Routes) -> Vec<Row<'r>> {
    routes.iter().map(|route| row(design, route)).collect()
}

/// Whether nobody at all may do this with an item.
pub(crate) fn is_closed(design: &Design, verb: Verb) -> bool {
    let ways = match verb {
        Verb::Upsert(entity) => upserting(design, entity).concat(),
        verb => ways(design, verb),
    };
    let mut rules = ways.iter().flatten().peekable();
    rules.peek().is_some() && rules.all(|rule| **rule == Rule::Never)
}

/// What every caller is told who sends this request.
pub fn row<'r>(design: &Design, route: &'r Route) -> Row<'r> {
    let ways = match &route.target {
        Target::Operation(Verb::Upsert(entity)) => return upsert(design, route, *entity),
        Target::Operation(verb) => ways(design, *verb),
        Target::Batch => return batch(route),
        Target::Auth(request) => return accounts(design, route, *request),
        Target::AskUpload { prefix } => return upload(design, route, prefix),
        Target::SendFile => return signed(route, "a signed URL", ""),
        Target::ReadFile => {
            let rule = "that of the item that names the file, or of its prefix";
            return signed(route, rule, "the file may be read, or ");
        }
        Target::Document | Target::Page => vec![vec![&Rule::Public]],
        Target::AdminDocument => vec![vec![&design.callers.administrators]],
        // Commands tell of items that rules may hide.
        Target::Admin(command) => match command.allowed {
            Allowed::Administrators => vec![vec![&design.callers.administrators]],
            Allowed::Operator => return operators(route),
        },
    };
    Row {
        route,
        rules: texts(ways.iter().flatten().copied()),
        outcomes: Persona::ALL.map(|persona| outcome(design, &ways, persona)),
    }
}

/// Creating decides where nothing is, and changing where something is. Nothing is created where a
/// part of the identity is computed.
fn upsert<'r>(design: &Design, route: &'r Route, entity: RecordId) -> Row<'r> {
    let [create, update] = upserting(design, entity);
    let outcomes = Persona::ALL.map(|persona| {
        match (
            outcome(design, &create, persona),
            outcome(design, &update, persona),
        ) {
            (new, there) if new == there => new,
            (new, there) => Outcome::If(format!(
                "{} to create it, {} to change it",
                new.words(),
                there.words()
            )),
        }
    });
    Row {
        route,
        rules: texts(create.iter().chain(&update).flatten().copied()),
        outcomes,
    }
}

/// What decides where nothing is, and where something is.
fn upserting(design: &Design, entity: RecordId) -> [Ways<'_>; 2] {
    let update = ways(design, Verb::Update(entity));
    let create = if design[entity].takes_identity() {
        ways(design, Verb::Create(entity))
    } else {
        update.clone()
    };
    [create, update]
}

/// Requests about accounts are for everybody, or for everybody who is signed in, about their own.
fn accounts<'r>(design: &Design, route: &'r Route, request: AuthRequest) -> Row<'r> {
    let mut rows = auth::rows(design).into_iter();
    let is_signed_in = rows.any(|row| row.request == request && row.is_signed_in);
    let rule = if is_signed_in {
        Rule::SignedIn
    } else {
        Rule::Public
    };
    Row {
        route,
        rules: texts(std::iter::once(&rule)),
        outcomes: Persona::ALL.map(|persona| outcome(design, &vec![vec![&rule]], persona)),
    }
}

/// Each operation of a batch is decided by itself.
fn batch(route: &Route) -> Row<'_> {
    depends(
        route,
        "that of each operation",
        "every operation is allowed",
    )
}

/// A prefix says who may upload to it, or the items do that name its files.
fn upload<'r>(design: &Design, route: &'r Route, prefix: &str) -> Row<'r> {
    let mut prefixes = design.buckets.iter().flat_map(|bucket| &bucket.prefixes);
    let prefix = prefixes.find(|one| one.name == prefix);
    let rule = prefix.map_or(Rule::Never, |prefix| write_rule(design, prefix));
    Row {
        route,
        rules: texts(std::iter::once(&rule)),
        outcomes: Persona::ALL.map(|persona| outcome(design, &vec![vec![&rule]], persona)),
    }
}

/// Whoever has a signed URL may use it without a token; with a token, only the one that it was made
/// for.
fn signed<'r>(route: &'r Route, rule: &str, otherwise: &str) -> Row<'r> {
    let mut row = depends(
        route,
        rule,
        &format!("{otherwise}the URL is signed for it and this caller"),
    );
    row.outcomes[Persona::Nobody as usize] =
        Outcome::If(format!("{otherwise}the URL is signed for it"));
    row
}

/// No token of a user opens what reaches past the rules of the design.
fn operators(route: &Route) -> Row<'_> {
    Row {
        route,
        rules: vec!["the operator of the installation".to_owned()],
        outcomes: [const { Outcome::No }; Persona::ALL.len()],
    }
}

/// What is decided by something that is no rule of the design, the same for everybody.
fn depends<'r>(route: &'r Route, rule: &str, condition: &str) -> Row<'r> {
    Row {
        route,
        rules: vec![rule.to_owned()],
        outcomes: Persona::ALL.map(|persona| match persona {
            Persona::Expired | Persona::Forged => Outcome::No,
            _ => Outcome::If(condition.to_owned()),
        }),
    }
}

/// The rules as the design has them, each once.
fn texts<'d>(rules: impl Iterator<Item = &'d Rule>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for rule in rules {
        if !texts.iter().any(|known| known == rule.text()) {
            texts.push(rule.text().to_owned());
        }
    }
    texts
}

/// The rules of which one set must allow a request, each of the set.
type Ways<'d> = Vec<Vec<&'d Rule>>;

fn outcome(design: &Design, ways: &Ways<'_>, persona: Persona) -> Outcome {
    if matches!(persona, Persona::Expired | Persona::Forged) {
        return Outcome::No;
    }
    narrow::outcome(ways.iter().map(|rules| {
        rules
            .iter()
            .map(|rule| narrow(design, rule, persona))
            .collect()
    }))
}

fn ways<'d>(design: &'d Design, verb: Verb) -> Ways<'d> {
    let may = |entity: RecordId, access: Access| vec![vec![design[entity].rules.get(access)]];
    match verb {
        Verb::Create(entity) => may(entity, Access::Create),
        Verb::Get(entity) => may(entity, Access::Read),
        Verb::Update(entity) => may(entity, Access::Update),
        // One of the two decides; `upsert` asks for them one by one.
        Verb::Upsert(_) => Vec::new(),
        Verb::Delete(entity) => may(entity, Access::Delete),
        Verb::Restore(entity) => may(entity, Access::Restore),
        Verb::Purge(entity) => may(entity, Access::Purge),
        Verb::Act { action, on } => {
            let found = match &design[action].on {
                ActionOn::Items(_) => None,
                ActionOn::Found { record, .. } => Some(*record),
                ActionOn::Every(application) => Some(application.record),
            };
            let record = on.or(found);
            let rule = record.map(|record| design[record].rules.action(action));
            vec![rule.into_iter().collect()]
        }
        Verb::Query(pattern) => of_pattern(design, &design[pattern]),
    }
}

/// A row is shown to whoever may read it; where rows are followed, to whoever may read the target,
/// and the row as well unless it is a view's, which says no more than its source.
fn of_pattern<'d>(design: &'d Design, pattern: &'d Pattern) -> Ways<'d> {
    let read = |record: RecordId| design[record].rules.get(Access::Read);
    let mut ways = Vec::new();
    for row in &pattern.returns {
        let record = &design[*row];
        // Those who may not find a row by the pattern do not get it, whatever they may read.
        let found = pattern.rule(*row);
        let Some(reference) = pattern.followed(record) else {
            ways.push(found.into_iter().chain([read(*row)]).collect());
            continue;
        };
        for target in reference.records() {
            let mut way = vec![read(target)];
            way.extend(found);
            if record.is_entity() {
                way.insert(0, read(*row));
            }
            ways.push(way);
        }
    }
    ways
}

#[cfg(test)]
mod tests;
