//! Creating and describing tables.

use std::time::Duration;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    self, AttributeDefinition, BillingMode, KeySchemaElement, TableStatus,
};
use partita_store::request::{CreateTable, TableDescription};
use partita_store::table::{KeyAttribute, KeySchema, TableName};
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::convert::{from_scalar_type, to_scalar_type};
use crate::error::Call;

/// How often a new table is looked at until it can be used.
const POLL: Duration = Duration::from_millis(500);

/// Creates a table that is billed by request, and waits until it can be used.
pub(crate) async fn create_table(
    clients: &Clients,
    patience: Duration,
    request: CreateTable,
) -> StoreResult<TableDescription> {
    let CreateTable { table, schema } = request;
    let (definitions, elements) =
        keys(&schema).map_err(|error| StoreError::validation(error.to_string()))?;
    let call = Call::write(&table);
    let created = clients
        .writes
        .create_table()
        .table_name(table.as_str())
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(definitions))
        .set_key_schema(Some(elements))
        .customize()
        .interceptor(call.interceptor())
        .send()
        .await;
    let created = created.map_err(|error| match error.as_service_error() {
        Some(service) if service.is_resource_in_use_exception() => StoreError::TableExists {
            table: table.clone(),
        },
        _ => call.error(&error),
    })?;
    if created
        .table_description
        .is_some_and(|table| is_active(&table))
    {
        return Ok(TableDescription { table, schema });
    }
    match tokio::time::timeout(patience, until_active(clients, &table)).await {
        Ok(Ok(())) => Ok(TableDescription { table, schema }),
        // The table is being created, whatever becomes of our questions about it.
        Ok(Err(error)) => Err(StoreError::OutcomeUnknown {
            message: format!("the table `{table}` was accepted, then: {error}"),
        }),
        Err(_) => Err(StoreError::OutcomeUnknown {
            message: format!("the table `{table}` is still not active after {patience:?}"),
        }),
    }
}

async fn until_active(clients: &Clients, table: &TableName) -> StoreResult<()> {
    loop {
        match describe(clients, table).await {
            Ok(described) if is_active(&described) => return Ok(()),
            // A table that was just accepted may not be known everywhere yet.
            Ok(_) | Err(StoreError::TableNotFound { .. }) => tokio::time::sleep(POLL).await,
            Err(error) => return Err(error),
        }
    }
}

fn is_active(table: &types::TableDescription) -> bool {
    table.table_status() == Some(&TableStatus::Active)
}

/// Describes a table.
pub(crate) async fn describe_table(
    clients: &Clients,
    table: &TableName,
) -> StoreResult<TableDescription> {
    let described = describe(clients, table).await?;
    Ok(TableDescription {
        table: table.clone(),
        schema: schema_of(table, &described)?,
    })
}

/// The first of the tables that does not exist. A request over several tables is refused
/// without a word about which of them is missing.
pub(crate) async fn first_missing<'a>(
    clients: &Clients,
    tables: impl IntoIterator<Item = &'a TableName>,
) -> Option<TableName> {
    for table in tables {
        if let Err(StoreError::TableNotFound { table }) = describe(clients, table).await {
            return Some(table);
        }
    }
    None
}

async fn describe(clients: &Clients, table: &TableName) -> StoreResult<types::TableDescription> {
    let call = Call::read(table);
    let answer = clients
        .reads
        .describe_table()
        .table_name(table.as_str())
        .customize()
        .interceptor(call.interceptor())
        .send()
        .await
        .map_err(|error| call.error(&error))?;
    answer.table.ok_or_else(|| StoreError::Unavailable {
        message: format!("the description of `{table}` is empty"),
    })
}

type Keys = (Vec<AttributeDefinition>, Vec<KeySchemaElement>);

fn keys(schema: &KeySchema) -> Result<Keys, BuildError> {
    let roles = [types::KeyType::Hash, types::KeyType::Range];
    let mut keys = Keys::default();
    for (attribute, role) in schema.attributes().zip(roles) {
        let definition = AttributeDefinition::builder()
            .attribute_name(&attribute.name)
            .attribute_type(to_scalar_type(attribute.kind));
        let element = KeySchemaElement::builder()
            .attribute_name(&attribute.name)
            .key_type(role);
        keys.0.push(definition.build()?);
        keys.1.push(element.build()?);
    }
    Ok(keys)
}

fn schema_of(table: &TableName, described: &types::TableDescription) -> StoreResult<KeySchema> {
    let attribute = |role: types::KeyType| {
        let mut elements = described.key_schema().iter();
        let element = elements.find(|element| *element.key_type() == role)?;
        let name = element.attribute_name();
        let mut definitions = described.attribute_definitions().iter();
        let kind = definitions
            .find(|definition| definition.attribute_name() == name)
            .and_then(|definition| from_scalar_type(definition.attribute_type()));
        Some(match kind {
            Some(kind) => Ok(KeyAttribute {
                name: name.to_owned(),
                kind,
            }),
            None => Err(unusable(
                table,
                &format!("its key `{name}` is of an unknown type"),
            )),
        })
    };
    let partition = attribute(types::KeyType::Hash)
        .unwrap_or_else(|| Err(unusable(table, "it has no partition key")))?;
    let sort = attribute(types::KeyType::Range).transpose()?;
    Ok(KeySchema { partition, sort })
}

fn unusable(table: &TableName, reason: &str) -> StoreError {
    StoreError::Unavailable {
        message: format!("the table `{table}` cannot be used by this release: {reason}"),
    }
}
