//! Keys and indexes in the SDK's words and back.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    self, AttributeDefinition, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndex, IndexStatus,
    KeySchemaElement, LocalSecondaryIndex, ProjectionType, ProvisionedThroughput,
};
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::table::{KeyAttribute, KeySchema, TableSchema};

use crate::convert::{from_scalar_type, to_scalar_type};

/// What is provisioned of indexes, by their names; nothing of a table that is billed by request.
pub(crate) type IndexThroughput = BTreeMap<String, ProvisionedThroughput>;

/// A schema in the form of CreateTable.
#[derive(Default)]
pub(crate) struct TableDefinition {
    pub(crate) attributes: Vec<AttributeDefinition>,
    pub(crate) key: Vec<KeySchemaElement>,
    /// DynamoDB refuses either list if it is there and empty.
    pub(crate) global: Option<Vec<GlobalSecondaryIndex>>,
    pub(crate) local: Option<Vec<LocalSecondaryIndex>>,
}

impl TableDefinition {
    pub(crate) fn of(
        schema: &TableSchema,
        throughput: &IndexThroughput,
    ) -> Result<Self, BuildError> {
        let TableSchema { key, indexes } = schema;
        let mut definition = TableDefinition {
            attributes: definitions(key.attributes().chain(of_indexes(indexes)))?,
            key: elements(std::slice::from_ref(&key.partition), key.sort.as_slice())?,
            ..TableDefinition::default()
        };
        for index in indexes {
            let key = Some(elements(&index.partition, &index.sort)?);
            let projection = to_projection(&index.projection);
            match index.kind {
                IndexKind::Global => {
                    let built = GlobalSecondaryIndex::builder()
                        .index_name(&index.name)
                        .set_key_schema(key)
                        .projection(projection)
                        .set_provisioned_throughput(throughput.get(&index.name).cloned())
                        .build()?;
                    definition.global.get_or_insert_default().push(built);
                }
                IndexKind::Local => {
                    let built = LocalSecondaryIndex::builder().index_name(&index.name);
                    let built = built.set_key_schema(key).projection(projection).build()?;
                    definition.local.get_or_insert_default().push(built);
                }
            }
        }
        Ok(definition)
    }
}

fn of_indexes(indexes: &[IndexSchema]) -> impl Iterator<Item = &KeyAttribute> {
    indexes.iter().flat_map(IndexSchema::attributes)
}

/// A new index in the form of UpdateTable: its key attributes, and itself.
pub(crate) fn creation(
    index: &IndexSchema,
    throughput: Option<ProvisionedThroughput>,
) -> Result<(Vec<AttributeDefinition>, CreateGlobalSecondaryIndexAction), BuildError> {
    let action = CreateGlobalSecondaryIndexAction::builder()
        .index_name(&index.name)
        .set_key_schema(Some(elements(&index.partition, &index.sort)?))
        .projection(to_projection(&index.projection))
        .set_provisioned_throughput(throughput)
        .build()?;
    Ok((definitions(index.attributes())?, action))
}

/// Every key attribute once, whatever it is a key of; if it has two types, the service refuses it.
fn definitions<'a>(
    attributes: impl Iterator<Item = &'a KeyAttribute>,
) -> Result<Vec<AttributeDefinition>, BuildError> {
    let mut distinct: Vec<&KeyAttribute> = Vec::new();
    for attribute in attributes {
        if !distinct.contains(&attribute) {
            distinct.push(attribute);
        }
    }
    let definition = |attribute: &KeyAttribute| {
        AttributeDefinition::builder()
            .attribute_name(&attribute.name)
            .attribute_type(to_scalar_type(attribute.kind))
            .build()
    };
    distinct.into_iter().map(definition).collect()
}

fn elements(
    partition: &[KeyAttribute],
    sort: &[KeyAttribute],
) -> Result<Vec<KeySchemaElement>, BuildError> {
    let element = |attribute: &KeyAttribute, role| {
        KeySchemaElement::builder()
            .attribute_name(&attribute.name)
            .key_type(role)
            .build()
    };
    let partition = partition
        .iter()
        .map(|key| element(key, types::KeyType::Hash));
    let sort = sort.iter().map(|key| element(key, types::KeyType::Range));
    partition.chain(sort).collect()
}

fn to_projection(projection: &IndexProjection) -> types::Projection {
    let builder = types::Projection::builder();
    match projection {
        IndexProjection::All => builder.projection_type(ProjectionType::All),
        IndexProjection::KeysOnly => builder.projection_type(ProjectionType::KeysOnly),
        IndexProjection::Include(names) => builder
            .projection_type(ProjectionType::Include)
            .set_non_key_attributes(Some(names.clone())),
    }
    .build()
}

/// The schema of a table, or why this release cannot use it.
pub(crate) fn schema_of(described: &types::TableDescription) -> Result<TableSchema, String> {
    let definitions = described.attribute_definitions();
    let (partition, sort) = keys(definitions, described.key_schema())?;
    let mut partition = partition.into_iter();
    let key = match (partition.next(), partition.next(), sort.as_slice()) {
        (Some(partition), None, [] | [_]) => KeySchema {
            partition,
            sort: sort.into_iter().next(),
        },
        _ => return Err("its key does not consist of one or two attributes".to_owned()),
    };
    let mut indexes = Vec::new();
    // An index that is being deleted is still described, perhaps without the types of its keys.
    let is_there = |status: Option<&IndexStatus>| status != Some(&IndexStatus::Deleting);
    let global = described.global_secondary_indexes().iter();
    for index in global.filter(|index| is_there(index.index_status())) {
        let parts = (index.index_name(), index.key_schema(), index.projection());
        indexes.push(index_of(definitions, IndexKind::Global, parts)?);
    }
    for index in described.local_secondary_indexes() {
        let parts = (index.index_name(), index.key_schema(), index.projection());
        indexes.push(index_of(definitions, IndexKind::Local, parts)?);
    }
    Ok(TableSchema { key, indexes })
}

/// The two kinds of indexes are different types in the SDK, with the same parts.
type IndexParts<'a> = (
    Option<&'a str>,
    &'a [KeySchemaElement],
    Option<&'a types::Projection>,
);

fn index_of(
    definitions: &[AttributeDefinition],
    kind: IndexKind,
    (name, elements, projection): IndexParts<'_>,
) -> Result<IndexSchema, String> {
    let name = name.ok_or("one of its indexes has no name")?;
    let (partition, sort) = keys(definitions, elements)?;
    let projection = projection
        .and_then(from_projection)
        .ok_or_else(|| format!("its index `{name}` has a projection of an unknown type"))?;
    Ok(IndexSchema {
        name: name.to_owned(),
        kind,
        partition,
        sort,
        projection,
    })
}

fn from_projection(projection: &types::Projection) -> Option<IndexProjection> {
    match projection.projection_type()? {
        ProjectionType::All => Some(IndexProjection::All),
        ProjectionType::KeysOnly => Some(IndexProjection::KeysOnly),
        ProjectionType::Include => {
            let names = projection.non_key_attributes().to_vec();
            Some(IndexProjection::Include(names))
        }
        _ => None,
    }
}

/// The attributes of a key: those of its partition, and those of its sort key.
type KeyAttributes = (Vec<KeyAttribute>, Vec<KeyAttribute>);

fn keys(
    definitions: &[AttributeDefinition],
    elements: &[KeySchemaElement],
) -> Result<KeyAttributes, String> {
    let mut keys = KeyAttributes::default();
    for element in elements {
        let name = element.attribute_name();
        let mut definitions = definitions.iter();
        let definition = definitions.find(|definition| definition.attribute_name() == name);
        let kind = definition.and_then(|found| from_scalar_type(found.attribute_type()));
        let kind = kind.ok_or_else(|| format!("its key `{name}` is of an unknown type"))?;
        let name = name.to_owned();
        match element.key_type() {
            types::KeyType::Hash => keys.0.push(KeyAttribute { name, kind }),
            types::KeyType::Range => keys.1.push(KeyAttribute { name, kind }),
            _ => return Err(format!("its key `{name}` has an unknown role")),
        }
    }
    Ok(keys)
}
