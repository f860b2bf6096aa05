//! An operation in words, as `plan` and `can` take it.

use std::collections::BTreeMap;

use partita_core::{Map, plain};
use partita_design::Design;
use partita_design::design::ActionOn;
use partita_plan::{Caller, Operation, Partita};
use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value as Json, json};

use super::Failure;
use crate::problem::ACCOUNT_CLOSED;

/// An operation, and its caller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Question {
    /// create, read, update, upsert, delete, restore, purge, query, or the name of an action.
    pub operation: String,
    /// The entity and the parts of its identity, or a pattern and its parameters as NAME=VALUE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// Attributes of a write, or what an action takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<JsonMap<String, Json>>,
    /// The id of the caller; none for a caller without a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The role of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The groups that the caller is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

impl Question {
    /// Who would ask.
    pub fn caller(&self) -> Caller {
        Caller {
            id: self.caller.clone(),
            role: self.role.clone(),
            groups: self.groups.clone(),
        }
    }

    /// Why the API would not even look at what the caller asks for: where people have accounts, one
    /// who has none, or whose account is not active, may do nothing.
    pub(super) async fn closed(&self, partita: &Partita) -> Result<Option<&'static str>, Failure> {
        let Some(id) = self.caller.as_deref().filter(|_| partita.has_accounts()) else {
            return Ok(None);
        };
        let may_act = partita.may_act(id, None).await?;
        Ok((!may_act).then_some(ACCOUNT_CLOSED))
    }

    /// The operation that the words name.
    pub fn operation(&self, design: &Design) -> Result<Operation, Failure> {
        let word = self.operation.as_str();
        let takes_attributes = !matches!(word, "read" | "delete" | "restore" | "purge" | "query");
        if self.with.is_some() && !takes_attributes {
            return Err(Failure::new(format!(
                "`{word}` takes no attributes: leave out --with"
            )));
        }
        if word == "query" {
            return self.query();
        }
        let (entity, identity) = self.item(design)?;
        let given = self.given()?;
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
                attributes: identified(design, &name, &identity, given)?,
                entity: name,
                identity,
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
            "purge" => Operation::Purge {
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

    /// The item that the operation is for; none for an action that finds its items itself.
    fn item(&self, design: &Design) -> Result<(Option<String>, Vec<String>), Failure> {
        let word = self.operation.as_str();
        let finds_items = match word {
            "create" | "read" | "update" | "upsert" | "delete" | "restore" | "purge" => false,
            name => {
                let action = design.find_action(name);
                let action = action.ok_or_else(|| unknown(design, name))?;
                !matches!(action.on, ActionOn::Items(_))
            }
        };
        match (self.on.split_first(), finds_items) {
            (None, true) => Ok((None, Vec::new())),
            (Some(_), true) => Err(Failure::new(format!(
                "`{word}` finds its items itself: give what it takes with --with"
            ))),
            (None, false) => Err(Failure::new(format!(
                "name the entity that `{word}` is for, and the parts of its key"
            ))),
            (Some((entity, identity)), false) => Ok((Some(entity.clone()), identity.to_vec())),
        }
    }

    fn query(&self) -> Result<Operation, Failure> {
        let (pattern, parameters) = self
            .on
            .split_first()
            .ok_or_else(|| Failure::new("name the pattern, and its parameters as NAME=VALUE"))?;
        let parameters = parameters.iter().map(|text| {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                Failure::new(format!("write the parameter `{text}` as NAME=VALUE"))
            })?;
            Ok((name.to_owned(), value.to_owned()))
        });
        Ok(Operation::Query {
            pattern: pattern.clone(),
            parameters: parameters.collect::<Result<BTreeMap<_, _>, Failure>>()?,
            limit: None,
            cursor: None,
        })
    }

    fn given(&self) -> Result<Map, Failure> {
        let given = self.with.clone().unwrap_or_default();
        plain::map_from_json(given).map_err(|error| Failure::of(&error))
    }

    /// A question for documents.
    pub(super) fn example() -> Question {
        Question {
            operation: "delete".to_owned(),
            on: vec!["Story".to_owned(), "1".to_owned()],
            caller: Some("ann".to_owned()),
            ..Question::default()
        }
    }

    /// The JSON schema of a question.
    pub(super) fn schema() -> Json {
        let text = || json!({ "type": "string" });
        let texts = || json!({ "type": "array", "items": { "type": "string" } });
        json!({
            "type": "object",
            "required": ["operation"],
            "additionalProperties": false,
            "properties": {
                "operation": {
                    "type": "string",
                    "description": "create, read, update, upsert, delete, restore, purge, query, or the name of an action",
                },
                "on": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The entity and the parts of its identity, or a pattern and its parameters as NAME=VALUE",
                },
                "with": { "type": "object", "description": "Attributes, or what an action takes" },
                "caller": text(),
                "role": text(),
                "groups": texts(),
            },
        })
    }
}

fn unknown(design: &Design, name: &str) -> Failure {
    let actions = design.actions.iter().map(|action| action.name.as_str());
    let words = [
        "create", "read", "update", "upsert", "delete", "restore", "purge", "query",
    ];
    let known: Vec<&str> = words.into_iter().chain(actions).collect();
    Failure::new(format!(
        "there is no operation `{name}`; there are: {}",
        known.join(", ")
    ))
}

/// A new item's attributes, with the parts of its identity that were given as such.
fn identified(
    design: &Design,
    entity: &str,
    identity: &[String],
    given: Map,
) -> Result<Map, Failure> {
    let mut attributes = given;
    let record = design.find_entity(entity);
    let parts = record.map_or(&[][..], |record| &record.identity);
    if identity.len() > parts.len() {
        return Err(Failure::new(format!(
            "the identity of `{entity}` has {} parts",
            parts.len()
        )));
    }
    for (part, text) in parts.iter().zip(identity) {
        let attribute = record.and_then(|record| record.attribute(&part.attribute));
        let value = match attribute {
            Some(attribute) => attribute
                .kind
                .from_text(text)
                .map_err(|expected| Failure::new(format!("`{}` must be {expected}", part.name)))?,
            None => text.as_str().into(),
        };
        let given = [&part.attribute, &part.name].map(|name| attributes.get(name));
        if given.into_iter().flatten().any(|given| *given != value) {
            let detail = format!(
                "`{}` is `{text}` behind `{entity}`, and another one in --with",
                part.name
            );
            return Err(Failure::new(detail));
        }
        attributes.insert(part.attribute.as_str(), value);
        if part.name != part.attribute {
            attributes.remove(&part.name);
        }
    }
    Ok(attributes)
}
