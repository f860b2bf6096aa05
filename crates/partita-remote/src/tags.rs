//! Tags of tables.

use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata as _};
use aws_sdk_dynamodb::types::Tag;
use partita_store::request::Tags;
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::error::{Call, send};
use crate::tables;

/// Tags in the SDK's words; none at all are left out.
pub(crate) fn to_tags(tags: Tags) -> Result<Option<Vec<Tag>>, BuildError> {
    let tag = |(key, value)| Tag::builder().key(key).value(value).build();
    let tags: Vec<Tag> = tags.into_iter().map(tag).collect::<Result<_, _>>()?;
    Ok((!tags.is_empty()).then_some(tags))
}

/// Adds tags to a table, or replaces the values of those that it has.
pub(crate) async fn tag_resource(
    clients: &Clients,
    table: &TableName,
    tags: Tags,
) -> StoreResult<()> {
    let tags = to_tags(tags).map_err(|error| StoreError::validation(error.to_string()))?;
    let arn = arn(clients, table).await?;
    let call = Call::write(table);
    let tagged = clients.writes.tag_resource().resource_arn(arn);
    send!(call, tagged.set_tags(tags)).map_err(|error| call.error(&error))?;
    Ok(())
}

/// Takes the tags of these keys off a table, as far as it has them.
pub(crate) async fn untag_resource(
    clients: &Clients,
    table: &TableName,
    keys: Vec<String>,
) -> StoreResult<()> {
    let arn = arn(clients, table).await?;
    let call = Call::write(table);
    let untagged = clients.writes.untag_resource().resource_arn(arn);
    send!(call, untagged.set_tag_keys(Some(keys))).map_err(|error| call.error(&error))?;
    Ok(())
}

/// The tags of a table, from all pages.
pub(crate) async fn list_tags_of_resource(
    clients: &Clients,
    table: &TableName,
) -> StoreResult<Tags> {
    let arn = arn(clients, table).await?;
    let mut tags = Tags::new();
    let mut next = None;
    loop {
        let call = Call::read(table);
        let listed = clients.reads.list_tags_of_resource().resource_arn(&arn);
        let page = send!(call, listed.set_next_token(next));
        let page = match page {
            // DynamoDB Local knows no tags, so its tables have none.
            Err(error) if error.code() == Some("UnknownOperationException") => return Ok(tags),
            page => page.map_err(|error| call.error(&error))?,
        };
        let found = page.tags.unwrap_or_default().into_iter();
        tags.extend(found.map(|tag| (tag.key, tag.value)));
        next = page.next_token;
        if next.is_none() {
            return Ok(tags);
        }
    }
}

/// The name by which AWS knows a table everywhere.
async fn arn(clients: &Clients, table: &TableName) -> StoreResult<String> {
    let described = tables::describe(clients, table).await?;
    described.table_arn.ok_or_else(|| StoreError::Unavailable {
        message: format!("the description of `{table}` has no ARN"),
    })
}
