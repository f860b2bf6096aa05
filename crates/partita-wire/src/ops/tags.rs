//! Tags, and the resources that have them.

use partita_store::StoreError;
use partita_store::request::Tags;
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use crate::constraints::Constraints;
use crate::messages;
use crate::refusal::{Fault, Refusal};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Tag {
    key: Option<String>,
    value: Option<String>,
}

/// Tags of a request, none twice. What a tag may be like is the store's to say.
pub(super) fn given(list: Vec<Tag>) -> Result<Tags, Refusal> {
    let mut tags = Tags::new();
    for Tag { key, value } in list {
        let key = key.ok_or(messages::NO_TAG_KEY);
        let key = key.map_err(Refusal::validation)?;
        let value = value.ok_or(messages::NO_TAG_VALUE);
        let value = value.map_err(Refusal::validation)?;
        if tags.contains_key(&key) {
            return Err(Refusal::validation(messages::duplicate_tag(&key)));
        }
        tags.insert(key, value);
    }
    Ok(tags)
}

/// Every tag of a table, in the order of their keys.
pub(super) fn listed(tags: Tags) -> Vec<Tag> {
    let tags = tags.into_iter().map(|(key, value)| Tag {
        key: Some(key),
        value: Some(value),
    });
    tags.collect()
}

/// The table that a request names by its ARN.
pub(super) fn resource(
    mut constraints: Constraints,
    arn: &Option<String>,
) -> Result<TableName, Refusal> {
    constraints.required("resourceArn", arn);
    let arn = constraints.finish(arn.as_deref())?;
    let refuse = |message: fn(&str) -> String| Err(Refusal::validation(message(arn)));
    let Some(rest) = arn.strip_prefix("arn:") else {
        return refuse(messages::no_arn);
    };
    let mut parts = rest.splitn(5, ':');
    let (_partition, service) = (parts.next(), parts.next());
    let (_region, _account, resource) = (parts.next(), parts.next(), parts.next());
    let (Some("dynamodb"), Some(resource)) = (service, resource) else {
        return refuse(messages::no_dynamodb_arn);
    };
    match resource.strip_prefix("table/") {
        Some(name) if !name.contains('/') => match name.parse() {
            Ok(table) => Ok(table),
            Err(_) => refuse(messages::invalid_table_arn),
        },
        _ => refuse(messages::no_table_arn),
    }
}

/// The service names the resource as the request did.
pub(super) fn refusal(error: StoreError, arn: &Option<String>) -> Refusal {
    match (error, arn) {
        (StoreError::TableNotFound { .. }, Some(arn)) => {
            Refusal::new(Fault::ResourceNotFound, messages::resource_not_found(arn))
        }
        (error, _) => error.into(),
    }
}
