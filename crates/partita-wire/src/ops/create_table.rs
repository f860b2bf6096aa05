//! CreateTable.

use bytes::Bytes;
use partita_store::index::IndexKind;
use partita_store::request::{CreateTable, TableDescription};
use partita_store::settings::{Billing, TableSettings, Throughput};
use partita_store::table::TableSchema;
use serde::{Deserialize, Serialize};

use super::Context;
use super::schema::billing::{BillingMode, Units};
use super::schema::indexes::{self, IndexInput, NamedIndexes};
use super::schema::keys::{self, Definition, KeyElement};
use super::schema::stream::StreamSpecification;
use super::table::Described;
use super::tags::{self, Tag};
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters::{self, Unread};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    attribute_definitions: Option<Vec<Definition>>,
    table_name: Option<String>,
    key_schema: Option<Vec<KeyElement>>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Units>,
    deletion_protection_enabled: Option<bool>,
    local_secondary_indexes: Option<Vec<IndexInput>>,
    global_secondary_indexes: Option<Vec<IndexInput>>,
    stream_specification: Option<StreamSpecification>,
    tags: Option<Vec<Tag>>,
    resource_policy: Unread,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    table_description: Described,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    let description = context.store.create_table(request).await?;
    Ok(encode(description))
}

fn encode(description: TableDescription) -> Bytes {
    json::write(&Output {
        table_description: description.into(),
    })
}

fn decode(body: &[u8]) -> Result<CreateTable, Refusal> {
    let input: Input = json::read(body)?;
    let Some(name) = &input.table_name else {
        return Err(Refusal::validation(messages::NO_TABLE_NAME));
    };
    let table = parameters::new_table("tableName", name)?;
    let (locals, globals) = (
        &input.local_secondary_indexes,
        &input.global_secondary_indexes,
    );
    let mut constraints = Constraints::default();
    let definitions = keys::definitions(&mut constraints, &input.attribute_definitions);
    let mode = constraints.choice("billingMode", &input.billing_mode);
    let units = input.provisioned_throughput.as_ref();
    let throughput = Units::check(&mut constraints, "provisionedThroughput", units);
    let keys = keys::elements(&mut constraints, "keySchema", &input.key_schema, 2);
    let locals = indexes::named(&mut constraints, IndexKind::Local, locals);
    let globals = indexes::named(&mut constraints, IndexKind::Global, globals);
    let stream = StreamSpecification::check(&mut constraints, input.stream_specification.as_ref());
    let definitions = definitions.as_deref();
    let (definitions, keys) = constraints.finish((definitions, keys))?;
    Units::check_bounds(units)?;
    let mode = mode.unwrap_or(BillingMode::Provisioned);
    let billing = billing(mode, throughput, globals.as_ref())?;
    let stream = stream
        .map(|stream| stream.resolve(messages::CREATED_WITHOUT_VIEW, messages::CREATED_WITH_VIEW));
    parameters::refuse(&[("ResourcePolicy", &input.resource_policy)])?;
    keys::check_once(definitions)?;
    let key = keys::table_key(definitions, &keys)?;
    let mut indexes = Vec::new();
    for named in [locals, globals].iter().flatten() {
        indexes.extend(indexes::schemas(named, definitions, &key, mode)?);
    }
    let schema = TableSchema { key, indexes };
    keys::check_used(definitions, &schema)?;
    let settings = TableSettings {
        billing,
        is_protected: input.deletion_protection_enabled.unwrap_or(false),
        stream: stream.transpose()?.flatten(),
    };
    Ok(CreateTable {
        settings,
        tags: tags::given(input.tags.unwrap_or_default())?,
        ..CreateTable::new(table, schema)
    })
}

fn billing(
    mode: BillingMode,
    table: Option<Throughput>,
    globals: Option<&NamedIndexes<'_>>,
) -> Result<Billing, Refusal> {
    match (mode, table) {
        (BillingMode::PayPerRequest, Some(_)) => Err(Refusal::validation(messages::NEITHER_UNIT)),
        (BillingMode::PayPerRequest, None) => Ok(Billing::OnDemand),
        (BillingMode::Provisioned, None) => Err(Refusal::validation(messages::BOTH_UNITS)),
        (BillingMode::Provisioned, Some(table)) => Ok(Billing::Provisioned {
            table,
            indexes: globals
                .into_iter()
                .flat_map(NamedIndexes::throughputs)
                .collect(),
        }),
    }
}
