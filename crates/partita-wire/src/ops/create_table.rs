//! CreateTable.
//!
//! | module | what it holds |
//! |---|---|
//! | `keys` | attribute definitions and key schemas, of the table and of indexes |
//! | `indexes` | secondary indexes |

mod indexes;
mod keys;

use bytes::Bytes;
use partita_store::index::IndexKind;
use partita_store::request::{CreateTable, TableDescription};
use partita_store::table::TableSchema;
use serde::{Deserialize, Serialize};

use self::indexes::Index;
use self::keys::{Definition, KeyElement};
use super::Context;
use super::table::Described;
use crate::constraints::{Choice, Constraints};
use crate::json;
use crate::messages;
use crate::parameters::{self, Unread};
use crate::refusal::Refusal;

/// SSESpecification, TableClass, OnDemandThroughput and WarmThroughput are not here: they say
/// how Amazon runs a table, and mean nothing where one machine does.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    attribute_definitions: Option<Vec<Definition>>,
    table_name: Option<String>,
    key_schema: Option<Vec<KeyElement>>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Throughput>,
    deletion_protection_enabled: Option<bool>,
    local_secondary_indexes: Option<Vec<Index>>,
    global_secondary_indexes: Option<Vec<Index>>,
    stream_specification: Unread,
    tags: Unread,
    resource_policy: Unread,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Throughput {
    read_capacity_units: Option<i64>,
    write_capacity_units: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    table_description: Described,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BillingMode {
    Provisioned,
    PayPerRequest,
}

impl Choice for BillingMode {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("PROVISIONED", BillingMode::Provisioned),
        ("PAY_PER_REQUEST", BillingMode::PayPerRequest),
    ];
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
    let billing = constraints.choice("billingMode", &input.billing_mode);
    let throughput = input.provisioned_throughput.as_ref();
    check_throughput(&mut constraints, "provisionedThroughput", throughput);
    let keys = keys::elements(&mut constraints, "keySchema", &input.key_schema, 2);
    let locals = indexes::named(&mut constraints, IndexKind::Local, locals);
    let globals = indexes::named(&mut constraints, IndexKind::Global, globals);
    let (definitions, keys) = constraints.finish((definitions, keys))?;
    let billing = check_billing(billing, throughput.is_some())?;
    input.refuse()?;
    let key = keys::table_key(&definitions, &keys)?;
    let mut indexes = Vec::new();
    for named in [locals, globals].into_iter().flatten() {
        indexes.extend(indexes::schemas(named, &definitions, &key, billing)?);
    }
    let schema = TableSchema { key, indexes };
    keys::check_used(&definitions, &schema)?;
    Ok(CreateTable::new(table, schema))
}

impl Input {
    fn refuse(&self) -> Result<(), Refusal> {
        parameters::refuse(&[
            ("StreamSpecification", &self.stream_specification),
            ("Tags", &self.tags),
            ("ResourcePolicy", &self.resource_policy),
        ])?;
        match self.deletion_protection_enabled {
            Some(true) => Err(Refusal::validation(messages::unsupported(
                "DeletionProtectionEnabled",
            ))),
            _ => Ok(()),
        }
    }
}

fn check_throughput(constraints: &mut Constraints, at: &str, throughput: Option<&Throughput>) {
    let Some(throughput) = throughput else { return };
    let units = [
        ("writeCapacityUnits", throughput.write_capacity_units),
        ("readCapacityUnits", throughput.read_capacity_units),
    ];
    for (name, units) in units {
        let at = format!("{at}.{name}");
        constraints.required(&at, &units);
        constraints.at_least(&at, units, 1);
    }
}

/// Nothing is provisioned here, but a request that Amazon would refuse is refused.
fn check_billing(
    billing: Option<BillingMode>,
    has_throughput: bool,
) -> Result<BillingMode, Refusal> {
    match (billing.unwrap_or(BillingMode::Provisioned), has_throughput) {
        (BillingMode::PayPerRequest, true) => Err(Refusal::validation(messages::NEITHER_UNIT)),
        (BillingMode::Provisioned, false) => Err(Refusal::validation(messages::BOTH_UNITS)),
        (billing, _) => Ok(billing),
    }
}
