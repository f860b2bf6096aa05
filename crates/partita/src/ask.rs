//! An operation as it stands on the command line, and the store that it is asked of.

use std::collections::BTreeMap;
use std::io::Read as _;

use anyhow::{Context as _, Result, anyhow, bail};
use partita_core::{Map, plain};
use partita_design::Design;
use partita_design::design::ActionOn;
use partita_plan::{Caller, Operation, Partita, Surroundings};

use crate::cli::{AskFlags, StoreFlags};
use crate::source::Source;

/// What is asked, of a design on its store, and by whom.
pub(crate) struct Question {
    /// What the file of the design is called.
    pub(crate) file: String,
    pub(crate) partita: Partita,
    pub(crate) caller: Caller,
    pub(crate) operation: Operation,
}

impl Question {
    /// Reads the question and opens the store. Nothing is written to it, and no table is created.
    pub(crate) async fn read(flags: &AskFlags) -> Result<Question> {
        let source = Source::find(&flags.design)?;
        let design = source.compile(&flags.variables)?;
        let operation = operation(&design, flags)?;
        Ok(Question {
            file: source.name,
            partita: open(flags, design).await?,
            caller: Caller {
                id: flags.caller.clone(),
                role: flags.role.clone(),
                groups: flags.group.clone(),
            },
            operation,
        })
    }
}

async fn open(flags: &AskFlags, design: Design) -> Result<Partita> {
    let surroundings = Surroundings::default();
    if flags.place.is_new(&flags.data) {
        let store = StoreFlags::empty();
        return Ok(Partita::open_with(design, store, surroundings).await?);
    }
    let store = flags.place.look(&flags.data).await?;
    Ok(Partita::inspect(design, store, surroundings).await?)
}

/// The operation that words and attributes name.
fn operation(design: &Design, flags: &AskFlags) -> Result<Operation> {
    let word = flags.operation.as_str();
    let takes_attributes = !matches!(word, "read" | "delete" | "restore" | "query");
    if flags.with.is_some() && !takes_attributes {
        bail!("`{word}` takes no attributes: leave out --with");
    }
    let given = given(flags)?;
    if word == "query" {
        return query(flags);
    }
    let found_itself = match word {
        "create" | "read" | "update" | "upsert" | "delete" | "restore" => false,
        name => {
            let action = design
                .find_action(name)
                .ok_or_else(|| unknown(design, name))?;
            !matches!(action.on, ActionOn::Items(_))
        }
    };
    let (entity, identity) = match (flags.on.split_first(), found_itself) {
        (None, true) => (None, Vec::new()),
        (Some(_), true) => {
            bail!("`{word}` finds its items itself: give what it takes with --with")
        }
        (None, false) => bail!("name the entity that `{word}` is for, and the parts of its key"),
        (Some((entity, identity)), false) => (Some(entity.clone()), identity.to_vec()),
    };
    let name = entity.clone().unwrap_or_default();
    Ok(match word {
        "create" => Operation::Create {
            attributes: identified(design, &name, &identity, given)?,
            entity: name,
        },
        "read" => Operation::Get {
            entity: name,
            identity,
            with_deleted: false,
        },
        "update" => Operation::Update {
            entity: name,
            identity,
            changes: given,
            with_deleted: false,
            version: None,
        },
        "upsert" => Operation::Upsert {
            entity: name,
            identity,
            attributes: given,
            version: None,
        },
        "delete" => Operation::Delete {
            entity: name,
            identity,
            version: None,
        },
        "restore" => Operation::Restore {
            entity: name,
            identity,
            version: None,
        },
        action => Operation::Act {
            action: action.to_owned(),
            entity,
            identity,
            given,
            version: None,
        },
    })
}

fn unknown(design: &Design, name: &str) -> anyhow::Error {
    let actions = design.actions.iter().map(|action| action.name.as_str());
    let words = [
        "create", "read", "update", "upsert", "delete", "restore", "query",
    ];
    let known: Vec<&str> = words.into_iter().chain(actions).collect();
    anyhow!(
        "there is no operation `{name}`; there are: {}",
        known.join(", ")
    )
}

fn query(flags: &AskFlags) -> Result<Operation> {
    let (pattern, parameters) = flags
        .on
        .split_first()
        .context("name the pattern, and its parameters as NAME=VALUE")?;
    let parameters = parameters.iter().map(|text| {
        let (name, value) = text
            .split_once('=')
            .with_context(|| format!("write the parameter `{text}` as NAME=VALUE"))?;
        anyhow::Ok((name.to_owned(), value.to_owned()))
    });
    Ok(Operation::Query {
        pattern: pattern.clone(),
        parameters: parameters.collect::<Result<BTreeMap<_, _>>>()?,
        limit: None,
        cursor: None,
    })
}

/// The attributes on the command line or on standard input.
fn given(flags: &AskFlags) -> Result<Map> {
    let text = match flags.with.as_deref() {
        None => return Ok(Map::new()),
        Some("-") => {
            let mut input = String::new();
            std::io::stdin().read_to_string(&mut input)?;
            input
        }
        Some(text) => text.to_owned(),
    };
    let attributes =
        serde_json::from_str(&text).context("--with must be a JSON object of attributes")?;
    Ok(plain::map_from_json(attributes)?)
}

/// A new item's attributes, with the parts of its identity that were given as such.
fn identified(design: &Design, entity: &str, identity: &[String], given: Map) -> Result<Map> {
    let mut attributes = given;
    let parts = design
        .find_entity(entity)
        .map_or(&[][..], |one| &one.identity);
    if identity.len() > parts.len() {
        bail!("the identity of `{entity}` has {} parts", parts.len());
    }
    for (part, text) in parts.iter().zip(identity) {
        let attribute = design
            .find_entity(entity)
            .and_then(|one| one.attribute(&part.attribute));
        let value = match attribute {
            Some(attribute) => attribute
                .kind
                .from_text(text)
                .map_err(|expected| anyhow!("`{}` must be {expected}", part.name))?,
            None => text.as_str().into(),
        };
        attributes.insert(part.attribute.as_str(), value);
    }
    Ok(attributes)
}
